//! Keeps every block that it is given, and after each takes a megabyte for itself, for a moment:
//! received blocks must not prevent that. With a channel to a name server it is a service, which goes
//! on when it has no room for a gift or a request.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use sing_sdk::door::{Door, Place, Turned};
use sing_sdk::rt::{Endpoint, NoRoom};
use sing_sdk::walk::{Directories, Entry};

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
        lookup: optional NamespaceContract.Exp:Start,
    },
    memory: 8 MiB,
}

/// Bytes that it needs for itself.
const OWN: usize = 1 << 20;

type Gifts = GiftContract::Exp<GiftContract::Start>;

/// Tries of a request for which it has no room.
const TRIES: usize = 50;

/// A place that takes no client.
struct Nowhere;

impl Directories for Nowhere {
    fn list(&mut self, _: &str, _: Option<&str>, _: usize) -> Result<Vec<Entry>, Refusal> {
        Err(Refusal::NotFound)
    }
}

impl Place for Nowhere {
    fn bind(&mut self, _: &str, _: u32, client: Endpoint) -> Result<(), Turned> {
        Err((Refusal::NotFound, client))
    }
}

/// Keeps gifts until it has no room for another; then tries to serve, and makes room only after
/// that. Refuses one client, and ends with the number of gifts.
fn serve(
    mut gifts: Gifts,
    lookup: NamespaceContract::Exp<NamespaceContract::Start>,
) -> Result<i32, Error> {
    let mut door = Door::new(lookup.send_success());
    let (mut kept, mut number, mut full) = (Vec::with_capacity(64), 0, false);
    loop {
        match gifts.receive() {
            Ok(GiftContract::exp::Start::Give(block, next)) => {
                kept.push(block);
                number += 1;
                gifts = next.send_kept(number);
            }
            Ok(GiftContract::exp::Start::Closed) => break,
            Err(NoRoom(same)) => {
                gifts = same;
                // It needs so much of its reserve itself that there is no room for a path either.
                kept.push(Vector::new(OWN)?);
                for _ in 0..TRIES {
                    door = door.answer(&mut Nowhere)?;
                }
                kept.clear();
                full = true;
            }
        }
    }
    door.answer(&mut Nowhere)?;
    Ok(if full { 0 } else { -1 })
}

#[sing_sdk::main]
fn main() -> Result<i32, Error> {
    let mut gifts = startup::gifts().ok_or(Error::NotFound)?;
    if let Some(lookup) = startup::lookup() {
        return serve(gifts, lookup);
    }
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
