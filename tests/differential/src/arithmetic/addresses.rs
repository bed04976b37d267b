//! Addresses of the forms that compilers reason about: sums whose parts are known to be small, sums
//! that wrap around, shifted and multiplied indices, the lower half of 64-bit sums, and pointers
//! that go through memory in loops. Nearly all are within the memory; the others are just behind it,
//! or near the end of the 32-bit addresses.

use super::Gen;
use wasm_encoder::{BlockType, Instruction as I, MemArg, MemArgTarget, ValType as V};

/// The most that an address without its constant part is, so that an access fits behind it.
const WITHIN: i32 = 0xfff0;

fn at(offset: u64) -> MemArg {
    MemArg {
        offset,
        align: 0,
        target: MemArgTarget::Memory(0),
        ordering: None,
    }
}

impl Gen<'_> {
    /// Puts an address on the stack, and returns the constant part.
    pub(super) fn address(&mut self, depth: u32) -> MemArg {
        match self.numbers.below(900) {
            0 => self.value(V::I32, depth),
            1 | 2 => {
                let near = 65_536 - self.numbers.below(20) as i32;
                self.put(I::I32Const(near));
            }
            3 => self.masked(0x1_ffff, depth),
            // A little below zero.
            4 => {
                self.masked(0xff0, depth);
                let more = 0x800 + self.numbers.below(0x800) as i32;
                self.put(I::I32Const(more));
                self.put(I::I32Sub);
            }
            n if n % 2 == 0 => self.masked(WITHIN, depth),
            _ => self.reasoned(depth),
        }
        at(match self.numbers.below(1500) {
            0 => 65_528,
            1 => u64::from(u32::MAX),
            2 => 0xffff_f000 + self.numbers.below(0x1000) as u64,
            n => n as u64 & 7,
        })
    }

    /// Some bits of a value.
    fn masked(&mut self, mask: i32, depth: u32) {
        self.value(V::I32, depth);
        self.put(I::I32Const(mask));
        self.put(I::I32And);
    }

    /// An address of no more than [`WITHIN`], by a sum or a product.
    fn reasoned(&mut self, depth: u32) {
        let depth = depth.min(2);
        match self.numbers.below(8) {
            // Parts that fit beside one another.
            0 => {
                self.masked(0x3ff0, depth);
                self.masked(0x7ff0, depth);
                self.put(I::I32Add);
                let more = self.numbers.below(0x3ff0) as i32;
                self.put(I::I32Const(more));
                self.put(I::I32Add);
            }
            // Constants that wrap around.
            1 => {
                let up = self.numbers.bits() as i32;
                let rest = self.numbers.below(0xf000) as i32;
                let mut parts = [up, rest.wrapping_sub(up)];
                if self.numbers.below(2) == 0 {
                    parts.swap(0, 1);
                }
                self.masked(0xff0, depth);
                for part in parts {
                    self.put(I::I32Const(part));
                    self.put(I::I32Add);
                }
            }
            2 => {
                self.masked(0xfff, depth);
                self.put(I::I32Const(4));
                self.put(I::I32Shl);
            }
            3 => {
                self.value(V::I32, depth);
                self.put(I::I32Const(18));
                self.put(I::I32ShrU);
                self.put(I::I32Const(3));
                self.put(I::I32Mul);
            }
            // A table's entry.
            4 => {
                self.masked(0x7ff0, depth);
                self.masked(0x7ff, depth);
                self.put(I::I32Const(3));
                self.put(I::I32Shl);
                self.put(I::I32Add);
            }
            5 => {
                self.masked(0xff0, depth);
                self.put(I::I32Const(0x4000));
                self.put(I::I32Add);
                self.masked(0x3ff0, depth);
                self.put(I::I32Sub);
            }
            // The lower half of a larger sum.
            6 => {
                self.value(V::I64, depth);
                self.put(I::I64Const(i64::from(WITHIN)));
                self.put(I::I64And);
                let above = (self.numbers.bits() << 32) as i64;
                self.put(I::I64Const(above));
                self.put(I::I64Add);
                self.put(I::I32WrapI64);
            }
            // A byte of memory.
            _ => {
                self.masked(WITHIN, depth);
                let (offset, bits) = (self.numbers.below(8), self.numbers.below(9));
                self.put(I::I32Load8U(at(offset as u64)));
                self.put(I::I32Const(bits as i32));
                self.put(I::I32Shl);
            }
        }
    }

    /// Goes through memory with a pointer: loads or stores at each step, at more than one place. One
    /// in forty leaves the memory.
    pub(super) fn go_through(&mut self, depth: u32) {
        let [counter, pointer] = [self.locals[0][0], self.locals[0][1]];
        let sum = self.locals[1][0];
        let far = self.numbers.below(40) == 0;
        let (times, step) = if far {
            (300, 256)
        } else {
            let step = self.numbers.of(&[1, 4, 8, 16, 64, -1, -4, -16]);
            (1 + self.numbers.below(40) as i32, step)
        };
        let first = self.numbers.below(64) as u64;
        let second = first + self.numbers.below(24) as u64;
        let stores = self.numbers.below(3) == 0;
        self.masked(0x3ff0, depth.min(2));
        self.put(I::I32Const(0x4000));
        self.put(I::I32Add);
        self.put(I::LocalSet(pointer));
        self.put(I::I32Const(times));
        self.put(I::LocalSet(counter));
        self.put(I::Loop(BlockType::Empty));
        self.put(I::LocalGet(pointer));
        if stores {
            self.put(I::LocalGet(sum));
            self.put(I::I64Store(at(first)));
            self.put(I::LocalGet(pointer));
            self.put(I::LocalGet(counter));
            self.put(I::I32Store16(at(second)));
        } else {
            self.put(I::I64Load(at(first)));
            self.put(I::LocalGet(pointer));
            self.put(I::I64Load32U(at(second)));
            self.put(I::I64Add);
            self.put(I::LocalGet(sum));
            self.put(I::I64Xor);
            self.put(I::LocalSet(sum));
        }
        self.put(I::LocalGet(pointer));
        self.put(I::I32Const(step));
        self.put(I::I32Add);
        self.put(I::LocalSet(pointer));
        self.put(I::LocalGet(counter));
        self.put(I::I32Const(1));
        self.put(I::I32Sub);
        self.put(I::LocalTee(counter));
        self.put(I::BrIf(0));
        self.put(I::End);
    }
}
