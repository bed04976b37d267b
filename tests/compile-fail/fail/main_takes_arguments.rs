//! The program's start takes nothing.
#![deny(unsafe_code)]

#[sing_sdk::main]
fn main(_arguments: Vec<String>) {}
