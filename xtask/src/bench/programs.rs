//! `cargo xtask bench programs` and `bench compile`: ordinary programs under `sing run` and under
//! wasmtime, which has compiled them before, and, where this machine has a program of the same
//! name, that one; and how fast modules are compiled. A program of our own reads many files, and
//! another computes (`tests/programs/work.rs`); of each the memory is told, too.
//!
//! All take turns, so that disturbances of the machine affect all alike. The speed of compilation is
//! told by the processor's time as Linux accounts it, which other processes do not change much.

use super::report::{self, Row};
use super::samples::{median, percentile};
use super::{Request, describe, write};
use crate::project::Project;
use crate::setup::{self, Needs};
use crate::{build, cargo, wasi};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Starts of each program in a round.
const STARTS: u32 = 10;
/// The age from which on `sing run` knows a module by its stamp.
const SETTLED: Duration = Duration::from_millis(3100);
/// The name of the peer in tables.
const WASMTIME: &str = "wasmtime";

/// A program with its arguments.
struct Program {
    name: String,
    module: PathBuf,
    /// What wasmtime has made of it.
    compiled: PathBuf,
    arguments: Vec<String>,
    /// The same as a program of this machine.
    native: Option<PathBuf>,
    /// The directory that it may use.
    folder: Option<PathBuf>,
}

/// What is there to measure with.
struct Bench {
    project: Project,
    folder: PathBuf,
    /// What `sing run` keeps: where no program that may write where this command runs reaches it.
    cache: PathBuf,
    /// The program that runs modules as wasmtime does, if it can be built.
    peer: Option<PathBuf>,
    programs: Vec<Program>,
}

/// `bench programs`.
pub fn run(request: &Request) -> Result<u8> {
    let bench = Bench::prepare(request)?;
    let mut rows = Vec::new();
    for program in &bench.programs {
        complain!("{}", program.name);
        rows.extend(bench.starts(program, request.rounds)?);
    }
    bench.finish(request, rows)
}

/// `bench compile`.
pub fn compile(request: &Request) -> Result<u8> {
    let bench = Bench::prepare(request)?;
    let mut rows = Vec::new();
    // The first program is hardly more than the adapter.
    let mut adapter = 0.0;
    for program in &bench.programs {
        complain!("{}", program.name);
        let (row, megabytes) = bench.speed(program, request.rounds, adapter)?;
        if rows.is_empty() {
            adapter = megabytes;
        }
        rows.push(row);
    }
    bench.finish(request, rows)
}

impl Bench {
    fn prepare(request: &Request) -> Result<Bench> {
        let mut project = Project::find()?;
        setup::prepare(&mut project, Needs::of(false))?;
        wasi::base(&project)?;
        let folder = format!("bench-programs-{}", std::process::id());
        let folder = project.out().join(folder);
        fs::create_dir_all(&folder).with_context(|| format!("{}", folder.display()))?;
        let peer = peer(&project);
        let cache = format!("sing-bench-programs-{}", std::process::id());
        let mut bench = Bench {
            project,
            folder,
            cache: std::env::temp_dir().join(cache),
            peer,
            programs: Vec::new(),
        };
        for text in ["words", "copy"] {
            let from = bench
                .project
                .root
                .join(format!("tests/ordinary/{text}.wat"));
            let module = bench.folder.join(format!("{text}.wasm"));
            build::module_of_text(&bench.project, &from, &module)?;
            bench.add(module.clone(), &["x".into()])?;
            if request.name == super::PROGRAMS {
                bench.add(module, &["x".into()])?;
                if let Some(program) = bench.programs.last_mut() {
                    program.name += ", no directory";
                    program.folder = None;
                }
            }
        }
        if request.name == super::PROGRAMS {
            bench.add_work();
        }
        for given in &request.programs {
            let mut words = given.split_whitespace().map(String::from);
            let module = words.next().context("--program: name a module")?;
            bench.add(module.into(), &words.collect::<Vec<_>>())?;
        }
        std::thread::sleep(SETTLED);
        Ok(bench)
    }

    /// Adds the programs that read files and compute, if they can be made.
    fn add_work(&mut self) {
        let source = self.project.root.join("tests/programs/work.rs");
        let (module, native) = (self.folder.join("work.wasm"), self.folder.join("work"));
        for (out, target) in [(&module, Some("wasm32-wasip1")), (&native, None)] {
            let mut command = Command::new("rustc");
            command.args(["--edition", "2024", "-O", "-o"]).arg(out);
            command.arg(&source);
            command.args(target.map(|target| format!("--target={target}")));
            if let Err(error) = cargo::quiet(&mut command, "compiling work.rs") {
                complain!("without files and compute: {error:#}");
                return;
            }
        }
        let folder = self.project.root.join("kernel");
        for words in [["files", "/"], ["compute", "20000000"]] {
            let added = self.add(module.clone(), &words.map(String::from));
            match added {
                Ok(()) => {
                    if let Some(program) = self.programs.last_mut() {
                        program.native = Some(native.clone());
                        program.folder = Some(folder.clone());
                    }
                }
                Err(error) => complain!("without {}: {error:#}", words[0]),
            }
        }
    }

