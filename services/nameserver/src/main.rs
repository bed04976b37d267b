//! The name server ([O] 5.3): a SIP that knows who serves which part of the name space.
//!
//! It carries endpoints from clients to services and is no part of what those say to each other afterwards.
//! Requests below a mount point are passed on to the provider there and answered when it answers; meanwhile
//! everybody else is served.
//!
//! Invariant: nothing that a client or provider does or leaves undone stops the others. No receive waits for
//! one of them alone, and what they send is bounded before it is read.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

mod clients;
mod providers;
mod server;
mod watchers;

use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "nameserver",
    description: "knows who serves which part of the name space",
    endpoints: {
        boot: optional NamespaceContract.Imp:Start,
        clients: many NamespaceContract.Exp:Start,
    },
    memory: 16 MiB,
}

#[sing_sdk::main]
fn main() -> Result<(), Error> {
    let mut server = server::Server::new()?;
    if let Some(provider) = startup::boot() {
        // The first argument says where the system image's files appear.
        let path = sing_sdk::args::get(1).unwrap_or_else(|| "/boot".into());
        server.mount(&path, provider);
    }
    for client in startup::clients() {
        server.connect(client);
    }
    server.run();
    Ok(())
}
