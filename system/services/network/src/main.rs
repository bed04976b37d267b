//! The network ([O] 4.1): TCP/IP in one process, for every program that is given a name of it.
//!
//! `/tcp` serves `TcpConnectionContract` (`tcp.rs`, `stream.rs`, `listener.rs`), over links whose
//! packets are smoltcp's business, and over sockets of the host where the machine has a device for
//! them (`end.rs` has what is different). `/udp` serves datagrams (`datagrams.rs`), `/dns` names
//! (`resolver.rs`), `/icmp` echoes (`echo.rs`), `/net` says what links there are. There is one thread:
//! it serves what comes from clients, then has the stack take and send packets, then moves data
//! between pipes and sockets.
//!
//! Invariants:
//! - No client can stop another: nothing waits for a client, and what each moves in one step is
//!   bounded by the buffers of its connection.
//! - Connections, waiting ones included, are charged to the origin that asked for them, and no
//!   origin has more than its share; so are its channels.
//! - A connection whose channels are all closed ends within a bounded time, whatever its other side
//!   does.
//! - Every port that is held has one holder, which gives it back when it ends.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

mod address;
mod card;
mod cards;
mod chance;
mod clients;
mod datagrams;
mod describe;
mod echo;
mod end;
mod faults;
mod host;
mod host_datagrams;
mod host_ports;
mod host_socket;
mod hosts;
mod link;
mod listener;
mod looped;
mod messages;
mod network;
mod orphans;
mod place;
mod ports;
mod resolver;
mod root;
mod routers;
mod session;
mod stream;
mod tcp;
mod turns;
mod wire;

use alloc::vec::Vec;
use network::Network;
use root::Root;
use sing_sdk::names::Names;
use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "network",
    description: "connections of TCP, datagrams, names of hosts, echoes: /tcp, /udp, /dns, /icmp, /net",
    category: service,
    serves: {
        tcp: optional TcpConnectionContract,
        udp: optional UdpContract,
        dns: optional ResolveContract,
        icmp: optional EchoContract,
        net: optional LinksContract,
    },
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start, names: optional NamespaceContract.Imp:Start },
    memory: 512 MiB,
}

/// Where connections are in the name space, unless the arguments say otherwise.
const PATH: &str = "/tcp";

sing_sdk::arguments! {
    /// Where connections are in the name space; /tcp if not said.
    path: optional String "PATH";
}

#[sing_sdk::main]
fn main(Arguments { path }: Arguments) -> Result<(), Error> {
    let names = Names::new(startup::names().ok_or(Error::NotFound)?)?;
    // Whoever has started it may say where in the name space it is.
    let given = [
        (Root::Tcp, startup::tcp()),
        (Root::Udp, startup::udp()),
        (Root::Names, startup::dns()),
        (Root::Echo, startup::icmp()),
        (Root::Links, startup::net()),
    ];
    let given: Vec<_> = given
        .into_iter()
        .filter_map(|(root, g)| Some((root, g?)))
        .collect();
    if !given.is_empty() {
        return Network::given(names, given)?.run();
    }
    Network::at(names, path.unwrap_or_else(|| PATH.into()))?.run()
}
