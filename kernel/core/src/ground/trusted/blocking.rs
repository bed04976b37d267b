//! Entries that may switch to another thread before they go back.
//!
//! Compiled code calls a stub, which calls the safe function behind it and does what that says: goes back with a value, or
//! switches. The switch is made when the safe function has returned ([`sing_arch::entry`]), so that a thread that waits has
//! nothing of the kernel on its stack. Whom to switch to is named by the word of a fiber; that the fiber has something to go
//! on with is checked then. A stub hands on the registers that it got, and what it goes back with is what some
//! safe function said: so a safe function can do nothing through it that it could not do as an entry itself.

use super::Fiber;
use super::stack::{RUNNING, RUNS, Saved, no_switch};
use crate::entry::{after_switch, look_again};
use crate::mechanism::interrupt::PENDING;
use core::sync::atomic::AtomicU32;
use sing_runtime::CtxRef;

/// What a blocking entry came to: its value, or a switch that is due.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Left {
    to: Option<&'static Saved>,
    word: u64,
}

const _: () = assert!(size_of::<Left>() == 16);

impl Left {
    /// The entry comes to this.
    #[inline(always)]
    pub(crate) fn with(value: i32) -> Left {
        let word = u64::from(value as u32);
        Left { to: None, word }
    }

    /// The thread waits; this fiber goes on, and is told what its own entry comes to, and 1; 0 where it has to look. A fiber
    /// that has been switched away from elsewhere than in a blocking entry does not hear it. The system ends where it has
    /// nothing to go on with.
    #[inline(always)]
    pub(crate) fn to(to: &'static Fiber, told: u32) -> Left {
        let (to, word) = (Some(to.saved()), u64::from(told));
        Left { to, word }
    }
}

/// Where the stubs find what is pending: a name of the word itself in their code would make all other code reach the word by
/// way of a table.
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
            /// What the entry does.
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
