//! The ABI fuzzer: builds the herd's programs, boots systems in which they run, reads their output.
//!
//! `tests/sips/fuzz` leads the herds and judges them; this part detects what the judge cannot: a
//! kernel that has ended, or is silent. Such a boot is a finding of the round that was under way;
//! the later rounds continue in a new boot.

mod coverage;
mod module;
mod ops;

use super::Request;
use crate::image::{self, MemoryMode, Programs};
use crate::machine::{Acceleration, Kernel};
use crate::project::Project;
use crate::system::session::{Ended, Session};
use crate::test::systems;
use crate::{build, cargo};
use anyhow::{Context, Result};
use coverage::Coverage;
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// Sources of the herd's programs beside this module's texts.
const CONTRACT: &str = "tests/sips/fuzz/src/herd.rs";
/// The default length of a run, in seconds.
const TIME: u64 = 60;
/// How long a system may be silent.
const SILENCE: Duration = Duration::from_secs(180);
/// How long an answer may take, in milliseconds: hosted, the machine under the system may itself
/// stall.
const BOUND_HOSTED: u64 = 3000;
const BOUND_PC: u64 = 400;
/// The same with forced switches: others run at every call, each of them for as long as it may.
const BOUND_STRESSED: u64 = 120_000;
/// Findings after which a run gives up.
const ENOUGH: usize = 5;
/// Last lines that are shown of a system that has ended.
const TAIL: usize = 12;
/// Last calls that are shown of each SIP.
const CALLS: usize = 8;

/// The result of a run.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Completed rounds.
    pub rounds: u64,
    /// The findings: seed and description.
    pub findings: Vec<String>,
    /// The coverage.
    pub coverage: Coverage,
    /// The herder's last report of the longest time that an answer took.
    pub worst: String,
}

/// The parts of a boot.
struct Fuzzer<'a> {
    project: &'a Project,
    images: Vec<(String, PathBuf)>,
    kernel: Kernel,
    bound: u64,
}

/// The result of one boot.
struct Boot {
    outcome: Outcome,
    /// The round under way when the system ended, and its last output.
    gone: Option<(u64, String)>,
    /// Last calls, by SIP and thread, if they were printed.
    calls: BTreeMap<String, VecDeque<String>>,
}

/// Fuzzes.
pub fn run(project: &Project, request: &Request, say: &mut dyn FnMut(&str)) -> Result<Outcome> {
    let images = programs(project, request.memory)?;
    let acceleration = Acceleration::watched(request.machine);
    let kernel = Kernel::prepare(project, request.machine, acceleration)?;
    let fuzzer = Fuzzer {
        project,
        images,
        kernel: if request.stress {
            kernel.stressed()
        } else {
            kernel
        },
        bound: match (request.stress, request.machine.is_emulated()) {
            (true, _) => BOUND_STRESSED,
            (false, true) => BOUND_PC,
            (false, false) => BOUND_HOSTED,
        },
    };
    let first = request.seed();
    let time = match request.rounds {
        Some(_) => None,
        None => Some(Duration::from_secs(request.time.unwrap_or(TIME))),
    };
    let rounds = request.rounds.unwrap_or(u64::MAX >> 1);
    say(&format!("fuzz abi: --seed {first}"));
    let start = Instant::now();
    let mut all = Outcome::default();
    let mut next = 0;
    while next < rounds && time.is_none_or(|t| start.elapsed() < t) {
        let left = time.map_or(0, |t| (t.saturating_sub(start.elapsed())).as_secs().max(1));
        let seed = first.wrapping_add(next);
        let boot = fuzzer.boot(seed, rounds - next, left, request.log, say)?;
        next += boot.outcome.rounds;
        all.rounds += boot.outcome.rounds;
        all.worst = boot.outcome.worst;
        all.coverage.add(boot.outcome.coverage);
        all.findings.extend(boot.outcome.findings);
        if let Some((seed, said)) = boot.gone {
            next = seed.wrapping_sub(first) + 1;
            all.findings.push(fuzzer.retrace(seed, &said, boot.calls)?);
        } else if time.is_some() {
            break;
        }
        if all.findings.len() >= ENOUGH {
            say(&format!("fuzz abi: {ENOUGH} findings are enough"));
            break;
        }
    }
    Ok(all)
}

/// All programs, and those of the herd.
fn programs(project: &Project, memory: MemoryMode) -> Result<Vec<(String, PathBuf)>> {
    let mut images = image::compile_programs(project, Programs::WithTests, memory)?;
    let source = fs::read_to_string(project.root.join(CONTRACT))
        .with_context(|| format!("cannot read {CONTRACT}"))?;
    let contract = source
        .split('"')
        .nth(1)
        .with_context(|| format!("{CONTRACT} has no contract"))?;
    let folder = project.out().join("fuzz");
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    for (name, privileged) in module::PROGRAMS.into_iter().zip([true, false]) {
        let wat = folder.join(format!("{name}.wat"));
        let wasm = folder.join(format!("{name}.wasm"));
        let image = folder.join(format!("{name}-{}", memory.name()));
        let text = module::text(name, privileged, contract)?;
        fs::write(&wat, &text).with_context(|| format!("cannot write {}", wat.display()))?;
        build::module_of_text(project, &wat, &wasm)?;
        let mut compile = Command::new(project.host_binary("sing"));
        compile
            .arg("compile")
            .arg(&wasm)
            .arg("-o")
            .arg(&image)
            .env("SING_CACHE", "off");
        compile.args(["--memory", memory.name()]);
        cargo::quiet(&mut compile, &format!("compiling {name}"))?;
        images.push((name.to_string(), image));
    }
    Ok(images)
}

