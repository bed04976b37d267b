//! Sets that are the result of a call, and of an index.
#![deny(unsafe_code)]
use compile_fail::*;
use sing_sdk::prelude::*;

type Clients = EndpointSet<Echo::Exp<Echo::Start>>;

pub fn by_a_call(of: impl Fn(usize) -> Clients) {
    switch_receive! {
        case of(1)[key].Say(x) as client => drop((key, client.send_said(x))),
        case of(1)[_].ChannelClosed() => {}
    }
}

pub fn by_an_index(all: &mut [Clients], i: usize) {
    switch_receive! {
        case all[i][key].Say(x) as client => all[i].put(key, client.send_said(x)),
        case all[i][_].ChannelClosed() => {}
    }
}

fn main() {}
