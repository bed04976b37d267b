//! What a program serves is a contract that is there.
#![deny(unsafe_code)]

sing_sdk::manifest! { name: "p", serves: { p: NoContract } }

fn main() {}
