//! One boot of the system under test: its console is read as it comes, with deadlines.

use anyhow::{Context, Result};
use std::io::Read;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::machine::Launch;

/// Why a wait failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The time was over.
    Late,
    /// The system has ended, or closed its console.
    Gone,
}

/// The most bytes that are kept unread: a system may print for hours.
const KEPT: usize = 1 << 20;

/// A running system.
pub struct Session {
    launch: Launch,
    child: Child,
    chunks: Receiver<Vec<u8>>,
    received: Vec<u8>,
    taken: usize,
}

impl Session {
    /// Starts a system; its standard output and error arrive as one stream, in order.
    pub fn start(launch: Launch) -> Result<Session> {
        Session::with_input(launch, Stdio::null())
    }

    /// The same with a standard input, such as the reading end of a pipe.
    pub fn with_input(launch: Launch, input: impl Into<Stdio>) -> Result<Session> {
        Session::begin(launch, input.into(), Duration::ZERO)
    }

    /// Starts a system whose reader first sleeps for a while.
    pub fn with_late_reader(launch: Launch, sleep: Duration) -> Result<Session> {
        Session::begin(launch, Stdio::null(), sleep)
    }

    fn begin(mut launch: Launch, input: Stdio, sleep: Duration) -> Result<Session> {
        let (mut reader, writer) = std::io::pipe().context("cannot make a pipe")?;
        let command = &mut launch.command;
        command.stdin(input);
        command
            .stdout(writer.try_clone().context("cannot copy a pipe")?)
            .stderr(writer);
        let child = command
            .spawn()
            .with_context(|| format!("cannot start {}", command.get_program().to_string_lossy()))?;
        // The command keeps the pipe's writing ends; without dropping them, the end of output never
        // arrives.
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let (sender, chunks) = channel();
        std::thread::spawn(move || {
            std::thread::sleep(sleep);
            let mut buffer = [0; 16384];
            while let Ok(n @ 1..) = reader.read(&mut buffer) {
                if sender.send(buffer[..n].to_vec()).is_err() {
                    break;
                }
            }
        });
        Ok(Session {
            launch,
            child,
            chunks,
            received: Vec::new(),
            taken: 0,
        })
    }

    /// Its process's number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the next whole line, without its end.
    pub fn line(&mut self, deadline: Instant) -> Result<String, Ended> {
        loop {
            let rest = &self.received[self.taken..];
            if let Some(end) = rest.iter().position(|b| *b == b'\n') {
                let line = String::from_utf8_lossy(&rest[..end])
                    .trim_end_matches('\r')
                    .to_string();
                self.taken += end + 1;
                if self.taken > KEPT {
                    self.received.drain(..self.taken);
                    self.taken = 0;
                }
                return Ok(line);
            }
            self.receive(deadline)?;
        }
    }

    /// Waits for more output.
    fn receive(&mut self, deadline: Instant) -> Result<(), Ended> {
        let left = deadline.saturating_duration_since(Instant::now());
        match self.chunks.recv_timeout(left) {
            Ok(chunk) => {
                self.received.extend_from_slice(&chunk);
                Ok(())
            }
            Err(RecvTimeoutError::Timeout) => Err(Ended::Late),
            Err(RecvTimeoutError::Disconnected) => Err(Ended::Gone),
        }
    }

    /// Waits for the system's end; returns the unread output and the exit status. Past the
    /// deadline, kills the system.
    pub fn finish(mut self, deadline: Instant) -> (String, Result<Option<i32>, Ended>) {
        let late = loop {
            match self.receive(deadline) {
                Ok(()) => {}
                Err(Ended::Gone) => break false,
                Err(Ended::Late) => break true,
            }
        };
        let rest = String::from_utf8_lossy(&self.received[self.taken..]).replace('\r', "");
        if late {
            return (rest, Err(Ended::Late));
        }
        let status = wait(&mut self.child, deadline).map(|status| self.launch.status(status));
        (rest, status.ok_or(Ended::Late))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Usually the process has ended; then both calls fail, which is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits for a process's end until the deadline.
pub fn wait(child: &mut Child, deadline: Instant) -> Option<ExitStatus> {
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        if Instant::now() >= deadline {
            return None;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}
