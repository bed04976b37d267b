//! Short copies and fills: in place where the length is a constant, otherwise by a routine of the
//! image, whose bytes are what its comments say they are. Scripts of the WebAssembly kind run them
//! (`tests/wast/scripts/copies.wast`).

use super::code::calls;
use super::{compile, instructions, sip};
use crate::translate::{Routine, routine_code};
use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, OpKind, Register};
use sing_abi::trap::Trap;
use sing_abi::{ctx, entry};

fn decoded(code: &[u8]) -> Vec<Instruction> {
    Decoder::new(64, code, DecoderOptions::NONE)
        .into_iter()
        .collect()
}

/// Whether the instruction has an operand in the linear memory: only that is reached by these.
fn is_access(instruction: &Instruction) -> bool {
    let memory = (0..instruction.op_count()).any(|n| instruction.op_kind(n) == OpKind::Memory);
    memory
        && matches!(instruction.memory_base(), Register::R9 | Register::R10)
        && instruction.mnemonic() != iced_x86::Mnemonic::Lea
}

#[test]
fn the_routines_are_whole_instructions_that_end_in_the_kernels_entry() {
    for (routine, entry) in [
        (Routine::Copy, entry::MEMORY_COPY),
        (Routine::Fill, entry::MEMORY_FILL),
    ] {
        let (code, accesses) = routine_code(routine).unwrap();
        let all = decoded(&code);
        let places: Vec<u64> = all.iter().map(Instruction::ip).collect();
        for instruction in &all {
            assert!(!instruction.is_invalid(), "{routine:?}");
            if instruction.flow_control() == FlowControl::ConditionalBranch {
                assert!(
                    places.contains(&instruction.near_branch_target()),
                    "{routine:?}"
                );
            }
            // It has no frame.
            let stack = instruction.stack_pointer_increment();
            assert_eq!(
                stack,
                if instruction.code().mnemonic() == iced_x86::Mnemonic::Ret {
                    8
                } else {
                    0
                }
            );
        }
        let found = all.iter().filter(|i| is_access(i)).map(|i| i.ip() as u32);
        assert_eq!(found.collect::<Vec<_>>(), accesses, "{routine:?}");
        let [.., load, jump] = all.as_slice() else {
            panic!("no instructions");
        };
        assert_eq!(load.memory_base(), Register::RDI);
        assert_eq!(load.memory_displacement64(), ctx::KERNEL_TABLE as u64);
        assert_eq!(jump.flow_control(), FlowControl::IndirectBranch);
        assert_eq!(jump.memory_displacement64(), entry as u64 * 8);
    }
}

#[test]
fn an_image_has_the_routines_that_it_calls_with_their_traps() {
    let copy = "(func $f (param i32 i32 i32) local.get 0 local.get 1 local.get 2 memory.copy)";
    let with = compile(&sip(&format!("(memory 1) {copy} {}", super::MAIN)));
    let (code, accesses) = routine_code(Routine::Copy).unwrap();
    let at = with.code.windows(code.len()).position(|part| part == code);
    let at = at.expect("the image has the routine") as u32;
    for access in accesses {
        let trap = (at + access, Trap::MemoryOutOfBounds.code());
        assert!(with.meta.traps.iter().any(|t| t == trap));
    }
    let (fill, _) = routine_code(Routine::Fill).unwrap();
    assert!(!with.code.windows(fill.len()).any(|part| part == fill));
    let without = compile(&sip(super::MAIN));
    assert!(!without.code.windows(code.len()).any(|part| part == code));
}

#[test]
fn constant_lengths_up_to_64_need_no_call() {
    for (length, expected) in [(0, 1), (1, 0), (7, 0), (24, 0), (64, 0), (65, 1), (4096, 1)] {
        let fields = format!(
            "(memory 1)
            (func $copy (param i32 i32) local.get 0 local.get 1 i32.const {length} memory.copy)
            (func $fill (param i32 i32) local.get 0 i32.const 3 i32.const {length} memory.fill)
            {}",
            super::MAIN
        );
        let compiled = compile(&sip(&fields));
        for name in ["copy", "fill"] {
            let code = instructions(&compiled, name);
            assert_eq!(calls(&code), expected, "{name} of {length}");
        }
    }
}
