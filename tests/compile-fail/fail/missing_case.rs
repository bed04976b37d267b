//! Every message that may come must be handled.
#![deny(unsafe_code)]
use compile_fail::*;

fn ask(c: C1::Imp<C1::Start>) -> i32 {
    match c.send_request(1).recv() {
        C1::imp::Start_Request::Reply(y, _c) => y,
        C1::imp::Start_Request::Closed => 0,
    }
}

fn main() {}
