//! Making a process for calls, with its end of a channel to the kernel and all that it needs on its
//! own account; and why there is none.

use crate::ground::contract::Contract;
use crate::ground::image::{self, Found, Installed, Unavailable};
use crate::ground::work::{PIECE, Work};
use crate::object::account::Account;
use crate::object::calls::chance;
use crate::object::channel::{self, Channel};
use crate::object::exheap::{self, Allocation};
use crate::object::sip::{self, Making, Sip};
use core::fmt;
use sing_abi::entry::Privilege;
use sing_abi::status;
use sing_calls::{
    ANSWER, CONTRACT, DIRECTORIES, DIRECTORY, ENDPOINT, Endpoint, HELD, OPEN, READY, Request,
    SERVED, SERVING,
};
use sing_image::contract::Word;
use sing_image::manifest::{Side, StartupEndpoint};

/// A process that has yet to be started, and the channel to it.
pub(super) struct Made {
    pub(super) sip: &'static Sip,
    pub(super) channel: &'static Channel,
    /// The channel of the directory that it serves, if it does.
    pub(super) directory: Option<&'static Channel>,
    /// The channel by which it asks for random bytes, if its image has an endpoint for that.
    pub(super) random: Option<&'static Channel>,
    pub(super) speaks: Speaks,
}

/// What is said on a channel to a process.
#[derive(Clone, Copy)]
pub(super) enum Speaks {
    /// Calls and answers; the kernel has the importing end.
    Calls(Messages),
    /// Whatever the host and the process say by their contract; the kernel has this end.
    Any(Side),
}

