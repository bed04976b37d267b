//! Built-in commands: those that act on the shell's own state.

use crate::jobs;
use crate::session::Session;
use crate::words;
use alloc::format;
use alloc::string::{String, ToString};
use shell::{paths, variables};
use sing_sdk::process;
use sing_sdk::usage::{Given, Refused, Usage};
use sing_sdk::{Error, pattern};

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

/// Arguments of the command that chooses a directory.
mod directory {
    sing_sdk::arguments! {
        /// The directory; the root if left out, and `-` for the one before.
        path: optional Path "PATH";
    }
}

/// Arguments of a command that forgets variables.
mod forgotten {
    use alloc::string::String;

    sing_sdk::arguments! {
        /// The variables.
        names: some String "NAME";
    }
}

/// Arguments of a command that explains a program.
mod manual {
    sing_sdk::arguments! {
        /// The program.
        program: one Program "PROGRAM";
    }
}

/// Arguments of the command that puts variables into the environment.
mod environment {
    use alloc::string::String;

    sing_sdk::arguments! {
        /// The variables, each with a value or as it is.
        variables: some String "NAME[=VALUE]";
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
    Builtin {
        name: "man",
        about: "explains a program, with what it is given: man PROGRAM",
        usage: manual::USAGE,
        run: manual,
    },
    Builtin {
        name: "cd",
        about: "chooses where paths without a / before them begin: cd [PATH]",
        usage: directory::USAGE,
        run: change_directory,
    },
    plain("pwd", "says where that is", |session, _, out| {
        out.push_str(&session.directory);
        out.push('\n');
        0
    }),
    plain("set", "shows all variables; NAME=VALUE sets one", set),
    Builtin {
        name: "unset",
        about: "forgets variables: unset NAME…",
        usage: forgotten::USAGE,
        run: unset,
    },
    Builtin {
        name: "export",
        about: "puts variables into the environment of ordinary programs: export NAME[=VALUE]…",
        usage: environment::USAGE,
        run: export,
    },
    plain("env", "shows that environment", |session, _, out| {
        for (name, value) in session.variables.exported() {
            out.push_str(&format!("{name}={value}\n"));
        }
        0
    }),
    plain("uptime", "says how long the system runs", uptime),
    plain("jobs", "lists jobs in the background or suspended", jobs),
    Builtin {
        name: "fg",
        about: "puts a job into the foreground, also one that Ctrl-Z has suspended: fg [JOB]",
        usage: jobs::USAGE,
        run: foreground,
    },
    Builtin {
        name: "bg",
        about: "lets a suspended job go on in the background: bg [JOB]",
        usage: jobs::USAGE,
        run: background,
    },
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
    line(
        "*, ?, [a-z]",
        "stand for the names that match, ** for any number of directories; quotes turn them off",
    );
    line("$?", "the last status");
    line(
        "NAME=VALUE",
        "sets a variable; $NAME or ${NAME} stands for it",
    );
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
    session.list_jobs(out);
    0
}

fn foreground(session: &mut Session, given: &Given, out: &mut String) -> i32 {
    // In a pipeline, that is what the person sees.
    if session.foreground.is_some() {
        out.push_str("fg: stands alone on its line\n");
        return process::status::USAGE;
    }
    session.put_in_foreground(jobs::Arguments::of(given).job, out)
}

fn background(session: &mut Session, given: &Given, out: &mut String) -> i32 {
    session.put_in_background(jobs::Arguments::of(given).job, out)
}

fn wait(session: &mut Session, _: &Given, _: &mut String) -> i32 {
    // Ctrl-C ends the job that is waited for. In a pipeline it goes to the pipeline.
    let of_pipeline = session.foreground.take();
    let in_pipeline = of_pipeline.is_some();
    let foreground = match of_pipeline {
        Some(told) => Some(told),
        None => match session.console.foreground(false) {
            Ok(foreground) => Some(foreground.job),
            Err(_) => return 1,
        },
    };
    let (status, foreground) = session.wait_for_jobs(foreground);
    if in_pipeline {
        session.foreground = foreground;
    }
    status
}

fn change_directory(session: &mut Session, given: &Given, out: &mut String) -> i32 {
    let word = directory::Arguments::of(given).path;
    let path = match word.as_deref() {
        Some("-") => session.left.clone(),
        word => paths::directory(&session.directory, word.unwrap_or(paths::ROOT)),
    };
    // One name below it shows that it is one.
    let below = pattern::under(&path, "*");
    let looked = session.names.search(&below);
    let reason = match looked.map(|mut found| found.next().transpose()) {
        Ok(Ok(_)) => {
            session.left = core::mem::replace(&mut session.directory, path);
            return 0;
        }
        Ok(Err(e)) | Err(e) => e,
    };
    let text = match (reason, session.names.find(&pattern::literal(&path))) {
        (Error::NotFound | Error::Refused(_), Ok(_)) => "not a directory".into(),
        (reason, _) => reason.to_string(),
    };
    out.push_str(&format!("cd: {path}: {text}\n"));
    1
}

fn manual(_: &mut Session, given: &Given, out: &mut String) -> i32 {
    let name = manual::Arguments::of(given).program;
    let known = match find(&name) {
        Some(builtin) => Some(format!(
            "{name}: {}\n\n{}\n\nA part of the shell.",
            builtin.about,
            builtin.usage.text(&name)
        )),
        None => words::manual(&name),
    };
    let status = match known {
        Some(_) => 0,
        None => process::status::NO_PROGRAM,
    };
    out.push_str(&known.unwrap_or_else(|| words::no_program(&name)));
    out.push('\n');
    status
}

fn export(session: &mut Session, given: &Given, out: &mut String) -> i32 {
    let mut status = 0;
    for word in environment::Arguments::of(given).variables {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word.as_str(), None),
        };
        let done = match variables::is_name(name) {
            false => Err(format!("`{name}` is no name of a variable")),
            true => value
                .map_or(Ok(()), |value| {
                    session.variables.set(name.into(), value.into())
                })
                .and_then(|()| session.variables.export(name)),
        };
        if let Err(reason) = done {
            out.push_str(&format!("export: {reason}\n"));
            status = 1;
        }
    }
    status
}

fn set(session: &mut Session, _: &Given, out: &mut String) -> i32 {
    for (name, value) in session.variables.all() {
        // As it can be typed again, and shown on one line.
        let value = value.replace('\'', "'\\''").replace('\n', " ");
        out.push_str(&format!("{name}='{value}'\n"));
    }
    0
}

fn unset(session: &mut Session, given: &Given, out: &mut String) -> i32 {
    let mut status = 0;
    for name in forgotten::Arguments::of(given).names {
        if !session.variables.unset(&name) {
            out.push_str(&format!("unset: {name}: there is no such variable\n"));
            status = 1;
        }
    }
    status
}

fn uptime(_: &mut Session, _: &Given, out: &mut String) -> i32 {
    let up = sing_sdk::time::uptime();
    let (hours, minutes) = (up.as_secs() / 3600, up.as_secs() / 60 % 60);
    let seconds = up.as_secs_f64() % 60.0;
    out.push_str(&match (hours, minutes) {
        (0, 0) => format!("up {seconds:.3} s\n"),
        (0, _) => format!("up {minutes} min {seconds:.0} s\n"),
        _ => format!("up {hours} h {minutes} min\n"),
    });
    0
}

fn shutdown(session: &mut Session, given: &Given, _: &mut String) -> i32 {
    let status = ending::Arguments::of(given)
        .status
        .map_or(session.status(), |given| given.0);
    session.ending = Some(status);
    status
}
