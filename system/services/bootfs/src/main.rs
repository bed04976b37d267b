//! The files of the system image, as a read-only part of the name space.
//!
//! A provider for the name server: it is asked to bind paths below its mount point and answers with
//! files and directories. Each of them has a channel of its own, directly between this SIP and the
//! reader; blocks are filled here and move back without a copy. All changes are refused.
//!
//! Invariant: no client can stop another. The service never waits for one client alone, every size
//! is bounded, no program has more than its share of the open files, and their records are in
//! memory that the service has from its start.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

mod serve;
mod tree;

use serve::{Client, Server};
use sing_sdk::prelude::*;
use sing_sdk::time::Timeout;
use sing_sdk::{door, legacy};

sing_sdk::manifest! {
    name: "bootfs",
    description: "serves the files of the system image",
    privileges: [boot],
    endpoints: { names: NamespaceContract.Exp:Start },
    memory: 64 MiB,
    behavior: "
        // Arguments that it does not understand end it.
        state Start: ( names.Success! -> Serving or skip -> end );
        state Serving: one {
          names.Bind? -> ( names.AckBind! or names.NakBind! ) -> Serving;
          names.Find? -> ( names.AckFind! or names.NakFind! ) -> Serving;
          names.Notify? -> ( names.AckNotify! or names.NakNotify! ) -> Serving;
          names.Register? -> ( names.AckRegister! or names.NakRegister! ) -> Serving;
          names.Deregister? -> ( names.AckDeregister! or names.NakDeregister! ) -> Serving;
          names.Link? -> names.NakLink! -> Serving;
          names.ReadLink? -> names.NakReadLink! -> Serving;
          names.ChannelClosed? -> end;
        }
    ",
}

/// The size to which the heap is grown at the start: for the tree, each open file's record, and for
/// a moment a path and the answer to a Find.
const HEAP: usize = 1 << 20;

sing_sdk::arguments! {}

#[sing_sdk::main]
fn main(_: Arguments) -> Result<(), Error> {
    sing_sdk::reserve(HEAP)?;
    let names = match startup::names() {
        Some(names) => {
            legacy::keep(&names, 0);
            Some(names.send_success())
        }
        // It goes on where another has ended. Open files are closed: their readers open them again.
        None => legacy::take().find_map(|(_, left)| door::resume(left)),
    };
    let Some(names) = names else {
        return Ok(());
    };
    let mut server = Server::new((0..).map_while(sing_sdk::boot::name), names)?;
    loop {
        let number = server.clients.wait(Timeout::FOREVER)?;
        match server.clients.take(number) {
            Some(Client::Door(door)) => match server.announced(door) {
                Some(door) => server.clients.put(number, Client::Door(door)),
                None => return Ok(()),
            },
            Some(Client::File(file, node)) => match server.file(file, node, number) {
                Some(file) => server.clients.put(number, Client::File(file, node)),
                None => drop(server.clients.remove(number)),
            },
            Some(Client::Directory(directory, node)) => {
                match server.directory(directory, node, number) {
                    Some(d) => server.clients.put(number, Client::Directory(d, node)),
                    None => drop(server.clients.remove(number)),
                }
            }
            None => {}
        }
    }
}
