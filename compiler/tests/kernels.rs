//! How much code becomes of small loops as programs have them: bytes and instructions of machine
//! code, with a wide margin. A change that makes code a third larger, or that leaves the work to
//! somebody else, is noticed here; one that makes it better changes the figures.

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction};
use sing_compiler::{Compiled, Cpu, MemoryMode, Options, Unreached};

/// How far a figure may be from the recorded one, in percent.
const MARGIN: usize = 30;

/// What is recorded of a function: bytes and instructions of all of it, and instructions of its
/// innermost loop, which is the shortest stretch between a jump backwards and its target.
#[derive(Clone, Copy, Debug)]
struct Figures {
    bytes: usize,
    instructions: usize,
    inner: usize,
}

impl Figures {
    fn of(code: &[Instruction]) -> Figures {
        let backwards = code.iter().filter(|i| {
            let jumps = [
                FlowControl::ConditionalBranch,
                FlowControl::UnconditionalBranch,
            ];
            jumps.contains(&i.flow_control()) && i.near_branch_target() < i.ip()
        });
        let length = |i: &Instruction| {
            let inside = code
                .iter()
                .filter(|at| (i.near_branch_target()..=i.ip()).contains(&at.ip()));
            inside.count()
        };
        Figures {
            bytes: code.iter().map(Instruction::len).sum(),
            instructions: code.len(),
            inner: backwards.map(length).min().unwrap_or(0),
        }
    }

    fn is_near(self, recorded: Figures) -> bool {
        let near = |now: usize, then: usize| {
            // A few instructions more or less are no matter, whatever they are in percent.
            now.abs_diff(then) <= (then * MARGIN / 100).max(2)
        };
        near(self.bytes, recorded.bytes)
            && near(self.instructions, recorded.instructions)
            && near(self.inner, recorded.inner)
    }
}

/// Kernels, each a function `$kernel`, with the figures in both memory modes.
const KERNELS: [(&str, &str, [[usize; 3]; 2]); 7] = [
    (
        "sum of an array",
        "(func $kernel (param $at i32) (param $n i32) (result i64) (local $sum i64)
            (loop $again
                (local.set $sum (i64.add (local.get $sum) (i64.load32_s (local.get $at))))
                (local.set $at (i32.add (local.get $at) (i32.const 4)))
                (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
            (local.get $sum))",
        [[49, 16, 8], [75, 22, 12]],
    ),
    (
        "product of rows",
        "(func $kernel (param $a i32) (param $b i32) (param $n i32) (result f64) (local $sum f64) (local $i i32)
            (loop $again
                (local.set $sum (f64.add (local.get $sum)
                    (f64.mul
                        (f64.load (i32.add (local.get $a) (i32.shl (local.get $i) (i32.const 3))))
                        (f64.load (i32.add (local.get $b) (i32.shl (local.get $i) (i32.const 3)))))))
                (br_if $again (i32.lt_u
                    (local.tee $i (i32.add (local.get $i) (i32.const 1)))
                    (local.get $n))))
            (local.get $sum))",
        [[62, 17, 9], [101, 26, 15]],
    ),
    (
        "product of rows by vectors",
        "(func $kernel (param $a i32) (param $b i32) (param $n i32) (result f32) (local $sum v128)
            (loop $again
                (local.set $sum (f32x4.add (local.get $sum)
                    (f32x4.mul (v128.load (local.get $a)) (v128.load (local.get $b)))))
                (local.set $a (i32.add (local.get $a) (i32.const 16)))
                (local.set $b (i32.add (local.get $b) (i32.const 16)))
                (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 4)))))
            (f32.add
                (f32.add (f32x4.extract_lane 0 (local.get $sum)) (f32x4.extract_lane 1 (local.get $sum)))
                (f32.add (f32x4.extract_lane 2 (local.get $sum)) (f32x4.extract_lane 3 (local.get $sum)))))",
        [[102, 28, 12], [139, 37, 18]],
    ),
    (
        "hash of bytes",
        "(func $kernel (param $at i32) (param $n i32) (result i32) (local $h i32)
            (local.set $h (i32.const 0x811c9dc5))
            (loop $again
                (local.set $h (i32.mul
                    (i32.xor (local.get $h) (i32.load8_u (local.get $at)))
                    (i32.const 0x01000193)))
                (local.set $at (i32.add (local.get $at) (i32.const 1)))
                (br_if $again (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
            (local.get $h))",
        [[55, 17, 9], [83, 23, 13]],
    ),
    (
        "sieve of primes",
        "(func $kernel (param $n i32) (local $i i32) (local $k i32)
            (local.set $i (i32.const 2))
            (loop $next
                (if (i32.eqz (i32.load8_u (local.get $i)))
                    (then
                        (local.set $k (i32.mul (local.get $i) (local.get $i)))
                        (block $done
                            (loop $strike
                                (br_if $done (i32.ge_u (local.get $k) (local.get $n)))
                                (i32.store8 (local.get $k) (i32.const 1))
                                (local.set $k (i32.add (local.get $k) (local.get $i)))
                                (br $strike)))))
                (local.set $i (i32.add (local.get $i) (i32.const 1)))
                (br_if $next (i32.lt_u (local.get $i) (local.get $n)))))",
        [[75, 20, 5], [112, 29, 7]],
    ),
    (
        "sort by insertion",
        "(func $kernel (param $at i32) (param $n i32) (local $i i32) (local $p i32) (local $v i32)
            (loop $next
                (local.set $p (i32.add (local.get $at) (i32.shl (local.get $i) (i32.const 2))))
                (local.set $v (i32.load (local.get $p)))
                (block $placed
                    (loop $down
                        (br_if $placed (i32.le_u (local.get $p) (local.get $at)))
                        (br_if $placed (i32.le_s (i32.load (i32.sub (local.get $p) (i32.const 4))) (local.get $v)))
                        (i32.store (local.get $p) (i32.load (i32.sub (local.get $p) (i32.const 4))))
                        (local.set $p (i32.sub (local.get $p) (i32.const 4)))
                        (br $down)))
                (i32.store (local.get $p) (local.get $v))
                (br_if $next (i32.lt_u
                    (local.tee $i (i32.add (local.get $i) (i32.const 1)))
                    (local.get $n)))))",
        [[88, 24, 11], [180, 48, 15]],
    ),
    (
        "a function that calls itself",
        "(func $kernel (param $n i32) (result i32)
            (if (result i32) (i32.lt_u (local.get $n) (i32.const 2))
                (then (local.get $n))
                (else (i32.add
                    (call $kernel (i32.sub (local.get $n) (i32.const 1)))
                    (call $kernel (i32.sub (local.get $n) (i32.const 2)))))))",
        [[130, 37, 0], [130, 37, 0]],
    ),
];

