//! Vectors: constants, loads and stores, every operation on lanes.

use super::Gen;
use wasm_encoder::{Instruction as I, ValType as V};

/// Integer operations on two vectors, and the bitwise ones.
const TWO: [I<'static>; 113] = [
    I::V128And,
    I::V128AndNot,
    I::V128Or,
    I::V128Xor,
    I::I8x16Swizzle,
    I::I8x16Eq,
    I::I8x16Ne,
    I::I8x16LtS,
    I::I8x16LtU,
    I::I8x16GtS,
    I::I8x16GtU,
    I::I8x16LeS,
    I::I8x16LeU,
    I::I8x16GeS,
    I::I8x16GeU,
    I::I16x8Eq,
    I::I16x8Ne,
    I::I16x8LtS,
    I::I16x8LtU,
    I::I16x8GtS,
    I::I16x8GtU,
    I::I16x8LeS,
    I::I16x8LeU,
    I::I16x8GeS,
    I::I16x8GeU,
    I::I32x4Eq,
    I::I32x4Ne,
    I::I32x4LtS,
    I::I32x4LtU,
    I::I32x4GtS,
    I::I32x4GtU,
    I::I32x4LeS,
    I::I32x4LeU,
    I::I32x4GeS,
    I::I32x4GeU,
    I::I64x2Eq,
    I::I64x2Ne,
    I::I64x2LtS,
    I::I64x2GtS,
    I::I64x2LeS,
    I::I64x2GeS,
    I::F32x4Eq,
    I::F32x4Ne,
    I::F32x4Lt,
    I::F32x4Gt,
    I::F32x4Le,
    I::F32x4Ge,
    I::F64x2Eq,
    I::F64x2Ne,
    I::F64x2Lt,
    I::F64x2Gt,
    I::F64x2Le,
    I::F64x2Ge,
    I::I8x16NarrowI16x8S,
    I::I8x16NarrowI16x8U,
    I::I16x8NarrowI32x4S,
    I::I16x8NarrowI32x4U,
    I::I8x16Add,
    I::I8x16AddSatS,
    I::I8x16AddSatU,
    I::I8x16Sub,
    I::I8x16SubSatS,
    I::I8x16SubSatU,
    I::I8x16MinS,
    I::I8x16MinU,
    I::I8x16MaxS,
    I::I8x16MaxU,
    I::I8x16AvgrU,
    I::I16x8Q15MulrSatS,
    I::I16x8Add,
    I::I16x8AddSatS,
    I::I16x8AddSatU,
    I::I16x8Sub,
    I::I16x8SubSatS,
    I::I16x8SubSatU,
    I::I16x8Mul,
    I::I16x8MinS,
    I::I16x8MinU,
    I::I16x8MaxS,
    I::I16x8MaxU,
    I::I16x8AvgrU,
    I::I16x8ExtMulLowI8x16S,
    I::I16x8ExtMulHighI8x16S,
    I::I16x8ExtMulLowI8x16U,
    I::I16x8ExtMulHighI8x16U,
    I::I32x4Add,
    I::I32x4Sub,
    I::I32x4Mul,
    I::I32x4MinS,
    I::I32x4MinU,
    I::I32x4MaxS,
    I::I32x4MaxU,
    I::I32x4DotI16x8S,
    I::I32x4ExtMulLowI16x8S,
    I::I32x4ExtMulHighI16x8S,
    I::I32x4ExtMulLowI16x8U,
    I::I32x4ExtMulHighI16x8U,
    I::I64x2Add,
    I::I64x2Sub,
    I::I64x2Mul,
    I::I64x2ExtMulLowI32x4S,
    I::I64x2ExtMulHighI32x4S,
    I::I64x2ExtMulLowI32x4U,
    I::I64x2ExtMulHighI32x4U,
    // These pass on what they are given, bit by bit.
    I::F32x4PMin,
    I::F32x4PMax,
    I::F64x2PMin,
    I::F64x2PMax,
    I::I32x4Add,
    I::I16x8Add,
    I::I8x16Add,
    I::V128Xor,
    I::I64x2Add,
];

/// Operations on one vector that make no NaN.
const ONE: [I<'static>; 38] = [
    I::V128Not,
    I::I8x16Abs,
    I::I8x16Neg,
    I::I8x16Popcnt,
    I::I16x8Abs,
    I::I16x8Neg,
    I::I32x4Abs,
    I::I32x4Neg,
    I::I64x2Abs,
    I::I64x2Neg,
    I::I16x8ExtAddPairwiseI8x16S,
    I::I16x8ExtAddPairwiseI8x16U,
    I::I32x4ExtAddPairwiseI16x8S,
    I::I32x4ExtAddPairwiseI16x8U,
    I::I16x8ExtendLowI8x16S,
    I::I16x8ExtendHighI8x16S,
    I::I16x8ExtendLowI8x16U,
    I::I16x8ExtendHighI8x16U,
    I::I32x4ExtendLowI16x8S,
    I::I32x4ExtendHighI16x8S,
    I::I32x4ExtendLowI16x8U,
    I::I32x4ExtendHighI16x8U,
    I::I64x2ExtendLowI32x4S,
    I::I64x2ExtendHighI32x4S,
    I::I64x2ExtendLowI32x4U,
    I::I64x2ExtendHighI32x4U,
    I::I32x4TruncSatF32x4S,
    I::I32x4TruncSatF32x4U,
    I::I32x4TruncSatF64x2SZero,
    I::I32x4TruncSatF64x2UZero,
    I::F32x4ConvertI32x4S,
    I::F32x4ConvertI32x4U,
    I::F64x2ConvertLowI32x4S,
    I::F64x2ConvertLowI32x4U,
    I::F32x4Neg,
    I::F64x2Neg,
    I::F32x4Abs,
    I::F64x2Abs,
];

