//! Connections of TCP between the hosted system and programs of the host, by the host's own sockets:
//! what comes back is what was sent, whatever others do at the same time, and with the driver go
//! the connections, but not the listeners.

mod datagrams;

use super::systems::launch;
use super::{Report, Run};
use crate::image::{self, MemoryMode, Programs};
use crate::machine::{Acceleration, Kernel, Machine};
use crate::network::Network;
use crate::system::session::Session;
use anyhow::{Context, Result, bail, ensure};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

/// How long a boot and all connections may take.
const TIME: Duration = Duration::from_secs(120);
/// How long a driver may stay away that was killed often.
const LATE: Duration = Duration::from_secs(20);
/// Bytes there and back over one connection; in a run of all cases.
const BYTES: u64 = 64 << 20;
const ALL_BYTES: u64 = 1 << 30;
/// Connections at once, each with a word there and back: within the share of one program.
const AT_ONCE: usize = 40;
/// Connections at once beyond it: the last wait with the host until the first have ended.
const BURST: u32 = 120;
/// Connections one after the other.
const IN_TURN: u32 = 300;

/// In a Linux process.
pub fn hosted(run: &Run) -> Result<Report> {
    let mut report = Report::default();
    let images = image::compile_programs(&run.project, Programs::WithTests, MemoryMode::Guard)?;
    let cases: [(&str, Play); 4] = [
        ("inward", inward),
        ("late driver", late_driver),
        ("outward", outward),
        ("datagrams", datagrams::play),
    ];
    for (name, play) in cases {
        if !run.wants(name) {
            continue;
        }
        let judged = play(run, &images).map_err(|e| format!("{e:#}"));
        report.count(name, judged);
    }
    Ok(report)
}

type Images = [(String, std::path::PathBuf)];
type Play = fn(&Run, &Images) -> Result<()>;

/// Starts the system with a script.
fn start(run: &Run, images: &Images, net: Option<&str>, script: &str) -> Result<Session> {
    let mut kernel = Kernel::prepare(&run.project, Machine::Hosted, Acceleration::Emulated)?;
    kernel.networks = vec![Network::sockets(net.unwrap_or("host,192.0.2.0/24"))];
    Session::start(launch(&run.project, images, &kernel, Some(script))?)
}

/// Waits for a line of the system's; `all` gets what comes before, too.
fn wait(session: &mut Session, deadline: Instant, word: &str, all: &mut String) -> Result<()> {
    loop {
        match session.line(deadline) {
            Ok(line) => {
                all.push_str(&line);
                all.push('\n');
                if line.contains(word) {
                    return Ok(());
                }
            }
            Err(error) => bail!("the system has not said `{word}`: {error:?}"),
        }
    }
}

/// `before`: what the system has said already.
fn judge(
    session: Session,
    deadline: Instant,
    before: String,
    played: Result<()>,
    words: &[&str],
) -> Result<()> {
    let (output, ended) = session.finish(deadline);
    let output = before + &output;
    played.with_context(|| format!("{ended:?}\n{output}"))?;
    for word in words {
        ensure!(output.contains(word), "no `{word}`, {ended:?}\n{output}");
    }
    Ok(())
}

/// A port of the host that nobody has.
fn free_port() -> Result<u16> {
    let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("cannot open a socket")?;
    Ok(socket.local_addr()?.port())
}

fn connect(port: u16) -> Result<TcpStream> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).context("cannot connect")?;
    stream.set_read_timeout(Some(TIME))?;
    stream.set_write_timeout(Some(TIME))?;
    Ok(stream)
}

/// Connects to a port at which somebody is about to listen.
fn reach(port: u16) -> Result<TcpStream> {
    let end = Instant::now() + Duration::from_secs(10);
    loop {
        match connect(port) {
            Err(_) if Instant::now() < end => thread::sleep(Duration::from_millis(20)),
            other => return other,
        }
    }
}

/// Has a word sent back over a connection.
fn word(stream: &mut TcpStream, number: u32) -> Result<()> {
    let sent = number.to_le_bytes();
    stream.write_all(&sent)?;
    let mut back = [0; 4];
    stream.read_exact(&mut back).context("no word comes back")?;
    ensure!(back == sent, "{back:?} came back, not {sent:?}");
    Ok(())
}

/// What is sent over and over: of a length that no buffer has, so that bytes at a wrong place differ.
fn pattern() -> Vec<u8> {
    let mut state = 1u32;
    let mut draw = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..1_000_003).map(|_| draw()).collect()
}

