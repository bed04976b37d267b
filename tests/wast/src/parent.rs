//! Runs every script in a child of its own, and adds up the children's reports.

use crate::arguments::{CHILD, mode_name};
use crate::protocol::{Event, Outcome};
use sing_image::meta::MemoryMode;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;
use std::{env, fs, io, thread};

/// How long a child may be silent.
const PATIENCE: Duration = Duration::from_secs(180);

/// The result of one file, or of all.
#[derive(Default)]
struct Tally {
    passed: usize,
    failures: Vec<String>,
    skipped: BTreeMap<String, usize>,
}

impl Tally {
    fn add(&mut self, other: Tally) {
        self.passed += other.passed;
        self.failures.extend(other.failures);
        for (name, count) in other.skipped {
            *self.skipped.entry(name).or_default() += count;
        }
    }

    fn skipped(&self) -> usize {
        self.skipped.values().sum()
    }
}

/// Runs the scripts at these paths; the exit code says whether any failed.
pub fn run(paths: &[PathBuf], modes: &[MemoryMode], verbose: bool) -> ExitCode {
    let mut total = Tally::default();
    let mut files = Vec::new();
    for path in paths {
        if let Err(e) = collect(path, &mut files) {
            total
                .failures
                .push(format!("{}: cannot be read: {e}", path.display()));
        }
    }
    let jobs: Vec<(&Path, MemoryMode)> = files
        .iter()
        .flat_map(|f| modes.iter().map(move |m| (f.as_path(), *m)))
        .collect();
    let results = run_all(&jobs);
    for ((file, mode), tally) in jobs.iter().zip(results) {
        if verbose {
            let (mode, failed) = (mode_name(*mode), tally.failures.len());
            let (passed, skipped) = (tally.passed, tally.skipped());
            println!(
                "{} [{mode}]: {passed} passed, {failed} failed, {skipped} skipped",
                file.display()
            );
        }
        total.add(tally);
    }
    for failure in &total.failures {
        println!("{failure}");
    }
    for (name, count) in &total.skipped {
        println!("skipped {count}: {name}");
    }
    let (passed, failed, skipped) = (total.passed, total.failures.len(), total.skipped());
    println!("{passed} passed, {failed} failed, {skipped} skipped");
    if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// The scripts at a path: itself, or those in the directory and below.
fn collect(path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if !fs::metadata(path)?.is_dir() {
        files.push(path.into());
        return Ok(());
    }
    let mut entries = fs::read_dir(path)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(|e| e.file_name());
    for entry in entries {
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|e| e == "wast") {
            files.push(path);
        }
    }
    Ok(())
}

/// Runs all jobs, as many at a time as there are processors; the results in the jobs' order.
fn run_all(jobs: &[(&Path, MemoryMode)]) -> Vec<Tally> {
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Tally>> = jobs.iter().map(|_| Mutex::default()).collect();
    let workers = thread::available_parallelism()
        .map_or(1, usize::from)
        .min(jobs.len());
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some((i, job)) =
                    Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|i| Some((i, jobs.get(i)?)))
                {
                    let tally = run_one(job.0, job.1);
                    *results[i].lock().unwrap_or_else(|e| e.into_inner()) = tally;
                }
            });
        }
    });
    results
        .into_iter()
        .map(|r| r.into_inner().unwrap_or_else(|e| e.into_inner()))
        .collect()
}

fn spawn(file: &Path, mode: MemoryMode) -> io::Result<Child> {
    Command::new(env::current_exe()?)
        .args([&format!("--{CHILD}"), "--memory", mode_name(mode), "--"])
        .arg(file)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
}

fn run_one(file: &Path, mode: MemoryMode) -> Tally {
    let mut tally = Tally::default();
    let mut line = 1;
    let (name, mode_name) = (file.display(), mode_name(mode));
    let failure = |line: usize, message: &str| format!("{name}:{line}: {message} [{mode_name}]");
    let mut child = match spawn(file, mode) {
        Ok(child) => child,
        Err(e) => {
            tally
                .failures
                .push(failure(line, &format!("no process to run it: {e}")));
            return tally;
        }
    };
    let events = listen(&mut child);
    let mut finished = false;
    let silent = loop {
        match events.recv_timeout(PATIENCE) {
            Ok(Event::Begin(at)) => line = at,
            Ok(Event::End(Outcome::Passed)) => tally.passed += 1,
            Ok(Event::End(Outcome::Skipped(name))) => *tally.skipped.entry(name).or_default() += 1,
            Ok(Event::End(Outcome::Failed(message))) => {
                tally.failures.push(failure(line, &message))
            }
            Ok(Event::Finished) => finished = true,
            Err(RecvTimeoutError::Timeout) => break true,
            Err(RecvTimeoutError::Disconnected) => break false,
        }
    };
    if silent {
        // It may have ended just now; then there is nothing to kill.
        let _ = child.kill();
    }
    let status = child.wait();
    if silent {
        let message = format!(
            "nothing happened for {} s; the rest of the file was not run",
            PATIENCE.as_secs()
        );
        tally.failures.push(failure(line, &message));
    } else if !finished {
        tally.failures.push(failure(
            line,
            &format!("{}; the rest of the file was not run", ending(status)),
        ));
    }
    tally
}

/// Reads a child's reports.
fn listen(child: &mut Child) -> mpsc::Receiver<Event> {
    let (send, receive) = mpsc::channel();
    if let Some(out) = child.stdout.take() {
        thread::spawn(move || {
            let mut out = BufReader::new(out);
            let mut line = Vec::new();
            while out.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
                let event = Event::parse(String::from_utf8_lossy(&line).trim_end_matches('\n'));
                line.clear();
                if event.is_some_and(|e| send.send(e).is_err()) {
                    break;
                }
            }
        });
    }
    receive
}

fn ending(status: io::Result<ExitStatus>) -> String {
    match status {
        Ok(status) => format!("the process that ran it ended with {status}"),
        Err(e) => format!("the process that ran it is lost: {e}"),
    }
}
