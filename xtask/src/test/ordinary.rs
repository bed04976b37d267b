//! Ordinary programs (`tests/ordinary/*.wat`, modules of WASI preview 1 and components of WASI 0.2), run by
//! `sing run` as a person would.

mod components;
mod descriptors;
mod http;
mod kept;
mod net;

pub use components::target;
pub use http::{Server as HttpServer, built as built_for_http};

use super::tcp::free_port;
use super::{Report, Run};
use crate::machine::{Acceleration, Kernel, Machine};
use crate::run::SCRIPT_ARGUMENTS;
use crate::system::session::Session;
use crate::{build, files, image, wasi};
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

/// The status of a system whose output nobody reads any more (`sing_abi::exit::machine`).
const NOBODY_READS: i32 = 167;

/// Makes the modules and runs them.
pub fn check(run: &Run) -> Result<Report> {
    let mut report = Report::default();
    wasi::base(&run.project)?;
    wasi::listening(&run.project)?;
    let folder = format!("ordinary-{}", std::process::id());
    let folder = run.project.out().join(folder);
    let shared = folder.join("shared");
    fs::create_dir_all(&shared).with_context(|| format!("cannot create {}", shared.display()))?;
    let machine = Ordinary { run, folder };
    type Test = fn(&Ordinary<'_>) -> Result<()>;
    let all: [(&str, Test); 23] = [
        ("words and streams", words),
        ("input", input),
        ("lines that do not wait", impatient),
        ("files", directory),
        ("the version before", unstable),
        ("a function without a name", unnamed),
        ("deep calls", deep),
        ("limits of files", kept::file_limit),
        ("a trap", trap),
        ("alone", alone),
        ("Ctrl-C", interrupted),
        ("a reader that goes", reader_gone),
        ("what is missing", missing),
        ("components", components::run),
        ("components of libraries", components::libraries),
        ("components that ask by HTTP", components::asks),
        ("components that break the rules", components::broken),
        ("components that cannot run", components::refused),
        ("sockets", net::sockets),
        ("in an image", in_an_image),
        ("in the shell", in_the_shell),
        ("compiled once", kept::compiled_once),
        ("an unusable cache", kept::unusable_cache),
    ];
    for (name, test) in all.into_iter().filter(|(name, _)| run.wants(name)) {
        let outcome = test(&machine).map_err(|e| format!("{e:#}"));
        report.count(name, outcome);
    }
    if run.wants(descriptors::MANY) {
        match descriptors::enough() {
            Ok(()) => {
                let outcome = descriptors::many(&machine).map_err(|e| format!("{e:#}"));
                report.count(descriptors::MANY, outcome);
            }
            Err(reason) => report
                .skipped
                .push(format!("{}: {reason}", descriptors::MANY)),
        }
    }
    let of_rust: [(&str, Test); 3] = [
        (components::BOTH, components::both),
        (net::NETWORK, net::network),
        (http::HTTP, http::asks),
    ];
    for (name, test) in of_rust.into_iter().filter(|(name, _)| run.wants(name)) {
        match components::target() {
            Ok(()) => {
                let outcome = test(&machine).map_err(|e| format!("{e:#}"));
                report.count(name, outcome);
            }
            Err(reason) => report.skipped.push(format!("{name}: {reason}")),
        }
    }
    fs::remove_dir_all(&machine.folder).ok();
    Ok(report)
}

struct Ordinary<'a> {
    run: &'a Run,
    folder: PathBuf,
}

impl Ordinary<'_> {
    /// A module, made from its text.
    fn module(&self, name: &str) -> Result<PathBuf> {
        let project = &self.run.project;
        let text = project.root.join(format!("tests/ordinary/{name}.wat"));
        let module = self.folder.join(format!("{name}.wasm"));
        build::module_of_text(project, &text, &module)?;
        Ok(module)
    }

    /// Runs a module with options, arguments and an input.
    fn run(
        &self,
        options: &[&str],
        name: &str,
        arguments: &[&str],
        input: &[u8],
    ) -> Result<Output> {
        let cache = self.folder.join("cache");
        self.run_with_cache(&cache, options, &self.module(name)?, arguments, input)
    }

    /// Runs a module with what this cache keeps.
    fn run_with_cache(
        &self,
        cache: &Path,
        options: &[&str],
        module: &Path,
        arguments: &[&str],
        input: &[u8],
    ) -> Result<Output> {
        let mut command = Command::new(self.run.project.host_binary("sing"));
        command.env("SING_CACHE", cache);
        command.arg("run").args(options).arg(module);
        command.args(arguments).stdin(Stdio::piped());
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut pipe = child.stdin.take().context("no input")?;
        let input = input.to_vec();
        // A program may end without having read all.
        let writer = std::thread::spawn(move || drop(pipe.write_all(&input)));
        let output = child.wait_with_output()?;
        writer.join().ok().context("the writer of the input")?;
        Ok(output)
    }
}

