//! A port scan of the hosted system by sockets of the host, beside its other hostile clients
//! ([`super::hostile`]): from three addresses every port of the loopback, and the web server's again and
//! again, as scanners do that guess who listens.
//!
//! Ports at which other programs of this machine listen are left out: they are not tested here.

use super::hostile::reach;
use anyhow::{Context, Result, ensure};
use std::collections::HashSet;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// The last bytes of the addresses from which they come.
const FROM: [u8; 3] = [5, 6, 7];
/// Ports between two looks at who else listens, and at the server.
const BLOCK: usize = 256;
/// The least looks at the server of all.
const LEAST: usize = 200;

/// What scanners say to see who answers; nothing, if the connection itself is enough.
const PROBES: [&[u8]; 7] = [
    b"",
    b"\r\n\r\n",
    b"GET / HTTP/1.0\r\n\r\n",
    b"OPTIONS / RTSP/1.0\r\n\r\n",
    b"HELP\r\n",
    b"\x16\x03\0\0S\x01\0\0O\x03\0?G\xd7\xf7\xba,\xee\xea\xb2`~\xf3\0\xfd",
    b"\0\x0c\0\0\x10\0\0\0\0\0\0\0\0\0",
];

/// The ports of this machine at which somebody listens over TCP.
fn listeners() -> Result<HashSet<u16>> {
    let mut ports = HashSet::new();
    for path in ["/proc/net/tcp", "/proc/net/tcp6"] {
        // A machine without IPv6 has no list of it.
        let Ok(text) = std::fs::read_to_string(path) else {
            continue;
        };
        ports.extend(text.lines().filter_map(listener));
    }
    Ok(ports)
}

/// The port in a line of Linux's list, if its socket listens: `0: 0100007F:1F90 00000000:0000 0A`.
fn listener(line: &str) -> Option<u16> {
    let mut words = line.split_whitespace().skip(1);
    let (local, _, state) = (words.next()?, words.next()?, words.next()?);
    let (_, port) = local.rsplit_once(':')?;
    (state == "0A").then(|| u16::from_str_radix(port, 16).ok())?
}

/// Scans these ports from an address, and counts the connections to the server.
fn scan(ports: &[u16], server: u16, from: u8, open: &AtomicUsize) -> Result<()> {
    for (number, block) in ports.chunks(BLOCK).enumerate() {
        let others = listeners()?;
        probe(server, from, number, open);
        for port in block {
            if *port != server && !others.contains(port) {
                // Nobody listens, or somebody has begun to, who is not bothered further.
                drop(reach(*port, from));
            }
        }
    }
    Ok(())
}

/// Looks who listens at the server's port.
fn probe(server: u16, from: u8, number: usize, open: &AtomicUsize) {
    let Ok(mut stream) = reach(server, from) else {
        return;
    };
    open.fetch_add(1, Relaxed);
    let said = PROBES[number % PROBES.len()];
    // Half of the scanners wait for what comes, and a scanner does not care how it ends.
    let waits = (number / PROBES.len()).is_multiple_of(2);
    if stream.write_all(said).is_ok() && !said.is_empty() && waits {
        let _ = stream.set_read_timeout(Some(Duration::from_millis(20)));
        let _ = stream.read(&mut [0; 1024]);
    }
}

/// Scans all ports, each address a part of them.
pub fn all(server: u16, seed: u64) -> Result<()> {
    let mut ports: Vec<u16> = (1..=u16::MAX).collect();
    fastrand::Rng::with_seed(seed).shuffle(&mut ports);
    let open = AtomicUsize::new(0);
    let parts = ports.chunks(ports.len().div_ceil(FROM.len())).zip(FROM);
    let scanned: Vec<Result<()>> = std::thread::scope(|scope| {
        let scan = |(ports, from)| {
            let open = &open;
            scope.spawn(move || scan(ports, server, from, open))
        };
        let scans: Vec<_> = parts.map(scan).collect();
        let joined = scans.into_iter().map(|scan| scan.join());
        joined
            .map(|scan| scan.expect("a thread of the test"))
            .collect()
    });
    let scanned: Result<Vec<()>> = scanned.into_iter().collect();
    scanned.context("a port scan")?;
    let open = open.into_inner();
    ensure!(open >= LEAST, "a port scan found the server {open} times");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listeners_are_found() {
        let line = |state| format!("   0: 0100007F:1F90 00000000:0000 {state} 00000000:0 00:0 0");
        assert_eq!(listener(&line("0A")), Some(8080));
        assert_eq!(listener(&line("01")), None);
        assert_eq!(
            listener("  sl  local_address rem_address   st tx_queue"),
            None
        );
        let own = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = own.local_addr().unwrap().port();
        assert!(listeners().unwrap().contains(&port));
    }
}
