//! A parent with children: it starts three, waits for two, and ends the third, which never would.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use core::error;
use core::time::Duration;
use sing_sdk::io::Reader;
use sing_sdk::process::Child;

sing_sdk::manifest! {
    name: "family",
    description: "starts children, waits for them, ends them",
    privileges: [create],
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start },
}

sing_sdk::arguments! {}

#[sing_sdk::main]
fn main(_: Arguments) -> Result<(), Box<dyn error::Error>> {
    // The child's output comes to its parent, which gave it the pipe.
    let (imp, exp) = PipeContract::new_channel()?;
    let hello = Child::of("hello")
        .arg("hello")
        .endpoint("stdout", imp)
        .start()?;
    let said = Reader::new(exp).read_to_end();
    println!(
        "child {} said: {}",
        hello.id(),
        String::from_utf8_lossy(&said).trim_end()
    );
    println!("child {} has ended: {}", hello.id(), hello.join()?);

    // The kernel reports a crash in the log, not in the output of the program.
    sing_sdk::io::flush();
    let crash = Child::of("crash").args(["crash", "div0"]).start()?;
    println!("child {} has ended: {}", crash.id(), crash.join()?);

    let spin = Child::of("spin").arg("spin").start()?;
    let ended = spin.join_within(Duration::from_millis(20).into())?;
    println!(
        "child {} has {}",
        spin.id(),
        if ended {
            "ended?"
        } else {
            "not ended after 20 ms"
        }
    );
    spin.stop(7)?;
    println!("child {} has ended: {}", spin.id(), spin.join()?);
    Ok(())
}
