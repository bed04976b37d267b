//! Runs one program and ends as it does: the main program of the system that `sing run` makes.
//!
//! `wasi-launcher AWAITED LISTENING IMAGE ARGUMENT...` waits until there is something at the paths of AWAITED
//! (with commas between them, or nothing), listens at the addresses of LISTENING (the same), starts the image with
//! these arguments, and connects its standard streams with the console device. As that has one way out, each piece of output goes
//! there as a frame: the stream's number (1 or 2), the piece's length in four bytes with the least
//! first, and the piece. `sing run` takes the frames apart.
//!
//! In a system without a name server, a program that needs none of it runs: nothing is awaited there.
//!
//! Invariants:
//! - What the program has written is written out before the system ends.
//! - Whatever the program writes, or does not read, holds nobody up but itself: a piece is taken
//!   from its pipe when the one before has gone to the device.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

use alloc::string::String;
use alloc::vec::Vec;
use core::net::SocketAddr;
use core::time::Duration;
use sing_sdk::console::{self, LINE_INPUT, LINE_OUTPUT};
use sing_sdk::contracts::PipeContract;
use sing_sdk::io::{Reader, Writer};
use sing_sdk::names::Names;
use sing_sdk::net::Listener;
use sing_sdk::prelude::*;
use sing_sdk::process::{Child, Exit, NotMade};
use sing_sdk::sync::{Interrupt, Mutex, wait};
use sing_sdk::time::{Timeout, sleep, uptime};
use sing_sdk::{args, thread};

sing_sdk::manifest! {
    name: "wasi-launcher",
    description: "runs one program with the console as its standard streams, and ends as it does",
    privileges: [console, create],
    endpoints: { names: optional NamespaceContract.Imp:Start },
}

/// The status of a program that was ended by a trap, as `wasmtime run` has it.
const TRAPPED: i32 = 134;
/// The status of a system whose program could not be started.
const NOT_STARTED: i32 = 126;
/// How long it waits for the paths: the program says what it misses.
const PATIENCE: Duration = Duration::from_secs(5);
/// The program's start-up endpoints for ports at which it listens; `sing run` names no more.
const LISTENERS: [&str; 4] = ["listener0", "listener1", "listener2", "listener3"];
/// Between two attempts to listen.
const LOOK: Duration = Duration::from_millis(2);
/// Connections that wait to be taken, at a port.
const BACKLOG: u32 = 64;
/// Bytes of input that are taken at a time.
const INPUT: usize = 4096;

#[sing_sdk::main]
fn main() -> Result<i32, Error> {
    let mut words = args::rest().into_iter();
    let awaited = words.next().ok_or(Error::BadArgument)?;
    let listening = words.next().ok_or(Error::BadArgument)?;
    let image = words.next().ok_or(Error::BadArgument)?;
    let mut names = startup::names().map(Names::new).transpose()?;
    if let Some(names) = &mut names {
        let awaited = awaited.split(',').filter(|path| !path.is_empty());
        names.await_paths(awaited, PATIENCE);
    }
    let output: &'static Mutex<Output> =
        alloc::boxed::Box::leak(alloc::boxed::Box::new(Mutex::new(Output {
            room: Interrupt::new(LINE_OUTPUT)?,
        })));
    let started = listen(&mut names, &listening).and_then(|listeners| {
        let started = start(&mut names, &image, words.collect(), listeners);
        started.map_err(|e| alloc::format!("the program cannot be started: {e}"))
    });
    let (child, streams) = match started {
        Ok(started) => started,
        Err(e) => {
            let text = alloc::format!("sing run: {e}\n");
            output.lock().put(2, text.as_bytes());
            return Ok(NOT_STARTED);
        }
    };
    let Streams {
        stdin,
        stdout,
        stderr,
    } = streams;
    let pump = |number: u8, pipe| {
        thread::spawn(move || {
            let mut reader = Reader::new(pipe);
            while let Some(piece) = reader.receive() {
                output.lock().put(number, &piece.to_vec());
            }
        })
    };
    let pumps = [pump(1, stdout)?, pump(2, stderr)?];
    // Nobody waits for this one: it ends with the process.
    let input = thread::spawn(move || feed(Writer::new(stdin)));
    drop(input);
    child.start()?;
    let exit = child.join()?;
    for pump in pumps {
        // A pipe ends with the process that has its other end.
        let _ = pump.join();
    }
    Ok(match exit {
        Exit::Code(code) => code,
        Exit::Trapped(_) => TRAPPED,
        Exit::Stopped(_) => exit.status(),
    })
}

