//! Runs the list on a machine: tests that can share a boot do, so that emulated machines are not
//! started for each test.
//!
//! The script of a shared boot prints a mark before and after every step. A test that is late, or
//! takes the system down, fails alone: the later tests run in a new boot.

use super::expect::{self, Captures};
use super::list::{Body, Expected, Status, Step, Talk, Test};
use super::session::{Ended, Session};
use super::terminal::Terminal;
use super::watchdog;
use crate::lanes;
use crate::machine::{Launch, Machine};
use anyhow::Result;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// The mark before a step; the step's number follows.
const BEGIN: &str = "@@begin ";
/// The mark after a step; its status follows.
const END: &str = "@@end ";
/// The program that makes the kernel check all its records; its status says whether it found a
/// fault.
const SWEEP: &str = "sweep";
/// The factor for times on an emulated machine.
const EMULATED: u32 = 6;
/// How long a system may take to start.
const BOOT: Duration = Duration::from_secs(10);

/// The name of the watchdog's verdict.
const WATCHED_NAME: &str = "the kernel's watchdog";

/// The result of a test.
#[derive(Debug)]
pub struct Verdict {
    /// The test's name.
    pub name: String,
    /// The reason, if it failed.
    pub failure: Option<String>,
    /// How long it took; with a boot, if it has one of its own.
    pub time: Duration,
}

/// A machine ready to run tests.
pub struct Suite<'a> {
    /// The machine.
    pub machine: Machine,
    /// Makes a system that runs a script, or without one converses at a terminal.
    pub boot: &'a (dyn Fn(Option<&str>) -> Result<Launch> + Sync),
    /// Whether each system is watched, and must report how long interrupts have waited for its
    /// kernel.
    pub watched: bool,
    /// Whether the system has the program that checks all records of the kernel, which then ends
    /// each shared boot.
    pub sweeps: bool,
    /// How many systems run at a time, at least one. The tests that share a boot are dealt out among
    /// as many boots.
    pub lanes: usize,
}

/// How many systems of a machine may run at a time that use the host's ports or cards: those of
/// emulated machines are forwarded from ports of their own.
pub fn at_once(machine: Machine) -> usize {
    if machine.is_emulated() {
        lanes::processors()
    } else {
        1
    }
}

/// What one boot is for.
enum Job<'a> {
    Shared(Vec<(&'a Test, &'a [Step])>),
    Alone(&'a Test, &'a Step),
    Talk(&'a Test, &'a [Talk], Status),
}

