//! A program that a host program talks with by a contract of their own, for the tests of embedding.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;
use sing_sdk::rt::Record;

sing_sdk::contract!("talker.contract");
sing_sdk::contract!("speak.contract");

sing_sdk::manifest! {
    name: "talker",
    description: "talks with a host program",
    endpoints: {
        talk: optional TalkContract.Exp:Start,
        fetched: optional TalkContract.Exp:Fetching,
        asks: optional TalkContract.Imp:Start,
        speak: optional SpeakContract.Exp:Start,
        wonders: optional SpeakContract.Imp:Start,
        random: optional EntropyContract.Imp:Ready,
    },
    memory: 4 MiB,
}

use TalkContract::exp::Start as Asked;

type Idle = TalkContract::Exp<TalkContract::Start>;
type Fetching = TalkContract::Exp<TalkContract::Fetching>;

/// Gives bytes, each the number of its place, and their sum.
fn give(length: usize, fetching: Fetching) -> Idle {
    let Ok(mut bytes) = Vector::<u8>::new(length) else {
        return fetching.send_nothing();
    };
    let mut sum = 0u32;
    for at in 0..length {
        let value = at as u8;
        bytes.set(at, value);
        sum = sum.wrapping_add(u32::from(value));
    }
    fetching.send_data(bytes, sum)
}

/// Gives a part of a block whose rest it keeps.
fn part(length: usize, offset: usize, shares: bool, fetching: Fetching) -> Result<Idle, Error> {
    let Ok(bytes) = Vector::<u8>::new(length) else {
        return Ok(fetching.send_nothing());
    };
    let mut whole = bytes.into_block();
    let part = match shares {
        true => whole.share(offset..length)?,
        false => whole.split(offset)?,
    };
    core::mem::forget(whole);
    Ok(fetching.send_data(Vector::from_block(part), offset as u32))
}

fn draw(
    at: Point,
    line: &Vector<Point>,
    next: TalkContract::Exp<TalkContract::Start_Draw>,
    rest: (Shade, Option<u32>, Option<Vector<u8>>),
) -> Result<Idle, Error> {
    let (shade, width, note) = rest;
    let points = (0..line.len()).filter_map(|i| line.get(i));
    let all = points.fold(at, |sum, point| Point {
        x: sum.x + point.x,
        y: sum.y + point.y,
    });
    let last = line.len().checked_sub(1).and_then(|i| line.get(i));
    let last = Record::new(last.ok_or(Error::BadArgument)?)?;
    let shade = match shade {
        Shade::Dark => Shade::Light,
        Shade::Light => Shade::Dark,
    };
    Ok(next.send_drawn(all, shade, last, width.map(|width| width + 1), note))
}

fn misbehave(how: u32, next: TalkContract::Exp<TalkContract::Start_Misbehave>) -> Idle {
    match how {
        0 => panic!("it crashes as it was told"),
        1 => sing_sdk::process::exit(9),
        2 => {
            drop(next);
            loop {
                sing_sdk::time::sleep(core::time::Duration::from_secs(3600));
            }
        }
        3 => loop {
            core::hint::spin_loop();
        },
        4 => loop {
            sing_sdk::time::sleep(core::time::Duration::from_secs(3600));
        },
        // Its last word, and then nothing.
        _ => {
            drop(next.send_sum(7));
            sing_sdk::process::exit(9)
        }
    }
}

/// Speaks with a host that has no types of the contract's.
fn speak(peer: SpeakContract::Exp<SpeakContract::Start>) -> Result<(), Error> {
    use SpeakContract::exp::Start as Spoken;
    let mut sum = 0i64;
    let mut asked = peer.recv();
    loop {
        asked = match asked {
            Spoken::Add(number, twice, next) => {
                sum += i64::from(number) * if twice { 2 } else { 1 };
                next.call_sum(sum)
            }
            Spoken::Say(text, next) => {
                let length = text.len() as u32;
                next.call_said(text, length)
            }
            Spoken::Note(note, next) => next.call_noted(note),
            Spoken::Misbehave(how, next) => match how {
                0 => panic!("it crashes as it was told"),
                1 => sing_sdk::process::exit(9),
                how => {
                    if how == 2 {
                        drop(next);
                    }
                    loop {
                        sing_sdk::time::sleep(core::time::Duration::from_secs(3600));
                    }
                }
            },
            _ => return Ok(()),
        };
    }
}

/// Asks a host in C, until that has closed.
fn wonder(mut peer: SpeakContract::Imp<SpeakContract::Start>) -> Result<(), Error> {
    let mut number = 1;
    while let Ok((sum, next)) = peer.send_add(number, false).recv_sum() {
        number = i32::try_from(sum).map_err(|_| Error::BadArgument)?;
        peer = next;
    }
    Ok(())
}

/// Asks the host, until that has closed.
fn ask(mut peer: TalkContract::Imp<TalkContract::Start>) -> Result<(), Error> {
    let mut number = 1;
    loop {
        let (sum, next) = match peer.send_add(number, false).recv_sum() {
            Ok(come) => come,
            Err(Closed) => return Ok(()),
        };
        number = i32::try_from(sum).map_err(|_| Error::BadArgument)?;
        peer = next;
    }
}

sing_sdk::arguments! {}

#[sing_sdk::main]
fn main(_: Arguments) -> Result<(), Error> {
    if let Some(peer) = startup::asks() {
        return ask(peer);
    }
    if let Some(peer) = startup::wonders() {
        return wonder(peer);
    }
    if let Some(peer) = startup::speak() {
        return speak(peer);
    }
    let fetched = startup::fetched().map(|fetching| give(3, fetching));
    let Some(idle) = startup::talk().or(fetched) else {
        // Nobody talks with it: it is the system's main program, which has it end after a while.
        sing_sdk::time::sleep(core::time::Duration::from_millis(300));
        return Ok(());
    };
    let mut sum = 0i64;
    let mut asked = idle.recv();
    loop {
        asked = match asked {
            Asked::Add(number, twice, next) => {
                sum += i64::from(number) * if twice { 2 } else { 1 };
                // Both in one: a host that calls finds nothing left to do.
                next.call_sum(sum)
            }
            Asked::Broken(next) => next.call_sum(-1),
            Asked::Fetch(length, fetching) => give(length as usize, fetching).recv(),
            Asked::Part(length, offset, shares, fetching) => {
                part(length as usize, offset as usize, shares, fetching)?.recv()
            }
            Asked::Cut(bytes, offset, fetching) => {
                let bytes = bytes.to_vec();
                let rest = &bytes[offset as usize..];
                fetching.call_data(Vector::from_bytes(rest)?, rest.len() as u32)
            }
            Asked::Say(text, next) => next.call_said(text),
            Asked::Draw(at, shade, line, width, note, next) => {
                draw(at, &line, next, (shade, width, note))?.recv()
            }
            Asked::Count(next) => next.send_tick(1).send_tick(2).send_tick(3).recv(),
            Asked::Misbehave(how, next) => misbehave(how, next).recv(),
            Asked::Closed => return Ok(()),
        };
    }
}
