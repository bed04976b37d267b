//! The driver of virtio disks (virtio 1.x, device id 2), over memory-mapped registers and PCI
//! alike.
//!
//! It serves `DiskContract` to whoever binds it; who starts it says where in the name space it is.
//! A client's block goes to the device as it came and back to the client: its bytes are not copied,
//! and this driver never looks at them.
//!
//! Invariants:
//! - No client can stop another: [`disk_driver`] has the server.
//! - A device that does not answer in time ends the driver, which is started again and resets it.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

mod disk;

use disk::Disk;
use disk_driver::Server;
use sing_sdk::prelude::*;

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
          disk.ReadLink? -> ( disk.AckReadLink! or disk.NakReadLink! ) -> Serving;
          disk.ChannelClosed? -> end;
          skip -> end;
        }
    ",
}

sing_sdk::arguments! {}

#[sing_sdk::main]
fn main(_: Arguments) -> Result<(), Error> {
    let device = startup::device().ok_or(Error::NotFound)?;
    sing_sdk::reserve(disk_driver::HEAP)?;
    let disk = Disk::start(device)?;
    let lookup = startup::disk().ok_or(Error::NotFound)?;
    Server::new(disk, lookup)?.run()
}
