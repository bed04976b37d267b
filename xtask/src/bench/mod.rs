//! `cargo xtask bench`: our figures, the peers' and the papers', side by side.
//!
//! Hosted, the measuring program runs inside the system as a user's program would, in rounds that
//! alternate with the peers' programs, so that disturbances of the machine affect all alike. On the
//! PC it runs once under an emulator that gives every instruction the same time: the time-stamp
//! counter counts instructions, and, where the host serves a device, the nanoseconds that the
//! machine waits for it.

mod compute;
mod embed;
mod hello;
mod kernels;
mod net;
mod plot;
pub mod programs;
mod report;
mod safety;
mod samples;
mod start;
mod targets;
mod treeshake;
mod web;

pub use targets::TARGETS;

use crate::disk::Disk;
use crate::image::{self, MemoryMode, Programs};
use crate::machine::{Acceleration, Kernel, Machine};
use crate::project::Project;
use crate::run::SCRIPT_ARGUMENTS;
use crate::setup::{self, Needs};
use crate::system::session::Session;
use crate::{build, cargo, files};
use anyhow::{Context, Result, bail};
use samples::Sample;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// The options of `bench`.
#[derive(Debug)]
pub struct Request {
    /// The benchmark.
    pub name: String,
    /// Where the JSON goes; by default beside the picture.
    pub json: Option<PathBuf>,
    /// The machine.
    pub machine: Machine,
    /// How linear memories are guarded.
    pub memory: MemoryMode,
    /// Alternating rounds of our program and the peers'.
    pub rounds: u32,
    /// Modules with their arguments, beside those in the tree, of `programs` and `compile`.
    pub programs: Vec<String>,
}

/// A benchmark: the arguments of the measuring program, and its peers.
struct Bench {
    name: &'static str,
    /// Targets for which Linux's own mechanisms are measured.
    linux: &'static str,
    /// Whether wasmtime is a peer.
    wasmtime: bool,
    /// Whether the start of the whole system is measured, too.
    starts: bool,
    /// How many empty disks the machine has.
    disks: usize,
    /// Whether it waits for what the host does: its bursts on an emulated machine.
    waits: Option<u32>,
}

const BENCHES: [Bench; 6] = [
    Bench {
        name: "basic",
        linux: "T1,T2,T3,T4,T6",
        wasmtime: true,
        starts: true,
        disks: 0,
        waits: None,
    },
    Bench {
        name: "channels",
        linux: "T3,T4,T5",
        wasmtime: false,
        starts: false,
        disks: 0,
        waits: None,
    },
    Bench {
        name: "disk",
        linux: "E6",
        wasmtime: false,
        starts: false,
        disks: 3,
        waits: Some(3),
    },
    Bench {
        name: "files",
        linux: "file",
        wasmtime: false,
        starts: false,
        disks: 3,
        waits: Some(3),
    },
    Bench {
        name: NET,
        linux: "net",
        wasmtime: false,
        starts: false,
        disks: 0,
        waits: Some(20),
    },
    Bench {
        name: "registers",
        linux: "",
        wasmtime: false,
        starts: false,
        disks: 3,
        waits: None,
    },
];

/// The benchmark of network cards, which has a program of its own: that of the others has no right
/// to `NicContract`.
const NET: &str = "net";

/// The benchmark of the web server, which the host asks.
const WEB: &str = "web";

/// The benchmarks of ordinary programs, and of compilation.
const PROGRAMS: &str = "programs";
const COMPILE: &str = "compile";
/// The benchmark of calls into a system inside a program.
const EMBED: &str = "embed";

/// The sizes of hello in several languages.
const HELLO: &str = "hello";

/// The benchmark of compiled code.
const COMPUTE: &str = "compute";
/// The benchmark of what safety costs it.
const SAFETY: &str = "safety";
/// What leaving out saves that nothing reaches.
const TREESHAKE: &str = "treeshake";

/// Bursts of each measurement in a round.
const BURSTS: u32 = 100;

/// How long one run of the measuring program may take.
const PATIENCE: Duration = Duration::from_secs(600);

