//! A session: the shell's state, and what runs in it.

use crate::builtins::{self, Builtin};
use crate::console::{Console, Read};
use crate::pipeline::{self, Job};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use shell::parse::{self, Pipeline, When};
use sing_sdk::Error;
use sing_sdk::io::Writer;
use sing_sdk::names::Names;
use sing_sdk::process::Exit;
use sing_sdk::time;

/// The status of a command that is not there, as in other shells.
pub const UNKNOWN: i32 = 127;
/// The status of a job that was ended by Ctrl-C.
pub const INTERRUPTED: i32 = 130;

/// The shell's state.
pub struct Session {
    pub console: Console,
    pub names: Names,
    /// Where the shell itself prints.
    out: Writer,
    /// The last status.
    pub status: i32,
    /// Jobs in the background, by number.
    pub jobs: Vec<(u32, Job)>,
    /// Set by `shutdown`: the session ends with this status.
    pub ending: Option<i32>,
    /// Set by Ctrl-C: what is left of the line is not run.
    pub interrupted: bool,
}

impl Session {
    /// Begins.
    pub fn new(mut console: Console, names: Names) -> Result<Session, Error> {
        let out = Writer::new(console.show()?);
        Ok(Session {
            console,
            names,
            out,
            status: 0,
            jobs: Vec::new(),
            ending: None,
            interrupted: false,
        })
    }

    /// Prints a line.
    pub fn say(&mut self, text: &str) {
        // Without a console there is nobody to tell.
        let _ = self.out.write(format!("{text}\n").as_bytes());
    }

    /// Prints what went wrong, and makes it the last status.
    pub fn fail(&mut self, status: i32, text: &str) {
        self.say(text);
        self.status = status;
    }

    /// Reads and runs commands until the input ends.
    pub fn interact(&mut self) {
        if self.console.is_terminal() {
            self.say("Singularity. `help` says what there is.");
        }
        while self.ending.is_none() {
            self.reap();
            match self.console.read_line("> ") {
                Ok(Read::Line(line)) => self.run(&line),
                Ok(Read::Interrupted) => self.status = INTERRUPTED,
                Ok(Read::End) | Err(_) => return,
            }
        }
    }

    /// Runs the commands in a file of the name space.
    pub fn script(&mut self, path: &str) {
        let text = self
            .names
            .open(path)
            .and_then(|mut file| file.read_to_end());
        match text.map(String::from_utf8) {
            Ok(Ok(text)) => self.run(&text),
            Ok(Err(_)) => self.fail(2, &format!("{path}: not a text")),
            Err(e) => self.fail(2, &format!("{path}: {e}")),
        }
    }

    /// Runs commands.
    pub fn run(&mut self, text: &str) {
        let pipelines = match parse::parse(text) {
            Ok(pipelines) => pipelines,
            Err(e) => return self.fail(2, &e.to_string()),
        };
        for pipeline in pipelines {
            let due = match pipeline.when {
                When::Always => true,
                When::And => self.status == 0,
                When::Or => self.status != 0,
            };
            if due {
                self.status = self.pipeline(&pipeline);
            }
            if self.ending.is_some() || core::mem::take(&mut self.interrupted) {
                return;
            }
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline) -> i32 {
        let expand = |c: &parse::Command| c.iter().map(|w| w.expand(self.status)).collect();
        let commands: Vec<Vec<String>> = pipeline.commands.iter().map(expand).collect();
        self.commands(commands, pipeline.background)
    }

    /// Runs commands connected by pipes; their status.
    fn commands(&mut self, mut commands: Vec<Vec<String>>, background: bool) -> i32 {
        let first = &mut commands[0];
        match first[0].as_str() {
            "time" if first.len() > 1 => {
                first.remove(0);
                let start = time::uptime();
                let status = self.commands(commands, background);
                let took = time::uptime().saturating_sub(start);
                self.say(&format!("real {took:.1?}"));
                status
            }
            "trace"
                if first
                    .get(1)
                    .is_some_and(|word| word.parse::<f64>().is_err()) =>
            {
                first.remove(0);
                match pipeline::Tracer::start(self) {
                    Ok(tracer) => {
                        let status = self.commands(commands, background);
                        tracer.finish();
                        status
                    }
                    Err(failed) => self.report(&failed),
                }
            }
            _ => self.start(commands, background),
        }
    }

    fn start(&mut self, commands: Vec<Vec<String>>, background: bool) -> i32 {
        let text = commands
            .iter()
            .map(|c| c.join(" "))
            .collect::<Vec<_>>()
            .join(" | ");
        // Where one command is the shell's own, nothing has to be started.
        if let [command] = &commands[..]
            && let Some(builtin) = builtins::find(&command[0])
        {
            return self.builtin(builtin, command, None);
        }
        let started = match pipeline::start(self, &commands, background) {
            Ok(started) => started,
            Err(failed) => return self.report(&failed),
        };
        let mut status = 0;
        for (builtin, command, out) in started.builtins {
            status = self.builtin(builtin, command, out);
        }
        let mut job = started.job;
        job.text = text;
        if background {
            let number = self.jobs.iter().map(|(n, _)| n + 1).max().unwrap_or(1);
            let ids: Vec<String> = job.ids().map(|id| id.to_string()).collect();
            self.say(&format!("[{number}] {}", ids.join(" ")));
            self.jobs.push((number, job));
            return 0;
        }
        let mut foreground = started.foreground;
        let ended = job.wait(&mut foreground);
        // What the job printed comes before what is said about it.
        let _ = self.console.flush();
        for (name, exit) in &ended {
            match exit {
                Exit::Trapped(_) => self.say(&format!("{name}: {exit}")),
                Exit::Stopped(INTERRUPTED) => self.interrupted = true,
                _ => {}
            }
        }
        match ended.last() {
            Some((_, exit)) if started.last_is_program => exit.status(),
            _ => status,
        }
    }

    fn builtin(&mut self, builtin: Builtin, words: &[String], out: Option<Writer>) -> i32 {
        let mut text = String::new();
        let status = builtin(self, &words[1..], &mut text);
        // Nobody need read what a command of the shell prints.
        let _ = match out {
            Some(mut out) => out.write(text.as_bytes()).and_then(|()| out.settle()),
            None => self.out.write(text.as_bytes()),
        };
        status
    }

    fn report(&mut self, failed: &pipeline::Failed) -> i32 {
        let name = &failed.program;
        self.say(&match failed.error {
            Error::NotFound => format!("{name}: no such program; `help` lists what there is"),
            e => format!("{name}: {e}"),
        });
        match failed.error {
            Error::NotFound => UNKNOWN,
            _ => 126,
        }
    }

    /// Tells of jobs in the background that have ended.
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

    /// Ends; the status that the system ends with.
    pub fn finish(mut self) -> i32 {
        let _ = self.out.settle();
        let _ = self.console.flush();
        self.ending.unwrap_or(self.status)
    }
}
