//! The operands of a switch are borrowed until a case fires, and free then.
#![deny(unsafe_code)]
use compile_fail::*;
use sing_sdk::prelude::*;
use sing_sdk::sync::AutoEvent;

pub struct Server {
    clients: EndpointSet<Echo::Exp<Echo::Start>>,
    stop: Option<AutoEvent>,
}

impl Server {
    fn stop(&mut self) -> &AutoEvent {
        self.stop.as_ref().unwrap()
    }

    /// Looking the event up borrows the set, too.
    pub fn run(&mut self) {
        switch_receive! {
            case self.clients[key].Say(x) as client => self.clients.put(key, client.send_said(x)),
            case self.clients[_].ChannelClosed() => {}
            case &*self.stop() => self.stop = None,
        }
    }
}

fn main() {}
