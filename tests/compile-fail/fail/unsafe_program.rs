//! Programs have no unsafe code.
#![deny(unsafe_code)]
use sing_sdk::rt::{Block, Handle};

fn forge() -> Block {
    // SAFETY: there is no reason why this would hold.
    unsafe { Block::from_raw(Handle::from_raw(42)) }
}

fn main() {}
