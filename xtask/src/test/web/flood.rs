//! Port scans and floods of a web server behind a network card, by frames: what no program of the host
//! may send.
//!
//! The other side of the card's link is the machine that `tests/hosts-peer` plays; it asks the web
//! server for a page again and again, over connections of its own. Between the two stands this program,
//! which passes frames on and sends the system others beside them: the beginnings of connections to
//! every port, and floods of them to the server's, from addresses that do not exist; a few of
//! which are completed and then left alone; segments and datagrams that belong to nothing. The good client's
//! times are compared with those without all that, in the same run. In the end nothing is left behind.

mod link;

use super::hostile::{shown, within};
use super::{TIME, ready};
use crate::build;
use crate::image::{self, MemoryMode, Programs};
use crate::machine::{Acceleration, Kernel, Machine};
use crate::network::{Network, free_address};
use crate::system::session::Session;
use crate::test::systems::launch;
use crate::test::tcp::{free_port, tell};
use crate::test::{Report, Run};
use anyhow::{Context, Result, ensure};
use link::{Act, COMPLETED, Heard, Pace, between};
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::OwnedFd;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

const NAME: &str = "floods by a card";
/// The server's port on a PC, and the one at which it is told to go on. The hosted system's are this
/// machine's.
const PORTS: [u16; 2] = [80, 81];

/// How a kind of machine is attacked, and what is asked of it.
struct Rules {
    /// How long each attack goes on at least; the first time a third of it.
    attack: Duration,
    /// The frames of each attack at least; the first time a third.
    frames: u64,
    /// The least answers to the good client in the time of an attack, which is longer if there are fewer.
    least: usize,
    /// By how much nine of ten of the good client's answers, and all, may take longer than without an
    /// attack. A beginning that is lost is sent again after a second.
    more: [Duration; 2],
    /// How long the system has for what is left of an attack: connections that are begun have five
    /// seconds, those that say nothing one.
    calm: Duration,
    pace: Pace,
    /// How long all may take.
    time: Duration,
}

const HOSTED: Rules = Rules {
    attack: Duration::from_millis(1500),
    frames: 3000,
    least: 4,
    more: [Duration::from_secs(1), Duration::from_secs(5)],
    calm: Duration::from_millis(5500),
    pace: Pace::Clock,
    time: TIME,
};

/// A tenth as fast as the host, which may be busy, and slow itself.
const PC: Rules = Rules {
    attack: Duration::from_millis(1500),
    frames: 3000,
    least: 8,
    more: [Duration::from_secs(4), Duration::from_secs(12)],
    calm: Duration::from_secs(12),
    pace: Pace::Asked(32),
    time: Duration::from_secs(600),
};

/// How long the good client is measured without an attack.
const QUIET: Duration = Duration::from_secs(1);
/// An answer that is later than this after an attack's end counts as one that took so long.
const LATEST: Duration = Duration::from_secs(30);
/// How long an attack goes on at most, or the first answer is waited for.
const LONGEST: Duration = Duration::from_secs(120);

/// The good client's machine, which ends with this value.
struct Peer(Child);

impl Drop for Peer {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What the good client's machine has said.
#[derive(Default)]
struct Said {
    /// The times of answers, with the attempts for each.
    times: Mutex<Vec<(Duration, u32)>>,
    /// How often it has told the system to go on.
    told: AtomicU32,
}

impl Said {
    fn take(&self) -> Vec<(Duration, u32)> {
        let times = self.times.lock().map(|mut all| std::mem::take(&mut *all));
        times.unwrap_or_default()
    }

