//! The endpoints and states that a behavior names are there.
#![deny(unsafe_code)]

use compile_fail::Echo;

sing_sdk::manifest! {
    name: "p",
    endpoints: { server: Echo.Imp:Start },
    behavior: "state Start: one { sever.Say! -> server.Said? -> Start; close server -> Ended; }; state Start: end;",
}

fn main() {}
