//! Runs a program that misbehaves and sees to it that nobody else suffers: `warden PROGRAM`.
//!
//! The program gets the endpoints that its manifest asks for: honest partners answer them, and for `VictimContract` the
//! warden itself is the partner, who takes what the types say and must meet nothing else. It runs twice, and ends the
//! same way both times; what there was before the second time is there after it: pages, blocks, handles, channels,
//! threads.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use core::time::Duration;
use sing_sdk::contracts::{BenchContract, PingContract};
use sing_sdk::inspect;
use sing_sdk::process::{self, Child, Exit, Side};

sing_sdk::contract!(
    "
    enum Colour : byte { Red = 3, Green = 200 }
    rep struct Point { int x; Colour colour; }

    contract NoteContract {
      in message Note(int n);
      out message Noted();
      state Start: Note? -> Noted! -> Start;
    }

    contract VictimContract {
      in message Paint(Colour colour);
      in message Say(int x) requires x > 0 && x < 10;
      in message Flag(bool on);
      in message Letter(char c);
      in message Place(Point at);
      in message Point(Point* in ExHeap one);
      in message Row(Point[] in ExHeap all);
      in message Name(char[] in ExHeap name);
      in message Take(byte[] in ExHeap data, NoteContract.Imp:Start note);
      out message Thanks();
      state Start: one {
        Paint? -> Taken;
        Say? -> Taken;
        Flag? -> Taken;
        Letter? -> Taken;
        Place? -> Taken;
        Point? -> Taken;
        Row? -> Taken;
        Name? -> Taken;
        Take? -> Taken;
      }
      state Taken: Thanks! -> Start;
    }
    "
);

sing_sdk::manifest! {
    name: "warden",
    description: "runs a program that misbehaves, and looks whom it harms",
    privileges: [create, inspect],
    endpoints: { stdout: optional PipeContract.Imp:Start },
}

/// How long a program may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// The exit code where something is left behind, or the program did not end as it did before.
const HARM: i32 = 99;

/// Takes whatever comes, as a program that trusts its types does. How many messages came before the end.
fn victim(mut exp: VictimContract::Exp<VictimContract::Start>) -> u32 {
    use VictimContract::exp::Start;
    let mut taken = 0;
    loop {
        let next = match exp.recv() {
            Start::Paint(colour, next) => {
                println!("victim: {colour:?}");
                next
            }
            Start::Say(x, next) => {
                println!("victim: {x}");
                next
            }
            Start::Flag(on, next) => {
                println!("victim: {on}");
                next
            }
            Start::Letter(c, next) => {
                println!("victim: {c:?}");
                next
            }
            Start::Place(at, next) => {
                println!("victim: {at:?}");
                next
            }
            Start::Point(one, next) => {
                println!("victim: {:?}", one.get());
                next
            }
            Start::Row(all, next) => {
                println!("victim: {} points, {:?}", all.len(), all.get(0));
                next
            }
            Start::Name(name, next) => {
                println!("victim: {:?}", name.get());
                next
            }
            Start::Take(data, note, next) => {
                println!("victim: {} bytes", data.len());
                drop(note.send_note(1));
                next
            }
            Start::Closed => return taken,
        };
        taken += 1;
        exp = next.send_thanks();
    }
}

/// Runs the program once, with partners for its endpoints.
fn run(program: &str) -> Result<Exit, Error> {
    let mut builder = Child::of(program).arg(program);
    let mut partners: Vec<Child> = Vec::new();
    let mut served = None;
    for endpoint in process::manifest(program)?.endpoints {
        builder = match (endpoint.contract.as_str(), endpoint.side) {
            ("PingContract", Side::Imp) => {
                let (imp, exp) = PingContract::new_channel()?;
                partners.push(Child::of("pong").arg("pong").endpoint(exp).start()?);
                builder.endpoint(imp)
            }
            ("BenchContract", Side::Imp) => {
                let (imp, exp) = BenchContract::new_channel()?;
                let peer = Child::of("bench-peer").arg("bench-peer").endpoint(exp);
                partners.push(peer.start()?);
                builder.endpoint(imp)
            }
            ("VictimContract", Side::Imp) => {
                let (imp, exp) = VictimContract::new_channel()?;
                served = Some(exp);
                builder.endpoint(imp)
            }
            _ => builder.no_endpoint(),
        };
    }
    let started = builder.start();
    if let (Ok(_), Some(exp)) = (&started, served) {
        println!("victim: closed after {} messages", victim(exp));
    }
    let ended = started.and_then(|child| {
        if !child.join_within(PATIENCE.into())? {
            println!("warden: {program} does not end");
            child.stop(HARM)?;
        }
        child.exit()
    });
    for partner in partners {
        // Its channel has been closed.
        let exit = partner.join()?;
        if exit != Exit::Code(0) {
            println!("warden: the partner of {program}: {exit}");
        }
    }
    ended
}

/// What there is, once nothing changes any more: who ran before may still be going.
fn counts() -> Result<inspect::Memory, Error> {
    let mut last = inspect::memory()?;
    for _ in 0..100 {
        sing_sdk::time::sleep(Duration::from_millis(1));
        let now = inspect::memory()?;
        if inspect::difference(&last, &now).is_none() {
            break;
        }
        last = now;
    }
    Ok(last)
}

#[sing_sdk::main]
fn main() -> Result<i32, Error> {
    let Some(program) = sing_sdk::args::get(1) else {
        println!("use: warden PROGRAM");
        return Ok(2);
    };
    // Once before counting, so that what is made at first use has been made.
    let first = run(&program);
    let before = counts()?;
    let second = run(&program);
    let after = counts()?;
    let end = match &second {
        Ok(exit) => format!("{exit}"),
        Err(error) => format!("not started: {error}"),
    };
    if first != second {
        println!("warden: {program}: {end}, which is not how it ended before");
        return Ok(HARM);
    }
    match inspect::difference(&before, &after) {
        None => println!("warden: {program}: {end}; nothing left behind"),
        Some(left) => {
            println!("warden: {program}: {end}; left behind: {left}");
            return Ok(HARM);
        }
    }
    Ok(second.map_or(1, Exit::status))
}
