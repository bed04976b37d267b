//! The other half of the smallest conversation: answers until nobody asks any more.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "pong",
    description: "answers over PingContract",
    endpoints: { ping: PingContract.Exp:Start },
    stack: 8 KiB,
}

#[sing_sdk::main]
fn main() {
    let Some(mut exp) = startup::ping() else {
        return;
    };
    while let Ok((number, next)) = exp.recv_ping() {
        exp = next.send_pong(number * 2);
    }
}
