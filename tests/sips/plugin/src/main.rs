//! A program that a host program calls, for the tests of embedding: what it does is the first word
//! of the call.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "plugin",
    description: "is called by a host program",
    endpoints: { calls: CallContract.Exp:Start },
    memory: 4 MiB,
}

/// Works for so many turns, with floating-point registers.
fn sum(turns: u64) -> f64 {
    let step = |sum: f64, turn: u64| sum * 0.999_999 + turn as f64;
    (0..turns).fold(0.0, step)
}

/// What it answers; the reason if it refuses.
fn answer(bytes: &[u8], asked: u32) -> Result<Vec<u8>, &'static str> {
    let (word, rest) = match bytes.iter().position(|byte| *byte == b' ') {
        Some(at) => (&bytes[..at], &bytes[at + 1..]),
        None => (bytes, &[][..]),
    };
    match word {
        b"echo" => Ok(rest.to_vec()),
        b"upper" => Ok(rest.to_ascii_uppercase()),
        b"asked" => Ok(format!("{asked}").into_bytes()),
        b"sum" => {
            let turns = core::str::from_utf8(rest).ok();
            let turns = turns.and_then(|turns| turns.parse().ok());
            let sum = sum(turns.ok_or("it sums so many turns as a number says")?);
            Ok(sum.to_le_bytes().to_vec())
        }
        b"tiny" => {
            let tiny = core::hint::black_box(f64::MIN_POSITIVE) * core::hint::black_box(0.5);
            Ok(vec![u8::from(tiny > 0.0)])
        }
        b"large" => Ok(vec![7; (1 << 20) - 64]),
        b"larger" => Ok(vec![7; 1 << 20]),
        b"loop" => loop {
            core::hint::spin_loop();
        },
        b"wait" => loop {
            sing_sdk::time::sleep(core::time::Duration::from_secs(3600));
        },
        b"crash" => {
            let none = rest.len().checked_sub(rest.len() + 1);
            Ok(vec![0; none.expect("it crashes as it was told")])
        }
        b"panic" => panic!("{}", alloc::string::String::from_utf8_lossy(rest)),
        b"trap" => {
            sing_sdk::log!("{}", alloc::string::String::from_utf8_lossy(rest));
            sing_sdk::wrong::unreachable();
            Err("it has not trapped")
        }
        b"exit" => sing_sdk::process::exit(9),
        b"greedy" => {
            let mut all: Vec<Vec<u8>> = Vec::new();
            loop {
                let mut next = Vec::new();
                if next.try_reserve_exact(64 << 10).is_err() || all.try_reserve(1).is_err() {
                    break;
                }
                all.push(next);
            }
            drop(all);
            Ok(b"refused".to_vec())
        }
        b"hoard" => {
            let mut all: Vec<Vec<u8>> = Vec::new();
            loop {
                all.push(vec![1; 64 << 10]);
            }
        }
        _ => Err("it knows no such word"),
    }
}

sing_sdk::arguments! {}

#[sing_sdk::main]
fn main(_: Arguments) -> Result<(), Error> {
    use CallContract::exp::Start;
    let calls = startup::calls().ok_or(Error::NotFound)?;
    let mut request = calls.recv();
    let mut asked = 0;
    while let Start::Call(bytes, next) = request {
        asked += 1;
        request = match answer(&bytes.to_vec(), asked) {
            Ok(bytes) => next.call_answer(Vector::from_bytes(&bytes)?),
            Err(reason) => next.call_refused(Text::new(reason)?),
        };
    }
    Ok(())
}
