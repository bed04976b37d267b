//! Modules as sealed processes, and how they are to end: they become images through the installer's
//! path, in both memory modes, and run in a hosted system that has nothing but the program that
//! starts them.
//!
//! A folder has modules, and a file `expected` with a line for each run: a module's name, the number
//! of arguments, and `exit CODE` or `trap CODE`; or `differ` and the result of each engine, or
//! `unknown`. Its file `figures` says how often these runs executed what a comparison is about.

use crate::image::MemoryMode;
use crate::machine::{Acceleration, Kernel, Machine};
use crate::project::Project;
use crate::system::session::Session;
use crate::{build, cargo, files, image};
use anyhow::{Context, Result, bail};
use sing_abi::trap::Trap;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// How long a boot may take. It takes a second, but a busy machine may let it run seldom.
const PATIENCE: Duration = Duration::from_secs(1800);
/// The most systems for a folder: each module that ends one costs one.
const MOST_BOOTS: usize = 8;
const MODES: [MemoryMode; 2] = [MemoryMode::Guard, MemoryMode::Explicit];
/// The program that runs the others.
const RUNNER: &str = "sealed";
/// How its lines begin.
const SAYS: &str = "sealed: ";
/// The system with nothing else.
const SYSTEM: &str = r#"{
  "start": [{ "name": "sealed", "image": "sealed", "args": ["sealed"], "main": true }]
}
"#;

/// The result of some modules, or of all.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Modules, and runs of them that were compared, in all modes.
    pub modules: usize,
    /// Runs with the expected result.
    pub compared: usize,
    /// Runs without a result to compare: no engine has one, or only one of them exhausted its
    /// stack.
    pub unknown: usize,
    /// Runs on which the engines differ and one of them agrees with us, which therefore are no
    /// findings.
    pub split: Vec<String>,
    /// How often each kind of end was right: traps by their codes.
    pub ends: BTreeMap<String, usize>,
    /// What the runs executed, each counted once and not for each memory mode.
    pub figures: BTreeMap<String, u64>,
    /// The findings.
    pub findings: Vec<String>,
}

impl Outcome {
    /// Adds another's.
    pub fn add(&mut self, other: Outcome) {
        self.modules += other.modules;
        self.compared += other.compared;
        self.unknown += other.unknown;
        self.split.extend(other.split);
        self.findings.extend(other.findings);
        for (end, count) in other.ends {
            *self.ends.entry(end).or_default() += count;
        }
        for (figure, count) in other.figures {
            *self.figures.entry(figure).or_default() += count;
        }
    }

    /// Runs that ended by a trap, and were to.
    pub fn trapped(&self) -> usize {
        let traps = self.ends.iter().filter(|(end, _)| end.starts_with("trap"));
        traps.map(|(_, count)| count).sum()
    }

    fn as_expected(&mut self, end: &str, runs: usize) {
        let kind = if end.starts_with("exit") { "exit" } else { end };
        *self.ends.entry(kind.into()).or_default() += runs;
        self.compared += runs;
    }
}

/// A run with a different result.
pub struct Difference {
    /// Its module.
    pub module: PathBuf,
    /// The results.
    pub what: String,
}

/// The expected result of each run of each module.
type Expected = BTreeMap<String, Vec<(u32, String)>>;

/// A module in a memory mode.
type Installed = (String, MemoryMode);

/// Compiler and kernel.
pub struct Sealed<'a> {
    project: &'a Project,
    kernel: Kernel,
    /// The image of the program that runs the others.
    runner: PathBuf,
    /// How long the reader of the results sleeps first. However long, no result is lost.
    pub reader_sleeps: Duration,
}

