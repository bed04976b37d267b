//! A session: the shell's state, and its jobs.

use crate::complete;
use crate::console::{Console, Read};
use crate::files::{Errors, Files, Stage};
use crate::pipeline::{self, Job, Out};
use crate::words::{self, Doer};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use core::cell::Cell;
use core::time::Duration;
use shell::parse::{self, Meaningless, Pipeline, When};
use shell::paths;
use shell::variables::Variables;
use sing_sdk::Error;
use sing_sdk::contracts::JobContract;
use sing_sdk::fs::{self, Directory};
use sing_sdk::io::Writer;
use sing_sdk::names::Names;
use sing_sdk::process::{self, NotMade, status, stop};
use sing_sdk::rt::Vector;
use sing_sdk::thread;
use sing_sdk::time;

/// How long the shell waits for memory before it tries again.
pub const RETRY: Duration = Duration::from_millis(100);

/// How long the shell waits for names that services register when they start, in all.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a disk may take when the system ends.
const SETTLE: Duration = Duration::from_secs(10);
/// Between two looks for a name, first and at most.
const FIRST_LOOK: Duration = Duration::from_micros(500);
const LOOK: Duration = Duration::from_millis(10);

/// The shell's state.
pub struct Session {
    pub console: Console,
    pub names: Names,
    /// The shell's own output.
    out: Writer,
    /// What stands for `$` in words, the last status among it.
    pub variables: Variables,
    /// Where words that are paths begin, and the directory before it.
    pub directory: String,
    pub left: String,
    /// Jobs in the background, and those that are suspended, by number.
    pub jobs: Vec<(u32, Job)>,
    /// Set by `shutdown`: the session ends with this status.
    pub ending: Option<i32>,
    /// The channel over which the console interrupts the job in the foreground, while built-in
    /// commands run as its part.
    pub foreground: Option<JobContract::Exp<JobContract::Start>>,
    /// Set by Ctrl-C: the rest of the line is not run.
    pub interrupted: bool,
}

/// Whether a program is a service whose clients somebody must announce to it.
fn is_managed(image: &str) -> bool {
    process::manifest(image).is_ok_and(|m| m.serves.iter().any(|s| !s.registers_itself()))
}

/// A word before a command that applies to it.
enum Around {
    /// Reports how long the command takes, from this time on.
    Time(Duration),
    /// Traces the command.
    Trace(pipeline::Tracer),
}

impl Session {
    /// Begins.
    pub fn new(mut console: Console, names: Names) -> Result<Session, Error> {
        let out = Writer::new(console.show()?);
        Ok(Session {
            console,
            names,
            out,
            variables: Variables::default(),
            directory: paths::ROOT.into(),
            left: paths::ROOT.into(),
            jobs: Vec::new(),
            ending: None,
            foreground: None,
            interrupted: false,
        })
    }

