//! Endpoints that the host holds: what it says at one by the endpoint's contract, and what is said to it.
//!
//! The kernel's end is in the set of calls only while the host waits for a message there; else what
//! comes stays in the queue, whose length the contract bounds. Blocks that the host receives lie where
//! they are, and are charged to an account of the host's until it gives them back.
//!
//! Invariants:
//! - A message that the host sends is allowed in its end's state, and keeps the contract's conditions;
//!   else nothing of it is sent. Its blocks are on the account of the process that it goes to.
//! - A message brings the host numbers and blocks without parts: `making` refuses other contracts.
//! - What the host holds costs [`HELD`] at the most, all of it: a part of what a process has divided is
//!   copied. A message with more stays in the queue.
//! - A block that the host holds is nobody else's, and nothing is written through other views of it:
//!   a region of several views is read-only.

use super::record::Call;
use super::{CALLS, closing, end, say};
use crate::ground::machine::hal;
use crate::ground::work::Work;
use crate::object::account::{self, Account};
use crate::object::calls::limits::Budget;
use crate::object::calls::making::{Speaks, Why, block, copied};
use crate::object::channel::{self, Came, Channel, NO_BLOCK, Next, Unsaid};
use crate::object::exheap;
use crate::object::sip::Sip;
use sing_abi::MAX_MESSAGE_WORDS;
use sing_calls::{ANSWER, Given, HELD, MESSAGE, OPEN, Op, Outcome, Request};
use sing_image::contract::Word;
use sing_image::manifest::Side;

const _: () = assert!(MESSAGE == MAX_MESSAGE_WORDS);

/// What an account keeps in reserve of its limit, where it is as large as [`HELD`].
const RESERVE: u64 = 4 << 20;

/// Sends a message of the host's, waits for one for it, or both.
pub(super) fn talk(index: u32, request: &Request<'_>) -> Result<(), Why> {
    let call = CALLS.lock().get(index).ok_or(Why::Ended)?;
    let (Some(sip), Some(channel), Speaks::Any(side)) = (call.sip, call.channel, call.speaks)
    else {
        return Err(Why::NoEndpoint);
    };
    // Before anything is sent: who is told that nothing was done may do it elsewhere.
    if request.op != Op::Send && CALLS.lock().asked as usize == OPEN {
        return Err(Why::TooManyAsked);
    }
    if request.op != Op::Receive {
        match send(request, channel, side, sip) {
            Ok(()) => {}
            Err(Unsent::Why(why)) => return Err(why),
            Err(Unsent::Closed) => {
                // It is told as if it waited for an answer.
                CALLS.lock().ask(index, request.id, Budget::NONE);
                end(index, closing(&call));
                return Ok(());
            }
            Err(Unsent::Broken) => return Ok(()),
        }
    }
    if request.op == Op::Send {
        say(request.id, Outcome::Done, format_args!(""));
        return Ok(());
    }
    let set = {
        let mut calls = CALLS.lock();
        let budget = Budget::since(&request.limits, call.used, sip);
        calls.ask(index, request.id, budget);
        calls.set
    };
    if let Some(set) = set {
        set.add(channel, side, index);
    }
    Ok(())
}

/// Why a message was not sent.
enum Unsent {
    Why(Why),
    /// The process has closed its end.
    Closed,
    /// It breaks the contract, which the host has been told.
    Broken,
}

