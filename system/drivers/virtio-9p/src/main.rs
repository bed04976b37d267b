//! The driver of directories of the host (virtio 1.x, device id 9; 9P2000.L), over memory-mapped
//! registers and PCI alike.
//!
//! It serves `DirectoryContract` and `FileContract` at the path that the device's mount tag says and
//! below it. Which paths those may be stands in its arguments: it is the policy of the system's
//! manifest, and the host that of what is served.
//!
//! Invariants:
//! - No client can stop another: each has one request at a time, of a bounded size, and each origin
//!   its share of what can be open, but for a system of one program. The host is waited for, by all of
//!   them, for a bounded time.
//! - A client that closes its channel, in any state, leaves nothing behind.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

mod device;

use device::{Bad, Host};
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use virtio_9p::{Server, Session};

sing_sdk::manifest! {
    name: "virtio-9p",
    description: "serves a directory of the host",
    category: driver,
    endpoints: { names: NamespaceContract.Imp:Start, stderr: optional PipeContract.Imp:Start },
    devices: {
        device: ["/virtio/9", "/pci/00/02/1af4/1049"] {
            registers: [0], interrupt, queues: 1,
        },
    },
    memory: 96 MiB,
}

sing_sdk::arguments! {
    /// One program is all that uses the directory: it may have everything open that can be.
    only: flag "--only";
    /// The directory may be at these paths or below them; anywhere, if there are none.
    allowed: many String "PATH";
}

/// The size to which the heap is grown at the start.
const HEAP: usize = 1 << 20;

#[sing_sdk::main]
fn main(Arguments { only, allowed }: Arguments) -> Result<(), Error> {
    let device = startup::device().ok_or(Error::NotFound)?;
    let mut names = Names::new(startup::names().ok_or(Error::NotFound)?)?;
    sing_sdk::reserve(HEAP)?;
    let (host, path) = match Host::start(device) {
        Ok(started) => started,
        Err(Bad::System(error)) => return Err(error),
        Err(Bad::NoTag) => {
            sing_sdk::log!(
                "virtio-9p: a device without a mount tag; give it the path where its directory is to be"
            );
            return Ok(());
        }
        Err(Bad::Tag(bad)) => {
            sing_sdk::log!("virtio-9p: the mount tag of a device is no path: {bad}");
            return Ok(());
        }
    };
    let is_allowed = |above: &String| sing_p9::is_within(&path, above);
    if !allowed.is_empty() && !allowed.iter().any(is_allowed) {
        sing_sdk::log!(
            "virtio-9p: no directory of the host at {path}: this system has them at {} and below; \
             choose such a path, or change the driver's arguments in the system's manifest",
            allowed.join(", ")
        );
        return Ok(());
    }
    let Ok(session) = Session::begin(host) else {
        sing_sdk::log!(
            "virtio-9p: {path}: the device does not speak 9P2000.L, or has no directory"
        );
        return Err(Error::BadState);
    };
    let lookup = match names.register(&path) {
        Ok(lookup) => lookup,
        Err(error) => {
            sing_sdk::log!(
                "virtio-9p: no directory of the host at {path}: {error}; choose another path"
            );
            return Ok(());
        }
    };
    let lost = Server::announced(session, lookup, only)?.run()?;
    if lost {
        // The next start begins anew.
        sing_sdk::log!("virtio-9p: {path}: the host does not answer");
        return Err(Error::Closed);
    }
    Ok(())
}
