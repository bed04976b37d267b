//! Threads.

use super::sync::wait_alone;
use super::{caller, fill_table, finish};
use crate::cpu;
use crate::handle::Object;
use crate::query;
use crate::sip::Sip;
use crate::thread::{Start, State, Thread};
use crate::wait::Waitable;
use core::sync::atomic::Ordering::Relaxed;
use sing_abi::entry::COUNT;
use sing_abi::status;
use sing_abi::trap::Trap;
use sing_runtime::CtxRef;

/// The most iterations of a spin in one call.
const MAX_SPIN: u32 = 1_000_000;

/// Fills the table.
pub(super) fn fill(table: &mut [usize; COUNT]) {
    fill_table! { table;
        THREAD_CREATE = create: fn(u32, u32) -> i32;
        THREAD_START = start: fn(u32) -> i32;
        THREAD_JOIN = join: fn(u32, i64) -> i32;
        THREAD_STATE = state: fn(u32) -> i32;
        THREAD_TIME = time: fn(u32) -> i64;
        SLEEP = sleep: fn(i64) -> i32;
        YIELD = yield_now: fn();
        SPIN = spin: fn(u32);
    }
}

fn thread(handle: u32) -> Result<&'static Thread, Trap> {
    match caller().object(handle) {
        Object::Thread(t) => Ok(t),
        _ => Err(Trap::BadHandle),
    }
}

extern "sysv64" fn create(_: CtxRef, argument: u32, stack_pointer: u32) -> i32 {
    finish(Ok(make(caller(), argument, stack_pointer)))
}

fn make(sip: &'static Sip, argument: u32, stack_pointer: u32) -> i32 {
    if sip.template().thread_entry().is_none() {
        return status::NOT_FOUND;
    }
    let bytes = sip.stack_bytes();
    if !sip.charge(bytes) {
        return status::NO_RESOURCES;
    }
    let Some(t) = Thread::create(sip, bytes, &Start::Thread(argument, stack_pointer)) else {
        sip.discharge(bytes);
        return status::NO_RESOURCES;
    };
    sip.add_thread(t);
    match sip.handles.lock().insert(Object::Thread(t)) {
        Some(h) => {
            t.retain();
            h as i32
        }
        // It stays with the SIP, never started, and goes with it.
        None => status::NO_RESOURCES,
    }
}

extern "sysv64" fn start(_: CtxRef, handle: u32) -> i32 {
    finish(thread(handle).map(|t| {
        if t.state() != State::Created {
            return status::BAD_STATE;
        }
        t.unblocked();
        status::OK
    }))
}

extern "sysv64" fn join(_: CtxRef, handle: u32, timeout: i64) -> i32 {
    finish(thread(handle).and_then(|t| {
        let ready = || (t.state() == State::Ended).then_some(0);
        wait_alone(handle, Waitable::Thread(t), timeout, ready)
    }))
}

extern "sysv64" fn state(_: CtxRef, handle: u32) -> i32 {
    finish(thread(handle).map(|t| match t.state() {
        State::Ready if t.sip().suspended.load(Relaxed) != 0 => 5,
        other => other as i32,
    }))
}

extern "sysv64" fn time(_: CtxRef, handle: u32) -> i64 {
    cpu::this().settle();
    finish(thread(handle).map(|t| query::to_ns(t.cycles.load(Relaxed)) as i64))
}

extern "sysv64" fn sleep(_: CtxRef, duration: i64) -> i32 {
    let t = cpu::current();
    let deadline = crate::timer::deadline(duration);
    if deadline > crate::machine::hal().now() {
        t.wait_alone();
        t.sleep_until(deadline);
    }
    finish(Ok(status::OK))
}

extern "sysv64" fn yield_now(_: CtxRef) {
    cpu::current().yield_now();
    finish(Ok(()));
}

extern "sysv64" fn spin(_: CtxRef, iterations: u32) {
    for _ in 0..iterations.min(MAX_SPIN) {
        sing_arch::pause();
    }
    finish(Ok(()));
}
