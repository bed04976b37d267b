//! A manifest says what it can say.
#![deny(unsafe_code)]

sing_sdk::manifest! { name: "p", privilege: [console] }

fn main() {}
