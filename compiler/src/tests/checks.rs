//! Images without checks (V26): what is left out of their code, and that they say so.

use super::{MAIN, compile, compile_with, instructions, sip, traps};
use crate::{Checks, MemoryMode, Options};
use iced_x86::Mnemonic;
use sing_abi::ctx;
use sing_abi::trap::Trap;
use sing_image::elf::Image;

const FIELDS: &str = "(memory 1) (memory $far 1) (type $t (func (result i32)))
    (table 4 funcref) (elem (i32.const 0) $one)
    (func $one (result i32) (i32.const 1))
    (func $read (param i32) (result i32) (i32.load offset=8 (local.get 0)))
    (func $far_read (param i32) (result i32) (i32.load $far (local.get 0)))
    (func $indirect (param i32) (result i32) (call_indirect (type $t) (local.get 0)))
    (func $element (param i32) (result funcref) (table.get (local.get 0)))
    (func $divide (param i32 i32) (result i32) (i32.div_u (local.get 0) (local.get 1)))
    (func $deep (param i32) (result i32) (call $deep (local.get 0)) (call $deep (local.get 0)) i32.add)";

fn without(mode: MemoryMode) -> Options {
    Options {
        checks: Checks::None,
        ..Options::sip(mode)
    }
}

fn compiled(options: &Options) -> crate::Compiled {
    compile_with(&sip(&format!("{FIELDS} {MAIN}")), options)
}

#[test]
fn an_image_without_checks_says_so_and_others_that_they_have_them() {
    for mode in [MemoryMode::Guard, MemoryMode::Explicit] {
        let file = compiled(&without(mode)).to_elf().unwrap();
        let meta = Image::decode(&file).unwrap().meta;
        assert_eq!((meta.checks, meta.memory_mode), (Checks::None, mode));
        let file = compiled(&Options::sip(mode)).to_elf().unwrap();
        assert_eq!(Image::decode(&file).unwrap().meta.checks, Checks::All);
    }
    assert_eq!(Options::default().checks, Checks::All);
    assert_eq!(Options::open(MemoryMode::Guard).checks, Checks::All);
    assert_eq!(compile(&sip(MAIN)).meta.checks, Checks::All);
}

#[test]
fn tests_of_bounds_signatures_and_the_stack_are_left_out() {
    let tests = |compiled: &crate::Compiled, name: &str| {
        let code = instructions(compiled, name);
        let tests = code
            .iter()
            .filter(|i| matches!(i.mnemonic(), Mnemonic::Cmp | Mnemonic::Test | Mnemonic::Ud2));
        tests.count()
    };
    for mode in [MemoryMode::Guard, MemoryMode::Explicit] {
        let (with, without) = (compiled(&Options::sip(mode)), compiled(&without(mode)));
        for name in ["read", "far_read", "indirect", "element", "deep"] {
            assert_eq!(tests(&without, name), 0, "{name}, {mode:?}");
        }
        for name in ["far_read", "indirect", "element", "deep"] {
            assert!(tests(&with, name) > 0, "{name}, {mode:?}");
        }
        let limited = |compiled: &crate::Compiled| {
            let code = instructions(compiled, "deep");
            let limit = u64::from(ctx::STACK_LIMIT.cast_unsigned());
            code.iter().any(|i| i.memory_displacement64() == limit)
        };
        assert!(limited(&with) && !limited(&without), "{mode:?}");
        // A page may come into being at an access, so the place stays known.
        assert_eq!(traps(&without, "read"), [Trap::MemoryOutOfBounds]);
        // What arithmetic does is no check of the system's.
        assert_eq!(traps(&without, "divide"), [Trap::DivisionByZero]);
    }
}
