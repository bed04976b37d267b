//! Starting commands as SIPs connected by pipes, and waiting for them.

use crate::console::Foreground;
use crate::files::{self, Errors, Files, Stage};
use crate::session::{RETRY, Session};
use crate::words::{self, Doer, manifest};
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use sing_sdk::contracts::{JobContract, PipeContract};
use sing_sdk::process::{Child, Exit, Manifest, NotMade, Side, stop};
use sing_sdk::rt::{Handle, Vector, Waitable};
use sing_sdk::sync::{MAX_WAIT, wait_any};
use sing_sdk::thread;
use sing_sdk::time::Timeout;

pub type In = PipeContract::Exp<PipeContract::Start>;
pub type Out = PipeContract::Imp<PipeContract::Start>;

/// Children that belong together.
#[derive(Default)]
pub struct Job {
    /// The commands, as shown to the person.
    pub text: String,
    /// The files of the pipeline.
    pub files: Files,
    /// The status of the last command, if the shell has done it itself.
    pub own: Option<i32>,
    children: Vec<Member>,
    /// Whether it was suspended, and does not go on yet.
    suspended: bool,
    /// What the console has for the next time that it is in the foreground.
    held: Option<Held>,
}

/// A job's channel to the console, which keeps the job's input under a number.
pub struct Held {
    pub number: u32,
    pub told: JobContract::Exp<JobContract::Suspended>,
}

/// What a wait for a job has come to.
pub enum Waited {
    /// All of it has ended.
    Ended(Ended),
    /// Ctrl-Z: it does not go on until it is resumed.
    Suspended(Job),
}

/// A child with the name of its program.
struct Member {
    name: String,
    child: Child,
    /// Whether it is no stage of the pipeline: it takes errors away.
    beside: bool,
}

/// How a job's children have ended.
pub struct Ended {
    /// The stages of the pipeline.
    pub stages: Vec<(String, Exit)>,
    /// Those that took errors away.
    pub beside: Vec<(String, Exit)>,
}

/// The commands that [`start`] has started.
pub struct Started<'a> {
    pub job: Job,
    /// What the shell does itself, now that the readers have started.
    pub own: Vec<(Doer, &'a [String], Option<Out>)>,
    /// The channel over which the console interrupts the job.
    pub foreground: Option<JobContract::Exp<JobContract::Start>>,
}

/// The endpoints that a command gets beside those that every program gets.
#[derive(Default)]
struct Streams {
    stdin: Option<In>,
    stdout: Option<Out>,
    stderr: Option<Out>,
    /// What a merger reads.
    first: Option<In>,
    second: Option<In>,
    /// For the tracer alone: it traces until this is closed.
    until: Option<In>,
    /// Whether it does without the name server, though its manifest has a place for it.
    nameless: bool,
}

/// Starts commands; each reads the output of the one before. There is a doer for each.
pub fn start<'a>(
    session: &mut Session,
    commands: &'a [Stage],
    doers: Vec<Doer>,
    background: bool,
) -> Result<Started<'a>, NotMade> {
    let failed = |program| move |error| NotMade::new(program, error);
    let mut making = Making {
        session,
        job: Job::default(),
    };
    let mut own = Vec::new();
    let (foreground, mut stdin) = if background {
        (None, None)
    } else {
        let keys = matches!(doers.first(), Some(Doer::Program(first)) if takes_keys(first));
        let foreground = making.session.console.foreground(keys);
        let Foreground { job, input } = foreground.map_err(failed("console"))?;
        (Some(job), Some(input))
    };
    for (i, (command, doer)) in commands.iter().zip(doers).enumerate() {
        let name = command.words[0].as_str();
        let last = i + 1 == commands.len();
        let (stdout, next) = if last {
            (None, None)
        } else {
            let (imp, exp) = PipeContract::new_channel().map_err(failed(name))?;
            (Some(imp), Some(exp))
        };
        let streams = Streams {
            stdin: core::mem::replace(&mut stdin, next),
            stdout,
            ..Streams::default()
        };
        let made = making.stage(command, &doer, streams);
        match made {
            Ok(Some(out)) => own.push((doer, &command.words[..], out)),
            Ok(None) => {}
            Err(not_made) => {
                making.job.stop();
                return Err(not_made);
            }
        }
    }
    let job = making.job;
    for member in &job.children {
        if let Err(error) = member.child.start() {
            job.stop();
            return Err(failed(&member.name)(error));
        }
    }
    Ok(Started {
        job,
        own,
        foreground,
    })
}

/// A job that is being made.
struct Making<'a> {
    session: &'a mut Session,
    job: Job,
}

