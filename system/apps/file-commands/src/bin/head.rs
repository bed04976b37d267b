//! Prints the first lines or bytes of files, or of its input.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use file_commands::ends::{self, Count, Head};
use file_commands::failure::Failure;
use sing_sdk::fs::Reader;
use sing_sdk::io::Writer;
use sing_sdk::names::Names;
use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "head",
    description: "prints the first lines: head [-n LINES] [-c BYTES] [PATH…]; without any, of its input",
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

fn file(names: &mut Names, path: &str, count: Count, out: &mut Writer) -> Result<(), Failure> {
    let mut file = Reader::open(names, path).map_err(Failure::of(path))?;
    let mut head = Head::new(count);
    let mut offset = 0;
    while !head.is_done() {
        let block = file.read_block(names, offset, PIECE);
        let Some(block) = block.map_err(Failure::of(path))? else {
            break;
        };
        offset += block.len() as u64;
        let bytes = block.to_vec();
        let taken = head.take(&bytes);
        if out.write(&bytes[..taken]).is_err() {
            break;
        }
    }
    Ok(())
}

fn input(count: Count, out: &mut Writer) -> i32 {
    let mut input = sing_sdk::io::stdin();
    let mut head = Head::new(count);
    while !head.is_done() {
        let Some(block) = input.receive() else { break };
        let bytes = block.to_vec();
        let taken = head.take(&bytes);
        if out.write(&bytes[..taken]).is_err() {
            return sing_sdk::io::NOBODY_READS;
        }
    }
    match out.settle() {
        Ok(()) => 0,
        Err(_) => sing_sdk::io::NOBODY_READS,
    }
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
        "head",
        &paths,
        startup::names(),
        &mut out,
        |names, path, out| file(names, path, count, out),
    )
}
