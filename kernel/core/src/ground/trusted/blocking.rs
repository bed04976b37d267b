//! Entries that may switch to another thread before they return.
//!
//! Compiled code calls a stub, which calls the safe function behind it and does what that returned:
//! goes back with a value, or switches. The switch is made after the safe function has returned
//! ([`sing_arch::entry`]), so that a waiting thread has no kernel frame on its stack. The thread to
//! switch to is named by the word of its fiber; the stub checks that the fiber can be resumed. A
//! stub passes on the registers that it got, and goes back with a value that a safe function
//! returned: so a safe function can do nothing through a stub that it could not do as an entry
//! itself.

use super::Fiber;
use super::stack::{RUNNING, RUNS, Saved, no_switch};
use crate::entry::{after_switch, look_again};
use crate::mechanism::interrupt::PENDING;
use core::sync::atomic::AtomicU32;
use sing_runtime::CtxRef;

/// The outcome of a blocking entry: its value, or a switch to be made.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Left {
    to: Option<&'static Saved>,
    word: u64,
}

const _: () = assert!(size_of::<Left>() == 16);

impl Left {
    /// The entry returns this value.
    #[inline(always)]
    pub(crate) fn with(value: i32) -> Left {
        let word = u64::from(value as u32);
        Left { to: None, word }
    }

    /// The thread waits, and this fiber resumes with `told`: its own entry's result plus 1, or 0 if
    /// it must look again. A fiber that was switched away from outside a blocking entry ignores
    /// `told`. The system ends if the fiber cannot be resumed.
    #[inline(always)]
    pub(crate) fn to(to: &'static Fiber, told: u32) -> Left {
        let (to, word) = (Some(to.saved()), u64::from(told));
        Left { to, word }
    }
}

/// Address of the pending interrupts, for the stubs: if their code named the word itself, all other
/// code would reach the word by way of a table.
static PENDING_AT: &AtomicU32 = &PENDING;

/// The common part of all stubs.
#[unsafe(naked)]
extern "C" fn enter() {
    sing_arch::blocking_entries!(
        again: again, running: RUNNING, runs: RUNS, refused: refused,
        pending: PENDING_AT, interrupted: interrupted
    )
}

extern "C" fn again() -> Left {
    look_again()
}

extern "C" fn refused() -> ! {
    no_switch()
}

extern "C" fn interrupted(value: u32) -> u32 {
    after_switch(value as i32) as u32
}

macro_rules! blocking {
    ($($stub:ident: $entry:ident($($arg:ty),*) -> $result:ty;)*) => {$(
        /// The function behind a blocking entry of this type.
        pub(crate) trait $entry {
            /// Performs the entry.
            extern "C" fn enter(ctx: CtxRef $(, _: $arg)*) -> Left;
        }

        /// The blocking entry in front of a function.
        #[unsafe(naked)]
        pub(crate) extern "C" fn $stub<E: $entry>(_: CtxRef $(, _: $arg)*) -> $result {
            sing_arch::through!(enter, E::enter)
        }
    )*};
}

blocking! {
    blocking: Blocking() -> ();
    blocking_word_time: BlockingWordTime(u32, i64) -> i32;
    blocking_3_words: Blocking3Words(u32, u32, u32) -> i32;
    blocking_3_words_time: Blocking3WordsTime(u32, u32, u32, i64) -> i32;
    blocking_4_words: Blocking4Words(u32, u32, u32, u32) -> i32;
    blocking_call: BlockingCall(u32, u32, u64, u64, u32) -> i32;
}
