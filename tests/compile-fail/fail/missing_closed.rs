//! Every receive may find the channel closed.
#![deny(unsafe_code)]
use compile_fail::*;

fn ask(c: C1::Imp<C1::Start>) -> i32 {
    match c.call_request(1) {
        C1::imp::Start_Request::Reply(y, _c) => y,
        C1::imp::Start_Request::Error(_c) => 0,
    }
}

fn main() {}
