//! The importing side cannot send a message of the exporting side.
#![deny(unsafe_code)]
use compile_fail::*;

fn ask(c: C1::Imp<C1::Start_Request>) {
    c.send_reply(1).close();
}

fn main() {}
