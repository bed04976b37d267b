//! A tool that is hostile: does what its call says, all that a tool should not.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

use alloc::vec;
use alloc::vec::Vec;
use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "rogue",
    description: "does what a tool should not",
    endpoints: { calls: CallContract.Exp:Start },
    memory: 8 MiB,
}

sing_sdk::arguments! {}

/// Takes memory until there is none.
fn hoard() -> ! {
    let mut all: Vec<Vec<u8>> = Vec::new();
    loop {
        all.push(vec![1; 64 << 10]);
    }
}

#[sing_sdk::main]
fn main(_: Arguments) -> Result<(), Error> {
    use CallContract::exp::Start;
    let Start::Call(bytes, next) = startup::calls().ok_or(Error::NotFound)?.recv() else {
        return Ok(());
    };
    match &bytes.to_vec()[..] {
        br#""loop""# => loop {
            core::hint::spin_loop();
        },
        br#""wait""# => sing_sdk::time::sleep(core::time::Duration::from_secs(3600)),
        br#""hoard""# => hoard(),
        br#""crash""# => panic!("as it was told"),
        br#""flood""# => drop(next.call_answer(Vector::from_bytes(&vec![b' '; 1 << 20])?)),
        br#""nonsense""# => drop(next.call_answer(Vector::from_bytes(b"{\"result\":")?)),
        _ => drop(next.call_answer(Vector::from_bytes(b"\"it does nothing\"")?)),
    }
    Ok(())
}