/// Sends the message of a request.
fn send(
    request: &Request<'_>,
    channel: &'static Channel,
    side: Side,
    sip: &'static Sip,
) -> Result<(), Unsent> {
    let broken = |why: core::fmt::Arguments<'_>| {
        say(request.id, Outcome::Broken, why);
        Unsent::Broken
    };
    let Some(contract) = channel.lock().contract else {
        return Err(Unsent::Closed);
    };
    let sent = request
        .message
        .ok_or_else(|| broken(format_args!("no message")))?;
    let message = contract.table.messages.get(sent.index as usize);
    let message = message.filter(|m| m.words.len() == sent.words.len());
    let message = message
        .ok_or_else(|| broken(format_args!("{} has no such message", contract.table.name)))?;
    let (name, of) = (&message.name, &contract.table.name);
    let row = channel.lock().ends[side.index()].state;
    if contract.step(row, sent.index, side).is_none() {
        let state = contract.state_name(row);
        return Err(broken(format_args!(
            "{of}.{name} may not be sent in the state {state}"
        )));
    }
    // Conditions are about numbers; those have their words as they are.
    if let Some(condition) = message.conditions.iter().find(|c| !c.holds(sent.words)) {
        return Err(broken(format_args!(
            "{of}.{name} requires {}",
            condition.text
        )));
    }
    if request.bytes.len() > ANSWER {
        return Err(broken(format_args!(
            "{of}.{name}: the blocks of a message have {ANSWER} bytes together at the most"
        )));
    }
    let mut words = [0; MAX_MESSAGE_WORDS];
    let mut bytes = request.bytes;
    let mut made = 0;
    let mut result = Ok(());
    for ((kind, &word), to) in message.words.iter().zip(sent.words).zip(&mut words) {
        *to = match kind {
            Word::Scalar => word,
            Word::OptionalBlock if word == 0 => NO_BLOCK,
            _ => {
                let len = usize::try_from(word).unwrap_or(usize::MAX);
                let Some((own, rest)) = bytes.split_at_checked(len).filter(|_| len > 0) else {
                    result = Err(broken(format_args!("{of}.{name}: a block has no bytes")));
                    break;
                };
                bytes = rest;
                match block(own, sip.account()) {
                    Some(block) => u64::from(block),
                    None => {
                        result = Err(Unsent::Why(Why::NoRoom(sip.account().limit())));
                        break;
                    }
                }
            }
        };
        made += 1;
    }
    let all = words.get(..sent.words.len()).unwrap_or_default();
    let result = result.and_then(|()| match channel::say(channel, side, sent.index, all) {
        Ok(()) => Ok(()),
        Err(Unsaid::Closed) => Err(Unsent::Closed),
        Err(Unsaid::OutOfTurn) => Err(broken(format_args!("{of}.{name} is out of turn"))),
    });
    if result.is_err() {
        let words = message.words.iter().zip(words).take(made);
        words.for_each(|(kind, word)| free_word(kind, word));
    }
    result
}

/// Frees what is in a word of a message in flight.
fn free_word(kind: &Word, word: u64) {
    if kind.is_block()
        && let Some(index) = channel::allocation_in(word)
    {
        exheap::free(index);
    }
}

/// What blocks are charged to that the host holds: made with the first of them. `None` if memory is
/// short.
fn held() -> Option<&'static Account> {
    if let Some(held) = CALLS.lock().held {
        return Some(held);
    }
    let made = account::root()?.open(HELD + RESERVE).ok()?;
    CALLS.lock().held = Some(made);
    Some(made)
}

/// The allocations in a message.
fn blocks(came: &Came) -> impl Iterator<Item = (u32, &'static exheap::Allocation)> {
    let indices = came.words().filter(|(kind, _)| kind.is_block());
    let indices = indices.filter_map(|(_, word)| channel::allocation_in(word));
    indices.filter_map(|index| Some((index, exheap::get(index)?)))
}

/// Gives the host the message that it waits for, or tells it that none will come.
pub(super) fn hear(key: u32, call: &Call, side: Side) {
    let (Some(sip), Some(channel)) = (call.sip, call.channel) else {
        return;
    };
    // Who brings no block needs no account.
    let has_room = |came: &Came| {
        let mut due = blocks(came).peekable();
        due.peek().is_none()
            || held().is_some_and(|held| {
                let due = due.map(|(_, a)| price(a, held));
                held.keeps_reserve(due.fold(0, u64::saturating_add))
            })
    };
    match channel::next(channel, side, has_room) {
        Next::Nothing => {}
        Next::Closed => end(key, closing(call)),
        Next::NoRoom => {
            // What the host has given back counts until it is freed: with that, it is looked at again.
            let held = CALLS.lock().held;
            if let Some(held) = held
                && !held.deferred.lock().is_empty()
            {
                exheap::free_deferred(held, &mut Work::step());
                return;
            }
            rest(key, channel, side, sip);
            refuse(call.id, held.map_or(Why::NoMemory, |_| Why::Held), sip);
        }
        Next::Message(came) => {
            rest(key, channel, side, sip);
            if !give(call.id, &came) {
                refuse(call.id, Why::NoMemory, sip);
            }
        }
    }
}

