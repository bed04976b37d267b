//! An endpoint that a case has received from is in its next state, under its new name.
#![deny(unsafe_code)]
use compile_fail::*;
use sing_sdk::prelude::*;

pub fn ask(a: Echo::Imp<Echo::Start_Say>) -> Echo::Imp<Echo::Start_Say> {
    switch_receive! {
        case a.Said(_) as next => drop(next),
        case a.ChannelClosed() => {}
    }
    a
}

fn main() {}
