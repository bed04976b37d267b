//! The sing command: verify, compile, inspect, check, build images of systems and disks, and
//! generate files from contracts.
//!
//! Exit status: 0 if everything asked for was done, 1 if something was refused or failed, 2 if the
//! command line was not understood, 3 if a check had to stop before it was complete. Of `sing diff`,
//! as of `diff`: 0 if there is no difference, 1 if there is one, 2 if it failed.
#![forbid(unsafe_code)]

mod analyze;
mod args;
mod boot;
mod carried;
mod cc;
mod check;
mod check_system;
mod completions;
mod contracts;
mod disassemble;
mod disk;
mod gdb;
mod image;
mod input;
mod inspect;
mod kept;
mod output;
mod progress;
mod project;
mod run;
mod strip;
mod system;
mod verify;

use args::Command;
use signal_hook::consts::SIGXFSZ;
use std::process::ExitCode;
use std::sync::Arc;

fn main() -> ExitCode {
    // Linux would end the process where a file reaches `ulimit -f`: with a handler, the write says so. Nobody
    // reads the flag. (Ignoring the signal would pass on to the programs that this one starts.)
    if let Err(e) = signal_hook::flag::register(SIGXFSZ, Arc::default()) {
        output::complain(format!(
            "sing: the signal of `ulimit -f` has no handler: {e}"
        ));
    }
    let status = match args::parse(std::env::args_os()) {
        Ok(command) => run(command),
        Err(message) => {
            let first = std::env::args().nth(1).unwrap_or_default();
            let of = args::help::COMMANDS
                .iter()
                .find(|about| about.name == first);
            let of = of.map_or(String::new(), |about| format!(" {}", about.name));
            // Some say it themselves.
            let said = message.contains("`sing help");
            let way_out = if said {
                String::new()
            } else {
                format!("\nTry `sing help{of}`.")
            };
            output::complain(format!("sing: {message}{way_out}"));
            2
        }
    };
    ExitCode::from(sing_files::standard::finish("sing", status))
}

/// Runs a command; returns the exit status.
fn run(command: Command) -> u8 {
    let done = match command {
        Command::Help => {
            output::lines(args::help::all());
            Ok(true)
        }
        Command::HelpOf(about) => {
            output::lines(about.page());
            Ok(true)
        }
        Command::Completions(shell) => {
            output::lines(completions::text(shell).trim_end());
            Ok(true)
        }
        Command::Boot(words) => boot::boot(words),
        Command::Cc(request) => cc::run(&request),
        Command::Project(request) => match project::run(&request) {
            Ok(status) => return status,
            Err(message) => Err(message),
        },
        Command::Version => {
            output::line(concat!("sing ", env!("CARGO_PKG_VERSION")));
            Ok(true)
        }
        Command::Verify { files, json } => Ok(verify::run(&files, json)),
        Command::Limits => {
            verify::limits();
            Ok(true)
        }
        Command::Compile {
            module,
            out,
            options,
            kept,
        } => image::compile(&module, &out, &options, kept),
        Command::Strip { file, out, names } => strip::run(&file, &out, names),
        Command::Symbols { image, out } => strip::symbols(&image, &out),
        Command::Inspect {
            file,
            views,
            options,
            json,
        } => inspect::run(&file, &views, &options, json),
        Command::Analyze(request) => analyze::run(&request),
        Command::Image(request) => image::system(&request),
        Command::Contracts(request) => {
            // As of `diff`: 1 says that the versions differ.
            let failed = if request.is_diff() { 2 } else { 1 };
            match contracts::run(request) {
                Err(message) => {
                    output::complain(format!("sing: {message}"));
                    return failed;
                }
                done => done,
            }
        }
        Command::CheckSystem { subject, json } => check_system::run(&subject, json),
        Command::Disk(request) => disk::run(&request),
        Command::Gdb(request) => gdb::run(&request),
        Command::Run(request) => match run::run(&request) {
            Ok(status) => return status,
            Err(message) => Err(message),
        },
        Command::Serve(request) => match run::serve::serve(&request) {
            Ok(status) => return status,
            Err(message) => Err(message),
        },
        Command::Check(request) => match check::run(&request) {
            Ok(check::Verdict::Misused) => return 2,
            Ok(check::Verdict::Unknown) => return 3,
            // Findings about texts are in colour.
            Err(message) => {
                output::complain_in_colour(format!("sing: {message}"));
                return 1;
            }
            found => found.map(|verdict| verdict == check::Verdict::Sound),
        },
    };
    match done {
        Ok(true) => 0,
        Ok(false) => 1,
        Err(message) => {
            output::complain(format!("sing: {message}"));
            1
        }
    }
}
