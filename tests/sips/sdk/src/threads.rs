//! Threads and their stacks.

use crate::{Check, Test};
use core::hint::black_box;
use sing_sdk::prelude::*;
use sing_sdk::thread::{sleep, spawn_with_stack};

pub const ALL: &[Test] = &[("a stack is used to its end", to_the_end)];

/// Uses about so many KiB of the stack.
#[inline(never)]
fn deep(kib: usize) -> usize {
    let mut room = [kib as u8; 1000];
    black_box(&mut room);
    match kib {
        0 => 0,
        _ => deep(kib - 1) + usize::from(black_box(&mut room)[0] > 0),
    }
}

fn to_the_end() -> Check {
    let mut threads = Vec::new();
    for _ in 0..8 {
        threads.push(spawn_with_stack(16 << 10, || deep(14))?);
    }
    for thread in threads {
        if thread.join()? != 14 {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A thread needs more stack than it has; the program is told so when it ends.
pub fn leave_the_stack() {
    // What the thread writes over.
    let below = black_box(vec![0_u8; 64 << 10]);
    if let Ok(thread) = spawn_with_stack(16 << 10, || deep(20)) {
        sleep(core::time::Duration::from_millis(20));
        println!("survived: {:?}", thread.join());
    }
    drop(below);
}
