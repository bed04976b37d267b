//! The exporting side cannot reply before it was asked.
#![deny(unsafe_code)]
use compile_fail::*;

fn serve(c: C1::Exp<C1::Start>) {
    c.send_reply(1).close();
}

fn main() {}
