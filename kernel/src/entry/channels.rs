//! Channels: making, sending, receiving.

use super::{caller, fill_table, finish};
use crate::channel::{self, Channel, Received, Sent};
use crate::cpu;
use crate::exheap;
use crate::handle::{self, Object};
use sing_abi::entry::COUNT;
use sing_abi::status;
use sing_abi::trap::Trap;
use sing_abi::{MAX_MESSAGE_WORDS, MAX_REGISTER_WORDS};
use sing_image::contract::Word;
use sing_image::manifest::Side;
use sing_runtime::CtxRef;

/// Bits of an operation that name the message.
const MESSAGE: u32 = 0x7fff;

/// Fills the table.
pub(super) fn fill(table: &mut [usize; COUNT]) {
    fill_table! { table;
        CHANNEL_NEW = new: fn(u32, u32) -> i32;
        CHANNEL_SEND = send: fn(u32, u32, u64, u64, u64) -> i32;
        CHANNEL_SEND_MEM = send_mem: fn(u32, u32, u32) -> i32;
        CHANNEL_RECV = recv: fn(u32, u32, u32) -> i32;
        CHANNEL_CALL = call: fn(u32, u32, u64, u64, u32) -> i32;
        CHANNEL_CALL_MEM = call_mem: fn(u32, u32, u32, u32) -> i32;
        ENDPOINT_POLL = poll: fn(u32) -> i32;
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
    finish(read_words(endpoint, operation, words).and_then(|w| send_words(endpoint, operation, &w)))
}

/// The words of a message that its sender passes in memory.
fn read_words(endpoint: u32, operation: u32, at: u32) -> Result<[u64; MAX_MESSAGE_WORDS], Trap> {
    let sip = caller();
    let (channel, _) = sip.endpoint(endpoint, operation)?;
    let contract = channel.lock().contract.ok_or(Trap::BadHandle)?;
    let message = contract.table.messages.get((operation & MESSAGE) as usize);
    let n = message.ok_or(Trap::ProtocolViolation)?.words.len();
    let mut words = [0; MAX_MESSAGE_WORDS];
    let part = words.get_mut(..n).ok_or(Trap::BadArgument)?;
    sip.memory(at, n as u64 * 8)?.read_words(at, part)?;
    Ok(words)
}

#[inline(always)]
fn send_words(endpoint: u32, operation: u32, words: &[u64]) -> Result<i32, Trap> {
    let thread = cpu::current();
    let (channel, side) = thread.sip().endpoint(endpoint, operation)?;
    match channel::send(channel, side, operation & MESSAGE, words, thread)? {
        Sent::Ok => Ok(status::OK),
        Sent::Closed => Ok(status::CLOSED),
    }
}

extern "sysv64" fn recv(_: CtxRef, endpoint: u32, operation: u32, out: u32) -> i32 {
    finish(recv_words(endpoint, operation, out))
}

#[inline(always)]
fn recv_words(endpoint: u32, operation: u32, out: u32) -> Result<i32, Trap> {
    let thread = cpu::current();
    let sip = thread.sip();
    loop {
        // Anew each time: another thread of the SIP may have closed or sent the endpoint meanwhile.
        let (channel, side) = sip.endpoint(endpoint, operation & !MESSAGE)?;
        let received = channel::receive(channel, side, thread, |words| {
            sip.memory(out, words.len() as u64 * 8)?
                .write_words(out, words)
        })?;
        match received {
            Received::Message(m) => return Ok(m as i32),
            Received::Closed => return Ok(status::CLOSED),
            Received::NoRoom => return Ok(status::NO_RESOURCES),
            Received::Wait => {
                thread.sleep_until_woken();
            }
        }
    }
}

extern "sysv64" fn call(_: CtxRef, endpoint: u32, operation: u32, a: u64, b: u64, out: u32) -> i32 {
    finish(call_words(endpoint, operation, &[a, b, 0], out))
}

extern "sysv64" fn call_mem(_: CtxRef, endpoint: u32, operation: u32, at: u32, out: u32) -> i32 {
    finish(
        read_words(endpoint, operation, at).and_then(|w| call_words(endpoint, operation, &w, out)),
    )
}

#[inline(always)]
fn call_words(endpoint: u32, operation: u32, words: &[u64], out: u32) -> Result<i32, Trap> {
    if send_words(endpoint, operation, words)? == status::CLOSED {
        give_up(endpoint, operation, words);
        return Ok(status::CLOSED);
    }
    recv_words(endpoint, operation, out)
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
                let object = sip.handles.lock().remove(word as u32);
                handle::dispose(object);
            }
        }
    }
}

extern "sysv64" fn poll(_: CtxRef, endpoint: u32) -> i32 {
    finish(match caller().object(endpoint) {
        Object::Endpoint(channel, side, _) => Ok(match channel::poll(channel, side) {
            Some(waits) => i32::from(waits),
            None => status::CLOSED,
        }),
        _ => Err(Trap::BadHandle),
    })
}

extern "sysv64" fn cast(_: CtxRef, endpoint: u32, operation: u32, state: u32) -> i32 {
    finish(cast_to(endpoint, operation, state))
}

fn cast_to(endpoint: u32, operation: u32, state: u32) -> Result<i32, Trap> {
    let sip = caller();
    let Object::Endpoint(channel, side, _) = sip.object(endpoint) else {
        return Err(Trap::BadHandle);
    };
    let wanted = sip
        .image()
        .contracts
        .get((operation >> 16) as usize)
        .ok_or(Trap::BadArgument)?;
    let bits = {
        let inner = channel.lock();
        let Some(real) = inner.contract else {
            return Err(Trap::BadHandle);
        };
        let at = usize::from(inner.ends[side.index()].state);
        let same = real.table.states.get(at) == wanted.table.states.get(state as usize);
        if !same {
            return Ok(status::BAD_STATE);
        }
        sip.image().operation_bits(real, &wanted.table.name, side)
    };
    if bits != operation & !MESSAGE {
        return Ok(status::BAD_STATE);
    }
    sip.handles.lock().relabel(endpoint, bits);
    Ok(status::OK)
}

const _: () = assert!(MAX_REGISTER_WORDS == 3);
