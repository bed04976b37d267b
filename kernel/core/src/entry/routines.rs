//! Trusted run-time routines behind WebAssembly instructions ([O] 3.1).

use super::{Entries, fill_table, finish};
use crate::mechanism::cpu;
use crate::mechanism::interrupt::let_others_run;
use sing_abi::trap::Trap;
use sing_runtime::{CtxRef, Reference, SipMemory};

/// Bytes after which a long copy looks for interrupts.
const CHUNK: u32 = 256 << 10;

/// Elements of tables processed between two looks for interrupts.
const ELEMENTS: u32 = 16 << 10;

/// Enters the functions of this module into the table.
pub(super) fn fill(table: &mut Entries) {
    fill_table! { table;
        MEMORY_GROW = memory_grow: fn(u32, u32) -> i32;
        MEMORY_COPY = memory_copy: fn(u32, u32, u32);
        MEMORY_FILL = memory_fill: fn(u32, u32, u32);
        MEMORY_INIT = memory_init: fn(u32, u32, u32, u32);
        DATA_DROP = data_drop: fn(u32);
        TABLE_GROW = table_grow: fn(u32, Reference, u32) -> i32;
        TABLE_FILL = table_fill: fn(u32, u32, Reference, u32);
        TABLE_COPY = table_copy: fn(u32, u32, u32, u32, u32);
        TABLE_INIT = table_init: fn(u32, u32, u32, u32, u32);
        ELEM_DROP = elem_drop: fn(u32);
        REF_FUNC = ref_func: fn(u32) -> Reference;
        ANY_MEMORY_GROW = any_memory_grow: fn(u32, u64) -> i64;
        ANY_MEMORY_COPY = any_memory_copy: fn(u32, u32, u64, u64, u64);
        ANY_MEMORY_FILL = any_memory_fill: fn(u32, u64, u32, u64);
        ANY_MEMORY_INIT = any_memory_init: fn(u32, u32, u64, u32, u32);
    }
}

/// Returns the caller's memory, accessible up to `at + len`.
fn memory(ctx: CtxRef, at: u32, len: u32) -> Result<SipMemory, Trap> {
    let end = u64::from(at) + u64::from(len);
    if end > ctx.memory_len() {
        return Err(Trap::MemoryOutOfBounds);
    }
    let sip = cpu::current().sip();
    if let Some(guest) = sip.guest() {
        return guest.host().memory(ctx.memory_base(), end);
    }
    sip.first_memory(end)
}

extern "C" fn memory_grow(ctx: CtxRef, _memory: u32, pages: u32) -> i32 {
    let sip = cpu::current().sip();
    finish(Ok(match sip.guest() {
        Some(guest) => guest.host().grow_by(ctx.memory_base(), pages.into()) as i32,
        None => sip.grow_memory(pages),
    }))
}

extern "C" fn memory_copy(ctx: CtxRef, to: u32, from: u32, len: u32) {
    finish(copy(ctx, to, from, len));
}

fn copy(ctx: CtxRef, to: u32, from: u32, len: u32) -> Result<(), Trap> {
    memory(ctx, from, len)?;
    let memory = memory(ctx, to, len)?;
    if len <= CHUNK {
        return memory.copy_within(to, from, len);
    }
    // In pieces, which bound the delay of interrupts; from the end if the ranges overlap that way.
    let mut done = 0;
    while done < len {
        let n = CHUNK.min(len - done);
        let at = if to > from { len - done - n } else { done };
        memory.copy_within(to + at, from + at, n)?;
        done += n;
        let_others_run();
    }
    Ok(())
}

extern "C" fn memory_fill(ctx: CtxRef, to: u32, value: u32, len: u32) {
    finish(fill_memory(ctx, to, value as u8, len));
}

fn fill_memory(ctx: CtxRef, to: u32, value: u8, len: u32) -> Result<(), Trap> {
    let memory = memory(ctx, to, len)?;
    let mut done = 0;
    while done < len {
        let n = CHUNK.min(len - done);
        memory.fill(to + done, value, n)?;
        done += n;
        let_others_run();
    }
    Ok(())
}

