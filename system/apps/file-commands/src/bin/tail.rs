//! Prints the last lines or bytes of files, or of its input.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

use file_commands::ends::{Count, Tail, last};
use file_commands::{failure::Failure, program};
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
    paths: many String "PATH";
}

const PIECE: usize = 16 << 10;

/// Reads a file from its end, so far as it is wanted, and prints that from its beginning.
fn file(names: &mut Names, path: &str, count: Count, out: &mut Writer) -> Result<(), Failure> {
    let mut file = names.open(path).map_err(Failure::of(path))?;
    let size = file.size().map_err(Failure::of(path))?;
    // A piece that ends at the file's end begins a line end early, which `last` does not count.
    let mut begin = size;
    let mut wanted = count;
    while begin > 0 {
        let from = begin.saturating_sub(PIECE as u64);
        let mut piece = alloc::vec![0; (begin - from) as usize];
        let got = file.read_at(from, &mut piece).map_err(Failure::of(path))?;
        piece.truncate(got);
        let found = if begin == size {
            last(&piece, wanted)
        } else {
            before(&piece, wanted)
        };
        if let Some(at) = found {
            begin = from + at as u64;
            break;
        }
        wanted = match wanted {
            Count::Bytes(bytes) => Count::Bytes(bytes - piece.len() as u64),
            Count::Lines(lines) => {
                let body = if begin == size {
                    piece.len().saturating_sub(1)
                } else {
                    piece.len()
                };
                let ends = piece
                    .iter()
                    .take(body)
                    .filter(|byte| **byte == b'\n')
                    .count();
                Count::Lines(lines - ends as u64)
            }
        };
        begin = from;
    }
    while let Some(block) = file.read_block(begin, PIECE).map_err(Failure::of(path))? {
        begin += block.len() as u64;
        if out.send(block).is_err() {
            break;
        }
    }
    Ok(())
}

/// As [`last`], of a piece behind which more lines come.
fn before(piece: &[u8], count: Count) -> Option<usize> {
    match count {
        Count::Bytes(_) => last(piece, count),
        Count::Lines(lines) => {
            let ends = piece
                .iter()
                .enumerate()
                .filter(|(_, byte)| **byte == b'\n')
                .rev();
            let nth = usize::try_from(lines).ok()?.checked_sub(1)?;
            ends.map(|(i, _)| i + 1).nth(nth)
        }
    }
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
    let count = match (lines, bytes) {
        (Some(_), Some(_)) => return USAGE.refuse("-n or -c, not both"),
        (_, Some(bytes)) => Count::Bytes(bytes),
        (lines, None) => Count::Lines(lines.unwrap_or(10)),
    };
    let Some(mut out) = sing_sdk::io::take_stdout() else {
        return 1;
    };
    if paths.is_empty() {
        return input(count, &mut out);
    }
    let mut names = match program::names("tail", startup::names()) {
        Ok(names) => names,
        Err(code) => return code,
    };
    let mut status = 0;
    for path in &paths {
        if paths.len() > 1 {
            let _ = out.write(alloc::format!("==> {path} <==\n").as_bytes());
        }
        status |= program::report("tail", file(&mut names, path, count, &mut out));
    }
    if out.settle().is_err() {
        return sing_sdk::io::NOBODY_READS;
    }
    status
}
