//! A program has a name.
#![deny(unsafe_code)]

sing_sdk::manifest! { description: "nobody" }

fn main() {}
