//! Shows what programs write, in a system without a console service and a shell.
//!
//! The system manifest connects each program's `stdout` and `stderr` with a `from` of this one's,
//! and a program's `stdin` with `to`. Those under its supervision are the programs that the system
//! runs for: when the last of them has ended, this one ends as the first that failed did, and with
//! it the system, whose main program it is. Without any it ends when all pipes are closed.
//!
//! Invariants:
//! - What a program wrote before its end is shown: a block is in the queue of its pipe before the
//!   writer goes on, and the pipes are looked at once more when all have ended.
//! - A program that writes without end, or does not read, holds nobody up: each pipe has its turn,
//!   a writer waits for the block before, and input is taken when the one before was read.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::console::{self, LINE_INPUT, LINE_OUTPUT};
use sing_sdk::prelude::*;
use sing_sdk::process::{self, Child, Exit};
use sing_sdk::sync::{Interrupt, wait};
use sing_sdk::thread;
use sing_sdk::time::Timeout;

sing_sdk::manifest! {
    name: "show",
    description: "shows what programs write, and ends as they do",
    privileges: [console, create],
    endpoints: {
        to: optional PipeContract.Imp:Start,
        from: many PipeContract.Exp:Start,
    },
}

/// The status of a system whose program was ended by a trap, as `sing run` has it.
const TRAPPED: i32 = 134;
/// Bytes of input that are taken at a time.
const INPUT: usize = 4096;

type Pipe = PipeContract::Exp<PipeContract::Start>;

#[sing_sdk::main]
fn main() -> Result<i32, Error> {
    let output = Output {
        room: Interrupt::new(LINE_OUTPUT)?,
    };
    let mut pipes = EndpointSet::new()?;
    for pipe in startup::from() {
        // It holds as many as a manifest can name.
        let _ = pipes.insert(pipe);
    }
    if let Some(pipe) = startup::to() {
        // Nobody waits for this thread: it ends with the process.
        drop(thread::spawn(move || feed(pipe))?);
    }
    let mut status = 0;
    // Without a program to wait for, all are shown until they have gone.
    let mut patience = Timeout::FOREVER;
    for ward in process::wards() {
        patience = Timeout::NONE;
        let ended = join(&ward, &mut pipes, &output)?;
        if status == 0 {
            status = ended;
        }
    }
    while show_one(&mut pipes, &output, patience) {}
    Ok(status)
}

/// Shows what comes until a program has ended; its status.
fn join(ward: &Child, pipes: &mut EndpointSet<Pipe>, output: &Output) -> Result<i32, Error> {
    loop {
        if pipes.is_empty() {
            return ward.join().map(status);
        }
        switch_receive! {
            case pipes[key].Write(data) as pipe => {
                output.write(data.block());
                pipes.put(key, pipe.send_ack());
            }
            case pipes[_].ChannelClosed() => {}
            case &*ward => return ward.exit().map(status),
        }
    }
}

/// Shows one block, if one comes in time.
fn show_one(pipes: &mut EndpointSet<Pipe>, output: &Output, patience: Timeout) -> bool {
    if pipes.is_empty() {
        return false;
    }
    switch_receive! {
        case pipes[key].Write(data) as pipe => {
            output.write(data.block());
            pipes.put(key, pipe.send_ack());
            true
        }
        case pipes[_].ChannelClosed() => true,
        timeout patience => false,
    }
}

fn status(exit: Exit) -> i32 {
    match exit {
        Exit::Code(code) => code,
        Exit::Trapped(_) => TRAPPED,
        Exit::Stopped(_) => exit.status(),
    }
}

/// The console device, as the way out.
struct Output {
    room: Interrupt,
}

impl Output {
    /// Writes a block, a piece at a time: its length is the writer's choice.
    fn write(&self, block: &Block) {
        let mut piece = [0; 512];
        let mut done = 0;
        while done < block.len() {
            let count = piece.len().min(block.len() - done);
            let piece = &mut piece[..count];
            block.read(done, piece);
            self.write_bytes(piece);
            done += count;
        }
    }

    /// Without a reader the machine ends by itself.
    fn write_bytes(&self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            match console::write(bytes) {
                Ok(0) => {
                    if wait(&self.room, Timeout::FOREVER).is_err() {
                        return;
                    }
                    self.room.acknowledge();
                }
                Ok(taken) => bytes = bytes.get(taken..).unwrap_or_default(),
                Err(_) => return,
            }
        }
    }
}

/// Gives a program what comes from the console device, up to its end.
fn feed(pipe: PipeContract::Imp<PipeContract::Start>) {
    let mut stdin = sing_sdk::io::Writer::new(pipe);
    let Ok(typed) = Interrupt::new(LINE_INPUT) else {
        return;
    };
    let mut buffer = vec![0; INPUT];
    loop {
        match console::read(&mut buffer) {
            Ok(0) => {
                if wait(&typed, Timeout::FOREVER).is_err() {
                    return;
                }
                typed.acknowledge();
            }
            Ok(count) => {
                let sent = stdin.write(buffer.get(..count).unwrap_or_default());
                // The next piece is taken when the program has taken this one.
                if sent.and_then(|()| stdin.settle()).is_err() {
                    return;
                }
            }
            Err(_) => return,
        }
    }
}
