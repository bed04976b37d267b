//! What a SIP's end means for the system: nothing, a failure of something essential, or the orderly
//! end of the system's main program.

use super::{End, Sip};
use crate::ground::machine::{hal, log, was_scarce};
use crate::ground::trusted::variables;
use crate::mechanism::watchdog;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use sing_abi::exit::machine;

variables! { forget:
    /// The id of the SIP whose end is the system's, 0 for none: the first essential one to end. Others
    /// may find their peer closed and end because of it, even before the first one is freed; they must
    /// not be reported as the reason.
    static DECIDED: AtomicU32 = AtomicU32::new(0);
}

/// Roles that the system manifest gives.
#[derive(Default)]
pub(crate) struct Role {
    /// The system ends with a failure if it ends.
    essential: AtomicBool,
    /// When it exits, the system ends with its exit code.
    main: AtomicBool,
    /// It has created a process.
    has_made: AtomicBool,
}

impl Role {
    /// Sets both roles.
    pub(crate) fn set(&self, essential: bool, main: bool) {
        self.essential.store(essential, Relaxed);
        self.main.store(main, Relaxed);
        self.has_made.store(false, Relaxed);
    }

    /// Notes that it has created a process.
    pub(super) fn made(&self) {
        self.has_made.store(true, Relaxed);
    }

    /// Whether it is the main program, exits with this code, and that says nothing of a shortage:
    /// a main program that has not created any process when it fails has not done anything yet.
    fn decides(&self, code: i32) -> bool {
        self.main.load(Relaxed) && (code == 0 || self.has_made.load(Relaxed) || !was_scarce())
    }

    /// Whether its end is the system's.
    pub(crate) fn is_essential(&self) -> bool {
        self.essential.load(Relaxed) || self.main.load(Relaxed)
    }
}

/// Called when a SIP begins to end: if it is essential and the first, its end is the reason for the
/// system's.
pub(super) fn decide(sip: &Sip) {
    if sip.role.is_essential() && DECIDED.load(Relaxed) == 0 {
        DECIDED.store(sip.id(), Relaxed);
    }
}

/// Ends the system if this SIP's end is the reason. Called after everything of the SIP has been
/// freed.
pub(super) fn ended(sip: &Sip, how: End) {
    if DECIDED.load(Relaxed) != sip.id() {
        return;
    }
    match how {
        End::Exit(code) if sip.role.decides(code) => watchdog::end_system(code),
        how => {
            let (name, id) = (sip.name(), sip.id());
            let reason =
                format_args!("because {name} (SIP {id}) is essential and has ended: {how}");
            // A person who stops it has another reason.
            if was_scarce() && !matches!(how, End::Stop(_)) {
                log!("system: ends, {reason}; short of {}", hal().shortage());
                watchdog::end_system(machine::NO_MEMORY)
            }
            log!("system: ends, {reason}");
            watchdog::end_system(machine::ESSENTIAL)
        }
    }
}
