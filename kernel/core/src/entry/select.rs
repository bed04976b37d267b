//! `switch receive` ([O] 4.4): selecting among several handles, and sets of endpoints.

use super::sync::{MAX_WAIT, holds, own, waitable};
use super::{Entries, caller, fill_table, finish};
use crate::ground::trusted::{
    Blocking3WordsTime, BlockingWordTime, Left, blocking_3_words_time, blocking_word_time,
};
use crate::mechanism::cpu;
use crate::mechanism::interrupt::let_others_run;
use crate::mechanism::wait::{LOST, NO_ROOM, Never, On, TIMED_OUT, Until, settle};
use crate::object::channel::{self, Channel};
use crate::object::handle::Object;
use crate::object::set::{Look, Set};
use crate::object::thread::Thread;
use sing_abi::trap::Trap;
use sing_abi::{NO_TAGS, status};
use sing_image::manifest::Side;
use sing_runtime::CtxRef;

/// Enters the functions of this module into the table.
pub(super) fn fill(table: &mut Entries) {
    fill_table! { table;
        SELECT = blocking_3_words_time::<Select>: fn(u32, u32, u32, i64) -> i32;
        SET_CREATE = create: fn() -> i32;
        SET_ADD = add: fn(u32, u32, u32) -> i32;
        SET_REMOVE = remove: fn(u32, u32) -> i32;
        SET_WAIT = blocking_word_time::<SetWait>: fn(u32, i64) -> i32;
    }
}

struct Select;

impl Blocking3WordsTime for Select {
    extern "C" fn enter(_: CtxRef, handles: u32, tags: u32, count: u32, timeout: i64) -> Left {
        let thread = cpu::current();
        if tags == NO_TAGS && timeout < 0 {
            return select_place(thread, handles, count);
        }
        select(thread, handles, tags, count, timeout)
    }
}

/// Leaves an entry without a switch.
#[inline(always)]
fn stays(result: Result<i32, Trap>) -> Left {
    Left::with(finish(result))
}

/// The most handles of common selections: clearing room for more would be most of the cost of a
/// small one.
const FEW: usize = 8;

/// Selects; called again after a wait.
#[inline(never)]
pub(super) fn select(
    thread: &'static Thread,
    handles: u32,
    tags: u32,
    count: u32,
    timeout: i64,
) -> Left {
    if count as usize > MAX_WAIT {
        return stays(Ok(status::BAD_ARGUMENT));
    }
    if tags == NO_TAGS {
        return select_first_place(thread, handles, count, timeout)
            .unwrap_or_else(|trap| stays(Err(trap)));
    }
    let left = if count as usize <= FEW {
        select_first::<FEW>(thread, handles, tags, count, timeout)
    } else {
        select_first::<MAX_WAIT>(thread, handles, tags, count, timeout)
    };
    left.unwrap_or_else(|trap| stays(Err(trap)))
}

/// Selects the index of an endpoint without a time-out, if the thread selected among the same
/// endpoints before.
#[inline(always)]
fn select_place(thread: &'static Thread, handles: u32, count: u32) -> Left {
    let memory = thread.sip().window();
    let selection = thread.wait.selection.lock();
    let current = selection.current(&memory, handles, count);
    drop(selection);
    if let Some(set) = current {
        if let Some(place) = set.next_of_few() {
            return stays(Ok(place as i32));
        }
        if let Some(left) = wait_for_place(set, thread, handles, count) {
            return left;
        }
    }
    select(thread, handles, NO_TAGS, count, -1)
}

/// Waits for a selection's set.
#[inline(always)]
fn wait_for_place(
    set: &'static Set,
    thread: &'static Thread,
    handles: u32,
    count: u32,
) -> Option<Left> {
    set.begin_wait(thread);
    thread.wait.is_selection(handles, NO_TAGS, count);
    thread.sleep_after_entry()
}

