//! There is no second owner of a block.
#![deny(unsafe_code)]
use sing_sdk::rt::Block;

fn twice(block: &Block) -> Block {
    block.clone()
}

fn main() {}
