//! gdb on a running system, hosted and in QEMU: it knows functions, lines and frames of compiled
//! programs, of those that wait, too ([`processes`]). And the map that `perf` reads, which must say the same.

mod processes;

use super::{Report, Run, systems};
use crate::image::{self, MemoryMode, Programs};
use crate::machine::{Acceleration, Kernel, Launch, Machine};
use crate::packages::Tools;
use crate::project::Program;
use crate::system::session::Session;
use anyhow::{Context, Result, ensure};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// The debugger.
pub const GDB: Tools = Tools {
    name: "gdb",
    programs: &["gdb"],
    packages: &["gdb"],
    elsewhere: "`dnf install gdb` on Fedora, `pacman -S gdb` on Arch",
};

/// The program that is built with lines, and the file that it is written in.
const PROGRAM: &str = "lines";
const SOURCE: &str = "tests/sips/lines/src/main.rs";
/// The line that gdb stops at.
const STOP: &str = "match how {";
/// What the shell is told.
const SCRIPT: &str = "lines trap\n";
/// More than a system has that runs the script; the addresses that it reserves are a hundred times as many.
const CORE: u64 = 1 << 30;
/// A bound for a debugger that waits for ever; how long it takes decides nothing.
const TIME: Duration = Duration::from_secs(300);

/// Hosted.
pub fn hosted(run: &Run) -> Result<Report> {
    on(
        run,
        &[
            ("a process", process),
            ("a core file", core_file),
            ("processes that do not run", processes::hosted),
        ],
    )
}

/// In QEMU.
pub fn pc(run: &Run) -> Result<Report> {
    on(
        run,
        &[
            ("an emulated machine", emulated),
            ("its processes that do not run", processes::emulated),
        ],
    )
}

type Test = fn(&Debugged<'_>) -> Result<()>;

fn on(run: &Run, tests: &[(&str, Test)]) -> Result<Report> {
    let mut report = Report::default();
    let reason = run.without.gdb().or_else(traces_nothing);
    if let Some(reason) = reason {
        report.skipped.push(reason);
        return Ok(report);
    }
    let mut images = image::compile_programs(&run.project, Programs::Ordinary, MemoryMode::Guard)?;
    let mut programs = run.project.programs.iter();
    let program: &Program = programs
        .find(|program| program.name == PROGRAM)
        .with_context(|| format!("there is no program {PROGRAM}"))?;
    crate::build::tools_and_programs(&run.project, &[program])?;
    images.extend(image::compile(&run.project, &[program], MemoryMode::Guard)?);
    let debugged = Debugged { run, images };
    for (name, test) in tests.iter().filter(|(name, _)| run.wants(name)) {
        report.count(*name, test(&debugged).map_err(|e| format!("{e:#}")));
    }
    Ok(report)
}

/// Why no process can be debugged here, if none can: containers may forbid it.
fn traces_nothing() -> Option<String> {
    let mut gdb = Command::new("gdb");
    gdb.args(["-nx", "-batch", "-ex", "run", "--args", "true"]);
    let said = gdb.output().ok()?;
    let said = String::from_utf8_lossy(&said.stderr).into_owned();
    let refused = said.lines().find(|line| line.contains("ptrace"))?;
    Some(format!("gdb may not trace processes here ({refused})"))
}

struct Debugged<'a> {
    run: &'a Run,
    images: Vec<(String, PathBuf)>,
}

