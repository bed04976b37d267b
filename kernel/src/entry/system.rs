//! The console device, the system image's files, what the system does, its end. All of it is privileged: the
//! installer lets only those import it whose manifest has the privilege.

use super::{bytes, caller, fill_table, finish, put};
use crate::cpu;
use crate::image;
use crate::machine::hal;
use crate::query;
use crate::sip;
use crate::trace;
use crate::trusted;
use alloc::string::String;
use sing_abi::entry::COUNT;
use sing_abi::status;
use sing_abi::trap::Trap;
use sing_image::snapshot::TRACE_EVENT_SIZE;
use sing_runtime::CtxRef;

/// The most bytes that one call reads from or writes to the console.
const MAX_CONSOLE: u32 = 64 << 10;
/// How often a reader of the trace looks, in nanoseconds.
const TRACE_PERIOD: u64 = 10_000_000;

/// Fills the table.
pub(super) fn fill(table: &mut [usize; COUNT]) {
    fill_table! { table;
        CONSOLE_WRITE = console_write: fn(u32, u32) -> i32;
        CONSOLE_READ = console_read: fn(u32, u32) -> i32;
        CONSOLE_SIZE = console_size: fn(u32) -> i32;
        BOOT_NAME = boot_name: fn(u32, u32, u32) -> i32;
        BOOT_SIZE = boot_size: fn(u32, u32) -> i32;
        BOOT_READ = boot_read: fn(u32, u32, u32, u32) -> i32;
        SYS_QUERY = query: fn(u32, u32, u32) -> i32;
        TRACE_CONTROL = trace_control: fn(u32) -> i32;
        TRACE_READ = trace_read: fn(u32, u32, i64) -> i32;
        SYS_STOP = stop: fn(u32, i32) -> i32;
        SYS_SHUTDOWN = shutdown: fn(i32);
    }
}

extern "sysv64" fn console_write(_: CtxRef, text: u32, len: u32) -> i32 {
    let len = len.min(MAX_CONSOLE);
    finish(bytes(text, len).map(|b| {
        hal().console_write(&b);
        len as i32
    }))
}

extern "sysv64" fn console_read(_: CtxRef, out: u32, max: u32) -> i32 {
    finish(read_console(out, max))
}

fn read_console(out: u32, max: u32) -> Result<i32, Trap> {
    let max = max.min(4096) as usize;
    let memory = caller().memory(out, max as u64)?;
    let mut buffer = [0; 4096];
    match hal().console_read(&mut buffer[..max]) {
        Some(n) => {
            memory.write(out, &buffer[..n.min(max)])?;
            Ok(n as i32)
        }
        None => Ok(status::CLOSED),
    }
}

extern "sysv64" fn console_size(_: CtxRef, out: u32) -> i32 {
    finish(
        caller()
            .memory(out, 8)
            .and_then(|m| match hal().console_size() {
                Some((columns, rows)) => {
                    m.write_u32(out, columns)?;
                    m.write_u32(out + 4, rows)?;
                    Ok(status::OK)
                }
                None => Ok(status::NOT_FOUND),
            }),
    )
}

extern "sysv64" fn boot_name(_: CtxRef, index: u32, out: u32, max: u32) -> i32 {
    finish(match image::boot_name(index as usize) {
        Some(name) => put(name.as_bytes(), out, max),
        None => Ok(status::NOT_FOUND),
    })
}

/// The boot file whose path stands in the caller's memory.
fn boot_file(path: u32, len: u32) -> Result<Option<&'static [u8]>, Trap> {
    if len > 4096 {
        return Ok(None);
    }
    Ok(String::from_utf8(bytes(path, len)?)
        .ok()
        .and_then(|p| image::boot_file(&p)))
}

extern "sysv64" fn boot_size(_: CtxRef, path: u32, len: u32) -> i32 {
    finish(boot_file(path, len).map(|f| match f {
        Some(f) => i32::try_from(f.len()).unwrap_or(status::NO_RESOURCES),
        None => status::NOT_FOUND,
    }))
}

extern "sysv64" fn boot_read(_: CtxRef, path: u32, len: u32, offset: u32, allocation: u32) -> i32 {
    finish(read_boot(path, len, offset, allocation))
}

fn read_boot(path: u32, len: u32, offset: u32, allocation: u32) -> Result<i32, Trap> {
    let Some(file) = boot_file(path, len)? else {
        return Ok(status::NOT_FOUND);
    };
    let entry = cpu::current()
        .xtable
        .lock()
        .get(allocation)
        .ok_or(Trap::BadHandle)?;
    let rest = file.get(offset as usize..).unwrap_or(&[]);
    let n = rest.len().min(entry.wlen as usize);
    let block = trusted::block(entry.base, u64::from(entry.wlen));
    block.write(0, &rest[..n])?;
    Ok(n as i32)
}

extern "sysv64" fn query(_: CtxRef, what: u32, out: u32, max: u32) -> i32 {
    finish(match query::snapshot(what) {
        Some(bytes) => put(&bytes, out, max),
        None => Ok(status::BAD_ARGUMENT),
    })
}

extern "sysv64" fn trace_control(_: CtxRef, on: u32) -> i32 {
    trace::set(on != 0);
    finish(Ok(status::OK))
}

extern "sysv64" fn trace_read(_: CtxRef, out: u32, max: u32, timeout: i64) -> i32 {
    finish(read_trace(out, max, timeout))
}

fn read_trace(out: u32, max: u32, timeout: i64) -> Result<i32, Trap> {
    let room = max / TRACE_EVENT_SIZE as u32;
    let memory = caller().memory(out, u64::from(room) * TRACE_EVENT_SIZE as u64)?;
    let deadline = crate::timer::deadline(timeout);
    loop {
        let mut n = 0;
        while n < room
            && let Some(event) = trace::take()
        {
            memory.write(out + n * TRACE_EVENT_SIZE as u32, &event.to_bytes())?;
            n += 1;
        }
        let now = hal().now();
        if n > 0 || room == 0 || now >= deadline || !trace::is_on() {
            return Ok((n * TRACE_EVENT_SIZE as u32) as i32);
        }
        let t = cpu::current();
        t.wait_alone();
        t.sleep_until(deadline.min(now + TRACE_PERIOD));
    }
}

extern "sysv64" fn stop(_: CtxRef, id: u32, code: i32) -> i32 {
    finish(Ok(match sip::find(id) {
        Some(s) => {
            sip::stop(s, code);
            status::OK
        }
        None => status::NOT_FOUND,
    }))
}

extern "sysv64" fn shutdown(_: CtxRef, code: i32) {
    hal().exit(code)
}