impl Sealed<'_> {
    /// Builds what is needed.
    pub fn prepare(project: &Project) -> Result<Sealed<'_>> {
        build::host(project, &["sing-wast"])?;
        let program = project.programs.iter().find(|p| p.name == RUNNER);
        let program = program.with_context(|| format!("there is no program {RUNNER}"))?;
        build::tools_and_programs(project, &[program])?;
        let mut compiled = image::compile(project, &[program], MemoryMode::Guard)?;
        let (_, runner) = compiled.pop().context("no program")?;
        Ok(Sealed {
            project,
            kernel: Kernel::prepare(project, Machine::Hosted, Acceleration::Emulated)?,
            runner,
            reader_sleeps: Duration::ZERO,
        })
    }

    /// Runs all modules of a folder in both memory modes; returns the differences, at most one for
    /// each module and mode.
    pub fn compare(&self, folder: &Path, outcome: &mut Outcome) -> Result<Vec<Difference>> {
        let expected = read_expected(&folder.join("expected"))?;
        outcome.figures = read_figures(&folder.join("figures"))?;
        outcome.modules += expected.len();
        let mut differences = Vec::new();
        let mut refused = BTreeSet::new();
        for (name, mode, why) in self.install(folder)? {
            let runs = expected.get(&name).map_or(&[][..], Vec::as_slice);
            if why.contains(" segment ") && never_starts(runs) {
                outcome.as_expected("refused", runs.len());
            } else {
                differences.push(Difference {
                    module: folder.join(format!("{name}.wasm")),
                    what: format!("{name}, {} memory: refused: {why}", mode.name()),
                });
            }
            refused.insert((name, mode.name()));
        }
        let all = expected.keys().flat_map(|name| MODES.map(|m| (name, m)));
        let all = all.filter(|(name, mode)| !refused.contains(&((*name).clone(), mode.name())));
        let installed: Vec<Installed> = all.map(|(name, mode)| (name.clone(), mode)).collect();
        let found = self.boot_all(folder, &expected, &installed)?;
        for installed in &installed {
            for (number, wanted) in &expected[&installed.0] {
                let ended = found.get(&(file(installed), *number));
                let ended = ended.map_or("nothing: the system is gone", String::as_str);
                if let Some(what) = judge(installed, *number, ended, wanted, outcome) {
                    let module = folder.join(format!("{}.wasm", installed.0));
                    differences.push(Difference { module, what });
                    break;
                }
            }
        }
        Ok(differences)
    }

    /// Compiles the modules; returns those that were refused, with the reason.
    fn install(&self, folder: &Path) -> Result<Vec<(String, MemoryMode, String)>> {
        let mut command = Command::new(self.project.host_binary("sing-batch"));
        command.arg(folder);
        let ran = command.output().context("cannot start sing-batch")?;
        let said = String::from_utf8_lossy(&ran.stdout);
        if !ran.status.success() {
            return self.install_alone(folder);
        }
        refusals(&said)
    }

    /// Compiles each module in a process of its own, as the one for all of them has failed; returns
    /// those that were refused, with the reason, and those whose process failed.
    fn install_alone(&self, folder: &Path) -> Result<Vec<(String, MemoryMode, String)>> {
        let mut refused = Vec::new();
        let alone = folder.join("alone");
        for module in modules(folder)? {
            let _ = fs::remove_dir_all(&alone);
            fs::create_dir_all(&alone)?;
            let name = module.file_stem().unwrap_or_default().to_string_lossy();
            fs::copy(&module, alone.join(format!("{name}.wasm")))?;
            let mut command = Command::new(self.project.host_binary("sing-batch"));
            let ran = command.arg(&alone).output();
            let ran = ran.context("cannot start sing-batch")?;
            let said = String::from_utf8_lossy(&ran.stdout);
            if !ran.status.success() {
                let errors = String::from_utf8_lossy(&ran.stderr);
                let last = errors.lines().last().unwrap_or("it says nothing");
                let why = format!("sing-batch ended by {}: {last}", ran.status);
                refused.extend(MODES.map(|mode| (name.clone().into_owned(), mode, why.clone())));
                continue;
            }
            refused.extend(refusals(&said)?);
            for mode in MODES {
                let image = file(&(name.clone().into_owned(), mode));
                if alone.join(&image).exists() {
                    fs::rename(alone.join(&image), folder.join(&image))?;
                }
            }
        }
        let _ = fs::remove_dir_all(&alone);
        if refused.is_empty() {
            bail!(
                "sing-batch fails on {}, but on no module of it alone",
                folder.display()
            );
        }
        Ok(refused)
    }

    /// Runs installed modules, all in one system; if one ends that, those behind it in another.
    /// Returns how each run ended: those of a module that ended its system have none.
    fn boot_all(
        &self,
        folder: &Path,
        expected: &Expected,
        installed: &[Installed],
    ) -> Result<Results> {
        let mut found = Results::new();
        let mut left = installed;
        for _ in 0..MOST_BOOTS {
            let results = self.boot(folder, expected, left)?;
            let missing = |installed: &Installed| {
                let mut runs = expected[&installed.0].iter();
                runs.any(|(number, _)| !results.contains_key(&(file(installed), *number)))
            };
            let ended = left.iter().position(missing);
            found.extend(results);
            let Some(at) = ended else {
                break;
            };
            left = &left[at + 1..];
        }
        Ok(found)
    }

    /// Runs installed modules in one system; returns how each run ended.
    fn boot(&self, folder: &Path, expected: &Expected, installed: &[Installed]) -> Result<Results> {
        let mut plans = String::new();
        for installed in installed {
            plans.push_str(&file(installed));
            for (number, _) in &expected[&installed.0] {
                plans.push_str(&format!(" {number}"));
            }
            plans.push('\n');
        }
        let [system, plan] = ["system.json", "plans"].map(|name| folder.join(name));
        files::write(&system, SYSTEM)?;
        files::write(&plan, plans)?;
        let image = folder.join("system.img");
        let mut pack = Command::new(self.project.host_binary("sing"));
        pack.current_dir(folder).arg("image").arg("-o").arg(&image);
        pack.arg("--manifest").arg(&system);
        pack.arg("--file").arg("plans=plans");
        pack.arg("--bin")
            .arg(format!("{RUNNER}={}", self.runner.display()));
        for name in installed.iter().map(file) {
            pack.arg("--bin").arg(format!("{name}={name}"));
        }
        cargo::quiet(&mut pack, "packing the system image")?;
        let launch = self.kernel.launch(Some(&image), &[], false)?;
        let session = Session::with_late_reader(launch, self.reader_sleeps)?;
        let (output, status) = session.finish(Instant::now() + PATIENCE);
        let results = read_results(&output);
        let runs: usize = installed.iter().map(|(name, _)| expected[name].len()).sum();
        // Results are missing where the system has ended early; else this test has lost them.
        let lost = runs.saturating_sub(results.len());
        if lost > 0 && status == Ok(Some(0)) {
            bail!(
                "of {runs} results {lost} were lost on the way from the system that ran them all"
            );
        }
        Ok(results)
    }
}

