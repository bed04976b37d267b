//! `cargo xtask bench web`: the web server under the load of SPECweb99 ([S] 5.1), beside nginx with
//! the same files and with a back end in one process, and `wasmtime serve` with the same handler.
//!
//! Each server has one processor and the clients another, if there are two; servers take turns,
//! so that disturbances of the machine affect all alike. What else runs on the server's processor
//! takes most from who has the fewest threads, so that each rate stands also for a second of the
//! server's processes' own time, as Linux accounts it. An answer of another status or length than
//! it should have counts as failed, which is said.
//!
//! Behind the timed rounds another hosted system runs some phases once more while `perf` looks, where that
//! is there and may: which functions take the time, by process.

mod cpu;
mod functions;
mod load;
mod mix;
mod peers;
mod perf;
mod sampled;

use super::report::{self, Row};
use super::samples::{self, Sample, percentile};
use super::{Request, describe, write};
use crate::disk::Disk;
use crate::host_dir::HostDirectory;
use crate::image::{self, Programs};
use crate::machine::{Acceleration, Kernel, Machine};
use crate::network::Network;
use crate::project::Project;
use crate::run::SCRIPT_ARGUMENTS;
use crate::setup::{self, Needs};
use crate::system::session::Session;
use crate::test::tcp::{free_port, tell};
use anyhow::{Result, anyhow, bail, ensure};
use cpu::Times;
use load::{Kind, Load, Outcome};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Connections at a time: as many as one address may have, less those that are just ending.
const CLIENTS: u32 = 16;
/// How long a phase takes in a round, hosted.
const PHASE: Duration = Duration::from_millis(1500);
/// Requests of a client in a phase on an emulated machine.
const COUNTED: u32 = 25;
/// Directories of files, of 5 MB each, hosted and emulated.
const DIRECTORIES: [u32; 2] = [4, 1];
/// How long the machine may take to be ready, or to answer.
const PATIENCE: Duration = Duration::from_secs(300);
/// The ports within an emulated machine.
const PORTS: [u16; 2] = [80, 81];

/// What is measured: a target, a name, what is asked for, whether connections are kept.
struct Phase {
    id: Option<&'static str>,
    name: &'static str,
    kind: Kind,
    keep: bool,
    /// The peers beside nginx's kept back end, with what they are asked for.
    others: &'static [(&'static str, Kind)],
}

const PHASES: [Phase; 7] = [
    Phase {
        id: Some("T17"),
        name: "files",
        kind: Kind::Static,
        keep: true,
        others: &[],
    },
    Phase {
        id: Some("T17"),
        name: "files, a connection for each",
        kind: Kind::Static,
        keep: false,
        others: &[],
    },
    Phase {
        id: Some("T16"),
        name: "a process for each request",
        kind: Kind::Dynamic("/fresh"),
        keep: true,
        others: &[("nginx and a process for each", Kind::Dynamic("/spawn"))],
    },
    Phase {
        id: Some("T16"),
        name: "a process and a connection for each request",
        kind: Kind::Dynamic("/fresh"),
        keep: false,
        others: &[],
    },
    Phase {
        id: None,
        name: "kept processes",
        kind: Kind::Dynamic("/kept"),
        keep: true,
        others: &[],
    },
    Phase {
        id: None,
        name: "mix, a process for each dynamic request",
        kind: Kind::Mix("/fresh"),
        keep: true,
        others: &[("nginx and a process for each", Kind::Mix("/spawn"))],
    },
    Phase {
        id: None,
        name: MIX,
        kind: Kind::Mix("/kept"),
        keep: true,
        others: &[],
    },
];

/// The peer that has an instance of its own for each request, as we have a process.
const WASMTIME: &str = "wasmtime serve";

/// The phase that the papers measured, of which the processor's time is shown.
const MIX: &str = "mix, kept processes";

/// The papers' shares of the processor ([S] Table 3), by our names.
const SHARES: [(&str, f64); 6] = [
    ("host-sockets", 5.81),
    ("network", 44.51),
    ("web", 15.44),
    ("web-try", 7.88),
    ("files", 25.96),
    ("virtio-blk", 0.40),
];

/// Who shows the processes between phases, and has no part in a request.
const ASIDE: [&str; 6] = ["console", "manager", "nameserver", "nc", "ps", "shell"];

