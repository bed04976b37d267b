//! A behavior is read when the program is built, and a fault in it has its place.
#![deny(unsafe_code)]

use compile_fail::Echo;

sing_sdk::manifest! {
    name: "p",
    endpoints: { server: Echo.Imp:Start },
    behavior: "
        state Start: server.Say! -> Asked;
        state Asked: server.Said -> Start;
    ",
}

fn main() {}