/// Has many bytes sent back over a connection, which end with it.
fn bytes(stream: &TcpStream, count: u64) -> Result<()> {
    let mut writer = stream.try_clone()?;
    let sent = pattern();
    let expected = sent.clone();
    let sender = thread::spawn(move || -> std::io::Result<()> {
        let mut left = count;
        while left > 0 {
            let now = left.min(sent.len() as u64);
            writer.write_all(&sent[..now as usize])?;
            left -= now;
        }
        writer.shutdown(Shutdown::Write)
    });
    let mut got = 0;
    let mut block = vec![0; 256 << 10];
    loop {
        let at = (got % expected.len() as u64) as usize;
        let room = block.len().min(expected.len() - at);
        let mut reader = stream;
        let now = reader
            .read(&mut block[..room])
            .context("nothing comes back")?;
        if now == 0 {
            break;
        }
        ensure!(
            block[..now] == expected[at..at + now],
            "other bytes at {got}"
        );
        got += now as u64;
    }
    sender.join().expect("a thread of the test")?;
    ensure!(got == count, "{got} of {count} bytes came back");
    Ok(())
}

/// The host connects to a program of the system, which sends back what comes.
fn inward(run: &Run, images: &Images) -> Result<()> {
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let (port, next, last) = (free_port()?, free_port()?, free_port()?);
    let script = format!(
        "connections serve {port} & sleep 0.3; nc -l {}; nc 10.1.2.3 80; echo ready; \
         nc -l {next}; kill host-sockets; sleep 1; echo again; nc -l {last}; \
         kill connections; sleep 0.3; sweep && echo swept",
        taken.local_addr()?.port()
    );
    let deadline = Instant::now() + TIME;
    // Ranges are given, but none that is the host's.
    let mut session = start(run, images, None, &script)?;
    let count = if run.all { ALL_BYTES } else { BYTES };
    let mut said = String::new();
    let played = (|| {
        wait(&mut session, deadline, "ready", &mut said)?;
        talk(port, count)?;
        // What is open is reset when the driver goes; the listener comes back.
        let mut open = connect(port)?;
        word(&mut open, 1)?;
        drop(reach(next)?);
        wait(&mut session, deadline, "again", &mut said)?;
        let gone = matches!(open.read(&mut [0; 1]), Ok(0) | Err(_));
        ensure!(gone, "a connection has outlived the driver");
        let mut back = reach(port).context("the listener has not come back")?;
        word(&mut back, 2)?;
        drop(reach(last).context("no further listener")?);
        Ok(())
    })();
    let words = [
        "the port is in use",
        "10.1.2.3 80: not permitted; the hosted system's programs connect",
        "sockets0: killed",
        "swept\n",
    ];
    judge(session, deadline, said, played, &words)
}

/// A new network whose driver was killed so often that it stays away for longer than it is waited
/// for: who listens meanwhile is reached when it is back, though nobody asks the network for anything.
fn late_driver(run: &Run, images: &Images) -> Result<()> {
    let port = free_port()?;
    let kill = "nc 127.0.0.1 1; kill host-sockets; sleep 0.7; ";
    let script = format!(
        "{}kill network; sleep 0.1; connections serve {port} & sleep 0.3; echo ready; wait",
        kill.repeat(7)
    );
    let deadline = Instant::now() + TIME;
    let mut session = start(run, images, None, &script)?;
    let mut said = String::new();
    let played = (|| {
        wait(&mut session, deadline, "ready", &mut said)?;
        let end = Instant::now() + LATE;
        loop {
            match connect(port).and_then(|mut stream| word(&mut stream, 1)) {
                Err(_) if Instant::now() < end => thread::sleep(Duration::from_millis(50)),
                other => return other.context("the listener is not reached from the host"),
            }
        }
    })();
    drop(session);
    played.with_context(|| said)
}

/// Measures an echo: one connection with many bytes, and many with a word.
fn measure(port: u16, count: u64) -> Result<String> {
    let begun = Instant::now();
    bytes(&connect(port)?, count)?;
    let bytes = count as f64 / f64::from(1 << 20) / begun.elapsed().as_secs_f64();
    let begun = Instant::now();
    for number in 0..IN_TURN {
        word(&mut connect(port)?, number)?;
    }
    let turns = f64::from(IN_TURN) / begun.elapsed().as_secs_f64();
    Ok(format!(
        "{bytes:.0} MiB/s there and back, {turns:.0} connections a second"
    ))
}

