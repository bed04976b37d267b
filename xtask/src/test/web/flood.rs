//! Port scans and floods of a web server behind a network card, by frames: what no program of the host
//! may send.
//!
//! The other side of the card's link is the machine that `tests/hosts-peer` plays; it asks the web
//! server for a page again and again, over connections of its own. Between the two stands this program,
//! which passes frames on and sends the system others beside them: the beginnings of connections to
//! every port, and floods of them to the server's, from addresses that do not exist; a few of
//! which are completed and then left alone; segments and datagrams that belong to nothing. The good client's
//! times are compared with those without all that, in the same run. In the end nothing is left behind.

use super::hostile::{shown, within};
use super::{TIME, ready};
use crate::build;
use crate::fuzz::packets::mend;
use crate::image::{self, MemoryMode, Programs};
use crate::machine::{Acceleration, Kernel, Machine};
use crate::network::{Network, free_address};
use crate::system::session::Session;
use crate::test::systems::launch;
use crate::test::tcp::{free_port, tell};
use crate::test::{Report, Run};
use anyhow::{Context, Result, ensure};
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

const NAME: &str = "floods by a card";
/// How long each attack goes on, and the calm before it. The first time it is shorter.
const ATTACK: Duration = Duration::from_millis(1500);
const FIRST: Duration = Duration::from_millis(500);
const QUIET: Duration = Duration::from_secs(1);
/// How long the system has for what is left of an attack: connections that are begun have five
/// seconds, those that say nothing one.
const CALM: Duration = Duration::from_millis(5500);
/// Frames that are sent in each millisecond.
const RATE: u64 = 4;
/// By how much nine of ten of the good client's answers, and all, may take longer than without an
/// attack. A beginning that is lost is sent again after a second.
const MORE: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(5)];
/// An answer that is later than this after an attack's end counts as one that took so long.
const LATEST: Duration = Duration::from_secs(10);
/// The least answers in the time of an attack.
const LEAST: usize = 4;
/// Connections that are completed and then left alone: few, as they take places of the server's. More
/// of them are played by sockets of the host ([`super::crowd`]).
const COMPLETED: u64 = 16;

const GUEST: [u8; 4] = [10, 0, 0, 2];
const PEER: [u8; 4] = [10, 0, 0, 1];
const MAC: [u8; 6] = [0x52, 0x54, 0, 1, 2, 3];
/// The first bytes of addresses whose owner completes what it begins.
const COMPLETES: [u8; 2] = [198, 18];

/// What happens on the link.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Act {
    /// Frames are passed on, and nothing else.
    Pass,
    /// Every port is asked from one address after the other, in all ways that scanners know.
    Scan,
    /// Connections to the server are begun by the thousand.
    Flood,
    End,
}

impl Act {
    fn of(number: u8) -> Act {
        let all = [Act::Pass, Act::Scan, Act::Flood];
        all.get(usize::from(number)).copied().unwrap_or(Act::End)
    }
}

/// What the system has said to those that do not exist.
#[derive(Default)]
struct Heard {
    sent: AtomicU64,
    refused: AtomicU64,
    begun: AtomicU64,
    completed: AtomicU64,
    other: AtomicU64,
}

/// Where a segment comes from and goes to, its numbers and flags.
struct Segment {
    from: [u8; 4],
    ports: [u16; 2],
    numbers: [u32; 2],
    flags: u8,
}

const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;
const PUSH: u8 = 8;
const ACK: u8 = 16;

/// A frame to the system with a packet of IPv4.
fn frame(from: [u8; 4], protocol: u8, content: &[u8]) -> Vec<u8> {
    // The card's own address is known by what it sends; all hear what is sent to all.
    let mut frame = [&[0xff; 6][..], &MAC, &[8, 0, 0x45, 0]].concat();
    frame.extend((20 + content.len() as u16).to_be_bytes());
    frame.extend([0, 0, 0, 0, 64, protocol, 0, 0]);
    frame.extend(from);
    frame.extend(GUEST);
    frame.extend(content);
    mend(&mut frame);
    frame
}

impl Segment {
    /// With data behind it.
    fn frame(&self, to: [u8; 6], data: &[u8]) -> Vec<u8> {
        let mut tcp = Vec::new();
        self.ports
            .iter()
            .for_each(|port| tcp.extend(port.to_be_bytes()));
        self.numbers
            .iter()
            .for_each(|number| tcp.extend(number.to_be_bytes()));
        tcp.extend([0x50, self.flags, 0xff, 0xff, 0, 0, 0, 0]);
        tcp.extend(data);
        let mut frame = frame(self.from, 6, &tcp);
        frame[..6].copy_from_slice(&to);
        frame
    }
}

