//! Takes as much memory as it is granted, up to 3 GiB, reports the number of megabytes, and waits.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use core::mem::forget;
use sing_sdk::contracts::PingContract;

sing_sdk::manifest! {
    name: "filler",
    description: "takes as much memory as it can get",
    endpoints: {
        stdout: optional PipeContract.Imp:Start,
        asked: optional PingContract.Exp:Start,
    },
    memory: 3 GiB,
}

/// Bytes that it requests at once, at first and at last.
const PIECES: [usize; 3] = [64 << 20, 1 << 20, 64 << 10];

#[sing_sdk::main]
fn main() -> Result<(), Error> {
    let mut had = 0;
    for piece in PIECES {
        loop {
            let mut room: Vec<u8> = Vec::new();
            if room.try_reserve_exact(piece).is_err() {
                break;
            }
            had += piece;
            forget(room);
        }
    }
    let mut exp = startup::asked().ok_or(Error::NotFound)?;
    while let PingContract::exp::Start::Ping(_, asked) = exp.recv() {
        exp = asked.send_pong((had >> 20) as u32);
    }
    Ok(())
}
