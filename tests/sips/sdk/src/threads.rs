//! Threads and their stacks.

use crate::{Check, Test};
use alloc::sync::Arc;
use core::hint::black_box;
use core::time::Duration;
use sing_sdk::prelude::*;
use sing_sdk::set::Refused;
use sing_sdk::thread::{sleep, spawn, spawn_with_stack};
use sing_sdk::tref::{TRef, Tracked};

extern crate alloc;

pub const ALL: &[Test] = &[
    ("a stack is used to its end", to_the_end),
    (
        "a cell that cannot be emptied stays full",
        cannot_be_emptied,
    ),
];

/// Uses about this many KiB of the stack.
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

/// Number 1 fails, and takes its time to do so.
struct Stubborn(u32);

impl Tracked for Stubborn {
    type Parked = u32;

    fn park(self) -> Result<u32, Refused<Self>> {
        Ok(self.0)
    }

    fn unpark(parked: u32) -> Result<Self, Refused<u32>> {
        sleep(Duration::from_millis(20));
        match parked {
            1 => Err(Refused {
                content: parked,
                error: Error::NoResources,
            }),
            _ => Ok(Stubborn(parked)),
        }
    }
}

/// While one thread fails to take the content, another can put nothing in its place.
fn cannot_be_emptied() -> Check {
    let cell = Arc::new(TRef::new(Stubborn(1)).map_err(Error::from)?);
    let theirs = Arc::clone(&cell);
    let thread = spawn(move || theirs.try_acquire().map(|content| content.map(|c| c.0)))?;
    sleep(Duration::from_millis(10));
    let second = cell
        .release(Stubborn(2))
        .map_err(|r| (r.content.0, r.error));
    let first = thread.join()?;
    Ok(first == Err(Error::NoResources) && second == Err((2, Error::BadState)))
}

/// A thread needs more stack than it has; the program is ended with a message when the thread ends.
pub fn leave_the_stack() {
    // The memory that the thread overwrites.
    let below = black_box(vec![0_u8; 64 << 10]);
    if let Ok(thread) = spawn_with_stack(16 << 10, || deep(20)) {
        sleep(Duration::from_millis(20));
        println!("survived: {:?}", thread.join());
    }
    drop(below);
}