/// Tells the host why it has no message.
fn refuse(id: u64, why: Why, sip: &'static Sip) {
    say(id, Outcome::NotMade, format_args!("{}", why.of(sip.name())));
}

/// What a block costs the host. A part of a region that is divided is copied: the region is another's
/// account's, which its process could leave behind for as long as the host holds a byte of it.
fn price(a: &'static exheap::Allocation, held: &'static Account) -> u64 {
    match a.is_part() {
        false => a.due_from(held),
        true if a.len() as usize <= ANSWER => exheap::cost(a.len()),
        true => u64::MAX,
    }
}

/// A block of a message as one of the host's: its index. `None`, where nothing has changed, if there is no
/// memory.
fn taken(index: u32, a: &'static exheap::Allocation, held: &'static Account) -> Option<u32> {
    if !a.is_part() {
        return a.take_over(held).then_some(index);
    }
    let copy = copied(a, held)?;
    exheap::free(index);
    Some(copy)
}

/// The host waits no longer for what comes here.
fn rest(key: u32, channel: &'static Channel, side: Side, sip: &'static Sip) {
    channel.member(side).leave();
    // What it was refused before is not why it ends without a further message.
    sip.account().forget_refusals();
    let mut calls = CALLS.lock();
    calls.rest(key);
    calls.gave(key, sip.totals().cycles);
}

/// Gives the host a message, within what it may hold. False, with the blocks freed, if there is no memory
/// for them.
fn give(id: u64, came: &Came) -> bool {
    let held = CALLS.lock().held;
    let mut all = [Given::Nothing; MAX_MESSAGE_WORDS];
    let mut whole = true;
    for ((kind, word), given) in came.words().zip(&mut all) {
        let number = channel::allocation_in(word).filter(|_| kind.is_block());
        let block = number.and_then(|number| Some((number, exheap::get(number)?)));
        *given = match (block, held) {
            (Some((number, a)), Some(held)) if whole => match taken(number, a, held) {
                Some(number) => lent(number),
                None => {
                    exheap::free(number);
                    whole = false;
                    Given::Nothing
                }
            },
            (Some((number, _)), _) => {
                exheap::free(number);
                Given::Nothing
            }
            (None, _) if kind.is_block() => Given::Nothing,
            (None, _) => Given::Number(word),
        };
    }
    let words = all.get(..came.kinds.len()).unwrap_or_default();
    let callers = hal().callers().filter(|_| whole);
    if !callers.is_some_and(|callers| callers.message(id, came.message, words)) {
        for given in words {
            if let Given::Block { number, .. } = given {
                exheap::free(*number);
            }
        }
    }
    whole
}

/// A block of the host's, as it is told of it.
fn lent(number: u32) -> Given {
    match exheap::get(number) {
        None => Given::Nothing,
        Some(a) => Given::Block {
            number,
            address: a.block.get().base(),
            len: a.len(),
        },
    }
}

/// Frees a block that the host has held.
pub(super) fn free(index: u32) {
    let held = CALLS.lock().held;
    let is_held = held.zip(exheap::get(index));
    if is_held.is_some_and(|(held, a)| a.is_charged_to(held)) {
        exheap::free(index);
    }
}

/// Closes the kernel's end of a channel to a process, and frees what has come there.
pub(super) fn give_up(channel: &'static Channel, side: Side, sip: &'static Sip) {
    // However much has come: what is beyond a step's work is left to the idle context.
    let mut work = Work::step();
    while let Next::Message(came) = channel::next(channel, side, |_| true) {
        blocks(&came).for_each(|(index, _)| exheap::free_later(index, &mut work));
    }
    channel::close(channel, side, sip);
}
