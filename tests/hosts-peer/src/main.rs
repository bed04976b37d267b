//! The other side of a card's link, in the tests of hosts: `sing-hosts-peer GUEST`, whose standard
//! input is the socket at which it stands. It plays until it is ended. `sing-hosts-peer GUEST PORT PAGE`
//! also asks the guest's web server for a page again and again, and prints how long each one took.
//!
//! A program of its own, so that `cargo xtask run`, which needs none of this, does not wait for its
//! TCP/IP to be built.

#![forbid(unsafe_code)]

mod peer;

use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Some((guest, page)) = read(&words) else {
        eprintln!(
            "usage: sing-hosts-peer ADDRESS:PORT [PORT PAGE], with a socket of UDP as standard input"
        );
        return ExitCode::from(2);
    };
    let socket = std::io::stdin().as_fd().try_clone_to_owned();
    match socket.and_then(|socket| peer::run(UdpSocket::from(socket), guest, page)) {
        Ok(never) => match never {},
        Err(error) => {
            eprintln!("sing-hosts-peer: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The guest, and the port and the page of its web server that are asked for.
fn read(words: &[String]) -> Option<(SocketAddr, Option<(u16, String)>)> {
    match words {
        [guest] => Some((guest.parse().ok()?, None)),
        [guest, port, page] => Some((
            guest.parse().ok()?,
            Some((port.parse().ok()?, page.clone())),
        )),
        _ => None,
    }
}
