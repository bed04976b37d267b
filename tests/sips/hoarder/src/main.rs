//! Has as much as its budget pays for, in the shapes that take longest to free or to move: a tree
//! of very many blocks, one very large block. Frees it, has it again, and ends with it. Others must
//! not notice.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;
use sing_sdk::rt::Record;

sing_sdk::contract!(
    "
    rep struct Link {
      Link*? in ExHeap next;
    }
    contract HoardContract {
      in message Put(Link* in ExHeap list);
      state Start: Put? -> closed;
    }
    "
);

sing_sdk::manifest! {
    name: "hoarder",
    description: "keeps the kernel busy with what it has",
    memory: 256 MiB,
}

const BLOCKS: usize = 400_000;
const LARGE: usize = 48 << 20;

#[sing_sdk::main]
fn main() -> Result<(), Error> {
    drop(list()?);
    let mut block = Block::new(LARGE)?;
    block.write(0, &vec![7; LARGE]);
    drop(block);
    core::mem::forget((list()?, Block::new(LARGE)?));
    Ok(())
}

fn list() -> Result<Record<Link>, Error> {
    let mut list = Record::new(Link { next: None })?;
    for _ in 0..BLOCKS {
        list = Record::new(Link { next: Some(list) })?;
    }
    Ok(list)
}
