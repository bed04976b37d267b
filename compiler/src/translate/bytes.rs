//! Reversed bytes: WebAssembly has no instruction for that, so compilers write shifts, masks and
//! `or`, in many orders. Here every `or` is asked which bytes of which value its result consists of,
//! whatever the order was.
//!
//! Invariant: a question looks at [`MOST`] instructions at most, so that time goes with the length
//! of the function.

use super::Translator;
use cranelift_codegen::ir::{DataFlowGraph, InstBuilder, InstructionData, Opcode, Value, ValueDef};

/// The most instructions that are looked at for one value: those of 64 reversed bits, with
/// constants, and as many again.
const MOST: usize = 96;
/// No byte of the source: zero.
const ZERO: u8 = 0xff;

/// The bytes of a value, from the lowest: which byte of the source each is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bytes {
    source: Value,
    from: [u8; 8],
}

/// The question, which has looked at some instructions.
struct Question<'d> {
    dfg: &'d DataFlowGraph,
    looked_at: usize,
}

impl Question<'_> {
    /// The instruction that makes a value.
    fn made_by(&mut self, value: Value) -> Option<InstructionData> {
        self.looked_at += 1;
        let within = self.looked_at <= MOST;
        match self.dfg.value_def(value) {
            ValueDef::Result(inst, _) if within => Some(self.dfg.insts[inst]),
            _ => None,
        }
    }

    fn constant(&mut self, value: Value) -> Option<u64> {
        let value = self.dfg.resolve_aliases(value);
        match self.made_by(value)? {
            InstructionData::UnaryImm {
                opcode: Opcode::Iconst,
                imm,
            } => Some(imm.bits().cast_unsigned()),
            _ => None,
        }
    }

    /// The bytes of a value of `len` bytes.
    fn bytes(&mut self, value: Value, len: usize) -> Bytes {
        let source = self.dfg.resolve_aliases(value);
        let mut from = [ZERO; 8];
        for (byte, at) in from.iter_mut().zip(0..len as u8) {
            *byte = at;
        }
        self.parts(source, len).unwrap_or(Bytes { source, from })
    }

    /// The same if an instruction made them of another value's.
    fn parts(&mut self, value: Value, len: usize) -> Option<Bytes> {
        let InstructionData::Binary { opcode, args } = self.made_by(value)? else {
            return None;
        };
        let [a, b] = args;
        match opcode {
            Opcode::Bor => {
                let (a, b) = (self.bytes(a, len), self.bytes(b, len));
                let mut from = a.from;
                for (byte, other) in from.iter_mut().zip(b.from) {
                    match (*byte, other) {
                        (_, ZERO) => {}
                        (ZERO, other) => *byte = other,
                        _ => return None,
                    }
                }
                (a.source == b.source).then_some(Bytes { from, ..a })
            }
            Opcode::Band => {
                let (value, mask) = match self.constant(b) {
                    Some(mask) => (a, mask),
                    None => (b, self.constant(a)?),
                };
                let mut bytes = self.bytes(value, len);
                for (byte, mask) in bytes.from.iter_mut().zip(mask.to_le_bytes()).take(len) {
                    match mask {
                        0 => *byte = ZERO,
                        0xff => {}
                        _ => return None,
                    }
                }
                Some(bytes)
            }
            Opcode::Ishl | Opcode::Ushr | Opcode::Rotl | Opcode::Rotr => {
                let bits = self.constant(b)? as usize % (len * 8);
                if !bits.is_multiple_of(8) {
                    return None;
                }
                let by = bits / 8;
                let of = self.bytes(a, len);
                let mut from = [ZERO; 8];
                for (at, byte) in from.iter_mut().enumerate().take(len) {
                    *byte = match opcode {
                        Opcode::Ishl if at < by => ZERO,
                        Opcode::Ushr if at + by >= len => ZERO,
                        Opcode::Ishl | Opcode::Rotl => of.from[(at + len - by) % len],
                        _ => of.from[(at + by) % len],
                    };
                }
                Some(Bytes { from, ..of })
            }
            _ => None,
        }
    }
}

/// The value whose bytes this one has reversed, and by how many bytes they are then shifted to the
/// right.
fn reversed(dfg: &DataFlowGraph, value: Value) -> Option<(Value, usize)> {
    let len = dfg.value_type(value).bytes() as usize;
    let mut question = Question { dfg, looked_at: 0 };
    let bytes = question.bytes(value, len);
    // One byte alone is no reversal.
    let shift = (0..len - 1).find(|shift| {
        let mut all = (0..len).zip(bytes.from);
        all.all(|(at, byte)| match len.checked_sub(1 + at + shift) {
            Some(from) => usize::from(byte) == from,
            None => byte == ZERO,
        })
    })?;
    Some((bytes.source, shift))
}

impl Translator<'_, '_> {
    /// `or` of two values.
    pub(super) fn or(&mut self, a: Value, b: Value) -> Value {
        let value = self.b.ins().bor(a, b);
        match reversed(&self.b.func.dfg, value) {
            Some((source, 0)) => self.b.ins().bswap(source),
            Some((source, shift)) => {
                let all = self.b.ins().bswap(source);
                self.b.ins().ushr_imm_u(all, shift as i64 * 8)
            }
            None => value,
        }
    }
}
