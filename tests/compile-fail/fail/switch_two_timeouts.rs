//! A switch has at most one time-out.
#![deny(unsafe_code)]
use compile_fail::*;
use sing_sdk::prelude::*;

pub fn ask(a: Echo::Imp<Echo::Start_Say>) {
    switch_receive! {
        case a.Said(_) as _ => {}
        case a.ChannelClosed() => {}
        timeout core::time::Duration::ZERO => {}
        deadline core::time::Duration::ZERO => {}
    }
}

fn main() {}
