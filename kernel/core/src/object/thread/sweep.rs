//! Invariants of threads' records ([`crate::object::sweep`]).
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a privileged look at everything, for tests"
)]

use super::{State, THREADS, Thread};
use crate::mechanism::{cpu, timer};
use crate::object::sweep::{Census, Findings};
use alloc::collections::BTreeMap;
use alloc::format;
use core::sync::atomic::Ordering::Relaxed;

impl Thread {
    /// Its record's number.
    pub(crate) fn number(&self) -> u32 {
        self.index.load(Relaxed)
    }

    /// Whether its record is in use.
    pub(crate) fn is_there(&self) -> bool {
        THREADS.is_live(self.number())
    }
}

/// Counts the SIPs whose records threads keep.
pub(crate) fn count_kept(kept: &mut BTreeMap<u32, u32>) {
    for t in THREADS.all() {
        t.with_kept(|sip| Census::count(kept, sip.id()));
    }
}

/// Checks all of them.
pub(crate) fn sweep(found: &mut Findings, census: &Census) {
    for t in THREADS.all() {
        found.seen();
        if t.is_there() {
            used(found, census, t);
        } else {
            free(found, t);
        }
    }
    timer::each(|t| {
        found.check(t.is_there(), || {
            format!("thread record {}, free, waits for time", t.number())
        });
    });
    found.check(
        cpu::this().ended.lock().iter().all(Thread::is_there),
        || "a free thread record is to be given back".into(),
    );
}

fn free(found: &mut Findings, t: &'static Thread) {
    let n = t.number();
    found.check(!t.node.is_linked(), || {
        format!("thread record {n}, free, is in a queue")
    });
    found.check(!t.sibling.is_linked(), || {
        format!("thread record {n}, free, is in a SIP's list")
    });
    found.check(!t.is_known(), || {
        format!("thread record {n}, free, is where it waited")
    });
    found.check(t.joiners.lock().is_empty(), || {
        format!("somebody waits for the end of thread record {n}, which is free")
    });
    let references = t.references.load(Relaxed);
    found.check(references == 0, || {
        format!("thread record {n}, free, has {references} references")
    });
    let mut kept = false;
    t.with_kept(|_| kept = true);
    found.check(!kept, || format!("thread record {n}, free, keeps a SIP"));
}

fn used(found: &mut Findings, census: &Census, t: &'static Thread) {
    let (n, sip) = (t.number(), t.sip());
    let handles = census.threads.get(&n).copied().unwrap_or(0);
    let listed = sip.has_thread(t);
    let (wanted, references) = (handles + u32::from(listed), t.references.load(Relaxed));
    found.check(references == wanted, || {
        format!("thread record {n} has {references} references, but {wanted} names")
    });
    found.check(listed == (t.state() != State::Ended), || {
        format!("thread record {n} is {:?}, and listed: {listed}", t.state())
    });
    found.check(sip.is_there(), || {
        format!("thread record {n} belongs to a SIP whose record is free")
    });
    let over = matches!(t.state(), State::Ending | State::Ended);
    found.check(!over || !t.is_known(), || {
        format!("thread record {n}, ended, is where it waited")
    });
    let waits = t.joiners.lock().iter().all(|node| node.is_there());
    found.check(waits, || {
        format!("a free thread record waits for the end of thread record {n}")
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::boxed::Box;
    use alloc::string::String;
    use alloc::vec::Vec;
    use sing_arch::link::List;

    fn wrong() -> Vec<String> {
        let mut found = Findings::default();
        sweep(&mut found, &Census::default());
        found.into_wrong()
    }

    #[test]
    fn a_free_record_that_something_names_is_found() {
        let _alone = crate::alone();
        let (index, t) = THREADS.take().unwrap();
        t.index.store(index, Relaxed);
        THREADS.give(index);
        assert_eq!(wrong(), [] as [String; 0]);

        let queue: &'static List<Thread> = Box::leak(Box::default());
        queue.push(t);
        assert!(wrong().iter().any(|w| w.ends_with("free, is in a queue")));
        queue.remove(t);

        t.references.store(1, Relaxed);
        assert!(wrong().iter().any(|w| w.ends_with("has 1 references")));
        t.references.store(0, Relaxed);

        let waiters: &'static crate::mechanism::wait::WaitList = Box::leak(Box::default());
        waiters.push(&t.wait.own);
        assert!(wrong().iter().any(|w| w.ends_with("is where it waited")));
        waiters.remove(&t.wait.own);
        assert_eq!(wrong(), [] as [String; 0]);
    }
}
