//! Random code against other engines, on sealed linkage: modules become images through the
//! installer's path, and run as processes of a hosted system, in both memory modes.
//!
//! `tests/differential` makes the modules and runs the other engines; it is a workspace of its own,
//! as the engines take long to build. A module with different results is reduced, piece by piece,
//! while the difference remains. Besides, the readers of foreign input (verifier, image, manifest,
//! contracts) are given broken bytes.
//!
//! Each processor has a batch of its own: it makes the modules, asks the other engines, compiles
//! all of them in one process, and runs all of them in one system. Nothing of a batch is kept, but
//! what was found. If a process fails, its batch is done in smaller parts, down to the seed that it
//! fails at.

use super::Request;
use super::sealed::{Difference, Outcome, Sealed};
use crate::project::Project;
use crate::{cargo, lanes};
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// The default length of a run, in seconds.
const TIME: u64 = 60;
/// Modules of a boot.
const BATCH: u64 = 200;
/// Modules of a round that run on open linkage, too.
const SCRIPTS: u64 = 20;
/// What is executed in every run, by the names in `figures`.
const EXECUTED: [&str; 6] = [
    "exceptions thrown",
    "exceptions caught",
    "calls through typed references",
    "tail calls",
    "atomic accesses",
    "vector instructions",
];
/// Batches of each processor in a round of a run of many modules.
const BATCHES: u64 = 4;
/// Findings after which a run gives up, and one of many modules does.
const ENOUGH: usize = 3;
const ENOUGH_OF_MANY: usize = 20;
/// Where files are not written to a disk, on Linux.
const MEMORY: &str = "/dev/shm";
/// How many times a finding is reduced.
const SMALLER: usize = 20;

/// The tools.
struct Differential<'a> {
    project: &'a Project,
    generator: PathBuf,
    sealed: Sealed<'a>,
    /// For the files of batches.
    scratch: PathBuf,
}

impl Drop for Differential<'_> {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.scratch);
    }
}

/// What a lane does in a round.
enum Job {
    /// Modules from this seed on.
    Batch(u64),
    /// The first of them on open linkage.
    Scripts(u64),
}

/// Fuzzes with all engines.
pub fn run(project: &Project, request: &Request, say: &mut dyn FnMut(&str)) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let tools = Differential::prepare(project)?;
    let first = request.seed();
    let time = Duration::from_secs(request.time.unwrap_or(TIME));
    say(&format!("fuzz code: --seed {first}"));
    let start = Instant::now();
    let mut seed = first;
    let processors = lanes::processors();
    let (batches, enough) = match request.modules {
        Some(_) => (processors as u64 * BATCHES, ENOUGH_OF_MANY),
        None => (processors as u64, ENOUGH),
    };
    let wanted = |outcome: &Outcome| match request.modules {
        Some(modules) => {
            let over = request.time.is_some() && start.elapsed() >= time;
            !over && (outcome.modules as u64) < modules
        }
        None => start.elapsed() < time,
    };
    while wanted(&outcome) && outcome.findings.len() < enough {
        let jobs = (0..batches).map(|batch| Job::Batch(seed + batch * BATCH));
        let jobs = jobs.chain([Job::Scripts(seed)]);
        for done in lanes::each(processors, jobs, |job| tools.work(&job)) {
            // What keeps a job from being done takes nothing away that others have found.
            match done {
                Ok(done) => outcome.add(done),
                Err(failure) => outcome.findings.push(format!("a job failed: {failure:#}")),
            }
        }
        seed += batches * BATCH;
        say(&format!(
            "  {} modules of {} seeds, {} runs as expected ({} by a trap), {} of which nothing is known, {} findings",
            outcome.modules,
            seed - first,
            outcome.compared,
            outcome.trapped(),
            outcome.unknown,
            outcome.findings.len()
        ));
    }
    for text in outcome.split.iter().take(ENOUGH) {
        say(&format!("  {text}"));
    }
    if outcome.split.len() > ENOUGH {
        let more = outcome.split.len() - ENOUGH;
        say(&format!(
            "  and {more} more runs on which the engines differ and one agrees"
        ));
    }
    for (end, n) in &outcome.ends {
        say(&format!("  {n:>10} {end}"));
    }
    for (figure, n) in &outcome.figures {
        say(&format!("  {n:>10} {figure}"));
    }
    say(&format!(
        "  {} seconds; the next: --seed {seed}",
        start.elapsed().as_secs()
    ));
    outcome.findings.extend(missing(&outcome));
    if request.modules.is_none() {
        readers(project, first, time.as_secs().div_ceil(8), &mut outcome)?;
    }
    Ok(outcome)
}

/// What a run of many modules is to have executed, and has not: then a generator has lost what it
/// is for.
pub fn missing(outcome: &Outcome) -> Option<String> {
    let ran = |what: &&str| outcome.figures.get(*what).is_some_and(|n| *n > 0);
    let not: Vec<&str> = EXECUTED.into_iter().filter(|what| !ran(what)).collect();
    (!not.is_empty()).then(|| format!("the modules executed no {}", not.join(", no ")))
}

/// Gives broken bytes to the readers of foreign input, each for this many seconds.
fn readers(project: &Project, seed: u64, seconds: u64, outcome: &mut Outcome) -> Result<()> {
    for (package, test) in [("sing-compiler", "broken"), ("sing-contract", "fuzz")] {
        let line = ["test", "--release", "-p", package, "--test", test];
        let mut command = cargo::command(&project.root, &line);
        command.env("SING_FUZZ_SECONDS", seconds.to_string());
        command.env("SING_FUZZ_SEED", seed.to_string());
        let ran = cargo::capture(&mut command, &format!("breaking input of {package}"))?;
        if !ran.success {
            outcome
                .findings
                .push(format!("{package}, seed {seed}:\n{}", ran.output));
        }
    }
    Ok(())
}

