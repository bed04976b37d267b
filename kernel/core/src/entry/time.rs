//! Entries for time and the debug log.

use super::{Entries, caller, fill_table, finish};
use crate::ground::log;
use crate::ground::machine::hal;
use crate::mechanism::interrupt::let_others_run;
use sing_abi::status;
use sing_abi::trap::Trap;
use sing_runtime::CtxRef;

/// The most bytes that one call adds to the debug log.
const MOST: usize = 1024;

/// Enters the functions of this module into the table.
pub(super) fn fill(table: &mut Entries) {
    fill_table! { table;
        UPTIME = uptime: fn() -> i64;
        UTC = utc: fn() -> i64;
        CYCLE_COUNT = cycle_count: fn() -> i64;
        CYCLES_PER_SECOND = cycles_per_second: fn() -> i64;
        DEBUG_PRINT = debug_print: fn(u32, u32) -> i32;
    }
}

extern "C" fn uptime(_: CtxRef) -> i64 {
    finish(Ok(hal().now() as i64))
}

extern "C" fn utc(_: CtxRef) -> i64 {
    finish(Ok(hal().utc() as i64))
}

extern "C" fn cycle_count(_: CtxRef) -> i64 {
    finish(Ok(sing_arch::cycles() as i64))
}

extern "C" fn cycles_per_second(_: CtxRef) -> i64 {
    finish(Ok(hal().cycles_per_second() as i64))
}

extern "C" fn debug_print(_: CtxRef, text: u32, len: u32) -> i32 {
    finish(print(text, len))
}

fn print(text: u32, len: u32) -> Result<i32, Trap> {
    let sip = caller();
    let mut bytes = [0; MOST];
    let taken = &mut bytes[..MOST.min(len as usize)];
    sip.memory(text, taken.len() as u64)?.read(text, taken)?;
    sip.crash.lock().words.say(taken);
    let more = len as usize > MOST;
    log::debug(sip.name(), sip.id(), taken, more, || let_others_run());
    Ok(status::OK)
}
