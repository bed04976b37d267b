//! Vectors of 128 bits.
//!
//! WebAssembly has one type for them, and Cranelift one for each lane type. A vector on the operand
//! stack, in a local, a global, a parameter or a result has type I8X16; an instruction casts its
//! operands to the lanes that it needs ([`Translator::lanes`]), and its result back to I8X16
//! ([`Translator::push_vector`]). The casts cost nothing: the bits stay in the register.
//!
//! Invariants: everything compiles to instructions of the baseline processor (SSE4.2 and before),
//! without calls. Every lane of a result is defined by the instruction, so no program sees
//! another's values.

mod floats;
mod integers;
mod memory;
mod relaxed;
mod shuffles;

use super::Translator;
use crate::error::Result;
use cranelift_codegen::ir::{
    Endianness, InstBuilder, InstructionData, MemFlagsData, Opcode, Type, Value, ValueDef, types,
};
use wasmparser as wp;

impl Translator<'_, '_> {
    pub(super) fn vector_op(&mut self, op: &wp::Operator<'_>) -> Result<bool> {
        Ok(self.shuffle_op(op)?
            || self.integer_lanes_op(op)?
            || self.integer_compare_op(op)?
            || self.widening_op(op)?
            || self.float_lanes_op(op)?
            || self.vector_memory_op(op)?
            || self.relaxed_op(op)?)
    }

    /// A constant vector of these bytes.
    pub(super) fn vector_constant(&mut self, bytes: &[u8]) -> Value {
        let constant = self.b.func.dfg.constants.insert(bytes.into());
        self.b.ins().vconst(types::I8X16, constant)
    }

    /// A zero vector of this lane type, without a cast, as Cranelift matches the constant.
    fn zero_lanes(&mut self, ty: Type) -> Value {
        let zero = self.b.func.dfg.constants.insert([0; 16][..].into());
        self.b.ins().vconst(ty, zero)
    }

    /// A vector cast to this lane type. The result of an instruction with this lane type is used
    /// directly, so that Cranelift can match sequences of instructions without a cast in between.
    fn lanes(&mut self, vector: Value, ty: Type) -> Value {
        let dfg = &self.b.func.dfg;
        if dfg.value_type(vector) == ty {
            return vector;
        }
        if let ValueDef::Result(inst, _) = dfg.value_def(vector)
            && let InstructionData::LoadNoOffset { opcode, arg, .. } = dfg.insts[inst]
            && opcode == Opcode::Bitcast
            && dfg.value_type(arg) == ty
        {
            return arg;
        }
        let flags = MemFlagsData::new().with_endianness(Endianness::Little);
        self.b.ins().bitcast(ty, flags, vector)
    }

    fn push_vector(&mut self, lanes: Value) {
        let vector = self.lanes(lanes, types::I8X16);
        self.push(vector);
    }

    fn pop_lanes(&mut self, ty: Type) -> Result<Value> {
        let vector = self.pop()?;
        Ok(self.lanes(vector, ty))
    }

    fn pop_lanes2(&mut self, ty: Type) -> Result<(Value, Value)> {
        let (a, b) = self.pop2()?;
        Ok((self.lanes(a, ty), self.lanes(b, ty)))
    }
}

/// Pops a vector of this lane type, and pushes the result of the instruction.
macro_rules! one {
    ($t:ident, $ty:expr, $op:ident) => {{
        let a = $t.pop_lanes($ty)?;
        let value = $t.b.ins().$op(a);
        $t.push_vector(value);
    }};
}

/// Pops two vectors of this lane type, and pushes the result of the instruction.
macro_rules! two {
    ($t:ident, $ty:expr, $op:ident) => {{
        let (a, b) = $t.pop_lanes2($ty)?;
        let value = $t.b.ins().$op(a, b);
        $t.push_vector(value);
    }};
}

use {one, two};
