//! The least that a process can be: it starts and ends. The cost of creating a process is measured
//! with it.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

sing_sdk::manifest! {
    name: "hello0",
    description: "starts and ends",
    stack: 8 KiB,
}

#[sing_sdk::main]
fn main() {}