impl Speaks {
    /// The kernel's side.
    pub(super) fn side(self) -> Side {
        match self {
            Speaks::Calls(_) => Side::Imp,
            Speaks::Any(side) => side,
        }
    }
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
    NoDirectories,
    ServesNoDirectory,
    Directory,
    MakesProcesses,
    Stack(u64),
    /// The call's memory is this, and a process takes at least that, with a stack of so many bytes.
    Limit {
        limit: u64,
        least: u64,
        stack: u64,
    },
    Create(i32),
    Short,
    NoRoom(u64),
    Ended,
    Asked,
    NoEndpoint,
    OtherVersion,
    NotForHosts,
    Held,
    NoMemory,
    TooManyAsked,
    TooManyKept,
    TooManyServe,
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
                "{name}: its manifest needs other endpoints than `{ENDPOINT}` or the one that is asked for, which a program that is called does not get"
            ),
            Why::NoDirectories => write!(
                f,
                "{name}: it takes no directories: its manifest needs the endpoint `directories: many {DIRECTORY}.Imp:{READY}`"
            ),
            Why::ServesNoDirectory => write!(
                f,
                "{name}: it serves no directory: its manifest needs the endpoint `{SERVED}: {DIRECTORY}.Exp:{READY}`"
            ),
            Why::Directory => write!(
                f,
                "{name}: a directory that it is to be given is not served"
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
            Why::Limit {
                limit,
                least,
                stack,
            } => write!(
                f,
                "{name}: no process of it: the call's limit is {limit} bytes of memory, and a process takes {least} before it runs, {stack} of them for its stack; give it more"
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
            Why::NoEndpoint => write!(
                f,
                "{name}: its manifest has no start-up endpoint of this name, contract, side and state"
            ),
            Why::OtherVersion => write!(
                f,
                "{name}: its contract of this name is another than the one that the host program was built with; build both with the same"
            ),
            Why::NotForHosts => write!(
                f,
                "{name}: messages of this contract bring endpoints, or blocks with blocks in them, which a host program does not get"
            ),
            Why::Held => write!(
                f,
                "the blocks of messages that the host program holds have {HELD} bytes with this one's; drop some first (a block that {name} has divided is copied, and has {ANSWER} bytes at the most)"
            ),
            Why::NoMemory => f.write_str("the machine has no memory for the blocks of a message"),
            Why::TooManyAsked => write!(
                f,
                "{OPEN} calls are under way already; wait until one is over"
            ),
            Why::TooManyKept => write!(
                f,
                "{name}: {OPEN} processes are kept already; drop one first"
            ),
            Why::TooManyServe => write!(
                f,
                "{SERVING} directories are given to calls already; wait until one is over"
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

/// Where an image wants its end of the channel for calls, and that channel's contract.
fn calling(image: &Installed) -> Result<(usize, &'static Contract, Speaks), Why> {
    let declared = &image.manifest.endpoints;
    let is = |name: &str, contract: &str| name == ENDPOINT && contract == CONTRACT;
    let place = declared
        .iter()
        .position(|e| e.side == Side::Exp && !e.many && is(&e.name, &e.contract))
        .ok_or(Why::ServesNone)?;
    let contract = image.contract(CONTRACT).ok_or(Why::ServesNone)?;
    let messages = Messages::of(contract).ok_or(Why::ServesNone)?;
    Ok((place, contract, Speaks::Calls(messages)))
}

/// Whether a process of the image can do with its channel, at this place, and what is at the places of
/// `also`. A program that may make processes is refused: those that it detaches, or that others end it
/// without, would go on.
fn suffices(image: &Installed, place: usize, also: [Option<usize>; 2]) -> Result<(), Why> {
    let declared = &image.manifest.endpoints;
    let needs = |(i, e): (usize, &StartupEndpoint)| {
        i != place && !also.contains(&Some(i)) && !e.optional && !e.many
    };
    if declared.iter().enumerate().any(needs) {
        return Err(Why::NeedsMore);
    }
    let create = Privilege::Create.name();
    if image.manifest.privileges.iter().any(|p| p == create) {
        return Err(Why::MakesProcesses);
    }
    Ok(())
}

/// Where an image wants the endpoint whose other end the host is to have, and that channel's contract.
fn talking(
    image: &Installed,
    endpoint: &Endpoint<'_>,
) -> Result<(usize, &'static Contract, Speaks), Why> {
    let side = match endpoint.exports {
        true => Side::Exp,
        false => Side::Imp,
    };
    let contract = image.contract(endpoint.contract).ok_or(Why::NoEndpoint)?;
    let begins = |e: &StartupEndpoint| {
        let first = contract.table.states.first();
        let state = e.state.as_ref().or(first);
        state.is_some_and(|state| state == endpoint.state)
    };
    let is = |e: &StartupEndpoint| {
        e.name == endpoint.name && e.contract == endpoint.contract && e.side == side && !e.many
    };
    let mut declared = image.manifest.endpoints.iter();
    let place = declared.position(|e| is(e) && begins(e));
    let place = place.ok_or(Why::NoEndpoint)?;
    if !contract.is(endpoint.identity) {
        return Err(Why::OtherVersion);
    }
    let simple = |word: &Word| matches!(word, Word::Scalar | Word::Block | Word::OptionalBlock);
    let mut messages = contract.table.messages.iter();
    match messages.all(|m| m.words.iter().all(simple)) {
        true => Ok((place, contract, Speaks::Any(side.peer()))),
        false => Err(Why::NotForHosts),
    }
}

/// The place of the endpoint of directories for which this is true.
fn of_directories(image: &Installed, is: impl Fn(&StartupEndpoint) -> bool) -> Option<usize> {
    let mut declared = image.manifest.endpoints.iter();
    declared.position(|e| e.contract == DIRECTORY && is(e))
}

/// An end of a channel, and the place of the start-up endpoint that it is to be.
#[derive(Clone, Copy)]
struct Startup {
    place: usize,
    channel: &'static Channel,
    side: Side,
}

impl Startup {
    /// Whether the image can start with it.
    fn fits(&self, image: &Installed) -> bool {
        // All behind the last that is declared are further ones of that.
        let last = image.manifest.endpoints.len().saturating_sub(1);
        let end = &self.channel.lock().ends[self.side.index()];
        image.can_start_with(end, self.place.min(last), self.side, false)
    }
}

/// Makes a process for a request, with the directories that the host has served for it.
pub(super) fn make(
    request: &Request<'_>,
    served: impl Fn(u64) -> Option<&'static Channel>,
) -> Result<Made, Why> {
    let image = installed(request.name)?;
    if request.directories.is_empty() {
        return begin(request, image, None, &[]);
    }
    if request.directories.len() > DIRECTORIES {
        return Err(Why::Directory);
    }
    let mut given = [None; DIRECTORIES];
    let side = Side::Imp;
    for (i, (number, given)) in request.directories.iter().zip(&mut given).enumerate() {
        let first = of_directories(image, |e| e.side == side && e.many);
        let place = first.ok_or(Why::NoDirectories)? + i;
        let twice = request.directories.iter().take(i).any(|n| n == number);
        let channel = served(*number).filter(|_| !twice).ok_or(Why::Directory)?;
        *given = Some(Startup {
            place,
            channel,
            side,
        });
    }
    if !given.iter().flatten().all(|end| end.fits(image)) {
        return Err(Why::NoDirectories);
    }
    begin(request, image, None, &given)
}

/// Makes a process that serves a directory.
pub(super) fn serving(request: &Request<'_>) -> Result<Made, Why> {
    let image = installed(request.name)?;
    let is = |e: &StartupEndpoint| e.side == Side::Exp && !e.many && e.name == SERVED;
    let place = of_directories(image, is).ok_or(Why::ServesNoDirectory)?;
    begin(request, image, Some(place), &[])
}

/// A channel of this contract on this account, both of whose ends are in the state `Ready`.
fn ready(contract: &'static Contract, account: &'static Account) -> Result<&'static Channel, Why> {
    let ready = contract.row(READY).ok_or(Why::ServesNoDirectory)?;
    let channel = Channel::create(contract, account).ok_or(Why::NoRoom(account.limit()))?;
    for end in &mut channel.lock().ends {
        end.state = ready;
    }
    Ok(channel)
}

/// Makes a process of the image that starts with these endpoints and its end of a channel to the
/// kernel; and, at a place of its own, with one of a directory that it serves.
fn begin(
    request: &Request<'_>,
    image: &'static Installed,
    serves: Option<usize>,
    given: &[Option<Startup>],
) -> Result<Made, Why> {
    let chance = match serves {
        Some(_) => None,
        None => chance::wanted(image),
    };
    let (place, contract, speaks) = match &request.endpoint {
        Some(endpoint) => talking(image, endpoint)?,
        None => calling(image)?,
    };
    // Who asks for that endpoint gives the random bytes itself.
    let chance = chance.filter(|(at, _)| *at != place);
    let random = chance.map(|(place, _)| place);
    suffices(image, place, [serves, random])?;
    if image.stack > PIECE {
        return Err(Why::Stack(image.stack));
    }
    // Its first argument is its name.
    let name = request.name.as_bytes();
    let put = |bytes: &mut [u8]| {
        let (len, rest) = bytes.split_at_mut(4);
        len.copy_from_slice(&(name.len() as u32).to_le_bytes());
        let (own, others) = rest.split_at_mut(name.len());
        own.copy_from_slice(name);
        others.copy_from_slice(request.arguments);
        Ok(())
    };
    let places = given.iter().flatten().map(|end| end.place);
    let endpoints = places.chain([place]).chain(serves).chain(random).max();
    let making = Making {
        image,
        parent: None,
        arguments: (4 + name.len() + request.arguments.len(), &put),
        endpoints: endpoints.map_or(0, |last| last + 1),
    };
    let limit = request.limits.memory;
    let sip = sip::create_within(&making, limit.min(image.budget)).map_err(|reason| {
        let least = making.least();
        match reason {
            status::NO_RESOURCES if limit < least => Why::Limit {
                limit,
                least,
                stack: image.stack,
            },
            other => Why::Create(other),
        }
    })?;
    let account = sip.account();
    // Those of this process's own, which go with it if it is not started.
    let mut own = [None; 3];
    let startup = |place, channel, side| {
        Some(Startup {
            place,
            channel,
            side,
        })
    };
    let result = (|| {
        let channel = Channel::create(contract, account).ok_or(Why::NoRoom(account.limit()))?;
        if let Some(endpoint) = &request.endpoint {
            let row = contract.row(endpoint.state).unwrap_or_default();
            for end in &mut channel.lock().ends {
                end.state = row;
            }
        }
        own[0] = startup(place, channel, speaks.side().peer());
        let directory = match serves {
            Some(_) => {
                let contract = image.contract(DIRECTORY).ok_or(Why::ServesNoDirectory)?;
                Some(ready(contract, account)?)
            }
            None => None,
        };
        if let (Some(place), Some(directory)) = (serves, directory) {
            own[1] = startup(place, directory, Side::Exp);
        }
        let random = match chance {
            Some((place, contract)) => {
                let channel = ready(contract, account)?;
                own[2] = startup(place, channel, Side::Imp);
                Some(channel)
            }
            None => None,
        };
        match own.iter().flatten().all(|end| end.fits(image)) {
            true => Ok((channel, directory, random)),
            false if serves.is_some() => Err(Why::ServesNoDirectory),
            false if request.endpoint.is_some() => Err(Why::NoEndpoint),
            false => Err(Why::ServesNone),
        }
    })();
    let (channel, directory, random) = match result {
        Ok(made) => made,
        Err(why) => {
            for end in own.iter().flatten() {
                channel::close(end.channel, Side::Imp, sip);
                channel::close(end.channel, Side::Exp, sip);
            }
            sip::discard(sip);
            return Err(why);
        }
    };
    let at = |place| {
        let mut all = own.iter().chain(given).flatten();
        let end = all.find(|end| end.place == place)?;
        Some((end.channel, end.side))
    };
    sip.give_startup((0..making.endpoints).map(at));
    Ok(Made {
        sip,
        channel,
        directory,
        random,
        speaks,
    })
}

/// An allocation with these bytes, on this account. `None` if that, or the machine, has no room.
pub(super) fn block(bytes: &[u8], account: &'static Account) -> Option<u32> {
    let len = u32::try_from(bytes.len()).ok();
    let len = len.filter(|len| (1..=ANSWER as u32).contains(len))?;
    let (index, a) = empty(len, account)?;
    // It has as many bytes.
    let written = a.block.window().write(0, bytes);
    debug_assert!(written.is_ok());
    Some(index)
}

/// A copy of an allocation, on this account. `None` if that, or the machine, has no room, or it is longer
/// than [`ANSWER`].
pub(super) fn copied(from: &'static Allocation, account: &'static Account) -> Option<u32> {
    let len = Some(from.len()).filter(|len| (1..=ANSWER as u32).contains(len))?;
    let (index, to) = empty(len, account)?;
    let (from, to) = (from.block.window(), to.block.window());
    let mut piece = [0; 512];
    let mut at = 0;
    while at < len as usize {
        let count = piece.len().min(len as usize - at);
        let piece = piece.get_mut(..count).unwrap_or_default();
        // Both have as many bytes.
        let place = at as u32;
        let copied = from
            .read(place, piece)
            .and_then(|()| to.write(place, piece));
        debug_assert!(copied.is_ok());
        at += count;
    }
    Some(index)
}

/// An allocation of this length, on this account, whose bytes are its memory's.
fn empty(len: u32, account: &'static Account) -> Option<(u32, &'static Allocation)> {
    let cost = exheap::cost(len);
    if !account.charge(cost) {
        // What its SIP has given up counts until it is freed.
        let freed = !account.deferred.lock().is_empty();
        if freed {
            exheap::free_deferred(account, &mut Work::step());
        }
        if !freed || !account.charge(cost) {
            return None;
        }
    }
    let made = exheap::allocate(len, 0, account);
    if made.is_none() {
        account.discharge(cost);
    }
    made
}
