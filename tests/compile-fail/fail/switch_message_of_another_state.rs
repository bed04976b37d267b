//! A case names messages that can come in the endpoint's state.
#![deny(unsafe_code)]
use compile_fail::*;
use sing_sdk::prelude::*;

pub fn serve(c: C1::Exp<C1::Start>, b: C1::Imp<C1::Start_Request>) {
    switch_receive! {
        case c.Request(_) as _ => {}
        case c.ChannelClosed() => {}
        case b.Request(_) as _ => {}
        else wait
    }
}

fn main() {}
