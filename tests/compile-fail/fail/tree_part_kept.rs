//! A part of a tree is lent, not given, to who looks at it in its place.
#![deny(unsafe_code)]
use compile_fail::*;
use sing_sdk::rt::Record;

fn steal(mut tree: Record<Node>) -> Option<Record<Node>> {
    tree.with(|node| node.left).flatten()
}

fn main() {}