/// A frame of an attack.
fn made(draw: &mut fastrand::Rng, act: Act, number: u64, server: u16, to: [u8; 6]) -> Vec<u8> {
    let far = [203, draw.u8(..), draw.u8(..), draw.u8(1..255)];
    let near = [10, 0, 0, draw.u8(3..255)];
    let mut segment = Segment {
        from: far,
        ports: [draw.u16(1024..), server],
        numbers: [draw.u32(..), 0],
        flags: SYN,
    };
    let kind = draw.u8(..100);
    match (act, kind) {
        // Each port in turn, from one address.
        (Act::Scan, 0..60) => {
            segment.from = [198, 51, 100, 7];
            segment.ports[1] = number as u16;
        }
        // No beginning, and nothing that was begun.
        (Act::Scan, 60..80) => {
            segment.ports[1] = draw.u16(..);
            let odd = [
                0,
                FIN,
                ACK,
                FIN | PUSH | 32,
                SYN | FIN,
                SYN | RST,
                SYN | ACK,
                RST,
            ];
            segment.flags = odd[draw.usize(..odd.len())];
        }
        (Act::Scan, _) => {
            let mut datagram = segment.ports[0].to_be_bytes().to_vec();
            datagram.extend(draw.u16(..).to_be_bytes());
            datagram.extend([0, 12, 0, 0, 1, 2, 3, 4]);
            let mut frame = frame(far, 17, &datagram);
            frame[..6].copy_from_slice(&to);
            return frame;
        }
        (_, 0..80) => {}
        (_, 80..98) => segment.from = near,
        _ => segment.from = [COMPLETES[0], COMPLETES[1], draw.u8(..), draw.u8(1..255)],
    }
    segment.frame(to, b"")
}

/// What the system says to an address that does not exist; the frame that completes the connection, if
/// it is one of those.
fn answered(frame: &[u8], heard: &Heard, server: u16) -> Option<Vec<u8>> {
    let word = |at: usize| {
        let bytes = frame.get(at..at + 4)?;
        Some(u32::from_be_bytes(bytes.try_into().ok()?))
    };
    let (ports, number, flags) = (word(34)?, word(38)?, *frame.get(47)?);
    let to: [u8; 4] = frame.get(30..34)?.try_into().ok()?;
    let count = match flags {
        _ if frame.get(23) != Some(&6) => &heard.other,
        flags if flags & RST != 0 => &heard.refused,
        flags if flags & (SYN | ACK) == SYN | ACK => &heard.begun,
        _ => &heard.other,
    };
    count.fetch_add(1, Relaxed);
    let is_begun = std::ptr::eq(count, &heard.begun);
    if !is_begun || to[..2] != COMPLETES || heard.completed.fetch_add(1, Relaxed) > COMPLETED {
        return None;
    }
    let own = word(42)?;
    let segment = Segment {
        from: to,
        ports: [ports as u16, server],
        numbers: [own, number.wrapping_add(1)],
        flags: ACK | PUSH,
    };
    // Half of a request.
    let data: &[u8] = if own % 2 == 0 {
        b"GET / HTTP/1.1\r\nHost: "
    } else {
        b""
    };
    Some(segment.frame(frame[6..12].try_into().ok()?, data))
}

/// Stands between the card and the good client's machine, until the end.
fn between(
    [near, far]: [&UdpSocket; 2],
    [card, peer]: [SocketAddr; 2],
    server: u16,
    act: &AtomicU8,
    heard: &Heard,
) {
    let mut draw = fastrand::Rng::with_seed(1);
    let (mut number, mut room, mut mac) = (0, [0; 2048], [0xff; 6]);
    let (mut since, mut sent, mut last) = (Instant::now(), 0, Act::Pass);
    loop {
        let now = Act::of(act.load(Relaxed));
        if now == Act::End {
            return;
        }
        if now != last {
            (since, sent, last) = (Instant::now(), 0, now);
        }
        let mut idle = true;
        for (socket, from, back, to) in [(near, card, far, peer), (far, peer, near, card)] {
            while let Ok((length, whence)) = socket.recv_from(&mut room) {
                idle = false;
                let frame = &room[..length];
                if whence != from || length < 14 {
                    continue;
                }
                let outward = from == card;
                if outward {
                    mac.copy_from_slice(&frame[6..12]);
                }
                let is_ip = frame[12..14] == [8, 0] && length >= 34;
                let good = !is_ip || frame[30..34] == PEER || frame[30] >= 224;
                if !outward || good {
                    // A frame that is lost is sent again by who misses it.
                    let _ = back.send_to(frame, to);
                } else if let Some(next) = answered(frame, heard, server) {
                    let _ = near.send_to(&next, card);
                }
            }
        }
        if idle {
            std::thread::sleep(Duration::from_micros(200));
        }
        let due = since.elapsed().as_millis() as u64 * RATE;
        while now != Act::Pass && sent < due.min(sent + 64) {
            let frame = made(&mut draw, now, number, server, mac);
            let _ = near.send_to(&frame, card);
            (number, sent) = (number + 1, sent + 1);
            heard.sent.fetch_add(1, Relaxed);
        }
    }
}

