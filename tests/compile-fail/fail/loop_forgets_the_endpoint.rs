//! A loop must carry the endpoint from round to round.
#![deny(unsafe_code)]
use compile_fail::*;

fn serve(c: C1::Exp<C1::Start>) {
    loop {
        match c.recv() {
            C1::exp::Start::Request(x, c) => c.send_reply(x).close(),
            C1::exp::Start::Closed => return,
        }
    }
}

fn main() {}
