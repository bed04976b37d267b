//! A block belongs to one thread; others get it by message.
#![deny(unsafe_code)]
use sing_sdk::rt::Block;

fn needs_send<T: Send>(_: T) {}

fn give(block: Block) {
    needs_send(block);
}

fn main() {}
