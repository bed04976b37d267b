//! The endpoint in its next state has another type.
#![deny(unsafe_code)]
use compile_fail::*;
use sing_sdk::prelude::*;

pub fn ask(mut a: Echo::Imp<Echo::Start_Say>) {
    loop {
        switch_receive! {
            case a.Said(_) as next => a = next,
            case a.ChannelClosed() => return,
        }
    }
}

fn main() {}