/// The same of an echo of plain sockets, to compare with.
fn measure_plain(count: u64) -> Result<String> {
    let echo = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = echo.local_addr()?.port();
    let server = thread::spawn(move || -> std::io::Result<()> {
        let mut block = vec![0; 64 << 10];
        for _ in 0..=IN_TURN {
            let (mut stream, _) = echo.accept()?;
            loop {
                let now = stream.read(&mut block)?;
                if now == 0 {
                    break;
                }
                stream.write_all(&block[..now])?;
            }
        }
        Ok(())
    });
    let measured = measure(port, count)?;
    server.join().expect("a thread of the test")?;
    Ok(measured)
}

/// What the host does with the port of an echo.
fn talk(port: u16, count: u64) -> Result<()> {
    let measured = measure(port, count)?;
    if count == ALL_BYTES {
        println!("  sockets of the host: {measured}");
        println!("  plain sockets: {}", measure_plain(count)?);
    }
    // Over IPv6, too, if the host has that.
    if let Ok(mut stream) = TcpStream::connect((Ipv6Addr::LOCALHOST, port)) {
        stream.set_read_timeout(Some(TIME))?;
        word(&mut stream, 6)?;
    }
    // One that sends and never reads holds up itself alone.
    let mute = connect(port)?;
    mute.set_nonblocking(true)?;
    let (block, mut quiet, mut sent) = (vec![0; 64 << 10], 0, 0);
    while quiet < 20 {
        match (&mute).write(&block) {
            Ok(now) => (sent, quiet) = (sent + now, 0),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                quiet += 1;
                thread::sleep(Duration::from_millis(10));
            }
            Err(error) => return Err(error.into()),
        }
        ensure!(sent < 1 << 30, "the system takes whatever it is sent");
    }
    let mut all = Vec::new();
    for number in 0..AT_ONCE {
        let mut stream = connect(port)?;
        word(&mut stream, number as u32).with_context(|| format!("connection {number}"))?;
        all.push(stream);
    }
    for (number, stream) in all.iter_mut().enumerate() {
        word(stream, !(number as u32))?;
    }
    // Half of them end in order, and the others, with what was not read, at once.
    for (number, mut stream) in all.into_iter().enumerate() {
        if number % 2 == 0 {
            stream.shutdown(Shutdown::Write)?;
            ensure!(
                stream.read(&mut [0; 1])? == 0,
                "something came behind the end"
            );
        } else {
            stream.write_all(b"unread")?;
        }
    }
    drop(mute);
    let burst: Vec<_> = (0..BURST).map(|_| connect(port)).collect::<Result<_>>()?;
    for (number, mut stream) in burst.into_iter().enumerate() {
        word(&mut stream, number as u32).with_context(|| format!("{number} of a burst"))?;
    }
    word(&mut connect(port)?, 7).context("after all have ended")
}

/// Waits for a connection of the system's.
fn accept(host: &TcpListener, deadline: Instant) -> Result<TcpStream> {
    host.set_nonblocking(true)?;
    loop {
        match host.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false)?;
                return Ok(stream);
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                ensure!(Instant::now() < deadline, "the system has not connected");
                thread::sleep(Duration::from_millis(10));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Programs of the system connect to the host, with and without permission.
fn outward(run: &Run, images: &Images) -> Result<()> {
    let host = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let (own, within) = (host.local_addr()?.port(), free_port()?);
    let script = format!(
        "echo from inside | nc 127.0.0.1 {own}; nc 127.0.0.1 1; \
         nc -l {within} | wc & sleep 0.3; cat /boot/notes.txt | nc 127.0.0.1 {within}; wait; \
         connections storm 40; kill network; sleep 0.5; echo another | nc 127.0.0.1 {own}; \
         sweep && echo swept"
    );
    let deadline = Instant::now() + TIME;
    let session = start(run, images, Some("host,127.0.0.0/8"), &script)?;
    let played = (|| {
        // Once as it begins, and once after the network was killed.
        for expected in ["from inside\n", "another\n"] {
            let mut stream = accept(&host, deadline)?;
            stream.set_read_timeout(Some(TIME))?;
            let mut text = String::new();
            stream.read_to_string(&mut text)?;
            ensure!(text == expected, "the system has sent {text:?}");
            stream.write_all(format!("outside heard {expected}").as_bytes())?;
        }
        Ok(())
    })();
    let words = [
        "outside heard from inside\n",
        "connection refused",
        "19 134 745",
        "0 clients failed, nothing left behind",
        "outside heard another\n",
        "swept\n",
    ];
    judge(session, deadline, String::new(), played, &words)
}
