//! Threads with stacks that are too large to be made in one step: all of them can be used, and the
//! memory comes back.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use core::hint::black_box;
use sing_sdk::prelude::*;
use sing_sdk::sync::Mutex;
use sing_sdk::thread;

sing_sdk::manifest! {
    name: "tall",
    description: "tries threads with large stacks",
    endpoints: { stdout: optional PipeContract.Imp:Start },
    memory: 48 MiB,
    stack: 6 MiB,
}

/// Calls of which each takes some stack.
const DEPTH: u32 = 40_000;
/// Linear memory of each besides.
const SHADOW: usize = 4 << 20;
/// Threads, one after the other: together they have more than the budget.
const ROUNDS: u32 = 12;

/// Held until all threads have started.
static GATE: Mutex<()> = Mutex::new(());

#[inline(never)]
fn descend(depth: u32) -> u32 {
    if depth == 0 {
        return 0;
    }
    1 + black_box(descend as fn(u32) -> u32)(black_box(depth - 1))
}

#[sing_sdk::main]
fn main() -> Result<(), Error> {
    for _ in 0..ROUNDS {
        let depth = thread::spawn_with_stack(SHADOW, || descend(DEPTH))?.join()?;
        if depth != DEPTH {
            println!("tall: {depth} calls instead of {DEPTH}");
        }
    }
    // As many at once as there is room for: the others are refused, and leave nothing behind.
    let mut waiting = Vec::new();
    let gate = GATE.lock();
    let refused = loop {
        match thread::spawn(|| drop(GATE.lock())) {
            Ok(handle) => waiting.push(handle),
            Err(error) => break error,
        }
    };
    println!("tall: {} threads at once, then: {refused}", waiting.len());
    drop(gate);
    for handle in waiting {
        handle.join()?;
    }
    let again = thread::spawn_with_stack(SHADOW, || descend(DEPTH))?.join()?;
    println!("tall: {again} calls in the end");
    Ok(())
}
