//! A start-up endpoint is of a contract in scope.
#![deny(unsafe_code)]

sing_sdk::manifest! { name: "p", endpoints: { a: NoSuchContract.Imp:Start } }

fn main() {}
