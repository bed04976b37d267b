//! Runs a program that misbehaves and checks that no other process is harmed: `warden PROGRAM`.
//!
//! The program gets the endpoints that its manifest asks for: honest partners answer them, and for
//! `VictimContract` the warden itself is the partner, which accepts what the types allow and must
//! receive nothing else. The program runs twice, and must end the same way both times; the second
//! run must leave the system's counts unchanged: pages, blocks, handles, channels, threads.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use core::time::Duration;
use sing_sdk::contracts::PingContract;
use sing_sdk::inspect::{self, Memory};
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
/// How long to wait between checks.
const MOMENT: Duration = Duration::from_millis(1);
/// How often in a row everything must be the same before a count holds.
const CALM: usize = 5;
/// How often to check before a difference counts as left behind.
const LONG: usize = 500;
/// The exit code if something is left behind, or the program did not end as it did before.
const HARM: i32 = 99;

/// Receives all messages, as a program that trusts its types does, and notes them.
fn victim(mut exp: VictimContract::Exp<VictimContract::Start>, notes: &mut Vec<String>) {
    use VictimContract::exp::Start;
    let mut taken = 0;
    loop {
        let (what, next) = match exp.recv() {
            Start::Paint(colour, next) => (format!("{colour:?}"), next),
            Start::Say(x, next) => (format!("{x}"), next),
            Start::Flag(on, next) => (format!("{on}"), next),
            Start::Letter(c, next) => (format!("{c:?}"), next),
            Start::Place(at, next) => (format!("{at:?}"), next),
            Start::Point(one, next) => (format!("{:?}", one.get()), next),
            Start::Row(all, next) => (format!("{} points, {:?}", all.len(), all.get(0)), next),
            Start::Name(name, next) => (format!("{:?}", name.get()), next),
            Start::Take(data, note, next) => {
                drop(note.send_note(1));
                (format!("{} bytes", data.len()), next)
            }
            Start::Closed => break,
        };
        notes.push(format!("victim: {what}"));
        taken += 1;
        exp = next.send_thanks();
    }
    notes.push(format!("victim: closed after {taken} messages"));
}

/// Runs the program once, with partners for its endpoints, and notes its findings. Prints nothing:
/// output on its way to the console would be counted.
fn run(program: &str, notes: &mut Vec<String>) -> Result<Exit, Error> {
    let mut builder = Child::of(program).arg(program);
    let mut partners: Vec<Child> = Vec::new();
    let mut served = None;
    let manifest = process::manifest(program)?;
    for endpoint in &manifest.endpoints {
        let name = endpoint.name.as_str();
        builder = match (endpoint.contract.as_str(), endpoint.side) {
            ("PingContract", Side::Imp) => {
                let (imp, exp) = PingContract::new_channel()?;
                partners.push(
                    Child::of("pong")
                        .arg("pong")
                        .endpoint("ping", exp)
                        .start()?,
                );
                builder.endpoint(name, imp)
            }
            ("VictimContract", Side::Imp) => {
                let (imp, exp) = VictimContract::new_channel()?;
                served = Some(exp);
                builder.endpoint(name, imp)
            }
            _ => builder,
        };
    }
    let started = builder.manifest(&manifest).start().map_err(Error::from);
    if let (Ok(_), Some(exp)) = (&started, served) {
        victim(exp, notes);
    }
    let ended = started.and_then(|child| {
        if !child.join_within(PATIENCE.into())? {
            notes.push(format!("warden: {program} does not end"));
            child.stop(HARM)?;
        }
        child.exit()
    });
    for partner in partners {
        // Its channel has been closed.
        let exit = partner.join()?;
        if exit != Exit::Code(0) {
            notes.push(format!("warden: the partner of {program}: {exit}"));
        }
    }
    ended
}

/// The counts, once they have not changed for a while: earlier programs may still be ending.
fn counts() -> Result<Memory, Error> {
    let mut last = inspect::memory()?;
    let mut calm = 0;
    while calm < CALM {
        sing_sdk::time::sleep(MOMENT);
        let now = inspect::memory()?;
        calm = match inspect::difference(&last, &now) {
            None => calm + 1,
            Some(_) => 0,
        };
        last = now;
    }
    Ok(last)
}

/// The lasting differences to the earlier counts.
fn left(before: &Memory) -> Result<Option<String>, Error> {
    let mut difference = None;
    for _ in 0..LONG {
        difference = inspect::difference(before, &inspect::memory()?);
        if difference.is_none() {
            break;
        }
        sing_sdk::time::sleep(MOMENT);
    }
    Ok(difference)
}

#[sing_sdk::main]
fn main() -> Result<i32, Error> {
    let Some(program) = sing_sdk::args::get(1) else {
        println!("use: warden PROGRAM");
        return Ok(2);
    };
    // Once before counting, so that objects made at first use exist.
    let first = run(&program, &mut Vec::new());
    let mut notes = Vec::with_capacity(8);
    let before = counts()?;
    let second = run(&program, &mut notes);
    let left = left(&before)?;
    for note in notes {
        println!("{note}");
    }
    let end = match &second {
        Ok(exit) => format!("{exit}"),
        Err(error) => format!("not started: {error}"),
    };
    if first != second {
        println!("warden: {program}: {end}, which is not how it ended before");
        return Ok(HARM);
    }
    if let Some(left) = left {
        println!("warden: {program}: {end}; left behind: {left}");
        return Ok(HARM);
    }
    println!("warden: {program}: {end}; nothing left behind");
    Ok(second.map_or(1, Exit::status))
}