impl Fuzzer<'_> {
    /// Runs rounds in one system until they are done, the time is over, or the system ends.
    fn boot(
        &self,
        seed: u64,
        rounds: u64,
        seconds: u64,
        log: bool,
        say: &mut dyn FnMut(&str),
    ) -> Result<Boot> {
        let script = format!(
            "herder {seed} {rounds} {seconds} {} {}\necho fuzz: the system answers",
            self.bound,
            u8::from(log)
        );
        let launch = systems::launch(self.project, &self.images, &self.kernel, Some(&script))?;
        let mut session = Session::start(launch)?;
        let mut boot = Boot {
            outcome: Outcome::default(),
            gone: None,
            calls: BTreeMap::new(),
        };
        let mut round = seed;
        let mut tail = VecDeque::new();
        let mut done = false;
        let ended = loop {
            let line = match session.line(Instant::now() + SILENCE) {
                Ok(line) => line,
                Err(ended) => break ended,
            };
            if boot.outcome.coverage.take(&line) || boot.called(&line) {
                if line.contains("died of") {
                    if log {
                        say(&boot.died(&line));
                    }
                    push(&mut tail, line, TAIL);
                }
                continue;
            }
            if let Some((_, said)) = line.split_once("fuzz: ") {
                if let Some(n) = said.strip_prefix("round seed ") {
                    round = n.trim().parse().unwrap_or(round);
                    boot.outcome.rounds += 1;
                } else if let Some(finding) = said.strip_prefix("FINDING: ") {
                    let calls = boot.last_calls();
                    boot.outcome.findings.push(format!("{finding}\n{calls}"));
                } else if let Some(worst) = said.strip_prefix("worst answer ") {
                    boot.outcome.worst = worst.to_string();
                }
                done |= said.starts_with("the system answers");
                say(&format!("  {said}"));
            }
            push(&mut tail, line, TAIL);
        };
        let (_, status) = session.finish(Instant::now() + Duration::from_secs(10));
        if !done {
            let how = match (ended, status) {
                (Ended::Late, _) => format!("the system said nothing for {SILENCE:?}"),
                (_, Ok(Some(status))) => format!("the system ended with status {status}"),
                (_, other) => format!("the system ended: {other:?}"),
            };
            let said: Vec<String> = tail.into_iter().collect();
            boot.gone = Some((round, format!("{how}\n{}", said.join("\n"))));
        }
        Ok(boot)
    }

    /// Describes how a system ended. If the calls are not known, the round runs again and prints
    /// each call first. Hosted, the threads may then be switched at other places.
    fn retrace(
        &self,
        seed: u64,
        said: &str,
        calls: BTreeMap<String, VecDeque<String>>,
    ) -> Result<String> {
        let mut text = format!("seed {seed}: {said}\n");
        if calls.is_empty() {
            let again = self.boot(seed, 1, 0, true, &mut |_| {})?;
            match &again.gone {
                Some((_, said)) => writeln!(
                    text,
                    "and again, with each call printed: {said}\n{}",
                    again.last_calls()
                )?,
                None => text.push_str("It did not happen again with each call printed.\n"),
            }
        } else {
            let boot = Boot {
                outcome: Outcome::default(),
                gone: None,
                calls,
            };
            text.push_str(&boot.last_calls());
        }
        write!(
            text,
            "repeat it with: cargo xtask fuzz abi --seed {seed} --rounds 1 [--log]"
        )?;
        Ok(text)
    }
}

impl Boot {
    /// Records a call that a SIP announces: `#op SIP THREAD ENTRY A B C D`, in hexadecimal digits.
    fn called(&mut self, line: &str) -> bool {
        let Some((_, call)) = line.split_once("#op ") else {
            return false;
        };
        let words: Vec<&str> = call.split_whitespace().collect();
        let [sip, thread, entry, arguments @ ..] = words.as_slice() else {
            return true;
        };
        let number = |text: &str| usize::from_str_radix(text, 16).unwrap_or(usize::MAX);
        let name = sing_abi::entry::ENTRIES
            .get(number(entry))
            .map_or("?", |e| e.name);
        let who = format!("SIP {}, thread {thread}", number(sip));
        let calls = self.calls.entry(who).or_default();
        push(calls, format!("{name} {}", arguments.join(" ")), CALLS);
        true
    }

    /// A crash report with the last calls of each thread of that SIP.
    fn died(&mut self, report: &str) -> String {
        let mut text = format!("  {report}");
        let sip = report
            .split_once("(SIP ")
            .and_then(|(_, r)| r.split_once(')'));
        let Some((sip, _)) = sip else { return text };
        let whose = format!("SIP {sip}, ");
        for (who, calls) in &self.calls {
            if who.starts_with(&whose) {
                let calls: Vec<&str> = calls.iter().map(String::as_str).collect();
                // Writing to a string does not fail.
                let _ = write!(text, "\n    {who}: {}", calls.join("; "));
            }
        }
        self.calls.retain(|who, _| !who.starts_with(&whose));
        text
    }

    fn last_calls(&self) -> String {
        let mut out = String::new();
        // The latest ones.
        let skip = self.calls.len().saturating_sub(24);
        for (who, calls) in self.calls.iter().skip(skip) {
            let calls: Vec<&str> = calls.iter().map(String::as_str).collect();
            // Writing to a string does not fail.
            let _ = writeln!(out, "  {who}: {}", calls.join("; "));
        }
        out
    }
}

fn push(lines: &mut VecDeque<String>, line: String, most: usize) {
    if lines.len() == most {
        lines.pop_front();
    }
    lines.push_back(line);
}
