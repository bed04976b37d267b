//! A manifest names only existing categories.
#![deny(unsafe_code)]

sing_sdk::manifest! { name: "p", category: daemon }

fn main() {}
