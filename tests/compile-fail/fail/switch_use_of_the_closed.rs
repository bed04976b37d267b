//! After ChannelClosed() there is no endpoint.
#![deny(unsafe_code)]
use compile_fail::*;
use sing_sdk::prelude::*;

pub fn ask(a: Echo::Imp<Echo::Start_Say>) -> i32 {
    switch_receive! {
        case a.Said(x) as _ => x,
        case a.ChannelClosed() => a.recv_said().map_or(0, |(x, _)| x),
    }
}

fn main() {}