extern "C" fn memory_init(ctx: CtxRef, segment: u32, to: u32, from: u32, len: u32) {
    finish(init_memory(ctx, segment, to, from, len));
}

fn init_memory(ctx: CtxRef, segment: u32, to: u32, from: u32, len: u32) -> Result<(), Trap> {
    let memory = memory(ctx, to, len)?;
    // Looked up once: another thread may drop the segment between two pieces, but the bytes stay
    // with the image.
    let bytes = ctx.instance().data_segment(segment);
    let end = (from as usize).checked_add(len as usize);
    let bytes = end.and_then(|end| bytes.get(from as usize..end));
    let mut at = to;
    for piece in bytes.ok_or(Trap::MemoryOutOfBounds)?.chunks(CHUNK as usize) {
        memory.write(at, piece)?;
        at += piece.len() as u32;
        let_others_run();
    }
    Ok(())
}

/// Returns any memory of the caller, accessible up to `at + len`.
fn memory_at(ctx: CtxRef, index: u32, at: u64, len: u64) -> Result<SipMemory, Trap> {
    let (base, size) = ctx.memory_at(index).ok_or(Trap::MemoryOutOfBounds)?;
    let end = at.checked_add(len).filter(|end| *end <= size);
    let end = end.ok_or(Trap::MemoryOutOfBounds)?;
    let sip = cpu::current().sip();
    match sip.guest() {
        Some(guest) => guest.host().memory(base, end),
        None => sip.memory_at(index, end),
    }
}

/// Processes `len` bytes, which lie in memories of at most 4 GiB, in pieces, which bound the delay
/// of interrupts: the offset of each and its length.
fn in_chunks(
    len: u64,
    backwards: bool,
    mut piece: impl FnMut(u64, u32) -> Result<(), Trap>,
) -> Result<(), Trap> {
    let mut done = 0;
    while done < len {
        let n = u64::from(CHUNK).min(len - done);
        piece(if backwards { len - done - n } else { done }, n as u32)?;
        done += n;
        let_others_run();
    }
    Ok(())
}

extern "C" fn any_memory_grow(ctx: CtxRef, memory: u32, pages: u64) -> i64 {
    let sip = cpu::current().sip();
    finish(match sip.guest() {
        Some(guest) => {
            let base = ctx.memory_at(memory).ok_or(Trap::MemoryOutOfBounds);
            base.map(|(base, _)| guest.host().grow_by(base, pages))
        }
        None => Ok(sip.grow_memory_at(memory, pages)),
    })
}

extern "C" fn any_memory_copy(ctx: CtxRef, to: u32, from: u32, at: u64, source: u64, len: u64) {
    finish(copy_between(ctx, to, from, at, source, len));
}

fn copy_between(
    ctx: CtxRef,
    to: u32,
    from: u32,
    at: u64,
    source: u64,
    len: u64,
) -> Result<(), Trap> {
    let from = memory_at(ctx, from, source, len)?;
    let destination = memory_at(ctx, to, at, len)?;
    // From the end if the ranges may overlap that way.
    in_chunks(len, at > source, |done, n| {
        destination.copy_from((at + done) as u32, &from, (source + done) as u32, n)
    })
}

extern "C" fn any_memory_fill(ctx: CtxRef, memory: u32, at: u64, value: u32, len: u64) {
    finish(fill_any(ctx, memory, at, value as u8, len));
}

fn fill_any(ctx: CtxRef, memory: u32, at: u64, value: u8, len: u64) -> Result<(), Trap> {
    let memory = memory_at(ctx, memory, at, len)?;
    in_chunks(len, false, |done, n| {
        memory.fill((at + done) as u32, value, n)
    })
}

extern "C" fn any_memory_init(
    ctx: CtxRef,
    memory: u32,
    segment: u32,
    at: u64,
    from: u32,
    len: u32,
) {
    finish(init_any(ctx, memory, segment, at, from, len));
}