impl Differential<'_> {
    fn prepare(project: &Project) -> Result<Differential<'_>> {
        let folder = project.root.join("tests/differential");
        let target = project.target.join("differential");
        let mut line = vec!["build", "--locked", "--features", "wasmtime"];
        let text = target.display().to_string();
        line.extend(["--target-dir", &text]);
        let what = "building the other engines (minutes, once)";
        cargo::quiet(&mut cargo::command(&folder, &line), what)?;
        Ok(Differential {
            project,
            generator: target.join("debug/sing-differential"),
            sealed: Sealed::prepare(project)?,
            scratch: match Path::new(MEMORY).is_dir() {
                true => Path::new(MEMORY).join(format!("sing-fuzz-{}", std::process::id())),
                false => project.out().join("differential/scratch"),
            },
        })
    }

    /// A folder for the generated files.
    fn folder(&self, name: &str) -> Result<PathBuf> {
        let folder = self.scratch.join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        Ok(folder)
    }

    /// What came of a job.
    fn work(&self, job: &Job) -> Result<Outcome> {
        let mut outcome = Outcome::default();
        match *job {
            Job::Batch(seed) => self.batch(seed, BATCH, &mut outcome)?,
            Job::Scripts(seed) => self.scripts(seed, &mut outcome)?,
        }
        Ok(outcome)
    }

    /// Makes modules from so many seeds and compares them. If they cannot be made, each half by
    /// itself: what fails at one seed is a finding, and the others are compared.
    fn batch(&self, seed: u64, count: u64, outcome: &mut Outcome) -> Result<()> {
        let folder = self.folder(&format!("made-{seed}-{count}"))?;
        let mut make = Command::new(&self.generator);
        make.arg("make").arg(&folder);
        make.args([count.to_string(), seed.to_string()]);
        if let Err(failure) = cargo::quiet(&mut make, "making modules") {
            let _ = fs::remove_dir_all(&folder);
            if count == 1 {
                outcome
                    .findings
                    .push(format!("the module of seed {seed}: {failure:#}"));
                return Ok(());
            }
            self.batch(seed, count / 2, outcome)?;
            return self.batch(seed + count / 2, count - count / 2, outcome);
        }
        let mut part = Outcome::default();
        for difference in self.sealed.compare(&folder, &mut part)? {
            let smallest = self.reduce(&difference, seed)?;
            let text = self.text(&smallest.module)?;
            part.findings.push(format!(
                "{}\nrepeat it with: cargo xtask fuzz code --seed {seed}\nsmallest, {}: {}\n{text}",
                difference.what,
                smallest.module.display(),
                smallest.what
            ));
            if part.findings.len() >= ENOUGH {
                break;
            }
        }
        outcome.add(part);
        let _ = fs::remove_dir_all(&folder);
        Ok(())
    }

    /// The same modules on open linkage, each in a script with assertions.
    fn scripts(&self, seed: u64, outcome: &mut Outcome) -> Result<()> {
        let folder = self.folder(&format!("scripts-{seed}"))?;
        let mut make = Command::new(&self.generator);
        make.arg("scripts").arg(&folder);
        make.args([SCRIPTS.to_string(), seed.to_string()]);
        cargo::quiet(&mut make, "making scripts")?;
        let mut command = Command::new(self.project.host_binary("sing-wast"));
        command.arg(&folder);
        let ran = cargo::capture(&mut command, "running scripts")?;
        if !ran.success {
            outcome.findings.push(format!(
                "{SCRIPTS} scripts of seed {seed} (`sing-differential scripts`):\n{}",
                ran.output
            ));
        }
        let _ = fs::remove_dir_all(&folder);
        Ok(())
    }

    /// Removes pieces of a module while its result still differs.
    fn reduce(&self, difference: &Difference, seed: u64) -> Result<Difference> {
        let name = difference.module.file_name().unwrap_or_default();
        let kept = self.project.out().join("differential");
        fs::create_dir_all(&kept).context("cannot make a folder for findings")?;
        let keep = kept.join(name);
        fs::copy(&difference.module, &keep).context("cannot copy a module")?;
        let mut smallest = Difference {
            module: keep.clone(),
            what: difference.what.clone(),
        };
        for _ in 0..SMALLER {
            let folder = self.folder(&format!("smaller-{seed}"))?;
            let mut reduce = Command::new(&self.generator);
            reduce.arg("reduce").arg(&keep).arg(&folder);
            let what = format!("making a module smaller ({})", smallest.what);
            cargo::quiet(&mut reduce, &what)?;
            let differences = self.sealed.compare(&folder, &mut Outcome::default())?;
            let size = |d: &Difference| fs::metadata(&d.module).map_or(u64::MAX, |m| m.len());
            let Some(next) = differences.into_iter().min_by_key(size) else {
                break;
            };
            fs::copy(&next.module, &keep).context("cannot copy a module")?;
            smallest.what = next.what;
        }
        Ok(smallest)
    }

    fn text(&self, module: &Path) -> Result<String> {
        let output = Command::new(&self.generator)
            .arg("print")
            .arg(module)
            .output()
            .context("cannot start the generator")?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}
