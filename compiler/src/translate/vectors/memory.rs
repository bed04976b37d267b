//! Loads of fewer than 16 bytes as a vector, and loads and stores of one lane. Whole vectors are
//! loaded and stored by [`super::super::memory`].

use super::Translator;
use crate::error::Result;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Type, Value, types};
use wasmparser as wp;

/// Loads 8 bytes, and extends each lane to twice its width.
macro_rules! widening_load {
    ($t:ident, $memarg:ident, $op:ident) => {{
        let index = $t.pop()?;
        let (address, offset) = $t.address(index, $memarg, 8)?;
        let flags: MemFlagsData = $t.memory_flags();
        let value = $t.b.ins().$op(flags, address, offset);
        $t.push_vector(value);
    }};
}

impl Translator<'_, '_> {
    pub(super) fn vector_memory_op(&mut self, op: &wp::Operator<'_>) -> Result<bool> {
        use types::{I8X16, I16X8, I32X4, I64X2};
        use wp::Operator as O;
        match op {
            O::V128Load8x8S { memarg } => widening_load!(self, memarg, sload8x8),
            O::V128Load8x8U { memarg } => widening_load!(self, memarg, uload8x8),
            O::V128Load16x4S { memarg } => widening_load!(self, memarg, sload16x4),
            O::V128Load16x4U { memarg } => widening_load!(self, memarg, uload16x4),
            O::V128Load32x2S { memarg } => widening_load!(self, memarg, sload32x2),
            O::V128Load32x2U { memarg } => widening_load!(self, memarg, uload32x2),
            O::V128Load8Splat { memarg } => self.load_splat(memarg, I8X16)?,
            O::V128Load16Splat { memarg } => self.load_splat(memarg, I16X8)?,
            O::V128Load32Splat { memarg } => self.load_splat(memarg, I32X4)?,
            O::V128Load64Splat { memarg } => self.load_splat(memarg, I64X2)?,
            O::V128Load32Zero { memarg } => self.load_first(memarg, I32X4)?,
            O::V128Load64Zero { memarg } => self.load_first(memarg, I64X2)?,
            O::V128Load8Lane { memarg, lane } => self.load_lane(memarg, I8X16, *lane)?,
            O::V128Load16Lane { memarg, lane } => self.load_lane(memarg, I16X8, *lane)?,
            O::V128Load32Lane { memarg, lane } => self.load_lane(memarg, I32X4, *lane)?,
            O::V128Load64Lane { memarg, lane } => self.load_lane(memarg, I64X2, *lane)?,
            O::V128Store8Lane { memarg, lane } => self.store_lane(memarg, I8X16, *lane)?,
            O::V128Store16Lane { memarg, lane } => self.store_lane(memarg, I16X8, *lane)?,
            O::V128Store32Lane { memarg, lane } => self.store_lane(memarg, I32X4, *lane)?,
            O::V128Store64Lane { memarg, lane } => self.store_lane(memarg, I64X2, *lane)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Loads one lane of such a vector.
    fn load_element(&mut self, index: Value, memarg: &wp::MemArg, ty: Type) -> Result<Value> {
        let lane = ty.lane_type();
        let (address, offset) = self.address(index, memarg, lane.bytes())?;
        let flags = self.memory_flags();
        Ok(self.b.ins().load(lane, flags, address, offset))
    }

    fn load_splat(&mut self, memarg: &wp::MemArg, ty: Type) -> Result<()> {
        let index = self.pop()?;
        let lane = self.load_element(index, memarg, ty)?;
        let value = self.b.ins().splat(ty, lane);
        self.push_vector(value);
        Ok(())
    }

    /// Loads the first lane; the others are 0.
    fn load_first(&mut self, memarg: &wp::MemArg, ty: Type) -> Result<()> {
        let index = self.pop()?;
        let lane = self.load_element(index, memarg, ty)?;
        let value = self.b.ins().scalar_to_vector(ty, lane);
        self.push_vector(value);
        Ok(())
    }

    fn load_lane(&mut self, memarg: &wp::MemArg, ty: Type, lane: u8) -> Result<()> {
        let (index, vector) = self.pop2()?;
        let vector = self.lanes(vector, ty);
        let element = self.load_element(index, memarg, ty)?;
        let value = self.b.ins().insertlane(vector, element, lane);
        self.push_vector(value);
        Ok(())
    }

    fn store_lane(&mut self, memarg: &wp::MemArg, ty: Type, lane: u8) -> Result<()> {
        let (index, vector) = self.pop2()?;
        let vector = self.lanes(vector, ty);
        let (address, offset) = self.address(index, memarg, ty.lane_type().bytes())?;
        let element = self.b.ins().extractlane(vector, lane);
        let flags = self.memory_flags();
        self.b.ins().store(flags, element, address, offset);
        Ok(())
    }
}