    fn answers(&self) -> usize {
        self.times.lock().map_or(0, |all| all.len())
    }
}

/// Takes what the good client's machine says, until it ends.
fn listen(lines: ChildStdout, said: &Said) {
    for line in BufReader::new(lines).lines().map_while(Result::ok) {
        if line == "told" {
            said.told.fetch_add(1, Relaxed);
            continue;
        }
        let mut words = line.split(' ');
        let took = words.next().and_then(|word| word.parse().ok());
        let attempts = words.next().and_then(|word| word.parse().ok());
        if let (Some((took, attempts)), Ok(mut times)) = (took.zip(attempts), said.times.lock()) {
            times.push((Duration::from_micros(took), attempts));
        }
    }
}

/// On the hosted system.
pub fn hosted(run: &Run, report: &mut Report) {
    check(run, NAME.into(), Machine::Hosted, report);
}

/// On the smallest PC; in a run of all cases on the usual one, too.
pub fn pc(run: &Run, report: &mut Report) {
    let machines = [Machine::Microvm, Machine::Q35];
    for machine in &machines[..if run.all { 2 } else { 1 }] {
        let name = format!("{NAME} on {}", machine.name());
        check(run, name, *machine, report);
    }
}

fn check(run: &Run, name: String, machine: Machine, report: &mut Report) {
    if run.wants(&name) {
        let judged = judge(run, machine);
        report.count(name, judged.map_err(|e| format!("{e:#}")));
    }
}

fn judge(run: &Run, machine: Machine) -> Result<()> {
    build::host(&run.project, &["sing-hosts-peer"])?;
    let images = image::compile_programs(&run.project, Programs::WithTests, MemoryMode::Guard)?;
    let [near, far, own] = [(); 3].map(|()| UdpSocket::bind("127.0.0.1:0"));
    let (near, far, own) = (near?, far?, own?);
    for socket in [&near, &far] {
        socket.set_nonblocking(true)?;
    }
    let hosted = machine == Machine::Hosted;
    let (rules, [server, control]) = match hosted {
        true => (&HOSTED, [free_port()?, free_port()?]),
        false => (&PC, PORTS),
    };
    let card = free_address()?;
    let mut kernel = Kernel::prepare(&run.project, machine, Acceleration::Emulated)?;
    kernel.networks = vec![Network::datagrams(card, near.local_addr()?)];
    kernel.entropy = true;
    if hosted {
        kernel.networks.push(Network::sockets("host,192.0.2.0/24"));
    }
    let script = format!(
        "format --force /dev/disk0 && mount /dev/disk0 /; mkdir /web && cp /boot/notes.txt /web\n\
         echo port {server} > /1; echo header 1s > /2; echo idle 1s > /3; echo connections 48 > /4\n\
         cat /1 /2 /3 /4 > /web.conf; httpd; echo ready; echo | nc -l {control}\n\
         webs beside {server} {control}; httpd; sweep && echo swept; httpd stop\n"
    );
    let deadline = Instant::now() + rules.time;
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
    let (act, heard, said) = (AtomicU8::new(0), Heard::default(), Said::default());
    let ends = [card, peer];
    let (attacked, output, ended) = std::thread::scope(|scope| {
        scope.spawn(|| between([&near, &far], ends, server, rules.pace, &act, &heard));
        scope.spawn(|| listen(lines, &said));
        let link = Link {
            rules,
            act: &act,
            sent: &heard.sent,
            said: &said,
            far: &far,
            peer,
            control: (control, hosted),
        };
        let attacked =
            ready(&mut session, deadline).and_then(|_| attack(&mut session, &link, deadline));
        // Where that failed, the system waits for what does not come.
        let (output, ended) = session.finish(match attacked {
            Ok(_) => deadline,
            Err(_) => Instant::now(),
        });
        act.store(Act::End as u8, Relaxed);
        drop(played);
        (attacked, output, ended)
    });
    let said = attacked.with_context(|| output.clone())?;
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

/// The link, as the test sees it: what happens there, and words to and from the good client's machine.
struct Link<'a> {
    rules: &'a Rules,
    act: &'a AtomicU8,
    /// Frames of attacks.
    sent: &'a AtomicU64,
    said: &'a Said,
    far: &'a UdpSocket,
    peer: SocketAddr,
    /// The port at which the system is told to go on, and whether it is this machine's.
    control: (u16, bool),
}

impl Link<'_> {
    /// What is shorter than a frame is a word to the good client's machine.
    fn say(&self, word: &str) -> Result<()> {
        self.far.send_to(word.as_bytes(), self.peer)?;
        Ok(())
    }

