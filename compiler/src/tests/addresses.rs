//! Addresses: what does not wrap goes into the processor's address modes, and what may wrap is computed
//! with 32 bits.

use super::{MAIN, compile, instructions, sip};
use iced_x86::{Instruction, Mnemonic, OpKind};

/// The code of a load from this address, which a function computes of its two parameters.
fn loading(address: &str) -> Vec<Instruction> {
    let function = format!(
        "(memory 1) (func $f (param $p i32) (param $q i32) (result i32) (i32.load offset=8 {address}))"
    );
    instructions(&compile(&sip(&format!("{function} {MAIN}"))), "f")
}

fn has(code: &[Instruction], mnemonic: Mnemonic) -> bool {
    code.iter().any(|i| i.mnemonic() == mnemonic)
}

/// Whether a sum is computed with 32 bits.
fn adds_32_bits(code: &[Instruction]) -> bool {
    code.iter().any(|i| {
        matches!(i.mnemonic(), Mnemonic::Add | Mnemonic::Lea)
            && i.op0_kind() == OpKind::Register
            && i.op0_register().is_gpr32()
    })
}

#[test]
fn a_table_look_up_needs_no_shift_and_no_sum() {
    let index = "(i32.load8_u (local.get $p))";
    for (table, displacement) in [("", 8), ("(i32.const 4096)", 4104)] {
        let shifted = format!("(i32.shl {index} (i32.const 2))");
        let address = match table {
            "" => shifted,
            table => format!("(i32.add {shifted} {table})"),
        };
        let code = loading(&address);
        assert!(!has(&code, Mnemonic::Shl), "{address}");
        assert!(!adds_32_bits(&code), "{address}");
        let scaled = |i: &Instruction| {
            i.memory_index_scale() == 4 && i.memory_displacement64() == displacement
        };
        assert!(code.iter().any(scaled), "{address}");
    }
}

#[test]
fn what_may_wrap_is_computed_with_32_bits() {
    for address in [
        "(i32.add (local.get $p) (local.get $q))",
        "(i32.add (local.get $p) (i32.const 16))",
        "(i32.add (i32.load8_u (local.get $p)) (i32.const -1))",
        "(i32.add (i32.load (local.get $p)) (i32.const 1))",
        "(i32.add (i32.wrap_i64 (i64.load32_u (local.get $p))) (i32.const 1))",
        "(i32.add (i32.wrap_i64 (i64.shr_u (i64.load (local.get $p)) (i64.const 31))) (i32.const 1))",
        // The most is 2^32 here, one more than 32 bits hold.
        "(i32.add (i32.and (local.get $p) (i32.const 0xfffffff0)) (i32.const 16))",
    ] {
        assert!(adds_32_bits(&loading(address)), "{address}");
    }
    for address in [
        "(i32.shl (local.get $p) (i32.const 2))",
        "(i32.shl (i32.load16_u (local.get $p)) (i32.const 17))",
    ] {
        assert!(has(&loading(address), Mnemonic::Shl), "{address}");
    }
}
