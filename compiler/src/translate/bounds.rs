//! Addresses of 32 bits as numbers of 64 bits: sums and products of which it is known that they do
//! not wrap are computed with 64 bits, so that the processor's address modes take them in.
//!
//! `table + 4 * byte` is an example: a byte is at most 255, so that neither the product nor the sum
//! with a small constant reaches 2^32. A value of which nothing is known is at most 2^32 - 1.
//!
//! Invariant: a question looks at [`MOST`] instructions at most, so that time goes with the length
//! of the function.

use super::Translator;
use cranelift_codegen::ir::{
    DataFlowGraph, InstBuilder, InstructionData, Opcode, Value, ValueDef, types,
};

/// The most instructions that are looked at for one value.
const MOST: usize = 12;
/// The most nested operations that are computed with 64 bits.
const DEPTH: usize = 3;

/// A question, which has looked at some instructions.
struct Question<'d> {
    dfg: &'d DataFlowGraph,
    looked_at: usize,
}

impl Question<'_> {
    fn made_by(&mut self, value: Value) -> Option<InstructionData> {
        self.looked_at += 1;
        let value = self.dfg.resolve_aliases(value);
        match self.dfg.value_def(value) {
            ValueDef::Result(inst, _) if self.looked_at <= MOST => Some(self.dfg.insts[inst]),
            _ => None,
        }
    }

    fn constant(&mut self, value: Value) -> Option<u64> {
        match self.made_by(value)? {
            InstructionData::UnaryImm {
                opcode: Opcode::Iconst,
                imm,
            } => Some(imm.bits().cast_unsigned() & all(self.dfg, value)),
            _ => None,
        }
    }

    /// No result of an execution is above this.
    fn most(&mut self, value: Value) -> u64 {
        let all = all(self.dfg, value);
        self.known(value).map_or(all, |most| most.min(all))
    }

    /// The same for what is known beside the type. A result that may wrap is not known.
    fn known(&mut self, value: Value) -> Option<u64> {
        let ty = self.dfg.value_type(value);
        // Of a vector, or of what does not fit into the answer, nothing is known.
        if !ty.is_int() || ty.bits() > 64 {
            return None;
        }
        let all = all(self.dfg, value);
        let within = |most: u64| (most <= all).then_some(most);
        match self.made_by(value)? {
            InstructionData::UnaryImm {
                opcode: Opcode::Iconst,
                imm,
            } => Some(imm.bits().cast_unsigned() & all),
            InstructionData::Load { opcode, .. } => loaded(opcode),
            // Above what the narrow type can hold, bits are lost.
            InstructionData::Unary {
                opcode: Opcode::Ireduce,
                arg,
            } => within(self.most(arg)),
            InstructionData::Unary {
                opcode: Opcode::Uextend,
                arg,
            } => Some(self.most(arg)),
            InstructionData::IntCompare { .. } => Some(1),
            InstructionData::Binary { opcode, args } => {
                let [a, b] = args;
                match opcode {
                    Opcode::Band => Some(self.most(a).min(self.most(b))),
                    // A bit above all bits of both is in neither.
                    Opcode::Bor | Opcode::Bxor => {
                        let both = self.most(a) | self.most(b);
                        Some(u64::MAX.checked_shr(both.leading_zeros()).unwrap_or(0))
                    }
                    Opcode::Iadd => within(self.most(a).checked_add(self.most(b))?),
                    Opcode::Imul => within(self.most(a).checked_mul(self.most(b))?),
                    Opcode::Ishl | Opcode::Ushr => {
                        let bits = self.shift(value, b)?;
                        let most = self.most(a);
                        match opcode {
                            Opcode::Ushr => Some(most >> bits),
                            _ => within(most.checked_mul(1 << bits)?),
                        }
                    }
                    Opcode::Udiv => {
                        let by = self.constant(b).filter(|&by| by > 0)?;
                        Some(self.most(a) / by)
                    }
                    Opcode::Urem => {
                        let by = self.constant(b).filter(|&by| by > 0)?;
                        Some(by - 1)
                    }
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// By how many bits a value is shifted: a constant counts by the value's bits.
    fn shift(&mut self, value: Value, by: Value) -> Option<u32> {
        let bits = self.dfg.value_type(value).bits();
        Some(self.constant(by)? as u32 % bits)
    }
}

/// The greatest number of a value's type, which has at most 64 bits.
fn all(dfg: &DataFlowGraph, value: Value) -> u64 {
    u64::MAX >> (64 - dfg.value_type(value).bits().clamp(1, 64))
}

/// The greatest number that a load which fills up with zeros loads.
fn loaded(opcode: Opcode) -> Option<u64> {
    match opcode {
        Opcode::Uload8 => Some(0xff),
        Opcode::Uload16 => Some(0xffff),
        Opcode::Uload32 => Some(0xffff_ffff),
        _ => None,
    }
}

impl Translator<'_, '_> {
    /// A number of 32 bits as one of 64.
    pub(super) fn number(&mut self, value: Value) -> Value {
        self.number_of(value, DEPTH)
    }

    fn number_of(&mut self, value: Value, depth: usize) -> Value {
        if let Some(wide) = self.loaded_wide(value) {
            return wide;
        }
        match self.operation(value) {
            Some((Opcode::Iconst, number, _)) => {
                return self.integer(types::I64, number as i64);
            }
            Some((Opcode::Ishl, bits, [a, _])) if depth > 0 => {
                let a = self.number_of(a, depth - 1);
                let bits = self.integer(types::I64, bits as i64);
                return self.b.ins().ishl(a, bits);
            }
            Some((Opcode::Iadd, _, [a, b])) if depth > 0 => {
                let a = self.number_of(a, depth - 1);
                let b = self.number_of(b, depth - 1);
                return self.b.ins().iadd(a, b);
            }
            _ => {}
        }
        self.extend(value)
    }

    /// The 64 bits that were loaded, whose lower half the value is, if the upper one is zero.
    fn loaded_wide(&self, value: Value) -> Option<Value> {
        let dfg = &self.b.func.dfg;
        let mut question = Question { dfg, looked_at: 0 };
        let InstructionData::Unary {
            opcode: Opcode::Ireduce,
            arg,
        } = question.made_by(value)?
        else {
            return None;
        };
        let InstructionData::Load { opcode, .. } = question.made_by(arg)? else {
            return None;
        };
        loaded(opcode).map(|_| arg)
    }

    /// A constant, or a sum or a shift that does not wrap, with its constant and its operands.
    fn operation(&self, value: Value) -> Option<(Opcode, u64, [Value; 2])> {
        let dfg = &self.b.func.dfg;
        let mut question = Question { dfg, looked_at: 0 };
        match question.made_by(value)? {
            InstructionData::UnaryImm {
                opcode: opcode @ Opcode::Iconst,
                imm,
            } => Some((opcode, u64::from(imm.bits() as u32), [value; 2])),
            InstructionData::Binary { opcode, args } => {
                let number = match opcode {
                    Opcode::Ishl => u64::from(question.shift(value, args[1])?),
                    Opcode::Iadd => 0,
                    _ => return None,
                };
                question.looked_at = 0;
                question.known(value)?;
                Some((opcode, number, args))
            }
            _ => None,
        }
    }
}
