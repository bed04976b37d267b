//! What a program uses is a path.
#![deny(unsafe_code)]

sing_sdk::manifest! { name: "p", uses: { clock: ClockContract } }

fn main() {}
