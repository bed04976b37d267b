//! Jobs: waiting for the one in the foreground, and those in the background or suspended.
//!
//! Ctrl-Z suspends all processes of the job in the foreground, and what they have started. The
//! console keeps the job's input meanwhile, so that what it reads goes on where it was.

use crate::pipeline::{Ended, Job, Waited};
use crate::session::Session;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use sing_sdk::contracts::JobContract;
use sing_sdk::io::NOBODY_READS;
use sing_sdk::process::{Exit, stop};

/// The status of a command that was suspended, as in other shells: it has not ended.
pub const SUSPENDED: i32 = 148;

type Foreground = Option<JobContract::Exp<JobContract::Start>>;

/// Arguments of commands that choose a job.
mod chosen {
    sing_sdk::arguments! {
        /// The job, by its number; the last one that is suspended, or else the last one, if left out.
        job: optional u32 "JOB";
    }
}

pub use chosen::{Arguments, USAGE};

impl Session {
    /// Keeps a job that is not in the foreground, with this number or a new one; returns the number.
    pub fn put_aside(&mut self, number: Option<u32>, job: Job) -> u32 {
        let next = || self.jobs.iter().map(|(n, _)| n + 1).max().unwrap_or(1);
        let number = number.unwrap_or_else(next);
        self.jobs.push((number, job));
        self.jobs.sort_by_key(|(number, _)| *number);
        number
    }

    /// Waits for a job in the foreground, and says how it has ended; returns its status.
    pub fn attend(&mut self, number: Option<u32>, job: Job, mut foreground: Foreground) -> i32 {
        let (files, own) = (job.files.clone(), job.own);
        let Ended {
            stages: ended,
            beside,
        } = match job.wait(&mut foreground) {
            Waited::Ended(ended) => ended,
            Waited::Suspended(job) => {
                self.suspended(number, job);
                return SUSPENDED;
            }
        };
        // The job's output comes before the report on its end.
        let _ = self.console.flush();
        for (name, exit) in ended.iter().chain(&beside) {
            match exit {
                Exit::Stopped(stop::INTERRUPTED) => self.interrupted = true,
                Exit::Code(code) if exit.status() == *code => {}
                // A status that is not a program's own exit code is shown in words.
                exit => self.say(&format!("{name}: {exit}")),
            }
        }
        let (failed, ended) = files.outcome(&ended);
        let statuses = beside.iter().map(|(_, exit)| exit.status());
        let failed = failed.or(statuses
            .into_iter()
            .find(|s| ![0, NOBODY_READS].contains(s)));
        match (failed, own, ended.last()) {
            (Some(status), ..) | (None, Some(status), _) => status,
            (None, None, Some((_, exit))) => exit.status(),
            (None, None, None) => 0,
        }
    }

    /// Keeps a job that was suspended; the rest of the line is not run.
    fn suspended(&mut self, number: Option<u32>, job: Job) {
        let text = job.text.clone();
        let number = self.put_aside(number, job);
        self.interrupted = true;
        self.say(&format!("[{number}] suspended: {text}"));
    }

    /// Reports jobs in the background that have ended.
    pub fn reap(&mut self) {
        let (ended, running) = core::mem::take(&mut self.jobs)
            .into_iter()
            .partition(|(_, job)| job.has_ended());
        self.jobs = running;
        for (number, job) in ended {
            let how = job
                .exits()
                .last()
                .map_or_else(String::new, |exit| format!("{exit}"));
            let text = format!("[{number}] {how}: {}", job.text);
            self.say(&text);
        }
    }

    /// Takes a job out of the list: that with a number, or the last one.
    fn take_job(&mut self, number: Option<u32>) -> Result<(u32, Job), String> {
        let place = match number {
            Some(number) => self.jobs.iter().position(|(n, _)| *n == number),
            None => {
                let suspended = self.jobs.iter().rposition(|(_, job)| job.is_suspended());
                suspended.or(self.jobs.len().checked_sub(1))
            }
        };
        match (place, number) {
            (Some(place), _) => Ok(self.jobs.remove(place)),
            (None, Some(number)) => Err(format!("there is no job {number}; `jobs` lists them")),
            (None, None) => Err("there are no jobs".into()),
        }
    }

    /// Puts a job into the foreground, and waits for it.
    pub fn put_in_foreground(&mut self, number: Option<u32>, out: &mut String) -> i32 {
        let (number, mut job) = match self.take_job(number) {
            Ok(job) => job,
            Err(reason) => return refuse("fg", &reason, out),
        };
        self.say(&job.text);
        let keys = job.takes_keys();
        let held = job.take_held().filter(|held| !held.told.is_ready());
        let told = held.and_then(|held| {
            let told = held.told.send_resumed();
            self.console.again(held.number).ok()?;
            (!told.is_ready()).then_some(told)
        });
        // Of one that was started in the background, the console knows nothing; nor does another
        // console of those before. Such a job has no input, and Ctrl-C ends it as others.
        let told = told.or_else(|| self.console.foreground(keys).ok().map(|f| f.job));
        job.resume();
        self.attend(Some(number), job, told)
    }

    /// Lets a job go on in the background.
    pub fn put_in_background(&mut self, number: Option<u32>, out: &mut String) -> i32 {
        let (number, mut job) = match self.take_job(number) {
            Ok(job) => job,
            Err(reason) => return refuse("bg", &reason, out),
        };
        let was_suspended = job.is_suspended();
        job.resume();
        let text = job.text.clone();
        self.put_aside(Some(number), job);
        if !was_suspended {
            return refuse("bg", &format!("job {number} runs already"), out);
        }
        out.push_str(&format!("[{number}] goes on: {text}\n"));
        0
    }

    /// Waits for all jobs that run; returns the status of the last.
    pub fn wait_for_jobs(&mut self, mut foreground: Foreground) -> (i32, Foreground) {
        let mut status = 0;
        let (suspended, running): (Vec<_>, Vec<_>) = core::mem::take(&mut self.jobs)
            .into_iter()
            .partition(|(_, job)| job.is_suspended());
        self.jobs = suspended;
        let mut running = running.into_iter();
        for (number, job) in running.by_ref() {
            let text = job.text.clone();
            match job.wait(&mut foreground) {
                Waited::Ended(ended) => {
                    if let Some((_, exit)) = ended.stages.last() {
                        status = exit.status();
                        self.interrupted |= *exit == Exit::Stopped(stop::INTERRUPTED);
                        self.say(&format!("[{number}] {exit}: {text}"));
                    }
                }
                Waited::Suspended(job) => {
                    self.suspended(Some(number), job);
                    status = SUSPENDED;
                    break;
                }
            }
        }
        for (number, job) in running {
            self.put_aside(Some(number), job);
        }
        (status, foreground)
    }

    /// The jobs, one a line.
    pub fn list_jobs(&self, out: &mut String) {
        for (number, job) in &self.jobs {
            let ids: Vec<String> = job.ids().map(|id| id.to_string()).collect();
            let state = match (job.has_ended(), job.is_suspended()) {
                (true, _) => "ended",
                (false, true) => "suspended",
                (false, false) => "runs",
            };
            let ids = ids.join(" ");
            out.push_str(&format!("[{number}] {ids} {state}: {}\n", job.text));
        }
    }
}

fn refuse(command: &str, reason: &str, out: &mut String) -> i32 {
    out.push_str(&format!("{command}: {reason}\n"));
    1
}
