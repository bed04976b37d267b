//! Runs programs that report their result by their exit code: each line of the boot file `plans` is
//! a program's name and numbers, and the program runs once for each number, with that many
//! arguments. Prints `sealed: NAME NUMBER END` for each.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use core::time::Duration;
use sing_sdk::boot;
use sing_sdk::process::{Child, Exit};
use sing_sdk::rt::Block;

sing_sdk::manifest! {
    name: "sealed",
    description: "runs programs that tell by their exit code how they went",
    privileges: [create, boot],
    endpoints: { stdout: optional PipeContract.Imp:Start },
    memory: 256 MiB,
}

/// The boot file.
const PLANS: &str = "plans";
/// How long a program may run.
const PATIENCE: Duration = Duration::from_secs(20);

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
    let size = boot::size(PLANS)?;
    let mut block = Block::new(size as usize)?;
    boot::read(PLANS, 0, &mut block)?;
    let bytes = block.to_vec();
    let text = core::str::from_utf8(&bytes).map_err(|_| Error::BadArgument)?;
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let Some(name) = words.next() else {
            continue;
        };
        for number in words {
            let arguments = number.parse().map_err(|_| Error::BadArgument)?;
            match run(name, arguments) {
                Ok(end) => println!("sealed: {name} {number} {end}"),
                Err(e) => println!("sealed: {name} {number} not run: {e}"),
            }
        }
    }
    println!("sealed: done");
    Ok(())
}
