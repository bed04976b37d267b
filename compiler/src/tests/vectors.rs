//! Tests of every vector instruction: that it compiles to instructions of the baseline processor
//! without a call, and that its memory accesses are checked. Their results are tested by the
//! WebAssembly test suite.

use super::{MAIN, compile, compile_with, instructions, open, sip, traps, whole};
use crate::{Cpu, MemoryMode, Options};
use iced_x86::{CpuidFeature, Mnemonic};
use sing_abi::trap::Trap;
use sing_image::meta::{ConstExpr, ValType};

/// Instructions by their operands and result.
const OPERATIONS: [(&str, &str, &str); 18] = [
    ("", "v128", "v128.const\u{a0}i64x2\u{a0}1\u{a0}2"),
    ("i32", "v128", "i8x16.splat i16x8.splat i32x4.splat"),
    ("i64", "v128", "i64x2.splat"),
    ("f32", "v128", "f32x4.splat"),
    ("f64", "v128", "f64x2.splat"),
    (
        "v128",
        "i32",
        "i8x16.extract_lane_s\u{a0}9 i8x16.extract_lane_u\u{a0}15 i16x8.extract_lane_s\u{a0}7 i16x8.extract_lane_u\u{a0}3 \
         i32x4.extract_lane\u{a0}2 v128.any_true i8x16.all_true i16x8.all_true i32x4.all_true i64x2.all_true \
         i8x16.bitmask i16x8.bitmask i32x4.bitmask i64x2.bitmask",
    ),
    ("v128", "i64", "i64x2.extract_lane\u{a0}1"),
    ("v128", "f32", "f32x4.extract_lane\u{a0}3"),
    ("v128", "f64", "f64x2.extract_lane\u{a0}1"),
    (
        "v128 i32",
        "v128",
        "i8x16.replace_lane\u{a0}4 i16x8.replace_lane\u{a0}4 i32x4.replace_lane\u{a0}1 i8x16.shl i16x8.shl i32x4.shl i64x2.shl \
         i8x16.shr_s i16x8.shr_s i32x4.shr_s i64x2.shr_s i8x16.shr_u i16x8.shr_u i32x4.shr_u i64x2.shr_u",
    ),
    ("v128 i64", "v128", "i64x2.replace_lane\u{a0}1"),
    ("v128 f32", "v128", "f32x4.replace_lane\u{a0}1"),
    ("v128 f64", "v128", "f64x2.replace_lane\u{a0}1"),
    (
        "v128 v128 v128",
        "v128",
        "v128.bitselect f32x4.relaxed_madd f32x4.relaxed_nmadd f64x2.relaxed_madd f64x2.relaxed_nmadd \
         i8x16.relaxed_laneselect i16x8.relaxed_laneselect i32x4.relaxed_laneselect i64x2.relaxed_laneselect \
         i32x4.relaxed_dot_i8x16_i7x16_add_s",
    ),
    (
        "v128",
        "v128",
        "v128.not i8x16.abs i16x8.abs i32x4.abs i64x2.abs i8x16.neg i16x8.neg i32x4.neg i64x2.neg i8x16.popcnt \
         i16x8.extadd_pairwise_i8x16_s i16x8.extadd_pairwise_i8x16_u i32x4.extadd_pairwise_i16x8_s \
         i32x4.extadd_pairwise_i16x8_u i16x8.extend_low_i8x16_s i16x8.extend_high_i8x16_s i16x8.extend_low_i8x16_u \
         i16x8.extend_high_i8x16_u i32x4.extend_low_i16x8_s i32x4.extend_high_i16x8_s i32x4.extend_low_i16x8_u \
         i32x4.extend_high_i16x8_u i64x2.extend_low_i32x4_s i64x2.extend_high_i32x4_s i64x2.extend_low_i32x4_u \
         i64x2.extend_high_i32x4_u f32x4.abs f64x2.abs f32x4.neg f64x2.neg f32x4.sqrt f64x2.sqrt f32x4.ceil f64x2.ceil \
         f32x4.floor f64x2.floor f32x4.trunc f64x2.trunc f32x4.nearest f64x2.nearest i32x4.trunc_sat_f32x4_s \
         i32x4.trunc_sat_f32x4_u i32x4.trunc_sat_f64x2_s_zero i32x4.trunc_sat_f64x2_u_zero f32x4.convert_i32x4_s \
         f32x4.convert_i32x4_u f64x2.convert_low_i32x4_s f64x2.convert_low_i32x4_u f32x4.demote_f64x2_zero \
         f64x2.promote_low_f32x4 i32x4.relaxed_trunc_f32x4_s i32x4.relaxed_trunc_f32x4_u \
         i32x4.relaxed_trunc_f64x2_s_zero i32x4.relaxed_trunc_f64x2_u_zero",
    ),
    (
        "v128 v128",
        "v128",
        "i8x16.shuffle\u{a0}0\u{a0}31\u{a0}2\u{a0}29\u{a0}4\u{a0}5\u{a0}26\u{a0}7\u{a0}8\u{a0}9\u{a0}1\u{a0}1\u{a0}1\u{a0}3\u{a0}4\u{a0}5 \
         i8x16.swizzle v128.and v128.andnot v128.or v128.xor \
         i8x16.eq i8x16.ne i8x16.lt_s i8x16.lt_u i8x16.gt_s i8x16.gt_u i8x16.le_s i8x16.le_u i8x16.ge_s i8x16.ge_u \
         i16x8.eq i16x8.ne i16x8.lt_s i16x8.lt_u i16x8.gt_s i16x8.gt_u i16x8.le_s i16x8.le_u i16x8.ge_s i16x8.ge_u \
         i32x4.eq i32x4.ne i32x4.lt_s i32x4.lt_u i32x4.gt_s i32x4.gt_u i32x4.le_s i32x4.le_u i32x4.ge_s i32x4.ge_u \
         i64x2.eq i64x2.ne i64x2.lt_s i64x2.gt_s i64x2.le_s i64x2.ge_s \
         f32x4.eq f32x4.ne f32x4.lt f32x4.gt f32x4.le f32x4.ge f64x2.eq f64x2.ne f64x2.lt f64x2.gt f64x2.le f64x2.ge \
         i8x16.narrow_i16x8_s i8x16.narrow_i16x8_u i16x8.narrow_i32x4_s i16x8.narrow_i32x4_u \
         i8x16.add i16x8.add i32x4.add i64x2.add i8x16.sub i16x8.sub i32x4.sub i64x2.sub i16x8.mul i32x4.mul i64x2.mul \
         i8x16.add_sat_s i8x16.add_sat_u i16x8.add_sat_s i16x8.add_sat_u \
         i8x16.sub_sat_s i8x16.sub_sat_u i16x8.sub_sat_s i16x8.sub_sat_u \
         i8x16.min_s i8x16.min_u i8x16.max_s i8x16.max_u i16x8.min_s i16x8.min_u i16x8.max_s i16x8.max_u \
         i32x4.min_s i32x4.min_u i32x4.max_s i32x4.max_u i8x16.avgr_u i16x8.avgr_u i16x8.q15mulr_sat_s i32x4.dot_i16x8_s \
         i16x8.extmul_low_i8x16_s i16x8.extmul_high_i8x16_s i16x8.extmul_low_i8x16_u i16x8.extmul_high_i8x16_u \
         i32x4.extmul_low_i16x8_s i32x4.extmul_high_i16x8_s i32x4.extmul_low_i16x8_u i32x4.extmul_high_i16x8_u \
         i64x2.extmul_low_i32x4_s i64x2.extmul_high_i32x4_s i64x2.extmul_low_i32x4_u i64x2.extmul_high_i32x4_u \
         f32x4.add f32x4.sub f32x4.mul f32x4.div f32x4.min f32x4.max f32x4.pmin f32x4.pmax \
         f64x2.add f64x2.sub f64x2.mul f64x2.div f64x2.min f64x2.max f64x2.pmin f64x2.pmax \
         i8x16.relaxed_swizzle f32x4.relaxed_min f32x4.relaxed_max f64x2.relaxed_min f64x2.relaxed_max \
         i16x8.relaxed_q15mulr_s i16x8.relaxed_dot_i8x16_i7x16_s",
    ),
    (
        "i32",
        "v128",
        "v128.load v128.load8x8_s v128.load8x8_u v128.load16x4_s v128.load16x4_u v128.load32x2_s v128.load32x2_u \
         v128.load8_splat v128.load16_splat v128.load32_splat v128.load64_splat v128.load32_zero v128.load64_zero",
    ),
    (
        "i32 v128",
        "v128",
        "v128.load8_lane\u{a0}3 v128.load16_lane\u{a0}3 v128.load32_lane\u{a0}3 v128.load64_lane\u{a0}1",
    ),
];
/// Those without a result.
const STORES: &str = "v128.store v128.store8_lane\u{a0}3 v128.store16_lane\u{a0}3 v128.store32_lane\u{a0}3 \
                      v128.store64_lane\u{a0}1";

