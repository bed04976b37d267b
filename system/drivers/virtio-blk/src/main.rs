//! The driver of virtio disks (virtio 1.x, device id 2), over memory-mapped registers and PCI alike.
//!
//! It registers a disk in the name space, at the path of its argument, and serves `DiskContract` to
//! whoever binds it. A client's block goes to the device as it came and back to the client: its bytes
//! are not copied, and this driver never looks at them.
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
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::provider::Provider;

sing_sdk::manifest! {
    name: "virtio-blk",
    description: "drives a virtio disk",
    endpoints: { names: NamespaceContract.Imp:Start },
    devices: {
        disk: ["/virtio/2", "/pci/01/00/1af4/1042", "/pci/01/00/1af4/1001"] {
            registers: [0], interrupt, queues: 1,
        },
    },
    memory: 32 MiB,
    behavior: "
        // Without a name or with a device that does not work, it ends at once.
        state Start: ( names.Success? -> Registering or names.ChannelClosed? -> end or skip -> end );
        state Registering: names.Register! -> (
          names.AckRegister? -> Serving or names.NakRegister? -> end or names.ChannelClosed? -> end );
        // From now on it communicates only with clients that the name server hands over.
        state Serving: skip -> end;
    ",
}

sing_sdk::arguments! {
    /// Where the disk is to be in the name space: /dev/disk0.
    path: one String "PATH";
}

/// The size to which the heap is grown at the start: clients and their requests need no more.
const HEAP: usize = 1 << 20;

#[sing_sdk::main]
fn main(arguments: Arguments) -> Result<(), Error> {
    let device = startup::disk().ok_or(Error::NotFound)?;
    sing_sdk::reserve(HEAP)?;
    let disk = Disk::start(device)?;
    let mut names = Names::new(startup::names().ok_or(Error::NotFound)?)?;
    let provider =
        Provider::register(&mut names, &arguments.path, DiskContract::Exp::send_success)?;
    Server::new(disk, provider).run()
}
