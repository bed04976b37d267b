//! A forgotten case is found in code that nobody calls, too, and without making code.
#![deny(unsafe_code)]
#![allow(dead_code)]
use compile_fail::*;
use sing_sdk::prelude::*;

type Asked = C1::Imp<C1::Start_Request>;

fn one(a: Asked) {
    switch_receive! {
        case a.Reply(_x) as _ => {}
        case a.ChannelClosed() => {}
    }
}

fn two(a: Asked, b: Asked) {
    switch_receive! {
        case a.Reply(_x) as _ && b.Reply(_y) as _ => {}
        case a.Error() as _ => {}
        case a.ChannelClosed() => {}
        case b.ChannelClosed() => {}
    }
}

fn set(clients: &mut EndpointSet<Store::Exp<Store::Start>>) {
    switch_receive! {
        case clients[_].Put(_data, _at) as _ => {}
        case clients[_].Name(_name) as _ => {}
        case clients[_].Serve(_service) as _ => {}
        case clients[_].ChannelClosed() => {}
    }
}

fn main() {}
