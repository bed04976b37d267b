//! Random bytes for processes that are called: the kernel's end of a channel of `EntropyContract`, over
//! which a process has a block filled with bytes of the host's.
//!
//! Invariants:
//! - Each byte is drawn from the host for one request of one process, and kept nowhere.
//! - The block is the process's own before, meanwhile and afterwards: nothing is allocated for it.
//! - The processor's time for it is the process's.
//! - What is in flight on such a channel is one block: [`Messages::of`] refuses other contracts.

use crate::ground::contract::Contract;
use crate::ground::image::Installed;
use crate::ground::machine::hal;
use crate::object::channel::{self, Channel, Heard};
use crate::object::exheap;
use crate::object::sip::Sip;
use sing_calls::{ENTROPY, RANDOM, READY};
use sing_image::contract::{Message, Word};
use sing_image::manifest::{Side, StartupEndpoint};

/// The most bytes of a request, as the contract says.
const MOST: u32 = 4096;
/// Bytes that are drawn at once.
const PIECE: usize = 256;

/// The answers of a contract for random bytes, by their indices.
struct Messages {
    filled: u32,
    not_filled: u32,
}

impl Messages {
    /// Those of this contract: `None` unless, from `Ready` on, the importer sends a block and gets one back, and
    /// so on for ever.
    fn of(contract: &Contract) -> Option<Messages> {
        let messages = &contract.table.messages;
        let find = |name| {
            let is =
                |m: &Message| m.name == name && m.words == [Word::Block] && m.conditions.is_empty();
            messages.iter().position(is).map(|index| index as u32)
        };
        let (fill, filled, not_filled) = (find("Fill")?, find("Filled")?, find("NotFilled")?);
        let ready = contract.row(READY)?;
        let next = |row, message, side| contract.step(row, message, side).map(|step| step.next);
        let asked = next(ready, fill, Side::Imp)?;
        let is_as_said = |m: u32| {
            let answers = m == filled || m == not_filled;
            next(ready, m, Side::Imp) == (m == fill).then_some(asked)
                && next(ready, m, Side::Exp).is_none()
                && next(asked, m, Side::Imp).is_none()
                && next(asked, m, Side::Exp) == answers.then_some(ready)
        };
        (0..messages.len() as u32)
            .all(is_as_said)
            .then_some(Messages { filled, not_filled })
    }
}

/// Where an image wants its source of random bytes, if it does, and that channel's contract.
pub(super) fn wanted(image: &Installed) -> Option<(usize, &'static Contract)> {
    let is = |e: &StartupEndpoint| {
        e.name == RANDOM
            && e.contract == ENTROPY
            && e.side == Side::Imp
            && !e.many
            && e.state.as_deref() == Some(READY)
    };
    let place = image.manifest.endpoints.iter().position(is)?;
    let mut known = image.contracts.iter().copied();
    let contract = known.find(|c| c.table.name == ENTROPY)?;
    Messages::of(contract).map(|_| (place, contract))
}

/// Serves a request that a process has made at the other end of this channel, if it has. False if that
/// end is closed.
pub(super) fn serve(channel: &'static Channel, sip: &'static Sip) -> bool {
    let begun = sing_arch::cycles();
    let contract = channel.lock().contract;
    let Some(messages) = contract.and_then(Messages::of) else {
        return false;
    };
    let block = match channel::hear(channel, Side::Exp) {
        Heard::Nothing => return true,
        Heard::Closed => return false,
        Heard::Message(_, word) => word as u32,
    };
    let answer = match fill(block) {
        true => messages.filled,
        false => messages.not_filled,
    };
    if !channel::tell(channel, Side::Exp, answer, u64::from(block)) {
        // Nobody is there to receive it.
        exheap::free(block);
    }
    sip.used(sing_arch::cycles().wrapping_sub(begun));
    true
}

/// Fills a block with random bytes. False if it is too long, others can read it, or the host has none.
fn fill(block: u32) -> bool {
    let (Some(callers), Some(a)) = (hal().callers(), exheap::get(block)) else {
        return false;
    };
    let len = a.len();
    if len > MOST || !a.unshare() {
        return false;
    }
    let window = a.block.window();
    let mut bytes = [0; PIECE];
    let filled = (0..len).step_by(PIECE).all(|at| {
        let piece = bytes.get_mut(..PIECE.min((len - at) as usize));
        piece.is_some_and(|piece| callers.random(piece) && window.write(at, piece).is_ok())
    });
    // What somebody has been given is nobody else's: it does not stay on this stack.
    bytes.fill(0);
    core::hint::black_box(&mut bytes);
    filled
}
