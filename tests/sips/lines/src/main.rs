//! Dies in functions that are inlined into each other. It is the one program that is built with lines
//! (`Cargo.toml` of the workspace): its crash report names them. Or it lives on, for a debugger: waits for a
//! message that never comes, with a secret in its memory, does not stop calculating, or comes to a place that no
//! other of these comes to.
//!
//! The test (`tests/system/lines.test`) has the numbers of the lines that are marked here.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use core::hint::black_box;
use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "lines",
    description: "crashes in inlined functions, or lives on: lines HOW",
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start },
}

sing_sdk::choices! {
    /// The way to crash, or to live on.
    How: "trap" Trap, "panic" Panic, "handle" Handle, "wait" Wait, "spin" Spin, "stop" Stop
}

sing_sdk::arguments! {
    /// The way to crash, or to live on.
    how: one How "HOW";
}

#[inline(always)]
fn innermost(how: How) -> u32 {
    match how {
        #[cfg(target_arch = "wasm32")]
        How::Trap => core::arch::wasm32::unreachable(), // innermost, trap
        #[cfg(not(target_arch = "wasm32"))]
        How::Trap => 0,
        How::Panic => [1, 2, 3][black_box(3)], // innermost, panic
        How::Handle => {
            sing_sdk::wrong::forge_handle(black_box(0x1234_5678)); // innermost, handle
            0
        }
        How::Wait => wait(),
        How::Spin => spin(),
        How::Stop => stop(),
    }
}

#[inline(always)]
fn middle(how: How) -> u32 {
    1 + innermost(how) // middle
}

#[inline(never)]
fn outermost(how: How) -> u32 {
    2 + black_box(middle(how)) // outermost
}

#[sing_sdk::main]
fn main(Arguments { how }: Arguments) -> i32 {
    black_box(outermost(how)); // main
    eprintln!("lines: survived");
    1
}

sing_sdk::contract!(
    "
    contract Never {
      in message Come();
      state Start: Come? -> closed;
    }
    "
);

/// Waits for a message that never comes. The secret is nowhere but in the memory of who runs this: the image
/// has a part of it only.
#[inline(never)]
fn wait() -> u32 {
    let mut secret = *b"the secret of ................";
    for (i, byte) in secret.iter_mut().enumerate().skip(14) {
        *byte = b'a' + (black_box(i as u8) * 7) % 26; // the secret
    }
    // And of the exchange heap.
    let Ok(mut block) = Vector::<u8>::new(secret.len()) else {
        return 3;
    };
    for (i, byte) in secret.iter().enumerate() {
        block.set(i, byte.to_ascii_uppercase());
    }
    black_box(&mut secret);
    let Ok((_sender, receiver)) = Never::new_channel() else {
        return 3;
    };
    let came = receiver.recv_come().is_ok(); // wait
    u32::from(black_box(&secret)[0]) + block.len() as u32 + u32::from(came)
}

/// Calculates for ever, in one line, as it is stopped anywhere in it.
#[inline(never)]
#[rustfmt::skip]
fn spin() -> u32 {
    while black_box(1) != 0 {} // spin
    0
}

/// Is stopped at its end by a debugger.
#[inline(never)]
fn stop() -> u32 {
    black_box(1)
} // stop