/// The good client's machine, which ends with this value.
struct Peer(Child);

impl Drop for Peer {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Takes what the good client says, until it ends.
fn listen(lines: ChildStdout, times: &Mutex<Vec<(Duration, u32)>>) {
    for line in BufReader::new(lines).lines().map_while(Result::ok) {
        let mut words = line.split(' ');
        let took = words.next().and_then(|word| word.parse().ok());
        let attempts = words.next().and_then(|word| word.parse().ok());
        if let (Some((took, attempts)), Ok(mut times)) = (took.zip(attempts), times.lock()) {
            times.push((Duration::from_micros(took), attempts));
        }
    }
}

/// On the hosted system.
pub fn check(run: &Run, report: &mut Report) -> Result<()> {
    if run.wants(NAME) {
        let judged = judge(run);
        report.count(NAME, judged.map_err(|e| format!("{e:#}")));
    }
    Ok(())
}

fn judge(run: &Run) -> Result<()> {
    build::host(&run.project, &["sing-hosts-peer"])?;
    let images = image::compile_programs(&run.project, Programs::WithTests, MemoryMode::Guard)?;
    let [near, far, own] = [(); 3].map(|()| UdpSocket::bind("127.0.0.1:0"));
    let (near, far, own) = (near?, far?, own?);
    for socket in [&near, &far] {
        socket.set_nonblocking(true)?;
    }
    let [server, control] = [free_port()?, free_port()?];
    let card = free_address()?;
    let mut kernel = Kernel::prepare(&run.project, Machine::Hosted, Acceleration::Emulated)?;
    kernel.networks = vec![
        Network::datagrams(card, near.local_addr()?),
        Network::sockets("host,192.0.2.0/24"),
    ];
    let script = format!(
        "format --force /dev/disk0 && mount /dev/disk0 /; mkdir /web && cp /boot/notes.txt /web\n\
         echo port {server} > /1; echo header 1s > /2; echo idle 1s > /3; echo connections 48 > /4\n\
         cat /1 /2 /3 /4 > /web.conf; httpd; echo ready; echo | nc -l {control}\n\
         webs beside {server} {control}; httpd; sweep && echo swept; httpd stop\n"
    );
    let deadline = Instant::now() + TIME;
    let mut session = Session::start(launch(&run.project, &images, &kernel, Some(&script))?)?;
    let peer = own.local_addr()?;
    let mut played = Command::new(run.project.host_binary("sing-hosts-peer"))
        .arg(far.local_addr()?.to_string())
        .args([&server.to_string(), "/notes.txt"])
        .stdin(OwnedFd::from(own))
        .stdout(Stdio::piped())
        .spawn()
        .map(Peer)
        .context("cannot start sing-hosts-peer")?;
    let lines = played.0.stdout.take().context("no standard output")?;
    let (act, heard, times) = (AtomicU8::new(0), Heard::default(), Mutex::default());
    let (said, output, ended) = std::thread::scope(|scope| {
        scope.spawn(|| between([&near, &far], [card, peer], server, &act, &heard));
        scope.spawn(|| listen(lines, &times));
        // What is shorter than a frame is a word to the good client's machine.
        let say = |word: &str| drop(far.send_to(word.as_bytes(), peer));
        let link = Link {
            act: &act,
            times: &times,
            say: &say,
        };
        let attacked = ready(&mut session, deadline)
            .and_then(|_| attack(&mut session, control, &link, deadline));
        if attacked.is_err() {
            // The system waits for this.
            for _ in 0..2 {
                drop(TcpStream::connect((Ipv4Addr::LOCALHOST, control)));
            }
        }
        let (output, ended) = session.finish(deadline);
        act.store(Act::End as u8, Relaxed);
        drop(played);
        (attacked, output, ended)
    });
    let said = said.with_context(|| output.clone())?;
    let count = |count: &AtomicU64| count.load(Relaxed);
    println!(
        "  {} frames: {} refused, {} connections begun, {} of them completed, {} other answers",
        count(&heard.sent),
        count(&heard.refused),
        count(&heard.begun),
        count(&heard.completed).min(COMPLETED),
        count(&heard.other)
    );
    println!("{said}");
    for whole in ["nothing left behind\n", "swept\n", "busy         0\n"] {
        let whole_there = output.contains(whole);
        ensure!(whole_there, "no `{}`, {ended:?}\n{output}", whole.trim());
    }
    ensure!(
        count(&heard.refused) > 1000 && count(&heard.begun) > 100,
        "the attack did not come"
    );
    Ok(())
}

/// The link, as the test sees it: what happens there, the good client's times, and words to it.
struct Link<'a> {
    act: &'a AtomicU8,
    times: &'a Mutex<Vec<(Duration, u32)>>,
    say: &'a dyn Fn(&str),
}

