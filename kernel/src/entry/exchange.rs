//! The exchange heap.

use super::{STEPS, caller, fill_table, finish, let_others_run, work_off};
use crate::cpu;
use crate::exheap::{self, MAX_ALLOCATION, OVERHEAD};
use crate::handle::Object;
use crate::trusted;
use core::sync::atomic::Ordering::Relaxed;
use sing_abi::entry::COUNT;
use sing_abi::status;
use sing_abi::trap::Trap;
use sing_runtime::{CtxRef, Instance};

/// Bytes that are copied between two looks for others who could run.
const PIECE: u32 = 256 << 10;

/// Fills the table.
pub(super) fn fill(table: &mut [usize; COUNT]) {
    fill_table! { table;
        XH_ALLOC = alloc: fn(u32, u32) -> i32;
        XH_FREE = free: fn(u32) -> i32;
        XH_TYPE = ty: fn(u32) -> i32;
        XH_SHARE = share: fn(u32, u32, u32) -> i32;
        XH_SPLIT = split: fn(u32, u32) -> i32;
        XH_UNSHARE = unshare: fn(u32) -> i32;
        XH_ATTACH = attach: fn(u32, u32, u32) -> i32;
        XH_DETACH = detach: fn(u32, u32) -> i32;
        XH_PARK = park: fn(u32) -> i32;
        XH_UNPARK = unpark: fn(u32) -> i32;
        XH_READ = read: fn(u32, u32, u32, u32);
        XH_WRITE = write: fn(u32, u32, u32, u32);
    }
}

extern "sysv64" fn alloc(_: CtxRef, size: u32, ty: u32) -> i32 {
    finish(Ok(allocate(size, ty)))
}

fn allocate(size: u32, ty: u32) -> i32 {
    if !(1..=MAX_ALLOCATION).contains(&size) {
        return status::BAD_ARGUMENT;
    }
    let sip = caller();
    // What it has given up and still pays for is worked off as it goes on; all of it, where it needs the room.
    if !sip.graves.lock().is_empty() {
        exheap::dig(sip, STEPS);
        while !sip.has_room(exheap::cost(size)) && exheap::dig(sip, STEPS) {
            let_others_run();
        }
    }
    if !sip.has_room(exheap::cost(size)) {
        return status::NO_RESOURCES;
    }
    let made = exheap::allocate(size, ty).or_else(|| {
        // The machine may be short of what this SIP has given up and not given back.
        work_off();
        exheap::allocate(size, ty)
    });
    let Some((index, a)) = made else {
        return status::NO_RESOURCES;
    };
    let handle = own(index);
    // Nothing can be reached through the handle of a large one until all of it is there; and where the thread ends
    // meanwhile, it has it.
    while handle > 0 && a.len.load(Relaxed) == 0 {
        match a.complete(size) {
            Some(true) => cpu::current().update_allocation(handle as u32, a),
            Some(false) => let_others_run(),
            None => {
                cpu::current().take_allocation(handle as u32);
                exheap::free(index);
                return status::NO_RESOURCES;
            }
        }
    }
    handle
}

/// Puts a new allocation into the caller's table.
fn own(index: u32) -> i32 {
    match cpu::current().give_allocation(index) {
        Some(h) => h as i32,
        None => {
            exheap::free(index);
            status::NO_RESOURCES
        }
    }
}

extern "sysv64" fn free(_: CtxRef, handle: u32) -> i32 {
    finish(
        cpu::current()
            .take_allocation(handle)
            .ok_or(Trap::BadHandle)
            .map(|index| {
                exheap::free(index);
                work_off();
                status::OK
            }),
    )
}

fn allocation(handle: u32) -> Result<&'static exheap::Allocation, Trap> {
    cpu::current()
        .allocation(handle)
        .map(|a| a.1)
        .ok_or(Trap::BadHandle)
}

extern "sysv64" fn ty(_: CtxRef, handle: u32) -> i32 {
    finish(allocation(handle).map(|a| a.ty.load(Relaxed) as i32))
}

extern "sysv64" fn share(_: CtxRef, handle: u32, start: u32, end: u32) -> i32 {
    finish(allocation(handle).map(|a| {
        if start >= end || end > a.len.load(Relaxed) {
            return status::BAD_ARGUMENT;
        }
        if !caller().has_room(OVERHEAD) {
            return status::NO_RESOURCES;
        }
        let writable = !a.is_read_only();
        let Some((index, _)) = a.share(start, end) else {
            return status::NO_RESOURCES;
        };
        let second = own(index);
        if second < 0 && writable {
            a.restore_writable();
        }
        cpu::current().update_allocation(handle, a);
        second
    }))
}

extern "sysv64" fn split(_: CtxRef, handle: u32, offset: u32) -> i32 {
    finish(allocation(handle).map(|a| {
        if offset == 0 || offset >= a.len.load(Relaxed) {
            return status::BAD_ARGUMENT;
        }
        if a.has_parts() {
            return status::BAD_STATE;
        }
        if !caller().has_room(OVERHEAD) {
            return status::NO_RESOURCES;
        }
        let Some((index, second)) = a.split(offset) else {
            return status::NO_RESOURCES;
        };
        let given = cpu::current().give_allocation(index);
        if given.is_none() {
            a.rejoin(second);
            exheap::free(index);
        }
        cpu::current().update_allocation(handle, a);
        given.map_or(status::NO_RESOURCES, |h| h as i32)
    }))
}