impl Ordinary<'_> {
    /// Has a module as a command of the shell, which runs a script; what is said, and the status of the end.
    fn shell(&self, name: &str, module: PathBuf, script: &str) -> Result<(String, Option<i32>)> {
        const PATIENCE: Duration = Duration::from_secs(60);
        let project = &self.run.project;
        let programs = [(name.into(), module)];
        let mode = image::MemoryMode::Guard;
        let image = image::system_with(project, mode, Some(script), &programs, None)?;
        let kernel = Kernel::prepare(project, Machine::Hosted, Acceleration::Emulated)?;
        let arguments = SCRIPT_ARGUMENTS.map(String::from);
        let session = Session::start(kernel.launch(Some(&image), &arguments, false)?)?;
        let (output, ended) = session.finish(Instant::now() + PATIENCE);
        fs::remove_file(&image)?;
        match ended {
            Ok(status) => Ok((output, status)),
            Err(ended) => bail!("{ended:?}: {output}"),
        }
    }

    /// A program that has begun, and waits for more of its input.
    fn waiting(&self) -> Result<Child> {
        let mut command = Command::new(self.run.project.host_binary("sing"));
        command.env("SING_CACHE", self.folder.join("cache"));
        command.arg("run").arg(self.module("copy")?);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let input = child.stdin.as_mut().context("no input")?;
        input.write_all(b"begun")?;
        let mut begun = [0; 5];
        let output = child.stdout.as_mut().context("no output")?;
        output.read_exact(&mut begun)?;
        ensure!(begun == *b"begun", "{begun:?} was copied");
        Ok(child)
    }
}

