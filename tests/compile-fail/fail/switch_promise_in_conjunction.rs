//! What was received with a message that breaks its promise could not be given back.
#![deny(unsafe_code)]
use compile_fail::*;
use sing_sdk::prelude::*;

pub fn serve(c: C1::Exp<C1::Start>, e: Echo::Exp<Echo::Start>) -> i32 {
    switch_receive! {
        case e.Say(x) as _ && c.Request(y) as _ => x + y,
        case c.ChannelClosed() => 0,
        else wait
    }
}

fn main() {
    let _ = serve as fn(_, _) -> _;
}
