//! A start-up endpoint is in a state that its contract has.
#![deny(unsafe_code)]

use compile_fail::Echo;

sing_sdk::manifest! { name: "p", endpoints: { a: Echo.Imp:Begin } }

fn main() {}