    /// Waits until there is something at each path; at `/`, a file system. What does not come is not
    /// an error: whoever was to serve it has said why, and the commands will.
    pub fn wait_for<'a>(&mut self, paths: impl Iterator<Item = &'a str>) {
        let until = time::uptime() + PATIENCE;
        let mut wait = FIRST_LOOK;
        for path in paths {
            while !self.is_there(path) && time::uptime() < until {
                thread::sleep(wait);
                wait = (wait * 2).min(LOOK);
            }
        }
    }

    fn is_there(&mut self, path: &str) -> bool {
        match path {
            // The name server's own, which a file system is mounted over.
            "/" => Directory::open(&mut self.names, path).is_ok(),
            _ => self.names.find(path).is_ok(),
        }
    }

    /// Prints a line.
    pub fn say(&mut self, text: &str) {
        // Without a console there is no reader; without memory, the log takes nothing either.
        if let Err(Error::NoResources) = self.out.write(format!("{text}\n").as_bytes()) {
            sing_sdk::log!("{text}");
        }
    }

    /// Prints an error, and makes it the last status.
    pub fn fail(&mut self, status: i32, text: &str) {
        self.say(text);
        self.variables.status = status;
    }

    /// The last status.
    pub fn status(&self) -> i32 {
        self.variables.status
    }

    /// Reads and runs commands until the input ends.
    pub fn interact(&mut self) {
        if self.console.is_terminal() {
            self.say("Singularity. `help` says what there is.");
        }
        while self.ending.is_none() {
            self.reap();
            let prompt = match self.directory.as_str() {
                paths::ROOT => String::from("> "),
                directory => format!("{} > ", paths::shown(directory)),
            };
            match complete::read_line(self, &prompt) {
                Ok(Read::Line(line)) => self.run(&line),
                Ok(Read::Interrupted) => self.variables.status = stop::INTERRUPTED,
                Ok(Read::End) => return,
                // Other processes have the memory; it will be freed, and the session then
                // continues.
                Err(Error::NoResources) => thread::sleep(RETRY),
                Err(e) => {
                    // Not through the console, which is what failed.
                    sing_sdk::log!("cannot read commands: {e}");
                    self.variables.status = 1;
                    return;
                }
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
                When::And => self.status() == 0,
                When::Or => self.status() != 0,
            };
            if due {
                self.variables.status = match self.pipeline(&pipeline) {
                    Ok(status) => status,
                    Err(meaningless) => {
                        self.say(&meaningless.to_string());
                        status::USAGE
                    }
                };
            }
            if self.ending.is_some() || core::mem::take(&mut self.interrupted) {
                return;
            }
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline) -> Result<i32, Meaningless> {
        if let Some(status) = self.set(pipeline)? {
            return Ok(status);
        }
        // Of all words together: each may have variables.
        let bytes = Cell::new(0);
        let word = |word: &parse::Word| {
            let text = word.expand(&self.variables)?;
            bytes.set(bytes.get() + text.len());
            match bytes.get() > words::ALL_BYTES {
                true => Err(Meaningless::TooMany(words::ALL_BYTES)),
                false => Ok(text),
            }
        };
        let path = |path: &parse::Word| Ok(paths::whole(&self.directory, &word(path)?));
        let output = |o: &parse::Output| Ok((path(&o.path)?, o.append));
        let expand = |c: &parse::Command| {
            let errors = match &c.errors {
                None => None,
                Some(parse::Errors::WithOutput) => Some(Errors::WithOutput),
                Some(parse::Errors::File(o)) => {
                    let (path, append) = output(o)?;
                    Some(Errors::File(path, append))
                }
            };
            let words = c.words.iter().map(word).collect::<Result<_, _>>()?;
            let globs = c.words.iter().map(|word| word.glob(&self.variables));
            Ok(Stage {
                words,
                globs: globs.collect::<Result<_, _>>()?,
                errors,
            })
        };
        let commands = pipeline.commands.iter().map(expand);
        let commands = commands.collect::<Result<_, _>>()?;
        let files = Files {
            input: pipeline.input.as_ref().map(path).transpose()?,
            output: pipeline.output.as_ref().map(output).transpose()?,
        };
        Ok(self.commands(commands, files, pipeline.background))
    }

    /// Sets variables, if that is what a pipeline asks for; returns its status.
    fn set(&mut self, pipeline: &Pipeline) -> Result<Option<i32>, Meaningless> {
        let begins = |c: &parse::Command| c.words.first().and_then(parse::Word::sets).is_some();
        if !pipeline.commands.iter().any(begins) {
            return Ok(None);
        }
        let alone = pipeline.input.is_none() && pipeline.output.is_none() && !pipeline.background;
        let words = match &pipeline.commands[..] {
            [only] if alone && only.errors.is_none() => &only.words[..],
            _ => &[],
        };
        if words.is_empty() || words.iter().any(|word| word.sets().is_none()) {
            self.say(
                "NAME=VALUE stands alone: it sets a variable of the shell's; `export` puts one into the \
                 environment of ordinary programs, and others get nothing but their arguments",
            );
            return Ok(Some(status::USAGE));
        }
        for word in words {
            let value = word.value(&self.variables)?;
            let name = word.sets().unwrap_or_default();
            if let Err(reason) = self.variables.set(name.into(), value) {
                self.say(&reason);
                return Ok(Some(1));
            }
        }
        Ok(Some(0))
    }

    /// Runs commands connected by pipes; returns their status.
    fn commands(&mut self, mut commands: Vec<Stage>, files: Files, background: bool) -> i32 {
        // A list instead of recursion: a line may have thousands of these words.
        let mut around = Vec::new();
        let status = loop {
            let words = &commands[0].words[around.len()..];
            let next = words.get(1).filter(|word| !word.starts_with('-'));
            match (words[0].as_str(), next) {
                // These print their own usage: `time --help`, `trace --help`.
                ("time", Some(_)) => around.push(Around::Time(time::uptime())),
                ("trace", Some(word)) if word.parse::<f64>().is_err() => {
                    match pipeline::Tracer::start(self) {
                        Ok(tracer) => around.push(Around::Trace(tracer)),
                        Err(failed) => break self.report(&failed),
                    }
                }
                _ => {
                    commands[0].skip(around.len());
                    break self.start(commands, &files, background);
                }
            }
        };
        for one in around.into_iter().rev() {
            match one {
                Around::Time(start) => {
                    let took = time::uptime().saturating_sub(start);
                    self.say(&format!("real {took:.1?}"));
                }
                Around::Trace(tracer) => tracer.finish(self),
            }
        }
        status
    }

    fn start(&mut self, mut commands: Vec<Stage>, files: &Files, background: bool) -> i32 {
        match words::doers(self, &mut commands) {
            Ok(doers) => self.launch(commands, doers, files, background),
            Err((number, refused)) => {
                let (text, status) = match refused {
                    words::Refused::Words(text) => (text, status::USAGE),
                    words::Refused::Program(failed) => reason(&failed),
                    words::Refused::Interrupted => {
                        self.interrupted = true;
                        return stop::INTERRUPTED;
                    }
                };
                // What the last one writes goes where the pipeline's output goes; nobody reads what
                // another would.
                let last = number + 1 == commands.len();
                let output = files.output.clone().filter(|_| last);
                self.refuse(&commands[number], output, text, background);
                status
            }
        }
    }

    /// Says why a command is refused, where its errors go; its output would go to this file.
    fn refuse(
        &mut self,
        command: &Stage,
        output: Option<(String, bool)>,
        text: String,
        background: bool,
    ) {
        let output = match &command.errors {
            Some(Errors::File(path, append)) => Some((path.clone(), *append)),
            Some(Errors::WithOutput) => output,
            None => None,
        };
        if output.is_none() {
            return self.say(&text);
        }
        let input = None;
        let words = vec![command.words[0].clone()];
        // If it cannot be written there, that is said.
        self.launch(
            vec![Stage::of(words)],
            vec![Doer::Usage(text)],
            &Files { input, output },
            background,
        );
    }

    /// Has commands done by those who do them; returns their status.
    fn launch(
        &mut self,
        commands: Vec<Stage>,
        mut doers: Vec<Doer>,
        files: &Files,
        background: bool,
    ) -> i32 {
        let text = files.text(&commands);
        let last_has_errors = commands.last().is_some_and(|c| c.errors.is_some());
        // What the shell does itself, alone, starts nothing.
        if let ([doer], [command], false) = (&doers[..], &commands[..], last_has_errors)
            && *files == Files::NONE
            && !matches!(doer, Doer::Program(_))
        {
            return self.own(doer, &command.words, None);
        }
        let last_is_program = matches!(doers.last(), Some(Doer::Program(_)));
        let commands = files.stages(commands);
        // Those that read and write the files.
        let started = files
            .doers(&mut doers)
            .and_then(|()| pipeline::start(self, &commands, doers, background));
        let started = match started {
            Ok(started) => started,
            Err(failed) => return self.report(&failed),
        };
        let mut status = 0;
        self.foreground = started.foreground;
        for (doer, command, out) in started.own {
            status = self.own(&doer, command, out);
        }
        let foreground = self.foreground.take();
        if self.interrupted {
            // Ctrl-C reached a built-in command, and ends the whole pipeline.
            started.job.stop();
        }
        let mut job = started.job;
        job.text = text;
        job.files = files.clone();
        job.own = (!last_is_program).then_some(status);
        if background {
            let ids: Vec<String> = job.ids().map(|id| id.to_string()).collect();
            let number = self.put_aside(None, job);
            self.say(&format!("[{number}] {}", ids.join(" ")));
            return 0;
        }
        self.attend(None, job, foreground)
    }

    /// Does what the shell does itself. Its output into a pipe is one block, and the shell does not
    /// wait until it is read: it may never be.
    fn own(&mut self, doer: &Doer, words: &[String], out: Option<Out>) -> i32 {
        let mut text = String::new();
        let status = match doer {
            Doer::Builtin(builtin) => builtin.run(self, &words[1..], &mut text),
            Doer::Usage(usage) => {
                text.push_str(usage);
                text.push('\n');
                0
            }
            // A process runs it.
            Doer::Program(_) => 0,
        };
        let printed = match out {
            None => self.out.write(text.as_bytes()),
            Some(_) if text.is_empty() => Ok(()),
            // The end of the pipe follows the block in it.
            Some(pipe) => {
                Vector::from_bytes(text.as_bytes()).map(|data| drop(pipe.send_write(data)))
            }
        };
        if let Err(error @ Error::NoResources) = printed {
            self.say(&format!("{}: what it prints is lost: {error}", words[0]));
        }
        status
    }

    fn report(&mut self, failed: &NotMade) -> i32 {
        let (text, status) = reason(failed);
        self.say(&text);
        status
    }

    /// Ends the shell, and with it the system, when what was written to `/` is on its disk. Its
    /// endpoints are not closed before, so that its servers do not end first.
    pub fn finish(mut self) -> ! {
        match fs::settle(&mut self.names, "/", time::uptime() + SETTLE) {
            Ok(()) | Err(Error::NotFound | Error::Closed) => {}
            Err(error) => {
                self.say(&format!(
                    "what was written last may not be on the disk: {error}"
                ));
            }
        }
        let _ = self.out.settle();
        let _ = self.console.flush();
        sing_sdk::process::exit(self.ending.unwrap_or(self.status()))
    }
}

/// What there is to say of a program that cannot be started, and the status.
fn reason(failed: &NotMade) -> (String, i32) {
    match failed.error() {
        Error::NotFound => (words::no_program(&failed.image), status::NO_PROGRAM),
        _ if is_managed(&failed.image) => {
            let name = &failed.image;
            let text = format!(
                "{name}: is a service, which the service manager starts: `services {name} start`"
            );
            (text, status::NOT_STARTED)
        }
        _ => (failed.to_string(), status::NOT_STARTED),
    }
}
