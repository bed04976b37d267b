//! Endpoints of a set close, too.
#![deny(unsafe_code)]
use compile_fail::*;
use sing_sdk::prelude::*;

pub fn serve(clients: &mut EndpointSet<Echo::Exp<Echo::Start>>) {
    switch_receive! {
        case clients[key].Say(x) as client => clients.put(key, client.send_said(x)),
    }
}

fn main() {
    let _ = serve as fn(&mut _);
}
