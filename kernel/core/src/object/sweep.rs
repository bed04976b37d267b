//! A look at all records of the kernel, for tests: whether anything names a record that is free, and whether all counts
//! are what they should be.
//!
//! Each kind of object says itself what must hold of its records, in a module `sweep` of its own. First the names that are
//! counted are taken together ([`Census`]), then every record is looked at, free ones included. A sweep takes as long as
//! there are records, and nobody else runs meanwhile.
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a privileged look at everything, for tests"
)]

use crate::object::channel::Channel;
use crate::object::handle::Object;
use crate::object::{channel, exheap, set, sip, sync, thread};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use sing_arch::link::{Linked, List};

/// What is told of what is wrong, at most.
const MOST: usize = 16;

/// What a sweep has found.
#[derive(Default)]
pub(crate) struct Findings {
    records: u64,
    wrong: Vec<String>,
}

impl Findings {
    /// A record has been looked at.
    pub(crate) fn seen(&mut self) {
        self.records += 1;
    }

    /// What is wrong.
    #[cfg(test)]
    pub(crate) fn into_wrong(self) -> Vec<String> {
        self.wrong
    }

    /// Says what is wrong, unless `holds`.
    pub(crate) fn check(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds && self.wrong.len() < MOST {
            self.wrong.push(what());
        }
    }
}

/// How often records are named by what is counted.
#[derive(Default)]
pub(crate) struct Census {
    /// Handles to threads, by the thread's index.
    pub(crate) threads: BTreeMap<u32, u32>,
    /// Handles to SIPs, by the SIP's id.
    pub(crate) sips: BTreeMap<u32, u32>,
    /// SIPs that threads keep over places where others run, by the SIP's id.
    pub(crate) kept: BTreeMap<u32, u32>,
}

impl Census {
    /// Counts one more name.
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

/// Whether a list holds together: each object in it says that it stands there. What it is asked for is its length.
pub(crate) fn is_whole<T: Linked<Role>, Role: 'static>(list: &List<T, Role>) -> bool {
    list.iter().all(|t| list.holds(t))
}

/// Whether an endpoint's channel is in use.
pub(crate) fn is_there(channel: &'static Channel) -> bool {
    channel.lock().contract.is_some()
}

/// Looks at every record: how many there are, and what is wrong.
pub(crate) fn sweep() -> (u64, Vec<String>) {
    let census = Census::take();
    let mut found = Findings::default();
    thread::sweep(&mut found, &census);
    sip::sweep(&mut found, &census);
    channel::sweep(&mut found);
    set::sweep(&mut found);
    sync::sweep(&mut found);
    exheap::sweep(&mut found);
    if found.wrong.len() == MOST {
        found
            .wrong
            .push(format!("and perhaps more than these {MOST}"));
    }
    (found.records, found.wrong)
}
