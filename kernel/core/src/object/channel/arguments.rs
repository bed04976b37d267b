//! The arguments of messages: their conditions, and the allocations and endpoints that they move,
//! which are indices while in flight.
//!
//! Invariants:
//! - A refused send has moved nothing, and a failed receive has given nothing.
//! - A block in a message has parts only if its type says so. So whoever receives plain bytes knows
//!   that it holds no more than those.

use super::{Channel, End, from_index};
use crate::ground::contract::Contract;
use crate::object::crash;
use crate::object::exheap;
use crate::object::thread::Thread;
use core::sync::atomic::Ordering::Relaxed;
use sing_abi::MAX_MESSAGE_WORDS;
use sing_abi::trap::Trap;
use sing_image::contract::Word;
use sing_image::manifest::Side;

/// The word of a message in flight that carries no block where there may be none. No allocation has
/// this index.
pub(crate) const NO_BLOCK: u64 = u64::MAX;

/// Returns the allocation in a word of a message in flight; `None` if the word carries none.
pub(crate) fn allocation_in(word: u64) -> Option<u32> {
    (word != NO_BLOCK).then_some(word as u32)
}

/// Checks the contract's conditions on a message's words, and records a broken one for the crash
/// report.
#[inline(never)]
pub(super) fn check_conditions(
    contract: &'static Contract,
    message: u32,
    words: &[u64],
    thread: &Thread,
) -> Result<(), Trap> {
    let conditions = &contract.table.messages[message as usize].conditions;
    match conditions.iter().position(|c| !c.holds(words)) {
        None => Ok(()),
        Some(broken) => {
            crash::record_broken(thread, contract, message, Some(broken));
            Err(Trap::BrokenPromise)
        }
    }
}

/// Queues a message that moves allocations or endpoints or has conditions: takes all of its
/// arguments out of the sender's tables or, with an error, none.
#[inline(never)]
pub(super) fn take_arguments(
    channel: &'static Channel,
    contract: &'static Contract,
    to: &mut End,
    message: u32,
    words: &[u64],
    thread: &'static Thread,
) -> Result<(), Trap> {
    if !contract.table.messages[message as usize]
        .conditions
        .is_empty()
    {
        check_conditions(contract, message, words, thread)?;
    }
    let slot = to.next_slot().ok_or(Trap::ProtocolViolation)?;
    let (tag, slot) = slot.split_first_mut().ok_or(Trap::ProtocolViolation)?;
    let kinds = &contract.table.messages[message as usize].words;
    let sip = thread.sip();
    // All checks come first, so that a refused message moves nothing.
    for (i, (kind, &word)) in kinds.iter().zip(words).enumerate() {
        match kind {
            Word::Scalar => continue,
            _ if kind.is_optional() && word as u32 == 0 => continue,
            Word::Block | Word::Tree | Word::OptionalBlock | Word::OptionalTree => {
                let (_, a) = thread.allocation(word as u32).ok_or(Trap::BadHandle)?;
                if !kind.may_have_parts() && a.has_parts() {
                    crash::record_broken(thread, contract, message, None);
                    return Err(Trap::BrokenPromise);
                }
            }
            // An endpoint of the channel itself cannot travel on it; besides, its lock is held
            // here.
            Word::Endpoint {
                contract,
                side,
                state,
            } => sip.check_endpoint(word as u32, channel, contract, *side, state.as_deref())?,
        }
        let same = |(k, w): (&Word, &u64)| {
            let alike = core::mem::discriminant(k) == core::mem::discriminant(kind)
                || k.is_block() && kind.is_block();
            alike && *w as u32 == word as u32
        };
        if kinds[..i].iter().zip(words).any(same) {
            return Err(Trap::BadHandle);
        }
    }
    for (to, (kind, &word)) in slot.iter_mut().zip(kinds.iter().zip(words)) {
        *to = match kind {
            Word::Scalar => word,
            _ if kind.is_optional() && word as u32 == 0 => NO_BLOCK,
            Word::Block | Word::Tree | Word::OptionalBlock | Word::OptionalTree => {
                u64::from(thread.take_allocation(word as u32).ok_or(Trap::BadHandle)?)
            }
            Word::Endpoint { contract, .. } => sip
                .send_endpoint(word as u32, contract)
                .ok_or(Trap::BadHandle)?,
        };
    }
    *tag = u64::from(message);
    to.len += 1;
    Ok(())
}

