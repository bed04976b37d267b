//! What a program serves has an endpoint of its own.
#![deny(unsafe_code)]

sing_sdk::manifest! { name: "p", endpoints: { p: PingContract.Imp }, serves: { p: ClockContract } }

fn main() {}
