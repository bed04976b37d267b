//! The papers' own example waits for ever when b closes and a has a reply.
#![deny(unsafe_code)]
use compile_fail::*;
use sing_sdk::prelude::*;

pub fn ask(a: C1::Imp<C1::Start_Request>, b: C1::Imp<C1::Start_Request>) -> i32 {
    switch_receive! {
        case a.Reply(x) as _ && b.Reply(y) as _ => x + y,
        case a.Error() as _ => 1,
        case b.Error() as _ => 2,
        case a.ChannelClosed() => 3,
    }
}

fn main() {
    let _ = ask as fn(_, _) -> _;
}
