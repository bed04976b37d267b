//! An endpoint has one of two sides.
#![deny(unsafe_code)]



sing_sdk::manifest! { name: "p", endpoints: { a: Echo.Client:Start } }

fn main() {}
