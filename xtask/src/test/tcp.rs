//! Connections of TCP between a machine and the host, by its card and QEMU's network: the host
//! connects to a port of the machine, and the machine to one of the host's.

use super::systems::launch;
use super::{Report, Run};
use crate::image::{self, MemoryMode, Programs};
use crate::machine::{Acceleration, Kernel, Machine};
use crate::network::Network;
use crate::system::session::Session;
use anyhow::{Context, Result, ensure};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// How long a boot and all connections may take.
const TIME: Duration = Duration::from_secs(120);
/// Bytes there and back.
const BYTES: usize = 300_000;
/// The port of the machine.
const PORT: u16 = 80;

/// A card, and whether its driver is killed in the middle.
struct Case {
    machine: Machine,
    e1000: bool,
    killed: bool,
}

const CASES: [Case; 6] = [
    Case {
        machine: Machine::Microvm,
        e1000: false,
        killed: false,
    },
    Case {
        machine: Machine::Microvm,
        e1000: false,
        killed: true,
    },
    Case {
        machine: Machine::Q35,
        e1000: false,
        killed: false,
    },
    Case {
        machine: Machine::I440fx,
        e1000: false,
        killed: false,
    },
    Case {
        machine: Machine::Q35,
        e1000: true,
        killed: false,
    },
    Case {
        machine: Machine::Q35,
        e1000: true,
        killed: true,
    },
];

/// On the emulated PCs.
pub fn pc(run: &Run) -> Result<Report> {
    let mut report = Report::default();
    let images = image::compile_programs(&run.project, Programs::WithTests, MemoryMode::Guard)?;
    for case in CASES {
        let killed = if case.killed {
            " while its driver is killed"
        } else {
            ""
        };
        let (card, driver, service) = match case.e1000 {
            true => (" by an e1000", "e1000", "nic2"),
            false => ("", "virtio-net", "nic0"),
        };
        let name = format!("connections on {}{card}{killed}", case.machine.name());
        if !run.wants(&name) {
            continue;
        }
        let host = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("cannot open a socket")?;
        let own = host.local_addr()?.port();
        let inward = free_port()?;
        let mut network = Network::user(&[(inward, PORT)]);
        network.e1000 = case.e1000;
        let mut kernel = Kernel::prepare(&run.project, case.machine, Acceleration::Emulated)?;
        kernel.networks = vec![network];
        // The program in the machine sends back what comes, and then connects to the host.
        let kill = match case.killed {
            true => format!("sleep 0.3; kill {driver};"),
            false => String::new(),
        };
        let script = format!(
            "connections echo {PORT} & sleep 0.2; echo ready; {kill} wait; \
             echo from inside | nc 10.0.2.2 {own}; nc 10.0.2.2 1; sweep && echo swept"
        );
        let deadline = Instant::now() + TIME;
        let mut session = Session::start(launch(&run.project, &images, &kernel, Some(&script))?)?;
        let talked = talk(&mut session, deadline, inward, &host);
        let (output, ended) = session.finish(deadline);
        let judged = talked.map_err(|e| format!("{e:#}")).and_then(|()| {
            let killed = match case.killed {
                true => format!("{service}: killed"),
                false => String::new(),
            };
            let whole = ["from outside\n", "connection refused\n", "swept\n", &killed];
            match whole.iter().find(|w| !output.contains(**w)) {
                Some(missing) => Err(format!("no `{}`, {ended:?}", missing.trim())),
                None => Ok(()),
            }
        });
        report.count(name, judged.map_err(|why| format!("{why}\n{output}")));
    }
    Ok(report)
}

/// A port of the host that nobody has.
pub fn free_port() -> Result<u16> {
    let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("cannot open a socket")?;
    Ok(socket.local_addr()?.port())
}

/// How long a system may take until it is told to go on.
const TELLING: Duration = Duration::from_secs(30);

/// Has a system go on, which listens at this port of loopback or is about to, and answers who comes with
/// at least a byte. Without that byte it was not heard: a listener may be about to close, which takes
/// connections until it has.
pub fn tell(control: u16) -> Result<()> {
    tell_within(control, TELLING)
}

/// The same of a system that may take so long.
pub fn tell_within(control: u16, time: Duration) -> Result<()> {
    let end = Instant::now() + time;
    loop {
        // To the end: what is closed before it was read is reset.
        let mut word = Vec::new();
        let read = TcpStream::connect((Ipv4Addr::LOCALHOST, control)).and_then(|mut stream| {
            stream.set_read_timeout(Some(TELLING))?;
            stream.read_to_end(&mut word)
        });
        if !word.is_empty() {
            return Ok(());
        }
        ensure!(Instant::now() < end, "cannot tell the system: {read:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The host's side.
fn talk(session: &mut Session, deadline: Instant, inward: u16, host: &TcpListener) -> Result<()> {
    loop {
        let line = session.line(deadline);
        if line
            .map_err(|e| anyhow::anyhow!("the machine is not ready: {e:?}"))?
            .contains("ready")
        {
            break;
        }
    }
    let sent: Vec<u8> = (0..BYTES).map(|at| (at ^ (at >> 8)) as u8).collect();
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, inward)).context("cannot connect")?;
    stream.set_read_timeout(Some(TIME))?;
    let mut writer = stream.try_clone()?;
    let copy = sent.clone();
    let sender = std::thread::spawn(move || -> std::io::Result<()> {
        writer.write_all(&copy)?;
        writer.shutdown(Shutdown::Write)
    });
    let mut back = Vec::new();
    (&stream)
        .read_to_end(&mut back)
        .context("nothing comes back")?;
    sender.join().expect("a thread of the test")?;
    anyhow::ensure!(
        back == sent,
        "{} of {BYTES} bytes came back, or others",
        back.len()
    );

    let (mut stream, _) = host.accept()?;
    stream.set_read_timeout(Some(TIME))?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    anyhow::ensure!(text == "from inside\n", "the machine has sent {text:?}");
    stream.write_all(b"from outside\n")?;
    Ok(())
}
