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
    let Some(bench) = startup::bench() else {
        return;
    };
    let mut request = bench.recv();
    loop {
        // Each answer waits for the next request in the same call.
        request = match request {
            Start::Ping(word, next) => next.call_pong(word),
            Start::Give(data, next) => next.call_return(data),
            Start::Yield(times, next) => {
                for _ in 0..times {
                    sing_sdk::thread::yield_now();
                }
                next.call_yielded()
            }
            Start::Closed => return,
        };
    }
}
