//! Instructions that move lanes and bits: constants, splats, single lanes, shuffles, and bitwise
//! operations.

use super::{Translator, one, two};
use crate::error::Result;
use cranelift_codegen::ir::{InstBuilder, Type, types};
use wasmparser as wp;

impl Translator<'_, '_> {
    pub(super) fn shuffle_op(&mut self, op: &wp::Operator<'_>) -> Result<bool> {
        use types::{F32X4, F64X2, I8X16, I16X8, I32X4, I64X2};
        use wp::Operator as O;
        match *op {
            O::V128Const { value } => {
                let value = self.vector_constant(value.bytes());
                self.push(value);
            }
            O::V128And => two!(self, I8X16, band),
            O::V128Or => two!(self, I8X16, bor),
            O::V128Xor => two!(self, I8X16, bxor),
            O::V128Not => one!(self, I8X16, bnot),
            O::V128AndNot => {
                let (a, b) = self.pop2()?;
                let not = self.b.ins().bnot(b);
                let value = self.b.ins().band(a, not);
                self.push(value);
            }
            O::V128Bitselect => {
                let (a, b, mask) = self.pop3()?;
                let value = self.b.ins().bitselect(mask, a, b);
                self.push(value);
            }
            O::I8x16Shuffle { lanes } => {
                let (a, b) = self.pop2()?;
                let lanes = self.b.func.dfg.immediates.push(lanes[..].into());
                let value = self.b.ins().shuffle(a, b, lanes);
                self.push(value);
            }
            O::I8x16Swizzle => two!(self, I8X16, swizzle),
            O::I8x16Splat => self.splat(I8X16)?,
            O::I16x8Splat => self.splat(I16X8)?,
            O::I32x4Splat => self.splat(I32X4)?,
            O::I64x2Splat => self.splat(I64X2)?,
            O::F32x4Splat => self.splat(F32X4)?,
            O::F64x2Splat => self.splat(F64X2)?,
            O::I8x16ExtractLaneS { lane } => self.extract_narrow(I8X16, lane, true)?,
            O::I8x16ExtractLaneU { lane } => self.extract_narrow(I8X16, lane, false)?,
            O::I16x8ExtractLaneS { lane } => self.extract_narrow(I16X8, lane, true)?,
            O::I16x8ExtractLaneU { lane } => self.extract_narrow(I16X8, lane, false)?,
            O::I32x4ExtractLane { lane } => self.extract(I32X4, lane)?,
            O::I64x2ExtractLane { lane } => self.extract(I64X2, lane)?,
            O::F32x4ExtractLane { lane } => self.extract(F32X4, lane)?,
            O::F64x2ExtractLane { lane } => self.extract(F64X2, lane)?,
            O::I8x16ReplaceLane { lane } => self.replace(I8X16, lane)?,
            O::I16x8ReplaceLane { lane } => self.replace(I16X8, lane)?,
            O::I32x4ReplaceLane { lane } => self.replace(I32X4, lane)?,
            O::I64x2ReplaceLane { lane } => self.replace(I64X2, lane)?,
            O::F32x4ReplaceLane { lane } => self.replace(F32X4, lane)?,
            O::F64x2ReplaceLane { lane } => self.replace(F64X2, lane)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn splat(&mut self, ty: Type) -> Result<()> {
        let lane = self.pop()?;
        let lane = self.narrow(lane, ty.lane_type());
        let value = self.b.ins().splat(ty, lane);
        self.push_vector(value);
        Ok(())
    }

    fn extract(&mut self, ty: Type, lane: u8) -> Result<()> {
        let vector = self.pop_lanes(ty)?;
        let value = self.b.ins().extractlane(vector, lane);
        self.push(value);
        Ok(())
    }

    /// Pushes a lane of less than 32 bits, extended to an i32.
    fn extract_narrow(&mut self, ty: Type, lane: u8, signed: bool) -> Result<()> {
        let vector = self.pop_lanes(ty)?;
        let lane = self.b.ins().extractlane(vector, lane);
        let value = if signed {
            self.b.ins().sextend(types::I32, lane)
        } else {
            self.b.ins().uextend(types::I32, lane)
        };
        self.push(value);
        Ok(())
    }

    fn replace(&mut self, ty: Type, lane: u8) -> Result<()> {
        let (vector, value) = self.pop2()?;
        let vector = self.lanes(vector, ty);
        let value = self.narrow(value, ty.lane_type());
        let value = self.b.ins().insertlane(vector, value, lane);
        self.push_vector(value);
        Ok(())
    }
}