/// The instructions with their immediate operands, as text, and their operands and result.
fn operations() -> Vec<(String, &'static str, &'static str)> {
    let all = OPERATIONS.into_iter().chain([("i32 v128", "", STORES)]);
    all.flat_map(|(operands, result, ops)| {
        // A space within an instruction is one that does not break.
        let ops = ops.split([' ', '\n']).filter(|op| !op.is_empty());
        ops.map(move |op| (op.replace('\u{a0}', " "), operands, result))
    })
    .collect()
}

/// A module with a function for each instruction, by its name.
fn fields() -> String {
    let mut fields = String::from("(memory 1)");
    for (op, operands, result) in operations() {
        let arguments: String = (0..operands.split_whitespace().count())
            .map(|n| format!("local.get {n} "))
            .collect();
        let name = op.replace(' ', "_");
        fields +=
            &format!("(func ${name} (param {operands}) (result {result}) {arguments} {op})\n");
    }
    fields
}

#[test]
fn there_are_256_of_them() {
    assert_eq!(operations().len(), 256);
}

#[test]
fn they_need_no_call_and_no_later_processor() {
    let wasm = sip(&format!("{} {MAIN}", fields()));
    let baseline = compile(&wasm);
    let known = [
        CpuidFeature::INTEL8086,
        CpuidFeature::INTEL186,
        CpuidFeature::INTEL386,
        CpuidFeature::INTEL486,
        CpuidFeature::X64,
        CpuidFeature::CMOV,
        CpuidFeature::SSE,
        CpuidFeature::SSE2,
        CpuidFeature::SSE3,
        CpuidFeature::SSSE3,
        CpuidFeature::SSE4_1,
        CpuidFeature::SSE4_2,
        CpuidFeature::POPCNT,
        CpuidFeature::BMI1,
        CpuidFeature::BMI2,
        CpuidFeature::LZCNT,
    ];
    for (op, ..) in operations() {
        let name = op.replace(' ', "_");
        // The constants follow the return instruction.
        let code = instructions(&baseline, &name);
        let end = code.iter().position(|i| i.mnemonic() == Mnemonic::Ret);
        for i in &code[..end.unwrap_or_else(|| panic!("{name} does not return"))] {
            assert_ne!(i.mnemonic(), Mnemonic::Call, "{name}");
            let needs = i.cpuid_features();
            assert!(
                needs.iter().all(|f| known.contains(f)),
                "{name}: {i} needs {needs:?}"
            );
        }
    }
    let options = Options {
        cpu: Cpu::V3,
        ..whole()
    };
    let v3 = compile_with(&wasm, &options);
    let code = instructions(&v3, "i32x4.add");
    assert!(code.iter().any(|i| i.mnemonic() == Mnemonic::Vpaddd));
}