/// The instructions of the function of this name.
fn instructions(compiled: &Compiled, name: &str) -> Vec<Instruction> {
    let func = compiled.meta.funcs.iter().find(|f| f.name == name);
    let func = func.unwrap_or_else(|| panic!("no function {name}"));
    let (start, size) = (func.offset as usize, func.size as usize);
    let code = &compiled.code[start..start + size];
    let decoder = Decoder::with_ip(64, code, u64::from(func.offset), DecoderOptions::NONE);
    decoder.into_iter().collect()
}

/// A module with a kernel and a main function that does nothing.
fn module(kernel: &str) -> Vec<u8> {
    let text = format!(
        r#"(module (memory 1) {kernel} (func (export "sip_main") (result i32) i32.const 0)
            (@custom "singularity.manifest" "{{\"name\":\"test\",\"abi\":1}}"))"#
    );
    match wat::parse_str(&text) {
        Ok(bytes) => bytes,
        Err(e) => panic!("the test's module does not parse: {e}\n{text}"),
    }
}

#[test]
fn the_code_of_kernels_is_as_large_as_recorded() {
    let mut wrong = Vec::new();
    for (name, kernel, recorded) in KERNELS {
        let wasm = module(kernel);
        for (mode, recorded) in [MemoryMode::Guard, MemoryMode::Explicit]
            .into_iter()
            .zip(recorded)
        {
            let options = Options {
                cpu: Cpu::Baseline,
                // Nothing calls the kernel.
                unreached: Unreached::Kept,
                ..Options::sip(mode)
            };
            let compiled = match sing_compiler::compile(&wasm, &options) {
                Ok(compiled) => compiled,
                Err(e) => panic!("{name}: {e}"),
            };
            let now = Figures::of(&instructions(&compiled, "kernel"));
            let [bytes, instructions, inner] = recorded;
            let recorded = Figures {
                bytes,
                instructions,
                inner,
            };
            if !now.is_near(recorded) {
                wrong.push(format!("{name}, {mode:?}: {now:?}, recorded: {recorded:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