impl Link<'_> {
    /// The good client's times, sorted, while something goes on; and how many attempts were one more.
    fn measure(&self, what: Act, time: Duration) -> (Vec<Duration>, u32) {
        (self.say)("go");
        self.act.store(what as u8, Relaxed);
        let take = || {
            let times = self.times.lock().map(|mut all| std::mem::take(&mut *all));
            times.unwrap_or_default()
        };
        take();
        std::thread::sleep(time);
        // The answer that is waited for at the end counts, too, however late it is.
        let seen = || self.times.lock().map_or(0, |all| all.len());
        let (before, last) = (seen(), Instant::now());
        while seen() == before && last.elapsed() < LATEST {
            std::thread::sleep(Duration::from_millis(5));
        }
        let mut all = take();
        if all.len() == before {
            all.push((last.elapsed(), 1));
        }
        self.act.store(Act::Pass as u8, Relaxed);
        let again = all.iter().map(|(_, attempts)| attempts - 1).sum();
        let mut all: Vec<Duration> = all.into_iter().map(|(took, _)| took).collect();
        all.sort();
        (all, again)
    }

    /// Waits until nothing of an attack is left, while the good client rests.
    fn calm(&self) {
        (self.say)("pause");
        std::thread::sleep(CALM);
    }
}

/// Both attacks, twice: what programs keep for good they have after the first time.
fn attack(
    session: &mut Session,
    control: u16,
    link: &Link<'_>,
    deadline: Instant,
) -> Result<String> {
    for what in [Act::Scan, Act::Flood] {
        link.measure(what, FIRST);
    }
    link.calm();
    tell(control)?;
    ready(session, deadline).context("before the attacks are measured")?;
    let (quiet, _) = link.measure(Act::Pass, QUIET);
    let mut said = format!("  without an attack: {}", shown(&quiet));
    for (what, name) in [(Act::Scan, "a scan"), (Act::Flood, "a flood")] {
        let (attacked, again) = link.measure(what, ATTACK);
        said += &format!(
            "\n  beside {name}: {}, {again} more attempts",
            shown(&attacked)
        );
        let late = [9, 10]
            .into_iter()
            .zip(MORE)
            .any(|(tenths, more)| within(&attacked, tenths) > within(&quiet, tenths) + more);
        ensure!(
            !late && attacked.len() >= LEAST,
            "{said}; {MORE:?} more are allowed"
        );
    }
    link.calm();
    tell(control)?;
    Ok(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_begun_is_completed() {
        let mut draw = fastrand::Rng::with_seed(1);
        let heard = Heard::default();
        let mut completed = 0;
        for number in 0..2000 {
            let frame = made(&mut draw, Act::Flood, number, 80, [2; 6]);
            assert_eq!((frame.len(), &frame[..6]), (54, &[2; 6][..]));
            // As the system answers it.
            let mut back = frame.clone();
            back[26..30].copy_from_slice(&GUEST);
            back[30..34].copy_from_slice(&frame[26..30]);
            back[34..36].copy_from_slice(&frame[36..38]);
            back[36..38].copy_from_slice(&frame[34..36]);
            back[47] = SYN | ACK;
            completed +=
                u32::from(answered(&back, &heard, 80).is_some_and(|f| f[47] == ACK | PUSH));
            assert_eq!(answered(&frame[..40], &heard, 80), None);
        }
        assert!((10..100).contains(&completed), "{completed}");
        assert_eq!(heard.begun.into_inner(), 2000);
    }
}