/// Selects the index of the first ready handle.
fn select_first_place(
    thread: &'static Thread,
    handles: u32,
    count: u32,
    timeout: i64,
) -> Result<Left, Trap> {
    let sip = thread.sip();
    let mut wanted = [0u32; MAX_WAIT];
    let wanted = wanted.get_mut(..count as usize).ok_or(Trap::BadArgument)?;
    let memory = sip.memory(handles, u64::from(count) * 4)?;
    for (i, handle) in (0..).zip(&mut *wanted) {
        *handle = memory.read_u32(handles + i * 4)?;
    }
    if wanted.iter().all(|&handle| handle == 0) {
        return Ok(stays(Ok(status::BAD_ARGUMENT)));
    }
    let mut until = Until::after(timeout);
    loop {
        let selection = thread.wait.selection.lock().of(wanted, sip);
        let Some(set) = selection else {
            return place_from_lists(wanted, &mut until).map(|value| stays(Ok(value)));
        };
        if until.is_limited() {
            match set.wait_until(thread, &mut until) {
                Some(found) => return Ok(stays(Ok(found))),
                None => continue,
            }
        }
        if let Some(place) = set.next_of_few() {
            return Ok(stays(Ok(place as i32)));
        }
        if let Some(left) = wait_for_place(set, thread, handles, count) {
            return Ok(left);
        }
    }
}

/// Selects the index of a ready handle of any kind, by waiting in the list of each object.
#[cold]
#[inline(never)]
fn place_from_lists(wanted: &[u32], until: &mut Until) -> Result<i32, Trap> {
    let thread = cpu::current();
    let mut on: [On; MAX_WAIT] = [&Never; MAX_WAIT];
    let on = &mut on[..wanted.len()];
    for (to, &handle) in on.iter_mut().zip(wanted) {
        if handle != 0 {
            *to = waitable(handle)?;
        }
    }
    let on = &*on;
    let start = thread.wait.next_turn(on.len());
    let ready = |woken: Option<u32>| {
        let first = woken.map(|i| i as usize);
        let all = first.into_iter().chain(start..on.len()).chain(0..start);
        all.filter_map(|i| Some((i as u32, *on.get(i)?)))
            .find(|(_, w)| w.look(thread) != status::WOULD_BLOCK)
            .map(|(i, _)| i)
    };
    let all = || wanted.iter().zip(on).filter(|(handle, _)| **handle != 0);
    let held = || all().all(|(&handle, &on)| holds(&[handle], &[on]));
    if !settle(on, held) {
        return Err(Trap::BadHandle);
    }
    let found = match ready(None) {
        Some(found) => found,
        None => thread.wait_any(on, until.deadline(), held, ready),
    };
    match found {
        LOST => Err(Trap::BadHandle),
        TIMED_OUT => Ok(status::TIMEOUT),
        NO_ROOM => Ok(status::NO_RESOURCES),
        place => {
            thread.wait.set_turn(place);
            Ok(place as i32)
        }
    }
}

#[inline(always)]
fn select_first<const MOST: usize>(
    thread: &'static Thread,
    handles: u32,
    tags: u32,
    count: u32,
    timeout: i64,
) -> Result<Left, Trap> {
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
        return Ok(stays(Ok(status::BAD_ARGUMENT)));
    }
    let mut until = Until::after(timeout);
    loop {
        let selection = thread.wait.selection.lock().of(wanted, sip);
        let Some(set) = selection else {
            return select_from_lists(wanted, at, &mut until).map(|value| stays(Ok(value)));
        };
        let found = if until.is_limited() {
            match set.wait_until(thread, &mut until) {
                Some(found) => found,
                None => continue,
            }
        } else {
            match set.next_of_few() {
                Some(key) => key as i32,
                None => {
                    set.begin_wait(thread);
                    thread.wait.is_selection(handles, tags, count);
                    match thread.sleep_after_entry() {
                        Some(left) => return Ok(left),
                        None => continue,
                    }
                }
            }
        };
        let Some((&handle, &tag)) = wanted.get(found as usize).zip(at.get(found as usize)) else {
            return Ok(stays(Ok(found))); // a status
        };
        let Object::Endpoint(channel, side, _) = sip.object(handle) else {
            return Err(Trap::BadHandle);
        };
        let seen = channel::peek(channel, side);
        sip.memory(tag, 4)?.write_u32(tag, seen as u32)?;
        return Ok(stays(Ok(status::OK)));
    }
}

