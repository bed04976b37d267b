//! Making a process for calls, with its end of a channel to the kernel and all that it needs on its
//! own account; and why there is none.

use crate::ground::contract::Contract;
use crate::ground::image::{self, Found, Installed, Unavailable};
use crate::ground::work::PIECE;
use crate::object::account::Account;
use crate::object::channel::{self, Channel};
use crate::object::exheap;
use crate::object::sip::{self, Making, Sip};
use core::fmt;
use sing_abi::entry::Privilege;
use sing_abi::status;
use sing_calls::{CONTRACT, ENDPOINT, MOST, OPEN};
use sing_image::contract::Word;
use sing_image::manifest::Side;

/// A process that has yet to be started, and the channel to it.
pub(super) struct Made {
    pub(super) sip: &'static Sip,
    pub(super) channel: &'static Channel,
    pub(super) messages: Messages,
}

/// The messages of a contract for calls, by their indices.
#[derive(Clone, Copy)]
pub(super) struct Messages {
    pub(super) call: u32,
    pub(super) refused: u32,
}

impl Messages {
    /// Those of this contract: `None` if it has others, or if they bring anything but a block.
    fn of(contract: &Contract) -> Option<Messages> {
        let messages = &contract.table.messages;
        let find = |name| messages.iter().position(|m| m.name == name);
        let plain = messages.iter().all(|m| m.words == [Word::Block]);
        let (call, refused) = (find("Call")?, find("Refused")?);
        find("Answer")?;
        let any = messages.get(call)?.conditions.is_empty();
        (plain && any && messages.len() == 3).then_some(Messages {
            call: call as u32,
            refused: refused as u32,
        })
    }
}

/// Why there is no process, or it is not asked.
pub(super) enum Why {
    /// Its image is being loaded.
    NotYet,
    NoImage,
    Image(Unavailable),
    ServesNone,
    NeedsMore,
    MakesProcesses,
    Stack(u64),
    Create(i32),
    Short,
    NoRoom(u64),
    Ended,
    Asked,
    TooManyAsked,
    TooManyKept,
}

/// A reason with the program's name.
pub(super) struct WhyOf<'n>(Why, &'n str);

impl Why {
    pub(super) fn of(self, name: &str) -> WhyOf<'_> {
        WhyOf(self, name)
    }
}

impl fmt::Display for WhyOf<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let WhyOf(why, name) = self;
        match why {
            Why::NotYet => write!(f, "{name}: it is being loaded"),
            Why::NoImage => write!(f, "{name}: the system image has no such program"),
            Why::Image(e) => write!(f, "{name}: {e}"),
            Why::ServesNone => write!(
                f,
                "{name}: it takes no calls: its manifest needs the endpoint `{ENDPOINT}: {CONTRACT}.Exp:Start`"
            ),
            Why::NeedsMore => write!(
                f,
                "{name}: its manifest needs other endpoints than `{ENDPOINT}`, which a program that is called does not get"
            ),
            Why::MakesProcesses => write!(
                f,
                "{name}: its manifest asks for the privilege `{}`, which a program that is called does not get: what it makes could outlive the call",
                Privilege::Create.name()
            ),
            Why::Stack(bytes) => write!(
                f,
                "{name}: its stack of {bytes} bytes is larger than the {PIECE} that a program that is called may have"
            ),
            Why::Create(reason) => {
                write!(f, "{name}: no process of it: {}", status::describe(*reason))
            }
            Why::Short => write!(f, "{name}: memory is short"),
            Why::NoRoom(limit) => {
                write!(
                    f,
                    "{name}: the call has no room in its memory of {limit} bytes"
                )
            }
            Why::Ended => f.write_str("the process has ended"),
            Why::Asked => f.write_str("the process is asked already"),
            Why::TooManyAsked => write!(
                f,
                "{OPEN} calls are under way already; wait until one is over"
            ),
            Why::TooManyKept => write!(
                f,
                "{name}: {OPEN} processes are kept already; drop one first"
            ),
        }
    }
}

