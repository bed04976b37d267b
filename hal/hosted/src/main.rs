//! `singularity [OPTIONS] IMAGE [ARGUMENTS...]`: runs a system image as a Linux process.

mod arguments;
mod load;

use arguments::{Command, Run};
use sing_hosted::{Config, HostedHal};
use sing_kernel::Options;
use std::fmt::Display;

/// Exit status: wrong use.
const STATUS_USAGE: i32 = 64;
/// Exit status: the file is no system image.
const STATUS_IMAGE: i32 = 65;
/// Exit status: the file cannot be read.
const STATUS_MISSING: i32 = 66;
/// Exit status: Linux refuses what the machine needs.
const STATUS_MACHINE: i32 = 71;

fn main() {
    match arguments::parse(lexopt::Parser::from_env()) {
        Ok(Command::Run(run)) => start(run),
        Ok(Command::Help) => println!("{}", arguments::HELP),
        Ok(Command::Version) => println!("singularity {}", env!("CARGO_PKG_VERSION")),
        Err(error) => {
            give_up(STATUS_USAGE, &format!("{error}\nTry `singularity --help`."));
        }
    }
}

fn give_up(status: i32, error: &dyn Display) -> ! {
    eprintln!("singularity: {error}");
    std::process::exit(status)
}

fn start(run: Run) -> ! {
    let image = load::image(&run.image).unwrap_or_else(|error| {
        let status = if error.unreadable() {
            STATUS_MISSING
        } else {
            STATUS_IMAGE
        };
        give_up(status, &error)
    });
    let config = Config {
        memory_limit: run.memory_limit,
        console: true,
        ..Config::default()
    };
    // A panic is a bug of the kernel: whatever stack it happens on, the system ends, with the terminal restored
    // by the handler of the signal.
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        report(panic);
        std::process::abort();
    }));
    let hal = HostedHal::new(config).unwrap_or_else(|error| give_up(STATUS_MACHINE, &error));
    sing_kernel::boot(hal, Options { args: run.args }, image)
}
