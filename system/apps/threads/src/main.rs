//! Several threads of one SIP: they share its memory, and the kernel may switch between them at any
//! instruction.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use core::sync::atomic::{AtomicU32, Ordering};
use sing_sdk::sync::Mutex;
use sing_sdk::thread;
use sing_sdk::time::Timeout;

sing_sdk::manifest! {
    name: "threads",
    description: "counts with several threads",
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start },
}

const THREADS: u32 = 4;
const ROUNDS: u32 = 100_000;

static ATOMIC: AtomicU32 = AtomicU32::new(0);
static LOCKED: Mutex<u32> = Mutex::new(0);

sing_sdk::arguments! {}

#[sing_sdk::main]
fn main(_: Arguments) -> Result<i32, Error> {
    let count = || {
        for _ in 0..ROUNDS {
            ATOMIC.fetch_add(1, Ordering::Relaxed);
            *LOCKED.lock() += 1;
        }
        thread::id()
    };
    let started: Result<Vec<_>, Error> = (0..THREADS).map(|_| thread::spawn(count)).collect();
    for handle in started? {
        sing_sdk::sync::wait(&handle, Timeout::FOREVER)?;
        let time = handle.time();
        println!(
            "thread {} has counted ({time:.1?} of execution)",
            handle.join()?
        );
    }
    let (atomic, locked) = (ATOMIC.load(Ordering::Relaxed), *LOCKED.lock());
    println!(
        "atomic {atomic}, locked {locked}, expected {}",
        THREADS * ROUNDS
    );
    if atomic == locked && locked == THREADS * ROUNDS {
        Ok(0)
    } else {
        Err(Error::BadState)
    }
}