fn init_any(
    ctx: CtxRef,
    memory: u32,
    segment: u32,
    at: u64,
    from: u32,
    len: u32,
) -> Result<(), Trap> {
    let memory = memory_at(ctx, memory, at, len.into())?;
    // Looked up once, as above.
    let bytes = ctx.instance().data_segment(segment);
    let end = (from as usize).checked_add(len as usize);
    let bytes = end.and_then(|end| bytes.get(from as usize..end));
    let bytes = bytes.ok_or(Trap::MemoryOutOfBounds)?;
    in_chunks(len.into(), false, |done, n| {
        let piece = &bytes[done as usize..][..n as usize];
        memory.write((at + done) as u32, piece)
    })
}

extern "C" fn data_drop(ctx: CtxRef, segment: u32) {
    ctx.instance().data_drop(segment);
    finish(Ok(()));
}

extern "C" fn table_grow(ctx: CtxRef, table: u32, init: Reference, delta: u32) -> i32 {
    finish(ctx.instance().table_grow(table, init, delta))
}

/// Processes `len` elements piece by piece: an empty piece at the end of the range tests the whole
/// range first. No table shrinks, so no later piece can fail.
fn in_pieces(
    len: u32,
    backwards: bool,
    mut piece: impl FnMut(u32, u32) -> Result<(), Trap>,
) -> Result<(), Trap> {
    let mut done = 0;
    while done < len {
        let n = ELEMENTS.min(len - done);
        piece(if backwards { len - done - n } else { done }, n)?;
        done += n;
        let_others_run();
    }
    Ok(())
}

extern "C" fn table_fill(ctx: CtxRef, table: u32, start: u32, value: Reference, len: u32) {
    finish(fill_table_at(ctx, table, start, value, len));
}

fn fill_table_at(
    ctx: CtxRef,
    table: u32,
    start: u32,
    value: Reference,
    len: u32,
) -> Result<(), Trap> {
    let instance = ctx.instance();
    let end = start.checked_add(len).ok_or(Trap::TableOutOfBounds)?;
    instance.table_fill(table, end, value, 0)?;
    in_pieces(len, false, |at, n| {
        instance.table_fill(table, start + at, value, n)
    })
}

extern "C" fn table_copy(ctx: CtxRef, to: u32, from: u32, at: u32, source: u32, len: u32) {
    finish(copy_table(ctx, to, from, at, source, len));
}

fn copy_table(ctx: CtxRef, to: u32, from: u32, at: u32, source: u32, len: u32) -> Result<(), Trap> {
    let instance = ctx.instance();
    let end = |start: u32| start.checked_add(len).ok_or(Trap::TableOutOfBounds);
    instance.table_copy(to, from, end(at)?, end(source)?, 0)?;
    // From the end if the ranges may overlap that way.
    in_pieces(len, at > source, |done, n| {
        instance.table_copy(to, from, at + done, source + done, n)
    })
}

extern "C" fn table_init(ctx: CtxRef, table: u32, segment: u32, at: u32, from: u32, len: u32) {
    finish(init_table(ctx, table, segment, at, from, len));
}

fn init_table(
    ctx: CtxRef,
    table: u32,
    segment: u32,
    at: u32,
    from: u32,
    len: u32,
) -> Result<(), Trap> {
    let instance = ctx.instance();
    // Looked up once, like the bytes of a data segment.
    let segment = instance.elements(segment);
    let end = |start: u32| start.checked_add(len).ok_or(Trap::TableOutOfBounds);
    instance.table_init_from(table, &segment, end(at)?, end(from)?, 0)?;
    in_pieces(len, false, |done, n| {
        instance.table_init_from(table, &segment, at + done, from + done, n)
    })
}

extern "C" fn elem_drop(ctx: CtxRef, segment: u32) {
    ctx.instance().elem_drop(segment);
    finish(Ok(()));
}

extern "C" fn ref_func(ctx: CtxRef, function: u32) -> Reference {
    finish(ctx.instance().ref_func(function))
}
