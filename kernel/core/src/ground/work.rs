//! Work allowances: the amount of work between two looks at interrupts.
//!
//! Things that a SIP can have any number of, or of any size, are freed, moved or visited in steps.
//! A step has an allowance of items and of bytes: a thousand small records and one large block both
//! take time. Code that has spent it looks at interrupts, holding nothing, and begins the next
//! step.

/// Items of a step: handles, blocks, messages, SIPs. Each takes less than a microsecond.
const ITEMS: u32 = 256;
/// Bytes of a step: memory given back to the machine; this much takes some hundred microseconds.
pub(crate) const PIECE: u64 = 4 << 20;

/// The rest of a step's allowance.
#[derive(Debug)]
pub(crate) struct Work {
    items: u32,
    bytes: u64,
}

impl Work {
    /// Returns a step's allowance.
    pub(crate) fn step() -> Work {
        Work {
            items: ITEMS,
            bytes: PIECE,
        }
    }

    /// Returns a smaller allowance, for a call that has other work, too.
    pub(crate) fn little() -> Work {
        Work {
            items: ITEMS / 4,
            bytes: PIECE,
        }
    }

    /// Counts one item, and this many bytes of memory.
    #[inline]
    pub(crate) fn spend(&mut self, bytes: u64) {
        self.items = self.items.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    /// Counts this many items.
    #[inline]
    pub(crate) fn spend_items(&mut self, items: u32) {
        self.items = self.items.saturating_sub(items);
    }

    /// Whether the allowance is spent.
    #[inline]
    pub(crate) fn is_spent(&self) -> bool {
        self.items == 0 || self.bytes == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_and_bytes_both_end_a_step() {
        let mut many = Work::step();
        (1..ITEMS).for_each(|_| many.spend(0));
        assert!(!many.is_spent());
        many.spend(0);
        assert!(many.is_spent());
        let mut large = Work::step();
        large.spend(PIECE - 1);
        assert!(!large.is_spent());
        large.spend(1 << 30);
        assert!(large.is_spent());
    }
}
