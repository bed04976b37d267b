//! The driver of network cards of the 8254x family (Intel 82540EM, QEMU's `e1000`), over PCI.
//!
//! It serves `NicContract` to whoever binds it; who starts it says where in the name space it is.
//! The device masters the bus, so this driver is started only if an IOMMU confines it: the device
//! reaches one block of the driver's, with rings and frames.
//!
//! Invariant: no client can stop another. [`nic_driver`] has the server.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

mod card;
mod register;
mod ring;

use card::Card;
use nic_driver::Server;
use sing_sdk::prelude::*;

nic_driver::manifest! {
    name: "e1000",
    description: "drives a network card of the 8254x family",
    devices: {
        device: ["/pci/02/00/8086/100e"] { registers: [0], interrupt, dma: 1 MiB },
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
