//! Commands that are the shell's own, because they are about its state.

use crate::session::{INTERRUPTED, Session};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use sing_sdk::process::{self, Exit};

/// A command of the shell: its arguments, where it prints, its status.
pub type Builtin = fn(&mut Session, &[String], &mut String) -> i32;

const ALL: &[(&str, Builtin, &str)] = &[
    ("help", help, "says what there is"),
    ("jobs", jobs, "lists jobs in the background"),
    ("wait", wait, "waits for all jobs in the background"),
    ("shutdown", shutdown, "ends the system: shutdown [STATUS]"),
    ("exit", shutdown, "the same"),
    ("true", |_, _, _| 0, "succeeds"),
    ("false", |_, _, _| 1, "fails"),
];

/// The command of that name.
pub fn find(name: &str) -> Option<Builtin> {
    ALL.iter()
        .find(|(n, ..)| *n == name)
        .map(|(_, builtin, _)| *builtin)
}

fn help(session: &mut Session, _: &[String], out: &mut String) -> i32 {
    let mut line = |name: &str, text: &str| out.push_str(&format!("  {name:<12} {text}\n"));
    line("COMMAND &", "runs it in the background");
    line("A | B", "what A prints is what B reads");
    line(
        "A && B, A || B",
        "B after success, after failure; A ; B in any case",
    );
    line("$?", "the last status");
    line("time COMMAND", "says how long it takes");
    line(
        "trace COMMAND",
        "shows messages and context switches meanwhile; trace SECONDS",
    );
    for (name, _, text) in ALL {
        line(name, text);
    }
    let mut programs = session.names.find("/boot/bin").unwrap_or_default();
    programs.sort();
    for name in programs {
        let text = process::manifest(&name)
            .map(|m| m.description)
            .unwrap_or_default();
        line(&name, &text);
    }
    0
}

fn jobs(session: &mut Session, _: &[String], out: &mut String) -> i32 {
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

fn wait(session: &mut Session, _: &[String], _: &mut String) -> i32 {
    let mut status = 0;
    // Ctrl-C ends the job that is waited for.
    let Ok(foreground) = session.console.foreground() else {
        return 1;
    };
    let mut foreground = Some(foreground.job);
    for (number, job) in core::mem::take(&mut session.jobs) {
        let text = job.text.clone();
        if let Some((_, exit)) = job.wait(&mut foreground).last() {
            status = exit.status();
            session.interrupted |= *exit == Exit::Stopped(INTERRUPTED);
            session.say(&format!("[{number}] {exit}: {text}"));
        }
    }
    status
}

fn shutdown(session: &mut Session, args: &[String], out: &mut String) -> i32 {
    let status = match args {
        [] => Some(session.status),
        [status] => status.parse().ok(),
        _ => None,
    };
    match status {
        Some(status) => {
            session.ending = Some(status);
            status
        }
        None => {
            out.push_str("usage: shutdown [STATUS]\n");
            2
        }
    }
}
