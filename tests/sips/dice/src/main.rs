//! A program that a host program calls, and that asks for random bytes of the host's, for the tests of
//! embedding. A call is a word and a number.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

use alloc::vec::Vec;
use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "dice",
    description: "is called and has random bytes of the host",
    endpoints: {
        calls: CallContract.Exp:Start,
        random: EntropyContract.Imp:Ready,
    },
    memory: 1 MiB,
}

type Source = EntropyContract::Imp<EntropyContract::Ready>;

/// Has a block filled: what comes back, and whether it is said to be filled.
fn fill(place: &mut Option<Source>, block: Block) -> Option<(Block, bool)> {
    use EntropyContract::imp::Ready_Fill as Reply;
    let (block, filled, source) = match place.take()?.call_fill(Vector::from_block(block)) {
        Reply::Filled(block, source) => (block, true, source),
        Reply::NotFilled(block, source) => (block, false, source),
        Reply::Closed => return None,
    };
    *place = Some(source);
    Some((block.into_block(), filled))
}

fn bytes(block: &Block) -> Vec<u8> {
    let mut bytes = alloc::vec![0; block.len()];
    block.read(0, &mut bytes);
    bytes
}

/// What it answers; the reason if it refuses.
fn answer(place: &mut Option<Source>, word: &str, number: usize) -> Result<Vec<u8>, &'static str> {
    let new = || Block::new(number).map_err(|_| "it has no room for a block");
    match word {
        "fill" => match fill(place, new()?) {
            Some((block, true)) => Ok(bytes(&block)),
            Some((block, false)) if bytes(&block).iter().all(|byte| *byte == 0) => {
                Err("it is not filled")
            }
            Some(_) => Err("it is said not to be filled, and is"),
            None => Err("its source is closed"),
        },
        // The same block again and again: what it has costs nothing more.
        "again" => {
            let mut block = Block::new(4096).map_err(|_| "it has no room for a block")?;
            for _ in 0..number {
                let (back, filled) = fill(place, block).ok_or("its source is closed")?;
                if !filled {
                    return Err("it is not filled");
                }
                block = back;
            }
            Ok(bytes(&block))
        }
        // Others have views of it.
        "shared" | "cut" => {
            let mut block = new()?;
            let other = match word {
                "shared" => block.share(0..number),
                _ => block.split(number / 2),
            };
            let other = other.map_err(|_| "it is not shared")?;
            let (_, filled) = fill(place, block).ok_or("its source is closed")?;
            match (filled, bytes(&other).iter().all(|byte| *byte == 0)) {
                (false, true) => Ok(b"not filled".to_vec()),
                (true, _) => Err("what others have views of is filled"),
                (false, false) => Err("others see what is not filled"),
            }
        }
        "close" => {
            drop(place.take());
            Ok(b"closed".to_vec())
        }
        // Asks, and is gone.
        "leave" => {
            if let (Some(source), Ok(block)) = (place.take(), Block::new(number)) {
                drop(source.send_fill(Vector::from_block(block)));
            }
            sing_sdk::process::exit(9)
        }
        // Asks, and answers the call meanwhile.
        "behind" => {
            if let (Some(source), Ok(block)) = (place.take(), Block::new(number)) {
                core::mem::forget(source.send_fill(Vector::from_block(block)));
            }
            Ok(b"asked".to_vec())
        }
        "forever" => loop {
            fill(place, new()?);
        },
        _ => Err("it knows no such word"),
    }
}

sing_sdk::arguments! {}

#[sing_sdk::main]
fn main(_: Arguments) -> Result<(), Error> {
    use CallContract::exp::Start;
    let mut source = startup::random();
    let mut request = startup::calls().ok_or(Error::NotFound)?.recv();
    while let Start::Call(bytes, next) = request {
        let bytes = bytes.to_vec();
        let text = core::str::from_utf8(&bytes).unwrap_or_default();
        let (word, number) = text.split_once(' ').unwrap_or((text, "64"));
        request = match answer(&mut source, word, number.parse().unwrap_or(64)) {
            Ok(bytes) => next.call_answer(Vector::from_bytes(&bytes)?),
            Err(reason) => next.call_refused(Text::new(reason)?),
        };
    }
    Ok(())
}
