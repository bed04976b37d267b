//! The cached set of a thread's last `select`: most programs select from the same endpoints again
//! and again.
//!
//! Each thread has a set of its own, which it fills with the endpoints of a `select` and keeps. If
//! the next `select` names the same handles, nothing has to be set up or undone. An endpoint that
//! leaves such a set (it is closed, sent, or put into another set) makes the selection stale, so
//! that it is built anew.
//!
//! Objects that cannot be in such a set (events, other sets, an endpoint that is in a set of the
//! program or that another thread waits for) are selected through [`crate::mechanism::wait`].

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
    /// How often it was built anew.
    made: u32,
}

impl Selection {
    /// The set of exactly these endpoints, the key of each being its index in `handles`; handle 0
    /// is skipped. `None` if they cannot be in such a set, or memory is short.
    #[inline(always)]
    pub(crate) fn of(&mut self, handles: &[u32], sip: &Sip) -> Option<&'static Set> {
        match self.set {
            Some(set) if !set.is_stale() && self.is_of(handles) => Some(set),
            _ => self.make(handles, sip),
        }
    }

    /// The set, if the last selection was from the handles at `at` in memory and is not stale. (A
    /// set that could not be made has no handles, and may have some of the endpoints.)
    #[inline(always)]
    pub(crate) fn current(&self, memory: &SipMemory, at: u32, count: u32) -> Option<&'static Set> {
        let set = self.set?;
        let same = |(i, &handle): (u32, &u32)| memory.read_u32(at + i * 4) == Ok(handle);
        let all = !set.is_stale()
            && count != 0
            && self.handles.len() == count as usize
            && (0..).zip(self.handles.iter()).all(same);
        all.then_some(set)
    }

    /// Compares one by one: for few handles that costs less than a call of `memcmp`.
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
        // The set names ready endpoints in the order of their insertion, which would favour the
        // first ones if a program's selections are never the same. So each round starts one
        // further; the second term keeps a periodic program from always starting at the same ones.
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

    /// Frees the set and the handles: the thread ends.
    pub(crate) fn dispose(&mut self, account: &'static Account) {
        self.handles = Charged::new();
        if let Some(set) = self.set.take() {
            set.dispose();
            account.discharge(Set::COST);
        }
    }
}

/// A new set for selections, charged to `account`.
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