/// Puts the arguments of a message into the receiver's tables: all of them, or none (`None`) if
/// there is no room. An endpoint gets handle 0 if it is not of the type that the receiver's version
/// of the contract gives it: the sender may have another version under the same name. True if any
/// endpoint was rejected in this way ([`rejected_endpoints`]).
#[inline(never)]
pub(super) fn give_arguments(
    kinds: &[Word],
    words: &[u64],
    thread: &'static Thread,
    handles: &mut [u64; MAX_MESSAGE_WORDS],
) -> Option<bool> {
    let sip = thread.sip();
    let account = sip.account();
    let blocks = || {
        let blocks = kinds.iter().zip(words).filter(|(k, _)| k.is_block());
        blocks.filter_map(|(_, &word)| exheap::get(allocation_in(word)?))
    };
    // A receiver without room may hold blocks at the sender's cost, but only up to a bound.
    if !account.may_borrow() {
        let due: u64 = blocks().map(|a| a.due_from(account)).sum();
        if due > 0 && !account.receives(due) {
            return None;
        }
    }
    let mut any_rejected = false;
    for (i, (kind, &word)) in kinds.iter().zip(words).enumerate() {
        let given = match kind {
            Word::Scalar => Some(word),
            Word::Block | Word::Tree | Word::OptionalBlock | Word::OptionalTree => {
                match allocation_in(word) {
                    Some(index) => thread.insert_allocation(index).map(u64::from),
                    None => Some(0),
                }
            }
            Word::Endpoint {
                contract, state, ..
            } => match from_word(word) {
                Some((c, side)) if !sip.knows_as(c, side, contract, state.as_deref()) => {
                    any_rejected = true;
                    Some(0)
                }
                Some((c, side)) => sip.own_endpoint(c, side, contract).map(u64::from),
                None => None,
            },
        };
        if let Some(h) = given {
            handles[i] = h;
            continue;
        }
        for (kind, &handle) in kinds[..i].iter().zip(handles.iter()) {
            match kind {
                Word::Scalar => {}
                // Handle 0 names none.
                Word::Block | Word::Tree | Word::OptionalBlock | Word::OptionalTree => {
                    let _: Option<u32> = thread.take_allocation(handle as u32);
                }
                Word::Endpoint { .. } => sip.return_endpoint(handle as u32),
            }
        }
        return None;
    }
    // Only now, so that a message that cannot be received keeps its contracts and its payer.
    blocks().for_each(|a| a.charge(account));
    for (kind, &handle) in kinds.iter().zip(handles.iter()) {
        if let Word::Endpoint { contract, .. } = kind {
            sip.narrow_endpoint(handle as u32, contract);
        }
    }
    Some(any_rejected)
}

/// The endpoints in a message that were rejected: they have handle 0.
#[cold]
pub(super) fn rejected_endpoints(
    kinds: &[Word],
    words: &[u64],
    handles: &[u64; MAX_MESSAGE_WORDS],
) -> [Option<(&'static Channel, Side)>; MAX_MESSAGE_WORDS] {
    let mut all = [None; MAX_MESSAGE_WORDS];
    for ((kind, &word), (&handle, place)) in
        kinds.iter().zip(words).zip(handles.iter().zip(&mut all))
    {
        if matches!(kind, Word::Endpoint { .. }) && handle == 0 {
            *place = from_word(word);
        }
    }
    all
}

/// An endpoint as a word of a message.
pub(crate) fn to_word(channel: &Channel, side: Side) -> u64 {
    u64::from(channel.index.load(Relaxed)) << 1 | side.index() as u64
}

/// The endpoint in a word of a message.
pub(crate) fn from_word(word: u64) -> Option<(&'static Channel, Side)> {
    let side = if word & 1 == 0 { Side::Imp } else { Side::Exp };
    Some((from_index((word >> 1) as u32)?, side))
}
