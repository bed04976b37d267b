//! The records of threads, for a debugger ([`crate::ground::layout`]).

use super::{THREADS, Thread};
use crate::ground::layout::{Layout, Place};
use crate::ground::trusted::Fiber;
use crate::mechanism::wait::Wait;
use core::mem::offset_of;
use sing_arch::lock::SpinLock;
use sing_runtime::Context;

const FIBER: usize = offset_of!(Thread, fiber);
const WAIT: usize = offset_of!(Thread, wait);

// So a context lies where the option with it does.
const _: () = assert!(size_of::<Option<Context>>() == size_of::<Context>());

/// Threads.
pub(crate) static THREADS_LAYOUT: Layout<Thread, 12> = Layout::new(
    &THREADS,
    [
        Place::new("id", offset_of!(Thread, id)),
        Place::new("sip", offset_of!(Thread, sip)),
        Place::new("state", offset_of!(Thread, state)),
        Place::new("sp", FIBER + Fiber::SAVED),
        Place::new("stack", FIBER + Fiber::RESERVED),
        Place::new("stack.bytes", FIBER + Fiber::STACK_BYTES),
        // The address of the context record; 0 where there is none.
        Place::new(
            "context",
            offset_of!(Thread, context) + SpinLock::<Option<Context>>::VALUE + Context::RECORD,
        ),
        Place::new("wait.end", WAIT + Wait::END),
        Place::new("wait.set", WAIT + Wait::SET),
        Place::new("wait.own", WAIT + Wait::OWN),
        Place::new("wait.one", WAIT + Wait::ONE),
        Place::new("wait.timer", WAIT + offset_of!(Wait, timer_place)),
    ],
);
