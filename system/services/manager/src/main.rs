//! The service manager: parent of the services that the system manifest names ([O] 5.2.4, S6).
//!
//! It starts them in the order that `sing image` has inferred, those on demand when a client binds
//! them, waits until each is ready, asks after its health, and starts it again when it has ended,
//! as its policy says. Clients find a closed channel, bind the same name again and go on.
//!
//! Invariant: no service and no client can stop or fill the manager. It never waits for one alone,
//! what it keeps of each is bounded, and it has that memory from its start.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

mod clients;
mod front;
mod manager;
mod report;
mod service;
mod wards;

use sing_sdk::names::Names;
use sing_sdk::plan;
use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "manager",
    description: "starts the system's services, and starts them again",
    category: service,
    privileges: [boot, create, devices, inspect],
    endpoints: { names: NamespaceContract.Imp:Start },
    serves: { "/services": ServicesContract, "/hardware": NamespaceContract },
    behavior: "
        // Arguments that it does not understand end it.
        state Start: ( names.Success? -> Running or names.ChannelClosed? -> end or skip -> end );
        // It registers itself and the services, and asks for a channel for each
        // service that it starts. (Finds it passes on to services, over channels of their own.)
        state Running: one {
          names.Bind! -> ( names.AckBind? -> Running or names.NakBind? -> Running or names.ChannelClosed? -> Lost );
          names.Find! -> ( names.AckFind? -> Running or names.NakFind? -> Running or names.ChannelClosed? -> Lost );
          names.Link! -> ( names.AckLink? -> Running or names.NakLink? -> Running or names.ChannelClosed? -> Lost );
          names.Register! -> ( names.AckRegister? -> Running or names.NakRegister? -> Running or names.ChannelClosed? -> Lost );
          names.Deregister! -> ( names.AckDeregister? -> Running or names.NakDeregister? -> Running or names.ChannelClosed? -> Lost );
          skip -> end;
        }
        state Lost: skip -> end;
    ",
}

/// The size to which the heap is grown at the start: for what is kept of each service and client,
/// and the stack of the thread that watches over the wards.
const HEAP: usize = 640 << 10;

sing_sdk::arguments! {}

#[sing_sdk::main]
fn main(_: Arguments) -> Result<(), Error> {
    sing_sdk::reserve(HEAP)?;
    // First of all: from here on the name server may end and start again.
    wards::watch()?;
    let bytes = sing_sdk::boot::whole(plan::FILE)?;
    let plan = plan::Plan::decode(&bytes).map_err(|e| {
        sing_sdk::log!("{}: {e}", plan::FILE);
        Error::BadState
    })?;
    let names = Names::new(startup::names().ok_or(Error::NotFound)?)?;
    manager::Manager::new(names, plan)?.run()
}