    /// Adds a program, compiled for the peer.
    fn add(&mut self, module: PathBuf, arguments: &[String]) -> Result<()> {
        let name = module.file_stem().unwrap_or_default().to_string_lossy();
        let compiled = self.folder.join(format!("{}-{name}", self.programs.len()));
        if let Some(peer) = &self.peer {
            let mut command = Command::new(peer);
            command.arg("compile").arg(&module).arg(&compiled);
            let output = command.stderr(Stdio::inherit()).output()?;
            ensure!(output.status.success(), "{}: refused", module.display());
        }
        let paths = std::env::var_os("PATH").unwrap_or_default();
        let mut native = std::env::split_paths(&paths).map(|folder| folder.join(&*name));
        let native = native.find(|file| file.is_file());
        self.programs.push(Program {
            name: [&[name.into_owned()], arguments].concat().join(" "),
            module,
            compiled,
            arguments: arguments.to_vec(),
            native: native.filter(|_| !arguments.is_empty()),
            folder: Some(".".into()),
        });
        Ok(())
    }

    fn ours(&self) -> Command {
        let mut command = Command::new(self.project.host_binary("sing"));
        command.env("SING_CACHE", &self.cache);
        command
    }

    /// Start to first output, and the whole run.
    fn starts(&self, program: &Program, rounds: u32) -> Result<Vec<Row>> {
        let mut kinds: Vec<&str> = vec!["sing"];
        kinds.extend(self.peer.is_some().then_some(WASMTIME));
        kinds.extend(program.native.is_some().then_some("native"));
        let mut times: BTreeMap<&str, [Vec<f64>; 2]> = BTreeMap::new();
        // The first run compiles, and the second one notes what it has compared.
        for _ in 0..2 {
            once(&mut self.command(program, "sing"))?;
        }
        for _ in 0..rounds * STARTS {
            for kind in &kinds {
                let [first, whole] = once(&mut self.command(program, kind))?;
                let of = times.entry(kind).or_default();
                of[0].push(first);
                of[1].push(whole);
            }
        }
        let rows = ["first output", "end"].iter().enumerate().map(|(i, what)| {
            let row = row(
                &format!("start to {what}: {}", program.name),
                "ms",
                &times["sing"][i],
            );
            let peers = kinds.iter().filter(|kind| **kind != "sing");
            let peers = peers.map(|kind| (kind.to_string(), median(times[kind][i].clone())));
            Row {
                peers: peers.collect(),
                ..row
            }
        });
        let mut rows: Vec<Row> = rows.collect();
        let mut memory = BTreeMap::new();
        for kind in &kinds {
            memory.insert(*kind, most_memory(&mut self.command(program, kind))?);
        }
        let theirs = memory.iter().filter(|(kind, _)| **kind != "sing");
        rows.push(Row {
            peers: theirs
                .map(|(kind, most)| (kind.to_string(), *most))
                .collect(),
            ..row(
                &format!("most memory: {}", program.name),
                "MiB",
                &[memory["sing"]],
            )
        });
        if let Some(theirs) = times.get(WASMTIME) {
            let ratio = median(times["sing"][0].clone()) / median(theirs[0].clone());
            rows.push(Row {
                id: Some("T19".into()),
                ..row(
                    &format!("over wasmtime, first output: {}", program.name),
                    "ratio",
                    &[ratio],
                )
            });
        }
        Ok(rows)
    }

    fn command(&self, program: &Program, kind: &str) -> Command {
        let mut command = match kind {
            "sing" => self.ours(),
            "native" => Command::new(program.native.as_deref().unwrap_or(Path::new(""))),
            _ => Command::new(self.peer.as_deref().unwrap_or(Path::new(""))),
        };
        if kind != "native" {
            command.arg("run");
            if let Some(folder) = &program.folder {
                let directory = format!("{}::/", folder.display());
                command.arg("--dir").arg(directory);
            }
            command.arg(match kind {
                "sing" => &program.module,
                _ => &program.compiled,
            });
        }
        // Natively, its directory has the host's name.
        for argument in &program.arguments {
            match (&program.folder, argument.as_str()) {
                (Some(folder), "/") if kind == "native" => command.arg(folder),
                _ => command.arg(argument),
            };
        }
        command
    }

    /// Megabytes of WebAssembly code in a second of one processor, and how many there are. The peer
    /// compiles programs without the adapter, which has so many.
    fn speed(&self, program: &Program, rounds: u32, adapter: f64) -> Result<(Row, f64)> {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        let mut all = 0.0;
        for _ in 0..rounds {
            let mut command = self.ours();
            let image = self.folder.join("image");
            command
                .arg("compile")
                .arg(&program.module)
                .arg("-o")
                .arg(image)
                .arg("--no-cache");
            let (seconds, said) = processor_time(&mut command)?;
            all = megabytes(&said)?;
            ours.push(all / seconds);
            let own = all - adapter;
            if let Some(peer) = self
                .peer
                .as_ref()
                .filter(|_| adapter > 0.0 && own > adapter)
            {
                let mut command = Command::new(peer);
                command
                    .args(["compile", "--threads", "1"])
                    .arg(&program.module);
                command.arg(self.folder.join("compiled"));
                theirs.push(own / processor_time(&mut command)?.0);
            }
        }
        let row = row(
            &format!("compiled: {}", program.module.display()),
            "MB/s",
            &ours,
        );
        let peers = (!theirs.is_empty()).then(|| (WASMTIME.into(), median(theirs)));
        let row = Row {
            id: Some("T12".into()),
            peers: peers.into_iter().collect(),
            ..row
        };
        Ok((row, all))
    }

