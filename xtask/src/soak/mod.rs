//! `cargo xtask soak`: a hosted system under mixed load for a long time, which must have as much in the end as
//! it had before.
//!
//! Clients on this machine ask the web server, the shell runs commands and, in the first half of the
//! time, kills a service every few seconds, which starts again. Between rounds the clients rest, and the
//! system's figures are taken: its own and those that the host has of its process. `flat` says what
//! they may do. In the second half nothing is killed, so that services keep what they leak; in the
//! first one the kernel does.

mod figures;
mod flat;
mod load;

use crate::disk::Disk;
use crate::fuzz::http;
use crate::image::{self, MemoryMode, Programs};
use crate::machine::{Acceleration, Kernel, Machine};
use crate::network::Network;
use crate::project::Project;
use crate::setup::{self, Needs};
use crate::system::session::Session;
use crate::test::tcp::free_port;
use anyhow::{Context, Result, bail};
use flat::{Judged, Sample};
use load::Load;
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};
use std::io::{PipeWriter, Write};
use std::path::PathBuf;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The default length, in seconds.
const TIME: u32 = 3600;
/// Clients of the web server at a time.
const CLIENTS: u64 = 3;
/// How long a boot, a round of commands, or the end may take.
const PATIENCE: Duration = Duration::from_secs(240);
/// Samples of a soak, and the time from one to the next at least and at most.
const SAMPLES: u32 = 120;
const BETWEEN: [u64; 2] = [1_500, 15_000];
/// Samples of each half at the fewest, for which it may take longer.
const FEWEST: usize = 10;
/// How much longer a half takes at most where a figure is not flat yet, if that is more than half of the
/// time: for what services keep until it is full.
const FILLING: Duration = Duration::from_secs(300);
/// The longest silence after which figures are taken: services hear a moment later that clients have
/// gone.
const SILENCE: &str = "0.7";

/// Processes that are killed, by their names.
const KILLED: [&str; 9] = [
    "web",
    "host-sockets",
    "network",
    "virtio-blk",
    "files",
    "clock",
    "watch",
    "nameserver",
    "console",
];

/// The time between two kills, at least: a service that ends too often is given up.
const BETWEEN_KILLS: Duration = Duration::from_secs(2);

/// The figure that grows where each round leaves a file behind.
pub const LEAKING: &str = "nodes";

/// What a round runs, with a kill between the two. Whatever is killed, the mark at its end comes.
const BEGIN: &str = "mkdir -p /soak; cp /boot/bin/shell /boot/bin/files /soak &\n";
const ROUND: &str = "\
    wait; wc < /soak/shell\n\
    mv /soak/shell /soak/other; echo a line | save -a /soak/line; rm -r -f /soak\n\
    pingpong 5; cat /boot/notes.txt | grep -i sealed | wc; date; ps | grep web | wc; crash div0\n";
/// Without these words, a round was none.
const PONG: &str = "pong: exit 0";

/// The options.
#[derive(Debug)]
pub struct Request {
    /// Seconds.
    pub time: u32,
    /// The seed of the random numbers.
    pub seed: u64,
    /// How linear memories are guarded.
    pub memory: MemoryMode,
    /// Where the result goes as JSON.
    pub json: Option<PathBuf>,
    /// Whether each round leaves a file behind: for the test of the rule.
    pub leak: bool,
}

impl Default for Request {
    fn default() -> Request {
        Request {
            time: TIME,
            seed: 1,
            memory: MemoryMode::Guard,
            json: None,
            leak: false,
        }
    }
}

/// The result.
#[derive(Debug, Serialize)]
pub struct Outcome {
    machine: &'static str,
    memory: &'static str,
    seconds: u32,
    seed: u64,
    /// Rounds of commands.
    rounds: u32,
    /// Services killed.
    kills: u32,
    /// Connections that were answered, and how many of them had to be asked more than once.
    connections: u64,
    again: u64,
    /// The longest time of one with all its attempts, in seconds, and its number.
    longest: (f64, u64),
    /// Answers that were as they should be, by what was asked.
    answers: BTreeMap<&'static str, u64>,
    /// All samples.
    samples: Vec<Sample>,
    /// What the rule says of them.
    pub judged: Vec<Judged>,
    /// What else is wrong.
    pub findings: Vec<String>,
}

impl Outcome {
    /// The figures that are not flat.
    pub fn grown(&self) -> impl Iterator<Item = &Judged> {
        self.judged.iter().filter(|judged| !judged.flat)
    }
}

