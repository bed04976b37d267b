//! Attempts on registers by the accesses that the compiler expands in line: they must do what a
//! kernel call does, wherever their check fails, and whatever another thread does meanwhile.

use crate::{code, raw, started};
use core::time::Duration;
use sing_sdk::prelude::*;
use sing_sdk::{sync, thread};

/// How often registers are given back under another thread's accesses.
const TIMES: u32 = 30;

/// A handle of the disk's registers.
fn registers(device: &sing_sdk::device::Device) -> u32 {
    raw::device_registers(device.handle().raw(), 0) as u32
}

/// Makes one attempt: 0 if it went as it should.
pub fn attempt(attempt: &str) -> Result<i32, Error> {
    let (device, _queue) = started()?;
    let io = registers(&device);
    // It can read what is its own: the capacity, which is not 0.
    if raw::io_load32(io, 0) == 0 {
        return Ok(1);
    }
    let len = device.registers(0)?.len();
    match attempt {
        // Another generation, and another entry.
        "forged-inline" => {
            let _ = raw::io_load32(io, 0);
            Ok(raw::io_load32(io + 0x10000, 0) as i32)
        }
        // The number of no handle, when an entry whose place it leads to has just been given up.
        "zero-inline" => {
            let zeros = |handle: &u32| handle.is_multiple_of(32);
            let handles: Vec<u32> = (0..40).map(|_| registers(&device)).collect();
            let reached = handles.iter().all(|&h| raw::io_load32(h, 0) != 0);
            let found = handles.iter().any(zeros);
            for handle in handles {
                raw::handle_dispose(handle);
            }
            match reached && found {
                true => Ok(raw::io_load32(0, 0) as i32),
                false => Ok(2),
            }
        }
        "device-inline" => Ok(raw::io_load8(device.handle().raw(), 0) as i32),
        "event-inline" => {
            let event = sync::AutoEvent::new(false)?;
            raw::io_store64(event.handle().raw(), 0, 0);
            Ok(1)
        }
        "closed-inline" => {
            raw::handle_dispose(io);
            Ok(raw::io_load32(io, 0) as i32)
        }
        "closed-elsewhere" => {
            let reader = thread::spawn(move || {
                loop {
                    let _ = raw::io_load32(io, 0);
                }
            })?;
            thread::sleep(Duration::from_millis(5));
            raw::handle_dispose(io);
            drop(reader);
            thread::sleep(Duration::from_secs(60));
            Ok(1)
        }
        "wide-inline" => Ok(raw::io_load64(io, len - 4) as i32),
        "far-inline" => {
            raw::io_store16(io, u32::MAX - 1, 0);
            Ok(1)
        }
        "half-inline" => Ok(raw::io_load32(io, 2) as i32),
        "same-inline" => code(same(io, len)),
        "given-back-inline" => {
            drop(device);
            raw::io_store16(io, 0, 0);
            let read = (
                raw::io_load8(io, 0),
                raw::io_load32(io, 0),
                raw::io_load64(io, 0),
            );
            code(read == (0xff, u32::MAX, u64::MAX))
        }
        "given-back-elsewhere" => elsewhere(device, io),
        "many-handles" => many(&device, io),
        _ => Err(Error::BadArgument),
    }
}

/// What is read in line and by a kernel call is the same, at each width and place.
fn same(io: u32, len: u32) -> bool {
    let bytes = (0..len).all(|at| i64::from(raw::io_load8(io, at)) == raw::io_read(io, at, 1));
    let words = |at: u32| i64::from(raw::io_load32(io, at)) == raw::io_read(io, at, 4);
    let long = |at: u32| raw::io_load64(io, at) as i64 == raw::io_read(io, at, 8);
    bytes && (0..len / 4).all(|i| words(4 * i)) && (0..len / 8).all(|i| long(8 * i))
}

/// Registers that a thread reads are closed by another, again and again; in the end the device is
/// given back under it. The reader goes on, and reads nothing of the device any more.
fn elsewhere(device: sing_sdk::device::Device, io: u32) -> Result<i32, Error> {
    let wanted = raw::io_load32(io, 0);
    for _ in 0..TIMES {
        let other = registers(&device);
        let good = raw::io_load32(other, 0) == wanted && raw::io_load32(io, 0) == wanted;
        raw::handle_dispose(other);
        if !good {
            return Ok(1);
        }
    }
    let reader = thread::spawn(move || {
        let mut reads = 0_u64;
        loop {
            match raw::io_load32(io, 0) {
                u32::MAX => return reads,
                read if read != wanted => return 0,
                _ => reads += 1,
            }
        }
    })?;
    // It is pre-empted at any instruction, between check and access included.
    thread::sleep(Duration::from_millis(20));
    drop(device);
    let reads = reader.join()?;
    code(reads > 0 && raw::io_load32(io, 0) == u32::MAX)
}

/// More handles of the same registers than there are entries: all of them work, and those that are
/// closed leave the others.
fn many(device: &sing_sdk::device::Device, io: u32) -> Result<i32, Error> {
    let wanted = raw::io_load32(io, 0);
    let handles: Vec<u32> = (0..100).map(|_| registers(device)).collect();
    let all = |handles: &[u32]| handles.iter().all(|&h| raw::io_load32(h, 0) == wanted);
    let mut good = all(&handles);
    let (first, rest) = handles.split_at(50);
    for &handle in first {
        raw::handle_dispose(handle);
    }
    good &= all(rest) && raw::io_load32(io, 0) == wanted;
    for &handle in rest {
        raw::handle_dispose(handle);
    }
    code(good && raw::io_load32(io, 0) == wanted)
}
