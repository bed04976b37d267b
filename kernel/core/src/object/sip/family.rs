//! Operations on a SIP and all its descendants.
//!
//! The tree is walked through the records themselves: each has a list of its children. Records of
//! ended SIPs stay in the tree while they have descendants, so no process leaves the tree by the
//! end of its parent. A walk goes in steps between which others run; it keeps a reference to the
//! record where it pauses, which keeps all ancestors' records, too.

use super::{Kept, OfParent, Sip};
use crate::ground::work::Work;
use crate::mechanism::cpu;
use crate::mechanism::interrupt;
use sing_arch::link::List;

/// Suspends a SIP and its descendants. One that is not reached yet can still create others, but
/// only below itself, where the walk has yet to come.
pub(crate) fn suspend_all(root: &'static Sip) {
    each(root, |sip, _| {
        sip.suspend();
    });
}

/// Resumes a SIP and its descendants. False if the SIP itself was not suspended.
pub(crate) fn resume_all(root: &'static Sip) -> bool {
    let mut resumed = false;
    each(root, |sip, work| {
        let done = sip.resume(work);
        resumed |= done && core::ptr::eq(sip, root);
    });
    resumed
}

/// Calls `f` with a SIP and each descendant that is alive, parents first, and with the rest of the
/// step's allowance.
fn each(root: &'static Sip, mut f: impl FnMut(&'static Sip, &mut Work)) {
    let thread = cpu::current();
    let mut work = Work::step();
    let mut at = root;
    loop {
        if at.is_alive() {
            f(at, &mut work);
        }
        let Some(next) = after(at, root) else { break };
        at = next;
        work.spend(0);
        if work.is_spent() {
            thread.keep(Kept::of(at));
            interrupt::let_others_run();
            work = Work::step();
        }
    }
    thread.let_go();
}

/// The record after `at` in the tree below `root`, in pre-order.
fn after(at: &'static Sip, root: &'static Sip) -> Option<&'static Sip> {
    let child = at.children.lock().first();
    if child.is_some() {
        return child;
    }
    let mut at = at;
    while !core::ptr::eq(at, root) {
        let parent = at.parent_sip.get()?;
        let siblings = parent.children.lock();
        if let Some(next) = List::<Sip, OfParent>::after(at) {
            return Some(next);
        }
        drop(siblings);
        at = parent;
    }
    None
}
