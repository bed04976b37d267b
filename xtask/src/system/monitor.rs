//! QEMU's monitor (QMP), over a Unix socket: presses keys, and reads the text screen from the
//! machine's memory.

use super::desk::{Desk, Seen, rows};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Where a VGA's text is, and how much of it is looked at.
const TEXT: u64 = 0xb_8000;
const COLUMNS: usize = 80;
const ROWS: usize = 25;
const BYTES: usize = COLUMNS * ROWS * 2;
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(100);
/// How long the monitor may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// The monitor of a running machine.
pub struct Monitor {
    stream: UnixStream,
    answers: BufReader<UnixStream>,
    /// The file for what is read.
    scratch: PathBuf,
}

impl Monitor {
    /// QEMU's arguments for a monitor at this path.
    pub fn arguments(path: &Path) -> [String; 2] {
        let path = path.display();
        ["-qmp".into(), format!("unix:{path},server=on,wait=off")]
    }

    /// Connects, once the machine has started.
    pub fn connect(path: &Path) -> Result<Monitor> {
        let end = Instant::now() + PATIENCE;
        let stream = loop {
            match UnixStream::connect(path) {
                Ok(stream) => break stream,
                Err(error) if Instant::now() >= end => {
                    return Err(error).context("cannot connect to QEMU's monitor");
                }
                Err(_) => sleep(PAUSE),
            }
        };
        stream.set_read_timeout(Some(PATIENCE))?;
        let answers = BufReader::new(stream.try_clone()?);
        let mut monitor = Monitor {
            stream,
            answers,
            scratch: path.with_extension("text"),
        };
        monitor.ask("qmp_capabilities", json!({}))?;
        Ok(monitor)
    }

    fn ask(&mut self, command: &str, arguments: Value) -> Result<()> {
        let request = json!({ "execute": command, "arguments": arguments });
        writeln!(self.stream, "{request}").context("cannot write to QEMU's monitor")?;
        loop {
            let mut line = String::new();
            let read = self.answers.read_line(&mut line);
            if read.context("QEMU's monitor does not answer")? == 0 {
                bail!("QEMU's monitor has closed");
            }
            let answer: Value = serde_json::from_str(&line)?;
            if let Some(error) = answer.get("error") {
                bail!("QEMU's monitor refuses {command}: {error}");
            }
            // The greeting and events are none.
            if answer.get("return").is_some() {
                return Ok(());
            }
        }
    }
}

impl Desk for Monitor {
    fn press(&mut self, keys: &[&str]) -> Result<()> {
        let key = |name: &&str| json!({ "type": "qcode", "data": name });
        let keys: Vec<Value> = keys.iter().map(key).collect();
        self.ask("send-key", json!({ "keys": keys, "hold-time": 20 }))?;
        // Keys that come faster than the keyboard tells them are lost.
        sleep(Duration::from_millis(40));
        Ok(())
    }

    fn look(&mut self) -> Result<Seen> {
        let file = self.scratch.display().to_string();
        let place = json!({ "val": TEXT, "size": BYTES, "filename": file });
        self.ask("pmemsave", place)?;
        let bytes = fs::read(&self.scratch).context("cannot read what QEMU has saved")?;
        fs::remove_file(&self.scratch).ok();
        Ok(Seen {
            rows: rows(&bytes, COLUMNS),
            lights: None,
        })
    }
}
