//! The name server ([O] 5.3): a SIP that knows the provider of each part of the name space.
//!
//! It passes endpoints from clients to services and takes no part in their conversations
//! afterwards. Requests below a mount point are passed on to the provider there and answered when
//! it answers; meanwhile all others are served.
//!
//! Invariants:
//! - No action or omission of a client or provider stops the others. No receive waits for one of
//!   them alone, no request waits for a provider for ever (`patience.rs`), and the size of their
//!   messages is bounded before they are read.
//! - Every record is charged to the share of a program, and all shares together are memory that the
//!   name server has from its start (`budget.rs`).
//! - Only the holder of a path can register one above or below it. Names of the root mount
//!   (`root.rs`) have no holder here: anyone can register at or above one of them, or below it, and
//!   so hide all that the mount has under its first name.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

mod asking;
mod budget;
mod clients;
mod parsed;
mod patience;
mod providers;
mod queue;
mod registry;
mod request;
mod root;
mod server;
mod succession;
mod watchers;

use core::time::Duration;
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::time;

sing_sdk::manifest! {
    name: "nameserver",
    description: "finds the provider of each part of the name space",
    endpoints: {
        boot: optional NamespaceContract.Imp:Start,
        names: optional NamespaceContract.Imp:Start,
        clients: many NamespaceContract.Exp:Start,
    },
    memory: 24 MiB,
    behavior: "
        // Arguments that it does not understand end it. With a place to be mounted at, it registers
        // there first.
        state Start: ( all clients.Success! -> Starting or skip -> end or skip -> Mounting );
        state Mounting: one {
          names.Success? -> names.Register! -> one {
            names.AckRegister? -> Mounted;
            names.NakRegister? -> end;
            names.ChannelClosed? -> end;
          };
          names.ChannelClosed? -> end;
        }
        state Mounted: ( all clients.Success! -> Starting );
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
          clients.Notify? -> ( clients.AckNotify! -> Starting or clients.NakNotify! -> Starting or skip -> one {
            boot.Success? -> boot.Notify! -> one {
              boot.AckNotify? -> clients.AckNotify! -> Serving;
              boot.NakNotify? -> clients.NakNotify! -> Serving;
              boot.ChannelClosed? -> clients.AckNotify! -> Alone;
            };
            boot.ChannelClosed? -> clients.NakNotify! -> Alone;
          } );
          clients.Register? -> ( clients.AckRegister! -> Starting or clients.NakRegister! -> Starting or skip -> one {
            boot.Success? -> boot.Register! -> one {
              boot.AckRegister? -> clients.AckRegister! -> Serving;
              boot.NakRegister? -> clients.NakRegister! -> Serving;
              boot.ChannelClosed? -> clients.AckRegister! -> Alone;
            };
            boot.ChannelClosed? -> clients.NakRegister! -> Alone;
          } );
          clients.Deregister? -> ( clients.AckDeregister! -> Starting or clients.NakDeregister! -> Starting or skip -> one {
            boot.Success? -> boot.Deregister! -> one {
              boot.AckDeregister? -> clients.AckDeregister! -> Serving;
              boot.NakDeregister? -> clients.NakDeregister! -> Serving;
              boot.ChannelClosed? -> clients.AckDeregister! -> Alone;
            };
            boot.ChannelClosed? -> clients.NakDeregister! -> Alone;
          } );
          clients.Link? -> ( clients.AckLink! -> Starting or clients.NakLink! -> Starting or skip -> one {
            boot.Success? -> boot.Link! -> one {
              boot.AckLink? -> clients.AckLink! -> Serving;
              boot.NakLink? -> clients.NakLink! -> Serving;
              boot.ChannelClosed? -> clients.NakLink! -> Alone;
            };
            boot.ChannelClosed? -> clients.NakLink! -> Alone;
          } );
          clients.ReadLink? -> ( clients.AckReadLink! -> Starting or clients.NakReadLink! -> Starting or skip -> one {
            boot.Success? -> boot.ReadLink! -> one {
              boot.AckReadLink? -> clients.AckReadLink! -> Serving;
              boot.NakReadLink? -> clients.NakReadLink! -> Serving;
              boot.ChannelClosed? -> clients.NakReadLink! -> Alone;
            };
            boot.ChannelClosed? -> clients.NakReadLink! -> Alone;
          } );
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
          clients.Notify? -> ( clients.AckNotify! -> Serving or clients.NakNotify! -> Serving or boot.Notify! -> one {
            boot.AckNotify? -> clients.AckNotify! -> Serving;
            boot.NakNotify? -> clients.NakNotify! -> Serving;
            boot.ChannelClosed? -> clients.AckNotify! -> Alone;
          } );
          clients.Register? -> ( clients.AckRegister! -> Serving or clients.NakRegister! -> Serving or boot.Register! -> one {
            boot.AckRegister? -> clients.AckRegister! -> Serving;
            boot.NakRegister? -> clients.NakRegister! -> Serving;
            boot.ChannelClosed? -> clients.AckRegister! -> Alone;
          } );
          clients.Deregister? -> ( clients.AckDeregister! -> Serving or clients.NakDeregister! -> Serving or boot.Deregister! -> one {
            boot.AckDeregister? -> clients.AckDeregister! -> Serving;
            boot.NakDeregister? -> clients.NakDeregister! -> Serving;
            boot.ChannelClosed? -> clients.AckDeregister! -> Alone;
          } );
          clients.Link? -> ( clients.AckLink! -> Serving or clients.NakLink! -> Serving or boot.Link! -> one {
            boot.AckLink? -> clients.AckLink! -> Serving;
            boot.NakLink? -> clients.NakLink! -> Serving;
            boot.ChannelClosed? -> clients.NakLink! -> Alone;
          } );
          clients.ReadLink? -> ( clients.AckReadLink! -> Serving or clients.NakReadLink! -> Serving or boot.ReadLink! -> one {
            boot.AckReadLink? -> clients.AckReadLink! -> Serving;
            boot.NakReadLink? -> clients.NakReadLink! -> Serving;
            boot.ChannelClosed? -> clients.NakReadLink! -> Alone;
          } );
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
          clients.Link? -> ( clients.AckLink! or clients.NakLink! ) -> Alone;
          clients.ReadLink? -> ( clients.AckReadLink! or clients.NakReadLink! ) -> Alone;
          clients.ChannelClosed? -> Alone;
          clients.AllClosed? -> end;
        }
    ",
}