/// The machine under test, whose script waits for connections to `control` between phases.
struct System {
    session: Session,
    port: u16,
    control: u16,
}

/// A folder for the run, removed at its end.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left lies in the project's output and does no harm.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs the benchmark.
pub fn run(request: &Request) -> Result<u8> {
    let mut project = Project::find()?;
    let emulated = request.machine.is_emulated();
    setup::prepare(&mut project, Needs::of(emulated))?;
    let name = format!("bench-web-{}", std::process::id());
    let folder = Folder(project.out().join(name));
    let directories = DIRECTORIES[usize::from(emulated)];
    mix::make(&folder.0.join("www"), directories)?;
    let cores = load::cores();
    let rounds = if emulated { 1 } else { request.rounds };
    let marks = 2 * rounds as usize * PHASES.len();
    let mut system = System::start(&project, request, &folder.0, marks, cores[0], &[])?;
    let nginx = match emulated {
        true => None,
        false => peers::nginx(&project, &folder.0, free_port()?, cores[0])?,
    };
    let wasmtime = match emulated {
        true => None,
        false => peers::wasmtime(&project, free_port()?, cores[0])?,
    };
    let mut ours = Vec::new();
    let mut theirs = Vec::new();
    let mut shares = Vec::new();
    for round in 1..=rounds {
        complain!("round {round} of {rounds}");
        for (number, phase) in PHASES.iter().enumerate() {
            let seed = u64::from(round) * 1000 + number as u64;
            let load = |port: u16, kind: Kind| Load {
                port,
                kind,
                clients: if emulated { 4 } else { CLIENTS },
                keep: phase.keep,
                directories,
                time: if emulated { PATIENCE } else { PHASE },
                most: if emulated { COUNTED } else { u32::MAX },
                seed,
                core: cores[1],
            };
            let before = system.mark()?;
            let own = [system.session.id()];
            let outcome = spending(&own, &load(system.port, phase.kind));
            let passed = cpu::between(&before, &system.mark()?);
            judge(phase.name, &outcome)?;
            shares.extend(times(phase, &passed, &outcome, emulated));
            if !emulated {
                ours.extend(figures(phase, None, &outcome));
            }
            if let (Some(wasmtime), Kind::Dynamic("/fresh")) = (&wasmtime, phase.kind) {
                let outcome = spending(&wasmtime.processes(), &load(wasmtime.port, phase.kind));
                judge(WASMTIME, &outcome)?;
                theirs.extend(figures(phase, Some(WASMTIME), &outcome));
            }
            let Some(nginx) = &nginx else {
                continue;
            };
            let kept = match phase.kind {
                Kind::Dynamic(_) => Kind::Dynamic("/kept"),
                Kind::Mix(_) => Kind::Mix("/kept"),
                Kind::Static => Kind::Static,
            };
            for (peer, kind) in [("nginx", kept)].iter().chain(phase.others) {
                let outcome = spending(&nginx.processes(), &load(nginx.port, *kind));
                judge(peer, &outcome)?;
                theirs.extend(figures(phase, Some(peer), &outcome));
            }
        }
    }
    system.end()?;
    let mut rows = report::rows(&samples::join(&ours), &samples::join(&theirs));
    rows.extend(samples::join(&shares).iter().map(share));
    sing_files::standard::print(report::table(&rows));
    let sampled = match emulated {
        true => Err(anyhow!("they are measured on the hosted system alone")),
        false => sampled::run(&project, request, &folder.0, cores),
    };
    let mut machine = describe(request);
    let by = match sampled {
        Ok((by, profiles)) => {
            for (phase, profile) in profiles {
                sing_files::standard::print(format!("\n{}", profile.table(phase)));
                rows.extend(profile.rows(phase));
            }
            by
        }
        Err(error) => {
            complain!("without times by function: {error:#}");
            format!("none: {error:#}")
        }
    };
    machine.insert("functions".into(), by.into());
    machine.insert("clients".into(), CLIENTS.into());
    let version = nginx.map_or("none".into(), |nginx| nginx.version.clone());
    machine.insert("nginx".into(), version.into());
    let result = report::Result {
        bench: request.name.clone(),
        machine,
        rows,
    };
    write(&project, request, &result)?;
    Ok(0)
}

