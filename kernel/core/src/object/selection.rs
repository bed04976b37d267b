//! What a thread selected from last: most programs select from the same endpoints again and again.
//!
//! Each thread has a set of its own, which it fills with the endpoints of a `select` and keeps. Where the next one
//! names the same handles, nothing has to be set up, looked at or undone. An endpoint that leaves such a set (it is
//! closed, sent, or put into another set) makes the selection stale, so that it is made anew.
//!
//! What cannot be in a set (events, other sets, an endpoint that is in a set of the program's own or that another thread
//! waits for) is selected in the ordinary way.

use crate::object::account::Account;
use crate::object::handle::Object;
use crate::object::set::Set;
use crate::object::sip::Sip;
use sing_runtime::{Charged, SipMemory};

/// A thread's last selection.
#[derive(Default)]
pub(crate) struct Selection {
    handles: Charged<u32>,
    set: Option<&'static Set>,
    /// How often it was made anew.
    made: u32,
}

impl Selection {
    /// The set of exactly these endpoints, each under its place among them as the key; 0 names none. `None` where there can be none.
    #[inline(always)]
    pub(crate) fn of(&mut self, handles: &[u32], sip: &Sip) -> Option<&'static Set> {
        match self.set {
            Some(set) if !set.is_stale() && self.is_of(handles) => Some(set),
            _ => self.make(handles, sip),
        }
    }

    /// The set, where the last selection was from the handles that are there in memory, and is good still.
    #[inline(always)]
    pub(crate) fn current(&self, memory: &SipMemory, at: u32, count: u32) -> Option<&'static Set> {
        let set = self.set?;
        let same = |(i, &handle): (u32, &u32)| memory.read_u32(at + i * 4) == Ok(handle);
        let all = !set.is_stale()
            && self.handles.len() == count as usize
            && (0..).zip(self.handles.iter()).all(same);
        all.then_some(set)
    }

    /// One by one: few handles cost less than a call of `memcmp`.
    #[inline(always)]
    fn is_of(&self, handles: &[u32]) -> bool {
        self.handles.len() == handles.len() && self.handles.iter().zip(handles).all(|(a, b)| a == b)
    }

    #[cold]
    fn make(&mut self, handles: &[u32], sip: &Sip) -> Option<&'static Set> {
        self.handles.clear();
        let account = sip.account();
        self.handles.reserve_exact(handles.len(), account).ok()?;
        let set = match self.set {
            Some(set) => set,
            None => *self.set.insert(set_for(account)?),
        };
        set.renew();
        // Of those that are ready, the set names first what it got first: now one, now another, where a program's
        // selections are never the same. Each round begins one further, so that no rhythm of theirs leaves one out.
        self.made = self.made.wrapping_add(1);
        let (made, count) = (self.made as usize, handles.len().max(1));
        let first = (made + made / count) % count;
        let all = handles.iter().zip(0..);
        for (&handle, key) in all.clone().skip(first).chain(all.take(first)) {
            if handle == 0 {
                continue;
            }
            let Object::Endpoint(channel, side, _) = sip.object(handle) else {
                return None;
            };
            if !set.borrow(channel, side, key) {
                return None;
            }
        }
        for &handle in handles {
            self.handles.push(handle, account).ok()?;
        }
        Some(set)
    }

    /// The thread ends.
    pub(crate) fn dispose(&mut self, account: &'static Account) {
        self.handles = Charged::new();
        if let Some(set) = self.set.take() {
            set.dispose();
            account.discharge(Set::COST);
        }
    }
}

/// A set for selections, which `account` pays for.
fn set_for(account: &'static Account) -> Option<&'static Set> {
    if !account.charge(Set::COST) {
        return None;
    }
    let set = Set::create_for_selection();
    if set.is_none() {
        account.discharge(Set::COST);
    }
    set
}
