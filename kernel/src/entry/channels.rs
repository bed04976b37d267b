//! Channels: making, sending, receiving.

use super::{caller, fill_table, finish};
use crate::channel::{self, Channel, Received, Sent};
use crate::cpu;
use crate::exheap;
use crate::handle::Object;
use crate::thread::Thread;
use sing_abi::entry::COUNT;
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

/// Fills the table.
pub(super) fn fill(table: &mut [usize; COUNT]) {
    fill_table! { table;
        CHANNEL_NEW = new: fn(u32, u32) -> i32;
        CHANNEL_SEND = send: fn(u32, u32, u64, u64, u64) -> i32;
        CHANNEL_SEND_MEM = send_mem: fn(u32, u32, u32) -> i32;
        CHANNEL_RECV = recv: fn(u32, u32, u32) -> i32;
        CHANNEL_CALL = call: fn(u32, u32, u64, u64, u32) -> i32;
        CHANNEL_CALL_MEM = call_mem: fn(u32, u32, u32, u32) -> i32;
        ENDPOINT_PEEK = peek: fn(u32) -> i32;
        ENDPOINT_CAST = cast: fn(u32, u32, u32) -> i32;
    }
}

extern "sysv64" fn new(_: CtxRef, contract: u32, out: u32) -> i32 {
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
    let Some(channel) = Channel::create(contract, Some(sip)) else {
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
            channel::close(channel, Side::Imp);
            channel::close(channel, Side::Exp);
            Ok(status::NO_RESOURCES)
        }
    }
}

extern "sysv64" fn send(_: CtxRef, endpoint: u32, operation: u32, a: u64, b: u64, c: u64) -> i32 {
    finish(send_words(endpoint, operation, &[a, b, c]))
}

extern "sysv64" fn send_mem(_: CtxRef, endpoint: u32, operation: u32, words: u32) -> i32 {
    finish(send_from_memory(endpoint, operation, words))
}

fn send_from_memory(endpoint: u32, operation: u32, at: u32) -> Result<i32, Trap> {
    let thread = cpu::current();
    let (channel, side) = thread.sip().endpoint(endpoint, operation)?;
    let words = read_words(channel, operation, at)?;
    sent(channel::send(
        channel,
        side,
        operation & MESSAGE,
        &words,
        thread,
    ))
}

/// The words of a message that its sender passes in memory.
fn read_words(
    channel: &'static Channel,
    operation: u32,
    at: u32,
) -> Result<[u64; MAX_MESSAGE_WORDS], Trap> {
    let contract = channel.lock().contract.ok_or(Trap::BadHandle)?;
    let message = contract.table.messages.get((operation & MESSAGE) as usize);
    let n = message.ok_or(Trap::ProtocolViolation)?.words.len();
    let mut words = [0; MAX_MESSAGE_WORDS];
    let part = words.get_mut(..n).ok_or(Trap::BadArgument)?;
    caller().memory(at, n as u64 * 8)?.read_words(at, part)?;
    Ok(words)
}

#[inline(always)]
fn send_words(endpoint: u32, operation: u32, words: &[u64]) -> Result<i32, Trap> {
    let thread = cpu::current();
    let (channel, side) = thread.sip().endpoint(endpoint, operation)?;
    sent(channel::send(
        channel,
        side,
        operation & MESSAGE,
        words,
        thread,
    ))
}

#[inline(always)]
fn sent(outcome: Result<Sent, Trap>) -> Result<i32, Trap> {
    outcome.map(|sent| match sent {
        Sent::Ok => status::OK,
        Sent::Closed => status::CLOSED,
    })
}

extern "sysv64" fn recv(_: CtxRef, endpoint: u32, operation: u32, out: u32) -> i32 {
    let thread = cpu::current();
    match thread.sip().endpoint(endpoint, operation & !MESSAGE) {
        Ok((channel, side)) => take(channel, side, thread, out),
        Err(trap) => finish(Err(trap)),
    }
}