    fn finish(self, request: &Request, rows: Vec<Row>) -> Result<u8> {
        let _ = fs::remove_dir_all(&self.folder);
        let _ = fs::remove_dir_all(&self.cache);
        sing_files::standard::print(report::table(&rows));
        let result = report::Result {
            bench: request.name.clone(),
            machine: describe(request),
            rows,
        };
        write(&self.project, request, &result)?;
        Ok(0)
    }
}

fn row(name: &str, unit: &str, values: &[f64]) -> Row {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    Row {
        id: None,
        name: name.into(),
        value: percentile(&values, 50),
        unit: unit.into(),
        p10: percentile(&values, 10),
        p90: percentile(&values, 90),
        paper: None,
        peers: BTreeMap::new(),
    }
}

/// Runs a command: milliseconds until its first output, and until its end.
fn once(command: &mut Command) -> Result<[f64; 2]> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let started = Instant::now();
    let mut child = command.spawn().with_context(|| format!("{command:?}"))?;
    let mut output = child.stdout.take().context("no output")?;
    let mut piece = vec![0; 64 << 10];
    let mut first = None;
    while output.read(&mut piece)? > 0 {
        first.get_or_insert_with(|| started.elapsed());
    }
    child.wait()?;
    let whole = started.elapsed();
    let ms = |time: std::time::Duration| time.as_secs_f64() * 1e3;
    Ok([ms(first.unwrap_or(whole)), ms(whole)])
}

/// Runs a command: the most MiB of memory that it had by its last output.
fn most_memory(command: &mut Command) -> Result<f64> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = command.spawn().with_context(|| format!("{command:?}"))?;
    let mut output = child.stdout.take().context("no output")?;
    let (mut piece, mut most) = (vec![0; 64 << 10], 0.0);
    while output.read(&mut piece)? > 0 {
        // It may have ended since.
        let status = fs::read_to_string(format!("/proc/{}/status", child.id()));
        let status = status.unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
        most = kib.map_or(most, |kib| f64::max(most, kib / 1024.0));
    }
    child.wait()?;
    Ok(most)
}

/// Runs a command: the seconds of processors that it took, and its output.
fn processor_time(command: &mut Command) -> Result<(f64, String)> {
    let before = children()?;
    let output = command.stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "{command:?} failed");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    Ok(((children()? - before).max(0.01), said))
}

/// The seconds of processors that all ended children took.
fn children() -> Result<f64> {
    let text = fs::read_to_string("/proc/self/stat")?;
    // Behind the name, which may have any characters: state is the third field, and these are the
    // 16th and 17th, in hundredths of a second.
    let rest = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    let fields = rest.split_whitespace().skip(13).take(2);
    let hundredths: f64 = fields.filter_map(|field| field.parse::<f64>().ok()).sum();
    Ok(hundredths / 100.0)
}

/// The megabytes of code that `sing compile` says it has compiled.
fn megabytes(said: &str) -> Result<f64> {
    let before = said
        .split_once(" bytes of WebAssembly code")
        .map(|(before, _)| before);
    let bytes = before.and_then(|before| before.rsplit(' ').next()?.parse::<f64>().ok());
    Ok(bytes.with_context(|| format!("no bytes of code in `{said}`"))? / 1e6)
}

/// Builds the program that runs modules as wasmtime does.
pub fn peer(project: &Project) -> Option<PathBuf> {
    let folder = project.root.join("bench/programs");
    let target = project.target.join("bench-programs");
    let mut command = cargo::command(&folder, &["build", "--release", "--target-dir"]);
    command.arg(&target);
    match cargo::quiet(&mut command, "building wasmtime with WASI (minutes, once)") {
        Ok(()) => Some(target.join("release/sing-bench-programs")),
        Err(error) => {
            complain!("without wasmtime: {error:#}");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_of_code_are_read_from_what_is_said() {
        let said = "a b.wasm: 3 functions, 2113195 bytes of WebAssembly code to 4 bytes";
        assert_eq!(megabytes(said).unwrap(), 2.113195);
        assert!(megabytes("nothing").is_err());
    }

    #[test]
    fn the_time_of_children_is_counted() {
        let mut command = Command::new("sh");
        command.args([
            "-c",
            "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo done",
        ]);
        let (seconds, said) = processor_time(&mut command).unwrap();
        assert!(seconds > 0.01 && seconds < 60.0, "{seconds}");
        assert_eq!(said, "done\n");
    }
}
