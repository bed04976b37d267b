//! Trusted run-time routines behind WebAssembly instructions ([O] 3.1).

use super::{fill_table, finish};
use crate::cpu;
use crate::harness;
use crate::interrupt;
use sing_abi::entry::COUNT;
use sing_abi::trap::Trap;
use sing_runtime::{CtxRef, SipMemory};

/// Bytes after which a long copy looks for interrupts.
const CHUNK: u32 = 256 << 10;

/// Fills the table.
pub(super) fn fill(table: &mut [usize; COUNT]) {
    fill_table! { table;
        MEMORY_GROW = memory_grow: fn(u32, u32) -> i32;
        MEMORY_COPY = memory_copy: fn(u32, u32, u32);
        MEMORY_FILL = memory_fill: fn(u32, u32, u32);
        MEMORY_INIT = memory_init: fn(u32, u32, u32, u32);
        DATA_DROP = data_drop: fn(u32);
        TABLE_GROW = table_grow: fn(u32, u64, u32) -> i32;
        TABLE_FILL = table_fill: fn(u32, u32, u64, u32);
        TABLE_COPY = table_copy: fn(u32, u32, u32, u32, u32);
        TABLE_INIT = table_init: fn(u32, u32, u32, u32, u32);
        ELEM_DROP = elem_drop: fn(u32);
        REF_FUNC = ref_func: fn(u32) -> u64;
    }
}

/// The caller's memory, accessible up to `at + len`.
fn memory(ctx: CtxRef, at: u32, len: u32) -> Result<SipMemory, Trap> {
    let end = u64::from(at) + u64::from(len);
    if end > ctx.memory_len() {
        return Err(Trap::MemoryOutOfBounds);
    }
    let sip = cpu::current().sip();
    if harness::is_harness(sip) {
        harness::commit_to(ctx.memory_base(), end)?;
        return Ok(ctx.memory());
    }
    sip.memory(at, u64::from(len))
}

extern "sysv64" fn memory_grow(ctx: CtxRef, _memory: u32, pages: u32) -> i32 {
    let sip = cpu::current().sip();
    finish(Ok(if harness::is_harness(sip) {
        harness::grow(ctx.memory_base(), pages)
    } else {
        sip.grow_memory(pages)
    }))
}

extern "sysv64" fn memory_copy(ctx: CtxRef, to: u32, from: u32, len: u32) {
    finish(copy(ctx, to, from, len));
}

fn copy(ctx: CtxRef, to: u32, from: u32, len: u32) -> Result<(), Trap> {
    memory(ctx, from, len)?;
    let memory = memory(ctx, to, len)?;
    if len <= CHUNK {
        return memory.copy_within(to, from, len);
    }
    // In pieces, so that nobody waits longer than for one; from the end where the ranges overlap so.
    let mut done = 0;
    while done < len {
        let n = CHUNK.min(len - done);
        let at = if to > from { len - done - n } else { done };
        memory.copy_within(to + at, from + at, n)?;
        done += n;
        if interrupt::pending() {
            interrupt::take_over();
        }
    }
    Ok(())
}

extern "sysv64" fn memory_fill(ctx: CtxRef, to: u32, value: u32, len: u32) {
    finish(fill_memory(ctx, to, value as u8, len));
}

fn fill_memory(ctx: CtxRef, to: u32, value: u8, len: u32) -> Result<(), Trap> {
    let memory = memory(ctx, to, len)?;
    let mut done = 0;
    while done < len {
        let n = CHUNK.min(len - done);
        memory.fill(to + done, value, n)?;
        done += n;
        if interrupt::pending() {
            interrupt::take_over();
        }
    }
    Ok(())
}

extern "sysv64" fn memory_init(ctx: CtxRef, segment: u32, to: u32, from: u32, len: u32) {
    finish(
        memory(ctx, to, len)
            .and_then(|m| m.init(ctx.instance().data_segment(segment), to, from, len)),
    );
}

extern "sysv64" fn data_drop(ctx: CtxRef, segment: u32) {
    ctx.instance().data_drop(segment);
    finish(Ok(()));
}

extern "sysv64" fn table_grow(ctx: CtxRef, table: u32, init: u64, delta: u32) -> i32 {
    finish(ctx.instance().table_grow(table, init, delta))
}

extern "sysv64" fn table_fill(ctx: CtxRef, table: u32, start: u32, value: u64, len: u32) {
    finish(ctx.instance().table_fill(table, start, value, len));
}

extern "sysv64" fn table_copy(ctx: CtxRef, to: u32, from: u32, at: u32, source: u32, len: u32) {
    finish(ctx.instance().table_copy(to, from, at, source, len));
}

extern "sysv64" fn table_init(ctx: CtxRef, table: u32, segment: u32, at: u32, from: u32, len: u32) {
    finish(ctx.instance().table_init(table, segment, at, from, len));
}

extern "sysv64" fn elem_drop(ctx: CtxRef, segment: u32) {
    ctx.instance().elem_drop(segment);
    finish(Ok(()));
}

extern "sysv64" fn ref_func(ctx: CtxRef, function: u32) -> u64 {
    finish(ctx.instance().ref_func(function))
}
