//! A command line as a container engine would run it, without one: name spaces of its own, a root that
//! cannot be written, a user without rights, no way to more of them.

use crate::container;
use crate::image::{self, MemoryMode};
use crate::machine::Launch;
use crate::system::session::{self, Session};
use crate::test::Run;
use crate::test::tcp::free_port;
use crate::{build, files};
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The page that the probes of both manifests ask for.
pub const PAGE: &str = "/hello";
/// How long the start may take.
const TIME: Duration = Duration::from_secs(120);
/// How long the end may take: less than the manifests allow.
const END: Duration = Duration::from_secs(8);
/// The user.
const USER: &str = "65532";

/// With `$1` as the root of all, runs the rest.
const IN_ROOT: &str = "\
    mount --make-rprivate /; mount --bind \"$1\" \"$1\"; mount -o remount,bind,ro \"$1\"\n\
    mount -t proc proc \"$1/proc\"; root=$1; shift\n\
    exec setpriv --no-new-privs --bounding-set=-all,+sys_chroot,+setuid,+setgid \
    chroot --userspec=65532:65532 --groups= \"$root\" \"$@\"";
/// With `$1` at /srv of this machine's root, which cannot be written, runs the rest.
const AT_SRV: &str = "\
    mount --make-rprivate /; mount --bind \"$1\" /srv; mount -o remount,bind,ro /srv\n\
    mount -o remount,bind,ro /; mount -t proc proc /proc; shift\n\
    exec setpriv --no-new-privs --bounding-set=-all --reuid=65532 --regid=65532 --clear-groups \"$@\"";

/// Why this machine lets nobody do that, if it does not.
pub fn impossible() -> Option<String> {
    let mut tried = Command::new("unshare");
    tried.args(["--mount", "--pid", "--fork", "--", "sh", "-c"]);
    tried.arg("mount --make-rprivate / && mount -t tmpfs none /srv && setpriv --no-new-privs true");
    match tried.stdin(Stdio::null()).output() {
        Ok(out) if out.status.success() => None,
        Ok(out) => Some(format!(
            "name spaces and mounts are for root, outside of containers: {}",
            String::from_utf8_lossy(&out.stderr).trim()
        )),
        Err(error) => Some(format!("unshare (package util-linux): {error}")),
    }
}

/// A folder that is removed with this.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left is below `target`.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A folder with a system image whose web server has this port, and a binary beside it.
fn folder(run: &Run, name: &str, port: u16, binary: (&Path, &str)) -> Result<Folder> {
    let path = run
        .project
        .out()
        .join(format!("{name}-{}", std::process::id()));
    fs::create_dir_all(path.join("proc"))
        .with_context(|| format!("cannot create {}", path.display()))?;
    let folder = Folder(path);
    let image = image::system_with(&run.project, MemoryMode::Guard, None, &[], Some(port))?;
    files::copy(&image, &folder.0.join("system.img"))?;
    if image::is_for_one_run(&image) {
        let _ = fs::remove_file(&image);
    }
    files::copy(binary.0, &folder.0.join(binary.1))?;
    container::readable(&folder.0, &["system.img", binary.1])?;
    Ok(folder)
}

/// The hosted system with these arguments.
pub fn container(run: &Run, words: &[String]) -> Result<()> {
    let port = free_port()?;
    let binary = build::hosted_static(&run.project)?;
    let root = folder(run, "container", port, (&binary, "singularity"))?;
    let mut all = vec!["/singularity".to_string()];
    all.extend_from_slice(words);
    // Open, and nothing comes.
    let (input, _open) = std::io::pipe().context("cannot make a pipe")?;
    let session = start(IN_ROOT, &root.0, &all, input.into())?;
    judge(session, port, Some(128 + 15))
}

/// The emulator with these arguments.
pub fn machine(run: &Run, words: &[String]) -> Result<()> {
    let port = free_port()?;
    let kernel = build::pc(&run.project)?;
    let files = folder(run, "microvm", port, (&kernel, "kernel"))?;
    let mut all = vec![crate::qemu::QEMU.to_string()];
    let ports = format!("hostfwd=tcp:127.0.0.1:{port}-:{port}");
    all.extend(
        words
            .iter()
            .map(|word| word.replace("hostfwd=tcp::8080-:8080", &ports)),
    );
    ensure!(
        all.iter().any(|word| word.contains(&ports)),
        "no forwarded port 8080: {words:?}"
    );
    judge(start(AT_SRV, &files.0, &all, Stdio::null())?, port, None)
}

