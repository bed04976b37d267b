//! The other half of the smallest conversation: answers until the other side closes.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "pong",
    description: "answers over PingContract",
    endpoints: { ping: PingContract.Exp:Start },
    stack: 8 KiB,
    behavior: "
        state Start: one {
          skip -> end;
          ping.Ping? -> ping.Pong! -> Start;
          ping.ChannelClosed? -> end;
        }
    ",
}

sing_sdk::arguments! {}

#[sing_sdk::main]
fn main(_: Arguments) {
    use PingContract::exp::Start;
    let Some(ping) = startup::ping() else {
        return;
    };
    let mut request = ping.recv();
    while let Start::Ping(number, next) = request {
        // Answers, and waits for the next question.
        request = next.call_pong(number * 2);
    }
}
