//! Datagrams and names of hosts by sockets of the host: of all lengths both ways, only to where the
//! user of the system permits them, and to a port that comes back when the driver was killed.

use super::{Images, TIME, free_port, judge, reach, start, wait};
use crate::test::Run;
use anyhow::{Context, Result, ensure};
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// How long an answer is waited for before a datagram is sent again, and how often it is.
const PATIENCE: Duration = Duration::from_millis(500);
const TRIES: u32 = 40;
/// Lengths that are sent to the system: up to the longest of IPv4.
const LENGTHS: [usize; 7] = [1, 2, 512, 1472, 9000, 32_768, 65_507];
/// Datagrams that are sent at once, more than anybody keeps.
const FLOOD: u32 = 5000;

fn socket() -> Result<(UdpSocket, u16)> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).context("cannot open a socket")?;
    socket.set_read_timeout(Some(PATIENCE))?;
    let port = socket.local_addr()?.port();
    Ok((socket, port))
}

/// Sends back what comes, until all is over; how much that was.
fn echo(socket: &UdpSocket, over: &AtomicBool) -> u32 {
    let (mut room, mut count) = (vec![0; 65_536], 0);
    while !over.load(Relaxed) {
        if let Ok((length, from)) = socket.recv_from(&mut room) {
            count += u32::from(socket.send_to(&room[..length], from).is_ok());
        }
    }
    count
}

/// Answers questions for addresses: each host has 192.0.2.7 for five minutes.
fn names(socket: &UdpSocket, over: &AtomicBool, asked: &AtomicU32) {
    let mut room = [0; 512];
    while !over.load(Relaxed) {
        let Ok((length, from)) = socket.recv_from(&mut room) else {
            continue;
        };
        asked.fetch_add(1, Relaxed);
        // One question, which is repeated, and an answer for the name in it.
        let mut answer = room[..length].to_vec();
        answer[2..12].copy_from_slice(&[0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0]);
        answer.extend_from_slice(&[0xc0, 12, 0, 1, 0, 1, 0, 0, 1, 44, 0, 4, 192, 0, 2, 7]);
        // A forged one before it, of another number, is nothing.
        let mut forged = answer.clone();
        forged[0] ^= 1;
        let _ = socket.send_to(&forged, from);
        let _ = socket.send_to(&answer, from);
    }
}

/// Has a datagram come back; it may be lost on the way, as all may.
fn back(socket: &UdpSocket, port: u16, sent: &[u8]) -> Result<()> {
    let mut room = vec![0; 65_536];
    for _ in 0..TRIES {
        socket.send_to(sent, (Ipv4Addr::LOCALHOST, port))?;
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            match socket.recv(&mut room) {
                Ok(length) if room[..length] == *sent => return Ok(()),
                // Of an earlier one; or nothing, or nobody is there yet.
                Ok(_) | Err(_) => {}
            }
        }
    }
    anyhow::bail!("a datagram of {} bytes does not come back", sent.len())
}

/// What the host does with the port of an echo.
fn talk(port: u16) -> Result<()> {
    let (own, _) = socket()?;
    for length in LENGTHS {
        back(&own, port, &vec![length as u8; length])?;
    }
    // More than anybody keeps is lost, and nothing else is.
    let (flood, _) = socket()?;
    for number in 0..FLOOD {
        flood.send_to(
            &number.to_le_bytes().repeat(100),
            (Ipv4Addr::LOCALHOST, port),
        )?;
    }
    back(&own, port, b"behind the flood")
}

/// Both ways.
pub fn play(run: &Run, images: &Images) -> Result<()> {
    let ((peer, to), (server, dns), (nobody, closed)) = (socket()?, socket()?, socket()?);
    drop(nobody);
    let (port, (taken, other)) = (free_port()?, socket()?);
    let next = free_port()?;
    let script = format!(
        "datagrams echo {port} & sleep 0.3; datagrams to 127.0.0.1 {to}; datagrams to localhost {to}\n\
         dig a.example A; dig a.example A; echo x | nc -u 10.1.2.3 9; nc -u -l {other}\n\
         echo gone | nc -u 127.0.0.1 {closed}; echo x | nc -u localhost {port}\n\
         echo ready; nc -l {next}; kill host-sockets; echo again; wait; dig b.example A\n\
         sweep && echo swept\n"
    );
    let deadline = Instant::now() + TIME;
    let net = format!("host,127.0.0.0/8,dns=127.0.0.1:{dns}");
    let mut session = start(run, images, Some(&net), &script)?;
    let mut said = String::new();
    let (over, asked) = (AtomicBool::new(false), AtomicU32::new(0));
    let played = std::thread::scope(|scope| {
        let echo = scope.spawn(|| echo(&peer, &over));
        scope.spawn(|| names(&server, &over, &asked));
        let played = (|| {
            wait(&mut session, deadline, "ready", &mut said)?;
            talk(port)?;
            drop(reach(next)?);
            wait(&mut session, deadline, "again", &mut said)?;
            let (own, _) = socket()?;
            back(&own, port, b"behind the driver").context("with another driver")?;
            own.send_to(b"end", (Ipv4Addr::LOCALHOST, port))?;
            Ok(())
        })();
        over.store(true, Relaxed);
        let echoed = echo.join().expect("a thread of the test");
        played.and_then(|()| {
            ensure!(echoed >= 76, "only {echoed} datagrams have come out");
            let asked = asked.load(Relaxed);
            ensure!((2..8).contains(&asked), "{asked} questions for two names");
            Ok(())
        })
    });
    drop(taken);
    let words = [
        "127.0.0.1: all came back",
        "localhost: all came back",
        "192.0.2.7",
        "b.example",
        "nc: 10.1.2.3 9: not permitted",
        "the port is in use",
        "connection refused",
        "sockets0: killed",
        "swept\n",
    ];
    judge(session, deadline, said, played, &words)
}
