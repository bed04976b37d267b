//! A message that cannot come in this state cannot be handled either.
#![deny(unsafe_code)]
use compile_fail::*;

fn serve(c: C1::Exp<C1::Start>) {
    match c.recv() {
        C1::exp::Start::Request(_x, _c) => {}
        C1::exp::Start::Error(_c) => {}
        C1::exp::Start::Closed => {}
    }
}

fn main() {}