/// How long a mounted name server waits before it tries again to be mounted.
const AGAIN: Duration = Duration::from_secs(1);

sing_sdk::arguments! {
    /// Serves the part of the name space below PATH, for the name server above.
    mount: flag "--mount";
    /// Where the files of the system image appear, /boot if left out; with --mount, its own place.
    at: optional Path "PATH";
}

#[sing_sdk::main]
fn main(Arguments { mount, at }: Arguments) -> Result<i32, Error> {
    let mut server = server::Server::new()?;
    let at = at.as_deref().unwrap_or("/boot");
    if mount {
        let mut names = Names::new(startup::names().ok_or(Error::NotFound)?)?;
        match names.register(at) {
            Ok(lookup) => server.connect_above(lookup),
            Err(reason) => {
                eprintln!("nameserver: cannot serve {at}: {reason}");
                return Ok(1);
            }
        }
        loop {
            server.run();
            // The name server above was started again: what was registered here came through it, and
            // comes again.
            match names.register(at) {
                Ok(lookup) => server.connect_above(lookup),
                Err(Error::Closed) => return Ok(0),
                Err(_) => time::sleep(AGAIN),
            }
        }
    }
    if let Some(provider) = startup::boot() {
        server.mount(at, provider);
    }
    for client in startup::clients() {
        server.connect(client);
    }
    server.take_over(at, succession::take());
    server.run();
    Ok(0)
}