/// Runs a load against a server of these processes of Linux.
fn spending(processes: &[u32], load: &Load) -> Outcome {
    let before = cpu::spent(processes);
    let mut outcome = load.run();
    outcome.spent = cpu::spent(processes) - before;
    outcome
}

/// Refuses a measurement in which many requests have failed.
fn judge(name: &str, outcome: &Outcome) -> Result<()> {
    let Some(why) = &outcome.why else {
        return Ok(());
    };
    let (failed, good) = (outcome.failed as usize, outcome.times.len());
    complain!(
        "{name}: {failed} requests of {} failed: {why}",
        failed + good
    );
    ensure!(failed * 20 <= good, "{name}: too many requests fail: {why}");
    Ok(())
}

/// Answers a second and how long they took.
fn figures(phase: &Phase, peer: Option<&str>, outcome: &Outcome) -> Vec<Sample> {
    let sample = |id: Option<&str>, name: String, unit: &str, value: f64| Sample {
        id: id.map(String::from),
        peer: peer.map(|peer| format!("{peer}: {name}")),
        name,
        unit: unit.into(),
        median: value,
        p10: None,
        p90: None,
    };
    let mut all = vec![sample(
        phase.id,
        phase.name.into(),
        "requests/s",
        outcome.rate(),
    )];
    if outcome.spent > 0.0 {
        let name = format!("{}, of the server's own time", phase.name);
        let value = outcome.times.len() as f64 / outcome.spent;
        all.push(sample(None, name, "requests/s", value));
    }
    for part in [50, 99] {
        let name = format!("{}, p{part}", phase.name);
        let value = percentile(&outcome.times, part);
        all.push(sample(None, name, "us", value));
    }
    all
}

/// Each process's part of a request, in time or, emulated, in instructions; and, of the phase that the
/// papers measured, its share of all. A process that has ended is in no table: the time of those for
/// one request each is nobody's.
fn times(phase: &Phase, passed: &Times, outcome: &Outcome, emulated: bool) -> Vec<Sample> {
    let aside: f64 = ASIDE.iter().filter_map(|name| passed.get(*name)).sum();
    let all = passed.values().sum::<f64>() - aside;
    let count = outcome.times.len().max(1) as f64;
    let used = passed
        .iter()
        .filter(|(name, _)| !ASIDE.contains(&name.as_str()));
    let sample = |name: &str, what: &str, unit: &str, median: f64| Sample {
        id: Some("E7".into()),
        name: format!("{}: {what} {name}", phase.name),
        peer: None,
        unit: unit.into(),
        median,
        p10: None,
        p90: None,
    };
    let used = used.flat_map(|(name, time)| {
        let part = match emulated {
            true => sample(name, "a request's", "instructions", time / count),
            false => sample(name, "a request's", "us", time / count / 1000.0),
        };
        let is_papers = !emulated && phase.name == MIX;
        let share = is_papers.then(|| sample(name, "share of", "%", time * 100.0 / all));
        [Some(part), share].into_iter().flatten()
    });
    // What is less than a thousandth says nothing.
    used.filter(|sample| sample.median >= 0.1).collect()
}

/// A row of the processor's time, beside the papers'.
fn share(measured: &samples::Measured) -> Row {
    let paper = SHARES.iter().find(|(name, _)| {
        let end = format!("share of {name}");
        measured.unit == "%" && measured.name.ends_with(&end)
    });
    Row {
        id: measured.id.clone(),
        name: measured.name.clone(),
        value: measured.median,
        unit: measured.unit.clone(),
        p10: measured.p10,
        p90: measured.p90,
        paper: paper.map(|(_, share)| *share),
        peers: Default::default(),
    }
}

/// What the system does: it makes its disk, and shows its processes at each connection.
fn script(port: u16, control: u16, marks: usize) -> String {
    let mut text = String::from(
        "format --force /dev/disk0 && mount /dev/disk0 / && mkdir /web && cp -r /mnt/file_set /web || echo no files\n",
    );
    for (at, line) in [
        format!("port {port}"),
        "requests 100000000".into(),
        // All of the files, as nginx has them in the host's page cache.
        "cache 64M".into(),
        "mount /fresh web-try at-once 32 ahead 4".into(),
        "mount /kept web-try kept at-once 32 ahead 4".into(),
    ]
    .iter()
    .enumerate()
    {
        text.push_str(&format!("echo \"{line}\" > /conf{at}\n"));
    }
    text.push_str("cat /conf0 /conf1 /conf2 /conf3 /conf4 > /web.conf\nhttpd\necho ready\n");
    for _ in 0..marks {
        text.push_str(&format!("echo | nc -l {control}; ps; echo marked\n"));
    }
    text.push_str("httpd stop\n");
    text
}