/// Receives, waiting where there is nothing yet, and leaves the kernel. One piece of code for all who
/// receive, called last: threads that take turns then block and go on at the same place, which is where the
/// processor's return predictor expects them.
#[inline(never)]
fn take(channel: &'static Channel, side: Side, thread: &'static Thread, out: u32) -> i32 {
    loop {
        let sip = thread.sip();
        let received = channel::receive(channel, side, thread, |words| {
            let memory = sip.memory(out, words.len() as u64 * 8)?;
            // One by one: few words cost less than a call of `memcpy`.
            for (i, &w) in (0..).zip(words) {
                memory.write_u64(out.wrapping_add(i * 8), core::hint::black_box(w))?;
            }
            Ok(())
        });
        match received {
            Ok(Received::Message(m)) => return finish(Ok(m as i32)),
            Ok(Received::Closed) => return finish(Ok(status::CLOSED)),
            Ok(Received::NoRoom) => return finish(Ok(status::NO_RESOURCES)),
            Ok(Received::Wait) => {
                thread.sleep_until_woken();
            }
            Err(trap) => return finish(Err(trap)),
        }
    }
}

extern "sysv64" fn call(_: CtxRef, endpoint: u32, operation: u32, a: u64, b: u64, out: u32) -> i32 {
    let thread = cpu::current();
    // What the endpoint is stays so over the send: it cannot travel on itself, and no other thread runs.
    let (channel, side) = match thread.sip().endpoint(endpoint, operation) {
        Ok(found) => found,
        Err(trap) => return finish(Err(trap)),
    };
    // The words' array lives in the send alone, so that `take` can be called last and return to the SIP itself.
    match send_first(channel, side, operation, a, b, thread) {
        UNDER_WAY => take(channel, side, thread, out),
        outcome => not_sent(outcome, endpoint, operation, &[a, b, 0]),
    }
}

extern "sysv64" fn call_mem(_: CtxRef, endpoint: u32, operation: u32, at: u32, out: u32) -> i32 {
    let thread = cpu::current();
    let (channel, side) = match thread.sip().endpoint(endpoint, operation) {
        Ok(found) => found,
        Err(trap) => return finish(Err(trap)),
    };
    let words = match read_words(channel, operation, at) {
        Ok(words) => words,
        Err(trap) => return finish(Err(trap)),
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

/// The message of a call is under way.
const UNDER_WAY: u32 = 0;
/// The other side has closed.
const GONE: u32 = 1;
/// The send has trapped; the trap's code is in the low bits.
const TRAPPED: u32 = 0x100;

#[inline(never)]
fn send_first(
    channel: &'static Channel,
    side: Side,
    operation: u32,
    a: u64,
    b: u64,
    thread: &'static Thread,
) -> u32 {
    let words = [a, b, 0];
    outcome(channel::send(
        channel,
        side,
        operation & MESSAGE,
        &words,
        thread,
    ))
}

#[inline(always)]
fn outcome(sent: Result<Sent, Trap>) -> u32 {
    match sent {
        Ok(Sent::Ok) => UNDER_WAY,
        Ok(Sent::Closed) => GONE,
        Err(trap) => TRAPPED | u32::from(trap.code()),
    }
}

/// Leaves a call whose message is not under way.
#[cold]
#[inline(never)]
fn not_sent(outcome: u32, endpoint: u32, operation: u32, words: &[u64]) -> i32 {
    if let Some(trap) = Trap::from_code(outcome as u8).filter(|_| outcome & TRAPPED != 0) {
        return finish(Err(trap));
    }
    give_up(endpoint, operation, words);
    super::work_off();
    finish(Ok(status::CLOSED))
}

/// Frees what a message would have moved to a side that has closed.
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
    for (kind, &word) in message.words.iter().zip(words) {
        match kind {
            Word::Scalar => {}
            Word::Block => {
                if let Some(index) = thread.take_allocation(word as u32) {
                    exheap::free(index);
                }
            }
            Word::Endpoint { .. } => {
                // Nothing has checked what it names.
                let mut handles = sip.handles.lock();
                if let Object::Endpoint(channel, side, _) = handles.get(word as u32) {
                    handles.remove(word as u32);
                    drop(handles);
                    channel::close(channel, side);
                }
            }
        }
    }
}

extern "sysv64" fn peek(_: CtxRef, endpoint: u32) -> i32 {
    finish(match caller().object(endpoint) {
        Object::Endpoint(channel, side, _) => Ok(channel::peek(channel, side)),
        _ => Err(Trap::BadHandle),
    })
}

extern "sysv64" fn cast(_: CtxRef, endpoint: u32, operation: u32, state: u32) -> i32 {
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
