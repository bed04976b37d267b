//! Resuming a SIP: the threads that were held while it was suspended become runnable again, in
//! steps between which others run.
//!
//! Invariant: a SIP that can run and of which threads are held is in [`RESUMED`], or the first step
//! of its resume is under way. So the threads follow even where the thread that resumes is ended,
//! or suspended itself, between two steps: the idle context does steps, too.

use super::{ENDED, Kept, Sip};
use crate::ground::trusted::variables;
use crate::ground::work::Work;
use crate::mechanism::cpu;
use crate::mechanism::interrupt;
use crate::mechanism::sched::{Machine, Scheduler};
use core::sync::atomic::Ordering::Relaxed;
use sing_arch::link::{Linked, List, Node};
use sing_arch::lock::{Counter, SpinLock};

/// The role of a node by which a SIP stands among those that are being resumed.
pub(super) struct OfResumed;

variables! { forget:
    /// SIPs some of whose held threads are still to become runnable. Their records are kept.
    pub(super) static RESUMED: SpinLock<List<Sip, OfResumed>> = SpinLock::new(List::new());
}

impl Linked<OfResumed> for Sip {
    fn node(&self) -> &Node<Sip, OfResumed> {
        &self.resumed
    }
}

impl Sip {
    /// Undoes a suspend, and makes threads runnable within the caller's step; the others follow in
    /// steps. False if the SIP was not suspended. The caller's thread may keep the record from then
    /// on, for the caller to let go.
    pub(crate) fn resume(&'static self, work: &mut Work) -> bool {
        if self.halted.load(Relaxed) & !ENDED == 0 {
            return false;
        }
        if self.halted.sub(1) == 1 && !self.free_some(work) {
            // It may be there from a resume before it was suspended again.
            if !self.is_resumed() {
                self.retain_record();
                RESUMED.lock().push(self);
            }
            let thread = cpu::current();
            thread.keep(Kept::of(self));
            while self.is_resumed() {
                interrupt::let_others_run();
                step(self);
            }
        }
        true
    }

    /// Whether some of its threads are still to follow.
    pub(super) fn is_resumed(&self) -> bool {
        <Sip as Linked<OfResumed>>::node(self).is_linked()
    }

    /// Lets some of the threads run that are held. True where none is left, or where it has ended
    /// or is suspended again.
    fn free_some(&'static self, work: &mut Work) -> bool {
        while !self.is_halted() && !work.is_spent() {
            let next = self.held.lock().pop();
            let Some(t) = next else { return true };
            cpu::this().queue.lock().unblocked(t, &Machine);
            work.spend(0);
        }
        self.is_halted() || self.held.lock().is_empty()
    }
}

/// Does a step for one of the SIPs that are being resumed; they take turns. False where there is
/// none.
pub(super) fn step_next() -> bool {
    let next = super::ending::take_turn(&RESUMED.lock());
    if let Some(sip) = next {
        step(sip);
    }
    next.is_some()
}

/// Does a step, where one is to be done. The last one may give the record back.
fn step(sip: &'static Sip) {
    if sip.is_resumed() && sip.free_some(&mut Work::step()) {
        RESUMED.lock().remove(sip);
        sip.release_record();
    }
}
