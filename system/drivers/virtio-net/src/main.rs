//! The driver of virtio network cards (virtio 1.x, device id 1), over memory-mapped registers and
//! PCI alike.
//!
//! It serves `NicContract` to whoever binds it; who starts it says where in the name space it is.
//!
//! Invariant: no client can stop another. [`nic_driver`] has the server.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

mod card;

use card::Card;
use nic_driver::Server;
use sing_sdk::prelude::*;

nic_driver::manifest! {
    name: "virtio-net",
    description: "drives a virtio network card",
    devices: {
        device: ["/virtio/1", "/pci/02/00/1af4/1041", "/pci/02/00/1af4/1000"] {
            registers: [0], interrupt, queues: 2,
        },
    },
}

sing_sdk::arguments! {}

#[sing_sdk::main]
fn main(_: Arguments) -> Result<(), Error> {
    let device = startup::device().ok_or(Error::NotFound)?;
    sing_sdk::reserve(nic_driver::HEAP)?;
    let card = Card::start(device)?;
    let lookup = startup::nic().ok_or(Error::NotFound)?;
    Server::new(card, lookup)?.run()
}
