//! Modules written by hand that misuse what the system gives them (`tests/misuse/*.wat`): no
//! compiler prevents this, so the installer or the kernel must.
//!
//! Each begins with comment lines that describe it and the expected result:
//!
//! ```text
//! ;; A block that was sent belongs to the receiver.
//! ;; stopped: run
//! ;; with: wrong use of a handle
//! ```
//!
//! `;; compiled: --checks none` gives the compiler these options beside.
//!
//! `stopped: install`: `sing verify` refuses it. `start`: its parent cannot make the process.
//! `run`: it is ended, and the crash report gives the reason. `no`: there is nothing to stop; the
//! module itself checks the answers that it gets, and exits with 0. `with:` is a text that must
//! be printed; there may be several, and only `no` may have none.
//!
//! The modules that can be installed run in one boot, one after the other, each beside partners
//! that keep to their contracts (`tests/sips/warden`); nothing may be left behind. At the end the
//! invariants of sealed processes are tested again.

use super::{Report, Run, systems};
use crate::image::{self, MemoryMode, Programs};
use crate::machine::{Acceleration, Kernel, Machine};
use crate::project::Project;
use crate::system::list::{Body, Expected, Status, Step, Test};
use crate::system::suite::Suite;
use crate::system::watchdog;
use crate::{build, cargo};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// How long a module may take when hosted; the warden runs it twice.
const PATIENCE: Duration = Duration::from_secs(15);
/// Name of the last test: whether the invariants still hold.
const INVARIANTS: &str = "invariants";

/// The stage at which a misuse is stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stopped {
    Install,
    Start,
    Run,
    No,
}

/// A module and its expected result.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Misuse {
    name: String,
    stopped: Stopped,
    with: Vec<String>,
    /// Options for its compilation.
    compiled: Vec<String>,
}

/// On the hosted machine, including the modules that the installer refuses.
pub fn hosted(run: &Run) -> Result<Report> {
    check(run, Machine::Hosted)
}

/// On QEMU's smallest PC, only the modules that can be installed.
pub fn microvm(run: &Run) -> Result<Report> {
    check(run, Machine::Microvm)
}

fn check(run: &Run, machine: Machine) -> Result<Report> {
    let mut report = Report::default();
    let texts = run.project.root.join("tests/misuse");
    let all = read_folder(&texts)?;
    let wanted = run.wanted(all, &mut report);
    if wanted.is_empty() {
        return Ok(report);
    }
    let mut images = image::compile_programs(&run.project, Programs::WithTests, MemoryMode::Guard)?;
    let folder = run.project.out().join(image::BY_HAND);
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let mut tests = Vec::new();
    for misuse in wanted {
        if images.iter().any(|(name, _)| *name == misuse.name) {
            let reason = "a program has that name; choose another".to_string();
            report.count(misuse.name, Err(reason));
            continue;
        }
        let text = texts.join(format!("{}.wat", misuse.name));
        let module = folder.join(format!("{}.wasm", misuse.name));
        if let Err(reason) = build::module_of_text(&run.project, &text, &module) {
            report.count(misuse.name, Err(format!("{reason:#}")));
            continue;
        }
        if misuse.stopped == Stopped::Install {
            if machine == Machine::Hosted {
                let verdict = refused(&run.project, &misuse, &module);
                report.count(misuse.name, verdict);
            }
            continue;
        }
        let image = folder.join(&misuse.name);
        let mut compile = Command::new(run.project.host_binary("sing"));
        compile
            .arg("compile")
            .arg(&module)
            .arg("-o")
            .arg(&image)
            .env("SING_CACHE", "off");
        compile.args(&misuse.compiled);
        match cargo::quiet(&mut compile, &format!("compiling {}", misuse.name)) {
            Ok(()) => {
                tests.push(test(&misuse));
                images.push((misuse.name, image));
            }
            Err(reason) => report.count(misuse.name, Err(format!("{reason:#}"))),
        }
    }
    if tests.is_empty() {
        return Ok(report);
    }
    tests.push(one_step(
        INVARIANTS,
        INVARIANTS,
        vec![Expected::Any],
        Status::Is(0),
    ));
    let mut kernel = Kernel::prepare(&run.project, machine, Acceleration::watched(machine))?;
    kernel.watch = Some(watchdog::tick(machine));
    let boot = |script: Option<&str>| systems::launch(&run.project, &images, &kernel, script);
    let suite = Suite {
        machine,
        boot: &boot,
        watched: true,
        sweeps: true,
        // The last test looks at what all others have left.
        lanes: 1,
    };
    for verdict in suite.run(&tests)? {
        report.count(verdict.name, verdict.failure.map_or(Ok(()), Err));
    }
    Ok(report)
}

/// Gives a module to the installer, which must refuse it for the stated reason.
fn refused(project: &Project, misuse: &Misuse, module: &Path) -> Result<(), String> {
    let output = Command::new(project.host_binary("sing"))
        .arg("verify")
        .arg(module)
        .output()
        .map_err(|e| format!("cannot start sing: {e}"))?;
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    if output.status.code() != Some(1) {
        return Err(format!("not refused ({}): {said}", output.status));
    }
    match misuse.with.iter().find(|text| !said.contains(*text)) {
        Some(text) => Err(format!("refused without the words `{text}`: {said}")),
        None => Ok(()),
    }
}

