//! Every message that can come needs a case.
#![deny(unsafe_code)]
use compile_fail::*;
use sing_sdk::prelude::*;

pub fn ask(a: C1::Imp<C1::Start_Request>) -> i32 {
    switch_receive! {
        case a.Reply(x) as _ => x,
        case a.ChannelClosed() => 0,
    }
}

fn main() {
    let _ = ask as fn(_) -> _;
}
