//! Network cards: the host sends frames of all lengths over the datagrams behind a card, and
//! compares what a program inside sends back.

use super::network_peer::Peer;
use super::systems::launch;
use super::{Report, Run};
use crate::image::{self, MemoryMode, Programs};
use crate::machine::{Acceleration, Kernel, Machine};
use crate::network::{Network, free_address};
use crate::system::session::Session;
use anyhow::{Context, Result};
use std::net::UdpSocket;
use std::time::{Duration, Instant};

/// How long a boot and all frames may take.
const TIME: Duration = Duration::from_secs(180);
/// Frames that may be lost of each hundred: bursts are more than the host's sockets hold.
const LOST_PER_CENT: u32 = 25;

/// A card, and what happens while frames go through it.
struct Case {
    name: &'static str,
    e1000: bool,
    /// The program that is killed under traffic.
    killed: Option<&'static str>,
}

const VIRTIO: Case = Case {
    name: "virtio card",
    e1000: false,
    killed: None,
};
const VIRTIO_KILLED: Case = Case {
    name: "virtio card whose driver is killed",
    e1000: false,
    killed: Some("virtio-net"),
};
const E1000: Case = Case {
    name: "e1000",
    e1000: true,
    killed: None,
};
const E1000_KILLED: Case = Case {
    name: "e1000 whose driver is killed",
    e1000: true,
    killed: Some("e1000"),
};

/// In a Linux process.
pub fn hosted(run: &Run) -> Result<Report> {
    let cards = [VIRTIO, VIRTIO_KILLED, E1000, E1000_KILLED];
    on(run, &[(Machine::Hosted, &cards)])
}

/// On the emulated PCs.
pub fn pc(run: &Run) -> Result<Report> {
    on(
        run,
        &[
            (Machine::Microvm, &[VIRTIO, VIRTIO_KILLED]),
            (Machine::Q35, &[VIRTIO, E1000, E1000_KILLED]),
            (Machine::I440fx, &[VIRTIO]),
        ],
    )
}

fn on(run: &Run, machines: &[(Machine, &[Case])]) -> Result<Report> {
    let mut report = Report::default();
    let images = image::compile_programs(&run.project, Programs::WithTests, MemoryMode::Guard)?;
    for &(machine, cases) in machines {
        for case in cases {
            let name = format!("{} on {}", case.name, machine.name());
            if !run.wants(&name) {
                continue;
            }
            let socket = UdpSocket::bind("127.0.0.1:0").context("cannot open a socket")?;
            let guest = free_address()?;
            let mut network = Network::datagrams(guest, socket.local_addr()?);
            network.e1000 = case.e1000;
            let mut kernel = Kernel::prepare(&run.project, machine, Acceleration::Emulated)?;
            kernel.networks = vec![network];
            let card = if case.e1000 { "nic2" } else { "nic0" };
            let kill = |image| format!("& sleep 2; kill {image}; wait;");
            let then = case.killed.map_or("&&".into(), kill);
            let binds = if case.killed.is_some() { 2 } else { 1 };
            let script = format!("frames /dev/{card} {binds} {then} nics && sweep && echo swept");
            let session = Session::start(launch(&run.project, &images, &kernel, Some(&script))?)?;
            let deadline = Instant::now() + TIME;
            let mut peer = Peer::new(socket, guest, deadline);
            let played = peer.play();
            let (output, ended) = session.finish(deadline);
            let judged = played.and_then(|()| match ended {
                Ok(Some(0)) => judge(&output, &peer, case, card),
                ended => Err(format!("{ended:?}")),
            });
            report.count(name, judged.map_err(|why| format!("{why}\n{output}")));
        }
    }
    Ok(report)
}

/// Whether the program inside has seen what the host has.
fn judge(output: &str, peer: &Peer, case: &Case, card: &str) -> Result<(), String> {
    let has = |what: &str| match output.contains(what) {
        true => Ok(()),
        false => Err(format!("no `{what}`")),
    };
    has("refused: 0 wrong\n")?;
    has("swept\n")?;
    let line = output.lines().find(|line| line.starts_with("bound "));
    let line = line.ok_or("the client has not ended")?;
    let numbers = line
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|n| n.parse().ok());
    let [bound, arp, echoed, _lost] = numbers.collect::<Vec<u32>>()[..] else {
        return Err(format!("`{line}` is not understood"));
    };
    if let Some(killed) = case.killed {
        has(&format!("{card}: killed; starts again"))?;
        if bound < 2 {
            return Err(format!(
                "{killed} was not killed under traffic: bound {bound}"
            ));
        }
    } else if bound != 1 {
        return Err(format!("bound {bound} times"));
    }
    if arp == 0 || echoed < peer.answered {
        return Err(format!("{} answers to {echoed} frames", peer.answered));
    }
    has(&format!("/dev/{card}  52:54:00:53:"))?;
    let lost = peer.again * 100 / (peer.answered + peer.again).max(1);
    if case.killed.is_none() && lost > LOST_PER_CENT {
        return Err(format!(
            "{} of {} frames were lost",
            peer.again, peer.answered
        ));
    }
    Ok(())
}