fn installed(name: &str) -> Result<&'static Installed, Why> {
    if let Some(image) = image::latest(name.as_bytes()) {
        return Ok(image);
    }
    match image::look(name) {
        Ok(Found::Image(image)) => Ok(image),
        Ok(Found::None) => Err(Why::NoImage),
        Ok(Found::NotYet) => Err(Why::NotYet),
        Err(e) => Err(Why::Image(e)),
    }
}

/// Where an image wants its end of the channel, and that channel's contract. A program that may make
/// processes is refused: those that it detaches, or that others end it without, would go on.
fn endpoint(image: &Installed) -> Result<(usize, &'static Contract, Messages), Why> {
    let declared = &image.manifest.endpoints;
    let is = |name: &str, contract: &str| name == ENDPOINT && contract == CONTRACT;
    let place = declared
        .iter()
        .position(|e| e.side == Side::Exp && !e.many && is(&e.name, &e.contract))
        .ok_or(Why::ServesNone)?;
    let needs = |(i, e): (usize, &sing_image::manifest::StartupEndpoint)| {
        i != place && !e.optional && !e.many
    };
    if declared.iter().enumerate().any(needs) {
        return Err(Why::NeedsMore);
    }
    let create = Privilege::Create.name();
    if image.manifest.privileges.iter().any(|p| p == create) {
        return Err(Why::MakesProcesses);
    }
    let mut known = image.contracts.iter().copied();
    let contract = known.find(|c| c.table.name == CONTRACT);
    let contract = contract.ok_or(Why::ServesNone)?;
    let messages = Messages::of(contract).ok_or(Why::ServesNone)?;
    Ok((place, contract, messages))
}

/// Makes a process of the image, with this much memory at the most.
pub(super) fn make(name: &str, memory: u64) -> Result<Made, Why> {
    let image = installed(name)?;
    let (place, contract, messages) = endpoint(image)?;
    if image.stack > PIECE {
        return Err(Why::Stack(image.stack));
    }
    // Its one argument is its name.
    let put = |bytes: &mut [u8]| {
        let (len, rest) = bytes.split_at_mut(4);
        len.copy_from_slice(&(name.len() as u32).to_le_bytes());
        rest.copy_from_slice(name.as_bytes());
        Ok(())
    };
    let making = Making {
        image,
        parent: None,
        arguments: (4 + name.len(), &put),
        endpoints: place + 1,
    };
    let made = sip::create_within(&making, memory.min(image.budget));
    let sip = made.map_err(Why::Create)?;
    let Some(channel) = Channel::create(contract, sip.account()) else {
        let limit = sip.account().limit();
        sip::discard(sip);
        return Err(Why::NoRoom(limit));
    };
    let fits = image.can_start_with(
        &channel.lock().ends[Side::Exp.index()],
        place,
        Side::Exp,
        false,
    );
    if !fits {
        channel::close(channel, Side::Imp, sip);
        channel::close(channel, Side::Exp, sip);
        sip::discard(sip);
        return Err(Why::ServesNone);
    }
    let before = core::iter::repeat_n(None, place);
    sip.give_startup(before.chain([Some((channel, Side::Exp))]));
    Ok(Made {
        sip,
        channel,
        messages,
    })
}

/// An allocation with these bytes, on this account. `None` if that, or the machine, has no room.
pub(super) fn block(bytes: &[u8], account: &'static Account) -> Option<u32> {
    let len = u32::try_from(bytes.len()).ok();
    let len = len.filter(|len| (1..=MOST as u32).contains(len))?;
    let cost = exheap::cost(len);
    if !account.charge(cost) {
        return None;
    }
    let Some((index, a)) = exheap::allocate(len, 0, account) else {
        account.discharge(cost);
        return None;
    };
    // It has as many bytes.
    let written = a.block.window().write(0, bytes);
    debug_assert!(written.is_ok());
    Some(index)
}
