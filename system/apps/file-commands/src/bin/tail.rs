//! Prints the last lines or bytes of files, or of its input.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use file_commands::ends::{self, Count, Tail};
use file_commands::failure::Failure;
use sing_sdk::io::Writer;
use sing_sdk::names::Names;
use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "tail",
    description: "prints the last lines: tail [-n LINES] [-c BYTES] [PATH…]; without any, of its input",
    endpoints: { stdin: optional PipeContract.Exp:Start, stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start, names: optional NamespaceContract.Imp:Start },
}

sing_sdk::arguments! {
    /// So many lines; 10, unless they or bytes are asked for.
    lines: option u64 "-n LINES";
    /// So many bytes.
    bytes: option u64 "-c BYTES";
    /// Files; without any, the input.
    paths: many Path "PATH";
}

const PIECE: usize = 16 << 10;

/// Reads a file from its end, so far as it is wanted, and prints that from its beginning.
fn file(names: &mut Names, path: &str, count: Count, out: &mut Writer) -> Result<(), Failure> {
    let mut file = names.open(path).map_err(Failure::of(path))?;
    let size = file.size().map_err(Failure::of(path))?;
    let mut begin = ends::begin(size, count, PIECE, |at, len| {
        let mut piece = vec![0; len];
        let got = file.read_at(at, &mut piece).map_err(Failure::of(path))?;
        piece.truncate(got);
        Ok(piece)
    })?;
    while let Some(block) = file.read_block(begin, PIECE).map_err(Failure::of(path))? {
        begin += block.len() as u64;
        if out.send(block).is_err() {
            break;
        }
    }
    Ok(())
}

fn input(count: Count, out: &mut Writer) -> i32 {
    let mut input = sing_sdk::io::stdin();
    let mut tail = Tail::new(count);
    let mut whole = true;
    while let Some(block) = input.receive() {
        whole &= tail.push(&block.to_vec());
    }
    if !whole {
        let most = file_commands::ends::MOST >> 20;
        eprintln!(
            "tail: its input ends with more than {most} MiB of that; the beginning is missing"
        );
    }
    if out.write(&tail.finish()).is_err() || out.settle().is_err() {
        return sing_sdk::io::NOBODY_READS;
    }
    i32::from(!whole)
}

#[sing_sdk::main]
fn main(
    Arguments {
        lines,
        bytes,
        paths,
    }: Arguments,
) -> i32 {
    let Some(count) = Count::asked(lines, bytes) else {
        return USAGE.refuse("-n or -c, not both");
    };
    let Some(mut out) = sing_sdk::io::take_stdout() else {
        return 1;
    };
    if paths.is_empty() {
        return input(count, &mut out);
    }
    ends::each(
        "tail",
        &paths,
        startup::names(),
        &mut out,
        |names, path, out| file(names, path, count, out),
    )
}
