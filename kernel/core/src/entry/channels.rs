//! Channels: making, sending, receiving.

use super::{Entries, caller, fill_table, finish};
use crate::ground::trusted::{
    Blocking3Words, Blocking4Words, BlockingCall, Left, blocking_3_words, blocking_4_words,
    blocking_call,
};
use crate::ground::work::Work;
use crate::mechanism::cpu;
use crate::object::channel::{self, Channel, Kept, Received, Sent};
use crate::object::exheap;
use crate::object::handle::Object;
use crate::object::thread::Thread;
use core::sync::atomic::Ordering::Relaxed;
use sing_abi::status;
use sing_abi::trap::Trap;
use sing_abi::{MAX_MESSAGE_WORDS, MAX_REGISTER_WORDS};
use sing_image::contract::Word;
use sing_image::manifest::Side;
use sing_runtime::CtxRef;

/// Bits of an operation that name the message.
const MESSAGE: u32 = 0x7fff;
/// The bit of an operation that is set for the exporting side.
const SIDE: u32 = 0x8000;

/// Enters the functions of this module into the table.
pub(super) fn fill(table: &mut Entries) {
    fill_table! { table;
        CHANNEL_NEW = new: fn(u32, u32) -> i32;
        CHANNEL_SEND = send: fn(u32, u32, u64, u64, u64) -> i32;
        CHANNEL_SEND_MEM = send_mem: fn(u32, u32, u32) -> i32;
        CHANNEL_RECV = blocking_3_words::<Recv>: fn(u32, u32, u32) -> i32;
        CHANNEL_CALL = blocking_call::<Call>: fn(u32, u32, u64, u64, u32) -> i32;
        CHANNEL_CALL_MEM = blocking_4_words::<CallMem>: fn(u32, u32, u32, u32) -> i32;
        ENDPOINT_PEEK = peek: fn(u32) -> i32;
        ENDPOINT_KEEP = keep: fn(u32, u32) -> i32;
        ENDPOINT_CAST = cast: fn(u32, u32, u32) -> i32;
    }
}

extern "C" fn new(_: CtxRef, contract: u32, out: u32) -> i32 {
    finish(make(contract, out))
}

fn make(contract: u32, out: u32) -> Result<i32, Trap> {
    let sip = caller();
    let memory = sip.memory(out, 8)?;
    let &contract = sip
        .image()
        .contracts
        .get(contract as usize)
        .ok_or(Trap::BadArgument)?;
    let Some(channel) = Channel::create(contract, sip.account()) else {
        return Ok(status::NO_RESOURCES);
    };
    let name = &contract.table.name;
    let imp = sip.insert_endpoint(channel, Side::Imp, name);
    let exp = sip.insert_endpoint(channel, Side::Exp, name);
    match (imp, exp) {
        (Some(imp), Some(exp)) => {
            memory.write_u32(out, imp)?;
            memory.write_u32(out + 4, exp)?;
            Ok(status::OK)
        }
        (imp, _) => {
            if let Some(h) = imp {
                sip.handles.lock().remove(h);
            }
            channel::close(channel, Side::Imp, sip);
            channel::close(channel, Side::Exp, sip);
            Ok(status::NO_RESOURCES)
        }
    }
}

extern "C" fn send(_: CtxRef, endpoint: u32, operation: u32, a: u64, b: u64, c: u64) -> i32 {
    let thread = cpu::current();
    thread.wait.passed.set(endpoint, operation, [a, b, c]);
    match send_directly(thread, endpoint, operation) {
        Some(()) => finish(Ok(status::OK)),
        None => send_words(thread),
    }
}

/// Sends a message to a thread that waits for it. Returns `None`, without effect, if the general
/// path must be taken.
#[inline(always)]
fn send_directly(thread: &'static Thread, endpoint: u32, operation: u32) -> Option<()> {
    let sip = thread.its_sip()?;
    let end = sip.endpoint_now(endpoint, operation)?;
    channel::deliver(end, operation & MESSAGE, (thread, sip))
}

extern "C" fn send_mem(_: CtxRef, endpoint: u32, operation: u32, words: u32) -> i32 {
    finish(send_from_memory(endpoint, operation, words))
}

fn send_from_memory(endpoint: u32, operation: u32, at: u32) -> Result<i32, Trap> {
    let thread = cpu::current();
    let mut words = [0; MAX_MESSAGE_WORDS];
    let (channel, side) = endpoint_and_words(endpoint, operation, at, &mut words)?;
    sent(channel::send(
        channel,
        side,
        operation & MESSAGE,
        &words,
        thread,
    ))
}

/// Returns an endpoint of the caller, and reads the words of a message that it passes in memory.
/// The words are not in the result, which would be copied twice on its way.
fn endpoint_and_words(
    endpoint: u32,
    operation: u32,
    at: u32,
    words: &mut [u64; MAX_MESSAGE_WORDS],
) -> Result<(&'static Channel, Side), Trap> {
    loop {
        let (channel, side) = caller().endpoint(endpoint, operation)?;
        let len = read_words(channel, operation, at, words)?;
        if len == 0 {
            return Ok((channel, side));
        }
        // Other threads may run meanwhile, and change the endpoint.
        caller().memory(at, len)?;
    }
}

