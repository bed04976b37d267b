//! The far end of the cards of `bench net`: sends marked frames back.

use crate::machine::Machine;
use crate::network::{self, Network};
use anyhow::{Context, Result};
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;

/// The byte of a frame that says that it comes back (`tests/sips/bench-net`).
const MARK: usize = 14;
/// How often a thread looks whether it is still needed.
const LOOK: Duration = Duration::from_millis(100);

/// A card of a machine: its path, what it is called, and whether it is an e1000.
pub type Card = (&'static str, &'static str, bool);

const VIRTIO: Card = ("/dev/nic0", "virtio", false);
const E1000: Card = ("/dev/nic2", "e1000", true);

/// The cards that a machine is measured with.
pub fn cards(machine: Machine) -> &'static [Card] {
    match machine {
        Machine::Q35 => &[VIRTIO, E1000],
        _ => &[VIRTIO],
    }
}

/// The commands that measure them.
pub fn script(machine: Machine, bursts: u32) -> String {
    let command = |(path, name, _): &Card| format!("bench-net {path} {name} {bursts}");
    let commands: Vec<String> = cards(machine).iter().map(command).collect();
    commands.join(" && ") + "\n"
}

/// The far end of a card; ends when it is dropped.
pub struct FarEnd {
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl FarEnd {
    /// Starts one, and gives the card that belongs to it.
    pub fn start(e1000: bool) -> Result<(FarEnd, Network)> {
        let socket = UdpSocket::bind("127.0.0.1:0").context("cannot open a socket")?;
        socket.set_read_timeout(Some(LOOK))?;
        let guest = network::free_address()?;
        let mut card = Network::datagrams(guest, socket.local_addr()?);
        card.e1000 = e1000;
        let ends = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&ends);
        let thread = std::thread::spawn(move || echo(&socket, guest, &until));
        let far = FarEnd {
            ends,
            thread: Some(thread),
        };
        Ok((far, card))
    }
}

impl Drop for FarEnd {
    fn drop(&mut self) {
        self.ends.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn echo(socket: &UdpSocket, guest: SocketAddr, ends: &AtomicBool) {
    let mut frame = [0; 2048];
    while !ends.load(Relaxed) {
        // A time-out, or a card that is not there yet.
        let Ok(len) = socket.recv(&mut frame) else {
            continue;
        };
        if len > MARK && frame[MARK] == 1 {
            let _ = socket.send_to(&frame[..len], guest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marked_frames_come_back_and_others_do_not() {
        let card = UdpSocket::bind("127.0.0.1:0").unwrap();
        let far = UdpSocket::bind("127.0.0.1:0").unwrap();
        let (to, guest) = (far.local_addr().unwrap(), card.local_addr().unwrap());
        far.set_read_timeout(Some(LOOK)).unwrap();
        card.set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        let ends = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| echo(&far, guest, &ends));
            let frame = |mark: u8| [[0; MARK].as_slice(), &[mark; 46]].concat();
            for sent in [vec![1], frame(0), frame(1)] {
                card.send_to(&sent, to).unwrap();
            }
            let mut back = [0; 2048];
            let len = card.recv(&mut back);
            ends.store(true, Relaxed);
            assert_eq!(back[..len.unwrap()], frame(1));
        });
    }

    #[test]
    fn each_card_of_a_machine_is_measured() {
        assert_eq!(script(Machine::Hosted, 3), "bench-net /dev/nic0 virtio 3\n");
        let both = "bench-net /dev/nic0 virtio 3 && bench-net /dev/nic2 e1000 3\n";
        assert_eq!(script(Machine::Q35, 3), both);
    }
}