/// Runs a soak; returns 0 if all is flat.
pub fn run(request: &Request) -> Result<u8> {
    let mut project = Project::find()?;
    setup::prepare(&mut project, Needs::of(false))?;
    let outcome = soak(&project, request, &mut |line| say!("{line}"))?;
    say!(
        "{} rounds, {} kills, {} connections, {} of them asked again, the longest {:.1} s",
        outcome.rounds,
        outcome.kills,
        outcome.connections,
        outcome.again,
        outcome.longest.0
    );
    say!("while       figure             median      growth   an hour     bound");
    for judged in &outcome.judged {
        say!(
            "{:<11} {:<14} {:>10.0} {:>11.1} {:>9.0} {:>9.0}  {}",
            if judged.kills { "killing" } else { "calm" },
            judged.figure,
            judged.median,
            judged.growth,
            judged.hourly,
            judged.bound,
            if judged.flat { "flat" } else { "NOT FLAT" }
        );
    }
    if let Some(file) = &request.json {
        let text = serde_json::to_string_pretty(&outcome).context("cannot write JSON")?;
        crate::files::write(file, text)?;
    }
    for finding in &outcome.findings {
        say!("\nFINDING {finding}");
    }
    let wrong = outcome.findings.len() + outcome.grown().count();
    say!("{wrong} findings");
    Ok(u8::from(wrong > 0))
}

/// A system at whose prompt this program sits.
struct Desk {
    session: Session,
    input: PipeWriter,
    marks: u32,
    kills: u32,
    /// The last lines, for the report of what went wrong.
    last: VecDeque<String>,
}

/// How many lines are kept for a report.
const LAST: usize = 200;

impl Desk {
    /// Runs commands; all lines until the mark behind them.
    fn run(&mut self, commands: &str) -> Result<Vec<String>> {
        self.marks += 1;
        let mark = format!("soak-mark-{}", self.marks);
        // The echo of a terminal would have the word `echo` before it.
        writeln!(self.input, "{commands}echo {mark}").context("the system takes no commands")?;
        let deadline = Instant::now() + PATIENCE;
        let mut lines = Vec::new();
        loop {
            match self.session.line(deadline) {
                Ok(line) if line.trim() == mark => return Ok(lines),
                Ok(line) => {
                    self.kills +=
                        u32::from(line.starts_with("manager(") && line.contains(": killed;"));
                    if self.last.len() == LAST {
                        self.last.pop_front();
                    }
                    self.last.push_back(line.clone());
                    lines.push(line);
                }
                Err(why) => bail!("{why:?} after `{commands}`:\n{}", self.report()),
            }
        }
    }
}

impl Desk {
    /// What the system has said last.
    fn report(&self) -> String {
        let lines: Vec<&str> = self.last.iter().map(String::as_str).collect();
        lines.join("\n")
    }
}

/// Runs a soak.
pub fn soak(project: &Project, request: &Request, say: &mut dyn FnMut(&str)) -> Result<Outcome> {
    let images = image::compile_programs(project, Programs::WithTests, request.memory)?;
    let file = project
        .out()
        .join(format!("soak-{}.img", std::process::id()));
    let image = image::pack(project, &images, &file, None)?;
    let mut kernel = Kernel::prepare(project, Machine::Hosted, Acceleration::Emulated)?;
    let port = free_port()?;
    kernel.networks = vec![Network::sockets("host,192.0.2.0/24")];
    let disk = Disk::scratch(project)?;
    let on_host = disk.path.clone();
    kernel.disks.push(disk);
    let content = http::content(project)?;
    kernel.directories.push(content.clone());
    let arguments = kernel.awaited(false);
    let mut launch = kernel.launch(Some(&image), &arguments, false)?;
    launch.owns(image);
    launch.owns(on_host);
    let (reader, input) = std::io::pipe().context("cannot make a pipe")?;
    let mut desk = Desk {
        session: Session::with_input(launch, reader)?,
        input,
        marks: 0,
        kills: 0,
        last: VecDeque::new(),
    };
    let prepared = desk.run(&format!(
        "{}cat /boot/web.conf /web.conf > /w; mv /w /web.conf; sync /; httpd\n",
        http::preparation(port)
    ));
    let _ = std::fs::remove_dir_all(&content.path);
    prepared?;
    let load = Load::default();
    let mut outcome = Outcome {
        machine: Machine::Hosted.name(),
        memory: request.memory.name(),
        seconds: request.time,
        seed: request.seed,
        rounds: 0,
        kills: 0,
        connections: 0,
        again: 0,
        longest: (0.0, 0),
        answers: BTreeMap::new(),
        samples: Vec::new(),
        judged: Vec::new(),
        findings: Vec::new(),
    };
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (load, seed) = (&load, request.seed.wrapping_add(client << 40));
            scope.spawn(move || load.client(port, seed));
        }
        let ended = rounds(request, &mut desk, &load, &mut outcome, say);
        load.over.store(true, Ordering::Relaxed);
        ended
    })?;
    outcome.kills = desk.kills;
    outcome.connections = load.answered.load(Ordering::Relaxed);
    outcome.again = load.again.load(Ordering::Relaxed);
    outcome.longest = *load.longest.lock().unwrap_or_else(PoisonError::into_inner);
    outcome.answers =
        std::mem::take(&mut load.answers.lock().unwrap_or_else(PoisonError::into_inner));
    let seen = std::mem::take(&mut *load.findings.lock().unwrap_or_else(PoisonError::into_inner));
    outcome.findings.extend(seen);
    let last =
        desk.run("httpd stop; sleep 1; sweep && echo soak-swept; umount / && check /dev/disk0\n")?;
    for word in ["soak-swept", "/dev/disk0: 0 problems"] {
        if !last.iter().any(|line| line.trim() == word) {
            outcome
                .findings
                .push(format!("in the end no `{word}`:\n{}", last.join("\n")));
        }
    }
    writeln!(desk.input, "shutdown").context("the system takes no commands")?;
    drop(desk.input);
    let (rest, ended) = desk.session.finish(Instant::now() + PATIENCE);
    if ended != Ok(Some(0)) {
        outcome
            .findings
            .push(format!("the system's end: {ended:?}\n{rest}"));
    }
    for kills in [true, false] {
        match flat::judge(&outcome.samples, kills, stretch(request)) {
            Ok(judged) => outcome.judged.extend(judged),
            Err(why) => outcome.findings.push(why),
        }
    }
    Ok(outcome)
}

