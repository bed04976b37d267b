//! The driver of virtio disks (virtio 1.x, device id 2), over memory-mapped registers and PCI
//! alike.
//!
//! It serves `DiskContract` to whoever binds it; who starts it says where in the name space it is.
//! A client's block goes to the device as it came and back to the client: its bytes are not copied,
//! and this driver never looks at them.
//!
//! Invariant: no client can stop another. Each has one request at a time; a request that the device
//! has no room for waits here, at most one for each client, and the others go on.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

mod disk;
mod server;

use disk::Disk;
use server::Server;
use sing_sdk::prelude::*;
use sing_sdk::provider::Provider;

sing_sdk::manifest! {
    name: "virtio-blk",
    description: "drives a virtio disk",
    category: driver,
    serves: { disk: DiskContract },
    endpoints: { stderr: optional PipeContract.Imp:Start },
    devices: {
        device: ["/virtio/2", "/pci/01/00/1af4/1042", "/pci/01/00/1af4/1001"] {
            registers: [0], interrupt, queues: 1,
        },
    },
    memory: 96 MiB,
    behavior: "
        // Without a device that works, it ends at once.
        state Start: ( disk.Success! -> Serving or stderr.Write! -> end or skip -> end );
        // The device's requests are none of the channels'.
        state Serving: one {
          disk.Bind? -> ( disk.AckBind! or disk.NakBind! ) -> Serving;
          disk.Find? -> ( disk.AckFind! or disk.NakFind! ) -> Serving;
          disk.Notify? -> disk.NakNotify! -> Serving;
          disk.Register? -> disk.NakRegister! -> Serving;
          disk.Deregister? -> disk.NakDeregister! -> Serving;
          disk.Link? -> disk.NakLink! -> Serving;
          disk.ReadLink? -> disk.NakReadLink! -> Serving;
          disk.ChannelClosed? -> end;
          skip -> end;
        }
    ",
}

sing_sdk::arguments! {}

/// The size to which the heap is grown at the start: clients and their requests need no more.
const HEAP: usize = 1 << 20;

/// Channels at a time, of which a program has a ninth at most: with the largest block on each, 1 MiB,
/// that is well within the budget. A block for which there is no room would close an innocent
/// channel.
const CLIENTS: usize = 512;

#[sing_sdk::main]
fn main(_: Arguments) -> Result<(), Error> {
    let device = startup::device().ok_or(Error::NotFound)?;
    sing_sdk::reserve(HEAP)?;
    let disk = Disk::start(device)?;
    let lookup = startup::disk().ok_or(Error::NotFound)?;
    let provider = Provider::new(lookup, DiskContract::Exp::send_success)?.at_most(CLIENTS);
    Server::new(disk, provider).run()
}