/// Runs a benchmark, prints its table and writes JSON and picture.
pub fn run(request: &Request) -> Result<u8> {
    request
        .json
        .as_deref()
        .map_or(Ok(()), files::expect_place)?;
    match request.name.as_str() {
        PROGRAMS => return programs::run(request),
        COMPILE => return programs::compile(request),
        TREESHAKE => return treeshake::run(request),
        _ if !request.programs.is_empty() => {
            bail!("--program is for `bench {PROGRAMS}`, `bench {COMPILE}` and `bench {TREESHAKE}`");
        }
        WEB => return web::run(request),
        name @ (COMPUTE | SAFETY) if request.machine.is_emulated() => {
            bail!("bench {name}: programs of this machine are measured; leave `--machine` out");
        }
        COMPUTE => return compute::run(request),
        SAFETY => return safety::run(request),
        EMBED if request.machine.is_emulated() => {
            bail!("bench {EMBED}: programs of this machine are measured; leave `--machine` out");
        }
        EMBED => return embed::run(request),
        HELLO if request.machine.is_emulated() => {
            bail!(
                "bench {HELLO}: the hosted system's processes are measured; leave `--machine` out"
            );
        }
        HELLO => return hello::run(request),
        _ => {}
    }
    let Some(bench) = BENCHES.iter().find(|b| b.name == request.name) else {
        let mut names: Vec<&str> = BENCHES.iter().map(|b| b.name).collect();
        names.extend([
            WEB, PROGRAMS, COMPILE, EMBED, HELLO, COMPUTE, SAFETY, TREESHAKE,
        ]);
        bail!(
            "unknown benchmark `{}`: there is {}",
            request.name,
            names.join(", ")
        );
    };
    let mut project = Project::find()?;
    let emulated = request.machine.is_emulated();
    setup::prepare(&mut project, Needs::of(emulated))?;
    let (acceleration, unit) = match bench.waits {
        _ if !emulated => (Acceleration::Emulated, "cycles"),
        None => (Acceleration::Counted, "instructions"),
        Some(_) => (Acceleration::Waiting, targets::WITH_WAITS),
    };
    let mut kernel = Kernel::prepare(&project, request.machine, acceleration)?;
    for _ in 0..bench.disks {
        kernel.disks.push(Disk::scratch(&project)?);
    }
    let mut far_ends = Vec::new();
    let mut programs = Programs::Ordinary;
    if bench.name == NET {
        programs = Programs::WithTests;
        for &(_, _, e1000) in net::cards(request.machine) {
            let (far, card) = net::FarEnd::start(e1000)?;
            far_ends.push(far);
            kernel.networks.push(card);
        }
    }
    let images = image::compile_programs(&project, programs, request.memory)?;
    let image = project
        .out()
        .join(format!("bench-{}.img", std::process::id()));
    let bursts = bench.waits.filter(|_| emulated).unwrap_or(BURSTS);
    let script = match bench.name {
        NET => net::script(request.machine, bursts),
        name => format!("bench {name} {bursts}\n"),
    };
    let image = image::pack(&project, &images, &image, Some(&script))?;
    let mut peers = if emulated || bench.linux.is_empty() {
        Vec::new()
    } else {
        peer_programs(&project, bench)?
    };
    let mut ours = Vec::new();
    let mut theirs = Vec::new();
    let rounds = if emulated { 1 } else { request.rounds };
    for round in 1..=rounds {
        complain!("round {round} of {rounds}");
        ours.extend(measure(&kernel, &image)?);
        for peer in &mut peers {
            theirs.extend(measure_peer(peer)?);
        }
    }
    let _ = std::fs::remove_file(&image);
    for disk in &kernel.disks {
        let _ = std::fs::remove_file(&disk.path);
    }
    if emulated {
        // By an emulated machine's time they say nothing.
        ours.retain(|sample| !sample.unit.ends_with("/s"));
    }
    for sample in ours.iter_mut().filter(|s| s.unit == "cycles") {
        sample.unit = unit.into();
    }
    if bench.starts {
        ours.push(start_up(&project, request, &images)?);
    }
    finish(&project, request, &ours, &theirs)
}

/// Prints and writes what has been measured.
fn finish(project: &Project, request: &Request, ours: &[Sample], theirs: &[Sample]) -> Result<u8> {
    let rows = report::rows(&samples::join(ours), &samples::join(theirs));
    sing_files::standard::print(report::table(&rows));
    let result = report::Result {
        bench: request.name.clone(),
        machine: describe(request),
        rows,
    };
    write(project, request, &result)?;
    Ok(0)
}

