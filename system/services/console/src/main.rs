//! The console: the SIP that owns the console device.
//!
//! It has one client, the shell, which reads lines from it, passes it the output of jobs and hands
//! over the input of the job in the foreground. At a terminal it edits lines, keeps a history, and
//! turns Ctrl-C into an interrupt of the job; otherwise it reads plain lines.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

mod completion;
mod input;
mod note;
mod output;
mod server;
mod succession;

use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "console",
    description: "owns the console: line editing, history, output of jobs",
    privileges: [console],
    endpoints: { shell: ConsoleContract.Exp:Start },
    memory: 16 MiB,
    behavior: "
        // If another process has the device, or it does not understand its arguments, it ends at
        // once.
        state Start: ( shell.Welcome! -> Ready or skip -> end );
        state Ready: one {
          shell.ReadLine? -> Asked;
          shell.Show? -> shell.AckShow! -> Ready;
          shell.Foreground? -> shell.AckForeground! -> Ready;
          shell.Flush? -> shell.AckFlush! -> Ready;
          shell.ChannelClosed? -> end;
        }
        state Asked: one {
          shell.Line! -> Ready;
          shell.Interrupted! -> Ready;
          shell.EndOfInput! -> Ready;
          shell.Complete! -> ( shell.Completed? -> Asked or shell.ChannelClosed? -> end );
        }
    ",
}

sing_sdk::arguments! {}

#[sing_sdk::main]
fn main(_: Arguments) -> Result<(), Error> {
    let server = server::Server::new()?;
    match startup::shell() {
        Some(shell) => server.run(shell),
        None if server.go_on() => {}
        None => return Err(Error::NotFound),
    }
    Ok(())
}
