//! `bench net`: datagrams between sockets of the loopback, as the system's network cards carry
//! frames in them; sent, or echoed by a thread on another processor if there is one.

use crate::host::{self, Cores};
use crate::measure::{Peer, sample};
use std::io;
use std::net::UdpSocket;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// The word by which these peers are chosen.
pub const ID: &str = "net";

/// As the measuring program's: frames of a burst, and their lengths.
const COUNT: u32 = 32;
const LENGTHS: [(usize, &str); 2] = [(60, "60 B"), (1514, "1514 B")];
/// How long an echo may take.
const PATIENCE: Duration = Duration::from_secs(1);

/// A socket whose datagrams somebody takes, or sends back.
fn socket(cores: Cores, echo: bool) -> io::Result<UdpSocket> {
    let here = UdpSocket::bind("127.0.0.1:0")?;
    let there = UdpSocket::bind("127.0.0.1:0")?;
    here.connect(there.local_addr()?)?;
    there.connect(here.local_addr()?)?;
    here.set_read_timeout(Some(PATIENCE))?;
    // It ends with the process.
    std::thread::spawn(move || {
        let _ = cores.second.map_or(Ok(()), host::pin);
        let mut bytes = [0; 2048];
        while let Ok(len) = there.recv(&mut bytes) {
            if echo && there.send(&bytes[..len]).is_err() {
                break;
            }
        }
    });
    Ok(here)
}

/// A burst of datagrams, and their echoes.
fn burst(socket: &UdpSocket, bytes: &mut [u8], echo: bool) -> io::Result<()> {
    for _ in 0..COUNT {
        socket.send(bytes)?;
    }
    for _ in 0..if echo { COUNT } else { 0 } {
        socket.recv(bytes)?;
    }
    Ok(())
}

/// Bursts a second.
fn rates(samples: usize, mut once: impl FnMut() -> io::Result<()>) -> io::Result<Vec<f64>> {
    let mut one = || {
        let start = Instant::now();
        once()?;
        Ok(1.0 / start.elapsed().as_secs_f64().max(1e-9))
    };
    (0..samples).map(|_| one()).collect()
}

/// The peers.
pub fn peers(cores: Cores) -> io::Result<Vec<Peer>> {
    let mut peers = Vec::new();
    for (echo, what) in [(false, "sent"), (true, "echoed")] {
        for (len, words) in LENGTHS {
            let socket = Rc::new(socket(cores, echo)?);
            let bytes = vec![0; len];
            let frames = f64::from(COUNT);
            // What a burst's cycles, or bursts a second, are to be multiplied with.
            for (subject, unit, scale) in [
                ("frame", "cycles", 1.0 / frames),
                ("frames", "frames/s", frames),
                ("bytes", "MB/s", frames * len as f64 / 1e6),
            ] {
                let (socket, mut bytes) = (Rc::clone(&socket), bytes.clone());
                let name = format!("linux UDP: virtio {subject} {what}, {words}");
                let taken = move |n: usize| {
                    let mut once = || burst(&socket, &mut bytes, echo);
                    let all = match unit {
                        "cycles" => sample(n, 1, once)?,
                        _ => {
                            once()?;
                            rates(n, once)?
                        }
                    };
                    Ok(all.into_iter().map(|x| x * scale).collect())
                };
                peers.push(Peer {
                    unit,
                    ..Peer::new(ID, name, taken)
                });
            }
        }
    }
    Ok(peers)
}
