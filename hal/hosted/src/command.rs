//! The command that runs a system image as a Linux process: `singularity [OPTIONS] IMAGE
//! [ARGUMENTS...]`, and `sing boot` with the same words.

use crate::arguments::{self, Command, Run};
use crate::{Config, HostDirectory, HostSockets, HostedHal, ImageFile, load};
use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use sing_abi::exit::machine;
use sing_kernel::{BootImage, Options};
use std::ffi::OsString;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, Write};

/// Runs the command with these words, which do not begin with its own name: `name`, as its
/// messages say it.
pub fn main(name: &str, words: impl IntoIterator<Item = OsString>) {
    let who = Who(name);
    match arguments::parse(lexopt::Parser::from_args(words)) {
        Ok(Command::Run(run)) => who.start(*run),
        Ok(Command::Help) => {
            who.say(&arguments::HELP.replacen("singularity", name, 1));
        }
        Ok(Command::Version) => who.say(&format!("{name} {}", env!("CARGO_PKG_VERSION"))),
        Err(error) => {
            who.give_up(machine::USAGE, &format!("{error}\nTry `{name} --help`."));
        }
    }
}

/// A system with one program, which a command runs as its own process.
#[derive(Debug)]
pub struct OneProgram {
    /// The system's image. Nobody changes the file while the system runs; whoever could is trusted
    /// with this process.
    pub image: File,
    /// The system's arguments.
    pub args: Vec<String>,
    /// Directories of the host.
    pub directories: Vec<HostDirectory>,
    /// What the program may do with sockets of the host.
    pub sockets: HostSockets,
    /// Whether the functions of loaded images are written for `perf` ([`Config::perf_map`]).
    pub perf_map: bool,
}

/// Runs it in this process, which ends with the system's status: its console is standard input, and the
/// two streams standard output and standard error. No other thread may run.
pub fn one_program(name: &str, system: OneProgram) -> ! {
    let who = Who(name);
    let image = who.loaded(ImageFile::new(system.image));
    let bytes = image.bytes();
    let config = Config {
        console: true,
        streams: true,
        image: Some(image),
        directories: system.directories,
        sockets: system.sockets,
        perf_map: system.perf_map,
        ..Config::default()
    };
    let options = Options {
        args: system.args,
        ..Options::default()
    };
    who.boot(config, options, bytes)
}

/// The name that messages begin with.
#[derive(Clone, Copy)]
struct Who<'a>(&'a str);

impl Who<'_> {
    /// Prints an answer; a reader that has gone is no fault.
    fn say(self, text: &str) {
        if let Err(error) = writeln!(io::stdout(), "{text}")
            && error.kind() != io::ErrorKind::BrokenPipe
        {
            let reason = format!("the output cannot be written: {error}");
            self.give_up(machine::NOBODY_READS, &reason);
        }
    }

    fn give_up(self, status: i32, error: &dyn Display) -> ! {
        // Without a reader the status says it alone.
        let _ = writeln!(io::stderr(), "{}: {error}", self.0);
        std::process::exit(status)
    }

    /// Has Linux end this process when its parent ends, which is this one.
    fn end_with(self, parent: i32) {
        let done = set_parent_process_death_signal(Some(Signal::KILL));
        if let Err(error) = done {
            self.give_up(machine::REFUSED, &format!("--parent: {error}"));
        }
        // It may have ended before.
        if getppid().is_none_or(|now| now.as_raw_nonzero().get() != parent) {
            self.give_up(machine::USAGE, &"--parent: another process started this");
        }
    }

    fn start(self, run: Run) -> ! {
        if let Some(parent) = run.parent {
            self.end_with(parent);
        }
        let image = self.loaded(load::image(&run.image));
        let config = Config {
            memory_limit: run.memory_limit,
            console: true,
            disks: run.disks,
            directories: run.directories,
            networks: run.networks,
            serial: run.serial,
            display: run.display,
            sockets: run.sockets,
            measures: run.measure,
            without_preemption: !run.preemption,
            perf_map: run.perf_map,
            ..Config::default()
        };
        let options = Options {
            args: run.args,
            tick: run.watch,
            stress: run.stress,
        };
        self.boot(config, options, image)
    }

    /// The image that was loaded.
    fn loaded<T>(self, image: Result<T, load::Error>) -> T {
        image.unwrap_or_else(|error| {
            let status = if error.unreadable() {
                machine::NO_IMAGE
            } else {
                machine::BAD_IMAGE
            };
            self.give_up(status, &error)
        })
    }

    fn boot(self, config: Config, options: Options, image: &'static [u8]) -> ! {
        // A panic is a bug of the kernel: whatever stack it happens on, the system ends, with the
        // terminal restored by the handler of the signal.
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            report(panic);
            std::process::abort();
        }));
        let hal =
            HostedHal::new(config).unwrap_or_else(|error| self.give_up(error.status(), &error));
        // SAFETY: whoever starts the system vouches for the image, as for any program. The bytes are in
        // sealed memory of the process, or those of a file that nobody changes while the system runs,
        // as `OneProgram` and `ImageFile` demand.
        let image = unsafe { BootImage::new(image) };
        sing_kernel::boot(hal, options, image)
    }
}
