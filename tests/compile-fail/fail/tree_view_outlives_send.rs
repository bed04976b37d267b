//! A borrowed part of a tree cannot outlive the send of the tree.
#![deny(unsafe_code)]
use compile_fail::*;
use sing_sdk::rt::Record;

fn look(mut tree: Record<Node>, forest: Forest::Imp<Forest::Start>) {
    let mut name = None;
    tree.with(|node| name = Some(&node.name));
    forest.send_plant(tree).close();
    drop(name);
}

fn main() {}
