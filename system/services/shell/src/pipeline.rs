//! Starting commands as SIPs connected by pipes, and waiting for them.

use crate::builtins::{self, Builtin};
use crate::console::Foreground;
use crate::session::{RETRY, Session};
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use sing_sdk::contracts::{JobContract, PipeContract};
use sing_sdk::process::{self, Child, Exit, NotMade, Side, stop};
use sing_sdk::rt::{Handle, Vector, Waitable};
use sing_sdk::sync::{MAX_WAIT, wait_any};
use sing_sdk::thread;
use sing_sdk::time::Timeout;

type In = PipeContract::Exp<PipeContract::Start>;
pub type Out = PipeContract::Imp<PipeContract::Start>;

/// Children that belong together.
#[derive(Default)]
pub struct Job {
    /// The commands, as shown to the person.
    pub text: String,
    children: Vec<(String, Child)>,
}

/// The commands that [`start`] has started.
pub struct Started<'a> {
    pub job: Job,
    /// Built-in commands, to be run now that their readers have started.
    pub builtins: Vec<(&'static Builtin, &'a [String], Option<Out>)>,
    /// The channel over which the console interrupts the job.
    pub foreground: Option<JobContract::Exp<JobContract::Start>>,
}

/// The endpoints that a command gets beside those that every program gets.
#[derive(Default)]
struct Streams {
    stdin: Option<In>,
    stdout: Option<Out>,
    /// For the tracer alone: it traces until this is closed.
    until: Option<In>,
}

/// Starts commands; each reads the output of the one before.
pub fn start<'a>(
    session: &mut Session,
    commands: &'a [Vec<String>],
    background: bool,
) -> Result<Started<'a>, NotMade> {
    let failed = |program| move |error| NotMade::new(program, error);
    let mut job = Job::default();
    let mut own = Vec::new();
    let (foreground, mut stdin) = if background {
        (None, None)
    } else {
        let Foreground { job, input } = session.console.foreground().map_err(failed("console"))?;
        (Some(job), Some(input))
    };
    for (i, command) in commands.iter().enumerate() {
        let name = command[0].as_str();
        let last = i + 1 == commands.len();
        let (stdout, next) = if last {
            (None, None)
        } else {
            let (imp, exp) = PipeContract::new_channel().map_err(failed(name))?;
            (Some(imp), Some(exp))
        };
        let input = core::mem::replace(&mut stdin, next);
        if let Some(builtin) = builtins::find(name) {
            own.push((builtin, &command[..], stdout));
            continue;
        }
        let streams = Streams {
            stdin: input,
            stdout,
            ..Streams::default()
        };
        match create(session, command, streams) {
            Ok(child) => job.children.push((name.into(), child)),
            Err(not_made) => {
                job.stop();
                return Err(not_made);
            }
        }
    }
    for (name, child) in &job.children {
        if let Err(error) = child.start() {
            job.stop();
            return Err(failed(name)(error));
        }
    }
    Ok(Started {
        job,
        builtins: own,
        foreground,
    })
}

/// Makes a child, with those endpoints of the shell that its manifest names.
fn create(session: &mut Session, command: &[String], streams: Streams) -> Result<Child, NotMade> {
    let image = command[0].as_str();
    let refused = |error| NotMade::new(image, error);
    let manifest = process::manifest(image).map_err(refused)?;
    let asks = |name: &str, contract: &str, side: Side| {
        let mut all = manifest.endpoints.iter().filter(|e| !e.many);
        all.any(|e| e.name == name && e.contract == contract && e.side == side)
    };
    let mut child = Child::of(image).args(command).manifest(&manifest);
    for (name, pipe) in [("stdin", streams.stdin), ("until", streams.until)] {
        if let Some(pipe) = pipe.filter(|_| asks(name, "PipeContract", Side::Exp)) {
            child = child.endpoint(name, pipe);
        }
    }
    for (name, pipe) in [("stdout", streams.stdout), ("stderr", None)] {
        if asks(name, "PipeContract", Side::Imp) {
            let pipe = match pipe {
                Some(pipe) => pipe,
                None => session.console.show().map_err(refused)?,
            };
            child = child.endpoint(name, pipe);
        }
    }
    if asks("names", "NamespaceContract", Side::Imp) {
        child = child.endpoint("names", session.names.connect().map_err(refused)?);
    }
    child.create()
}

impl Job {
    /// Ids of its processes.
    pub fn ids(&self) -> impl Iterator<Item = u32> + '_ {
        self.children.iter().map(|(_, child)| child.id())
    }

    /// Ends all of it.
    pub fn stop(&self) {
        for (_, child) in &self.children {
            // A child that has ended already needs no stop.
            let _ = child.stop(stop::INTERRUPTED);
        }
    }

    /// Whether all of it has ended.
    pub fn has_ended(&self) -> bool {
        self.children.iter().all(|(_, child)| child.exit().is_ok())
    }

    /// The statuses of those that have ended.
    pub fn exits(&self) -> impl Iterator<Item = Exit> + '_ {
        self.children
            .iter()
            .filter_map(|(_, child)| child.exit().ok())
    }

    /// Waits until all of it has ended; returns each status. Ctrl-C ends it.
    pub fn wait(
        self,
        foreground: &mut Option<JobContract::Exp<JobContract::Start>>,
    ) -> Vec<(String, Exit)> {
        loop {
            // The check comes first: a child that ended between two checks would leave only the
            // console to wait for.
            let running: Vec<Handle> = self
                .children
                .iter()
                .filter(|(_, c)| c.exit().is_err())
                .map(|(_, c)| c.handle())
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
                self.stop();
                // Without a console there is no Ctrl-C either.
                *foreground = channel
                    .recv_interrupt()
                    .ok()
                    .map(|channel| channel.send_ack());
            }
        }
        let how = |(name, child): (String, Child)| child.exit().ok().map(|exit| (name, exit));
        self.children.into_iter().filter_map(how).collect()
    }
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
        let Foreground { job: told, .. } = session.console.foreground().map_err(failed)?;
        let child = create(session, &["trace".into()], streams)?;
        child.start().map_err(failed)?;
        // It takes this when it has begun.
        let begun = imp.send_write(Vector::from_bytes(b".").map_err(failed)?);
        let first = wait_any(&[told.handle(), begun.handle()], Timeout::FOREVER);
        if first == Ok(0) {
            let _ = child.stop(stop::INTERRUPTED);
        }
        let until = begun.recv_ack().map_err(|closed| failed(closed.into()))?;
        let job = Job {
            text: String::new(),
            children: vec![("trace".into(), child)],
        };
        Ok(Tracer { job, until })
    }

    /// Lets it print the recorded events. Ctrl-C ends it.
    pub fn finish(self, session: &mut Session) {
        drop(self.until);
        let foreground = session.console.foreground();
        self.job.wait(&mut foreground.ok().map(|f| f.job));
    }
}