impl Debugged<'_> {
    /// The system on a machine, about to run a script.
    fn system(
        &self,
        machine: Machine,
        script: &str,
        options: &[&'static str],
    ) -> Result<(Kernel, Launch)> {
        let mut kernel = Kernel::prepare(&self.run.project, machine, Acceleration::Emulated)?;
        kernel.options.extend(options);
        let launch = systems::launch(&self.run.project, &self.images, &kernel, Some(script))?;
        Ok((kernel, launch))
    }

    /// Has gdb do these commands, in the project's folder; returns what it says.
    fn gdb(&self, commands: &[impl AsRef<OsStr>], arguments: Vec<PathBuf>) -> Result<String> {
        let mut gdb = Command::new(self.run.project.host_binary("sing"));
        gdb.current_dir(&self.run.project.root)
            .env_remove("DEBUGINFOD_URLS")
            .args(["gdb", "-nx", "-batch"]);
        for command in commands {
            gdb.arg("-ex").arg(command);
        }
        gdb.args(arguments);
        let session = Session::start(Launch::new(gdb))?;
        let (said, ended) = session.finish(Instant::now() + TIME);
        ensure!(ended == Ok(Some(0)), "gdb ended with {ended:?}:\n{said}");
        Ok(said)
    }

    /// The number of the first line of the program's source that ends with this.
    fn line(&self, end: &str) -> Result<usize> {
        let source = self.run.project.root.join(SOURCE);
        let text = fs::read_to_string(&source)?;
        let at = text.lines().position(|line| line.ends_with(end));
        Ok(at.with_context(|| format!("{SOURCE}: no line ends with `{end}`"))? + 1)
    }

    /// The frames of the program where it dies, as gdb shows them, name and line of each: all but
    /// two were inlined into the next one.
    fn frames(&self) -> Result<[(&'static str, usize); 5]> {
        let main = self.line("// main")?;
        Ok([
            ("innermost", self.line("// innermost, trap")?),
            ("middle", self.line("// middle")?),
            ("lines::outermost", self.line("// outermost")?),
            ("main", main),
            ("sip_main", main - 1),
        ])
    }

    /// The command that has gdb stop before, in the function that is inlined deepest.
    fn stop(&self) -> Result<String> {
        Ok(format!("break {SOURCE}:{}", self.line(STOP)?))
    }
}

/// Whether a backtrace has these frames, one after the other, the first one innermost.
fn has_frames(said: &str, frames: &[(&str, usize)]) -> Result<()> {
    let shown: Vec<&str> = said.lines().filter(|line| line.starts_with('#')).collect();
    let is = |(line, (name, number)): (&&str, &(&str, usize))| {
        line.contains(&format!("{name} (")) && line.ends_with(&format!("{SOURCE}:{number}"))
    };
    let found = shown
        .windows(frames.len())
        .any(|shown| shown.iter().zip(frames).all(is));
    ensure!(found, "no frames {frames:?} in a row:\n{said}");
    Ok(())
}

/// Whether it says this.
fn says(said: &str, text: &str) -> Result<()> {
    ensure!(said.contains(text), "`{text}` is missing:\n{said}");
    Ok(())
}

/// A process with the hosted kernel: a place in a program is named before the process is there, gdb
/// stops there, shows the source, and stops again where the program dies.
fn process(debugged: &Debugged<'_>) -> Result<()> {
    let (_, launch) = debugged.system(Machine::Hosted, SCRIPT, &["--perf-map"])?;
    let stop = debugged.stop()?;
    let said = debugged.gdb(
        &[
            &stop,
            "run",
            "backtrace",
            "list",
            "info singularity",
            "python print('pid', gdb.selected_inferior().pid, 'at', gdb.selected_frame().pc())",
            "delete",
            "continue",
            "backtrace",
            // In the next process all is elsewhere.
            "kill",
            "run",
            "echo again\\n",
            "python print('next', gdb.selected_inferior().pid)",
            "backtrace",
        ],
        arguments(&launch),
    )?;
    let (pid, pc) = said
        .lines()
        .find_map(|line| line.strip_prefix("pid ")?.split_once(" at "))
        .with_context(|| format!("no place was shown:\n{said}"))?;
    let pc = pc.parse().context("the place is no number")?;
    let map = PathBuf::from(format!("/tmp/perf-{pid}.map"));
    let text = fs::read_to_string(&map).with_context(|| format!("{}", map.display()));
    fs::remove_file(&map).ok();
    if let Some(next) = said.lines().find_map(|line| line.strip_prefix("next ")) {
        fs::remove_file(format!("/tmp/perf-{next}.map")).ok();
    }
    has_frames(&said, &debugged.frames()?[2..])?;
    says(&said, STOP)?;
    let (_, dead) = said
        .split_once("received signal SIGILL")
        .with_context(|| format!("gdb did not stop at the trap:\n{said}"))?;
    has_frames(dead, &debugged.frames()?)?;
    let (_, again) = dead
        .split_once("again\n")
        .with_context(|| format!("gdb did not start it again:\n{said}"))?;
    has_frames(again, &debugged.frames()?)?;
    for name in ["shell", "console", PROGRAM] {
        let end = format!(" {name}");
        let listed = said.lines().any(|line| line.ends_with(&end));
        ensure!(listed, "{name} is not among the programs:\n{said}");
    }
    at(&text?, pc, &format!("{PROGRAM}:lines::outermost"))
}

/// Whether a map for `perf` says that this function is at this address.
fn at(map: &str, pc: u64, function: &str) -> Result<()> {
    let mut found = map.lines().filter_map(|line| {
        let (start, rest) = line.split_once(' ')?;
        let (size, name) = rest.split_once(' ')?;
        let start = u64::from_str_radix(start, 16).ok()?;
        let size = u64::from_str_radix(size, 16).ok()?;
        (start..start + size).contains(&pc).then_some(name)
    });
    let name = found.next();
    ensure!(
        name == Some(function),
        "{pc:#x} is in {name:?}, and not in {function}:\n{map}"
    );
    Ok(())
}

/// A core file of a process whose program has died: gdb shows of it what it shows of the process.
fn core_file(debugged: &Debugged<'_>) -> Result<()> {
    let (kernel, launch) = debugged.system(Machine::Hosted, SCRIPT, &[])?;
    let core = format!("core-{}", std::process::id());
    let core = debugged.run.project.out().join(core);
    let save = format!("save core {}", core.display());
    let made = debugged.gdb(&["run", &save], arguments(&launch));
    let said = made.and_then(|_| {
        let bytes = fs::metadata(&core).context("no core file")?.len();
        ensure!(
            bytes < CORE,
            "{bytes} bytes are a core file with all addresses"
        );
        let files = vec![kernel.binary().to_path_buf(), core.clone()];
        debugged.gdb(&["backtrace", "info singularity"], files)
    });
    fs::remove_file(&core).ok();
    let said = said?;
    has_frames(&said, &debugged.frames()?)?;
    says(&said, " shell\n")
}

/// `--args` and the command that starts a system.
fn arguments(launch: &Launch) -> Vec<PathBuf> {
    let mut arguments = vec![PathBuf::from("--args"), launch.command.get_program().into()];
    arguments.extend(launch.command.get_args().map(PathBuf::from));
    arguments
}

/// A machine in QEMU, which gdb talks to through a socket.
fn emulated(debugged: &Debugged<'_>) -> Result<()> {
    let stop = debugged.stop()?;
    let commands = [&stop, "continue", "backtrace", "info singularity"];
    let (_, said) = in_qemu(debugged, SCRIPT, &commands)?;
    has_frames(&said, &debugged.frames()?[2..])?;
    says(&said, " shell\n")
}

/// Starts a machine in QEMU that waits for gdb, and has gdb do these commands with it. The kernel's file, and
/// what gdb says.
fn in_qemu(debugged: &Debugged<'_>, script: &str, commands: &[&str]) -> Result<(PathBuf, String)> {
    let (kernel, mut launch) = debugged.system(Machine::Microvm, script, &[])?;
    // The name of a socket is short.
    let socket = PathBuf::from(format!("/tmp/sing-gdb-{}.sock", std::process::id()));
    let server = format!("unix:{},server=on,wait=off", socket.display());
    launch.command.args(["-S", "-gdb", &server]);
    launch.owns(socket.clone());
    let session = Session::start(launch)?;
    appears(&socket)?;
    let target = format!("target remote {}", socket.display());
    let mut all = vec![target.as_str()];
    all.extend(commands);
    // Not `kill`: where QEMU ends before it has answered, gdb breaks.
    all.push("disconnect");
    let kernel = kernel.binary().to_path_buf();
    let said = debugged.gdb(&all, vec![kernel.clone()]);
    drop(session);
    Ok((kernel, said?))
}

/// Waits for a file that another process makes.
fn appears(file: &Path) -> Result<()> {
    let deadline = Instant::now() + TIME;
    while !file.exists() {
        ensure!(Instant::now() < deadline, "{} is not there", file.display());
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}