#[test]
fn accesses_trap_with_the_right_reason() {
    for mode in [MemoryMode::Guard, MemoryMode::Explicit] {
        let compiled = compile_with(&sip(&format!("{} {MAIN}", fields())), &Options::sip(mode));
        for (op, ..) in operations() {
            let name = op.replace(' ', "_");
            let access = op.starts_with("v128.load") || op.starts_with("v128.store");
            let expected: &[Trap] = if access {
                &[Trap::MemoryOutOfBounds]
            } else {
                &[]
            };
            assert_eq!(traps(&compiled, &name), expected, "{name}, {mode:?}");
        }
    }
}

#[test]
fn constants_stand_in_the_data_and_globals_name_them() {
    let compiled = open(
        r#"(memory 1) (data (i32.const 0) "xyz")
        (global i32 (i32.const 7))
        (global v128 (v128.const i8x16 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15))
        (global (mut v128) (v128.const i64x2 -1 1))
        (global v128 (v128.const i64x2 0 0))"#,
    );
    let values: Vec<ConstExpr> = compiled.meta.globals.iter().map(|g| g.1).collect();
    assert_eq!(compiled.meta.globals[1].0.value, ValType::V128);
    assert_eq!(
        values,
        [
            ConstExpr::Bits(7),
            ConstExpr::Vector(0),
            ConstExpr::Vector(16),
            ConstExpr::Vector(32)
        ]
    );
    assert_eq!(
        compiled.data[..16],
        std::array::from_fn::<u8, 16, _>(|n| n as u8)
    );
    assert_eq!(
        compiled.data[16..32],
        (u128::from(u64::MAX) | 1 << 64).to_le_bytes()
    );
    let segment = compiled.meta.data[0];
    assert_eq!(&compiled.data[segment.from as usize..][..3], b"xyz");
    // An image without vector constants gets nothing added.
    let without = compile(&sip(&format!("(global i32 (i32.const 7)) {MAIN}")));
    assert!(without.data.is_empty());
}
