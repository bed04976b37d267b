//! Keeps every block that it is given, and after each takes a megabyte for itself, for a moment:
//! received blocks must not prevent that.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

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
    name: "keeper",
    description: "keeps what it is given",
    endpoints: {
        stdout: optional PipeContract.Imp:Start,
        gifts: GiftContract.Exp:Start,
    },
    memory: 8 MiB,
}

/// Bytes that it needs for itself.
const OWN: usize = 1 << 20;

#[sing_sdk::main]
fn main() -> Result<i32, Error> {
    let mut gifts = startup::gifts().ok_or(Error::NotFound)?;
    let mut kept = Vec::with_capacity(4096);
    loop {
        match gifts.recv_give() {
            Ok((block, next)) => {
                kept.push(block);
                drop(Vector::<u8>::new(OWN)?);
                gifts = next.send_kept(kept.len() as u32);
            }
            // It has no room, or no more blocks come: it continues with those that it has.
            Err(_) => return Ok(Vector::<u8>::new(OWN).map_or(-1, |_| kept.len() as i32)),
        }
    }
}
