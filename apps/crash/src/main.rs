//! Crashes in the way that its argument names. Whatever it does, it is alone in what happens next.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use core::hint::black_box;

sing_sdk::manifest! {
    name: "crash",
    description: "crashes: crash oob|unreachable|div0|stack|memory|handle|block|message|panic",
    endpoints: { stderr: optional PipeContract.Imp:Start },
    memory: 4 MiB,
}

/// Ackermann's function: calls itself deeper than any stack.
fn overflow_the_stack(m: u64, n: u64) -> u64 {
    match (m, n) {
        (0, n) => n + 1,
        (m, 0) => overflow_the_stack(m - 1, 1),
        (m, n) => overflow_the_stack(m - 1, overflow_the_stack(m, n - 1)),
    }
}

fn use_too_much_memory() {
    let mut hoard = Vec::new();
    loop {
        hoard.push(black_box(vec![1_u8; 64 << 10]));
    }
}

#[sing_sdk::main]
fn main() -> i32 {
    let how = sing_sdk::args::get(1).unwrap_or_default();
    match how.as_str() {
        "oob" => drop(black_box(sing_sdk::wrong::read_memory(black_box(
            0xffff_0000,
        )))),
        "unreachable" => sing_sdk::wrong::unreachable(),
        "div0" => drop(black_box(sing_sdk::wrong::divide(
            black_box(1),
            black_box(0),
        ))),
        "stack" => drop(black_box(overflow_the_stack(black_box(3), black_box(30)))),
        "memory" => use_too_much_memory(),
        "handle" => sing_sdk::wrong::forge_handle(black_box(0x1234_5678)),
        "block" => drop(Block::new(16).map(|b| b.load_u8(black_box(16)))),
        "message" => drop(sing_sdk::wrong::speak_out_of_turn()),
        "panic" => panic!("as asked"),
        _ => {
            eprintln!("usage: crash oob|unreachable|div0|stack|memory|handle|block|message|panic");
            return 2;
        }
    }
    eprintln!("crash: survived {how}");
    1
}
