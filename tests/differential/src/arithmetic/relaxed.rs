//! Relaxed vector operations. An engine may choose among several results, so the operands are such
//! that all of its choices are one: a multiplication and an addition of numbers whose product is
//! exact round alike once and twice, and a product of bytes whose second factor has seven bits is
//! signed either way and cannot overflow. For the other operations, the engines asked here choose
//! the deterministic profile, as the compiler does.

use super::Gen;
use wasm_encoder::{Instruction as I, ValType as V};

/// Operations on two vectors that make no NaN.
const TWO: [I<'static>; 2] = [I::I8x16RelaxedSwizzle, I::I16x8RelaxedQ15mulrS];
/// Operations on one vector.
const ONE: [I<'static>; 4] = [
    I::I32x4RelaxedTruncF32x4S,
    I::I32x4RelaxedTruncF32x4U,
    I::I32x4RelaxedTruncF64x2SZero,
    I::I32x4RelaxedTruncF64x2UZero,
];
const SELECTS: [I<'static>; 4] = [
    I::I8x16RelaxedLaneselect,
    I::I16x8RelaxedLaneselect,
    I::I32x4RelaxedLaneselect,
    I::I64x2RelaxedLaneselect,
];
const F32_EXTREMES: [I<'static>; 2] = [I::F32x4RelaxedMin, I::F32x4RelaxedMax];
const F64_EXTREMES: [I<'static>; 2] = [I::F64x2RelaxedMin, I::F64x2RelaxedMax];
const F32_MULTIPLY_ADD: [I<'static>; 2] = [I::F32x4RelaxedMadd, I::F32x4RelaxedNmadd];
const F64_MULTIPLY_ADD: [I<'static>; 2] = [I::F64x2RelaxedMadd, I::F64x2RelaxedNmadd];
/// The seven low bits of each byte.
const SEVEN_BITS: i128 = i128::from_le_bytes([0x7f; 16]);

impl Gen<'_> {
    /// Puts a vector on the stack that a relaxed operation gives.
    pub(super) fn relaxed_vector(&mut self, depth: u32) {
        match self.numbers.below(8) {
            0 => {
                self.vectors(2, depth);
                self.put_one_of(&TWO);
            }
            1 => {
                self.vectors(1, depth);
                self.put_one_of(&ONE);
            }
            2 => {
                self.vectors(3, depth);
                self.put_one_of(&SELECTS);
            }
            3 => {
                self.vectors(2, depth);
                self.put_one_of(&F32_EXTREMES);
                self.one_nan_lanes(false);
            }
            4 => {
                self.vectors(2, depth);
                self.put_one_of(&F64_EXTREMES);
                self.one_nan_lanes(true);
            }
            5 => {
                self.dot_operands(depth);
                if self.numbers.below(2) == 0 {
                    self.put(I::I16x8RelaxedDotI8x16I7x16S);
                } else {
                    self.vectors(1, depth);
                    self.put(I::I32x4RelaxedDotI8x16I7x16AddS);
                }
            }
            6 => {
                // Factors of 12 bits: f32 holds their product exactly, and the sum.
                self.small_numbers(20, I::F32x4ConvertI32x4S, depth);
                self.put_one_of(&F32_MULTIPLY_ADD);
            }
            _ => {
                // The same with f64 and factors of 24 bits.
                self.small_numbers(8, I::F64x2ConvertLowI32x4S, depth);
                self.put_one_of(&F64_MULTIPLY_ADD);
            }
        }
    }

    fn vectors(&mut self, count: usize, depth: u32) {
        for _ in 0..count {
            self.value(V::V128, depth);
        }
    }

    fn put_one_of(&mut self, all: &[I<'static>]) {
        let i = all[self.numbers.below(all.len())].clone();
        self.put(i);
    }

    /// Any bytes, and bytes of seven bits.
    fn dot_operands(&mut self, depth: u32) {
        self.vectors(2, depth);
        self.put(I::V128Const(SEVEN_BITS));
        self.put(I::V128And);
    }

    /// Three vectors of floats that are signed integers of `32 - shift` bits.
    fn small_numbers(&mut self, shift: i32, convert: I<'static>, depth: u32) {
        for _ in 0..3 {
            self.value(V::V128, depth);
            self.put(I::I32Const(shift));
            self.put(I::I32x4ShrS);
            self.put(convert.clone());
        }
    }
}
