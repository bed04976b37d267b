//! What the network says of its links.

use crate::network::Network;
use sing_sdk::prelude::*;

type Asked = LinksContract::Exp<LinksContract::Ready_Describe>;
type Ready = LinksContract::Exp<LinksContract::Ready>;

impl Network {
    /// Answers a client who asks for a link.
    pub fn describe(&self, number: u32, next: Asked) -> Ready {
        let Some(link) = self.links.get(number as usize) else {
            return next.send_no_link();
        };
        let said = link.describe();
        match Vector::from_slice(&said.addresses) {
            Ok(all) => next.send_link(said.card, said.mtu, all, said.routers, said.servers),
            Err(_) => next.send_no_link(),
        }
    }
}
