//! Writes its input into a file. The shell starts it for `>` and `>>`. The blocks of the input move
//! on to the file system without a copy, unless they are larger than it takes.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use file_commands::copy::write_all;
use file_commands::failure::Failure;
use file_commands::place::Place;
use file_commands::{alone, program};
use sing_sdk::fs::{File, Options, PIECE};
use sing_sdk::names::Names;
use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "save",
    description: "writes its input into a file: save [-a] PATH",
    endpoints: { stdin: optional PipeContract.Exp:Start, stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start, names: optional NamespaceContract.Imp:Start },
}

sing_sdk::arguments! {
    /// At the end of what is there.
    append: flag "-a";
    /// The file, which is made if it does not exist.
    path: one Path "PATH";
}

/// Appends a block, all of it.
fn append_all(file: &mut File, mut data: Vector<u8>) -> Result<(), Error> {
    let (mut done, count) = (0, data.len());
    while done < count {
        let end = count.min(done + PIECE);
        let (back, written, _) = file.append_block(data, done..end)?;
        if written == 0 {
            return Err(FileFault::NoSpace.into());
        }
        data = back;
        done += written;
    }
    Ok(())
}

/// Writes a block that is too large to be lent, in pieces that are copied.
fn add_copied(file: &mut File, offset: u64, data: &Vector<u8>, append: bool) -> Result<(), Error> {
    let (mut piece, mut done) = (vec![0; PIECE], 0);
    while done < data.len() {
        let part = &mut piece[..PIECE.min(data.len() - done)];
        data.block().read(done, part);
        if append {
            file.append(part)?;
        } else {
            file.write_at(offset + done as u64, part)?;
        }
        done += part.len();
    }
    Ok(())
}

fn save(names: &mut Names, place: &Place, append: bool) -> Result<(), Failure> {
    let failed = |error| Failure::of(place.path())(error);
    let how = if append {
        Options::create()
    } else {
        Options::create().truncate()
    };
    let mut file = alone::to_write(names, place, how)?;
    let mut input = sing_sdk::io::stdin();
    let mut offset = 0;
    let most = file.limits().map_err(failed)?.most.max(PIECE);
    while let Some(block) = input.receive() {
        let count = block.len();
        if count > most {
            // Whoever writes chooses the size; files take blocks up to theirs.
            add_copied(&mut file, offset, &block, append).map_err(failed)?;
        } else if append {
            append_all(&mut file, block).map_err(failed)?;
        } else {
            write_all(&mut file, offset, block, count).map_err(failed)?;
        }
        offset += count as u64;
    }
    Ok(())
}

#[sing_sdk::main]
fn main(Arguments { append, path }: Arguments) -> i32 {
    let mut names = match program::names("save", startup::names()) {
        Ok(names) => names,
        Err(code) => return code,
    };
    program::report(
        "save",
        Place::new(&path).and_then(|place| save(&mut names, &place, append)),
    )
}
