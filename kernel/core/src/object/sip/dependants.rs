//! Dependants: a child ends with its parent, in whichever way that ends, and so do all that depend
//! on the child. A child that is detached depends on nobody, and goes on.
//!
//! Invariants:
//! - A live SIP has a guardian exactly if it is in that one's list of dependants.
//! - A SIP is not gone before all of its dependants have been stopped or, if it was stopped alone,
//!   detached.
//! - Before a dependant is stopped, its own dependants become those of the SIP that has ended. So
//!   each descendant is moved once, however deep the family, and none is alive when the first SIP
//!   is gone.

use super::{End, Sip, begin};
use crate::mechanism::cpu;
use core::sync::atomic::Ordering::Relaxed;
use sing_abi::exit::stop::PARENT_ENDED;

/// The role of the node by which a SIP is in its guardian's list of dependants.
pub(crate) struct OfGuardian;

impl Sip {
    /// Makes it a dependant of `guardian`.
    pub(super) fn depend_on(&'static self, guardian: &'static Sip) {
        self.guardian.set(Some(guardian));
        guardian.dependants.lock().push(self);
    }

    /// Removes it from its guardian's dependants, if it has a guardian.
    pub(crate) fn detach(&'static self) {
        if let Some(guardian) = self.guardian.take() {
            guardian.dependants.lock().remove(self);
        }
    }

    /// Whether it ends when `other` does, directly or through guardians in between.
    pub(super) fn depends_on(&self, other: &Sip) -> bool {
        let mut at = self.guardian.get();
        while let Some(guardian) = at {
            if core::ptr::eq(guardian, other) {
                return true;
            }
            at = guardian.guardian.get();
        }
        false
    }

    /// Does one step for an ended SIP: stops a dependant that has no dependants of its own, or
    /// takes over one of a dependant's; if the SIP was stopped alone, detaches a dependant. False
    /// if there is none.
    pub(super) fn stop_a_dependant(&'static self) -> bool {
        let dependant = self.dependants.lock().first();
        let Some(dependant) = dependant else {
            return false;
        };
        if self.ends_alone.load(Relaxed) {
            dependant.detach();
            return true;
        }
        let theirs = dependant.dependants.lock().first();
        match theirs {
            Some(theirs) => {
                theirs.detach();
                theirs.depend_on(self);
            }
            None => {
                debug_assert!(
                    cpu::this()
                        .running()
                        .is_none_or(|t| !core::ptr::eq(t.sip(), dependant)),
                    "nobody stops those that it depends on, and goes on"
                );
                begin(dependant, End::Stop(PARENT_ENDED));
            }
        }
        true
    }
}
