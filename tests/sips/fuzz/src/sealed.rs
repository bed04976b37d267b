//! Runs programs that report their result by their exit code: each line of the boot file `plans` is
//! a program's name and numbers, and the program runs once for each number, with that many
//! arguments. Writes `sealed: NAME NUMBER END` to the console device for each, and exits with 0 when
//! all are written.
//!
//! Invariants:
//! - No line is lost, however slow the reader: they do not go to the log, which drops what does not
//!   fit. A line is written out before the next program starts, and so are the crash reports before
//!   it.
//! - No line of the log comes in the middle of one: the device takes each whole, being empty.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use core::time::Duration;
use sing_sdk::boot;
use sing_sdk::console::{self, LINE_OUTPUT};
use sing_sdk::process::{Child, Exit};
use sing_sdk::sync::{Interrupt, wait};
use sing_sdk::time::Timeout;

sing_sdk::manifest! {
    name: "sealed",
    description: "runs programs that tell by their exit code how they went",
    privileges: [console, create, boot],
    memory: 256 MiB,
}

/// The boot file.
const PLANS: &str = "plans";
/// How long a program may run. They take microseconds, but a busy machine may let none of this run
/// for a while.
const PATIENCE: Duration = Duration::from_secs(300);

/// The console device, as the way out of results.
struct Results {
    room: Interrupt,
}

impl Results {
    /// Writes a line, and waits until it is written out.
    fn line(&self, text: &str) -> Result<(), Error> {
        let line = format!("sealed: {text}\n");
        let mut rest = line.as_bytes();
        while !rest.is_empty() {
            match console::write(rest)? {
                0 => self.wait()?,
                taken => rest = rest.get(taken..).unwrap_or_default(),
            }
        }
        while console::unwritten() > 0 {
            self.wait()?;
        }
        Ok(())
    }

    fn wait(&self) -> Result<(), Error> {
        wait(&self.room, Timeout::FOREVER)?;
        self.room.acknowledge();
        Ok(())
    }
}

fn run(name: &str, arguments: usize) -> Result<String, Error> {
    let child = Child::of(name)
        .args(core::iter::repeat_n("", arguments))
        .start()?;
    if !child.join_within(PATIENCE.into())? {
        child.stop(1)?;
        return Ok("hang".into());
    }
    Ok(match child.exit()? {
        Exit::Code(code) => format!("exit {code}"),
        Exit::Stopped(code) => format!("stopped {code}"),
        Exit::Trapped(code) => format!("trap {code}"),
    })
}

#[sing_sdk::main]
fn main() -> Result<(), Error> {
    let results = Results {
        room: Interrupt::new(LINE_OUTPUT)?,
    };
    let bytes = boot::whole(PLANS)?;
    let text = core::str::from_utf8(&bytes).map_err(|_| Error::BadArgument)?;
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let Some(name) = words.next() else {
            continue;
        };
        for number in words {
            let arguments = number.parse().map_err(|_| Error::BadArgument)?;
            match run(name, arguments) {
                Ok(end) => results.line(&format!("{name} {number} {end}"))?,
                Err(e) => results.line(&format!("{name} {number} not run: {e}"))?,
            }
        }
    }
    Ok(())
}
