//! Prints files of the name space, or its input. The blocks filled by the file's server move on to
//! the reader without a copy.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use sing_sdk::fs::Reader;
use sing_sdk::io::Writer;
use sing_sdk::names::Names;

sing_sdk::manifest! {
    name: "cat",
    description: "prints files: cat [PATH…]; without any, its input",
    endpoints: { stdin: optional PipeContract.Exp:Start, stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start, names: optional NamespaceContract.Imp:Start },
}

const BLOCK: usize = 16 << 10;

/// Whether somebody still reads.
fn copy(names: &mut Names, path: &str, out: &mut Writer) -> Result<bool, Error> {
    let mut file = Reader::open(names, path)?;
    let mut offset = 0;
    while let Some(block) = file.read_block(names, offset, BLOCK)? {
        offset += block.len() as u64;
        if out.send(block).is_err() {
            return Ok(false);
        }
    }
    Ok(true)
}

sing_sdk::arguments! {
    /// Files; without any, the input.
    paths: many Path "PATH";
}

#[sing_sdk::main]
fn main(Arguments { paths }: Arguments) -> i32 {
    let Some(mut out) = sing_sdk::io::take_stdout() else {
        return 1;
    };
    if paths.is_empty() {
        let mut input = sing_sdk::io::stdin();
        while let Some(block) = input.receive() {
            if out.send(block).is_err() {
                return sing_sdk::io::NOBODY_READS;
            }
        }
        return 0;
    }
    let Some(mut names) = startup::names().and_then(|n| Names::new(n).ok()) else {
        eprintln!("cat: no name server");
        return 1;
    };
    let mut status = 0;
    for path in paths {
        match copy(&mut names, &path, &mut out) {
            Ok(true) => continue,
            Ok(false) => return sing_sdk::io::NOBODY_READS,
            // What a folder is, the name server knows.
            Err(_) if names.list(&path).is_ok() => {
                eprintln!("cat: {path}: is a directory; `ls {path}` lists it");
            }
            Err(e) => eprintln!("cat: {path}: {e}"),
        }
        status = 1;
    }
    status
}
