//! Directories of the host inside the system: one list of commands for all machines, and a look at
//! the host's files afterwards.

use super::systems::launch;
use super::{Report, Run};
use crate::files;
use crate::host_dir::HostDirectory;
use crate::image::{self, MemoryMode, Programs};
use crate::machine::{Acceleration, Kernel, Machine};
use crate::system::session::Session;
use anyhow::{Context, Result, bail};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How long a boot may take under emulation.
const TIME: Duration = Duration::from_secs(120);
/// Bytes of a large file: more than one message has.
const LARGE: usize = 1_500_000;
/// What lies beside the directory, and must never be seen.
const SECRET: &str = "not for the system";

/// Commands, and the output expected, `*` where it may be any. The directory is at `/mnt/ro` to
/// read, and at `/mnt/rw` to change, too.
const STEPS: &[(&str, &str)] = &[
    // The system may have said something before its first command. The shell has waited for both.
    ("echo", "*"),
    ("ls /mnt", "ro/\nrw/\n"),
    (
        "ls -l /mnt/ro",
        "service   a.txt  FileContract\n\
         link      absolute -> /etc/passwd\n\
         link      door -> sub\n\
         link      in -> sub/deep/leaf\n\
         service   large  FileContract\n\
         service   pipe  FileContract\n\
         directory sub/\n\
         link      up -> ../secret\n",
    ),
    ("ls /mnt/ro/*/deep", "/mnt/ro/sub/deep/\n"),
    ("cat /mnt/ro/a.txt", "hello\n"),
    // Links are followed as long as they stay below the directory.
    ("cat /mnt/ro/in /mnt/ro/door/deep/leaf", "leaf\nleaf\n"),
    ("cat /mnt/ro/up", "cat: /mnt/ro/up: not found\n"),
    ("cat /mnt/ro/absolute", "cat: /mnt/ro/absolute: not found\n"),
    // It would wait for its other end for ever.
    (
        "cat /mnt/ro/pipe",
        "cat: /mnt/ro/pipe: a service of another contract\n",
    ),
    ("mkdir /mnt/ro/x", "mkdir: /mnt/ro/x: for reading only\n"),
    ("rm /mnt/ro/a.txt", "rm: /mnt/ro/a.txt: for reading only\n"),
    (
        "cp /mnt/ro/a.txt /mnt/ro/b",
        "cp: /mnt/ro/b: for reading only\n",
    ),
    (
        "mv /mnt/ro/a.txt /mnt/ro/b",
        "mv: /mnt/ro/a.txt to /mnt/ro/b: for reading only\n",
    ),
    ("mkdir /mnt/rw/new", ""),
    ("cp /mnt/rw/large /mnt/rw/new/copy", ""),
    ("cp /mnt/ro/a.txt /mnt/rw/new/b", ""),
    (
        "echo more >> /mnt/rw/new/b; cat /mnt/ro/new/b",
        "hello\nmore\n",
    ),
    ("mv /mnt/rw/new/b /mnt/rw/moved", ""),
    ("echo short > /mnt/rw/new/c; cat /mnt/rw/new/c", "short\n"),
    ("rm /mnt/rw/new/c; ls /mnt/ro/new", "copy\n"),
    ("mkdir -p /mnt/rw/gone/too; rm -r /mnt/rw/gone", ""),
    (
        "rmdir /mnt/rw/sub",
        "rmdir: /mnt/rw/sub: the directory is not empty\n",
    ),
    // The manager says how it starts them again.
    ("kill virtio-9p; sleep 2", "*"),
    ("cat /mnt/ro/in; cat /mnt/rw/moved", "leaf\nhello\nmore\n"),
    // The host changes the file when it sees this one.
    (
        "echo > /mnt/rw/ready; sleep 3; cat /mnt/ro/a.txt",
        "changed\n",
    ),
];

/// Hosted.
pub fn hosted(run: &Run) -> Result<Report> {
    on(run, &[Machine::Hosted])
}

/// On emulated machines, by either transport.
pub fn pc(run: &Run) -> Result<Report> {
    on(run, &[Machine::Microvm, Machine::Q35])
}

