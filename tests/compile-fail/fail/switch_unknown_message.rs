//! A case names messages of the contract.
#![deny(unsafe_code)]
use compile_fail::*;
use sing_sdk::prelude::*;

pub fn ask(a: C1::Imp<C1::Start_Request>) {
    switch_receive! {
        case a.Replay(_x) as _ => {}
        case a.Error() as _ => {}
        case a.ChannelClosed() => {}
    }
}

fn main() {}