extern "sysv64" fn unshare(_: CtxRef, handle: u32) -> i32 {
    finish(allocation(handle).map(|a| {
        if !a.unshare() {
            return status::BAD_STATE;
        }
        cpu::current().update_allocation(handle, a);
        status::OK
    }))
}

extern "sysv64" fn attach(_: CtxRef, handle: u32, offset: u32, child: u32) -> i32 {
    finish(attach_part(handle, offset, child))
}

fn attach_part(handle: u32, offset: u32, child: u32) -> Result<i32, Trap> {
    let parent = allocation(handle)?;
    let part = allocation(child)?;
    if handle == child {
        return Err(Trap::BadHandle);
    }
    if !caller().has_room(part.dues_as_part()) {
        return Ok(status::NO_RESOURCES);
    }
    if let Err(status) = parent.takes_part_at(offset) {
        return Ok(status);
    }
    let index = cpu::current().take_allocation(child);
    parent.attach(offset, index.ok_or(Trap::BadHandle)?);
    Ok(status::OK)
}

extern "sysv64" fn detach(_: CtxRef, handle: u32, offset: u32) -> i32 {
    finish(allocation(handle).map(|parent| {
        let Some(index) = parent.detach(offset) else {
            return status::NOT_FOUND;
        };
        match cpu::current().give_allocation(index) {
            Some(h) => h as i32,
            None => {
                parent.attach(offset, index);
                status::NO_RESOURCES
            }
        }
    }))
}

extern "sysv64" fn park(_: CtxRef, handle: u32) -> i32 {
    let thread = cpu::current();
    finish(
        thread
            .allocation(handle)
            .ok_or(Trap::BadHandle)
            .map(|(index, _)| {
                let parked = thread.sip().handles.lock().insert(Object::Parked(index));
                match parked {
                    Some(parked) => {
                        thread.take_allocation(handle);
                        parked as i32
                    }
                    None => status::NO_RESOURCES,
                }
            }),
    )
}

extern "sysv64" fn unpark(_: CtxRef, parked: u32) -> i32 {
    let thread = cpu::current();
    let sip = thread.sip();
    finish(match sip.object(parked) {
        Object::Parked(index) => Ok(match thread.give_allocation(index) {
            Some(h) => {
                sip.handles.lock().remove(parked);
                h as i32
            }
            None => status::NO_RESOURCES,
        }),
        _ => Err(Trap::BadHandle),
    })
}

extern "sysv64" fn read(_: CtxRef, handle: u32, offset: u32, to: u32, len: u32) {
    finish(copy(handle, offset, to, len, false));
}

extern "sysv64" fn write(_: CtxRef, handle: u32, offset: u32, from: u32, len: u32) {
    finish(copy(handle, offset, from, len, true));
}

#[inline(always)]
fn copy(handle: u32, offset: u32, at: u32, len: u32, into: bool) -> Result<(), Trap> {
    if len <= PIECE {
        return copy_piece(handle, offset, at, len, into);
    }
    copy_long(handle, offset, at, len, into)
}

/// Copies piece by piece. All of it is checked first: then nothing can fail any more, as only this thread could free the
/// block, and no memory gets shorter.
#[cold]
fn copy_long(handle: u32, offset: u32, at: u32, len: u32, into: bool) -> Result<(), Trap> {
    let memory = caller().with_instance(Instance::memory_len);
    if u64::from(at) + u64::from(len) > memory.unwrap_or(0) {
        return Err(Trap::MemoryOutOfBounds);
    }
    let entry = cpu::current().xtable.lock().get(handle);
    let entry = entry.ok_or(Trap::BadHandle)?;
    let room = if into { entry.wlen } else { entry.len };
    if u64::from(offset) + u64::from(len) > u64::from(room) {
        return Err(Trap::BlockOutOfBounds);
    }
    for done in (0..len).step_by(PIECE as usize) {
        let piece = PIECE.min(len - done);
        copy_piece(handle, offset + done, at + done, piece, into)?;
        let_others_run();
    }
    Ok(())
}

#[inline(always)]
fn copy_piece(handle: u32, offset: u32, at: u32, len: u32, into: bool) -> Result<(), Trap> {
    let entry = cpu::current()
        .xtable
        .lock()
        .get(handle)
        .ok_or(Trap::BadHandle)?;
    let memory = caller().memory(at, u64::from(len))?;
    let block = trusted::block(
        entry.base,
        u64::from(if into { entry.wlen } else { entry.len }),
    );
    let copied = if into {
        block.copy_from(offset, &memory, at, len)
    } else {
        memory.copy_from(at, &block, offset, len)
    };
    // The memory's own bounds are known to hold: what can fail is the allocation's.
    copied.map_err(|_| Trap::BlockOutOfBounds)
}