fn on(run: &Run, machines: &[Machine]) -> Result<Report> {
    let mut report = Report::default();
    let images = image::compile_programs(&run.project, Programs::WithTests, MemoryMode::Guard)?;
    for machine in machines {
        let name = format!("directories on {}", machine.name());
        if !run.wants(&name) {
            continue;
        }
        let folder = format!("directories-{}-{}", machine.name(), std::process::id());
        let folder = run.project.out().join(folder);
        let outcome = prepare(&folder).and_then(|shared| {
            let outcome = steps(run, *machine, &images, &shared)?;
            Ok(outcome.and_then(|()| look(&folder)))
        });
        fs::remove_dir_all(&folder).ok();
        report.count(name, outcome?);
    }
    Ok(report)
}

/// Makes the directory, and a file beside it.
fn prepare(folder: &Path) -> Result<PathBuf> {
    let shared = folder.join("shared");
    let made = fs::create_dir_all(shared.join("sub/deep"));
    made.with_context(|| format!("cannot make {}", shared.display()))?;
    files::write(&folder.join("secret"), SECRET)?;
    files::write(&shared.join("a.txt"), "hello\n")?;
    files::write(&shared.join("sub/deep/leaf"), "leaf\n")?;
    files::write(&shared.join("large"), large())?;
    for (target, name) in [
        ("/etc/passwd", "absolute"),
        ("../secret", "up"),
        ("sub/deep/leaf", "in"),
        ("sub", "door"),
    ] {
        symlink(target, shared.join(name)).context("cannot make a link")?;
    }
    let made = Command::new("mkfifo").arg(shared.join("pipe")).status();
    if !made.context("cannot start mkfifo")?.success() {
        bail!("mkfifo failed");
    }
    Ok(shared)
}

fn large() -> Vec<u8> {
    (0..LARGE).map(|at| (at / 7 % 251) as u8).collect()
}

/// Runs the commands; the first output that is another one than expected.
fn steps(
    run: &Run,
    machine: Machine,
    images: &[(String, PathBuf)],
    shared: &Path,
) -> Result<Result<(), String>> {
    let mut kernel = Kernel::prepare(&run.project, machine, Acceleration::Emulated)?;
    kernel.directories = [("/mnt/ro", true), ("/mnt/rw", false)]
        .map(|(at, read_only)| HostDirectory {
            path: shared.into(),
            at: at.into(),
            read_only,
        })
        .into();
    let script: String = STEPS
        .iter()
        .enumerate()
        .map(|(number, (command, _))| format!("{command}\necho step {number}\n"))
        .collect();
    let session = Session::start(launch(&run.project, images, &kernel, Some(&script))?)?;
    let end = AtomicBool::new(false);
    let (output, ended) = thread::scope(|scope| {
        scope.spawn(|| {
            // The host's part: a change while the system runs.
            while !end.load(Ordering::Relaxed) {
                if shared.join("ready").exists() {
                    fs::write(shared.join("a.txt"), "changed\n").ok();
                    return;
                }
                thread::sleep(Duration::from_millis(50));
            }
        });
        let finished = session.finish(Instant::now() + TIME);
        end.store(true, Ordering::Relaxed);
        finished
    });
    if !matches!(ended, Ok(Some(0))) {
        return Ok(Err(format!("{ended:?}\n{output}")));
    }
    let output = output.replace('\r', "");
    let mut rest = output.as_str();
    for (number, (command, expected)) in STEPS.iter().enumerate() {
        let mark = format!("step {number}\n");
        let Some((now, behind)) = rest.split_once(&mark) else {
            return Ok(Err(format!("{command}: no end of it in\n{rest}")));
        };
        if *expected != "*" && now != *expected {
            return Ok(Err(format!(
                "{command}: expected\n{expected}\nbut got\n{now}"
            )));
        }
        rest = behind;
    }
    Ok(Ok(()))
}

/// What the host has then.
fn look(folder: &Path) -> Result<(), String> {
    let read = |path: &str| fs::read(folder.join(path)).map_err(|e| format!("{path}: {e}"));
    let mut wrong = Vec::new();
    for (path, expected) in [
        ("secret", SECRET.into()),
        ("shared/moved", b"hello\nmore\n".to_vec()),
        ("shared/new/copy", large()),
        ("shared/large", large()),
        ("shared/sub/deep/leaf", b"leaf\n".to_vec()),
    ] {
        if read(path)? != expected {
            wrong.push(format!("{path} has another content"));
        }
    }
    for path in ["shared/gone", "shared/new/b", "shared/new/c", "shared/b"] {
        if folder.join(path).exists() {
            wrong.push(format!("{path} is there"));
        }
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(wrong.join(", "))
    }
}
