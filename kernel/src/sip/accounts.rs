//! What SIPs pay for.
//!
//! Everything that a SIP asks for is charged to it before it gets it, against its budget. What it has sent, and nobody
//! has received, and channels that others still use, outlast it: a SIP that has ended pays for them until they are gone,
//! and so does the one who made it, and so on up to one that lives. So nobody can put memory beyond every budget by
//! making processes that end.

use super::Sip;
use crate::machine::hal;
use core::sync::atomic::Ordering::Relaxed;
use sing_arch::lock::Counter;

impl Sip {
    /// Charges `bytes` to it. False, and nothing charged, where its budget has no room.
    pub(crate) fn charge(&self, bytes: u64) -> bool {
        let room = self.has_room(bytes);
        if room {
            self.charged.add(bytes);
        }
        room
    }

    /// Whether its budget has room for `bytes` more, and the kernel for the records that go with anything.
    pub(crate) fn has_room(&self, bytes: u64) -> bool {
        self.charged.load(Relaxed).saturating_add(bytes) <= self.budget.load(Relaxed)
            && !hal().is_short()
    }

    /// Takes `bytes` off its account.
    #[inline(always)]
    pub(crate) fn discharge(&'static self, bytes: u64) {
        self.charged.sub(bytes);
        if self.has_ended() {
            self.discharge_makers(bytes);
        }
    }

    /// The nearest SIP that pays for what is on this one's account and has not ended; itself where there is none.
    pub(crate) fn payer(&'static self) -> &'static Sip {
        let mut sip = self;
        while sip.has_ended() {
            match sip.parent_sip.get() {
                Some(parent) => sip = parent,
                None => return self,
            }
        }
        sip
    }

    /// It has ended, and what is on its account still is not its own any more: those who made it pay, too.
    pub(super) fn leave_debts(&'static self) {
        let rest = self.charged.load(Relaxed);
        if rest == 0 {
            return;
        }
        self.pays.store(true, Relaxed);
        self.keep();
        let mut sip = self;
        while sip.has_ended()
            && let Some(parent) = sip.parent_sip.get()
        {
            parent.charged.add(rest);
            sip = parent;
        }
    }

    #[cold]
    fn discharge_makers(&'static self, bytes: u64) {
        let mut sip = self;
        while sip.has_ended()
            && let Some(parent) = sip.parent_sip.get()
        {
            parent.charged.sub(bytes);
            sip = parent;
        }
        // Those whose debts are paid are not needed any more. Each is kept while it is looked at, and its maker found.
        let mut next = Some(self);
        self.keep();
        while let Some(sip) = next {
            next = sip.parent_sip.get().filter(|_| sip.has_ended());
            next.inspect(|parent| parent.keep());
            if sip.has_ended() && sip.charged.load(Relaxed) == 0 && sip.pays.swap(false, Relaxed) {
                sip.unkeep();
            }
            sip.unkeep();
        }
    }
}
