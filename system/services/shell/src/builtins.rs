//! Built-in commands: those that act on the shell's own state.

use crate::session::Session;
use crate::words;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use sing_sdk::process::{self, Exit, stop};
use sing_sdk::usage::{Given, Refused, Usage};

/// A built-in command.
pub struct Builtin {
    pub name: &'static str,
    /// One line of `help`.
    about: &'static str,
    pub usage: Usage,
    /// Runs it with arguments and output; returns its status.
    run: fn(&mut Session, &Given, &mut String) -> i32,
}

/// Arguments of a command that takes none.
mod none {
    sing_sdk::arguments! {}
}

/// Arguments of a command that explains another.
mod of {
    sing_sdk::arguments! {
        /// What to explain; everything in a line each if left out.
        program: optional Program "PROGRAM";
    }
}

/// Arguments of a command that ends the session.
mod ending {
    use sing_sdk::process::status::LARGEST_CODE;
    use sing_sdk::usage::{Kind, Value};

    /// An exit code of a program's own; greater numbers are statuses that the system gives.
    pub struct Status(pub i32);

    impl Value for Status {
        const KIND: Kind = Kind::Range {
            least: 0,
            most: LARGEST_CODE as u64,
        };
        fn parse(text: &str) -> Option<Self> {
            let status = i32::parse(text)?;
            (0..=LARGEST_CODE).contains(&status).then_some(Self(status))
        }
    }

    sing_sdk::arguments! {
        /// The status that the system ends with. The last one if left out.
        status: optional Status "STATUS";
    }
}

/// Arguments of a command that runs another.
mod command {
    use alloc::string::String;

    sing_sdk::arguments! {
        /// The command, with its arguments.
        words: some String "COMMAND";
    }
}

const fn plain(
    name: &'static str,
    about: &'static str,
    run: fn(&mut Session, &Given, &mut String) -> i32,
) -> Builtin {
    Builtin {
        name,
        about,
        usage: none::USAGE,
        run,
    }
}

const ALL: &[Builtin] = &[
    Builtin {
        name: "help",
        about: "says what there is: help [PROGRAM]",
        usage: of::USAGE,
        run: help,
    },
    plain("jobs", "lists jobs in the background", jobs),
    plain("wait", "waits for all jobs in the background", wait),
    Builtin {
        name: "time",
        about: "says how long a command takes: time COMMAND",
        usage: command::USAGE,
        run: time_elsewhere,
    },
    Builtin {
        name: "shutdown",
        about: "ends the system: shutdown [STATUS]",
        usage: ending::USAGE,
        run: shutdown,
    },
    Builtin {
        name: "exit",
        about: "the same",
        usage: ending::USAGE,
        run: shutdown,
    },
    plain("true", "succeeds", |_, _, _| 0),
    plain("false", "fails", |_, _, _| 1),
];

/// The names of all.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|builtin| builtin.name)
}

/// The command of that name.
pub fn find(name: &str) -> Option<&'static Builtin> {
    ALL.iter().find(|builtin| builtin.name == name)
}

impl Builtin {
    /// Runs it, or reports the error; returns its status.
    pub fn run(&self, session: &mut Session, arguments: &[String], out: &mut String) -> i32 {
        let (text, status) = match self.usage.read(arguments) {
            Ok(given) => return (self.run)(session, &given, out),
            Err(Refused::Help) => (self.usage.text(self.name), 0),
            Err(Refused::Wrong(reason)) => (
                self.usage.refusal(self.name, &reason),
                process::status::USAGE,
            ),
        };
        out.push_str(&text);
        out.push('\n');
        status
    }
}

/// The session removes `time` from the front of a line; here it comes after a `|`.
fn time_elsewhere(_: &mut Session, _: &Given, out: &mut String) -> i32 {
    out.push_str("time: stands before the first command of a line\n");
    process::status::USAGE
}

fn help(session: &mut Session, given: &Given, out: &mut String) -> i32 {
    if let Some(name) = of::Arguments::of(given).program {
        let known = match find(&name) {
            Some(builtin) => Some(builtin.usage.text(&name)),
            None => words::explain(&name),
        };
        let status = match known {
            Some(_) => 0,
            None => process::status::NO_PROGRAM,
        };
        out.push_str(&known.unwrap_or_else(|| words::no_program(&name)));
        out.push('\n');
        return status;
    }
    let mut line = |name: &str, text: &str| out.push_str(&format!("  {name:<12} {text}\n"));
    line("COMMAND &", "runs it in the background");
    line("A | B", "what A prints is what B reads");
    line(
        "A && B, A || B",
        "B after success, after failure; A ; B in any case",
    );
    line(
        "A < X, A > Y",
        "A reads the file X, writes the file Y; A >> Y at its end",
    );
    line(
        "A 2> Y",
        "the errors of A go to Y; A 2>> Y at its end; A 2>&1 where its output goes",
    );
    line("$?", "the last status");
    line(
        "trace COMMAND",
        "shows messages and context switches meanwhile; trace SECONDS",
    );
    for builtin in ALL {
        line(builtin.name, builtin.about);
    }
    for program in session.names.list("/boot/bin").unwrap_or_default() {
        let text = process::manifest(program.name())
            .map(|m| m.description)
            .unwrap_or_default();
        line(program.name(), &text);
    }
    0
}

fn jobs(session: &mut Session, _: &Given, out: &mut String) -> i32 {
    for (number, job) in &session.jobs {
        let ids: Vec<String> = job.ids().map(|id| id.to_string()).collect();
        let state = if job.has_ended() { "ended" } else { "runs" };
        out.push_str(&format!(
            "[{number}] {} {state}: {}\n",
            ids.join(" "),
            job.text
        ));
    }
    0
}

fn wait(session: &mut Session, _: &Given, _: &mut String) -> i32 {
    let mut status = 0;
    // Ctrl-C ends the job that is waited for. In a pipeline it goes to the pipeline.
    let of_pipeline = session.foreground.take();
    let in_pipeline = of_pipeline.is_some();
    let mut foreground = match of_pipeline {
        Some(told) => Some(told),
        None => match session.console.foreground() {
            Ok(foreground) => Some(foreground.job),
            Err(_) => return 1,
        },
    };
    for (number, job) in core::mem::take(&mut session.jobs) {
        let text = job.text.clone();
        if let Some((_, exit)) = job.wait(&mut foreground).stages.last() {
            status = exit.status();
            session.interrupted |= *exit == Exit::Stopped(stop::INTERRUPTED);
            session.say(&format!("[{number}] {exit}: {text}"));
        }
    }
    if in_pipeline {
        session.foreground = foreground;
    }
    status
}

fn shutdown(session: &mut Session, given: &Given, _: &mut String) -> i32 {
    let status = ending::Arguments::of(given)
        .status
        .map_or(session.status, |given| given.0);
    session.ending = Some(status);
    status
}