/// The expected report of the warden on a module.
fn test(misuse: &Misuse) -> Test {
    let name = regex::escape(&misuse.name);
    let whole = "; nothing left behind$";
    let mut said: Vec<String> = match misuse.stopped {
        Stopped::Run => vec![
            format!("^crash: {name} \\(SIP \\d+\\) died of: "),
            format!("^warden: {name}: trap: .*{whole}"),
        ],
        Stopped::Start => vec![format!("^warden: {name}: not started: .*{whole}")],
        _ => vec![format!("^warden: {name}: exit 0{whole}")],
    };
    said.extend(misuse.with.iter().map(|text| regex::escape(text)));
    let status = match misuse.stopped {
        Stopped::Run | Stopped::Start => Status::Failure,
        _ => Status::Is(0),
    };
    let output = said.into_iter().map(Expected::Somewhere).collect();
    one_step(
        &misuse.name,
        &format!("warden {}", misuse.name),
        output,
        status,
    )
}

fn one_step(name: &str, command: &str, output: Vec<Expected>, status: Status) -> Test {
    let command = command.into();
    Test {
        name: name.into(),
        timeout: PATIENCE,
        stress: false,
        machine: None,
        body: Body::Shared(vec![Step {
            command,
            output,
            status,
        }]),
    }
}

/// Reads all modules, in order of their names; a file that cannot be read has the reason in its
/// place.
fn read_folder(folder: &Path) -> Result<Vec<(String, Result<Misuse>)>> {
    let read = || -> std::io::Result<Vec<PathBuf>> {
        let entries = fs::read_dir(folder)?;
        entries.map(|entry| Ok(entry?.path())).collect()
    };
    let mut paths = read().with_context(|| format!("cannot read {}", folder.display()))?;
    paths.retain(|path| path.extension().is_some_and(|e| e == "wat"));
    paths.sort();
    let read_one = |path: PathBuf| {
        let name = path.file_stem().unwrap_or_default();
        let name = name.to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).context("cannot be read");
        let misuse = text.and_then(|text| parse(&name, &text));
        (name, misuse)
    };
    Ok(paths.into_iter().map(read_one).collect())
}

/// Reads one module with its head comment.
fn parse(name: &str, text: &str) -> Result<Misuse> {
    let mut stopped = None;
    let mut with = Vec::new();
    let mut compiled = Vec::new();
    let mut says = false;
    for line in text.lines().map_while(|line| line.strip_prefix(";;")) {
        let line = line.trim();
        if let Some(place) = line.strip_prefix("stopped: ") {
            let place = match place {
                "install" => Stopped::Install,
                "start" => Stopped::Start,
                "run" => Stopped::Run,
                "no" => Stopped::No,
                _ => bail!("`{line}`: there are install, start, run and no"),
            };
            if stopped.replace(place).is_some() {
                bail!("`{line}`: said twice");
            }
        } else if let Some(text) = line.strip_prefix("with: ") {
            with.push(text.to_string());
        } else if let Some(text) = line.strip_prefix("compiled: ") {
            compiled.extend(text.split_whitespace().map(String::from));
        } else {
            says = true;
        }
    }
    let Some(stopped) = stopped else {
        bail!("no line `;; stopped: ...` at its beginning says where it is stopped");
    };
    if !says {
        bail!("no comment at its beginning says what it does");
    }
    if with.is_empty() && stopped != Stopped::No {
        bail!("no line `;; with: ...` at its beginning says for what reason it is stopped");
    }
    Ok(Misuse {
        name: name.into(),
        stopped,
        with,
        compiled,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = ";; It does that.\n;; stopped: run\n;; with: (out of turn)\n";

    #[test]
    fn a_module_says_what_must_come_of_it() {
        let misuse = parse("m", &format!("{HEAD}\n;; with: else\n(module)")).unwrap();
        assert_eq!(misuse.stopped, Stopped::Run);
        // The head comment ends at the first line that is no comment.
        assert_eq!(misuse.with, ["(out of turn)"]);
        assert!(misuse.compiled.is_empty());
        let other = parse("m", &format!(";; compiled: --checks none\n{HEAD}")).unwrap();
        assert_eq!(other.compiled, ["--checks", "none"]);
        let Body::Shared(steps) = test(&misuse).body else {
            panic!("not shared")
        };
        assert_eq!(steps[0].command, "warden m");
        assert_eq!(steps[0].status, Status::Failure);
        let escaped = Expected::Somewhere("\\(out of turn\\)".into());
        assert_eq!(steps[0].output.last(), Some(&escaped));
    }

    #[test]
    fn what_says_too_little_is_no_test() {
        for text in [
            "(module)",
            ";; stopped: no\n(module)",
            ";; It does that.\n;; stopped: run\n(module)",
            ";; It does that.\n;; stopped: later\n(module)",
            ";; It does that.\n;; stopped: no\n;; stopped: no\n(module)",
        ] {
            assert!(parse("m", text).is_err(), "{text:?}");
        }
        assert!(parse("m", ";; It does that.\n;; stopped: no\n(module)").is_ok());
    }
}