const SHIFTS: [I<'static>; 12] = [
    I::I8x16Shl,
    I::I8x16ShrS,
    I::I8x16ShrU,
    I::I16x8Shl,
    I::I16x8ShrS,
    I::I16x8ShrU,
    I::I32x4Shl,
    I::I32x4ShrS,
    I::I32x4ShrU,
    I::I64x2Shl,
    I::I64x2ShrS,
    I::I64x2ShrU,
];

const F32_TWO: [I<'static>; 6] = [
    I::F32x4Add,
    I::F32x4Sub,
    I::F32x4Mul,
    I::F32x4Div,
    I::F32x4Min,
    I::F32x4Max,
];

const F64_TWO: [I<'static>; 6] = [
    I::F64x2Add,
    I::F64x2Sub,
    I::F64x2Mul,
    I::F64x2Div,
    I::F64x2Min,
    I::F64x2Max,
];

const F32_ONE: [I<'static>; 6] = [
    I::F32x4Ceil,
    I::F32x4Floor,
    I::F32x4Trunc,
    I::F32x4Nearest,
    I::F32x4Sqrt,
    I::F32x4DemoteF64x2Zero,
];

const F64_ONE: [I<'static>; 6] = [
    I::F64x2Ceil,
    I::F64x2Floor,
    I::F64x2Trunc,
    I::F64x2Nearest,
    I::F64x2Sqrt,
    I::F64x2PromoteLowF32x4,
];

/// What makes an i32 of a vector.
const TESTS: [I<'static>; 9] = [
    I::V128AnyTrue,
    I::I8x16AllTrue,
    I::I16x8AllTrue,
    I::I32x4AllTrue,
    I::I64x2AllTrue,
    I::I8x16Bitmask,
    I::I16x8Bitmask,
    I::I32x4Bitmask,
    I::I64x2Bitmask,
];

