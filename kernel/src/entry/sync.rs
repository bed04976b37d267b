//! Events, mutexes, interrupts, waiting for several things, giving up handles.

use super::{caller, fill_table, finish};
use crate::channel;
use crate::cpu;
use crate::hal::LINE_CONSOLE;
use crate::handle::{self, Object};
use crate::interrupt;
use crate::sync::{Event, Mutex};
use crate::thread::{State, Thread};
use crate::wait::{LOST, TIMED_OUT, Waitable};
use sing_abi::entry::COUNT;
use sing_abi::status;
use sing_abi::trap::Trap;
use sing_runtime::CtxRef;

/// The most things that a thread can wait for at once.
pub(super) const MAX_WAIT: usize = 64;
/// What a SIP is charged for an event or mutex, in bytes.
const COST: u64 = 64;

/// Fills the table.
pub(super) fn fill(table: &mut [usize; COUNT]) {
    fill_table! { table;
        AUTO_EVENT_CREATE = auto_event: fn(u32) -> i32;
        MANUAL_EVENT_CREATE = manual_event: fn(u32) -> i32;
        EVENT_SET = set: fn(u32) -> i32;
        EVENT_RESET = reset: fn(u32) -> i32;
        MUTEX_CREATE = mutex: fn(u32) -> i32;
        MUTEX_RELEASE = release: fn(u32) -> i32;
        WAIT_ONE = wait_one: fn(u32, i64) -> i32;
        WAIT_ANY = wait_any: fn(u32, u32, i64) -> i32;
        HANDLE_DISPOSE = dispose: fn(u32) -> i32;
        INTERRUPT_CREATE = interrupt_create: fn(u32) -> i32;
        INTERRUPT_ACK = interrupt_ack: fn(u32) -> i32;
    }
}

/// What a SIP is charged for having a handle to an object, in bytes.
pub(crate) fn cost_of(object: &Object) -> u64 {
    match object {
        Object::Event(_) | Object::Mutex(_) | Object::Set(_) => COST,
        _ => 0,
    }
}

/// Gives a new object a handle, and the caller the bill.
pub(super) fn own(object: Option<Object>) -> i32 {
    let sip = caller();
    let Some(object) = object else {
        return status::NO_RESOURCES;
    };
    if sip.charge(COST) {
        if let Some(h) = sip.handles.lock().insert(object) {
            return h as i32;
        }
        sip.discharge(COST);
    }
    handle::dispose(object);
    status::NO_RESOURCES
}

extern "sysv64" fn auto_event(_: CtxRef, initial: u32) -> i32 {
    finish(Ok(own(
        Event::create(false, initial != 0).map(Object::Event)
    )))
}

extern "sysv64" fn manual_event(_: CtxRef, initial: u32) -> i32 {
    finish(Ok(
        own(Event::create(true, initial != 0).map(Object::Event)),
    ))
}

fn event(handle: u32) -> Result<&'static Event, Trap> {
    match caller().object(handle) {
        Object::Event(e) => Ok(e),
        _ => Err(Trap::BadHandle),
    }
}

extern "sysv64" fn set(_: CtxRef, handle: u32) -> i32 {
    finish(event(handle).map(|e| {
        e.set();
        status::OK
    }))
}

extern "sysv64" fn reset(_: CtxRef, handle: u32) -> i32 {
    finish(event(handle).map(|e| {
        e.reset();
        status::OK
    }))
}

extern "sysv64" fn mutex(_: CtxRef, owned: u32) -> i32 {
    let owner = (owned != 0).then(cpu::current);
    finish(Ok(own(Mutex::create(owner).map(Object::Mutex))))
}

extern "sysv64" fn release(_: CtxRef, handle: u32) -> i32 {
    finish(match caller().object(handle) {
        Object::Mutex(m) => {
            let done = m.release(cpu::current());
            Ok(if done { status::OK } else { status::BAD_STATE })
        }
        _ => Err(Trap::BadHandle),
    })
}

/// What a handle lets a thread wait for.
pub(super) fn waitable(handle: u32) -> Result<Waitable, Trap> {
    match caller().object(handle) {
        Object::Endpoint(c, side, _) => Ok(Waitable::Channel(c, side)),
        Object::Set(s) => Ok(Waitable::Set(s)),
        Object::Event(e) => Ok(Waitable::Event(e)),
        Object::Mutex(m) => Ok(Waitable::Mutex(m)),
        Object::Thread(t) => Ok(Waitable::Thread(t)),
        Object::Process(p) => Ok(Waitable::Sip(p)),
        Object::Interrupt(line) => Ok(Waitable::Interrupt(line)),
        Object::None | Object::Parked(_) => Err(Trap::BadHandle),
    }
}

