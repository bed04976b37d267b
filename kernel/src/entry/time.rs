//! Time, and the debug log.

use super::{bytes, fill_table, finish};
use crate::machine::hal;
use alloc::string::String;
use sing_abi::entry::COUNT;
use sing_abi::status;
use sing_runtime::CtxRef;

/// The longest line of the debug log, in bytes.
const MAX_LINE: u32 = 4096;

/// Fills the table.
pub(super) fn fill(table: &mut [usize; COUNT]) {
    fill_table! { table;
        UPTIME = uptime: fn() -> i64;
        UTC = utc: fn() -> i64;
        CYCLE_COUNT = cycle_count: fn() -> i64;
        CYCLES_PER_SECOND = cycles_per_second: fn() -> i64;
        DEBUG_PRINT = debug_print: fn(u32, u32) -> i32;
    }
}

extern "sysv64" fn uptime(_: CtxRef) -> i64 {
    finish(Ok(hal().now() as i64))
}

extern "sysv64" fn utc(_: CtxRef) -> i64 {
    finish(Ok(hal().utc() as i64))
}

extern "sysv64" fn cycle_count(_: CtxRef) -> i64 {
    finish(Ok(sing_arch::cycles() as i64))
}

extern "sysv64" fn cycles_per_second(ctx: CtxRef) -> i64 {
    finish(Ok(ctx.cycles_per_second() as i64))
}

extern "sysv64" fn debug_print(_: CtxRef, text: u32, len: u32) -> i32 {
    finish(bytes(text, len.min(MAX_LINE)).map(|b| {
        hal().log(&String::from_utf8_lossy(&b));
        status::OK
    }))
}