/// Listens at these addresses.
fn listen(names: &mut Option<Names>, addresses: &str) -> Result<Vec<Listener>, String> {
    let addresses = addresses.split(',').filter(|address| !address.is_empty());
    let each = addresses.map(|address| {
        let wrong = |error: Error| alloc::format!("--tcplisten {address}: {error}");
        let local: SocketAddr = address.parse().map_err(|_| wrong(Error::BadArgument))?;
        let names = names.as_mut().ok_or_else(|| wrong(Error::NotFound))?;
        // The network starts when it is asked for, and may first have to find its devices.
        let end = uptime() + PATIENCE;
        loop {
            match Listener::new(names, "/tcp", local, BACKLOG) {
                Err(Error::NotFound | Error::Network(TcpFault::Down)) if uptime() < end => {
                    sleep(LOOK);
                }
                made => return made.map_err(wrong),
            }
        }
    });
    each.collect()
}

/// The other ends of the program's standard streams.
struct Streams {
    stdin: PipeContract::Imp<PipeContract::Start>,
    stdout: PipeContract::Exp<PipeContract::Start>,
    stderr: PipeContract::Exp<PipeContract::Start>,
}

/// Makes the program's process, which does not run yet.
fn start(
    names: &mut Option<Names>,
    image: &str,
    words: Vec<String>,
    listeners: Vec<Listener>,
) -> Result<(Child, Streams), NotMade> {
    let failed = |e| NotMade::new(image, e);
    let (stdin, input) = PipeContract::new_channel().map_err(failed)?;
    let (output, stdout) = PipeContract::new_channel().map_err(failed)?;
    let (errors, stderr) = PipeContract::new_channel().map_err(failed)?;
    let own = names.as_mut().map(Names::connect).transpose();
    let own = own.map_err(failed)?;
    let manifest = sing_sdk::process::manifest(image).map_err(failed)?;
    let asks = |name: &str| manifest.endpoints.iter().any(|e| e.name == name);
    let mut child = Child::of(image).manifest(&manifest).args(words);
    if asks("stdin") {
        child = child.endpoint("stdin", input);
    }
    if asks("stdout") {
        child = child.endpoint("stdout", output);
    }
    if asks("stderr") {
        child = child.endpoint("stderr", errors);
    }
    if let Some(own) = own
        && asks("names")
    {
        child = child.endpoint("names", own);
    }
    for (listener, name) in listeners.into_iter().zip(LISTENERS) {
        let channel = listener.into_channel().map_err(failed)?;
        child = child.endpoint(name, channel);
    }
    let streams = Streams {
        stdin,
        stdout,
        stderr,
    };
    Ok((child.create()?, streams))
}

/// The console device, as the way out.
struct Output {
    room: Interrupt,
}

impl Output {
    /// Writes a piece of a stream. Without a reader the machine ends by itself.
    fn put(&mut self, stream: u8, piece: &[u8]) {
        // A block has at most 1 GiB.
        let [a, b, c, d] = (piece.len() as u32).to_le_bytes();
        self.write(&[stream, a, b, c, d]);
        self.write(piece);
    }

    fn write(&mut self, mut bytes: &[u8]) {
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

/// Gives the program what comes from the console device, up to its end.
fn feed(mut stdin: Writer) {
    let Ok(typed) = Interrupt::new(LINE_INPUT) else {
        return;
    };
    let mut buffer = alloc::vec![0; INPUT];
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
                // The next piece is taken from the device when the program has taken this one.
                if sent.and_then(|()| stdin.settle()).is_err() {
                    return;
                }
            }
            Err(_) => return,
        }
    }
}