impl System {
    fn start(
        project: &Project,
        request: &Request,
        folder: &Path,
        marks: usize,
        core: Option<usize>,
        options: &[&'static str],
    ) -> Result<System> {
        let emulated = request.machine.is_emulated();
        let acceleration = match emulated {
            true => Acceleration::Waiting,
            false => Acceleration::Emulated,
        };
        let mut kernel = Kernel::prepare(project, request.machine, acceleration)?;
        kernel.options.extend(options);
        let (port, control) = (free_port()?, free_port()?);
        let inner = if emulated { PORTS } else { [port, control] };
        kernel.networks = vec![match request.machine {
            Machine::Hosted => Network::sockets("host,192.0.2.0/24"),
            _ => Network::user(&[(port, inner[0]), (control, inner[1])]),
        }];
        let disk = Disk::scratch(project)?;
        kernel.disks.push(disk.clone());
        kernel.directories.push(HostDirectory {
            path: folder.join("www"),
            at: "/mnt".into(),
            read_only: true,
        });
        let images = image::compile_programs(project, Programs::Ordinary, request.memory)?;
        let image = folder.join("bench.img");
        let text = script(inner[0], inner[1], marks);
        let image = image::pack(project, &images, &image, Some(&text))?;
        let mut arguments = kernel.awaited(false);
        arguments.extend(SCRIPT_ARGUMENTS.map(String::from));
        let mut launch = kernel.launch(Some(&image), &arguments, false)?;
        launch.owns(disk.path);
        let session = std::thread::scope(|scope| {
            let starter = scope.spawn(|| {
                core.map_or(Ok(()), load::pin)?;
                Session::start(launch)
            });
            starter
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })?;
        let mut system = System {
            session,
            port,
            control,
        };
        let said = system.until("ready")?;
        ensure!(
            said.contains("listening") && !said.contains("no files"),
            "the web server is not ready:\n{said}"
        );
        Ok(system)
    }

    /// What the system says until it has said this word.
    fn until(&mut self, word: &str) -> Result<String> {
        let deadline = Instant::now() + PATIENCE;
        let mut said = String::new();
        loop {
            match self.session.line(deadline) {
                Ok(line) if line.trim_end() == word => return Ok(said),
                Ok(line) => said += &(line + "\n"),
                Err(why) => bail!("the system has not said `{word}`: {why:?}\n{said}"),
            }
        }
    }

    /// The time of each process until now.
    fn mark(&mut self) -> Result<Times> {
        tell(self.control)?;
        let said = self.until("marked")?;
        let times = cpu::read(&said);
        ensure!(!times.is_empty(), "no table of processes:\n{said}");
        Ok(times)
    }

    fn end(self) -> Result<()> {
        let (output, ended) = self.session.finish(Instant::now() + PATIENCE);
        match ended {
            Ok(Some(0)) => Ok(()),
            other => bail!("the system has not ended as it should ({other:?}):\n{output}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_the_papers_shares() {
        let measured = |name: &str| samples::Measured {
            id: Some("E7".into()),
            name: name.into(),
            unit: "%".into(),
            median: 40.0,
            p10: 39.0,
            p90: 41.0,
        };
        let row = share(&measured("mix, kept processes: share of network"));
        assert_eq!(row.paper, Some(44.51));
        assert_eq!(share(&measured("mix: share of clock")).paper, None);
    }

    #[test]
    fn targets_are_rates() {
        for id in ["T16", "T17"] {
            assert!(
                crate::bench::targets::target(id, "requests/s").is_some(),
                "{id}"
            );
        }
    }

    #[test]
    fn the_script_waits_as_often_as_it_is_told() {
        let text = script(8080, 8081, 3);
        assert_eq!(text.matches("nc -l 8081").count(), 3);
        assert!(text.contains("port 8080") && text.ends_with("httpd stop\n"));
    }
}