fn start(script: &str, folder: &Path, words: &[String], input: Stdio) -> Result<Session> {
    let mut command = Command::new("unshare");
    command.args([
        "--mount",
        "--pid",
        "--fork",
        "--kill-child",
        "--",
        "sh",
        "-ec",
        script,
        "sh",
    ]);
    command.arg(folder).args(words);
    Session::with_input(Launch::new(command), input)
}

/// Waits for the page, looks at the process that answers, and has it end.
fn judge(session: Session, port: u16, status: Option<i32>) -> Result<()> {
    let judged = answers(port).and_then(|()| {
        let process = first(session.id())?;
        sealed(process)?;
        let mut kill = Command::new("kill");
        let told = kill.args(["-TERM", &process.to_string()]).status();
        ensure!(
            told.is_ok_and(|told| told.success()),
            "cannot signal the process"
        );
        Ok(())
    });
    let (output, ended) =
        session.finish(Instant::now() + if judged.is_ok() { END } else { Duration::ZERO });
    judged.with_context(|| format!("the system has said:\n{output}"))?;
    let as_wanted = match (ended, status) {
        (Ok(is), Some(wanted)) => is == Some(wanted),
        (Ok(_), None) => true,
        (Err(session::Ended::Late | session::Ended::Gone), _) => false,
    };
    ensure!(as_wanted, "at SIGTERM: {ended:?}, not {status:?}\n{output}");
    Ok(())
}

/// Waits for the page of the probes.
fn answers(port: u16) -> Result<()> {
    let end = Instant::now() + TIME;
    loop {
        match page(port) {
            Ok(text) if text.starts_with("HTTP/1.1 200 ") => return Ok(()),
            other if Instant::now() > end => bail!("{PAGE} does not come: {other:?}"),
            _ => std::thread::sleep(Duration::from_millis(100)),
        }
    }
}

fn page(port: u16) -> std::io::Result<String> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    write!(
        stream,
        "GET {PAGE} HTTP/1.1\r\nHost: probe\r\nConnection: close\r\n\r\n"
    )?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}

/// The first process in the name space that `unshare` has made.
fn first(unshare: u32) -> Result<u32> {
    let file = format!("/proc/{unshare}/task/{unshare}/children");
    let text = fs::read_to_string(&file).with_context(|| format!("cannot read {file}"))?;
    let number = text
        .split_whitespace()
        .next()
        .and_then(|word| word.parse().ok());
    number.context("no process below unshare")
}

/// Whether a process has no rights, and a root that cannot be written.
fn sealed(process: u32) -> Result<()> {
    let read = |file: &str| {
        let file = format!("/proc/{process}/{file}");
        fs::read_to_string(&file).with_context(|| format!("cannot read {file}"))
    };
    let status = read("status")?;
    let value = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.map(|rest| rest.split_whitespace().collect::<Vec<_>>())
    };
    let none = ["0000000000000000"];
    for (name, wanted) in [
        ("Uid:", &[USER; 4][..]),
        ("Gid:", &[USER; 4]),
        ("Groups:", &[]),
        ("CapEff:", &none),
        ("CapPrm:", &none),
        ("NoNewPrivs:", &["1"]),
    ] {
        let is = value(name);
        ensure!(
            is.as_deref() == Some(wanted),
            "{name} {is:?}, not {wanted:?}"
        );
    }
    let last = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    let last = last.and_then(|rest| rest.split_whitespace().last());
    ensure!(
        last == Some("1"),
        "not the first process of its name space: {last:?}"
    );
    // ID PARENT DEVICE ROOT PLACE OPTIONS
    let mounts = read("mountinfo")?;
    let root = mounts
        .lines()
        .rev()
        .map(|line| line.split(' ').collect::<Vec<_>>());
    let root = root.into_iter().find(|words| words.get(4) == Some(&"/"));
    let options = root.and_then(|words| words.get(5).map(|options| options.to_string()));
    let read_only = options
        .as_deref()
        .is_some_and(|o| o.split(',').any(|o| o == "ro"));
    ensure!(read_only, "its root can be written: {options:?}");
    Ok(())
}
