//! A check of all records of the kernel, for tests: whether anything refers to a free record, and
//! whether all reference counts are right.
//!
//! Each kind of object states its own invariants in a `sweep` module. First the counted references
//! are collected ([`Census`]), then every record is checked, free ones included. A sweep takes time
//! in proportion to the number of records, and nobody else runs meanwhile.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a privileged look at everything, for tests"
)]

use crate::object::channel::Channel;
use crate::object::handle::Object;
use crate::object::{channel, device, exheap, set, sip, sync, thread};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use sing_arch::link::{Linked, List};

/// The most findings that are reported.
const MOST: usize = 16;

/// The result of a sweep: how many records were checked, and what is wrong with them.
#[derive(Default)]
pub(crate) struct Findings {
    records: u64,
    wrong: Vec<String>,
}

impl Findings {
    /// Counts a record as checked.
    pub(crate) fn seen(&mut self) {
        self.records += 1;
    }

    /// The findings.
    #[cfg(test)]
    pub(crate) fn into_wrong(self) -> Vec<String> {
        self.wrong
    }

    /// Adds the finding `what`, unless the invariant `holds`.
    pub(crate) fn check(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds && self.wrong.len() < MOST {
            self.wrong.push(what());
        }
    }
}

/// The number of counted references to each record.
#[derive(Default)]
pub(crate) struct Census {
    /// Handles to threads, by the thread's index.
    pub(crate) threads: BTreeMap<u32, u32>,
    /// Handles to SIPs, by the SIP's id.
    pub(crate) sips: BTreeMap<u32, u32>,
    /// References of threads that keep a SIP's record while others run
    /// ([`crate::object::sip::Kept`]), by the SIP's id.
    pub(crate) kept: BTreeMap<u32, u32>,
}

impl Census {
    /// Counts one more reference.
    pub(crate) fn count(of: &mut BTreeMap<u32, u32>, key: u32) {
        *of.entry(key).or_default() += 1;
    }

    fn take() -> Census {
        let mut census = Census::default();
        for sip in sip::records() {
            sip.handles.lock().each(|object| match object {
                Object::Thread(t) => Census::count(&mut census.threads, t.number()),
                Object::Process(p) => Census::count(&mut census.sips, p.id()),
                _ => {}
            });
        }
        thread::count_kept(&mut census.kept);
        census
    }
}

/// Whether a list is consistent: each element's node says that it is in this list.
pub(crate) fn is_whole<T: Linked<Role>, Role: 'static>(list: &List<T, Role>) -> bool {
    list.iter().all(|t| list.holds(t))
}

/// Whether an endpoint's channel is in use.
pub(crate) fn is_there(channel: &'static Channel) -> bool {
    channel.lock().contract.is_some()
}

/// Checks every record: how many there are, and what is wrong.
pub(crate) fn sweep() -> (u64, Vec<String>) {
    let census = Census::take();
    let mut found = Findings::default();
    thread::sweep(&mut found, &census);
    sip::sweep(&mut found, &census);
    channel::sweep(&mut found);
    set::sweep(&mut found);
    sync::sweep(&mut found);
    exheap::sweep(&mut found);
    device::sweep(&mut found);
    if found.wrong.len() == MOST {
        found
            .wrong
            .push(format!("and perhaps more than these {MOST}"));
    }
    (found.records, found.wrong)
}
