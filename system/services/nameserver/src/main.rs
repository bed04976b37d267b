//! The name server ([O] 5.3): a SIP that knows the provider of each part of the name space.
//!
//! It passes endpoints from clients to services and takes no part in their conversations
//! afterwards. Requests below a mount point are passed on to the provider there and answered when
//! it answers; meanwhile all others are served.
//!
//! Invariants:
//! - No action or omission of a client or provider stops the others. No receive waits for one of
//!   them alone, and the size of their messages is bounded before they are read.
//! - Every record is charged to the share of a program, and all shares together are memory that the
//!   name server has from its start (`budget.rs`).
//! - Only the holder of a path can register one above or below it.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

mod budget;
mod clients;
mod providers;
mod server;
mod watchers;

use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "nameserver",
    description: "finds the provider of each part of the name space",
    endpoints: {
        boot: optional NamespaceContract.Imp:Start,
        clients: many NamespaceContract.Exp:Start,
    },
    memory: 24 MiB,
    behavior: "
        // Arguments that it does not understand end it.
        state Start: ( all clients.Success! -> Starting or skip -> end );
        // Requests to the provider wait until it is ready. Meanwhile others are served, which this
        // description leaves out.
        serial state Starting: one {
          boot.Success? -> Serving;
          boot.ChannelClosed? -> Alone;
          clients.Bind? -> ( clients.AckBind! -> Starting or clients.NakBind! -> Starting or skip -> one {
            boot.Success? -> boot.Bind! -> one {
              boot.AckBind? -> clients.AckBind! -> Serving;
              boot.NakBind? -> clients.NakBind! -> Serving;
              boot.ChannelClosed? -> clients.AckBind! -> Alone;
            };
            boot.ChannelClosed? -> clients.NakBind! -> Alone;
          } );
          clients.Find? -> ( clients.AckFind! -> Starting or clients.NakFind! -> Starting or skip -> one {
            boot.Success? -> boot.Find! -> one {
              boot.AckFind? -> clients.AckFind! -> Serving;
              boot.NakFind? -> clients.NakFind! -> Serving;
              boot.ChannelClosed? -> clients.NakFind! -> Alone;
            };
            boot.ChannelClosed? -> clients.NakFind! -> Alone;
          } );
          clients.Notify? -> ( clients.AckNotify! or clients.NakNotify! ) -> Starting;
          clients.Register? -> ( clients.AckRegister! or clients.NakRegister! ) -> Starting;
          clients.Deregister? -> ( clients.AckDeregister! or clients.NakDeregister! ) -> Starting;
          clients.ChannelClosed? -> Starting;
          clients.AllClosed? -> end;
        }
        parallel state Serving: one {
          clients.Bind? -> ( clients.AckBind! -> Serving or clients.NakBind! -> Serving or boot.Bind! -> one {
            boot.AckBind? -> clients.AckBind! -> Serving;
            boot.NakBind? -> clients.NakBind! -> Serving;
            boot.ChannelClosed? -> clients.AckBind! -> Alone;
            } );
          clients.Find? -> ( clients.AckFind! -> Serving or clients.NakFind! -> Serving or boot.Find! -> one {
            boot.AckFind? -> clients.AckFind! -> Serving;
            boot.NakFind? -> clients.NakFind! -> Serving;
            boot.ChannelClosed? -> clients.NakFind! -> Alone;
            } );
          clients.Notify? -> ( clients.AckNotify! or clients.NakNotify! ) -> Serving;
          clients.Register? -> ( clients.AckRegister! or clients.NakRegister! ) -> Serving;
          clients.Deregister? -> ( clients.AckDeregister! or clients.NakDeregister! ) -> Serving;
          clients.ChannelClosed? -> Serving;
          clients.AllClosed? -> end;
          boot.ChannelClosed? -> Alone;
        }
        // The provider has gone.
        parallel state Alone: one {
          clients.Bind? -> ( clients.AckBind! or clients.NakBind! ) -> Alone;
          clients.Find? -> ( clients.AckFind! or clients.NakFind! ) -> Alone;
          clients.Notify? -> ( clients.AckNotify! or clients.NakNotify! ) -> Alone;
          clients.Register? -> ( clients.AckRegister! or clients.NakRegister! ) -> Alone;
          clients.Deregister? -> ( clients.AckDeregister! or clients.NakDeregister! ) -> Alone;
          clients.ChannelClosed? -> Alone;
          clients.AllClosed? -> end;
        }
    ",
}

sing_sdk::arguments! {
    /// Where the files of the system image appear. /boot if left out.
    at: optional String "PATH";
}

#[sing_sdk::main]
fn main(Arguments { at }: Arguments) -> Result<(), Error> {
    let mut server = server::Server::new()?;
    if let Some(provider) = startup::boot() {
        server.mount(at.as_deref().unwrap_or("/boot"), provider);
    }
    for client in startup::clients() {
        server.connect(client);
    }
    server.run();
    Ok(())
}
