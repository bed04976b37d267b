//! Short runs of the fuzzers, always from the same seeds, so that only a change can make them fail.

use super::{Report, Run};
use crate::fuzz::sealed::{Outcome, Sealed};
use crate::fuzz::{Request, What, abi, border, code, http, packets};
use crate::machine::Machine;
use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Duration;

/// The first seeds of the short runs.
const SEED: u64 = 1;
/// Rounds on each machine: enough to reach every entry.
const ROUNDS_HOSTED: u64 = 96;
const ROUNDS_STRESSED: u64 = 8;
const ROUNDS_PC: u64 = 6;
/// Seconds of the network's and of the web server's.
const SECONDS: u64 = 15;
const SECONDS_HTTP: u64 = 10;
/// Rounds of a host program's, and runs of an ordinary program's.
const ROUNDS_EMBED: u64 = 40;
const ROUNDS_WASI: u64 = 150;

/// The greatest size of the kept modules of random code, in bytes.
const MOST_KEPT: u64 = 1_000_000;

/// How long the reader of the kept modules' results sleeps first: a system that does not wait for it
/// has much to write meanwhile, and loses some.
const READER_SLEEPS: Duration = Duration::from_millis(500);

/// Herds of SIPs against the kernel, hosted; a few of them with a forced switch to another thread
/// wherever one is possible.
pub fn hosted(run: &Run) -> Result<Report> {
    let mut report = herds(run, Machine::Hosted, ROUNDS_HOSTED, false)?;
    let stressed = herds(run, Machine::Hosted, ROUNDS_STRESSED, true)?;
    report.passed += stressed.passed;
    report.failures.extend(stressed.failures);
    Ok(report)
}

/// The kept modules of random code: in both memory modes, each run ends as it did in the other
/// engines. They hold what the generators are for, and stay small.
pub fn kept(run: &Run) -> Result<Report> {
    let corpus = run.project.root.join("tests/differential/corpus");
    let folder = run.project.out().join("differential/corpus");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let (mut modules, mut size) = (0, 0);
    for file in fs::read_dir(&corpus).with_context(|| format!("no {}", corpus.display()))? {
        let file = file?;
        size += fs::copy(file.path(), folder.join(file.file_name()))?;
        modules += usize::from(file.path().extension().is_some_and(|e| e == "wasm"));
    }
    let mut outcome = Outcome::default();
    let mut sealed = Sealed::prepare(&run.project)?;
    sealed.reader_sleeps = READER_SLEEPS;
    let differences = sealed.compare(&folder, &mut outcome)?;
    let mut report = Report::default();
    let failed = differences.len() + outcome.findings.len();
    report.passed += outcome.compared;
    for difference in differences {
        report.count("a kept module", Err(difference.what));
    }
    for finding in outcome.findings.drain(..) {
        report.count("a kept module", Err(finding));
    }
    let complete = match code::missing(&outcome) {
        Some(missing) => Err(missing),
        // One is lost, or a run is left without its result.
        None if outcome.modules != modules => Err(format!(
            "{modules} modules, but {} expected",
            outcome.modules
        )),
        None if failed == 0 && outcome.unknown + outcome.split.len() > 0 => {
            Err("runs whose result nobody knows".into())
        }
        None if size > MOST_KEPT => Err(format!("{size} bytes, of {MOST_KEPT} at most")),
        None => Ok(()),
    };
    report.count("the kept modules have what the generators make", complete);
    report.count("planted faults are found", planted(run, &sealed)?);
    Ok(report)
}

/// Kept modules in which a fault is planted.
const PLANTED: usize = 12;
/// The factor of the digest that a module of ours makes of its state, as `i64.const` has it; and
/// another one. With this, each run that ends by an exit ends by another.
const FACTOR: [u8; 10] = [0x95, 0xf8, 0xa9, 0xfa, 0x97, 0xb7, 0xde, 0x9b, 0x9e, 0x7f];
const OTHER_FACTOR: u8 = 0x97;

