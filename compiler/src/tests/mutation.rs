//! Broken and unusual modules: every input gives an image or an error.

use super::{ECHO, ECHOING, compile_with, sip_with, wat};
use crate::{MemoryMode, Options};
use sing_image::elf::Image;

/// Pseudo-random numbers, the same in every run (xorshift).
pub(super) struct Numbers(pub(super) u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(super) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}

/// Small modules to start from, with every kind of content.
fn seeds() -> Vec<Vec<u8>> {
    let control = "(func (param i32 i64 f32 f64) (result i32 i64)
        (block (result i32) (loop (result i32)
            (if (result i32) (local.get 0) (then i32.const 3) (else i32.const 4))
            (br_if 1 (i32.const 5) (local.get 0))
            (br_table 1 1 1 (i32.const 6) (local.get 0))))
        (local.set 1 (i64.div_s (local.get 1) (i64.const 3)))
        (i64.trunc_f64_u (local.get 3)) (local.tee 1))";
    let memory = "(memory 1 3) (data $d \"abc\") (global $g (mut i32) (i32.const 1))
        (func (param i32) (result i32)
            (i32.store8 offset=3 (local.get 0) (i32.load16_s (i32.const 9)))
            (memory.init $d (i32.const 0) (i32.const 0) (i32.const 2)) (data.drop $d)
            (memory.fill (i32.const 0) (i32.const 1) (i32.const 4))
            (global.set $g (memory.grow (i32.const 1)))
            (i32.atomic.rmw8.cmpxchg_u (i32.const 0) (i32.const 1) (i32.const 2)))";
    let tables = "(table $t 2 9 funcref) (table $e 1 externref) (elem $s func 0)
        (func (param funcref externref) (result i32)
            (table.set $t (i32.const 0) (local.get 0))
            (table.init $t $s (i32.const 0) (i32.const 0) (i32.const 1)) (elem.drop $s)
            (table.fill $e (i32.const 0) (local.get 1) (i32.const 1))
            (call_indirect $t (i32.const 1))
            (table.grow $t (ref.func 0) (i32.const 1)) (ref.is_null (table.get $e (i32.const 0)))
            i32.add)";
    let sip = format!(
        r#"(import "sing_v1" "xh_load32" (func $x (param i32 i32) (result i32)))
        (import "contract:Echo" "imp.call.Say" (func $say (param i32 i64 i32) (result i32)))
        {memory} (table 1 funcref) (elem (i32.const 0) $x)
        (func (export "sip_main") (result i32)
            (call $say (i32.const 1) (i64.const 2) (i32.const 3)) drop
            (call $x (i32.const 1) (i32.const 2)))"#
    );
    vec![
        sip_with(ECHOING, ECHO, &sip),
        wat(&format!("(module {control})")),
        wat(&format!("(module {memory})")),
        wat(&format!("(module {tables})")),
    ]
}

fn options() -> [Options; 4] {
    let any = |mode| Options {
        features: crate::Features::Sip,
        ..Options::open(mode)
    };
    [
        Options::sip(MemoryMode::Guard),
        Options::sip(MemoryMode::Explicit),
        any(MemoryMode::Guard),
        any(MemoryMode::Explicit),
    ]
}

/// Compiles, and reads the image if there is one. Whether there is.
fn survives(wasm: &[u8], options: &Options) -> bool {
    match crate::compile(wasm, options) {
        Ok(compiled) => {
            let file = compiled.to_elf().unwrap();
            assert_eq!(Image::decode(&file).unwrap().meta, compiled.meta);
            true
        }
        Err(e) => {
            assert_ne!(e.kind, crate::ErrorKind::Internal, "{e}");
            assert!(!e.message.is_empty());
            false
        }
    }
}

#[test]
fn seeds_are_good() {
    let [sealed, explicit, open, open_explicit] = options();
    let seeds = seeds();
    for options in [sealed, explicit] {
        compile_with(&seeds[0], &options);
    }
    for seed in &seeds[1..] {
        for options in [open, open_explicit] {
            compile_with(seed, &options);
        }
    }
}

#[test]
fn modules_that_are_cut_short() {
    for seed in seeds() {
        for cut in 0..seed.len() {
            for options in options() {
                survives(&seed[..cut], &options);
            }
        }
    }
}

#[test]
fn modules_with_changed_bytes() {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let mut accepted = 0;
    for seed in seeds() {
        for _ in 0..6000 {
            let mut wasm = seed.clone();
            for _ in 0..=numbers.below(3) {
                let at = numbers.below(wasm.len());
                match numbers.below(4) {
                    0 => wasm[at] ^= 1 << numbers.below(8),
                    1 => wasm[at] = numbers.next() as u8,
                    2 => {
                        wasm.remove(at);
                    }
                    _ => wasm.insert(at, numbers.next() as u8),
                }
            }
            let which = numbers.below(4);
            accepted += u32::from(survives(&wasm, &options()[which]));
        }
    }
    // Enough of them pass the validator to test the compiler too.
    assert!(accepted > 500, "only {accepted} were accepted");
}

#[test]
fn functions_that_explode_are_refused() {
    // Each call has a thousand results, a byte or two of WebAssembly: 40 million values.
    let results = "i64 ".repeat(1000);
    let body = "call 0 ".repeat(40_000);
    let wasm = wat(&format!(
        "(module (func (result {results}) unreachable) (func {body} unreachable))"
    ));
    let e = crate::compile(&wasm, &Options::open(MemoryMode::Guard)).expect_err("too large");
    assert_eq!(e.kind, crate::ErrorKind::TooLarge, "{e}");
    assert!(e.to_string().contains("function 1"), "{e}");
}

#[test]
fn deep_nesting_is_no_problem() {
    // Of loops no more may be in each other.
    let loops = sing_image::limits::LOOPS_NESTED.most as usize;
    for (open, close, depth) in [
        ("block ", "end ", 5000),
        ("loop ", "end ", loops),
        ("i32.const 1 if ", "end ", 5000),
    ] {
        let body = open.repeat(depth) + &close.repeat(depth);
        let wasm = wat(&format!("(module (func {body}))"));
        compile_with(&wasm, &Options::open(MemoryMode::Guard));
    }
}