impl Gen<'_> {
    /// Bits of a vector: lanes that are often at an edge of some type.
    pub(super) fn vector_bits(&mut self) -> i128 {
        let (low, high) = (self.numbers.bits(), self.numbers.bits());
        let mixed = match self.numbers.below(4) {
            0 => u128::from(low) << 64 | u128::from(low),
            1 => u128::from(high as u32) * (1 << 96 | 1 << 64 | 1 << 32 | 1),
            _ => u128::from(high) << 64 | u128::from(low),
        };
        mixed.cast_signed()
    }

    /// Puts a vector on the stack that an operation gives.
    pub(super) fn vector(&mut self, depth: u32) {
        match self.numbers.below(22) {
            0..=5 => {
                self.value(V::V128, depth);
                self.value(V::V128, depth);
                let i = TWO[self.numbers.below(TWO.len())].clone();
                self.put(i);
            }
            6..=8 => {
                self.value(V::V128, depth);
                let i = ONE[self.numbers.below(ONE.len())].clone();
                self.put(i);
            }
            9 | 10 => {
                self.value(V::V128, depth);
                self.value(V::I32, depth);
                let i = SHIFTS[self.numbers.below(SHIFTS.len())].clone();
                self.put(i);
            }
            n @ (11 | 12) => {
                self.value(V::V128, depth);
                self.value(V::V128, depth);
                let of = if n == 11 { F32_TWO } else { F64_TWO };
                let i = of[self.numbers.below(of.len())].clone();
                self.put(i);
                self.one_nan_lanes(n == 12);
            }
            n @ (13 | 14) => {
                self.value(V::V128, depth);
                let of = if n == 13 { F32_ONE } else { F64_ONE };
                let i = of[self.numbers.below(of.len())].clone();
                self.put(i);
                self.one_nan_lanes(n == 14);
            }
            15 => {
                self.value(V::V128, depth);
                self.value(V::V128, depth);
                let lanes = std::array::from_fn(|_| self.numbers.below(32) as u8);
                self.put(I::I8x16Shuffle(lanes));
            }
            16 => {
                self.value(V::V128, depth);
                self.value(V::V128, depth);
                self.value(V::V128, depth);
                self.put(I::V128Bitselect);
            }
            17 => {
                let (from, i) = self.numbers.of(&[
                    (V::I32, 0),
                    (V::I32, 1),
                    (V::I32, 2),
                    (V::I64, 3),
                    (V::F32, 4),
                    (V::F64, 5),
                ]);
                self.value(from, depth);
                const SPLATS: [I<'static>; 6] = [
                    I::I8x16Splat,
                    I::I16x8Splat,
                    I::I32x4Splat,
                    I::I64x2Splat,
                    I::F32x4Splat,
                    I::F64x2Splat,
                ];
                self.put(SPLATS[i].clone());
            }
            18 | 19 if !self.atomics => self.relaxed_vector(depth),
            _ => {
                self.value(V::V128, depth);
                let n = self.numbers.below(16) as u8;
                let (from, i) = match self.numbers.below(6) {
                    0 => (V::I32, I::I8x16ReplaceLane(n)),
                    1 => (V::I32, I::I16x8ReplaceLane(n % 8)),
                    2 => (V::I32, I::I32x4ReplaceLane(n % 4)),
                    3 => (V::I64, I::I64x2ReplaceLane(n % 2)),
                    4 => (V::F32, I::F32x4ReplaceLane(n % 4)),
                    _ => (V::F64, I::F64x2ReplaceLane(n % 2)),
                };
                self.value(from, depth);
                self.put(i);
            }
        }
    }

    /// Puts a scalar on the stack that comes of a vector.
    pub(super) fn of_vector(&mut self, ty: V, depth: u32) {
        self.value(V::V128, depth);
        let n = self.numbers.below(16) as u8;
        let i = match ty {
            V::I32 => match self.numbers.below(8) {
                0 => I::I8x16ExtractLaneS(n),
                1 => I::I8x16ExtractLaneU(n),
                2 => I::I16x8ExtractLaneS(n % 8),
                3 => I::I16x8ExtractLaneU(n % 8),
                4 => I::I32x4ExtractLane(n % 4),
                _ => TESTS[self.numbers.below(TESTS.len())].clone(),
            },
            V::I64 => I::I64x2ExtractLane(n % 2),
            V::F32 => I::F32x4ExtractLane(n % 4),
            _ => I::F64x2ExtractLane(n % 2),
        };
        self.put(i);
    }

    pub(super) fn vector_load(&mut self, depth: u32) {
        let memarg = self.address(depth);
        let kind = self.numbers.below(17);
        let i = match kind {
            0 | 1 => I::V128Load(memarg),
            2 => I::V128Load8x8S(memarg),
            3 => I::V128Load8x8U(memarg),
            4 => I::V128Load16x4S(memarg),
            5 => I::V128Load16x4U(memarg),
            6 => I::V128Load32x2S(memarg),
            7 => I::V128Load32x2U(memarg),
            8 => I::V128Load8Splat(memarg),
            9 => I::V128Load16Splat(memarg),
            10 => I::V128Load32Splat(memarg),
            11 => I::V128Load64Splat(memarg),
            12 => I::V128Load32Zero(memarg),
            13 => I::V128Load64Zero(memarg),
            _ => {
                self.value(V::V128, depth);
                let lane = self.numbers.below(16) as u8;
                match self.numbers.below(4) {
                    0 => I::V128Load8Lane { memarg, lane },
                    1 => I::V128Load16Lane {
                        memarg,
                        lane: lane % 8,
                    },
                    2 => I::V128Load32Lane {
                        memarg,
                        lane: lane % 4,
                    },
                    _ => I::V128Load64Lane {
                        memarg,
                        lane: lane % 2,
                    },
                }
            }
        };
        self.put(i);
    }

    pub(super) fn vector_store(&mut self, depth: u32) {
        let memarg = self.address(depth);
        self.value(V::V128, depth);
        let lane = self.numbers.below(16) as u8;
        let i = match self.numbers.below(6) {
            0 => I::V128Store8Lane { memarg, lane },
            1 => I::V128Store16Lane {
                memarg,
                lane: lane % 8,
            },
            2 => I::V128Store32Lane {
                memarg,
                lane: lane % 4,
            },
            3 => I::V128Store64Lane {
                memarg,
                lane: lane % 2,
            },
            _ => I::V128Store(memarg),
        };
        self.put(i);
    }

    /// Makes each float lane that is a NaN the one NaN. The last vector local is for this.
    pub(super) fn one_nan_lanes(&mut self, wide: bool) {
        let scratch = *self.locals[super::place(V::V128)].last().unwrap_or(&0);
        let nan: u128 = if wide {
            (0x7ff8 << 48) * (1 << 64 | 1)
        } else {
            0x7fc0_0000 * (1 << 96 | 1 << 64 | 1 << 32 | 1)
        };
        self.put(I::LocalTee(scratch));
        self.put(I::V128Const(nan.cast_signed()));
        self.put(I::LocalGet(scratch));
        self.put(I::LocalGet(scratch));
        self.put(if wide { I::F64x2Eq } else { I::F32x4Eq });
        self.put(I::V128Bitselect);
        // Nothing may read its other NaN from there.
        self.put(I::LocalTee(scratch));
    }
}
