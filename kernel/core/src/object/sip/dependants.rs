//! Who ends with whom. A child is its parent's dependant: when the parent ends, in whichever way, the child is stopped, and
//! so are all that depend on it. A child that is detached depends on nobody, and goes on.
//!
//! Invariants:
//! - A SIP that lives has a guardian exactly where it depends on one: it stands in the list of that one's dependants.
//! - A SIP whose dependants have not all been stopped, or let go where it was stopped alone, is not gone: what stops a SIP
//!   also stops or frees those.
//! - Whoever stops a dependant takes over its own first: however deep the family is, each of it is taken over once, and
//!   none lives when the first one is gone.

use super::{End, Sip, begin};
use crate::mechanism::cpu;
use core::sync::atomic::Ordering::Relaxed;
use sing_abi::exit::stop::PARENT_ENDED;

/// The role of a node by which a SIP stands in the list of its guardian's dependants.
pub(crate) struct OfGuardian;

impl Sip {
    /// From now on it ends with another one.
    pub(super) fn depend_on(&'static self, guardian: &'static Sip) {
        self.guardian.set(Some(guardian));
        guardian.dependants.lock().push(self);
    }

    /// From now on it ends with nobody.
    pub(crate) fn detach(&'static self) {
        if let Some(guardian) = self.guardian.take() {
            guardian.dependants.lock().remove(self);
        }
    }

    /// Whether it ends when another one does.
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

    /// Stops one of the dependants of a SIP that has ended, or takes over one of that one's; or lets it go, where the SIP was
    /// stopped alone. False where there is none.
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