fn is(output: &Output, status: i32, out: &[u8]) -> Result<()> {
    ensure!(
        output.status.code() == Some(status) && output.stdout == out,
        "{:?}, {:?} was printed, and {:?}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}

fn words(machine: &Ordinary<'_>) -> Result<()> {
    let options = ["--env", "A=b=c", "--env", "EMPTY="];
    let output = machine.run(&options, "words", &["--dir", "a b", "", "--"], b"")?;
    is(&output, 7, b"words.wasm\0--dir\0a b\0\0--\0A=b=c\0EMPTY=\0")?;
    ensure!(output.stderr == b"error\n", "{:?}", output.stderr);
    is(&machine.run(&[], "words", &[], b"")?, 7, b"words.wasm\0")
}

fn input(machine: &Ordinary<'_>) -> Result<()> {
    is(&machine.run(&[], "copy", &[], b"")?, 0, b"")?;
    // All bytes, among them what a terminal would obey, and more than any buffer on the way.
    let many: Vec<u8> = (0..700_001_u32).map(|i| (i * 31 / 7) as u8).collect();
    is(&machine.run(&[], "copy", &[], &many)?, 0, &many)?;
    // What cannot be read is no silent end.
    let mut command = Command::new(machine.run.project.host_binary("sing"));
    command.env("SING_CACHE", machine.folder.join("cache"));
    command.arg("run").arg(machine.module("copy")?);
    let output = command.stdin(fs::File::open(&machine.folder)?).output()?;
    is(&output, 0, b"")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(
        said.contains("standard input cannot be read, and ends here: Is a directory"),
        "{said:?}"
    );
    Ok(())
}

/// Standard streams that are not to wait take all lines, however fast they come.
fn impatient(machine: &Ordinary<'_>) -> Result<()> {
    let output = machine.run(&[], "impatient", &[], b"")?;
    let all = b"line\n".repeat(2000);
    is(&output, 0, &all)?;
    ensure!(output.stderr == all, "errors: {:?}", output.stderr.len());
    Ok(())
}

fn directory(machine: &Ordinary<'_>) -> Result<()> {
    let shared = machine.folder.join("shared");
    files::write(&shared.join("in.txt"), "of the host\n")?;
    let option = format!("{}::/", shared.display());
    let output = machine.run(&["--dir", &option], "file", &[], b"")?;
    is(&output, 0, b"of the host\n")?;
    let written = fs::read(shared.join("out.txt"))?;
    ensure!(written == b"of the host\n", "{written:?} was written");
    // Without a directory there is no descriptor 3: `badf`.
    is(&machine.run(&[], "file", &[], b"")?, 8, b"")?;
    let output = machine.run(&["--dir", "/no/such"], "file", &[], b"")?;
    says(&output, "--dir /no/such: there is no such directory")
}

/// A program that imports the functions of the version before preview 1 gets those.
fn unstable(machine: &Ordinary<'_>) -> Result<()> {
    let shared = machine.folder.join("shared");
    files::write(&shared.join("in.txt"), "of the host\n")?;
    let option = format!("{}::/", shared.display());
    let output = machine.run(&["--dir", &option], "unstable", &[], b"")?;
    is(&output, 0, b" host\n")
}

/// A library whose function without a name is called.
fn unnamed(machine: &Ordinary<'_>) -> Result<()> {
    is(&machine.run(&[], "unnamed", &[], b"")?, 7, b"")
}

/// Calls go as deep as in other engines, and not without end.
fn deep(machine: &Ordinary<'_>) -> Result<()> {
    is(&machine.run(&[], "deep", &[], b"")?, 7, b"")?;
    let output = machine.run(&[], "deep", &["endless"], b"")?;
    is(&output, 134, b"")?;
    says(&output, "died of: stack overflow, in down")
}

fn trap(machine: &Ordinary<'_>) -> Result<()> {
    let output = machine.run(&[], "trap", &[], b"")?;
    is(&output, 134, b"")?;
    says(&output, "out-of-bounds memory access, in inner")?;
    says(&output, "called from begin")?;
    // The report does not continue a line of the program's.
    let output = machine.run(&[], "unfinished", &[], b"")?;
    is(&output, 134, b"")?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let report = said.strip_prefix("half a line\n");
    ensure!(
        report.is_some_and(|report| report.contains("unreachable code was reached")),
        "{said:?}"
    );
    Ok(())
}

/// A program that needs none of the services has a system without them; with a directory, the same module
/// has them, beside the other. The number in a crash report tells: those of the services come before it.
fn alone(machine: &Ordinary<'_>) -> Result<()> {
    let directory = format!("{}::/", machine.folder.join("shared").display());
    let mut numbers = Vec::new();
    // Each is compiled, and found again.
    for options in [&[][..], &["--dir", &directory], &[], &["--dir", &directory]] {
        let output = machine.run(options, "trap", &[], b"")?;
        is(&output, 134, b"")?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let number = said
            .split_once("trap.wasm (SIP ")
            .and_then(|(_, rest)| rest.split_once(')')?.0.parse::<u32>().ok());
        numbers.push(number.with_context(|| format!("no number: {said}"))?);
    }
    let [alone, served, again, served_again] = numbers[..] else {
        bail!("{numbers:?}");
    };
    ensure!(alone == again && served == served_again, "{numbers:?}");
    ensure!(
        alone < served,
        "{numbers:?}: services that nothing uses run"
    );
    Ok(())
}

/// A program that waits for input at a terminal's `sing`, which Ctrl-C ends by the usual signal; it is
/// one process, so nothing stays.
fn interrupted(machine: &Ordinary<'_>) -> Result<()> {
    for (signal, name) in [(2, "INT"), (15, "TERM")] {
        let mut child = machine.waiting()?;
        let kill = format!("kill -{name} {}", child.id());
        let sent = Command::new("sh").args(["-c", &kill]).status()?;
        ensure!(sent.success(), "{kill}: {sent}");
        let status = ended(&mut child)?;
        ensure!(status.signal() == Some(signal), "{name}: {status}");
    }
    Ok(())
}

/// Standard output has no reader any more: the program has nobody to write for, and ends.
fn reader_gone(machine: &Ordinary<'_>) -> Result<()> {
    let mut child = machine.waiting()?;
    drop(child.stdout.take());
    let mut input = child.stdin.take().context("no input")?;
    // It may have ended before all is written.
    let _ = input.write_all(&[b'x'; 1 << 20]);
    let status = ended(&mut child)?;
    ensure!(status.code() == Some(NOBODY_READS), "{status}");
    Ok(())
}

/// The status of a process that ends by itself soon.
fn ended(child: &mut Child) -> Result<ExitStatus> {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if Instant::now() >= end {
            child.kill()?;
            bail!("it does not end");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn missing(machine: &Ordinary<'_>) -> Result<()> {
    let output = machine.run(&[], "lacks", &[], b"")?;
    is(&output, 1, b"")?;
    says(
        &output,
        "wasi_snapshot_preview1: a function (sock_open); only WasmEdge has such",
    )?;
    says(&output, "env: a function (jump)")?;
    // The module is the option's value, and without one a project is run.
    let output = machine.run(&["--dir"], "lacks", &[], b"")?;
    ensure!(output.status.code() == Some(1), "{:?}", output.status);
    says(&output, "there is no project here")?;
    let module = machine.module("words")?;
    for (folder, reason) in [
        ("closed", "this user cannot open it: Permission denied"),
        (
            "closed/inner",
            "this user cannot open it: Permission denied",
        ),
        ("absent", "there is no such directory"),
    ] {
        let folder = machine.folder.join(folder);
        let output = as_nobody(machine, &folder, &module)?;
        is(&output, 1, b"")?;
        says(
            &output,
            &format!("sing: --dir {}: {reason}", folder.display()),
        )?;
    }
    Ok(())
}

/// Runs a module with a directory, which nobody may open if it is `closed`, as a user who has no
/// leave to do it nevertheless.
fn as_nobody(machine: &Ordinary<'_>, folder: &Path, module: &Path) -> Result<Output> {
    let closed = machine.folder.join("closed");
    fs::create_dir_all(&closed)?;
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o0))?;
    let sing = machine.run.project.host_binary("sing");
    let mut command = match fs::read_dir(&closed) {
        Err(_) => Command::new(&sing),
        // The superuser.
        Ok(_) => {
            let mut command = Command::new("setpriv");
            command.arg("--bounding-set=-dac_override,-dac_read_search");
            command.arg(&sing);
            command
        }
    };
    command.args(["run", "--no-cache", "--dir"]);
    Ok(command.arg(folder).arg(module).output()?)
}

/// `sing compile` and `sing image` join such a module, too.
fn in_an_image(machine: &Ordinary<'_>) -> Result<()> {
    let image = machine.folder.join("words");
    let sing = machine.run.project.host_binary("sing");
    let module = machine.module("words")?;
    let mut command = Command::new(&sing);
    command
        .arg("compile")
        .arg(&module)
        .arg("-o")
        .arg(&image)
        .env("SING_CACHE", "off");
    let output = command.output()?;
    ensure!(output.status.success(), "{output:?}");
    inspect(&sing, &image, "\"words\"")
}

/// As a command of the shell it has the exported variables as its environment, and nothing that is
/// passed to it is a setting.
fn in_the_shell(machine: &Ordinary<'_>) -> Result<()> {
    let script = "export A=1 B='x=y'; C=3; words --env=D=4 --\nunset A B; words --dir=x\n";
    let (output, status) = machine.shell("words", machine.module("words")?, script)?;
    ensure!(status == Some(7), "{status:?}: {output}");
    for words in ["words\0--env=D=4\0--\0A=1\0B=x=y\0", "words\0--dir=x\0"] {
        let escaped = output.escape_debug();
        ensure!(output.contains(words), "no {words:?} in {escaped}");
    }
    ensure!(!output.contains("C=3"), "what is not exported is there");
    Ok(())
}

fn inspect(sing: &Path, image: &Path, word: &str) -> Result<()> {
    let output = Command::new(sing)
        .arg("inspect")
        .arg(image)
        .arg("--manifest")
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(text.contains(word), "no {word} in {text}");
    Ok(())
}

fn says(output: &Output, word: &str) -> Result<()> {
    let text = String::from_utf8_lossy(&output.stderr);
    ensure!(text.contains(word), "no `{word}` in {text}");
    Ok(())
}
