//! The relaxed instructions, in the specification's deterministic profile: of the results that an
//! instruction may have, it always has the first, on every processor. So most of them are other
//! names of exact instructions.

use super::{Translator, two};
use crate::error::Result;
use cranelift_codegen::ir::{InstBuilder, Type, Value, types};
use types::{F32X4, F64X2, I8X16, I16X8, I32X4};
use wasmparser as wp;

impl Translator<'_, '_> {
    pub(super) fn relaxed_op(&mut self, op: &wp::Operator<'_>) -> Result<bool> {
        use wp::Operator as O;
        match *op {
            O::I8x16RelaxedSwizzle => return self.shuffle_op(&O::I8x16Swizzle),
            O::I8x16RelaxedLaneselect
            | O::I16x8RelaxedLaneselect
            | O::I32x4RelaxedLaneselect
            | O::I64x2RelaxedLaneselect => return self.shuffle_op(&O::V128Bitselect),
            O::I32x4RelaxedTruncF32x4S => return self.float_lanes_op(&O::I32x4TruncSatF32x4S),
            O::I32x4RelaxedTruncF32x4U => return self.float_lanes_op(&O::I32x4TruncSatF32x4U),
            O::I32x4RelaxedTruncF64x2SZero => {
                return self.float_lanes_op(&O::I32x4TruncSatF64x2SZero);
            }
            O::I32x4RelaxedTruncF64x2UZero => {
                return self.float_lanes_op(&O::I32x4TruncSatF64x2UZero);
            }
            O::F32x4RelaxedMin => two!(self, F32X4, fmin),
            O::F64x2RelaxedMin => two!(self, F64X2, fmin),
            O::F32x4RelaxedMax => two!(self, F32X4, fmax),
            O::F64x2RelaxedMax => two!(self, F64X2, fmax),
            O::I16x8RelaxedQ15mulrS => two!(self, I16X8, sqmul_round_sat),
            O::F32x4RelaxedMadd => self.multiply_add(F32X4, false)?,
            O::F32x4RelaxedNmadd => self.multiply_add(F32X4, true)?,
            O::F64x2RelaxedMadd => self.multiply_add(F64X2, false)?,
            O::F64x2RelaxedNmadd => self.multiply_add(F64X2, true)?,
            O::I16x8RelaxedDotI8x16I7x16S => {
                let (a, b) = self.pop_lanes2(I8X16)?;
                let value = self.dot(a, b);
                self.push_vector(value);
            }
            O::I32x4RelaxedDotI8x16I7x16AddS => {
                let sum = self.pop_lanes(I32X4)?;
                let (a, b) = self.pop_lanes2(I8X16)?;
                let products = self.dot(a, b);
                let pairs = self.sum_pairs(products);
                let value = self.b.ins().iadd(pairs, sum);
                self.push_vector(value);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// `a * b + c`, or `-a * b + c`, rounded twice: a product that is rounded once needs an
    /// instruction that the baseline processor lacks.
    fn multiply_add(&mut self, ty: Type, negate: bool) -> Result<()> {
        let c = self.pop_lanes(ty)?;
        let (mut a, b) = self.pop_lanes2(ty)?;
        if negate {
            a = self.b.ins().fneg(a);
        }
        let product = self.b.ins().fmul(a, b);
        let value = self.b.ins().fadd(product, c);
        self.push_vector(value);
        Ok(())
    }

    /// Products of bytes, all of them signed, added in pairs to 16 bits; a sum that does not fit
    /// becomes the largest that does.
    fn dot(&mut self, a: Value, b: Value) -> Value {
        let (low_a, low_b) = (self.b.ins().swiden_low(a), self.b.ins().swiden_low(b));
        let low = self.b.ins().imul(low_a, low_b);
        let (high_a, high_b) = (self.b.ins().swiden_high(a), self.b.ins().swiden_high(b));
        let high = self.b.ins().imul(high_a, high_b);
        let (low, high) = (self.sum_pairs(low), self.sum_pairs(high));
        self.b.ins().snarrow(low, high)
    }

    /// Neighbours among eight lanes of 16 bits, added to 32 bits.
    fn sum_pairs(&mut self, lanes: Value) -> Value {
        let (low, high) = (
            self.b.ins().swiden_low(lanes),
            self.b.ins().swiden_high(lanes),
        );
        self.b.ins().iadd_pairwise(low, high)
    }
}
