//! Gives blocks away in ways that could charge another process more than their size, or itself
//! less: `giver HOW`.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use core::time::Duration;
use sing_sdk::{thread, time};

sing_sdk::contract!(
    "
    contract GiftContract {
      in message Give(byte[] in ExHeap block);
      out message Kept(uint number);
      state Start: Give? -> Kept! -> Start;
    }
    "
);

sing_sdk::manifest! {
    name: "giver",
    description: "gives blocks away",
    endpoints: {
        stdout: optional PipeContract.Imp:Start,
        gifts: optional GiftContract.Imp:Start,
    },
    memory: 64 MiB,
}

/// The blocks of which it keeps a part.
const CLUTCHED: usize = 40;

type Gifts = GiftContract::Imp<GiftContract::Start>;

/// Gives blocks until none is taken, or none can be made; returns how many were kept.
fn give(mut gifts: Gifts, mut next: impl FnMut() -> Result<Block, Error>) -> i32 {
    let mut kept = 0;
    while kept < 200
        && let Ok(block) = next()
    {
        match gifts.call_give(Vector::from_block(block)).kept() {
            Ok((number, further)) => (kept, gifts) = (number as i32, further),
            Err(_) => break,
        }
    }
    kept
}

/// A small piece of a large block whose rest is given up.
fn piece() -> Result<Block, Error> {
    let mut block = Block::new(20 << 20)?;
    drop(block.split(4000)?);
    Ok(block)
}

/// Gives as many blocks of 1 MiB, each but for a view or a piece of it, which it keeps; then waits.
fn clutch(
    mut part: impl FnMut(&mut Block) -> Result<Block, Error>,
    gifts: Gifts,
) -> Result<i32, Error> {
    let mut parts = Vec::with_capacity(CLUTCHED);
    let given = give(gifts, || {
        if parts.len() == CLUTCHED {
            return Err(Error::NoResources);
        }
        let mut block = Block::new(1 << 20)?;
        parts.push(part(&mut block)?);
        Ok(block)
    });
    if given as usize != CLUTCHED {
        return Ok(given);
    }
    wait();
}

/// Its thread ends with four bytes of a block whose rest is given away.
fn hide(gifts: Gifts) -> Result<i32, Error> {
    let done = thread::spawn(move || {
        let Ok(mut block) = Block::new(16 << 20) else {
            return;
        };
        if let Ok(rest) = block.split(4) {
            let _ = gifts.call_give(Vector::from_block(rest)).kept();
        }
    })?;
    core::mem::forget(done);
    wait();
}

fn wait() -> ! {
    loop {
        time::sleep(Duration::from_secs(3600));
    }
}

/// Fills its budget with pieces of one size after the other, and keeps one in each group of this
/// many; then says so.
fn fragments(of: usize, gifts: Gifts) -> Result<i32, Error> {
    let mut kept = Vec::with_capacity(40_000);
    let ready = Vector::new(1)?;
    for shift in 6..=17 {
        let size = 1 << shift;
        let each = (of / size).max(1);
        let mut all = Vec::with_capacity(60_000);
        while all.len() < all.capacity()
            && let Ok(block) = Block::new(size)
        {
            all.push(block);
        }
        for (n, block) in all.drain(..).enumerate() {
            if n % each == 0 && kept.len() < kept.capacity() {
                kept.push(block);
            }
        }
    }
    let _gifts = gifts.call_give(ready);
    wait();
}

#[sing_sdk::main]
fn main() -> Result<i32, Error> {
    match (sing_sdk::args::get(1).as_deref(), startup::gifts()) {
        (Some("pieces"), Some(gifts)) => Ok(give(gifts, piece)),
        (Some("large"), Some(gifts)) => Ok(give(gifts, || Block::new(20 << 20))),
        (Some("small"), Some(gifts)) => Ok(give(gifts, || Block::new(40 << 10))),
        (Some("hide"), Some(gifts)) => hide(gifts),
        (Some("viewed"), Some(gifts)) => clutch(|block| block.share(0..64), gifts),
        (Some("cut"), Some(gifts)) => clutch(|block| block.split((1 << 20) - 4), gifts),
        (Some("chunks"), Some(gifts)) => fragments(256 << 10, gifts),
        (Some("pages"), Some(gifts)) => fragments(4 << 10, gifts),
        _ => Ok(-1),
    }
}