impl Suite<'_> {
    /// Runs the tests for this machine.
    pub fn run(&self, tests: &[Test]) -> Result<Vec<Verdict>> {
        let machine = self.machine;
        let here = |test: &&Test| {
            let emulated_kinds = machine.is_emulated() && test.machine.as_deref() == Some("pc");
            test.machine.is_none()
                || test.machine.as_deref() == Some(machine.name())
                || emulated_kinds
        };
        // Where a clock runs on while another system has the processor, what is a matter of time runs
        // when nothing else does.
        let (together, calm): (Vec<_>, Vec<_>) = tests
            .iter()
            .filter(here)
            .partition(|test| test.stress || machine.is_emulated());
        let mut verdicts = self.some(&together, self.lanes)?;
        verdicts.extend(self.some(&calm, 1)?);
        verdicts.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(verdicts)
    }

    /// Runs tests, so many systems at a time.
    fn some(&self, tests: &[&Test], lanes: usize) -> Result<Vec<Verdict>> {
        let machine = self.machine;
        let mut shared = vec![Vec::new(); lanes];
        let mut next = (0..lanes).cycle();
        let mut single = Vec::new();
        for &test in tests {
            match &test.body {
                Body::Shared(steps) => {
                    let lane = next.next().unwrap_or_default();
                    shared[lane].push((test, steps.as_slice()));
                }
                Body::Alone(step) => single.push(Job::Alone(test, step)),
                // QEMU's terminal is its own, but the conversation with the system is the same.
                Body::Terminal(..) if machine.is_emulated() => {}
                Body::Terminal(talks, status) => single.push(Job::Talk(test, talks, *status)),
            }
        }
        // The longest first, so that no lane begins it when the others are done.
        shared.retain(|tests| !tests.is_empty());
        let jobs = shared.into_iter().map(Job::Shared).chain(single);
        let done = lanes::each(lanes, jobs, |job| self.job(job));
        let done: Result<Vec<_>> = done.into_iter().collect();
        Ok(done?.into_iter().flatten().collect())
    }

    fn job(&self, job: Job) -> Result<Vec<Verdict>> {
        let mut shared = match job {
            Job::Alone(test, step) => {
                let begun = Instant::now();
                return Ok(vec![verdict(test, self.alone(test, step)?, begun)]);
            }
            Job::Talk(test, talks, status) => {
                let begun = Instant::now();
                return Ok(vec![verdict(test, self.talk(test, talks, status)?, begun)]);
            }
            Job::Shared(tests) => tests,
        };
        let mut verdicts = Vec::new();
        while !shared.is_empty() {
            let (done, mut ends) = self.boot_shared(&shared)?;
            self.watch_again(&shared, &mut ends)?;
            shared.drain(..done.len());
            verdicts.extend(done);
            verdicts.extend(ends);
        }
        Ok(verdicts)
    }

    /// Judges a watched system by its last line, which it takes out of the output.
    fn judge_watch(&self, output: &mut String) -> Result<(), String> {
        if self.watched {
            watchdog::judge(output)
        } else {
            Ok(())
        }
    }

    /// Boots again with these tests, which have all been reached, if interrupts have waited too
    /// long.
    fn watch_again(&self, tests: &[(&Test, &[Step])], ends: &mut [Verdict]) -> Result<()> {
        let Some(watched) = ends.iter_mut().find(|end| end.name == WATCHED_NAME) else {
            return Ok(());
        };
        for _ in 1..watchdog::watchings(self.machine) {
            if watched.failure.is_none() {
                break;
            }
            let (_, again) = self.boot_shared(tests)?;
            if let Some(again) = again.into_iter().find(|end| end.name == WATCHED_NAME) {
                *watched = again;
            }
        }
        Ok(())
    }

    fn patience(&self, time: Duration) -> Duration {
        if self.machine.is_emulated() {
            time * EMULATED
        } else {
            time
        }
    }

    /// Runs a test in a boot of its own.
    fn alone(&self, test: &Test, step: &Step) -> Result<Result<(), String>> {
        let mut watchings = watchdog::watchings(self.machine);
        loop {
            let (judged, watched) = self.alone_once(test, step)?;
            watchings -= 1;
            if judged.is_err() || watched.is_ok() || watchings == 0 {
                return Ok(judged.and(watched));
            }
        }
    }

    /// Runs it once: the verdicts on its output and on how long interrupts have waited.
    #[allow(clippy::type_complexity, reason = "two verdicts")]
    fn alone_once(
        &self,
        test: &Test,
        step: &Step,
    ) -> Result<(Result<(), String>, Result<(), String>)> {
        let session = Session::start((self.boot)(Some(&step.command))?)?;
        let deadline = Instant::now() + self.patience(BOOT + test.timeout);
        let (mut output, ended) = session.finish(deadline);
        let watchdog = self.judge_watch(&mut output);
        let judged = match ended {
            Ok(Some(status)) => judge(step, &output, status, &mut Captures::new()),
            Ok(None) => Err(report(
                step,
                &output,
                "the system ended without an exit status",
            )),
            Err(_) => Err(report(step, &output, "not done in time")),
        };
        Ok((
            judged,
            watchdog.map_err(|reason| report(step, &output, &reason)),
        ))
    }

    /// Has a conversation.
    fn talk(&self, test: &Test, talks: &[Talk], wanted: Status) -> Result<Result<(), String>> {
        let mut terminal = Terminal::start((self.boot)(None)?)?;
        let mut patience = BOOT;
        for (number, talk) in talks.iter().enumerate() {
            match talk {
                Talk::Send(keys) => terminal.send(keys)?,
                Talk::Pause(time) => std::thread::sleep(*time),
                Talk::Reads(rate) => terminal.read_at(*rate),
                Talk::Size(columns, rows) => terminal.resize(*columns, *rows)?,
                Talk::Wait(pattern) => {
                    if let Err(reason) = terminal.wait(pattern, Instant::now() + patience) {
                        return Ok(Err(format!("part {}: {reason}", number + 1)));
                    }
                }
            }
            patience = test.timeout;
        }
        let status = terminal.finish(Instant::now() + test.timeout);
        Ok(match status {
            Some(status) if wanted.accepts(status) => Ok(()),
            Some(status) => Err(format!("status {status}, expected {wanted:?}")),
            None => Err("the system did not end in time".into()),
        })
    }

    /// Runs tests in one boot until its end; returns the verdicts on the tests that it has reached,
    /// at least one, and, if it reached the end, those on the kernel's records and on how long
    /// interrupts have waited.
    fn boot_shared(&self, tests: &[(&Test, &[Step])]) -> Result<(Vec<Verdict>, Vec<Verdict>)> {
        let mut ends = Vec::new();
        let mut session = Session::start((self.boot)(Some(&self.script(tests)))?)?;
        let mut deadline = Instant::now() + self.patience(BOOT);
        let mut verdicts = Vec::new();
        for (test, steps) in tests {
            let begun = Instant::now();
            let mut captures = Captures::new();
            let mut failure = None;
            let mut lost = false;
            for step in *steps {
                match self.step(&mut session, &mut deadline, test.timeout) {
                    Ok((output, status)) => {
                        if let Err(reason) = judge(step, &output, status, &mut captures) {
                            failure.get_or_insert(reason);
                        }
                    }
                    Err((ended, output)) => {
                        let reason = match ended {
                            Ended::Late => "not done in time",
                            Ended::Gone => "the system ended",
                        };
                        failure = Some(report(step, &output, reason));
                        lost = true;
                        break;
                    }
                }
            }
            verdicts.push(Verdict {
                name: test.name.clone(),
                failure,
                time: begun.elapsed(),
            });
            if lost {
                return Ok((verdicts, ends));
            }
        }
        if self.sweeps {
            let begun = Instant::now();
            let failure = match self.step(&mut session, &mut deadline, BOOT) {
                Ok((_, 0)) => None,
                Ok((output, _)) => Some(output),
                Err((_, output)) => Some(format!("the system ended, or was late\n{output}")),
            };
            ends.push(Verdict {
                name: SWEEP.to_string(),
                failure,
                time: begun.elapsed(),
            });
        }
        if self.watched {
            let begun = Instant::now();
            let (mut output, _) = session.finish(Instant::now() + self.patience(BOOT));
            let failure = self.judge_watch(&mut output).err();
            ends.push(Verdict {
                name: WATCHED_NAME.to_string(),
                failure,
                time: begun.elapsed(),
            });
        }
        Ok((verdicts, ends))
    }

    /// The script of a shared boot.
    fn script(&self, tests: &[(&Test, &[Step])]) -> String {
        let mut script = String::new();
        let mut add = |name: &str, number: usize, command: &str| {
            let _ = writeln!(
                script,
                "echo {BEGIN}{name}.{number}\n{command}\necho {END}$?"
            );
        };
        for (test, steps) in tests {
            for (number, step) in steps.iter().enumerate() {
                add(&test.name, number, &step.command);
            }
        }
        if self.sweeps {
            add(SWEEP, 0, SWEEP);
        }
        script.push_str("shutdown\n");
        script
    }

    /// Reads what one step prints, and its status.
    fn step(
        &self,
        session: &mut Session,
        deadline: &mut Instant,
        timeout: Duration,
    ) -> Result<(String, i32), (Ended, String)> {
        let mut output = String::new();
        let mut begun = false;
        loop {
            let line = match session.line(*deadline) {
                Ok(line) => line,
                Err(ended) => return Err((ended, output)),
            };
            if line.starts_with(BEGIN) {
                begun = true;
                output.clear();
                *deadline = Instant::now() + self.patience(timeout);
            } else if let (true, Some((before, status))) = (begun, line.split_once(END)) {
                // Output without a line end of its own precedes the mark.
                if !before.is_empty() {
                    let _ = writeln!(output, "{before}");
                }
                *deadline = Instant::now() + self.patience(BOOT);
                let status = status
                    .trim()
                    .parse()
                    .map_err(|_| (Ended::Gone, output.clone()))?;
                return Ok((output, status));
            } else {
                let _ = writeln!(output, "{line}");
            }
        }
    }
}