/// The lines of `sing-batch`: a module, a memory mode, and why it is refused.
fn refusals(said: &str) -> Result<Vec<(String, MemoryMode, String)>> {
    let refusal = |line: &str| {
        let mut words = line.splitn(3, ' ');
        let (name, mode, why) = (words.next()?, words.next()?, words.next()?);
        let mode = MODES.into_iter().find(|m| m.name() == mode)?;
        Some((name.into(), mode, why.into()))
    };
    let all = said.lines().map(|line| {
        let refused = refusal(line);
        refused.with_context(|| format!("sing-batch, not understood: {line}"))
    });
    all.collect()
}

/// The modules of a folder, by name.
fn modules(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for file in fs::read_dir(folder).with_context(|| format!("no {}", folder.display()))? {
        let path = file?.path();
        if path.extension().is_some_and(|e| e == "wasm") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// How each run of a module ended: by the file's name and the number of arguments.
type Results = BTreeMap<(String, u32), String>;

/// Reads what the program that runs the others wrote, between lines of the log.
fn read_results(output: &str) -> Results {
    let said = output.lines().filter_map(|line| {
        let mut words = line.strip_prefix(SAYS)?.splitn(3, ' ');
        let (name, number) = (words.next()?, words.next()?.parse().ok()?);
        Some(((name.into(), number), words.next()?.trim().into()))
    });
    said.collect()
}

/// The name of a module's image, and of its file.
fn file((name, mode): &Installed) -> String {
    format!("{name}-{}", mode.name())
}

/// Compares how a run ended with how it was to end; the difference, if there is one.
fn judge(
    (name, mode): &Installed,
    number: u32,
    ended: &str,
    wanted: &str,
    outcome: &mut Outcome,
) -> Option<String> {
    if let Some(results) = wanted.strip_prefix("differ ") {
        let text = format!("{name} {number}: the engines differ, {results}; here: {ended}");
        let agrees = |result: &str| result.split_once(": ").is_some_and(|(_, end)| end == ended);
        let list = match results.split(", ").any(agrees) {
            true => &mut outcome.split,
            false => &mut outcome.findings,
        };
        list.push(text);
        return None;
    }
    // Each engine has its own bound of the stack's depth.
    let overflow = |end: &str| end == format!("trap {}", Trap::StackOverflow.code());
    let gone = ended.contains("gone");
    if !gone && (wanted == "unknown" || overflow(ended) != overflow(wanted)) {
        outcome.unknown += 1;
        return None;
    }
    if ended == wanted || is_null_call(ended, wanted) {
        outcome.as_expected(ended, 1);
        return None;
    }
    let mode = mode.name();
    Some(format!(
        "{name}, {mode} memory, {number} arguments: {ended}, the others: {wanted}"
    ))
}

/// Whether a null reference was called. The engines that know such calls have one trap for every use
/// of a null reference; here a call of one has that of a null element of a table.
fn is_null_call(ended: &str, wanted: &str) -> bool {
    let trap = |trap: Trap| format!("trap {}", trap.code());
    ended == trap(Trap::NullFunction) && wanted == trap(Trap::NullReference)
}

/// Whether every run ends with the trap of a segment that is out of bounds. Here such a module is
/// refused when it is installed; in the other engines it traps each time that it is started.
fn never_starts(runs: &[(u32, String)]) -> bool {
    let traps = [Trap::MemoryOutOfBounds, Trap::TableOutOfBounds];
    let mut traps = traps.iter().map(|trap| format!("trap {}", trap.code()));
    !runs.is_empty() && traps.any(|trap| runs.iter().all(|(_, end)| *end == trap))
}

/// The figures of a folder: lines of a number and what it counts.
fn read_figures(file: &Path) -> Result<BTreeMap<String, u64>> {
    let text =
        fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let figure = |line: &str| {
        let (number, what) = line.split_once(' ')?;
        Some((what.to_string(), number.parse().ok()?))
    };
    let all = text.lines().map(|line| {
        figure(line).with_context(|| format!("{}: not understood: {line}", file.display()))
    });
    all.collect()
}

fn read_expected(file: &Path) -> Result<Expected> {
    let text =
        fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let mut expected = Expected::new();
    for line in text.lines() {
        let mut words = line.splitn(3, ' ');
        let (Some(name), Some(number), Some(end)) = (words.next(), words.next(), words.next())
        else {
            bail!("{}: not understood: {line}", file.display());
        };
        let run = (number.parse()?, end.to_string());
        expected.entry(name.to_string()).or_default().push(run);
    }
    Ok(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_have_a_module_a_mode_and_a_reason() {
        let read = refusals("m1 guard no memory\nm2 explicit a b c\n").expect("understood");
        let wanted = [
            ("m1", MemoryMode::Guard, "no memory"),
            ("m2", MemoryMode::Explicit, "a b c"),
        ];
        assert_eq!(
            read,
            wanted.map(|(name, mode, why)| (name.into(), mode, why.into()))
        );
        assert!(refusals("m1 other why").is_err() && refusals("m1").is_err());
    }

    #[test]
    fn results_stand_between_lines_of_the_log() {
        let output = "sealed: m1-guard 3 exit -7\n\
            crash: m2-guard (SIP 3) died of: unreachable\n  called from function 1\n\
            sealed: m2-guard 3 trap 4\nm3-guard(4): sealed: m3-guard 3 exit 0\n";
        let results = read_results(output);
        assert_eq!(results.len(), 2);
        assert_eq!(results[&("m1-guard".into(), 3)], "exit -7");
        assert_eq!(results[&("m2-guard".into(), 3)], "trap 4");
    }

    #[test]
    fn a_run_is_judged_by_how_it_ends() {
        let judged = |ended: &str, wanted: &str| {
            let mut outcome = Outcome::default();
            let of = ("m".into(), MemoryMode::Guard);
            let said = judge(&of, 4, ended, wanted, &mut outcome);
            let Outcome {
                compared, unknown, ..
            } = outcome;
            let (split, findings) = (outcome.split.len(), outcome.findings.len());
            (said.is_some(), compared, unknown, split, findings)
        };
        assert_eq!(judged("exit 3", "exit 3"), (false, 1, 0, 0, 0));
        assert_eq!(judged("exit 3", "exit 4"), (true, 0, 0, 0, 0));
        assert_eq!(judged("trap 2", "trap 3"), (true, 0, 0, 0, 0));
        assert_eq!(judged("trap 4", "trap 18"), (false, 1, 0, 0, 0));
        assert_eq!(judged("trap 18", "trap 4"), (true, 0, 0, 0, 0));
        assert_eq!(judged("trap 9", "exit 4"), (false, 0, 1, 0, 0));
        assert_eq!(judged("exit 4", "trap 9"), (false, 0, 1, 0, 0));
        assert_eq!(judged("trap 9", "trap 9"), (false, 1, 0, 0, 0));
        assert_eq!(judged("exit 4", "unknown"), (false, 0, 1, 0, 0));
        let gone = "nothing: the system is gone";
        assert!(judged(gone, "unknown").0 && judged(gone, "trap 9").0);
        let differ = "differ wasmi: exit 1, wasmtime: exit 2, wabt: nothing";
        assert_eq!(judged("exit 2", differ), (false, 0, 0, 1, 0));
        assert_eq!(judged("exit 3", differ), (false, 0, 0, 0, 1));
    }
}
