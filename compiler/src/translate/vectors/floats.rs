//! Float lanes: arithmetic, comparisons, conversions. The bits of a NaN are unspecified, as for
//! scalars.

use super::{Translator, one, two};
use crate::error::Result;
use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::{InstBuilder, Type, types};
use types::{F32X4, F64X2, I32X4, I64X2};
use wasmparser as wp;

impl Translator<'_, '_> {
    pub(super) fn float_lanes_op(&mut self, op: &wp::Operator<'_>) -> Result<bool> {
        use wp::Operator as O;
        match *op {
            O::F32x4Add => two!(self, F32X4, fadd),
            O::F64x2Add => two!(self, F64X2, fadd),
            O::F32x4Sub => two!(self, F32X4, fsub),
            O::F64x2Sub => two!(self, F64X2, fsub),
            O::F32x4Mul => two!(self, F32X4, fmul),
            O::F64x2Mul => two!(self, F64X2, fmul),
            O::F32x4Div => two!(self, F32X4, fdiv),
            O::F64x2Div => two!(self, F64X2, fdiv),
            O::F32x4Min => two!(self, F32X4, fmin),
            O::F64x2Min => two!(self, F64X2, fmin),
            O::F32x4Max => two!(self, F32X4, fmax),
            O::F64x2Max => two!(self, F64X2, fmax),
            O::F32x4PMin => self.pseudo_min(F32X4)?,
            O::F64x2PMin => self.pseudo_min(F64X2)?,
            O::F32x4PMax => self.pseudo_max(F32X4)?,
            O::F64x2PMax => self.pseudo_max(F64X2)?,
            O::F32x4Sqrt => one!(self, F32X4, sqrt),
            O::F64x2Sqrt => one!(self, F64X2, sqrt),
            O::F32x4Neg => one!(self, F32X4, fneg),
            O::F64x2Neg => one!(self, F64X2, fneg),
            O::F32x4Abs => one!(self, F32X4, fabs),
            O::F64x2Abs => one!(self, F64X2, fabs),
            O::F32x4Ceil => one!(self, F32X4, ceil),
            O::F64x2Ceil => one!(self, F64X2, ceil),
            O::F32x4Floor => one!(self, F32X4, floor),
            O::F64x2Floor => one!(self, F64X2, floor),
            O::F32x4Trunc => one!(self, F32X4, trunc),
            O::F64x2Trunc => one!(self, F64X2, trunc),
            O::F32x4Nearest => one!(self, F32X4, nearest),
            O::F64x2Nearest => one!(self, F64X2, nearest),
            O::F32x4Eq => self.compare_floats(F32X4, FloatCC::Equal)?,
            O::F64x2Eq => self.compare_floats(F64X2, FloatCC::Equal)?,
            O::F32x4Ne => self.compare_floats(F32X4, FloatCC::NotEqual)?,
            O::F64x2Ne => self.compare_floats(F64X2, FloatCC::NotEqual)?,
            O::F32x4Lt => self.compare_floats(F32X4, FloatCC::LessThan)?,
            O::F64x2Lt => self.compare_floats(F64X2, FloatCC::LessThan)?,
            O::F32x4Gt => self.compare_floats(F32X4, FloatCC::GreaterThan)?,
            O::F64x2Gt => self.compare_floats(F64X2, FloatCC::GreaterThan)?,
            O::F32x4Le => self.compare_floats(F32X4, FloatCC::LessThanOrEqual)?,
            O::F64x2Le => self.compare_floats(F64X2, FloatCC::LessThanOrEqual)?,
            O::F32x4Ge => self.compare_floats(F32X4, FloatCC::GreaterThanOrEqual)?,
            O::F64x2Ge => self.compare_floats(F64X2, FloatCC::GreaterThanOrEqual)?,
            O::F64x2PromoteLowF32x4 => one!(self, F32X4, fvpromote_low),
            O::F32x4DemoteF64x2Zero => one!(self, F64X2, fvdemote),
            O::F32x4ConvertI32x4S => {
                let a = self.pop_lanes(I32X4)?;
                let value = self.b.ins().fcvt_from_sint(F32X4, a);
                self.push_vector(value);
            }
            O::F32x4ConvertI32x4U => {
                let a = self.pop_lanes(I32X4)?;
                let value = self.b.ins().fcvt_from_uint(F32X4, a);
                self.push_vector(value);
            }
            O::F64x2ConvertLowI32x4S => {
                let a = self.pop_lanes(I32X4)?;
                let wide = self.b.ins().swiden_low(a);
                let value = self.b.ins().fcvt_from_sint(F64X2, wide);
                self.push_vector(value);
            }
            O::F64x2ConvertLowI32x4U => {
                let a = self.pop_lanes(I32X4)?;
                let wide = self.b.ins().uwiden_low(a);
                let value = self.b.ins().fcvt_from_uint(F64X2, wide);
                self.push_vector(value);
            }
            O::I32x4TruncSatF32x4S => {
                let a = self.pop_lanes(F32X4)?;
                let value = self.b.ins().fcvt_to_sint_sat(I32X4, a);
                self.push_vector(value);
            }
            O::I32x4TruncSatF32x4U => {
                let a = self.pop_lanes(F32X4)?;
                let value = self.b.ins().fcvt_to_uint_sat(I32X4, a);
                self.push_vector(value);
            }
            O::I32x4TruncSatF64x2SZero => {
                let a = self.pop_lanes(F64X2)?;
                let wide = self.b.ins().fcvt_to_sint_sat(I64X2, a);
                let zero = self.zero_lanes(I64X2);
                let value = self.b.ins().snarrow(wide, zero);
                self.push_vector(value);
            }
            O::I32x4TruncSatF64x2UZero => {
                let a = self.pop_lanes(F64X2)?;
                let wide = self.b.ins().fcvt_to_uint_sat(I64X2, a);
                let zero = self.zero_lanes(I64X2);
                let value = self.b.ins().uunarrow(wide, zero);
                self.push_vector(value);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn compare_floats(&mut self, ty: Type, condition: FloatCC) -> Result<()> {
        let (a, b) = self.pop_lanes2(ty)?;
        let value = self.b.ins().fcmp(condition, a, b);
        self.push_vector(value);
        Ok(())
    }

    /// `pmin`: in each lane the second operand if it is less than the first, else the first, also
    /// if either is a NaN.
    fn pseudo_min(&mut self, ty: Type) -> Result<()> {
        let (a, b) = self.pop_lanes2(ty)?;
        let less = self.b.ins().fcmp(FloatCC::LessThan, b, a);
        let less = self.lanes(less, ty);
        let value = self.b.ins().bitselect(less, b, a);
        self.push_vector(value);
        Ok(())
    }

    /// `pmax`: in each lane the second operand if the first is less than it, else the first, also
    /// if either is a NaN.
    fn pseudo_max(&mut self, ty: Type) -> Result<()> {
        let (a, b) = self.pop_lanes2(ty)?;
        let less = self.b.ins().fcmp(FloatCC::LessThan, a, b);
        let less = self.lanes(less, ty);
        let value = self.b.ins().bitselect(less, b, a);
        self.push_vector(value);
        Ok(())
    }
}
