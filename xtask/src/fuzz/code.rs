//! Random code against other engines, on sealed linkage: modules become images through the
//! installer's path, and run as processes of a hosted system, in both memory modes.
//!
//! `tests/differential` makes the modules and runs the other engines; it is a workspace of its own,
//! as the engines take long to build. A module with different results is reduced, piece by piece,
//! while the difference remains. Besides, the readers of foreign input (verifier, image, manifest,
//! contracts) are given broken bytes.

use super::Request;
use crate::cargo;
use crate::image::{self, MemoryMode, Programs};
use crate::machine::{Acceleration, Kernel, Machine};
use crate::project::Project;
use crate::run::SCRIPT_ARGUMENTS;
use crate::system::session::Session;
use anyhow::{Context, Result, bail};
use sing_abi::trap::Trap;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// The default length of a run, in seconds.
const TIME: u64 = 60;
/// Modules of a boot.
const BATCH: u64 = 40;
/// How long a boot may take.
const PATIENCE: Duration = Duration::from_secs(600);
/// Findings after which a run gives up.
const ENOUGH: usize = 3;
/// How many findings are reduced.
const SMALLER: usize = 20;

/// The result of a run.
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
    /// The findings.
    pub findings: Vec<String>,
}

/// A run with a different result.
struct Difference {
    module: PathBuf,
    what: String,
}

/// The tools.
struct Differential<'a> {
    project: &'a Project,
    generator: PathBuf,
    kernel: Kernel,
    /// The system's own programs, for each memory mode.
    images: Vec<(String, PathBuf)>,
}

