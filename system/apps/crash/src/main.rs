//! Crashes in the way that its argument names. The kernel ends this process, and no other.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use core::hint::black_box;

sing_sdk::manifest! {
    name: "crash",
    description: "crashes: crash HOW, see crash --help",
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start },
    memory: 4 MiB,
}

sing_sdk::choices! {
    /// The way to crash.
    How: "oob" Oob, "unreachable" Unreachable, "div0" DivideByZero, "stack" Stack, "memory" Memory, "handle" Handle,
        "block" OutOfBlock, "message" Message, "panic" Panic
}

sing_sdk::arguments! {
    /// The way to crash.
    how: one How "HOW";
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
fn main(Arguments { how }: Arguments) -> i32 {
    match how {
        How::Oob => drop(black_box(sing_sdk::wrong::read_memory(black_box(
            0xffff_0000,
        )))),
        How::Unreachable => sing_sdk::wrong::unreachable(),
        How::DivideByZero => drop(black_box(sing_sdk::wrong::divide(
            black_box(1),
            black_box(0),
        ))),
        How::Stack => drop(black_box(overflow_the_stack(black_box(3), black_box(30)))),
        How::Memory => use_too_much_memory(),
        How::Handle => sing_sdk::wrong::forge_handle(black_box(0x1234_5678)),
        How::OutOfBlock => drop(Block::new(16).map(|b| b.load_u8(black_box(16)))),
        How::Message => drop(sing_sdk::wrong::speak_out_of_turn()),
        How::Panic => panic!("as asked"),
    }
    eprintln!("crash: survived {how:?}");
    1
}
