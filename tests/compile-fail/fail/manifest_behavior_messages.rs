//! The messages that a behavior names are those of its endpoints, in the direction that it says.
#![deny(unsafe_code)]

use compile_fail::Echo;

sing_sdk::manifest! {
    name: "p",
    endpoints: { server: Echo.Imp:Start, clients: many Echo.Exp:Start },
    behavior: "
        state Start: one {
            server.Say! -> server.Answer? -> Start;
            clients.Say! -> end;
            clients.ChannelClosed? -> end;
        }
    ",
}

fn main() {}
