//! The other side of what `bench` measures: answers words and blocks, and yields when asked to.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "bench-peer",
    description: "the other side of what bench measures",
    endpoints: { bench: BenchContract.Exp:Start },
}

#[sing_sdk::main]
fn main() {
    use BenchContract::exp::Start;
    let Some(mut bench) = startup::bench() else {
        return;
    };
    loop {
        bench = match bench.recv() {
            Start::Ping(word, next) => next.send_pong(word),
            Start::Give(data, next) => next.send_return(data),
            Start::Yield(times, next) => {
                for _ in 0..times {
                    sing_sdk::thread::yield_now();
                }
                next.send_yielded()
            }
            Start::Closed => return,
        };
    }
}
