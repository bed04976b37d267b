//! Prints random bytes of the device at `/dev/random0`.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

use sing_sdk::prelude::*;

use sing_sdk::names::Names;
use sing_sdk::rt::Closed;

type Fill = EntropyContract::imp::Ready_Fill;

sing_sdk::manifest! {
    name: "random",
    description: "prints random bytes of the device at /dev/random0",
    uses: { "/dev/random0": EntropyContract },
    endpoints: { stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start, names: optional NamespaceContract.Imp:Start },
}

/// The most bytes, and those of a line of output.
const MOST: u32 = 4096;
const LINE: usize = 32;

sing_sdk::arguments! {
    /// How many bytes, up to 4096; 32 if it is left out.
    count: optional u32 "COUNT";
}

#[sing_sdk::main]
fn main(Arguments { count }: Arguments) -> Result<i32, Error> {
    let count = count.unwrap_or(LINE as u32);
    if !(1..=MOST).contains(&count) {
        eprintln!("random: {count} bytes: ask for 1 to {MOST}");
        return Ok(1);
    }
    let mut names = Names::given(startup::names())?;
    let mut source = EntropyContract::client("/dev/random0");
    let asked = source.ask(&mut names, |source| {
        // A channel that closes takes the block along: the next request has one of its own.
        match source.call_fill(Vector::new(count as usize).map_err(|_| Closed)?) {
            Fill::Filled(block, source) => Ok((Some(block.to_vec()), source)),
            Fill::NotFilled(_, source) => Ok((None, source)),
            Fill::Closed => Err(Closed),
        }
    });
    let bytes: Vec<u8> = match asked {
        Ok(Some(bytes)) => bytes,
        Ok(None) => {
            eprintln!("random: /dev/random0 refuses to fill {count} bytes");
            return Ok(1);
        }
        Err(Error::NotFound) => {
            eprintln!(
                "random: nobody serves /dev/random0: the machine has no such device (`devices`)"
            );
            return Ok(1);
        }
        Err(error) => return Err(error),
    };
    for line in bytes.chunks(LINE) {
        let digits: String = line.iter().map(|byte| format!("{byte:02x}")).collect();
        println!("{digits}");
    }
    Ok(0)
}
