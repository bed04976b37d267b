//! Entries for virtio devices: features, queues, requests.

use super::devices::device;
use super::{Entries, caller, fill_table, finish};
use crate::ground::work::Work;
use crate::mechanism::cpu;
use crate::object::device::Device;
use crate::object::handle::Object;
use crate::object::queue::{Done, MOST_QUEUES, Nonsense, Part, Queue};
use crate::object::thread::Thread;
use sing_abi::status;
use sing_abi::trap::Trap;
use sing_abi::{MAX_PARTS, MAX_REQUEST};
use sing_runtime::CtxRef;

/// Bytes of a part, as a caller describes it.
const PART: u32 = 16;
/// Bytes of the answer of `queue_take`.
const ANSWER: u32 = 4 + 4 * MAX_PARTS as u32;

/// Fills the table.
pub(super) fn fill(table: &mut Entries) {
    fill_table! { table;
        DEVICE_RESET = reset: fn(u32) -> i64;
        DEVICE_ACCEPT = accept: fn(u32, i64) -> i32;
        DEVICE_READY = ready: fn(u32) -> i32;
        QUEUE_CREATE = create: fn(u32, u32, u32) -> i32;
        QUEUE_ADD = add: fn(u32, u32, u32) -> i32;
        QUEUE_NOTIFY = notify: fn(u32) -> i32;
        QUEUE_TAKE = take: fn(u32, u32) -> i32;
    }
}

fn or_status(done: Result<(), i32>) -> i32 {
    done.err().unwrap_or(status::OK)
}

extern "C" fn reset(_: CtxRef, handle: u32) -> i64 {
    finish(device(handle).map(|d| match d.reset() {
        // Features of a device's kind fill neither the highest bit nor all others.
        Ok(features) => (features & i64::MAX as u64) as i64,
        Err(status) => status.into(),
    }))
}

extern "C" fn accept(_: CtxRef, handle: u32, features: i64) -> i32 {
    finish(device(handle).map(|d| or_status(d.accept(features as u64))))
}

extern "C" fn ready(_: CtxRef, handle: u32) -> i32 {
    finish(device(handle).map(|d| match d.agreed() {
        Some(transport) => {
            transport.ready();
            status::OK
        }
        None => status::BAD_STATE,
    }))
}

extern "C" fn create(_: CtxRef, handle: u32, index: u32, size: u32) -> i32 {
    finish(device(handle).map(|d| make(d, index, size)))
}

fn make(device: &'static Device, index: u32, size: u32) -> i32 {
    let sip = caller();
    if index >= device.queues_declared(sip) || index as usize >= MOST_QUEUES {
        return status::NOT_PERMITTED;
    }
    let Some(transport) = device.agreed() else {
        return status::BAD_STATE;
    };
    let (queue, account) = (&device.queues[index as usize], sip.account());
    if !account.charge(Queue::COST) {
        return status::NO_RESOURCES;
    }
    if let Err(status) = queue.create(transport, index as u16, size, account) {
        // The device may have been reset behind its other queues.
        if status == status::NOT_PERMITTED && !device.stop() {
            device.cut_off();
        }
        account.discharge(Queue::COST);
        return status;
    }
    device.retain();
    match sip.insert(Object::Queue(device, index as u8)) {
        Some(handle) => handle as i32,
        None => {
            device.dispose_queue(index as u8, &mut Work::little());
            account.discharge(Queue::COST);
            status::NO_RESOURCES
        }
    }
}

/// Returns the queue that a handle of the caller names, and its device.
fn queue(handle: u32) -> Result<(&'static Device, &'static Queue), Trap> {
    match caller().object(handle) {
        Object::Queue(device, index) => device
            .queues
            .get(usize::from(index))
            .map(|queue| (device, queue))
            .ok_or(Trap::BadHandle),
        _ => Err(Trap::BadHandle),
    }
}

extern "C" fn add(_: CtxRef, handle: u32, parts: u32, count: u32) -> i32 {
    finish(add_parts(handle, parts, count))
}

