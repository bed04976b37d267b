//! Integer lanes: arithmetic, comparisons, tests, and conversions to wider or narrower lanes.

use super::{Translator, one, two};
use crate::error::Result;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Type, Value, types};
use types::{I8X16, I16X8, I32X4, I64X2};
use wasmparser as wp;

/// A half of a vector, and how its lanes are extended.
#[derive(Clone, Copy)]
enum Half {
    LowS,
    LowU,
    HighS,
    HighU,
}

impl Translator<'_, '_> {
    pub(super) fn integer_lanes_op(&mut self, op: &wp::Operator<'_>) -> Result<bool> {
        use wp::Operator as O;
        match *op {
            O::I8x16Add => two!(self, I8X16, iadd),
            O::I16x8Add => two!(self, I16X8, iadd),
            O::I32x4Add => two!(self, I32X4, iadd),
            O::I64x2Add => two!(self, I64X2, iadd),
            O::I8x16Sub => two!(self, I8X16, isub),
            O::I16x8Sub => two!(self, I16X8, isub),
            O::I32x4Sub => two!(self, I32X4, isub),
            O::I64x2Sub => two!(self, I64X2, isub),
            O::I16x8Mul => two!(self, I16X8, imul),
            O::I32x4Mul => two!(self, I32X4, imul),
            O::I64x2Mul => two!(self, I64X2, imul),
            O::I8x16AddSatS => two!(self, I8X16, sadd_sat),
            O::I16x8AddSatS => two!(self, I16X8, sadd_sat),
            O::I8x16AddSatU => two!(self, I8X16, uadd_sat),
            O::I16x8AddSatU => two!(self, I16X8, uadd_sat),
            O::I8x16SubSatS => two!(self, I8X16, ssub_sat),
            O::I16x8SubSatS => two!(self, I16X8, ssub_sat),
            O::I8x16SubSatU => two!(self, I8X16, usub_sat),
            O::I16x8SubSatU => two!(self, I16X8, usub_sat),
            O::I8x16MinS => two!(self, I8X16, smin),
            O::I16x8MinS => two!(self, I16X8, smin),
            O::I32x4MinS => two!(self, I32X4, smin),
            O::I8x16MinU => two!(self, I8X16, umin),
            O::I16x8MinU => two!(self, I16X8, umin),
            O::I32x4MinU => two!(self, I32X4, umin),
            O::I8x16MaxS => two!(self, I8X16, smax),
            O::I16x8MaxS => two!(self, I16X8, smax),
            O::I32x4MaxS => two!(self, I32X4, smax),
            O::I8x16MaxU => two!(self, I8X16, umax),
            O::I16x8MaxU => two!(self, I16X8, umax),
            O::I32x4MaxU => two!(self, I32X4, umax),
            O::I8x16AvgrU => two!(self, I8X16, avg_round),
            O::I16x8AvgrU => two!(self, I16X8, avg_round),
            O::I16x8Q15MulrSatS => two!(self, I16X8, sqmul_round_sat),
            O::I8x16Neg => one!(self, I8X16, ineg),
            O::I16x8Neg => one!(self, I16X8, ineg),
            O::I32x4Neg => one!(self, I32X4, ineg),
            O::I64x2Neg => one!(self, I64X2, ineg),
            O::I8x16Abs => one!(self, I8X16, iabs),
            O::I16x8Abs => one!(self, I16X8, iabs),
            O::I32x4Abs => one!(self, I32X4, iabs),
            O::I64x2Abs => one!(self, I64X2, iabs),
            O::I8x16Popcnt => one!(self, I8X16, popcnt),
            O::I8x16Shl => self.shift(I8X16, |t, a, by| t.b.ins().ishl(a, by))?,
            O::I16x8Shl => self.shift(I16X8, |t, a, by| t.b.ins().ishl(a, by))?,
            O::I32x4Shl => self.shift(I32X4, |t, a, by| t.b.ins().ishl(a, by))?,
            O::I64x2Shl => self.shift(I64X2, |t, a, by| t.b.ins().ishl(a, by))?,
            O::I8x16ShrS => self.shift(I8X16, |t, a, by| t.b.ins().sshr(a, by))?,
            O::I16x8ShrS => self.shift(I16X8, |t, a, by| t.b.ins().sshr(a, by))?,
            O::I32x4ShrS => self.shift(I32X4, |t, a, by| t.b.ins().sshr(a, by))?,
            O::I64x2ShrS => self.shift(I64X2, |t, a, by| t.b.ins().sshr(a, by))?,
            O::I8x16ShrU => self.shift(I8X16, |t, a, by| t.b.ins().ushr(a, by))?,
            O::I16x8ShrU => self.shift(I16X8, |t, a, by| t.b.ins().ushr(a, by))?,
            O::I32x4ShrU => self.shift(I32X4, |t, a, by| t.b.ins().ushr(a, by))?,
            O::I64x2ShrU => self.shift(I64X2, |t, a, by| t.b.ins().ushr(a, by))?,
            O::V128AnyTrue => {
                let a = self.pop()?;
                let any = self.b.ins().vany_true(a);
                self.push_bool(any);
            }
            O::I8x16AllTrue => self.all_true(I8X16)?,
            O::I16x8AllTrue => self.all_true(I16X8)?,
            O::I32x4AllTrue => self.all_true(I32X4)?,
            O::I64x2AllTrue => self.all_true(I64X2)?,
            O::I8x16Bitmask => self.bitmask(I8X16)?,
            O::I16x8Bitmask => self.bitmask(I16X8)?,
            O::I32x4Bitmask => self.bitmask(I32X4)?,
            O::I64x2Bitmask => self.bitmask(I64X2)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Shifts all lanes by the same number of bits, modulo the lane's width.
    fn shift(
        &mut self,
        ty: Type,
        shift: impl FnOnce(&mut Self, Value, Value) -> Value,
    ) -> Result<()> {
        let (vector, by) = self.pop2()?;
        let vector = self.lanes(vector, ty);
        let value = shift(self, vector, by);
        self.push_vector(value);
        Ok(())
    }

    fn all_true(&mut self, ty: Type) -> Result<()> {
        let vector = self.pop_lanes(ty)?;
        let all = self.b.ins().vall_true(vector);
        self.push_bool(all);
        Ok(())
    }

    fn bitmask(&mut self, ty: Type) -> Result<()> {
        let vector = self.pop_lanes(ty)?;
        let mask = self.b.ins().vhigh_bits(types::I32, vector);
        self.push(mask);
        Ok(())
    }

    pub(super) fn integer_compare_op(&mut self, op: &wp::Operator<'_>) -> Result<bool> {
        use IntCC as C;
        use wp::Operator as O;
        let (ty, condition) = match op {
            O::I8x16Eq => (I8X16, C::Equal),
            O::I16x8Eq => (I16X8, C::Equal),
            O::I32x4Eq => (I32X4, C::Equal),
            O::I64x2Eq => (I64X2, C::Equal),
            O::I8x16Ne => (I8X16, C::NotEqual),
            O::I16x8Ne => (I16X8, C::NotEqual),
            O::I32x4Ne => (I32X4, C::NotEqual),
            O::I64x2Ne => (I64X2, C::NotEqual),
            O::I8x16LtS => (I8X16, C::SignedLessThan),
            O::I16x8LtS => (I16X8, C::SignedLessThan),
            O::I32x4LtS => (I32X4, C::SignedLessThan),
            O::I64x2LtS => (I64X2, C::SignedLessThan),
            O::I8x16LtU => (I8X16, C::UnsignedLessThan),
            O::I16x8LtU => (I16X8, C::UnsignedLessThan),
            O::I32x4LtU => (I32X4, C::UnsignedLessThan),
            O::I8x16GtS => (I8X16, C::SignedGreaterThan),
            O::I16x8GtS => (I16X8, C::SignedGreaterThan),
            O::I32x4GtS => (I32X4, C::SignedGreaterThan),
            O::I64x2GtS => (I64X2, C::SignedGreaterThan),
            O::I8x16GtU => (I8X16, C::UnsignedGreaterThan),
            O::I16x8GtU => (I16X8, C::UnsignedGreaterThan),
            O::I32x4GtU => (I32X4, C::UnsignedGreaterThan),
            O::I8x16LeS => (I8X16, C::SignedLessThanOrEqual),
            O::I16x8LeS => (I16X8, C::SignedLessThanOrEqual),
            O::I32x4LeS => (I32X4, C::SignedLessThanOrEqual),
            O::I64x2LeS => (I64X2, C::SignedLessThanOrEqual),
            O::I8x16LeU => (I8X16, C::UnsignedLessThanOrEqual),
            O::I16x8LeU => (I16X8, C::UnsignedLessThanOrEqual),
            O::I32x4LeU => (I32X4, C::UnsignedLessThanOrEqual),
            O::I8x16GeS => (I8X16, C::SignedGreaterThanOrEqual),
            O::I16x8GeS => (I16X8, C::SignedGreaterThanOrEqual),
            O::I32x4GeS => (I32X4, C::SignedGreaterThanOrEqual),
            O::I64x2GeS => (I64X2, C::SignedGreaterThanOrEqual),
            O::I8x16GeU => (I8X16, C::UnsignedGreaterThanOrEqual),
            O::I16x8GeU => (I16X8, C::UnsignedGreaterThanOrEqual),
            O::I32x4GeU => (I32X4, C::UnsignedGreaterThanOrEqual),
            _ => return Ok(false),
        };
        let (a, b) = self.pop_lanes2(ty)?;
        let value = self.b.ins().icmp(condition, a, b);
        self.push_vector(value);
        Ok(true)
    }

    /// Instructions whose results have lanes of another width than their operands.
    pub(super) fn widening_op(&mut self, op: &wp::Operator<'_>) -> Result<bool> {
        use Half::{HighS, HighU, LowS, LowU};
        use wp::Operator as O;
        match op {
            O::I8x16NarrowI16x8S => two!(self, I16X8, snarrow),
            O::I8x16NarrowI16x8U => two!(self, I16X8, unarrow),
            O::I16x8NarrowI32x4S => two!(self, I32X4, snarrow),
            O::I16x8NarrowI32x4U => two!(self, I32X4, unarrow),
            O::I16x8ExtendLowI8x16S => one!(self, I8X16, swiden_low),
            O::I16x8ExtendHighI8x16S => one!(self, I8X16, swiden_high),
            O::I16x8ExtendLowI8x16U => one!(self, I8X16, uwiden_low),
            O::I16x8ExtendHighI8x16U => one!(self, I8X16, uwiden_high),
            O::I32x4ExtendLowI16x8S => one!(self, I16X8, swiden_low),
            O::I32x4ExtendHighI16x8S => one!(self, I16X8, swiden_high),
            O::I32x4ExtendLowI16x8U => one!(self, I16X8, uwiden_low),
            O::I32x4ExtendHighI16x8U => one!(self, I16X8, uwiden_high),
            O::I64x2ExtendLowI32x4S => one!(self, I32X4, swiden_low),
            O::I64x2ExtendHighI32x4S => one!(self, I32X4, swiden_high),
            O::I64x2ExtendLowI32x4U => one!(self, I32X4, uwiden_low),
            O::I64x2ExtendHighI32x4U => one!(self, I32X4, uwiden_high),
            O::I16x8ExtMulLowI8x16S => self.multiply_half(I8X16, LowS)?,
            O::I16x8ExtMulHighI8x16S => self.multiply_half(I8X16, HighS)?,
            O::I16x8ExtMulLowI8x16U => self.multiply_half(I8X16, LowU)?,
            O::I16x8ExtMulHighI8x16U => self.multiply_half(I8X16, HighU)?,
            O::I32x4ExtMulLowI16x8S => self.multiply_half(I16X8, LowS)?,
            O::I32x4ExtMulHighI16x8S => self.multiply_half(I16X8, HighS)?,
            O::I32x4ExtMulLowI16x8U => self.multiply_half(I16X8, LowU)?,
            O::I32x4ExtMulHighI16x8U => self.multiply_half(I16X8, HighU)?,
            O::I64x2ExtMulLowI32x4S => self.multiply_half(I32X4, LowS)?,
            O::I64x2ExtMulHighI32x4S => self.multiply_half(I32X4, HighS)?,
            O::I64x2ExtMulLowI32x4U => self.multiply_half(I32X4, LowU)?,
            O::I64x2ExtMulHighI32x4U => self.multiply_half(I32X4, HighU)?,
            O::I16x8ExtAddPairwiseI8x16S => self.add_pairs(I8X16, LowS, HighS)?,
            O::I16x8ExtAddPairwiseI8x16U => self.add_pairs(I8X16, LowU, HighU)?,
            O::I32x4ExtAddPairwiseI16x8S => self.add_pairs(I16X8, LowS, HighS)?,
            O::I32x4ExtAddPairwiseI16x8U => self.add_pairs(I16X8, LowU, HighU)?,
            O::I32x4DotI16x8S => {
                let (a, b) = self.pop_lanes2(I16X8)?;
                let low = self.product(a, b, LowS);
                let high = self.product(a, b, HighS);
                let value = self.b.ins().iadd_pairwise(low, high);
                self.push_vector(value);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn half(&mut self, vector: Value, half: Half) -> Value {
        let ins = self.b.ins();
        match half {
            Half::LowS => ins.swiden_low(vector),
            Half::LowU => ins.uwiden_low(vector),
            Half::HighS => ins.swiden_high(vector),
            Half::HighU => ins.uwiden_high(vector),
        }
    }

    fn product(&mut self, a: Value, b: Value, half: Half) -> Value {
        let (a, b) = (self.half(a, half), self.half(b, half));
        self.b.ins().imul(a, b)
    }

    fn multiply_half(&mut self, ty: Type, half: Half) -> Result<()> {
        let (a, b) = self.pop_lanes2(ty)?;
        let value = self.product(a, b, half);
        self.push_vector(value);
        Ok(())
    }

    /// Adds neighbouring lanes, with results of twice the width.
    fn add_pairs(&mut self, ty: Type, low: Half, high: Half) -> Result<()> {
        let a = self.pop_lanes(ty)?;
        let (low, high) = (self.half(a, low), self.half(a, high));
        let value = self.b.ins().iadd_pairwise(low, high);
        self.push_vector(value);
        Ok(())
    }
}
