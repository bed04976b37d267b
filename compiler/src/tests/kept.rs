//! Tests of functions whose code was made by an earlier compilation.

use super::{MAIN, compile, sip, whole};
use crate::{Keeper, Name, Options, Stats, Work};
use std::collections::HashMap;
use std::sync::Mutex;

/// A keeper of what the compiler has put into the one before.
#[derive(Default)]
struct Memory {
    old: HashMap<Name, Vec<u8>>,
    new: Mutex<HashMap<Name, Vec<u8>>>,
}

impl Keeper for Memory {
    fn get(&self, name: &Name) -> Option<&[u8]> {
        self.old.get(name).map(Vec::as_slice)
    }

    fn put(&self, name: Name, code: Vec<u8>) {
        self.new.lock().unwrap().insert(name, code);
    }
}

impl Memory {
    /// Compiles a module, which must give what it gives without a keeper.
    fn compile(&self, wasm: &[u8]) -> Stats {
        let work = Work {
            threads: Some(2),
            keeper: Some(self),
            ..Work::default()
        };
        let kept = crate::compile_by(wasm, &whole(), &work).unwrap();
        let anew = compile(wasm);
        assert!(kept.to_elf().unwrap() == anew.to_elf().unwrap());
        kept.stats
    }

    /// With what has come, beside what was there.
    fn next(self) -> Memory {
        let mut old = self.old;
        old.extend(self.new.into_inner().unwrap());
        Memory {
            old,
            ..Memory::default()
        }
    }
}

/// A module in which functions call each other and an import, trap, and catch exceptions.
fn program(first: &str, third: &str) -> Vec<u8> {
    sip(&format!(
        r#"(import "sing_v1" "yield" (func $yield))
        (memory 1) (tag $t (param i32)) (table 4 funcref) (elem (i32.const 0) $one $two)
        {first}
        (func $one (param i32) (result i32) (i32.load offset=9 (local.get 0)) (call $two))
        (func $two (param i32) (result i32)
            (block $caught (result i32)
                (try_table (catch $t $caught) (call $yield) (throw $t (local.get 0)))
                i32.const 3)
            (i32.div_u (local.get 0)))
        (func $three (result i32) {third} (call $one))
        {MAIN}"#
    ))
}

#[test]
fn only_what_has_changed_is_compiled() {
    let memory = Memory::default();
    let stats = memory.compile(&program("", "(i32.const 7)"));
    assert_eq!(stats.kept, 0);
    let all = stats.functions;
    let memory = memory.next();
    let stats = memory.compile(&program("", "(i32.const 7)"));
    assert_eq!((stats.kept, stats.functions), (all, all));
    assert!(memory.new.lock().unwrap().is_empty());
    // One function has changed.
    let stats = memory.compile(&program("", "(i32.const 8)"));
    assert_eq!((stats.kept, stats.functions), (all - 1, all));
    // A new one in front gives all others new numbers and places.
    let before = "(func $new (result f64) (f64.sqrt (f64.const 2)))";
    let stats = memory.compile(&program(before, "(i32.const 7)"));
    assert_eq!((stats.kept, stats.functions), (all, all + 1));
}

#[test]
fn functions_are_told_apart_by_all_that_their_code_depends_on() {
    let memory = Memory::default();
    memory.compile(&program("", "(i32.const 7)"));
    let memory = memory.next();
    let wasm = program("", "(i32.const 7)");
    for options in [
        Options {
            cpu: crate::Cpu::V3,
            ..whole()
        },
        Options {
            memory_mode: crate::MemoryMode::Explicit,
            ..whole()
        },
        Options {
            checks: crate::Checks::None,
            ..whole()
        },
    ] {
        let work = Work {
            keeper: Some(&memory),
            ..Work::default()
        };
        let kept = crate::compile_by(&wasm, &options, &work).unwrap();
        let anew = crate::compile(&wasm, &options).unwrap();
        assert!(kept.to_elf().unwrap() == anew.to_elf().unwrap());
        // Functions without an access to memory are the same in both modes.
        let of_other_cpu = options.cpu == crate::Cpu::V3;
        assert!(kept.stats.kept < kept.stats.functions && !(of_other_cpu && kept.stats.kept > 0));
    }
}

/// Damage costs time and nothing else.
#[test]
fn what_has_not_the_form_of_code_is_not_used() {
    let first = Memory::default();
    first.compile(&program("", "(i32.const 7)"));
    let first = first.next();
    let all: Vec<(Name, Vec<u8>)> = first.old.into_iter().collect();
    for cut in 0..4 {
        let old = all.iter().map(|(name, bytes)| {
            let bytes = match cut {
                0 => Vec::new(),
                1 => bytes[..bytes.len() / 2].to_vec(),
                2 => vec![0xff; bytes.len()],
                // A length of the code that leaves the places of its calls outside.
                _ => {
                    let mut bytes = bytes.clone();
                    bytes[0] = 0;
                    bytes
                }
            };
            (*name, bytes)
        });
        let memory = Memory {
            old: old.collect(),
            ..Memory::default()
        };
        let work = Work {
            threads: Some(1),
            keeper: Some(&memory),
            ..Work::default()
        };
        let wasm = program("", "(i32.const 7)");
        let made = crate::compile_by(&wasm, &whole(), &work);
        // Changed bytes of code are not noticed here, and broken forms are.
        if cut < 3 {
            let anew = compile(&wasm);
            assert!(made.unwrap().to_elf().unwrap() == anew.to_elf().unwrap());
        }
    }
}
