//! A manifest names only existing privileges.
#![deny(unsafe_code)]

sing_sdk::manifest! { name: "p", privileges: [console, everything] }

fn main() {}