/// Whether faults are found, in each memory mode: code that computes another value, code that traps
/// and is not to, and code that is to trap and ends.
fn planted(run: &Run, sealed: &Sealed<'_>) -> Result<std::result::Result<(), String>> {
    let corpus = run.project.root.join("tests/differential/corpus");
    let folder = run.project.out().join("differential/planted");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let expected = fs::read_to_string(corpus.join("expected"))?;
    let mut lines = String::new();
    let mut faults = BTreeSet::new();
    let mut plant = |kind: &str, name: &str, wasm: &[u8], end: &str| -> Result<()> {
        let fault = format!("{kind}-{name}");
        if faults
            .iter()
            .filter(|f: &&String| f.starts_with(kind))
            .count()
            < PLANTED
            && !faults.contains(&fault)
        {
            fs::write(folder.join(format!("{fault}.wasm")), wasm)?;
            lines.push_str(&format!("{fault} {end}\n"));
            faults.insert(fault);
        }
        Ok(())
    };
    for line in expected.lines() {
        let mut words = line.splitn(3, ' ');
        let (Some(name), Some(number), Some(end)) = (words.next(), words.next(), words.next())
        else {
            continue;
        };
        let mut wasm = fs::read(corpus.join(format!("{name}.wasm")))?;
        if end.starts_with("exit ") {
            plant("traps", name, &wasm, &format!("{number} trap 1"))?;
            let places = 0..wasm.len().saturating_sub(FACTOR.len());
            let places: Vec<usize> = places
                .filter(|at| wasm[*at..].starts_with(&FACTOR))
                .collect();
            for at in places {
                wasm[at] = OTHER_FACTOR;
            }
            plant("computes", name, &wasm, &format!("{number} {end}"))?;
        } else if end == "trap 1" {
            plant("ends", name, &wasm, &format!("{number} exit 0"))?;
        }
    }
    fs::write(folder.join("expected"), lines)?;
    fs::write(folder.join("figures"), "")?;
    let differences = sealed.compare(&folder, &mut Outcome::default())?;
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    for difference in differences {
        let name = difference.module.file_stem().unwrap_or_default();
        *found
            .entry(name.to_string_lossy().into_owned())
            .or_default() += 1;
    }
    let missed = faults.iter().filter(|fault| found.get(*fault) != Some(&2));
    let missed: Vec<&str> = missed.map(String::as_str).collect();
    Ok(match (faults.len(), missed.is_empty()) {
        (n, _) if n < 3 * PLANTED => Err(format!("only {n} faults could be planted")),
        (_, false) => Err(format!(
            "not found in both memory modes: {}",
            missed.join(", ")
        )),
        (_, true) => Ok(()),
    })
}

/// Frames for the network, for a while.
pub fn packets(run: &Run) -> Result<Report> {
    let mut request = Request::new(What::Packets);
    request.seed = Some(SEED);
    request.time = Some(if run.all { 300 } else { SECONDS });
    let outcome = packets::run(&run.project, &request, &mut |line| println!("{line}"))?;
    let mut report = Report::default();
    report.count(
        "frames for the network",
        match outcome.findings.into_iter().next() {
            Some(finding) => Err(finding),
            None => Ok(()),
        },
    );
    Ok(report)
}

/// Connections to the web server, for a while.
pub fn http(run: &Run) -> Result<Report> {
    let mut request = Request::new(What::Http);
    request.seed = Some(SEED);
    request.time = Some(if run.all { 300 } else { SECONDS_HTTP });
    let outcome = http::run(&run.project, &request, &mut |line| println!("{line}"))?;
    let mut report = Report::default();
    report.count(
        "connections to the web server",
        match outcome.findings.into_iter().next() {
            Some(finding) => Err(finding),
            None if outcome.answers.is_empty() => Err("nothing was answered".into()),
            None => Ok(()),
        },
    );
    Ok(report)
}

/// Threads of a host program against the system inside it.
pub fn embed(run: &Run) -> Result<Report> {
    border(run, What::Embed, ROUNDS_EMBED, "a host program's threads")
}

/// Calls of an ordinary program's, without wasmtime: whether it stays in its directory, and leaves nothing.
pub fn wasi(run: &Run) -> Result<Report> {
    border(run, What::Wasi, ROUNDS_WASI, "calls of WASI")
}

fn border(run: &Run, what: What, rounds: u64, name: &str) -> Result<Report> {
    let mut request = Request::new(what);
    request.seed = Some(SEED);
    request.alone = true;
    match run.all {
        true => request.time = Some(300),
        false => request.rounds = Some(rounds),
    }
    let findings = border::run(&run.project, &request, &mut |line| println!("{line}"))?;
    let mut report = Report::default();
    let first = findings.into_iter().next();
    report.count(name, first.map_or(Ok(()), Err));
    Ok(report)
}

/// Herds of SIPs against the kernel of QEMU's smallest PC.
pub fn microvm(run: &Run) -> Result<Report> {
    herds(run, Machine::Microvm, ROUNDS_PC, false)
}

fn herds(run: &Run, machine: Machine, rounds: u64, stress: bool) -> Result<Report> {
    let mut request = Request::new(What::Abi);
    request.machine = machine;
    request.stress = stress;
    request.seed = Some(SEED);
    request.rounds = Some(rounds);
    let outcome = abi::run(&run.project, &request, &mut |_| {})?;
    let mut report = Report::default();
    let missing = outcome.coverage.missing();
    report.count(
        "every entry is reached",
        match missing.as_slice() {
            [] => Ok(()),
            // A few rounds do not reach all entries.
            few if rounds < ROUNDS_HOSTED && few.len() <= FEW => Ok(()),
            missing => Err(format!("not reached: {}", missing.join(", "))),
        },
    );
    let failed = outcome.findings.len();
    report.passed += (outcome.rounds as usize).saturating_sub(failed);
    for finding in outcome.findings {
        report.count("a round", Err(finding));
    }
    if outcome.rounds < rounds {
        let reason = format!("{} rounds of {rounds} were done", outcome.rounds);
        report.count("all rounds", Err(reason));
    }
    Ok(report)
}

/// Entries that few rounds may miss.
const FEW: usize = 10;
