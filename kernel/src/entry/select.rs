//! `switch receive` ([O] 4.4): looking at several things at once, sets of endpoints.

use super::sync::{MAX_WAIT, acquire, holds, own, waitable};
use super::{caller, fill_table, finish};
use crate::channel::{self, Channel};
use crate::cpu;
use crate::handle::Object;
use crate::set::Set;
use crate::thread::Thread;
use crate::wait::{LOST, TIMED_OUT, Until, Waitable};
use sing_abi::entry::COUNT;
use sing_abi::status;
use sing_abi::trap::Trap;
use sing_image::manifest::Side;
use sing_runtime::CtxRef;

/// Fills the table.
pub(super) fn fill(table: &mut [usize; COUNT]) {
    fill_table! { table;
        SELECT = select: fn(u32, u32, u32, i64) -> i32;
        SET_CREATE = create: fn() -> i32;
        SET_ADD = add: fn(u32, u32, u32) -> i32;
        SET_REMOVE = remove: fn(u32, u32) -> i32;
        SET_WAIT = wait: fn(u32, i64) -> i32;
    }
}

/// What a look at something has found: a message's index, a set's key, 0 for anything else that has come, or `CLOSED`;
/// `WOULD_BLOCK` where nothing has.
fn look(w: &Waitable, thread: &'static Thread) -> i32 {
    match *w {
        Waitable::Channel(c, side) => channel::peek(c, side),
        Waitable::Set(s) => s.next().map_or(status::WOULD_BLOCK, |key| key as i32),
        _ if acquire(w, thread) => status::OK,
        _ => status::WOULD_BLOCK,
    }
}

extern "sysv64" fn select(_: CtxRef, handles: u32, tags: u32, count: u32, timeout: i64) -> i32 {
    // Clearing room for 64 would be most of what a selection from a few costs.
    finish(if count as usize <= FEW {
        select_first::<FEW>(handles, tags, count, timeout)
    } else if count as usize <= MAX_WAIT {
        select_first::<MAX_WAIT>(handles, tags, count, timeout)
    } else {
        Ok(status::BAD_ARGUMENT)
    })
}

/// As many things as most programs select from.
const FEW: usize = 8;

#[inline(always)]
fn select_first<const MOST: usize>(
    handles: u32,
    tags: u32,
    count: u32,
    timeout: i64,
) -> Result<i32, Trap> {
    let thread = cpu::current();
    let sip = thread.sip();
    let mut wanted = [0u32; MOST];
    let mut at = [0u32; MOST];
    let mut n = 0;
    {
        let source = sip.memory(handles, u64::from(count) * 4)?;
        let memory = sip.memory(tags, u64::from(count) * 4)?;
        for i in 0..count {
            let (handle, tag) = (source.read_u32(handles + i * 4)?, tags + i * 4);
            if handle != 0 && memory.read_u32(tag)? as i32 == status::WOULD_BLOCK {
                wanted[n] = handle;
                at[n] = tag;
                n += 1;
            }
        }
    }
    let (wanted, at) = (&wanted[..n], &at[..n]);
    if n == 0 {
        return Ok(status::BAD_ARGUMENT);
    }
    let mut until = Until::after(timeout);
    loop {
        let selection = thread.wait.selection.lock().of(wanted, sip);
        let Some(set) = selection else {
            return select_from_lists(wanted, at, &mut until);
        };
        let Some(found) = set.wait(thread, &mut until) else {
            continue;
        };
        let Some((&handle, &tag)) = wanted.get(found as usize).zip(at.get(found as usize)) else {
            return Ok(found); // a status
        };
        let Object::Endpoint(channel, side, _) = sip.object(handle) else {
            return Err(Trap::BadHandle);
        };
        let seen = channel::peek(channel, side);
        sip.memory(tag, 4)?.write_u32(tag, seen as u32)?;
        return Ok(status::OK);
    }
}

/// Selects among things of any kind, by waiting in the list of each.
#[cold]
#[inline(never)]
fn select_from_lists(wanted: &[u32], at: &[u32], until: &mut Until) -> Result<i32, Trap> {
    let thread = cpu::current();
    // On the stack and without a heap: a thread that is ended here gives nothing back.
    let mut on = [Waitable::Interrupt(u32::MAX); MAX_WAIT];
    let mut seen = [status::WOULD_BLOCK; MAX_WAIT];
    let (on, seen) = (&mut on[..wanted.len()], &mut seen[..wanted.len()]);
    for (to, &handle) in on.iter_mut().zip(wanted) {
        *to = waitable(handle)?;
    }
    let on = &*on;
    let outcome = {
        let mut ready = || {
            let mut any = None;
            for (w, seen) in on.iter().zip(&mut *seen) {
                *seen = look(w, thread);
                if *seen != status::WOULD_BLOCK {
                    any = Some(0);
                }
            }
            any
        };
        // What is there already costs no clock.
        match ready() {
            Some(found) => found,
            None => {
                let held = || holds(wanted, on);
                // It leaves with all that has come, what it was woken for among that.
                thread.wait_any(on, until.deadline(), held, |_| ready())
            }
        }
    };
    match outcome {
        LOST => return Err(Trap::BadHandle),
        TIMED_OUT => return Ok(status::TIMEOUT),
        _ => {}
    }
    for (&tag, &seen) in at.iter().zip(&*seen) {
        caller().memory(tag, 4)?.write_u32(tag, seen as u32)?;
    }
    Ok(status::OK)
}

extern "sysv64" fn create(_: CtxRef) -> i32 {
    finish(Ok(own(Set::create().map(Object::Set))))
}

/// A set, and an endpoint that may be in it.
fn set_and_endpoint(
    set: u32,
    endpoint: u32,
) -> Result<(&'static Set, &'static Channel, Side), Trap> {
    let sip = caller();
    match (sip.object(set), sip.object(endpoint)) {
        (Object::Set(set), Object::Endpoint(channel, side, _)) => Ok((set, channel, side)),
        _ => Err(Trap::BadHandle),
    }
}

extern "sysv64" fn add(_: CtxRef, set: u32, endpoint: u32, key: u32) -> i32 {
    finish(set_and_endpoint(set, endpoint).map(|(set, channel, side)| {
        if key > i32::MAX as u32 {
            return status::BAD_ARGUMENT;
        }
        if set.add(channel, side, key) {
            status::OK
        } else {
            status::BAD_STATE
        }
    }))
}

extern "sysv64" fn remove(_: CtxRef, set: u32, endpoint: u32) -> i32 {
    finish(set_and_endpoint(set, endpoint).map(|(set, channel, side)| {
        if set.remove(channel, side) {
            status::OK
        } else {
            status::NOT_FOUND
        }
    }))
}

extern "sysv64" fn wait(_: CtxRef, set: u32, timeout: i64) -> i32 {
    finish(match caller().object(set) {
        // Another thread may dispose of the set meanwhile: then the handle names nothing any more.
        Object::Set(set) => set
            .wait(cpu::current(), &mut Until::after(timeout))
            .ok_or(Trap::BadHandle),
        _ => Err(Trap::BadHandle),
    })
}