impl Making<'_> {
    fn child(
        &mut self,
        words: &[String],
        manifest: &Manifest,
        streams: Streams,
        beside: bool,
    ) -> Result<(), NotMade> {
        let child = create(self.session, words, manifest, streams)?;
        self.job.children.push(Member {
            name: words[0].clone(),
            child,
            beside,
        });
        Ok(())
    }

    /// Makes the process of a stage, and that which takes its errors away. A stage that is the
    /// shell's own has none; returns where that prints to.
    fn stage(
        &mut self,
        command: &Stage,
        doer: &Doer,
        mut streams: Streams,
    ) -> Result<Option<Option<Out>>, NotMade> {
        let channel = || {
            let failed = |error| NotMade::new(&command.words[0], error);
            PipeContract::new_channel().map_err(failed)
        };
        match &command.errors {
            Some(Errors::File(path, append)) => {
                let (imp, exp) = channel()?;
                let words = files::writer(path, *append);
                let input = Streams {
                    stdin: Some(exp),
                    ..Streams::default()
                };
                self.child(&words, &manifest(&words[0])?, input, true)?;
                streams.stderr = Some(imp);
            }
            // The shell's own commands have no errors apart from their output; and the console
            // shows both anyway.
            Some(Errors::WithOutput)
                if matches!(doer, Doer::Program(_)) && streams.stdout.is_some() =>
            {
                let (output, first) = channel()?;
                let (errors, second) = channel()?;
                let both = Streams {
                    first: Some(first),
                    second: Some(second),
                    stdout: streams.stdout.replace(output),
                    ..Streams::default()
                };
                let words = [files::MERGER.into()];
                self.child(&words, &manifest(files::MERGER)?, both, true)?;
                streams.stderr = Some(errors);
            }
            _ => {}
        }
        match doer {
            Doer::Program(manifest) => {
                self.child(&command.words, manifest, streams, false)?;
                Ok(None)
            }
            _ => Ok(Some(streams.stdout)),
        }
    }
}

/// The start-up endpoint of a program that gets keys as they are typed, in the place of `stdin`.
const KEYS: &str = "keys";

fn takes_keys(manifest: &Manifest) -> bool {
    manifest.endpoints.iter().any(|e| e.name == KEYS)
}

/// Makes a child, with those endpoints of the shell that its manifest names.
fn create(
    session: &mut Session,
    command: &[String],
    manifest: &Manifest,
    streams: Streams,
) -> Result<Child, NotMade> {
    let image = command[0].as_str();
    let refused = |error| NotMade::new(image, error);
    let asks = |name: &str, contract: &str, side: Side| {
        let mut all = manifest.endpoints.iter().filter(|e| !e.many);
        all.any(|e| e.name == name && e.contract == contract && e.side == side)
    };
    let words = words::arguments(command, manifest, &session.variables);
    let mut child = Child::of(image).args(&words).manifest(manifest);
    let input = if takes_keys(manifest) { KEYS } else { "stdin" };
    for (name, pipe) in [
        (input, streams.stdin),
        ("first", streams.first),
        ("second", streams.second),
        ("until", streams.until),
    ] {
        if let Some(pipe) = pipe.filter(|_| asks(name, "PipeContract", Side::Exp)) {
            child = child.endpoint(name, pipe);
        }
    }
    for (name, pipe) in [("stdout", streams.stdout), ("stderr", streams.stderr)] {
        if asks(name, "PipeContract", Side::Imp) {
            let pipe = match pipe {
                Some(pipe) => pipe,
                None => session.console.show().map_err(refused)?,
            };
            child = child.endpoint(name, pipe);
        }
    }
    if asks("names", "NamespaceContract", Side::Imp) && !streams.nameless {
        child = child.endpoint("names", session.names.connect().map_err(refused)?);
    }
    child.create()
}

