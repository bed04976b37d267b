//! The shell: reads commands, starts programs as children connected by pipes, and says how they
//! ended.
//!
//! A program gets only endpoints that its manifest asks for and the shell can give: pipes for its
//! standard streams, a channel to the name server. Everything except the shell's own state is left
//! to programs.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

mod builtins;
mod complete;
mod console;
mod files;
mod jobs;
mod pipeline;
mod session;
mod words;

use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::usage::Refused;

sing_sdk::manifest! {
    name: "shell",
    description: "the shell: shell [--await PATHS] [--first COMMANDS] [--script PATH | -c COMMANDS]",
    privileges: [create],
    endpoints: {
        console: ConsoleContract.Imp:Start,
        names: NamespaceContract.Imp:Start,
    },
    behavior: "
        state Start: ( console.Welcome? -> Greeted or console.ChannelClosed? -> end );
        state Greeted: ( names.Success? -> Showing or names.ChannelClosed? -> end );
        state Showing: console.Show! -> ( console.AckShow? -> Running or console.ChannelClosed? -> end );
        state Running: one {
          console.ReadLine! -> Asked;
          console.Show! -> ( console.AckShow? -> Running or console.ChannelClosed? -> Mute );
          console.Foreground! -> ( console.AckForeground? -> Running or console.ChannelClosed? -> Mute );
          console.Again! -> ( console.AckAgain? -> Running or console.ChannelClosed? -> Mute );
          console.Flush! -> ( console.AckFlush? -> Running or console.ChannelClosed? -> Mute );
          names.Bind! -> ( names.AckBind? -> Running or names.NakBind? -> Running or names.ChannelClosed? -> Lost );
          names.Find! -> ( names.AckFind? -> Running or names.NakFind? -> Running or names.ChannelClosed? -> Lost );
          skip -> end;
        }
        state Asked: ( console.Line? -> Running or console.Interrupted? -> Running or console.EndOfInput? -> Running
          or console.Complete? -> Completing or console.ChannelClosed? -> Mute );
        state Completing: one {
          names.Bind! -> ( names.AckBind? -> Completing or names.NakBind? -> Completing or names.ChannelClosed? -> CompletingLost );
          console.Completed! -> Asked;
        }
        // The console has gone.
        state Mute: one {
          names.Bind! -> ( names.AckBind? -> Mute or names.NakBind? -> Mute or names.ChannelClosed? -> Leaving );
          names.Find! -> ( names.AckFind? -> Mute or names.NakFind? -> Mute or names.ChannelClosed? -> Leaving );
          skip -> end;
        }
        // The name server has gone.
        state Lost: one {
          console.ReadLine! -> AskedLost;
          console.Show! -> ( console.AckShow? -> Lost or console.ChannelClosed? -> Leaving );
          console.Foreground! -> ( console.AckForeground? -> Lost or console.ChannelClosed? -> Leaving );
          console.Again! -> ( console.AckAgain? -> Lost or console.ChannelClosed? -> Leaving );
          console.Flush! -> ( console.AckFlush? -> Lost or console.ChannelClosed? -> Leaving );
          skip -> end;
        }
        state AskedLost: ( console.Line? -> Lost or console.Interrupted? -> Lost or console.EndOfInput? -> Lost
          or console.Complete? -> CompletingLost or console.ChannelClosed? -> Leaving );
        state CompletingLost: console.Completed! -> AskedLost;
        state Leaving: skip -> end;
    ",
}

sing_sdk::arguments! {
    /// Waits before everything else until there is something at this path, but not long: the service
    /// manager, which is there when the names of all services are.
    after: option Path "--after PATH";
    /// Waits before the first command until there is something at each of these paths, but not long.
    awaited: option String "--await PATH,...";
    /// Runs these commands before everything else, also before the prompt. Their status is nobody's.
    first: option String "--first COMMANDS";
    /// Runs the commands in this file of the name space.
    script: option Path "--script PATH";
    /// Runs these commands.
    commands: option String "-c COMMANDS";
}

/// The size to which the heap is grown at the start: a shell without any other memory can still end
/// processes.
const HEAP: usize = 1 << 20;

#[sing_sdk::main]
fn main(given: Result<Arguments, Refused>) -> Result<i32, Error> {
    sing_sdk::reserve(HEAP)?;
    let console = startup::console().ok_or(Error::NotFound)?;
    let names = startup::names().ok_or(Error::NotFound)?;
    let mut session = session::Session::new(console::Console::new(console)?, Names::new(names)?)?;
    // The shell has no standard streams: the session prints the usage on the console.
    match given {
        Ok(Arguments {
            after,
            awaited,
            first,
            script,
            commands,
        }) => {
            session.wait_for(after.as_deref().into_iter());
            session.wait_for(awaited.iter().flat_map(|paths| paths.split(',')));
            if let (Some(first), false) = (first, script.is_some() && commands.is_some()) {
                session.run(&first);
                session.variables.status = 0;
            }
            match (script, commands) {
                _ if session.ending.is_some() => {}
                (None, None) => session.interact(),
                (Some(path), None) => session.script(&path),
                (None, Some(commands)) => session.run(&commands),
                _ => session.fail(2, &USAGE.refusal("shell", "--script or -c, not both")),
            }
        }
        Err(Refused::Help) => session.say(&USAGE.text("shell")),
        Err(Refused::Wrong(reason)) => session.fail(2, &USAGE.refusal("shell", &reason)),
    }
    session.finish()
}
