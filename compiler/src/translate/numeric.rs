//! Constants, arithmetic and comparisons.
//!
//! Integer division traps on division by zero and overflow, as Cranelift's instructions do;
//! comparisons give 0 or 1 as an i32.

use super::Translator;
use crate::error::Result;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::immediates::{Ieee32, Ieee64};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Type, Value, types};
use wasmparser as wp;

/// Pops two operands, and pushes the result of the instruction.
macro_rules! binary {
    ($t:ident, $op:ident) => {{
        let (a, b) = $t.pop2()?;
        let value = $t.b.ins().$op(a, b);
        $t.push(value);
    }};
}

/// Pops an operand, and pushes the result of the instruction.
macro_rules! unary {
    ($t:ident, $op:ident) => {{
        let a = $t.pop()?;
        let value = $t.b.ins().$op(a);
        $t.push(value);
    }};
}

impl Translator<'_, '_> {
    pub(super) fn numeric_op(&mut self, op: &wp::Operator<'_>) -> Result<bool> {
        use wp::Operator as O;
        match *op {
            O::I32Const { value } => {
                let value = self.i32(value.cast_unsigned());
                self.push(value);
            }
            O::I64Const { value } => {
                let value = self.integer(types::I64, value);
                self.push(value);
            }
            O::F32Const { value } => {
                let value = self.b.ins().f32const(Ieee32::with_bits(value.bits()));
                self.push(value);
            }
            O::F64Const { value } => {
                let value = self.b.ins().f64const(Ieee64::with_bits(value.bits()));
                self.push(value);
            }
            O::I32Add | O::I64Add => binary!(self, iadd),
            O::I32Sub | O::I64Sub => binary!(self, isub),
            O::I32Mul | O::I64Mul => binary!(self, imul),
            O::I32DivS | O::I64DivS => binary!(self, sdiv),
            O::I32DivU | O::I64DivU => binary!(self, udiv),
            O::I32RemS | O::I64RemS => binary!(self, srem),
            O::I32RemU | O::I64RemU => binary!(self, urem),
            O::I32And | O::I64And => binary!(self, band),
            O::I32Or | O::I64Or => {
                let (a, b) = self.pop2()?;
                let value = self.or(a, b);
                self.push(value);
            }
            O::I32Xor | O::I64Xor => binary!(self, bxor),
            O::I32Shl | O::I64Shl => binary!(self, ishl),
            O::I32ShrS | O::I64ShrS => binary!(self, sshr),
            O::I32ShrU | O::I64ShrU => binary!(self, ushr),
            O::I32Rotl | O::I64Rotl => binary!(self, rotl),
            O::I32Rotr | O::I64Rotr => binary!(self, rotr),
            O::I32Clz | O::I64Clz => unary!(self, clz),
            O::I32Ctz | O::I64Ctz => unary!(self, ctz),
            O::I32Popcnt | O::I64Popcnt => unary!(self, popcnt),
            O::F32Add | O::F64Add => binary!(self, fadd),
            O::F32Sub | O::F64Sub => binary!(self, fsub),
            O::F32Mul | O::F64Mul => binary!(self, fmul),
            O::F32Div | O::F64Div => binary!(self, fdiv),
            O::F32Min | O::F64Min => binary!(self, fmin),
            O::F32Max | O::F64Max => binary!(self, fmax),
            O::F32Copysign | O::F64Copysign => binary!(self, fcopysign),
            O::F32Abs | O::F64Abs => unary!(self, fabs),
            O::F32Neg | O::F64Neg => unary!(self, fneg),
            O::F32Ceil | O::F64Ceil => unary!(self, ceil),
            O::F32Floor | O::F64Floor => unary!(self, floor),
            O::F32Trunc | O::F64Trunc => unary!(self, trunc),
            O::F32Nearest | O::F64Nearest => unary!(self, nearest),
            O::F32Sqrt | O::F64Sqrt => unary!(self, sqrt),
            O::I32Eqz | O::I64Eqz => {
                let a = self.pop()?;
                let zero = self.integer(self.b.func.dfg.value_type(a), 0);
                let is = self.b.ins().icmp(IntCC::Equal, a, zero);
                self.push_bool(is);
            }
            O::I32Eq | O::I64Eq => self.int_compare(IntCC::Equal)?,
            O::I32Ne | O::I64Ne => self.int_compare(IntCC::NotEqual)?,
            O::I32LtS | O::I64LtS => self.int_compare(IntCC::SignedLessThan)?,
            O::I32LtU | O::I64LtU => self.int_compare(IntCC::UnsignedLessThan)?,
            O::I32GtS | O::I64GtS => self.int_compare(IntCC::SignedGreaterThan)?,
            O::I32GtU | O::I64GtU => self.int_compare(IntCC::UnsignedGreaterThan)?,
            O::I32LeS | O::I64LeS => self.int_compare(IntCC::SignedLessThanOrEqual)?,
            O::I32LeU | O::I64LeU => self.int_compare(IntCC::UnsignedLessThanOrEqual)?,
            O::I32GeS | O::I64GeS => self.int_compare(IntCC::SignedGreaterThanOrEqual)?,
            O::I32GeU | O::I64GeU => self.int_compare(IntCC::UnsignedGreaterThanOrEqual)?,
            O::F32Eq | O::F64Eq => self.float_compare(FloatCC::Equal)?,
            O::F32Ne | O::F64Ne => self.float_compare(FloatCC::NotEqual)?,
            O::F32Lt | O::F64Lt => self.float_compare(FloatCC::LessThan)?,
            O::F32Gt | O::F64Gt => self.float_compare(FloatCC::GreaterThan)?,
            O::F32Le | O::F64Le => self.float_compare(FloatCC::LessThanOrEqual)?,
            O::F32Ge | O::F64Ge => self.float_compare(FloatCC::GreaterThanOrEqual)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Pushes a comparison's result, a byte, extended to the i32 of WebAssembly; as it is, where the
    /// next instruction only asks whether it is zero.
    pub(super) fn push_bool(&mut self, byte: Value) {
        let value = match self.condition {
            true => byte,
            false => self.b.ins().uextend(types::I32, byte),
        };
        self.push(value);
    }

    fn int_compare(&mut self, condition: IntCC) -> Result<()> {
        let (a, b) = self.pop2()?;
        let is = self.b.ins().icmp(condition, a, b);
        self.push_bool(is);
        Ok(())
    }

    fn float_compare(&mut self, condition: FloatCC) -> Result<()> {
        let (a, b) = self.pop2()?;
        let is = self.b.ins().fcmp(condition, a, b);
        self.push_bool(is);
        Ok(())
    }
}

impl Translator<'_, '_> {
    /// Conversions between types and widths.
    pub(super) fn conversion_op(&mut self, op: &wp::Operator<'_>) -> Result<bool> {
        use types::{F32, F64, I8, I16, I32, I64};
        use wp::Operator as O;
        let Some(&a) = self.stack.last() else {
            return Ok(false);
        };
        let ins = self.b.ins();
        let value = match *op {
            O::I32WrapI64 => ins.ireduce(I32, a),
            O::I64ExtendI32S => ins.sextend(I64, a),
            O::I64ExtendI32U => ins.uextend(I64, a),
            O::I32TruncF32S | O::I32TruncF64S => ins.fcvt_to_sint(I32, a),
            O::I32TruncF32U | O::I32TruncF64U => ins.fcvt_to_uint(I32, a),
            O::I64TruncF32S | O::I64TruncF64S => ins.fcvt_to_sint(I64, a),
            O::I64TruncF32U | O::I64TruncF64U => ins.fcvt_to_uint(I64, a),
            O::I32TruncSatF32S | O::I32TruncSatF64S => ins.fcvt_to_sint_sat(I32, a),
            O::I32TruncSatF32U | O::I32TruncSatF64U => ins.fcvt_to_uint_sat(I32, a),
            O::I64TruncSatF32S | O::I64TruncSatF64S => ins.fcvt_to_sint_sat(I64, a),
            O::I64TruncSatF32U | O::I64TruncSatF64U => ins.fcvt_to_uint_sat(I64, a),
            O::F32ConvertI32S | O::F32ConvertI64S => ins.fcvt_from_sint(F32, a),
            O::F32ConvertI32U | O::F32ConvertI64U => ins.fcvt_from_uint(F32, a),
            O::F64ConvertI32S | O::F64ConvertI64S => ins.fcvt_from_sint(F64, a),
            O::F64ConvertI32U | O::F64ConvertI64U => ins.fcvt_from_uint(F64, a),
            O::F32DemoteF64 => ins.fdemote(F32, a),
            O::F64PromoteF32 => ins.fpromote(F64, a),
            O::I32ReinterpretF32 => ins.bitcast(I32, MemFlagsData::new(), a),
            O::I64ReinterpretF64 => ins.bitcast(I64, MemFlagsData::new(), a),
            O::F32ReinterpretI32 => ins.bitcast(F32, MemFlagsData::new(), a),
            O::F64ReinterpretI64 => ins.bitcast(F64, MemFlagsData::new(), a),
            O::I32Extend8S => return self.sign_extend(a, I8, I32),
            O::I32Extend16S => return self.sign_extend(a, I16, I32),
            O::I64Extend8S => return self.sign_extend(a, I8, I64),
            O::I64Extend16S => return self.sign_extend(a, I16, I64),
            O::I64Extend32S => return self.sign_extend(a, I32, I64),
            _ => return Ok(false),
        };
        self.pop()?;
        self.push(value);
        Ok(true)
    }

    /// Replaces the top of the stack by its lowest bits, sign-extended.
    fn sign_extend(&mut self, value: Value, from: Type, to: Type) -> Result<bool> {
        let low = self.b.ins().ireduce(from, value);
        let value = self.b.ins().sextend(to, low);
        self.pop()?;
        self.push(value);
        Ok(true)
    }
}
