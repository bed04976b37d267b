//! `perf` of Linux, which looks many times a second what a process does, and who has called that.

use anyhow::{Context, Result, bail, ensure};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// How stacks are read: from so many bytes of them, by the tables of the kernel's file. The kernel
/// keeps no frame pointers, and calls into it run on the stack of the program that calls, whose
/// function is found so.
const STACKS: &str = "dwarf,4096";
/// Samples in a second. Not a round number, so that they do not keep step with what comes at one.
const RATE: &str = "1997";
/// Seconds until it has done what it is told.
const PATIENCE: i64 = 60;

/// The `perf` of this machine, and what it may look at.
pub struct Perf {
    /// What it says of itself.
    pub version: String,
    /// Whether it may see what Linux does, too.
    pub sees_linux: bool,
    folder: PathBuf,
}

impl Perf {
    /// Finds it, and tries what it may; its files go to a folder.
    ///
    /// # Errors
    /// Why there is none, and what helps.
    pub fn find(folder: &Path) -> Result<Perf> {
        let said = match Command::new("perf").arg("--version").output() {
            Err(e) if e.kind() == ErrorKind::NotFound => {
                bail!("perf is not installed; Debian has it as `linux-perf`")
            }
            said => said.context("cannot start perf")?,
        };
        ensure!(
            said.status.success(),
            "perf does not run: {}",
            String::from_utf8_lossy(&said.stderr).trim()
        );
        let version = String::from_utf8_lossy(&said.stdout).trim().to_owned();
        let mut perf = Perf {
            version,
            sees_linux: true,
            folder: folder.into(),
        };
        let mut refused = String::new();
        for sees_linux in [true, false] {
            perf.sees_linux = sees_linux;
            let probe = perf.record("probe").args(["--", "true"]).output()?;
            if probe.status.success() {
                return Ok(perf);
            }
            refused = String::from_utf8_lossy(&probe.stderr).into_owned();
        }
        let why = refused.lines().find(|line| !line.trim().is_empty());
        bail!(
            "perf may not look at this user's processes ({}); `sysctl kernel.perf_event_paranoid=2` permits it",
            why.unwrap_or("it says nothing").trim()
        )
    }

    fn data(&self, name: &str) -> PathBuf {
        self.folder.join(format!("perf-{name}.data"))
    }

    /// The command that records, without the process.
    fn record(&self, name: &str) -> Command {
        let event = match self.sees_linux {
            true => "cpu-clock",
            false => "cpu-clock:u",
        };
        let mut command = Command::new("perf");
        command.args(["record", "--quiet", "--call-graph", STACKS, "-F", RATE]);
        command.args(["-e", event, "-o"]).arg(self.data(name));
        command.stdin(Stdio::null());
        command
    }

    /// Begins to look at a process.
    pub fn start(&self, name: &str, process: u32) -> Result<Recording> {
        let errors = self.folder.join(format!("perf-{name}.err"));
        let mut command = self.record(name);
        command.args(["-p", &process.to_string()]);
        command.args(["--delay=-1", "--control=fd:0,1"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(File::create(&errors).context("cannot make a file")?);
        let mut child = command.spawn().context("cannot start perf")?;
        let (Some(orders), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            bail!("perf has no pipes");
        };
        let mut recording = Recording {
            child,
            orders,
            answers,
            errors,
        };
        recording.order("enable")?;
        Ok(recording)
    }

    /// What a recording has seen: each sample with its stack, as text.
    pub fn script(&self, name: &str) -> Result<String> {
        let mut command = Command::new("perf");
        command.args(["script", "--no-inline", "-F", "comm,tid,ip,sym,dso", "-i"]);
        command.arg(self.data(name)).stdin(Stdio::null());
        let output = command.output().context("cannot start perf")?;
        ensure!(
            output.status.success(),
            "perf script failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// A `perf` that looks, which ends with this value.
pub struct Recording {
    child: Child,
    orders: ChildStdin,
    answers: ChildStdout,
    errors: PathBuf,
}

impl Drop for Recording {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Recording {
    /// Gives it an order, and waits until it has said that it is done.
    fn order(&mut self, order: &str) -> Result<()> {
        let said = writeln!(self.orders, "{order}")
            .and_then(|()| self.orders.flush())
            .context("perf takes no orders")
            .and_then(|()| self.answer());
        said.with_context(|| {
            let text = std::fs::read_to_string(&self.errors).unwrap_or_default();
            format!("perf, told to {order}: {}", text.trim())
        })
    }

    /// `ack` and the end of a line; it may have a zero about it.
    fn answer(&mut self) -> Result<()> {
        let mut byte = [0];
        while byte != *b"\n" {
            let time = Timespec {
                tv_sec: PATIENCE,
                tv_nsec: 0,
            };
            let mut answers = [PollFd::new(&self.answers, PollFlags::IN)];
            ensure!(
                poll(&mut answers, Some(&time))? > 0,
                "no answer in {PATIENCE} s"
            );
            ensure!(self.answers.read(&mut byte)? == 1, "it has ended");
        }
        Ok(())
    }

    /// Ends it in order.
    pub fn end(mut self) -> Result<()> {
        self.order("disable")?;
        self.order("stop")?;
        let status = self.child.wait().context("cannot wait for perf")?;
        ensure!(status.success(), "perf has ended: {status}");
        Ok(())
    }
}
