//! The console: the SIP that owns the console device.
//!
//! It has one client, the shell, which reads lines from it, passes it the output of jobs and hands
//! over the input of the job in the foreground. Beside the device, a keyboard and a screen are
//! typed on and shown on while their drivers are there. At a terminal it edits lines, keeps a
//! history, and turns Ctrl-C into an interrupt of the job; otherwise it reads plain lines.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

mod attached;
mod completion;
mod display;
mod finder;
mod foreground;
mod input;
mod keyboard;
mod note;
mod output;
mod server;
mod size;
mod succession;

use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "console",
    description: "owns the console: line editing, history, output of jobs",
    privileges: [console],
    endpoints: {
        shell: ConsoleContract.Exp:Start,
        names: optional NamespaceContract.Imp:Start,
    },
    memory: 16 MiB,
    behavior: "
        // If another process has the device, or it does not understand its arguments, it ends at
        // once.
        state Start: ( shell.Welcome! -> Greeted or skip -> end );
        // At a terminal it asks the name server for keyboards and screens. It does not wait for the
        // answers, but what it does meanwhile for the shell does not depend on them.
        state Greeted: ( names.Success? -> Ready or names.ChannelClosed? -> ReadyLost or skip -> ReadyLost );
        state Ready: one {
          shell.ReadLine? -> Asked;
          shell.Show? -> shell.AckShow! -> Ready;
          shell.Foreground? -> shell.AckForeground! -> Ready;
          shell.Again? -> shell.AckAgain! -> Ready;
          shell.Flush? -> shell.AckFlush! -> Ready;
          shell.ChannelClosed? -> end;
          names.Bind! -> ( names.AckBind? -> Ready or names.NakBind? -> Ready or names.ChannelClosed? -> ReadyLost );
          names.Notify! -> ( names.AckNotify? -> Ready or names.NakNotify? -> Ready or names.ChannelClosed? -> ReadyLost );
        }
        state Asked: one {
          shell.Line! -> Ready;
          shell.Interrupted! -> Ready;
          shell.EndOfInput! -> Ready;
          shell.Complete! -> ( shell.Completed? -> Asked or shell.ChannelClosed? -> end );
          names.Bind! -> ( names.AckBind? -> Asked or names.NakBind? -> Asked or names.ChannelClosed? -> AskedLost );
          names.Notify! -> ( names.AckNotify? -> Asked or names.NakNotify? -> Asked or names.ChannelClosed? -> AskedLost );
        }
        // Without a name server, or none it needs.
        state ReadyLost: one {
          shell.ReadLine? -> AskedLost;
          shell.Show? -> shell.AckShow! -> ReadyLost;
          shell.Foreground? -> shell.AckForeground! -> ReadyLost;
          shell.Again? -> shell.AckAgain! -> ReadyLost;
          shell.Flush? -> shell.AckFlush! -> ReadyLost;
          shell.ChannelClosed? -> end;
        }
        state AskedLost: one {
          shell.Line! -> ReadyLost;
          shell.Interrupted! -> ReadyLost;
          shell.EndOfInput! -> ReadyLost;
          shell.Complete! -> ( shell.Completed? -> AskedLost or shell.ChannelClosed? -> end );
        }
    ",
}

sing_sdk::arguments! {}

#[sing_sdk::main]
fn main(_: Arguments) -> Result<(), Error> {
    let server = server::Server::new(startup::names())?;
    match startup::shell() {
        Some(shell) => server.run(shell),
        None if server.go_on() => {}
        None => return Err(Error::NotFound),
    }
    Ok(())
}
