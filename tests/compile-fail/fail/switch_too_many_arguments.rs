//! A case binds what the message brings.
#![deny(unsafe_code)]
use compile_fail::*;
use sing_sdk::prelude::*;

pub fn ask(a: Echo::Imp<Echo::Start_Say>) {
    switch_receive! {
        case a.Said(_x, _y) as _ => {}
        case a.ChannelClosed() => {}
    }
}

fn main() {}