/// Fuzzes with all engines.
pub fn run(project: &Project, request: &Request, say: &mut dyn FnMut(&str)) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let tools = Differential::prepare(project, true)?;
    let first = request.seed();
    let time = Duration::from_secs(request.time.unwrap_or(TIME));
    say(&format!("fuzz code: --seed {first}"));
    let start = Instant::now();
    let mut seed = first;
    while start.elapsed() < time && outcome.findings.len() < ENOUGH {
        tools.batch(seed, BATCH, &mut outcome)?;
        tools.scripts(seed, BATCH, &mut outcome)?;
        seed = seed.wrapping_add(BATCH);
        say(&format!(
            "  {} modules, {} runs as expected, {} of which nothing is known, {} findings",
            outcome.modules,
            outcome.compared,
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
        say(&format!("  {n:>8} {end}"));
    }
    readers(project, first, time.as_secs().div_ceil(8), &mut outcome)?;
    Ok(outcome)
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
    fn prepare(project: &Project, all_engines: bool) -> Result<Differential<'_>> {
        let folder = project.root.join("tests/differential");
        let target = project.target.join("differential");
        let mut line = vec!["build", "--locked", "--target-dir"];
        let text = target.display().to_string();
        line.push(&text);
        if all_engines {
            line.extend(["--features", "wasmtime"]);
        }
        let what = "building the other engines (minutes, once)";
        cargo::quiet(&mut cargo::command(&folder, &line), what)?;
        Ok(Differential {
            project,
            generator: target.join("debug/sing-differential"),
            kernel: Kernel::prepare(project, Machine::Hosted, Acceleration::Emulated)?,
            images: image::compile_programs(project, Programs::WithTests, MemoryMode::Guard)?,
        })
    }

    /// A folder for the generated files.
    fn folder(&self, name: &str) -> Result<PathBuf> {
        let folder = self.project.out().join("differential").join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        Ok(folder)
    }

    /// Makes modules from seeds and compares them.
    fn batch(&self, seed: u64, count: u64, outcome: &mut Outcome) -> Result<()> {
        let folder = self.folder("made")?;
        let mut make = Command::new(&self.generator);
        make.arg("make").arg(&folder);
        make.args([count.to_string(), seed.to_string()]);
        cargo::quiet(&mut make, "making modules")?;
        for difference in self.compare(&folder, outcome)? {
            let smallest = self.reduce(&difference)?;
            let text = self.text(&smallest.module)?;
            outcome.findings.push(format!(
                "{}\nrepeat it with: cargo xtask fuzz code --seed {seed}\nsmallest: {}\n{text}",
                difference.what, smallest.what
            ));
            if outcome.findings.len() >= ENOUGH {
                break;
            }
        }
        Ok(())
    }

    /// The same modules on open linkage, each in a script with assertions.
    fn scripts(&self, seed: u64, count: u64, outcome: &mut Outcome) -> Result<()> {
        let folder = self.folder("scripts")?;
        let mut make = Command::new(&self.generator);
        make.arg("scripts").arg(&folder);
        make.args([count.to_string(), seed.to_string()]);
        cargo::quiet(&mut make, "making scripts")?;
        crate::build::host(self.project, &["sing-wast"])?;
        let mut command = Command::new(self.project.host_binary("sing-wast"));
        command.arg(&folder);
        let ran = cargo::capture(&mut command, "running scripts")?;
        if !ran.success {
            outcome.findings.push(format!(
                "scripts of seed {seed}, in {}:\n{}",
                folder.display(),
                ran.output
            ));
        }
        Ok(())
    }

    /// Runs all modules of a folder in both memory modes; returns the differences.
    fn compare(&self, folder: &Path, outcome: &mut Outcome) -> Result<Vec<Difference>> {
        let expected = read_expected(&folder.join("expected"))?;
        let mut differences = Vec::new();
        outcome.modules += expected.len();
        for mode in [MemoryMode::Guard, MemoryMode::Explicit] {
            let (installed, refused) = self.install(folder, &expected, mode)?;
            for (name, why) in refused {
                if why.contains(" segment ") && never_starts(&expected[&name]) {
                    outcome.compared += expected[&name].len();
                    *outcome.ends.entry("refused".into()).or_default() += expected[&name].len();
                    continue;
                }
                differences.push(Difference {
                    module: folder.join(format!("{name}.wasm")),
                    what: format!("{name}, {}: refused: {why}", mode.name()),
                });
            }
            let found = self.boot(folder, &expected, &installed)?;
            for (name, runs) in &expected {
                if !installed.iter().any(|(n, _)| n == name) {
                    continue;
                }
                for (number, wanted) in runs {
                    let ended = found.get(&(name.clone(), *number));
                    let ended = ended.map_or("nothing: the system is gone", String::as_str);
                    // Stack depths differ between engines.
                    let unknown = wanted == "unknown"
                        || (ended == "trap 9") != (wanted == "trap 9") && !ended.contains("gone");
                    if let Some(results) = wanted.strip_prefix("differ ") {
                        let text = format!(
                            "{name} {number}: the engines differ, {results}; here: {ended}"
                        );
                        let agrees = |result: &str| {
                            result.split_once(": ").is_some_and(|(_, end)| end == ended)
                        };
                        if results.split(", ").any(agrees) {
                            outcome.split.push(text);
                        } else {
                            outcome.findings.push(text);
                        }
                    } else if unknown {
                        outcome.unknown += 1;
                    } else if ended == wanted {
                        outcome.compared += 1;
                        let kind = if ended.starts_with("exit") {
                            "exit"
                        } else {
                            ended
                        };
                        *outcome.ends.entry(kind.to_string()).or_default() += 1;
                    } else {
                        differences.push(Difference {
                            module: folder.join(format!("{name}.wasm")),
                            what: format!(
                                "{name}, {} memory, {number} arguments: {ended}, the others: {wanted}",
                                mode.name()
                            ),
                        });
                        break;
                    }
                }
            }
        }
        Ok(differences)
    }

    /// Compiles the modules; returns those that were refused, with the reason.
    #[allow(clippy::type_complexity)]
    fn install(
        &self,
        folder: &Path,
        expected: &Expected,
        mode: MemoryMode,
    ) -> Result<(Vec<(String, PathBuf)>, Vec<(String, String)>)> {
        let (mut installed, mut refused) = (Vec::new(), Vec::new());
        for name in expected.keys() {
            let image = folder.join(format!("{name}-{}", mode.name()));
            let output = Command::new(self.project.host_binary("sing"))
                .arg("compile")
                .arg(folder.join(format!("{name}.wasm")))
                .arg("-o")
                .arg(&image)
                .args(["--memory", mode.name()])
                .output()
                .context("cannot start sing")?;
            if output.status.success() {
                installed.push((name.clone(), image));
            } else {
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                refused.push((name.clone(), said));
            }
        }
        Ok((installed, refused))
    }

    /// Runs installed modules in one system; returns how each run ended.
    fn boot(
        &self,
        folder: &Path,
        expected: &Expected,
        installed: &[(String, PathBuf)],
    ) -> Result<BTreeMap<(String, u32), String>> {
        let mut plans = String::new();
        for (name, _) in installed {
            plans.push_str(name);
            for (number, _) in expected.get(name).into_iter().flatten() {
                plans.push_str(&format!(" {number}"));
            }
            plans.push('\n');
        }
        let file = folder.join("plans");
        fs::write(&file, plans).with_context(|| format!("cannot write {}", file.display()))?;
        let mut images = self.images.clone();
        images.extend(installed.iter().cloned());
        let image = folder.join("system.img");
        let image = image::pack_with(
            self.project,
            &images,
            &image,
            Some("sealed"),
            &[("plans".into(), file)],
        )?;
        let arguments = SCRIPT_ARGUMENTS.map(String::from);
        let session = Session::start(self.kernel.launch(Some(&image), &arguments, false)?)?;
        let (output, _) = session.finish(Instant::now() + PATIENCE);
        let mut found = BTreeMap::new();
        for line in output.lines() {
            let Some((_, rest)) = line.split_once("sealed: ") else {
                continue;
            };
            let mut words = rest.splitn(3, ' ');
            if let (Some(name), Some(Ok(number)), Some(end)) =
                (words.next(), words.next().map(str::parse), words.next())
            {
                found.insert((name.to_string(), number), end.trim().to_string());
            }
        }
        Ok(found)
    }

    /// Removes pieces of a module while its result still differs.
    fn reduce(&self, difference: &Difference) -> Result<Difference> {
        let keep = self.folder("smallest")?.join("smallest.wasm");
        fs::copy(&difference.module, &keep).context("cannot copy a module")?;
        let mut smallest = Difference {
            module: keep.clone(),
            what: difference.what.clone(),
        };
        for _ in 0..SMALLER {
            let folder = self.folder("smaller")?;
            let mut reduce = Command::new(&self.generator);
            reduce.arg("reduce").arg(&keep).arg(&folder);
            let what = format!("making a module smaller ({})", smallest.what);
            cargo::quiet(&mut reduce, &what)?;
            let differences = self.compare(&folder, &mut Outcome::default())?;
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

/// The expected result of each run of each module.
type Expected = BTreeMap<String, Vec<(u32, String)>>;

/// Whether every run ends with the trap of a segment that is out of bounds. Here such a module is
/// refused when it is installed; in the other engines it traps each time that it is started.
fn never_starts(runs: &[(u32, String)]) -> bool {
    let traps =
        [Trap::MemoryOutOfBounds, Trap::TableOutOfBounds].map(|t| format!("trap {}", t as u8));
    !runs.is_empty()
        && traps
            .iter()
            .any(|trap| runs.iter().all(|(_, end)| end == trap))
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