/// Reads the words of a message that its sender passes in memory. Returns 0, or their length in
/// bytes if not all of them are accessible yet.
fn read_words(
    channel: &'static Channel,
    operation: u32,
    at: u32,
    words: &mut [u64; MAX_MESSAGE_WORDS],
) -> Result<u64, Trap> {
    let contract = channel.lock().contract.ok_or(Trap::BadHandle)?;
    let message = contract.table.messages.get((operation & MESSAGE) as usize);
    let n = message.ok_or(Trap::ProtocolViolation)?.words.len();
    let part = words.get_mut(..n).ok_or(Trap::BadArgument)?;
    let (sip, len) = (caller(), n as u64 * 8);
    if !sip.has_committed(u64::from(at) + len) {
        return Ok(len);
    }
    sip.window().read_words(at, part)?;
    Ok(0)
}

#[inline(never)]
fn send_words(thread: &'static Thread) -> i32 {
    let passed = &thread.wait.passed;
    let (endpoint, operation) = (
        passed.endpoint.load(Relaxed),
        passed.operation.load(Relaxed),
    );
    finish(
        thread
            .sip()
            .endpoint(endpoint, operation)
            .and_then(|(channel, side)| {
                let message = operation & MESSAGE;
                sent(channel::send(
                    channel,
                    side,
                    message,
                    &passed.words(),
                    thread,
                ))
            }),
    )
}

#[inline(always)]
fn sent(outcome: Result<Sent, Trap>) -> Result<i32, Trap> {
    outcome.map(|sent| match sent {
        Sent::Ok => status::OK,
        Sent::Closed => status::CLOSED,
    })
}

struct Recv;

impl Blocking3Words for Recv {
    extern "C" fn enter(_: CtxRef, endpoint: u32, operation: u32, out: u32) -> Left {
        let thread = cpu::current();
        match thread.sip().endpoint(endpoint, operation & !MESSAGE) {
            Ok((channel, side)) => take(channel, side, thread, out),
            Err(trap) => stays(Err(trap)),
        }
    }
}

/// Leaves an entry without a switch.
#[inline(always)]
fn stays(result: Result<i32, Trap>) -> Left {
    Left::with(finish(result))
}

/// Receives a message, or waits if there is none yet.
#[inline(never)]
pub(super) fn take(
    channel: &'static Channel,
    side: Side,
    thread: &'static Thread,
    out: u32,
) -> Left {
    // No other thread can run during a delivery, so there must be room for the longest message
    // before.
    if !thread.sip().has_committed(u64::from(out) + MOST_BYTES)
        && let Err(trap) = make_room(out)
    {
        return stays(Err(trap));
    }
    loop {
        let sip = thread.sip();
        let received = channel::receive(channel, side, thread, out, |words| {
            let memory = sip.window();
            // A loop: for few words it is cheaper than a call of `memcpy`.
            for (i, &w) in (0..).zip(words) {
                memory.write_u64(out.wrapping_add(i * 8), core::hint::black_box(w))?;
            }
            Ok(())
        });
        return stays(match received {
            Ok(Received::Message(m)) => Ok(m as i32),
            Ok(Received::Closed) => Ok(status::CLOSED),
            Ok(Received::NoRoom) => Ok(status::NO_RESOURCES),
            Ok(Received::Wait) => match thread.sleep_after_entry() {
                Some(left) => return left,
                None => continue,
            },
            Err(trap) => Err(trap),
        });
    }
}

/// Size of the longest message in bytes.
const MOST_BYTES: u64 = MAX_MESSAGE_WORDS as u64 * 8;

/// Makes the caller's memory accessible for a message, as far as memory allows; the delivery tests
/// whether the message fits. Other threads may change the endpoint meanwhile; a receive checks its
/// owner again.
#[cold]
#[inline(never)]
fn make_room(out: u32) -> Result<(), Trap> {
    let sip = caller();
    let room = sip
        .called_len()
        .saturating_sub(u64::from(out))
        .min(MOST_BYTES);
    if room > 0 {
        sip.memory(out, room)?;
    }
    Ok(())
}

struct Call;

impl BlockingCall for Call {
    extern "C" fn enter(
        _: CtxRef,
        endpoint: u32,
        operation: u32,
        a: u64,
        b: u64,
        out: u32,
    ) -> Left {
        let thread = cpu::current();
        thread.wait.passed.set(endpoint, operation, [a, b, 0]);
        thread.wait.out.store(out, Relaxed);
        match call_directly(thread, endpoint, operation) {
            Some(left) => left,
            None => call_by_queue(thread),
        }
    }
}

/// Hands a message, and the processor, to a thread that waits for it. Returns `None`, without
/// effect, if the general path must be taken.
#[inline(always)]
fn call_directly(thread: &'static Thread, endpoint: u32, operation: u32) -> Option<Left> {
    let sip = thread.its_sip()?;
    let end = sip.endpoint_now(endpoint, operation)?;
    let (next, told) = channel::hand_over(end, operation & MESSAGE, (thread, sip))?;
    Some(thread.sleep_for(next, told))
}

