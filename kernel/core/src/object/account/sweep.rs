//! Invariants of accounts ([`crate::object::sweep`]).
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a privileged look at everything, for tests"
)]

use super::{ACCOUNTS, Account};
use crate::object::sweep::Findings;
use alloc::collections::BTreeMap;
use alloc::format;
use core::sync::atomic::Ordering::Relaxed;

impl Account {
    /// The number of its record.
    pub(crate) fn number(&self) -> u32 {
        self.index.load(Relaxed)
    }
}

/// Checks all of them. `sums`: by account, the bytes that it pays for in the exchange heap and the
/// bytes that its SIP borrows there, as added up from the allocations.
pub(crate) fn sweep(found: &mut Findings, sums: &BTreeMap<u32, (u64, u64)>) {
    let mut below: BTreeMap<u32, u64> = BTreeMap::new();
    for (_, account) in ACCOUNTS.in_use() {
        if let Some(parent) = account.parent.get() {
            *below.entry(parent.number()).or_default() += account.taken.load(Relaxed);
        }
    }
    for (n, account) in ACCOUNTS.in_use() {
        found.seen();
        let taken = account.taken.load(Relaxed);
        let limit = account.limit.load(Relaxed);
        let is_root = account.parent.get().is_none();
        found.check(taken <= limit && (!is_root || taken == limit), || {
            format!("account {n} has taken {taken} bytes, and its limit is {limit}")
        });
        let stock = account.stock.load(Relaxed);
        let gone = stock + below.get(&n).copied().unwrap_or(0);
        found.check(gone <= taken, || {
            format!("account {n} has taken {taken} bytes; stock and children come to {gone}")
        });
        let (paid, held) = sums.get(&n).copied().unwrap_or_default();
        let (exchange, borrowed) = (
            account.exchange.load(Relaxed),
            account.borrowed.load(Relaxed),
        );
        found.check((exchange, borrowed) == (paid, held), || {
            format!(
                "account {n} says that it pays for {exchange} bytes of blocks and holds {borrowed} of others; \
                 added up, it is {paid} and {held}"
            )
        });
        found.check(paid <= taken - stock, || {
            format!("account {n} pays for {paid} bytes of blocks, which are not charged to it")
        });
    }
}
