//! Operations on numbers, and conversions between them.

use super::Gen;
use wasm_encoder::{Instruction as I, ValType as V};

impl Gen<'_> {
    /// Puts a value of the type on the stack that is another one converted.
    pub(super) fn convert(&mut self, ty: V, depth: u32) {
        if ty == V::V128 {
            return self.vector(depth);
        }
        if self.numbers.below(4) == 0 {
            self.of_vector(ty, depth);
            if matches!(ty, V::F32 | V::F64) {
                self.one_nan(ty);
            }
            return;
        }
        // A conversion that traps is rare, or nothing would come after it.
        let n = match self.numbers.below(10) {
            n @ (1 | 2) if ty == V::I32 && self.numbers.below(60) > 0 => n + 2,
            n @ (5 | 6) if ty == V::I64 && self.numbers.below(60) > 0 => n - 3,
            n => n,
        };
        let (from, i) = match ty {
            V::I32 => match n {
                0 => (V::I64, I::I32WrapI64),
                1 => (V::F32, I::I32TruncF32S),
                2 => (V::F64, I::I32TruncF64U),
                3 => (V::F32, I::I32TruncSatF32S),
                4 => (V::F64, I::I32TruncSatF64U),
                5 => (V::F32, I::I32ReinterpretF32),
                6 => (V::F32, I::I32TruncSatF32U),
                7 => (V::F64, I::I32TruncSatF64S),
                8 => (V::I32, I::I32Extend8S),
                _ => (V::I32, I::I32Extend16S),
            },
            V::I64 => match n {
                0 => (V::I32, I::I64ExtendI32S),
                1 => (V::I32, I::I64ExtendI32U),
                2 => (V::F32, I::I64TruncSatF32S),
                3 => (V::F64, I::I64TruncSatF64U),
                4 => (V::F64, I::I64ReinterpretF64),
                5 => (V::F64, I::I64TruncF64S),
                6 => (V::F32, I::I64TruncF32U),
                7 => (V::I64, I::I64Extend8S),
                8 => (V::I64, I::I64Extend16S),
                _ => (V::I64, I::I64Extend32S),
            },
            V::F32 => match n {
                0 | 1 => (V::I32, I::F32ConvertI32S),
                2 => (V::I32, I::F32ConvertI32U),
                3 => (V::I64, I::F32ConvertI64S),
                4 | 5 => (V::I64, I::F32ConvertI64U),
                6 | 7 => (V::F64, I::F32DemoteF64),
                _ => (V::I32, I::F32ReinterpretI32),
            },
            _ => match n {
                0 | 1 => (V::I32, I::F64ConvertI32S),
                2 => (V::I32, I::F64ConvertI32U),
                3 => (V::I64, I::F64ConvertI64S),
                4 | 5 => (V::I64, I::F64ConvertI64U),
                6 | 7 => (V::F32, I::F64PromoteF32),
                _ => (V::I64, I::F64ReinterpretI64),
            },
        };
        self.value(from, depth);
        self.put(i);
        if matches!(ty, V::F32 | V::F64) {
            self.one_nan(ty);
        }
    }

    /// Puts the result of an operation on the stack.
    pub(super) fn operate(&mut self, ty: V, depth: u32) {
        if ty == V::V128 {
            return self.vector(depth);
        }
        const I32: [I<'static>; 26] = [
            I::I32Add,
            I::I32Sub,
            I::I32Mul,
            I::I32DivS,
            I::I32DivU,
            I::I32RemS,
            I::I32RemU,
            I::I32And,
            I::I32Or,
            I::I32Xor,
            I::I32Shl,
            I::I32ShrS,
            I::I32ShrU,
            I::I32Rotl,
            I::I32Rotr,
            I::I32Eq,
            I::I32Ne,
            I::I32LtS,
            I::I32LtU,
            I::I32GtS,
            I::I32GeU,
            I::I32LeS,
            I::I32LeU,
            I::I32GtU,
            I::I32GeS,
            I::I32Add,
        ];
        const I64: [I<'static>; 15] = [
            I::I64Add,
            I::I64Sub,
            I::I64Mul,
            I::I64DivS,
            I::I64DivU,
            I::I64RemS,
            I::I64RemU,
            I::I64And,
            I::I64Or,
            I::I64Xor,
            I::I64Shl,
            I::I64ShrS,
            I::I64ShrU,
            I::I64Rotl,
            I::I64Rotr,
        ];
        const F32: [I<'static>; 7] = [
            I::F32Add,
            I::F32Sub,
            I::F32Mul,
            I::F32Div,
            I::F32Min,
            I::F32Max,
            I::F32Copysign,
        ];
        const F64: [I<'static>; 7] = [
            I::F64Add,
            I::F64Sub,
            I::F64Mul,
            I::F64Div,
            I::F64Min,
            I::F64Max,
            I::F64Copysign,
        ];
        const F32_ONE: [I<'static>; 7] = [
            I::F32Abs,
            I::F32Neg,
            I::F32Ceil,
            I::F32Floor,
            I::F32Trunc,
            I::F32Nearest,
            I::F32Sqrt,
        ];
        const F64_ONE: [I<'static>; 7] = [
            I::F64Abs,
            I::F64Neg,
            I::F64Ceil,
            I::F64Floor,
            I::F64Trunc,
            I::F64Nearest,
            I::F64Sqrt,
        ];
        let n = self.numbers.below(1000);
        let one = n.is_multiple_of(4);
        let i = match (ty, one) {
            (V::I32, true) => {
                match self.numbers.below(8) {
                    0 => {
                        self.value(V::I32, depth);
                        self.put(I::I32Clz);
                    }
                    1 => {
                        self.value(V::I32, depth);
                        self.put(I::I32Ctz);
                    }
                    2 => {
                        self.value(V::I32, depth);
                        self.put(I::I32Popcnt);
                    }
                    3 => {
                        self.value(V::I32, depth);
                        self.put(I::I32Eqz);
                    }
                    4 => {
                        self.value(V::I64, depth);
                        self.put(I::I64Eqz);
                    }
                    k => {
                        let from = [V::I64, V::F32, V::F64][k - 5];
                        self.value(from, depth);
                        self.value(from, depth);
                        const I64C: [I<'static>; 6] = [
                            I::I64Eq,
                            I::I64Ne,
                            I::I64LtS,
                            I::I64LtU,
                            I::I64GeS,
                            I::I64GeU,
                        ];
                        const F32C: [I<'static>; 6] =
                            [I::F32Eq, I::F32Ne, I::F32Lt, I::F32Gt, I::F32Le, I::F32Ge];
                        const F64C: [I<'static>; 6] =
                            [I::F64Eq, I::F64Ne, I::F64Lt, I::F64Gt, I::F64Le, I::F64Ge];
                        let i = [I64C, F32C, F64C][k - 5][n % 6].clone();
                        self.put(i);
                    }
                }
                return;
            }
            (V::I64, true) => [I::I64Clz, I::I64Ctz, I::I64Popcnt][n % 3].clone(),
            (V::F32, true) => F32_ONE[n % F32_ONE.len()].clone(),
            (V::F64, true) => F64_ONE[n % F64_ONE.len()].clone(),
            (V::I32, false) => I32[n % I32.len()].clone(),
            (V::I64, false) => I64[n % I64.len()].clone(),
            (V::F32, false) => F32[n % F32.len()].clone(),
            (_, false) => F64[n % F64.len()].clone(),
            (_, true) => I::Nop,
        };
        self.value(ty, depth);
        if !one {
            self.value(ty, depth);
            // A division that always traps shows little.
            let by = matches!(
                i,
                I::I32DivS
                    | I::I32DivU
                    | I::I32RemS
                    | I::I32RemU
                    | I::I64DivS
                    | I::I64DivU
                    | I::I64RemS
                    | I::I64RemU
            );
            if by && self.numbers.below(400) > 0 {
                if ty == V::I32 {
                    self.put(I::I32Const(1));
                    self.put(I::I32Or);
                } else {
                    self.put(I::I64Const(1));
                    self.put(I::I64Or);
                }
            }
        }
        self.put(i);
        if matches!(ty, V::F32 | V::F64) {
            self.one_nan(ty);
        }
    }
}
