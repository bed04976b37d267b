//! The system image's files, what the system does, its end. All of it is privileged: the installer
//! lets only those import it whose manifest has the privilege.

use super::reply::put;
use super::{Entries, caller, fill_table, finish};
use crate::entry::query;
use crate::ground::image;
use crate::ground::machine::hal;
use crate::ground::trace;
use crate::mechanism::cpu;
use crate::mechanism::interrupt::let_others_run;
use crate::mechanism::watchdog;
use crate::object::sip;
use sing_abi::status;
use sing_abi::trap::Trap;
use sing_image::snapshot::TRACE_EVENT_SIZE;
use sing_runtime::CtxRef;

/// Bytes of a file that are copied between two looks for interrupts.
const PIECE: usize = 256 << 10;
/// The longest path of a file of the system image, in bytes.
const MAX_PATH: u32 = 1024;
/// How often a reader of the trace looks, in nanoseconds.
const TRACE_PERIOD: u64 = 10_000_000;

/// Enters the functions of this module into the table.
pub(super) fn fill(table: &mut Entries) {
    fill_table! { table;
        BOOT_NAME = boot_name: fn(u32, u32, u32) -> i32;
        BOOT_SIZE = boot_size: fn(u32, u32) -> i32;
        BOOT_READ = boot_read: fn(u32, u32, u32, u32) -> i32;
        SYS_QUERY = query: fn(u32, u32, u32) -> i32;
        TRACE_CONTROL = trace_control: fn(u32) -> i32;
        TRACE_READ = trace_read: fn(u32, u32, i64) -> i32;
        SYS_STOP = stop: fn(u32, i32) -> i32;
        SYS_STOP_BY = stop_by: fn(u32, i32, u32) -> i32;
        SYS_SHUTDOWN = shutdown: fn(i32);
    }
}

extern "C" fn boot_name(_: CtxRef, index: u32, out: u32, max: u32) -> i32 {
    finish(match image::boot_name(index as usize) {
        Some(name) => put(name.as_bytes(), out, max),
        None => Ok(status::NOT_FOUND),
    })
}

/// Returns the boot file whose path stands in the caller's memory.
fn boot_file(path: u32, len: u32) -> Result<Option<&'static [u8]>, Trap> {
    if len > MAX_PATH {
        return Ok(None);
    }
    let mut name = [0; MAX_PATH as usize];
    let name = &mut name[..len as usize];
    caller().memory(path, u64::from(len))?.read(path, name)?;
    let name = core::str::from_utf8(name).ok();
    Ok(name.and_then(image::boot_file))
}

extern "C" fn boot_size(_: CtxRef, path: u32, len: u32) -> i32 {
    finish(boot_file(path, len).map(|f| match f {
        Some(f) => i32::try_from(f.len()).unwrap_or(status::NO_RESOURCES),
        None => status::NOT_FOUND,
    }))
}

extern "C" fn boot_read(_: CtxRef, path: u32, len: u32, offset: u32, allocation: u32) -> i32 {
    finish(read_boot(path, len, offset, allocation))
}

fn read_boot(path: u32, len: u32, offset: u32, allocation: u32) -> Result<i32, Trap> {
    let Some(file) = boot_file(path, len)? else {
        return Ok(status::NOT_FOUND);
    };
    let entry = cpu::current().entry(allocation).ok_or(Trap::BadHandle)?;
    let rest = file.get(offset as usize..).unwrap_or(&[]);
    let n = rest.len().min(entry.writable_len() as usize);
    // Only this thread could free or share the block.
    let block = entry.writable();
    let mut at = 0;
    for piece in rest[..n].chunks(PIECE) {
        block.write(at, piece)?;
        at += piece.len() as u32;
        let_others_run();
    }
    Ok(n as i32)
}

extern "C" fn query(_: CtxRef, what: u32, out: u32, max: u32) -> i32 {
    finish(query::answer(what, out, max))
}

extern "C" fn trace_control(_: CtxRef, kinds: u32) -> i32 {
    let (reader, account) = (caller().id(), caller().account());
    finish(Ok(if kinds == 0 {
        trace::stop(reader);
        status::OK
    } else {
        trace::start(reader, account, kinds)
    }))
}

extern "C" fn trace_read(_: CtxRef, out: u32, max: u32, timeout: i64) -> i32 {
    finish(read_trace(out, max, timeout))
}

fn read_trace(out: u32, max: u32, timeout: i64) -> Result<i32, Trap> {
    let room = max / TRACE_EVENT_SIZE as u32;
    let memory = caller().memory(out, u64::from(room) * TRACE_EVENT_SIZE as u64)?;
    let reader = caller().id();
    let deadline = crate::mechanism::timer::deadline(timeout);
    loop {
        let mut n = 0;
        while n < room
            && let Some(event) = trace::take(reader)
        {
            memory.write(out + n * TRACE_EVENT_SIZE as u32, &event.to_bytes())?;
            n += 1;
            if n.is_multiple_of(256) {
                let_others_run();
            }
        }
        let now = hal().now();
        if n > 0 || room == 0 || now >= deadline || !trace::is_read_by(reader) {
            return Ok((n * TRACE_EVENT_SIZE as u32) as i32);
        }
        let t = cpu::current();
        t.wait_for_time();
        t.sleep_until(deadline.min(now + TRACE_PERIOD));
    }
}

/// Flag of `sys_stop_by`: the process's descendants go on.
const ONLY: u32 = 1;
/// Flag of `sys_stop_by`: stops an essential process, too.
const FORCE: u32 = 2;

extern "C" fn stop(_: CtxRef, id: u32, code: i32) -> i32 {
    finish(Ok(stop_process(id, code, 0)))
}

extern "C" fn stop_by(_: CtxRef, id: u32, code: i32, how: u32) -> i32 {
    finish(Ok(stop_process(id, code, how)))
}

fn stop_process(id: u32, code: i32, how: u32) -> i32 {
    let Some(sip) = sip::find(id) else {
        return status::NOT_FOUND;
    };
    if how & !(ONLY | FORCE) != 0 {
        return status::BAD_ARGUMENT;
    }
    if sip.role.is_essential() && how & FORCE == 0 {
        return status::NOT_PERMITTED;
    }
    if how & ONLY == 0 {
        sip::stop(sip, code);
    } else {
        sip::stop_only(sip, code);
    }
    status::OK
}

extern "C" fn shutdown(_: CtxRef, code: i32) {
    watchdog::end_system(code)
}
