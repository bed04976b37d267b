//! Entries for the exchange heap.

use super::{Entries, caller, fill_table, finish, work_off};
use crate::ground::work::Work;
use crate::mechanism::cpu;
use crate::mechanism::interrupt::let_others_run;
use crate::object::account::Account;
use crate::object::exheap::{self, Allocation, MAX_ALLOCATION};
use crate::object::handle::Object;
use crate::object::sip;
use core::sync::atomic::Ordering::Relaxed;
use sing_abi::status;
use sing_abi::trap::Trap;
use sing_runtime::CtxRef;

/// Bytes copied between two looks for other runnable threads.
const PIECE: u32 = 256 << 10;

/// Enters the functions of this module into the table.
pub(super) fn fill(table: &mut Entries) {
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

extern "C" fn alloc(_: CtxRef, size: u32, ty: u32) -> i32 {
    finish(Ok(allocate(size, ty)))
}

/// A new allocation, charged to the account. `None`, and nothing charged, where the account or the
/// machine has no room.
#[inline(always)]
fn charged(size: u32, ty: u32, account: &'static Account) -> Option<(u32, &'static Allocation)> {
    let cost = exheap::cost(size);
    if !account.charge(cost) {
        return None;
    }
    let made = exheap::allocate(size, ty, account);
    if made.is_none() {
        account.discharge(cost);
    }
    made
}

fn allocate(size: u32, ty: u32) -> i32 {
    if !(1..=MAX_ALLOCATION).contains(&size) {
        return status::BAD_ARGUMENT;
    }
    // The caller's deferred frees, which are still charged to it, are worked off step by step; all
    // of them, if the allocation needs their room.
    let sip = caller();
    let account = sip.account();
    if sip.has_given_up() {
        let mut left = sip::work_off(sip, &mut Work::little());
        while left && !account.has_room(exheap::cost(size)) {
            let_others_run();
            left = sip::work_off(sip, &mut Work::step());
        }
    }
    let made = charged(size, ty, account).or_else(|| {
        // The machine may be short of memory that this SIP's deferred frees hold. Nothing is
        // charged while others run: the SIP may be ended then.
        work_off();
        charged(size, ty, account)
    });
    let Some((index, a)) = made else {
        return status::NO_RESOURCES;
    };
    let handle = own(index);
    // The handle of a large allocation gives access to nothing until all of it is there; if the
    // thread ends meanwhile, the allocation is already the thread's.
    while handle > 0 && a.len() == 0 {
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

/// Enters a new allocation into the caller's table.
fn own(index: u32) -> i32 {
    match cpu::current().insert_allocation(index) {
        Some(h) => h as i32,
        None => {
            exheap::free(index);
            status::NO_RESOURCES
        }
    }
}

extern "C" fn free(_: CtxRef, handle: u32) -> i32 {
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

extern "C" fn ty(_: CtxRef, handle: u32) -> i32 {
    finish(allocation(handle).map(|a| a.ty.load(Relaxed) as i32))
}

extern "C" fn share(_: CtxRef, handle: u32, start: u32, end: u32) -> i32 {
    finish(allocation(handle).map(|a| {
        if start >= end || end > a.len() {
            return status::BAD_ARGUMENT;
        }
        let (writable, account) = (!a.is_read_only(), caller().account());
        // Whoever shares it pays for it while others view it.
        if !a.is_paid_by(account) {
            return status::NO_RESOURCES;
        }
        let Some((index, _)) = a.share(start, end, account) else {
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

extern "C" fn split(_: CtxRef, handle: u32, offset: u32) -> i32 {
    finish(allocation(handle).map(|a| {
        if offset == 0 || offset >= a.len() {
            return status::BAD_ARGUMENT;
        }
        if a.has_parts() {
            return status::BAD_STATE;
        }
        if !a.is_paid_by(caller().account()) {
            return status::NO_RESOURCES;
        }
        let Some((index, second)) = a.split(offset) else {
            return status::NO_RESOURCES;
        };
        let given = cpu::current().insert_allocation(index);
        if given.is_none() {
            a.rejoin(second);
            exheap::free(index);
        }
        cpu::current().update_allocation(handle, a);
        given.map_or(status::NO_RESOURCES, |h| h as i32)
    }))
}

extern "C" fn unshare(_: CtxRef, handle: u32) -> i32 {
    finish(allocation(handle).map(|a| {
        if !a.unshare() {
            return status::BAD_STATE;
        }
        cpu::current().update_allocation(handle, a);
        status::OK
    }))
}

extern "C" fn attach(_: CtxRef, handle: u32, offset: u32, child: u32) -> i32 {
    finish(attach_part(handle, offset, child))
}

fn attach_part(handle: u32, offset: u32, child: u32) -> Result<i32, Trap> {
    let parent = allocation(handle)?;
    let part = allocation(child)?;
    if handle == child {
        return Err(Trap::BadHandle);
    }
    if let Err(status) = parent.takes_part_at(offset) {
        return Ok(status);
    }
    let account = caller().account();
    if !parent.is_paid_by(account) || !part.is_paid_by(account) {
        return Ok(status::NO_RESOURCES);
    }
    let index = cpu::current().take_allocation(child);
    parent.attach(offset, index.ok_or(Trap::BadHandle)?);
    Ok(status::OK)
}

extern "C" fn detach(_: CtxRef, handle: u32, offset: u32) -> i32 {
    finish(allocation(handle).map(|parent| {
        if !parent.is_paid_by(caller().account()) {
            return status::NO_RESOURCES;
        }
        let Some(index) = parent.detach(offset) else {
            return status::NOT_FOUND;
        };
        match cpu::current().insert_allocation(index) {
            Some(h) => h as i32,
            None => {
                parent.attach(offset, index);
                status::NO_RESOURCES
            }
        }
    }))
}

extern "C" fn park(_: CtxRef, handle: u32) -> i32 {
    let thread = cpu::current();
    finish(
        thread
            .allocation(handle)
            .ok_or(Trap::BadHandle)
            .map(|(index, _)| {
                let parked = thread.sip().insert(Object::Parked(index));
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

extern "C" fn unpark(_: CtxRef, parked: u32) -> i32 {
    let thread = cpu::current();
    let sip = thread.sip();
    finish(match sip.object(parked) {
        Object::Parked(index) => Ok(match thread.insert_allocation(index) {
            Some(h) => {
                sip.handles.lock().remove(parked);
                h as i32
            }
            None => status::NO_RESOURCES,
        }),
        _ => Err(Trap::BadHandle),
    })
}

extern "C" fn read(_: CtxRef, handle: u32, offset: u32, to: u32, len: u32) {
    finish(copy(handle, offset, to, len, false));
}

extern "C" fn write(_: CtxRef, handle: u32, offset: u32, from: u32, len: u32) {
    finish(copy(handle, offset, from, len, true));
}

#[inline(always)]
fn copy(handle: u32, offset: u32, at: u32, len: u32, into: bool) -> Result<(), Trap> {
    if len <= PIECE {
        return copy_piece(handle, offset, at, len, into);
    }
    copy_long(handle, offset, at, len, into)
}

/// Copies piece by piece. The whole copy is checked first; later pieces cannot fail, as only this
/// thread could free the block, and no memory shrinks.
#[cold]
fn copy_long(handle: u32, offset: u32, at: u32, len: u32, into: bool) -> Result<(), Trap> {
    if u64::from(at) + u64::from(len) > caller().called_len() {
        return Err(Trap::MemoryOutOfBounds);
    }
    let entry = cpu::current().entry(handle).ok_or(Trap::BadHandle)?;
    let room = if into {
        entry.writable_len()
    } else {
        entry.readable_len()
    };
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
    let entry = cpu::current().entry(handle).ok_or(Trap::BadHandle)?;
    let memory = caller().memory(at, u64::from(len))?;
    let block = if into {
        entry.writable()
    } else {
        entry.readable()
    };
    let copied = if into {
        block.copy_from(offset, &memory, at, len)
    } else {
        memory.copy_from(at, &block, offset, len)
    };
    // The bounds of the memory have been checked; only those of the allocation can fail.
    copied.map_err(|_| Trap::BlockOutOfBounds)
}
