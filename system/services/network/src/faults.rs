//! What was heard beside the data: packets of this machine that have not arrived, and routers.
//!
//! Anybody can say that a packet was lost. So it ends only what has begun and was not answered yet:
//! a connection that exists goes on (RFC 5927).

use crate::address::Address;
use crate::end::{At, Stage};
use crate::network::Network;
use sing_packets::icmp::{Heard, Lost, Protocol, Why};
use sing_sdk::prelude::*;

impl Network {
    /// Does what follows from what was heard.
    pub fn hear(&mut self) {
        for link in 0..self.links.len() {
            for heard in self.links[link].wire.heard() {
                match heard {
                    Heard::Lost(lost) => self.miss(link, &lost),
                    Heard::Advert(said) => self.links[link].hear(&said),
                }
            }
        }
    }

    /// A packet of this machine has not arrived.
    fn miss(&mut self, link: usize, lost: &Lost) {
        let to = (Address::from(lost.to.0), lost.to.1);
        let from = (Address::from(lost.from), lost.port);
        let fault = match lost.why {
            Why::NoPort => TcpFault::Refused,
            Why::NoWay => TcpFault::Unreachable,
        };
        match lost.protocol {
            Protocol::Udp => {
                self.lose_question(lost.port, to);
                self.lose_datagram(link, from, to, fault);
            }
            Protocol::Echo => self.lose_echo(link, lost.port, to.0, fault),
            Protocol::Tcp => self.lose_connection(link, from, to, fault),
        }
    }

    /// A connection that was begun does not come about.
    fn lose_connection(
        &mut self,
        link: usize,
        from: (Address, u16),
        to: (Address, u16),
        fault: TcpFault,
    ) {
        let found = self.streams.iter().find(|(_, stream)| {
            let here = matches!(stream.socket, At::Stack(own, _) if own == link);
            let begun = !stream.connected && !stream.waits && here;
            let own = stream.local.0.is_any() || stream.local.0 == from.0;
            begun && own && stream.local.1 == from.1 && stream.remote == to
        });
        let Some(number) = found.map(|(number, _)| *number) else {
            return;
        };
        let Some(mut stream) = self.streams.remove(&number) else {
            return;
        };
        let mut socket = self.end_of(stream.socket);
        if socket.stage() != Stage::Begun {
            self.streams.insert(number, stream);
            return;
        }
        socket.abort();
        self.refuse(&mut stream, fault);
    }
}
