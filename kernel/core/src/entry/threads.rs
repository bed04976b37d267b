//! Entries for threads.

use super::sync::wait_alone;
use super::{Entries, caller, fill_table, finish};
use crate::entry::query;
use crate::ground::trusted::{Blocking, Left, blocking};
use crate::ground::work::Work;
use crate::mechanism::cpu;
use crate::mechanism::interrupt::let_others_run;
use crate::object::handle::Object;
use crate::object::sip::Sip;
use crate::object::thread::{Start, State, Thread, building};
use core::sync::atomic::Ordering::Relaxed;
use sing_abi::status;
use sing_abi::trap::Trap;
use sing_runtime::CtxRef;

/// The most iterations of a spin in one call.
const MAX_SPIN: u32 = 1_000_000;
/// Iterations of a spin between two looks for other runnable threads.
const SPIN_STEP: u32 = 1000;

/// Enters the functions of this module into the table.
pub(super) fn fill(table: &mut Entries) {
    fill_table! { table;
        THREAD_CREATE = create: fn(u32, u32) -> i32;
        THREAD_START = start: fn(u32) -> i32;
        THREAD_JOIN = join: fn(u32, i64) -> i32;
        THREAD_STATE = state: fn(u32) -> i32;
        THREAD_TIME = time: fn(u32) -> i64;
        SLEEP = sleep: fn(i64) -> i32;
        YIELD = blocking::<Yield>: fn();
        SPIN = spin: fn(u32);
    }
}

fn thread(handle: u32) -> Result<&'static Thread, Trap> {
    match caller().object(handle) {
        Object::Thread(t) => Ok(t),
        _ => Err(Trap::BadHandle),
    }
}

extern "C" fn create(_: CtxRef, argument: u32, stack_pointer: u32) -> i32 {
    finish(Ok(make(caller(), argument, stack_pointer)))
}

fn make(sip: &'static Sip, argument: u32, stack_pointer: u32) -> i32 {
    if !sip.template().has_thread_entry() {
        return status::NOT_FOUND;
    }
    if let Err(status) = building::build(sip.stack_bytes()) {
        return status;
    }
    building::hand_over();
    let made = make_with_stack(sip, argument, stack_pointer);
    building::clear();
    made
}

fn make_with_stack(sip: &'static Sip, argument: u32, stack_pointer: u32) -> i32 {
    let Some(t) = Thread::create(sip, &Start::Thread(argument, stack_pointer)) else {
        return status::NO_RESOURCES;
    };
    sip.add_thread(t);
    match sip.insert(Object::Thread(t)) {
        Some(handle) => {
            t.retain();
            handle as i32
        }
        None => {
            if !t.give_back(&mut Work::little()) {
                cpu::this().ended.lock().push(t);
            }
            status::NO_RESOURCES
        }
    }
}

extern "C" fn start(_: CtxRef, handle: u32) -> i32 {
    finish(thread(handle).map(|t| {
        if t.state() != State::Created {
            return status::BAD_STATE;
        }
        t.unblocked();
        status::OK
    }))
}

extern "C" fn join(_: CtxRef, handle: u32, timeout: i64) -> i32 {
    finish(thread(handle).and_then(|t| {
        let ready = || (t.state() == State::Ended).then_some(0);
        wait_alone(handle, t, timeout, ready)
    }))
}

extern "C" fn state(_: CtxRef, handle: u32) -> i32 {
    finish(thread(handle).map(|t| match t.state() {
        State::Ready if t.is_halted() => 5,
        State::Ending => State::Ended as i32,
        other => other as i32,
    }))
}

extern "C" fn time(_: CtxRef, handle: u32) -> i64 {
    cpu::this().settle();
    finish(thread(handle).map(|t| query::to_ns(t.cycles.load(Relaxed)) as i64))
}

extern "C" fn sleep(_: CtxRef, duration: i64) -> i32 {
    let t = cpu::current();
    let deadline = crate::mechanism::timer::deadline(duration);
    if deadline > crate::ground::machine::hal().now() {
        t.wait_for_time();
        t.sleep_until(deadline);
    }
    finish(Ok(status::OK))
}

struct Yield;

impl Blocking for Yield {
    extern "C" fn enter(_: CtxRef) -> Left {
        match cpu::current().yield_entry() {
            Some(left) => left,
            None => Left::with(finish(Ok(status::OK))),
        }
    }
}

extern "C" fn spin(_: CtxRef, iterations: u32) {
    let mut left = iterations.min(MAX_SPIN);
    while left > 0 {
        let now = left.min(SPIN_STEP);
        for _ in 0..now {
            sing_arch::pause();
        }
        left -= now;
        let_others_run();
    }
    finish(Ok(()));
}