/// Whether handles still name what they did when a wait began.
pub(super) fn holds(handles: &[u32], on: &[Waitable]) -> bool {
    let same = |(&handle, then): (&u32, &Waitable)| waitable(handle).is_ok_and(|w| w.is(then));
    handles.iter().zip(on).all(same)
}

/// Whether a wait is over; takes what a wait takes (an auto-reset event, a mutex).
pub(super) fn acquire(w: &Waitable, thread: &'static Thread) -> bool {
    match *w {
        Waitable::Channel(c, side) => channel::is_ready(c, side),
        Waitable::Set(s) => s.is_ready(),
        Waitable::Event(e) => e.acquire(),
        Waitable::Mutex(m) => m.acquire(thread),
        Waitable::Thread(t) => t.state() == State::Ended,
        Waitable::Sip(s) => s.has_ended(),
        Waitable::Interrupt(line) => interrupt::has_come(line),
    }
}

extern "sysv64" fn wait_one(_: CtxRef, handle: u32, timeout: i64) -> i32 {
    finish(waitable(handle).and_then(|w| {
        let t = cpu::current();
        let ready = || acquire(&w, t).then_some(0);
        // What is there already costs no clock.
        if ready().is_some() {
            return Ok(status::OK);
        }
        wait_alone(handle, w, timeout, ready)
    }))
}

/// Waits for what one handle names.
pub(super) fn wait_alone(
    handle: u32,
    on: Waitable,
    timeout: i64,
    mut ready: impl FnMut() -> Option<u32>,
) -> Result<i32, Trap> {
    let thread = cpu::current();
    let held = || holds(&[handle], &[on]);
    let deadline = crate::timer::deadline(timeout);
    match thread.wait_any(&[on], deadline, held, |_| ready()) {
        LOST => Err(Trap::BadHandle),
        TIMED_OUT => Ok(status::TIMEOUT),
        _ => Ok(status::OK),
    }
}

extern "sysv64" fn wait_any(_: CtxRef, handles: u32, count: u32, timeout: i64) -> i32 {
    finish(wait_first(handles, count, timeout))
}

fn wait_first(handles: u32, count: u32, timeout: i64) -> Result<i32, Trap> {
    if count as usize > MAX_WAIT {
        return Ok(status::BAD_ARGUMENT);
    }
    let memory = caller().memory(handles, u64::from(count) * 4)?;
    let mut on = [Waitable::Interrupt(u32::MAX); MAX_WAIT];
    let mut named = [0u32; MAX_WAIT];
    let mut index = [0u32; MAX_WAIT];
    let mut n = 0;
    for i in 0..count {
        let handle = memory.read_u32(handles + i * 4)?;
        if handle != 0 {
            on[n] = waitable(handle)?;
            named[n] = handle;
            index[n] = i;
            n += 1;
        }
    }
    let t = cpu::current();
    let on = &on[..n];
    // Start after the one that came last, so that a busy one does not starve those behind it.
    let first = t.wait.next_turn(n);
    let ready = |woken_for: Option<u32>| {
        let first = woken_for.map_or(first, |i| i as usize);
        (0..n)
            .map(|i| (first + i) % n)
            .find(|&i| acquire(&on[i], t))
            .map(|i| i as u32)
    };
    let held = || holds(&named[..n], on);
    match t.wait_any(on, crate::timer::deadline(timeout), held, ready) {
        LOST => Err(Trap::BadHandle),
        TIMED_OUT => Ok(status::TIMEOUT),
        i => {
            t.wait.set_turn(i);
            Ok(index[i as usize] as i32)
        }
    }
}

extern "sysv64" fn dispose(_: CtxRef, handle: u32) -> i32 {
    let sip = caller();
    let object = sip.handles.lock().remove(handle);
    finish(match object {
        Object::None => Err(Trap::BadHandle),
        object => {
            sip.discharge(cost_of(&object));
            handle::dispose(object);
            super::work_off();
            Ok(status::OK)
        }
    })
}

extern "sysv64" fn interrupt_create(_: CtxRef, line: u32) -> i32 {
    if line != LINE_CONSOLE {
        return finish(Ok(status::NOT_FOUND));
    }
    let handle = caller().handles.lock().insert(Object::Interrupt(line));
    finish(Ok(handle.map_or(status::NO_RESOURCES, |h| h as i32)))
}

extern "sysv64" fn interrupt_ack(_: CtxRef, handle: u32) -> i32 {
    finish(match caller().object(handle) {
        Object::Interrupt(line) => {
            interrupt::acknowledge(line);
            Ok(status::OK)
        }
        _ => Err(Trap::BadHandle),
    })
}
