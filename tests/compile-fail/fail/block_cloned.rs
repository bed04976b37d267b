//! A block has no second owner.
#![deny(unsafe_code)]
use sing_sdk::rt::Block;

fn twice(block: &Block) -> Block {
    block.clone()
}

fn main() {}
