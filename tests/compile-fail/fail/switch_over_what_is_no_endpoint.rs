//! Only endpoints have messages.
#![deny(unsafe_code)]
use sing_sdk::prelude::*;

pub fn wait(event: sing_sdk::sync::AutoEvent) {
    switch_receive! {
        case event.ChannelClosed() => {}
        else wait
    }
}

fn main() {}