    /// The good client's times, sorted, while something goes on, for so long, with so many frames; and
    /// how many attempts were one more.
    fn measure(&self, what: Act, time: Duration, frames: u64) -> Result<(Vec<Duration>, u32)> {
        self.say("go")?;
        let least = self.rules.least;
        let sent = self.sent.load(Relaxed);
        self.act.store(what as u8, Relaxed);
        self.said.take();
        let begun = Instant::now();
        let is_over = || {
            let frames = self.sent.load(Relaxed) - sent >= frames;
            begun.elapsed() >= time && frames && self.said.answers() >= least
        };
        while !is_over() && begun.elapsed() < LONGEST {
            std::thread::sleep(Duration::from_millis(5));
        }
        // The answer that is waited for at the end counts, too, however late it is.
        let (before, last) = (self.said.answers(), Instant::now());
        while self.said.answers() == before && last.elapsed() < LATEST {
            std::thread::sleep(Duration::from_millis(5));
        }
        let mut all = self.said.take();
        if all.len() == before {
            all.push((last.elapsed(), 1));
        }
        self.act.store(Act::Pass as u8, Relaxed);
        let again = all.iter().map(|(_, attempts)| attempts - 1).sum();
        let mut all: Vec<Duration> = all.into_iter().map(|(took, _)| took).collect();
        all.sort();
        let sent = self.sent.load(Relaxed) - sent;
        ensure!(
            sent >= frames && all.len() >= least,
            "{sent} frames and {} answers in {:?}, not {frames} and {least}",
            all.len(),
            begun.elapsed()
        );
        Ok((all, again))
    }

    /// Waits until nothing of an attack is left, while the good client rests.
    fn calm(&self) -> Result<()> {
        self.say("pause")?;
        std::thread::sleep(self.rules.calm);
        Ok(())
    }

    /// Has the system go on. Where its port is not this machine's, the good client's machine says so.
    fn go_on(&self) -> Result<()> {
        let (control, is_ours) = self.control;
        if is_ours {
            return tell(control);
        }
        let (told, begun) = (self.said.told.load(Relaxed), Instant::now());
        self.say(&format!("tell {control}"))?;
        while self.said.told.load(Relaxed) == told {
            ensure!(
                begun.elapsed() < LONGEST,
                "cannot tell the system to go on: it does not answer at port {control}"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }
}

/// Both attacks, twice: what programs keep for good they have after the first time.
fn attack(session: &mut Session, link: &Link<'_>, deadline: Instant) -> Result<String> {
    let Rules {
        attack,
        frames,
        more,
        ..
    } = *link.rules;
    link.measure(Act::Pass, Duration::ZERO, 0)
        .context("before all attacks")?;
    for what in [Act::Scan, Act::Flood] {
        link.measure(what, attack / 3, frames / 3)
            .context("the first attacks")?;
    }
    link.calm()?;
    link.go_on()?;
    ready(session, deadline).context("before the attacks are measured")?;
    let (quiet, _) = link.measure(Act::Pass, QUIET, 0)?;
    let mut said = format!("  without an attack: {}", shown(&quiet));
    for (what, name) in [(Act::Scan, "a scan"), (Act::Flood, "a flood")] {
        let measured = link.measure(what, attack, frames);
        let (attacked, again) = measured.with_context(|| format!("beside {name}"))?;
        said += &format!(
            "\n  beside {name}: {}, {again} more attempts",
            shown(&attacked)
        );
        let late = [9, 10]
            .into_iter()
            .zip(more)
            .any(|(tenths, more)| within(&attacked, tenths) > within(&quiet, tenths) + more);
        ensure!(!late, "{said}; {more:?} more are allowed");
    }
    link.calm()?;
    link.go_on()?;
    Ok(said)
}
