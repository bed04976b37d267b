//! Privileges are those that exist.
#![deny(unsafe_code)]

sing_sdk::manifest! { name: "p", privileges: [console, everything] }

fn main() {}
