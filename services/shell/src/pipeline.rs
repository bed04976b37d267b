//! Starting commands as SIPs connected by pipes, and waiting for them.

use crate::builtins::{self, Builtin};
use crate::console::Foreground;
use crate::session::{INTERRUPTED, Session};
use alloc::string::String;
use alloc::vec::Vec;
use sing_sdk::Error;
use sing_sdk::contracts::{JobContract, PipeContract};
use sing_sdk::io::Writer;
use sing_sdk::process::{Child, Exit, Manifest, Side, StartupEndpoint};
use sing_sdk::rt::{Handle, Waitable};
use sing_sdk::sync::{MAX_WAIT, wait_any};
use sing_sdk::time::Timeout;

type In = PipeContract::Exp<PipeContract::Start>;
type Out = PipeContract::Imp<PipeContract::Start>;

/// Which command could not be started, and why.
pub struct Failed {
    pub program: String,
    pub error: Error,
}

/// Children that belong together.
#[derive(Default)]
pub struct Job {
    /// The commands, for the person.
    pub text: String,
    children: Vec<(String, Child)>,
}

/// What [`start`] has started.
pub struct Started<'a> {
    pub job: Job,
    /// Commands of the shell itself, to be run now that whoever reads them is there.
    pub builtins: Vec<(Builtin, &'a [String], Option<Writer>)>,
    /// Where the console says that the job is to end.
    pub foreground: Option<JobContract::Exp<JobContract::Start>>,
    /// Whether the last command is a program: its status is the pipeline's.
    pub last_is_program: bool,
}

/// What is connected to a child beside its arguments.
struct Streams {
    stdin: Option<In>,
    stdout: Option<Out>,
    /// What `until` is connected to: only the tracer has it.
    until: Option<In>,
}

/// Starts commands, each reading what the one before prints.
pub fn start<'a>(
    session: &mut Session,
    commands: &'a [Vec<String>],
    background: bool,
) -> Result<Started<'a>, Failed> {
    let failed = |program: &str| {
        let program = program.into();
        move |error| Failed { program, error }
    };
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
            own.push((builtin, &command[..], stdout.map(Writer::new)));
            continue;
        }
        let streams = Streams {
            stdin: input,
            stdout,
            until: None,
        };
        match create(session, command, streams) {
            Ok(child) => job.children.push((name.into(), child)),
            Err(error) => {
                job.stop();
                return Err(failed(name)(error));
            }
        }
    }
    for (name, child) in &job.children {
        if let Err(error) = child.start() {
            job.stop();
            return Err(failed(name)(error));
        }
    }
    let last_is_program = commands
        .last()
        .is_some_and(|c| builtins::find(&c[0]).is_none());
    Ok(Started {
        job,
        builtins: own,
        foreground,
        last_is_program,
    })
}

/// Makes a child, with the endpoints that its manifest names.
fn create(session: &mut Session, command: &[String], mut streams: Streams) -> Result<Child, Error> {
    let manifest: Manifest = sing_sdk::process::manifest(&command[0])?;
    let mut builder = Child::of(&command[0]).args(command);
    let is = |e: &StartupEndpoint, contract, side| e.contract == contract && e.side == side;
    for e in manifest.endpoints.iter().filter(|e| !e.many) {
        let (reads, writes) = (
            is(e, "PipeContract", Side::Exp),
            is(e, "PipeContract", Side::Imp),
        );
        builder = match e.name.as_str() {
            "stdin" if reads => match streams.stdin.take() {
                Some(pipe) => builder.endpoint(pipe),
                None => builder.no_endpoint(),
            },
            "until" if reads => match streams.until.take() {
                Some(pipe) => builder.endpoint(pipe),
                None => builder.no_endpoint(),
            },
            "stdout" if writes => match streams.stdout.take() {
                Some(pipe) => builder.endpoint(pipe),
                None => builder.endpoint(session.console.show()?),
            },
            "stderr" if writes => builder.endpoint(session.console.show()?),
            "names" if is(e, "NamespaceContract", Side::Imp) => {
                builder.endpoint(session.names.connect()?)
            }
            _ => builder.no_endpoint(),
        };
    }
    builder.create()
}

impl Job {
    /// Ids of its processes.
    pub fn ids(&self) -> impl Iterator<Item = u32> + '_ {
        self.children.iter().map(|(_, child)| child.id())
    }

    /// Ends all of it.
    pub fn stop(&self) {
        for (_, child) in &self.children {
            // Who has ended already needs no stop.
            let _ = child.stop(INTERRUPTED);
        }
    }

    /// Whether all of it has ended.
    pub fn has_ended(&self) -> bool {
        self.children.iter().all(|(_, child)| child.exit().is_ok())
    }

    /// How those ended that have.
    pub fn exits(&self) -> impl Iterator<Item = Exit> + '_ {
        self.children
            .iter()
            .filter_map(|(_, child)| child.exit().ok())
    }

    /// Waits until all of it has ended; how each did. Ctrl-C ends it.
    pub fn wait(
        self,
        foreground: &mut Option<JobContract::Exp<JobContract::Start>>,
    ) -> Vec<(String, Exit)> {
        loop {
            // Asked once: a child that ended between two looks would leave nothing to wait for but the console.
            let running: Vec<Handle> = self
                .children
                .iter()
                .filter(|(_, c)| c.exit().is_err())
                .map(|(_, c)| c.handle())
                .collect();
            if running.is_empty() {
                break;
            }
            // All of them must end anyway, so those that one wait has no room for can be waited for later.
            let handles: Vec<Handle> = foreground
                .as_ref()
                .map(Waitable::handle)
                .into_iter()
                .chain(running)
                .take(MAX_WAIT)
                .collect();
            let told =
                matches!(wait_any(&handles, Timeout::FOREVER), Ok(0)) && foreground.is_some();
            if told && let Some(channel) = foreground.take() {
                self.stop();
                // Where the console has gone, so has the person.
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
    child: Child,
    /// It traces until this is closed.
    until: Writer,
}

impl Tracer {
    /// Starts it; tracing is on when this returns.
    pub fn start(session: &mut Session) -> Result<Tracer, Failed> {
        let failed = |error| Failed {
            program: "trace".into(),
            error,
        };
        let (imp, exp) = PipeContract::new_channel().map_err(failed)?;
        let streams = Streams {
            stdin: None,
            stdout: None,
            until: Some(exp),
        };
        let child = create(session, &["trace".into()], streams).map_err(failed)?;
        child.start().map_err(failed)?;
        let mut until = Writer::new(imp);
        // It takes this when it has begun.
        until
            .write(b".")
            .and_then(|()| until.settle())
            .map_err(failed)?;
        Ok(Tracer { child, until })
    }

    /// Lets it print what it has seen.
    pub fn finish(self) {
        drop(self.until);
        let _ = self.child.join();
    }
}
