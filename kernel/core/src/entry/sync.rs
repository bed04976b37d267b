//! Entries for events, mutexes, interrupts, waiting for several handles, disposing of handles.

use super::{Entries, caller, fill_table, finish};
use crate::ground::hal::{LINE_CONSOLE, LINE_OUTPUT};
use crate::ground::work::Work;
use crate::mechanism::cpu;
use crate::mechanism::interrupt;
use crate::mechanism::wait::{LOST, NO_ROOM, Never, On, TIMED_OUT, is_same, settle};
use crate::object::handle::Object;
use crate::object::sync::{Event, Mutex};
use sing_abi::status;
use sing_abi::trap::Trap;
use sing_runtime::CtxRef;

/// The most handles that a thread can wait for at once.
pub(super) const MAX_WAIT: usize = 64;

/// Enters the functions of this module into the table.
pub(super) fn fill(table: &mut Entries) {
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

/// Charges the caller for a new object of this cost, makes the object, and returns a handle.
pub(super) fn own(cost: u64, make: impl FnOnce() -> Option<Object>) -> i32 {
    let sip = caller();
    if !sip.account().charge(cost) {
        return status::NO_RESOURCES;
    }
    if let Some(object) = make() {
        debug_assert_eq!(object.cost(), cost);
        if let Some(h) = sip.insert(object) {
            return h as i32;
        }
        object.dispose(sip, &mut Work::little());
    }
    sip.account().discharge(cost);
    status::NO_RESOURCES
}

extern "C" fn auto_event(_: CtxRef, initial: u32) -> i32 {
    finish(Ok(own(Event::COST, || {
        Event::create(false, initial != 0).map(Object::Event)
    })))
}

extern "C" fn manual_event(_: CtxRef, initial: u32) -> i32 {
    finish(Ok(own(Event::COST, || {
        Event::create(true, initial != 0).map(Object::Event)
    })))
}

fn event(handle: u32) -> Result<&'static Event, Trap> {
    match caller().object(handle) {
        Object::Event(e) => Ok(e),
        _ => Err(Trap::BadHandle),
    }
}

extern "C" fn set(_: CtxRef, handle: u32) -> i32 {
    finish(event(handle).map(|e| {
        e.set();
        status::OK
    }))
}

extern "C" fn reset(_: CtxRef, handle: u32) -> i32 {
    finish(event(handle).map(|e| {
        e.reset();
        status::OK
    }))
}

extern "C" fn mutex(_: CtxRef, owned: u32) -> i32 {
    let owner = (owned != 0).then(cpu::current);
    finish(Ok(own(Mutex::COST, || {
        Mutex::create(owner).map(Object::Mutex)
    })))
}

extern "C" fn release(_: CtxRef, handle: u32) -> i32 {
    finish(match caller().object(handle) {
        Object::Mutex(m) => {
            let done = m.release(cpu::current());
            Ok(if done { status::OK } else { status::BAD_STATE })
        }
        _ => Err(Trap::BadHandle),
    })
}

/// Returns the object that a handle lets a thread wait for.
pub(super) fn waitable(handle: u32) -> Result<On, Trap> {
    caller().object(handle).waitable().ok_or(Trap::BadHandle)
}

/// Whether handles still name the objects that they named when a wait began.
pub(super) fn holds(handles: &[u32], on: &[On]) -> bool {
    let same = |(&handle, &then): (&u32, &On)| waitable(handle).is_ok_and(|w| is_same(w, then));
    handles.iter().zip(on).all(same)
}

extern "C" fn wait_one(_: CtxRef, handle: u32, timeout: i64) -> i32 {
    finish(waitable(handle).and_then(|w| {
        let t = cpu::current();
        let ready = || w.acquire(t).then_some(0);
        if !settle(&[w], || holds(&[handle], &[w])) {
            return Err(Trap::BadHandle);
        }
        // What is there already costs no clock.
        if ready().is_some() {
            return Ok(status::OK);
        }
        wait_alone(handle, w, timeout, ready)
    }))
}

/// Waits for the object of one handle.
pub(super) fn wait_alone(
    handle: u32,
    on: On,
    timeout: i64,
    mut ready: impl FnMut() -> Option<u32>,
) -> Result<i32, Trap> {
    let thread = cpu::current();
    let held = || holds(&[handle], &[on]);
    let deadline = crate::mechanism::timer::deadline(timeout);
    match thread.wait_any(&[on], deadline, held, |_| ready()) {
        LOST => Err(Trap::BadHandle),
        TIMED_OUT => Ok(status::TIMEOUT),
        NO_ROOM => Ok(status::NO_RESOURCES),
        _ => Ok(status::OK),
    }
}

extern "C" fn wait_any(_: CtxRef, handles: u32, count: u32, timeout: i64) -> i32 {
    finish(wait_first(handles, count, timeout))
}

fn wait_first(handles: u32, count: u32, timeout: i64) -> Result<i32, Trap> {
    if count as usize > MAX_WAIT {
        return Ok(status::BAD_ARGUMENT);
    }
    let memory = caller().memory(handles, u64::from(count) * 4)?;
    let mut on: [On; MAX_WAIT] = [&Never; MAX_WAIT];
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
    // Start after the one that was ready last, so that a busy one does not starve those behind it.
    let first = t.wait.next_turn(n);
    let ready = |woken_for: Option<u32>| {
        let first = woken_for.map_or(first, |i| i as usize);
        (0..n)
            .map(|i| (first + i) % n)
            .find(|&i| on[i].acquire(t))
            .map(|i| i as u32)
    };
    let held = || holds(&named[..n], on);
    match t.wait_any(on, crate::mechanism::timer::deadline(timeout), held, ready) {
        LOST => Err(Trap::BadHandle),
        TIMED_OUT => Ok(status::TIMEOUT),
        NO_ROOM => Ok(status::NO_RESOURCES),
        i => {
            t.wait.set_turn(i);
            Ok(index[i as usize] as i32)
        }
    }
}

extern "C" fn dispose(_: CtxRef, handle: u32) -> i32 {
    let sip = caller();
    while let Object::Set(set) = sip.object(handle)
        && !set.empty(&mut Work::step())
    {
        interrupt::let_others_run();
    }
    let object = sip.handles.lock().remove(handle);
    finish(match object {
        Object::None => Err(Trap::BadHandle),
        object => {
            sip.account().discharge(object.cost());
            object.dispose(sip, &mut Work::little());
            super::work_off();
            Ok(status::OK)
        }
    })
}

extern "C" fn interrupt_create(_: CtxRef, line: u32) -> i32 {
    // Lines of devices go with their devices.
    if line != LINE_CONSOLE && line != LINE_OUTPUT {
        return finish(Ok(status::NOT_FOUND));
    }
    let device = match interrupt::hold(line) {
        Ok(device) => device,
        Err(status) => return finish(Ok(status)),
    };
    let handle = caller().insert(Object::Interrupt(device));
    if handle.is_none() {
        device.release();
    }
    finish(Ok(handle.map_or(status::NO_RESOURCES, |h| h as i32)))
}

extern "C" fn interrupt_ack(_: CtxRef, handle: u32) -> i32 {
    finish(match caller().object(handle) {
        Object::Interrupt(device) => {
            device.acknowledge();
            Ok(status::OK)
        }
        Object::Irq(device) => {
            device.acknowledge();
            Ok(status::OK)
        }
        _ => Err(Trap::BadHandle),
    })
}
