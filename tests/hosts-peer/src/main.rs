//! The other side of a card's link, in the tests of hosts: `sing-hosts-peer GUEST`, whose standard
//! input is the socket at which it stands. It plays until it is ended.
//!
//! A program of its own, so that `cargo xtask run`, which needs none of this, does not wait for its
//! TCP/IP to be built.

#![forbid(unsafe_code)]

mod peer;

use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::process::ExitCode;

fn main() -> ExitCode {
    let guest = std::env::args().nth(1).and_then(|g| g.parse().ok());
    let Some(guest): Option<SocketAddr> = guest else {
        eprintln!("usage: sing-hosts-peer ADDRESS:PORT, with a socket of UDP as standard input");
        return ExitCode::from(2);
    };
    let socket = std::io::stdin().as_fd().try_clone_to_owned();
    match socket.and_then(|socket| peer::run(UdpSocket::from(socket), guest)) {
        Ok(never) => match never {},
        Err(error) => {
            eprintln!("sing-hosts-peer: {error}");
            ExitCode::FAILURE
        }
    }
}