fn verdict(test: &Test, result: Result<(), String>, begun: Instant) -> Verdict {
    Verdict {
        name: test.name.clone(),
        failure: result.err(),
        time: begun.elapsed(),
    }
}

/// Compares a step's output and status with what is expected.
fn judge(step: &Step, output: &str, status: i32, captures: &mut Captures) -> Result<(), String> {
    if let Err(reason) = expect::check(&step.output, output, captures) {
        return Err(report(step, output, &format!("{reason} (status {status})")));
    }
    if !step.status.accepts(status) {
        return Err(report(
            step,
            output,
            &format!("status {status}, expected {:?}", step.status),
        ));
    }
    Ok(())
}

/// A failure with all information on its cause.
fn report(step: &Step, output: &str, reason: &str) -> String {
    let mut text = format!("$ {}\n  {reason}\n", step.command.replace('\n', "\n$ "));
    for line in output.lines() {
        let _ = writeln!(text, "  | {line}");
    }
    if step
        .output
        .iter()
        .any(|e| matches!(e, Expected::Line(_) | Expected::Matches(_)))
    {
        for expected in &step.output {
            let _ = match expected {
                Expected::Any => writeln!(text, "  expected: ..."),
                Expected::Line(line) => writeln!(text, "  expected: {line}"),
                Expected::Matches(line) => writeln!(text, "  expected: ~ {line}"),
                Expected::Somewhere(line) => writeln!(text, "  expected: & {line}"),
                Expected::Nowhere(line) => writeln!(text, "  expected: ! {line}"),
            };
        }
    }
    text
}

#[cfg(test)]
mod tests;