/// From the start to the prompt, by the wall clock, also on emulated machines.
fn start_up(project: &Project, request: &Request, images: &[(String, PathBuf)]) -> Result<Sample> {
    let kernel = Kernel::prepare(project, request.machine, Acceleration::Emulated)?;
    let image = project
        .out()
        .join(format!("bench-{}.img", std::process::id()));
    let image = image::pack(project, images, &image, None)?;
    let (unit, times) = match request.machine {
        Machine::Hosted => ("ms", 20),
        _ => (targets::EMULATED_MS, 5),
    };
    let sample = start::to_prompt(&kernel, &image, "start to shell prompt", unit, times);
    let _ = std::fs::remove_file(&image);
    sample
}

/// One run of the measuring program inside the system.
fn measure(kernel: &Kernel, image: &Path) -> Result<Vec<Sample>> {
    let mut arguments = Vec::from(SCRIPT_ARGUMENTS.map(String::from));
    if !kernel.disks.is_empty() {
        // What it measures starts beside it.
        arguments.extend(["--await", "/fsctrl,/dev/disk0,/dev/disk1"].map(String::from));
    }
    let session = Session::start(kernel.launch(Some(image), &arguments, false)?)?;
    let (output, ended) = session.finish(Instant::now() + PATIENCE);
    let found = samples::read(&output);
    match ended {
        Ok(Some(0)) if !found.is_empty() => Ok(found),
        other => bail!("the measuring program failed ({other:?}):\n{output}"),
    }
}

/// Programs that measure others on this machine: Linux itself, and wasmtime if it can be built.
fn peer_programs(project: &Project, bench: &Bench) -> Result<Vec<Command>> {
    build::host(project, &["sing-bench-linux"])?;
    let mut linux = Command::new(project.host_binary("sing-bench-linux"));
    linux.args(["--burst", "--only", bench.linux]);
    let mut peers = vec![linux];
    if bench.wasmtime {
        peers.extend(wasmtime(project));
    }
    Ok(peers)
}

/// The program that measures wasmtime, if it can be built.
fn wasmtime(project: &Project) -> Option<Command> {
    let folder = project.root.join("bench/wasmtime");
    if !folder.join("Cargo.toml").exists() {
        return None;
    }
    let target = project.target.join("bench-wasmtime");
    let mut command = cargo::command(&folder, &["build", "--release", "--target-dir"]);
    command.arg(&target);
    match cargo::quiet(&mut command, "building the wasmtime peer (minutes, once)") {
        Ok(()) => Some(Command::new(target.join("release/sing-bench-wasmtime"))),
        Err(error) => {
            complain!("without wasmtime: {error:#}");
            None
        }
    }
}

fn measure_peer(peer: &mut Command) -> Result<Vec<Sample>> {
    let name = peer.get_program().to_string_lossy().into_owned();
    let output = peer
        .output()
        .with_context(|| format!("cannot start {name}"))?;
    if !output.status.success() {
        bail!(
            "{name} failed:\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(samples::read(&String::from_utf8_lossy(&output.stdout)))
}

/// Describes the machine, as far as it matters for the figures.
fn describe(request: &Request) -> BTreeMap<String, serde_json::Value> {
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu.lines().find_map(|l| {
        l.strip_prefix("model name")?
            .split_once(": ")
            .map(|(_, m)| m.to_string())
    });
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    BTreeMap::from([
        ("system".into(), request.machine.name().into()),
        ("memory".into(), request.memory.name().into()),
        (
            "cpu".into(),
            model.unwrap_or_else(|| "unknown".into()).into(),
        ),
        ("cpus".into(), cpus.into()),
        ("linux".into(), kernel.trim().into()),
        ("rounds".into(), request.rounds.into()),
    ])
}

fn write(project: &Project, request: &Request, result: &report::Result) -> Result<()> {
    let folder = project.out().join("bench");
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot create {}", folder.display()))?;
    let stem = folder.join(format!("{}-{}", result.bench, request.machine.name()));
    let json = request
        .json
        .clone()
        .unwrap_or_else(|| stem.with_extension("json"));
    let picture = json.with_extension("svg");
    let text = serde_json::to_string_pretty(result).context("cannot write the result as JSON")?;
    files::write(&json, text + "\n")?;
    let title = format!(
        "bench {} ({}), logarithmic",
        result.bench,
        request.machine.name()
    );
    let svg = plot::svg(&title, &result.rows)?;
    files::write(&picture, svg)?;
    complain!("wrote {} and {}", json.display(), picture.display());
    Ok(())
}
