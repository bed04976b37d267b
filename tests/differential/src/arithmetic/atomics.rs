//! Atomic accesses of every width, at addresses that are aligned but for a few. The memory is not
//! shared, as a SIP's is not, so their results are sure. These modules have no relaxed operations:
//! the engine that stands in for the interpreter here does not choose the deterministic profile.

use super::Gen;
use wasm_encoder::{Instruction as I, MemArg, Ordering, ValType as V};

/// An access, by where it is.
type Access = fn(MemArg) -> I<'static>;

/// Loads, with the binary logarithms of their sizes.
const LOADS_I32: [(u32, Access); 3] = [
    (2, I::I32AtomicLoad),
    (1, I::I32AtomicLoad16U),
    (0, I::I32AtomicLoad8U),
];
/// Loads, with the binary logarithms of their sizes.
const LOADS_I64: [(u32, Access); 4] = [
    (3, I::I64AtomicLoad),
    (2, I::I64AtomicLoad32U),
    (1, I::I64AtomicLoad16U),
    (0, I::I64AtomicLoad8U),
];
/// Stores, with the binary logarithms of their sizes.
const STORES_I32: [(u32, Access); 3] = [
    (2, I::I32AtomicStore),
    (1, I::I32AtomicStore16),
    (0, I::I32AtomicStore8),
];
/// Stores, with the binary logarithms of their sizes.
const STORES_I64: [(u32, Access); 4] = [
    (3, I::I64AtomicStore),
    (2, I::I64AtomicStore32),
    (1, I::I64AtomicStore16),
    (0, I::I64AtomicStore8),
];
/// Changes by one operand, with the binary logarithms of their sizes.
const CHANGES_I32: [(u32, Access); 18] = [
    (2, I::I32AtomicRmwAdd),
    (2, I::I32AtomicRmwSub),
    (2, I::I32AtomicRmwAnd),
    (2, I::I32AtomicRmwOr),
    (2, I::I32AtomicRmwXor),
    (2, I::I32AtomicRmwXchg),
    (1, I::I32AtomicRmw16AddU),
    (1, I::I32AtomicRmw16SubU),
    (1, I::I32AtomicRmw16AndU),
    (1, I::I32AtomicRmw16OrU),
    (1, I::I32AtomicRmw16XorU),
    (1, I::I32AtomicRmw16XchgU),
    (0, I::I32AtomicRmw8AddU),
    (0, I::I32AtomicRmw8SubU),
    (0, I::I32AtomicRmw8AndU),
    (0, I::I32AtomicRmw8OrU),
    (0, I::I32AtomicRmw8XorU),
    (0, I::I32AtomicRmw8XchgU),
];
/// Changes by one operand, with the binary logarithms of their sizes.
const CHANGES_I64: [(u32, Access); 24] = [
    (3, I::I64AtomicRmwAdd),
    (3, I::I64AtomicRmwSub),
    (3, I::I64AtomicRmwAnd),
    (3, I::I64AtomicRmwOr),
    (3, I::I64AtomicRmwXor),
    (3, I::I64AtomicRmwXchg),
    (2, I::I64AtomicRmw32AddU),
    (2, I::I64AtomicRmw32SubU),
    (2, I::I64AtomicRmw32AndU),
    (2, I::I64AtomicRmw32OrU),
    (2, I::I64AtomicRmw32XorU),
    (2, I::I64AtomicRmw32XchgU),
    (1, I::I64AtomicRmw16AddU),
    (1, I::I64AtomicRmw16SubU),
    (1, I::I64AtomicRmw16AndU),
    (1, I::I64AtomicRmw16OrU),
    (1, I::I64AtomicRmw16XorU),
    (1, I::I64AtomicRmw16XchgU),
    (0, I::I64AtomicRmw8AddU),
    (0, I::I64AtomicRmw8SubU),
    (0, I::I64AtomicRmw8AndU),
    (0, I::I64AtomicRmw8OrU),
    (0, I::I64AtomicRmw8XorU),
    (0, I::I64AtomicRmw8XchgU),
];
/// Exchanges if the old value is as expected, with the binary logarithms of their sizes.
const EXCHANGES_I32: [(u32, Access); 3] = [
    (2, I::I32AtomicRmwCmpxchg),
    (1, I::I32AtomicRmw16CmpxchgU),
    (0, I::I32AtomicRmw8CmpxchgU),
];
/// Exchanges if the old value is as expected, with the binary logarithms of their sizes.
const EXCHANGES_I64: [(u32, Access); 4] = [
    (3, I::I64AtomicRmwCmpxchg),
    (2, I::I64AtomicRmw32CmpxchgU),
    (1, I::I64AtomicRmw16CmpxchgU),
    (0, I::I64AtomicRmw8CmpxchgU),
];

impl Gen<'_> {
    /// Puts an address for an access of this size on the stack.
    fn aligned(&mut self, size: u32, depth: u32) -> MemArg {
        let mut at = self.address(depth);
        at.offset &= !7;
        at.align = size;
        // One in two hundred is left as it is.
        if self.numbers.below(200) != 0 {
            self.put(I::I32Const(-8));
            self.put(I::I32And);
        }
        at
    }

    /// Puts a number on the stack that an atomic access gives.
    pub(super) fn atomic_value(&mut self, ty: V, depth: u32) {
        let wide = ty == V::I64;
        match self.numbers.below(8) {
            0..=2 => {
                let (size, load) = match wide {
                    true => self.numbers.of(&LOADS_I64),
                    false => self.numbers.of(&LOADS_I32),
                };
                let at = self.aligned(size, depth);
                self.put(load(at));
            }
            3..=5 => {
                let (size, change) = match wide {
                    true => self.numbers.of(&CHANGES_I64),
                    false => self.numbers.of(&CHANGES_I32),
                };
                let at = self.aligned(size, depth);
                self.value(ty, depth);
                self.put(change(at));
            }
            _ => self.exchange(ty, depth),
        }
    }

    /// An exchange, half of the time of the value that is there.
    fn exchange(&mut self, ty: V, depth: u32) {
        let wide = ty == V::I64;
        let (size, exchange) = match wide {
            true => self.numbers.of(&EXCHANGES_I64),
            false => self.numbers.of(&EXCHANGES_I32),
        };
        let at = self.aligned(size, depth);
        if self.numbers.below(2) == 0 {
            let address = self.locals[0][0];
            self.put(I::LocalTee(address));
            self.put(I::LocalGet(address));
            let loads = match wide {
                true => &LOADS_I64[..],
                false => &LOADS_I32[..],
            };
            let load = loads.iter().find(|(of, _)| *of == size);
            if let Some((_, load)) = load {
                self.put(load(at));
            }
        } else {
            self.value(ty, depth);
        }
        self.value(ty, depth);
        self.put(exchange(at));
    }

    /// An atomic store, or a fence.
    pub(super) fn atomic_effect(&mut self, depth: u32) {
        if self.numbers.below(8) == 0 {
            return self.put(I::AtomicFence(Ordering::SeqCst));
        }
        let wide = self.numbers.below(2) == 0;
        let (size, store) = match wide {
            true => self.numbers.of(&STORES_I64),
            false => self.numbers.of(&STORES_I32),
        };
        let at = self.aligned(size, depth);
        self.value(if wide { V::I64 } else { V::I32 }, depth);
        self.put(store(at));
    }
}