impl Job {
    /// Ids of its processes.
    pub fn ids(&self) -> impl Iterator<Item = u32> + '_ {
        self.children.iter().map(|m| m.child.id())
    }

    /// Ends all of it.
    pub fn stop(&self) {
        for member in &self.children {
            // A child that has ended already needs no stop.
            let _ = member.child.stop(stop::INTERRUPTED);
        }
    }

    /// Suspends all of it, with what it has started.
    fn suspend(&mut self) {
        for member in &self.children {
            // One that has ended has nothing to suspend.
            let _ = member.child.suspend(true);
        }
        self.suspended = true;
    }

    /// Lets it go on, if it was suspended.
    pub fn resume(&mut self) {
        if core::mem::take(&mut self.suspended) {
            for member in &self.children {
                let _ = member.child.resume(true);
            }
        }
    }

    /// Whether it is suspended.
    pub fn is_suspended(&self) -> bool {
        self.suspended
    }

    /// Takes what the console has for it.
    pub fn take_held(&mut self) -> Option<Held> {
        self.held.take()
    }

    /// Whether it gets keys as they are typed.
    pub fn takes_keys(&self) -> bool {
        let first = self.children.iter().find(|m| !m.beside);
        first.is_some_and(|m| manifest(&m.name).is_ok_and(|m| takes_keys(&m)))
    }

    /// Whether all of it has ended.
    pub fn has_ended(&self) -> bool {
        self.children.iter().all(|m| m.child.exit().is_ok())
    }

    /// The statuses of those that have ended.
    pub fn exits(&self) -> impl Iterator<Item = Exit> + '_ {
        let stages = self.children.iter().filter(|m| !m.beside);
        stages.filter_map(|m| m.child.exit().ok())
    }

    /// Waits until all of it has ended. Ctrl-C ends it, and Ctrl-Z suspends it.
    pub fn wait(mut self, foreground: &mut Option<JobContract::Exp<JobContract::Start>>) -> Waited {
        loop {
            // The check comes first: a child that ended between two checks would leave only the
            // console to wait for.
            let running: Vec<Handle> = self
                .children
                .iter()
                .filter(|m| m.child.exit().is_err())
                .map(|m| m.child.handle())
                .collect();
            if running.is_empty() {
                break;
            }
            // All of them must end anyway, so those that do not fit into one wait can be waited for
            // later.
            let handles: Vec<Handle> = foreground
                .as_ref()
                .map(Waitable::handle)
                .into_iter()
                .chain(running)
                .take(MAX_WAIT)
                .collect();
            let told = match wait_any(&handles, Timeout::FOREVER) {
                Ok(first) => first == 0 && foreground.is_some(),
                Err(_) => {
                    // A wait for several objects takes memory, too.
                    thread::sleep(RETRY);
                    foreground.as_ref().is_some_and(|told| told.is_ready())
                }
            };
            if told && let Some(channel) = foreground.take() {
                match channel.recv() {
                    JobContract::exp::Start::Interrupt(told) => {
                        self.stop();
                        *foreground = Some(told.send_ack());
                    }
                    JobContract::exp::Start::Suspend(number, told) => {
                        self.suspend();
                        // One that the console has already keeps its input.
                        self.held.get_or_insert(Held { number, told });
                        return Waited::Suspended(self);
                    }
                    // Without a console there is no Ctrl-C either.
                    JobContract::exp::Start::Closed => {}
                }
            }
        }
        let mut ended = Ended {
            stages: Vec::new(),
            beside: Vec::new(),
        };
        for Member {
            name,
            child,
            beside,
        } in self.children
        {
            let of = match beside {
                true => &mut ended.beside,
                false => &mut ended.stages,
            };
            of.extend(child.exit().ok().map(|exit| (name, exit)));
        }
        Waited::Ended(ended)
    }
}

/// Starts a program with these arguments, for what it prints: what it has to say of errors is lost. One
/// without `names` gets no channel to the name server, which nobody then waits for.
pub fn listing(
    session: &mut Session,
    program: &str,
    arguments: &[&str],
    names: bool,
) -> Result<(Child, In), NotMade> {
    let failed = |error| NotMade::new(program, error);
    let (imp, exp) = PipeContract::new_channel().map_err(failed)?;
    let (errors, _) = PipeContract::new_channel().map_err(failed)?;
    let streams = Streams {
        stdout: Some(imp),
        stderr: Some(errors),
        nameless: !names,
        ..Streams::default()
    };
    let mut words = vec![String::from(program)];
    words.extend(arguments.iter().map(|&word| word.into()));
    let child = create(session, &words, &manifest(program)?, streams)?;
    child.start().map_err(failed)?;
    Ok((child, exp))
}

/// The program `trace`, while it watches a command.
pub struct Tracer {
    job: Job,
    /// It traces until this is closed.
    until: Out,
}

impl Tracer {
    /// Starts it; tracing is on when this returns. Ctrl-C ends it.
    pub fn start(session: &mut Session) -> Result<Tracer, NotMade> {
        let failed = |error| NotMade::new("trace", error);
        let (imp, exp) = PipeContract::new_channel().map_err(failed)?;
        let streams = Streams {
            until: Some(exp),
            ..Streams::default()
        };
        let Foreground { job: told, .. } = session.console.foreground(false).map_err(failed)?;
        let child = create(session, &["trace".into()], &manifest("trace")?, streams)?;
        child.start().map_err(failed)?;
        // It takes this when it has begun.
        let begun = imp.send_write(Vector::from_bytes(b".").map_err(failed)?);
        let first = wait_any(&[told.handle(), begun.handle()], Timeout::FOREVER);
        if first == Ok(0) {
            let _ = child.stop(stop::INTERRUPTED);
        }
        let until = begun.recv_ack().map_err(|closed| failed(closed.into()))?;
        let job = Job {
            children: vec![Member {
                name: "trace".into(),
                child,
                beside: false,
            }],
            ..Job::default()
        };
        Ok(Tracer { job, until })
    }

    /// Lets it print the recorded events. Ctrl-C ends it.
    pub fn finish(self, session: &mut Session) {
        drop(self.until);
        let foreground = session.console.foreground(false);
        let waited = self.job.wait(&mut foreground.ok().map(|f| f.job));
        // There is no prompt from which it could go on.
        if let Waited::Suspended(job) = waited {
            job.stop();
        }
    }
}
