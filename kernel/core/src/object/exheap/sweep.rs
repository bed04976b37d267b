//! Invariants of regions, allocations and their charges ([`crate::object::sweep`]).
#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    reason = "a privileged look at everything, for tests"
)]

use super::{ALLOCATIONS, REGIONS};
use crate::object::sweep::Findings;
use alloc::collections::BTreeMap;
use alloc::format;
use core::sync::atomic::Ordering::Relaxed;

/// Checks all of them.
pub(crate) fn sweep(found: &mut Findings) {
    let mut paid: BTreeMap<u32, u64> = BTreeMap::new();
    let mut seen: BTreeMap<u32, u32> = BTreeMap::new();
    // By account: the portions that it pays for, and the bytes that its SIP borrows.
    let mut sums = BTreeMap::new();
    for (n, a) in ALLOCATIONS.in_use() {
        found.seen();
        let r = a.region.load(Relaxed);
        *paid.entry(r).or_default() += a.portion.load(Relaxed);
        *seen.entry(r).or_default() += 1;
        found.check(REGIONS.is_live(r), || {
            format!("allocation {n} is of region {r}, which is free")
        });
        let (own, all) = a.cost();
        if let Some(payer) = a.payer.get() {
            sums.entry(payer.number()).or_insert((0, 0)).0 += own;
        }
        if let Some(holder) = a.holder.get() {
            sums.entry(holder.number()).or_insert((0, 0)).1 += all;
        }
    }
    for (r, region) in REGIONS.in_use() {
        found.seen();
        let (mut paid, size) = (paid.get(&r).copied().unwrap_or(0), region.size());
        if let Some(divider) = region.divider.get() {
            sums.entry(divider.number()).or_insert((0, 0)).0 += size;
            paid += size;
        }
        found.check(paid == size, || {
            format!("{paid} of the {size} bytes of region {r} are paid for")
        });
        let (seen, said) = (
            seen.get(&r).copied().unwrap_or(0),
            region.references.load(Relaxed),
        );
        found.check(seen == said, || {
            format!("region {r} has {seen} allocations, and counts {said}")
        });
    }
    crate::object::account::sweep(found, &sums);
}