#[inline(never)]
fn call_by_queue(thread: &'static Thread) -> Left {
    let passed = &thread.wait.passed;
    let (endpoint, operation) = (
        passed.endpoint.load(Relaxed),
        passed.operation.load(Relaxed),
    );
    let (words, out) = (passed.words(), thread.wait.out.load(Relaxed));
    // The send does not change the endpoint: it cannot travel on itself, and no other thread runs.
    let (channel, side) = match thread.sip().endpoint(endpoint, operation) {
        Ok(found) => found,
        Err(trap) => return stays(Err(trap)),
    };
    match outcome(channel::send(
        channel,
        side,
        operation & MESSAGE,
        &words,
        thread,
    )) {
        UNDER_WAY => take(channel, side, thread, out),
        outcome => not_sent(outcome, endpoint, operation, &words),
    }
}

struct CallMem;

impl Blocking4Words for CallMem {
    extern "C" fn enter(_: CtxRef, endpoint: u32, operation: u32, at: u32, out: u32) -> Left {
        let thread = cpu::current();
        let mut words = [0; MAX_MESSAGE_WORDS];
        let (channel, side) = match endpoint_and_words(endpoint, operation, at, &mut words) {
            Ok(found) => found,
            Err(trap) => return stays(Err(trap)),
        };
        let message = operation & MESSAGE;
        match outcome(channel::send(channel, side, message, &words, thread)) {
            UNDER_WAY => take(channel, side, thread, out),
            outcome => not_sent(outcome, endpoint, operation, &words),
        }
    }
}

/// The message of a call has been sent.
const UNDER_WAY: u32 = 0;
/// The other side has closed.
const GONE: u32 = 1;
/// The send has trapped; the trap's code is in the low bits.
const TRAPPED: u32 = 0x100;

#[inline(always)]
fn outcome(sent: Result<Sent, Trap>) -> u32 {
    match sent {
        Ok(Sent::Ok) => UNDER_WAY,
        Ok(Sent::Closed) => GONE,
        Err(trap) => TRAPPED | u32::from(trap.code()),
    }
}

/// Leaves a call whose message was not sent.
#[cold]
#[inline(never)]
fn not_sent(outcome: u32, endpoint: u32, operation: u32, words: &[u64]) -> Left {
    if let Some(trap) = Trap::from_code(outcome as u8).filter(|_| outcome & TRAPPED != 0) {
        return stays(Err(trap));
    }
    give_up(endpoint, operation, words);
    super::work_off();
    stays(Ok(status::CLOSED))
}

/// Frees the endpoints and blocks of a message to a side that has closed.
#[cold]
fn give_up(endpoint: u32, operation: u32, words: &[u64]) {
    let thread = cpu::current();
    let sip = thread.sip();
    let Ok((channel, _)) = sip.endpoint(endpoint, operation) else {
        return;
    };
    let Some(contract) = channel.lock().contract else {
        return;
    };
    let Some(message) = contract.table.messages.get((operation & MESSAGE) as usize) else {
        return;
    };
    // What is too much for this is the caller's to work off.
    let mut work = Work::little();
    for (kind, &word) in message.words.iter().zip(words) {
        match kind {
            Word::Scalar => {}
            Word::Block | Word::Tree | Word::OptionalBlock | Word::OptionalTree => {
                if let Some(index) = thread.take_allocation(word as u32) {
                    exheap::free_later(index, &mut work);
                }
            }
            Word::Endpoint { .. } => {
                // The handles in the message are unchecked so far.
                let mut handles = sip.handles.lock();
                if let Object::Endpoint(channel, side, _) = handles.get(word as u32) {
                    handles.remove(word as u32);
                    drop(handles);
                    channel::close(channel, side, sip);
                }
            }
        }
    }
}

extern "C" fn keep(_: CtxRef, endpoint: u32, tag: u32) -> i32 {
    finish(match caller().object(endpoint) {
        Object::Endpoint(channel, side, bits) => {
            channel.lock().ends[side.index()].kept = Some(Kept { tag, bits });
            Ok(status::OK)
        }
        _ => Err(Trap::BadHandle),
    })
}

extern "C" fn peek(_: CtxRef, endpoint: u32) -> i32 {
    finish(match caller().object(endpoint) {
        Object::Endpoint(channel, side, _) => Ok(channel::peek(channel, side)),
        _ => Err(Trap::BadHandle),
    })
}

extern "C" fn cast(_: CtxRef, endpoint: u32, operation: u32, state: u32) -> i32 {
    finish(cast_to(endpoint, operation, state))
}

fn cast_to(endpoint: u32, operation: u32, state: u32) -> Result<i32, Trap> {
    let side = if operation & SIDE == 0 {
        Side::Imp
    } else {
        Side::Exp
    };
    let done = caller().use_endpoint_as(endpoint, operation >> 16, side, state)?;
    Ok(if done { status::OK } else { status::BAD_STATE })
}

const _: () = assert!(MAX_REGISTER_WORDS == 3);