fn add_parts(handle: u32, at: u32, count: u32) -> Result<i32, Trap> {
    let (_, queue) = queue(handle)?;
    if count == 0 || count as usize > MAX_PARTS {
        return Ok(status::BAD_ARGUMENT);
    }
    let thread = cpu::current();
    let memory = caller().memory(at, u64::from(count * PART))?;
    let mut parts = [Part::default(); MAX_PARTS];
    let mut handles = [0; MAX_PARTS];
    let (mut bytes, mut writes) = (0u64, false);
    for i in 0..count {
        let field = |n: u32| memory.read_u32(at + i * PART + n * 4);
        let (block, start, len, kind) = (field(0)?, field(1)?, field(2)?, field(3)?);
        let (allocation, a) = thread.allocation(block).ok_or(Trap::BadHandle)?;
        if kind > 1 || len == 0 || writes && kind == 0 {
            return Ok(status::BAD_ARGUMENT);
        }
        writes = kind == 1;
        // A client may have sent its driver any block: no fault of the driver's.
        let inside = u64::from(start) + u64::from(len) <= u64::from(a.len());
        if !inside || writes && a.is_read_only() {
            return Ok(status::BAD_ARGUMENT);
        }
        bytes += u64::from(len);
        handles[i as usize] = block;
        parts[i as usize] = Part {
            allocation,
            start,
            len,
            writes,
        };
    }
    if bytes > u64::from(MAX_REQUEST) {
        return Ok(status::BAD_ARGUMENT);
    }
    let handles = &handles[..count as usize];
    Ok(match queue.add(&parts[..count as usize]) {
        Ok(number) => {
            for (i, &h) in handles.iter().enumerate() {
                if !handles[..i].contains(&h) {
                    thread.take_allocation(h);
                }
            }
            i32::from(number)
        }
        Err(status) => status,
    })
}

extern "C" fn notify(_: CtxRef, handle: u32) -> i32 {
    finish(queue(handle).map(|(_, queue)| match queue.notify() {
        Some(done) => i32::from(done),
        None => status::CLOSED,
    }))
}

extern "C" fn take(_: CtxRef, handle: u32, out: u32) -> i32 {
    finish(take_done(handle, out))
}

fn take_done(handle: u32, out: u32) -> Result<i32, Trap> {
    let (device, queue) = queue(handle)?;
    // Before anything moves: the answer has a place.
    let memory = caller().memory(out, ANSWER.into())?;
    let done = match queue.first_done() {
        Ok(Ok(done)) => done,
        Ok(Err(status)) => return Ok(status),
        Err(Nonsense) => {
            // It is not trusted with memory any more; what it had is taken back one by one.
            if !device.stop() {
                device.cut_off();
            }
            match queue.first_done() {
                Ok(Ok(done)) => done,
                Ok(Err(status)) => return Ok(status),
                Err(Nonsense) => return Ok(status::CLOSED),
            }
        }
    };
    let Some(handles) = enter(cpu::current(), &done) else {
        return Ok(status::NO_RESOURCES);
    };
    queue.finish(&done);
    memory.write_u32(out, done.written)?;
    for (i, &h) in handles.iter().enumerate() {
        memory.write_u32(out + 4 + 4 * i as u32, h)?;
    }
    Ok(i32::from(done.number))
}

/// Enters the allocations of a request into a thread's table: the handle of each part, all of them
/// or none.
fn enter(thread: &'static Thread, done: &Done) -> Option<[u32; MAX_PARTS]> {
    let mut handles = [0; MAX_PARTS];
    let allocations = &done.allocations[..done.parts];
    for (i, &allocation) in allocations.iter().enumerate() {
        let before = allocations[..i].iter().position(|&a| a == allocation);
        let handle = match before {
            Some(same) => Some(handles[same]),
            None => thread.insert_allocation(allocation),
        };
        let Some(handle) = handle else {
            for (j, &h) in handles[..i].iter().enumerate() {
                if !handles[..j].contains(&h) {
                    thread.take_allocation(h);
                }
            }
            return None;
        };
        handles[i] = handle;
    }
    Some(handles)
}
