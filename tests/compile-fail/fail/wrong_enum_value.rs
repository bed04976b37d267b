//! An enum has the values of the contract.
#![deny(unsafe_code)]
use compile_fail::*;

fn colour() -> Colour {
    Colour::Blue
}

fn main() {}
