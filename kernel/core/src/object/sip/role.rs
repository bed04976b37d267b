//! What a SIP's end means for the system: nothing, the end of what the system cannot do without, or the orderly end of
//! what it is for.

use super::{End, Sip};
use crate::ground::machine::log;
use crate::mechanism::watchdog;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use sing_abi::exit::machine;

/// The SIP whose end is to be the system's, 0 for none: the first one to end of those whose end it is. Others hear that
/// their peer is gone and end for that, some of them before it has given all back; theirs is not the reason.
static DECIDED: AtomicU32 = AtomicU32::new(0);

/// Roles that the system manifest gives.
#[derive(Default)]
pub(crate) struct Role {
    /// The system cannot do without it.
    essential: AtomicBool,
    /// When it exits, the system does, with its exit code.
    main: AtomicBool,
}

impl Role {
    /// Gives it roles.
    pub(crate) fn set(&self, essential: bool, main: bool) {
        self.essential.store(essential, Relaxed);
        self.main.store(main, Relaxed);
    }

    /// Whether the system ends when it does.
    pub(crate) fn is_essential(&self) -> bool {
        self.essential.load(Relaxed) || self.main.load(Relaxed)
    }
}

/// A SIP begins to end: where its end is the system's, no other's is from now on.
pub(super) fn decide(sip: &Sip) {
    if sip.role.is_essential() && DECIDED.load(Relaxed) == 0 {
        DECIDED.store(sip.id(), Relaxed);
    }
}

/// Ends the system where this SIP's end is the system's. Nothing is left of the SIP.
pub(super) fn ended(sip: &Sip, how: End) {
    if DECIDED.load(Relaxed) != sip.id() {
        return;
    }
    match how {
        End::Exit(code) if sip.role.main.load(Relaxed) => watchdog::end_system(code),
        how => {
            log!(
                "system: ends, because {} (SIP {}) is essential and has ended: {how}",
                sip.name(),
                sip.id()
            );
            watchdog::end_system(machine::ESSENTIAL)
        }
    }
}
