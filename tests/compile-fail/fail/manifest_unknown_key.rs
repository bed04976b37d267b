//! A manifest has only known keys.
#![deny(unsafe_code)]

sing_sdk::manifest! { name: "p", privilege: [console] }

fn main() {}
