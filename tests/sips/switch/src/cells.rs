//! `TRef`: ownership that is checked at run time.

use crate::{Check, Echo, Test};
use alloc::sync::Arc;
use core::time::Duration;
use sing_sdk::prelude::*;
use sing_sdk::thread::{sleep, spawn};
use sing_sdk::tref::TRef;

extern crate alloc;

pub const ALL: &[Test] = &[
    ("a cell", a_cell),
    ("a full cell takes nothing", full),
    ("a block goes from thread to thread", between_threads),
    ("an acquire waits", waits),
    ("many threads", many_threads),
    ("endpoints and several at once", several),
    ("dropped cells give back", dropped),
];

fn a_cell() -> Check {
    let cell = TRef::new(Vector::from_bytes(b"content")?)?;
    let content = cell.acquire()?;
    let empty = cell.try_acquire()?.is_none();
    let right = content.to_vec() == b"content";
    cell.release(content)?;
    Ok(right && empty && cell.try_acquire()?.is_some())
}

fn full() -> Check {
    let cell = TRef::new(Block::new(1)?)?;
    let Err(refused) = cell.release(Block::new(2)?) else {
        return Ok(false);
    };
    Ok(
        refused.error == Error::BadState
            && refused.content.len() == 2
            && cell.acquire()?.len() == 1,
    )
}

/// A block made by one thread, written by a second, read by the first.
fn between_threads() -> Check {
    let cell = Arc::new(TRef::new(Block::new(8)?)?);
    let theirs = Arc::clone(&cell);
    let thread = spawn(move || {
        let mut block = theirs.acquire()?;
        block.store_u64(0, 42);
        theirs.release(block).map_err(Error::from)
    })?;
    thread.join()??;
    Ok(cell.acquire()?.load_u64(0) == 42)
}

fn waits() -> Check {
    let cell = Arc::new(TRef::new(Text::new("first")?)?);
    let held = cell.acquire()?;
    let theirs = Arc::clone(&cell);
    let thread = spawn(move || theirs.acquire().map(|text| text.get()))?;
    sleep(Duration::from_millis(5));
    drop(held);
    cell.release(Text::new("second")?)?;
    Ok(thread.join()??.as_deref() == Some("second"))
}

/// Counting in a block that one thread at a time owns loses nothing.
fn many_threads() -> Check {
    const THREADS: u64 = 4;
    const ROUNDS: u64 = 500;
    let cell = Arc::new(TRef::new(Block::new(8)?)?);
    let mut threads = Vec::new();
    for _ in 0..THREADS {
        let cell = Arc::clone(&cell);
        threads.push(spawn(move || {
            for _ in 0..ROUNDS {
                let mut block = cell.acquire()?;
                let count = block.load_u64(0);
                block.store_u64(0, count + 1);
                cell.release(block)?;
            }
            Ok::<_, Error>(())
        })?);
    }
    for thread in threads {
        thread.join()??;
    }
    Ok(cell.acquire()?.load_u64(0) == THREADS * ROUNDS)
}

fn several() -> Check {
    let (imp, exp) = Echo::new_channel()?;
    let list = vec![Block::new(1)?, Block::new(2)?];
    let cell = Arc::new(TRef::new((exp, Some(Text::new("x")?), list, 5u32))?);
    let theirs = Arc::clone(&cell);
    let thread = spawn(move || -> Result<bool, Error> {
        let (exp, text, list, number) = theirs.acquire()?;
        let sizes: Vec<usize> = list.iter().map(Block::len).collect();
        let Echo::exp::Start::Say(x, exp) = exp.recv() else {
            return Ok(false);
        };
        let exp = exp.send_said(x + number as i32);
        theirs.release((exp, text, list, 6))?;
        Ok(sizes == [1, 2])
    })?;
    let (x, _imp) = imp.send_say(1).recv_said()?;
    let right = thread.join()??;
    let (_exp, text, list, number) = cell.acquire()?;
    let text = text.and_then(|t| t.get());
    Ok(x == 6 && right && text.as_deref() == Some("x") && list.len() == 2 && number == 6)
}

/// More blocks than there is memory for, if dropped cells kept them.
fn dropped() -> Check {
    for _ in 0..10_000 {
        drop(TRef::new(Block::new(64 << 10)?)?);
    }
    let (imp, exp) = Echo::new_channel()?;
    drop(TRef::new(exp)?);
    Ok(imp.send_say(1).recv_said().is_err())
}
