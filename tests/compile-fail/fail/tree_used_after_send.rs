//! A tree moves as a whole.
#![deny(unsafe_code)]
use compile_fail::*;
use sing_sdk::rt::Record;

fn plant(mut tree: Record<Node>, forest: Forest::Imp<Forest::Start>) {
    forest.send_plant(tree).close();
    tree.with(|node| node.value = 1);
}

fn main() {}