/// Selects among handles of any kind, by waiting in the list of each object.
#[cold]
#[inline(never)]
fn select_from_lists(wanted: &[u32], at: &[u32], until: &mut Until) -> Result<i32, Trap> {
    let thread = cpu::current();
    // On the stack and not on the heap: a thread that is ended here frees nothing.
    let mut on: [On; MAX_WAIT] = [&Never; MAX_WAIT];
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
                *seen = w.look(thread);
                if *seen != status::WOULD_BLOCK {
                    any = Some(0);
                }
            }
            any
        };
        let held = || holds(wanted, on);
        if !settle(on, held) {
            return Err(Trap::BadHandle);
        }
        // What is there already costs no clock.
        match ready() {
            Some(found) => found,
            None => {
                // It leaves with all that has come, what it was woken for among that.
                thread.wait_any(on, until.deadline(), held, |_| ready())
            }
        }
    };
    match outcome {
        LOST => return Err(Trap::BadHandle),
        TIMED_OUT => return Ok(status::TIMEOUT),
        NO_ROOM => return Ok(status::NO_RESOURCES),
        _ => {}
    }
    for (&tag, &seen) in at.iter().zip(&*seen) {
        caller().memory(tag, 4)?.write_u32(tag, seen as u32)?;
    }
    Ok(status::OK)
}

extern "C" fn create(_: CtxRef) -> i32 {
    finish(Ok(own(Set::COST, || Set::create().map(Object::Set))))
}

/// Returns a set, and an endpoint that may be in it.
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

extern "C" fn add(_: CtxRef, set: u32, endpoint: u32, key: u32) -> i32 {
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

extern "C" fn remove(_: CtxRef, set: u32, endpoint: u32) -> i32 {
    finish(set_and_endpoint(set, endpoint).map(|(set, channel, side)| {
        if set.remove(channel, side) {
            status::OK
        } else {
            status::NOT_FOUND
        }
    }))
}

struct SetWait;

impl BlockingWordTime for SetWait {
    extern "C" fn enter(_: CtxRef, set: u32, timeout: i64) -> Left {
        let thread = cpu::current();
        let Object::Set(set) = thread.sip().object(set) else {
            return stays(Err(Trap::BadHandle));
        };
        if timeout >= 0 {
            let found = set.wait_until(thread, &mut Until::after(timeout));
            return stays(found.ok_or(Trap::BadHandle));
        }
        wait_for(set, thread)
    }
}

/// Waits for an endpoint of a set.
#[inline(always)]
fn wait_for(set: &'static Set, thread: &'static Thread) -> Left {
    let number = set.number();
    loop {
        match set.next() {
            Look::Key(key) => return stays(Ok(key as i32)),
            Look::Nothing => {}
            Look::More => {
                let_others_run();
                if !set.is(number) {
                    return stays(Err(Trap::BadHandle));
                }
                continue;
            }
        }
        set.begin_wait(thread);
        // The waker has removed the thread from the set's waiters.
        if let Some(left) = thread.sleep_after_entry() {
            return left;
        }
    }
}

/// Looks again, after the thread has waited for the set that had this number.
pub(super) fn look_again(set: &'static Set, number: u64, thread: &'static Thread) -> Left {
    // Another thread may have disposed of the set meanwhile, which makes the handle invalid.
    if !set.is(number) {
        return stays(Err(Trap::BadHandle));
    }
    wait_for(set, thread)
}