/// The seconds of each half that are judged, its last ones.
fn stretch(request: &Request) -> f64 {
    f64::from(request.time) / 4.0
}

/// Whether all figures are flat in the half with kills, or in the other; but for those that leak because
/// it was asked for.
fn is_flat(samples: &[Sample], request: &Request, kills: bool) -> bool {
    let judged = flat::judge(samples, kills, stretch(request));
    judged.is_ok_and(|all| {
        all.iter()
            .all(|judged| judged.flat || request.leak && judged.figure == LEAKING)
    })
}

/// Rounds of commands, with a sample behind each, until the time is over.
fn rounds(
    request: &Request,
    desk: &mut Desk,
    load: &Load,
    outcome: &mut Outcome,
    say: &mut dyn FnMut(&str),
) -> Result<()> {
    let begun = Instant::now();
    let time = Duration::from_secs(request.time.into());
    let between = u64::from(request.time) * 1000 / u64::from(SAMPLES);
    let between = Duration::from_millis(between.clamp(BETWEEN[0], BETWEEN[1]));
    let mut random = fastrand::Rng::with_seed(request.seed);
    let mut told = begun;
    let filling = FILLING.max(time / 2);
    let mut next_kill = Duration::ZERO;
    // When the last service was killed.
    let mut calm: Option<Duration> = None;
    loop {
        let now = begun.elapsed();
        let of_stretch = outcome.samples.iter().filter(|s| s.kills == calm.is_none());
        let enough = of_stretch.count() >= FEWEST;
        match calm {
            None if enough
                && now > time / 2
                && (is_flat(&outcome.samples, request, true) || now > time / 2 + filling) =>
            {
                calm = Some(now);
            }
            Some(since) if enough && now > since + time / 2 => {
                let is_flat = is_flat(&outcome.samples, request, false);
                if is_flat || now > since + time / 2 + filling {
                    return Ok(());
                }
            }
            _ if now > time * 2 + filling * 2 + PATIENCE => {
                bail!("too few samples in twice the time")
            }
            _ => {}
        }
        let kills = calm.is_none();
        let next = begun.elapsed() + between;
        // At least once.
        loop {
            let mut commands = String::from(BEGIN);
            if kills && begun.elapsed() >= next_kill {
                next_kill = begun.elapsed() + BETWEEN_KILLS;
                let victim = KILLED[random.usize(..KILLED.len())];
                let after = random.u32(0..30);
                commands.push_str(&format!("sleep 0.{after:03}; kill {victim}\n"));
            }
            if request.leak {
                commands.push_str(&format!("touch /left-{}\n", outcome.rounds));
            }
            commands.push_str(ROUND);
            let lines = desk.run(&commands)?;
            if !lines.iter().any(|line| line.contains(PONG)) {
                outcome
                    .findings
                    .push(format!("a round without `{PONG}`:\n{}", lines.join("\n")));
            }
            outcome.rounds += 1;
            if begun.elapsed() >= next {
                break;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        desk.run("services web\n")?;
        let peace = load.peace.write().unwrap_or_else(PoisonError::into_inner);
        // All that starts when it is asked is there in each sample.
        desk.run("date; httpd; services watch start\n")?;
        let lines = desk.run(&format!("sleep {SILENCE}; mem; df\n"))?;
        let mut figures = figures::of_system(&lines);
        figures.extend(figures::of_host(desk.session.id()));
        drop(peace);
        outcome.samples.push(Sample {
            at: begun.elapsed().as_secs_f64(),
            kills,
            figures,
        });
        let found = load.findings.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(first) = found.first() {
            desk.run("services\n")?;
            outcome.findings.push(format!("{first}\n{}", desk.report()));
            return Ok(());
        }
        drop(found);
        if told.elapsed() > Duration::from_secs(60) {
            told = Instant::now();
            say(&format!(
                "{:>6} s, {} rounds, {} kills, {} connections",
                begun.elapsed().as_secs(),
                outcome.rounds,
                desk.kills,
                load.answered.load(Ordering::Relaxed)
            ));
        }
    }
}
