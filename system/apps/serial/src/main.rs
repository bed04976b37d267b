//! Joins standard input and output to a serial line.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use sing_sdk::io::{self, Writer};
use sing_sdk::names::Names;

sing_sdk::manifest! {
    name: "serial",
    description: "joins standard input and output to a serial line: serial /dev/serial1 [BAUD]",
    endpoints: {
        stdin: optional PipeContract.Exp:Start,
        stdout: optional PipeContract.Imp:Start,
        stderr: optional PipeContract.Imp:Start,
        names: optional NamespaceContract.Imp:Start,
    },
}

sing_sdk::arguments! {
    /// The line, such as /dev/serial1.
    line: one Path "LINE";
    /// Bits a second; 115200 if left out.
    baud: optional u32 "BAUD";
}

#[sing_sdk::main]
fn main(Arguments { line, baud }: Arguments) -> i32 {
    match join(&line, baud) {
        Ok(status) => status,
        Err(Error::NotFound) => {
            eprintln!("serial: {line}: no serial line is served there; `ls /dev` lists what is");
            1
        }
        Err(error) => {
            eprintln!("serial: {line}: {error}");
            1
        }
    }
}

/// Until the input ends and all of it is sent.
fn join(path: &str, baud: Option<u32>) -> Result<i32, Error> {
    use SerialContract::imp::{Connecting, Joined_SetLine};
    let mut names = Names::given(startup::names())?;
    let (line, exp) = SerialContract::new_channel()?;
    names.bind(path, exp)?;
    let line = line.recv_success()?;
    // What is received goes where this program's output goes, without coming by here.
    let Some(output) = io::take_stdout() else {
        return Ok(1);
    };
    let (to_line, sent) = PipeContract::new_channel()?;
    let mut line = match line.send_connect(output.into_pipe()?, sent).recv() {
        Connecting::Connected(line) => line,
        Connecting::Busy(_) => {
            eprintln!("serial: {path}: another program is connected");
            return Ok(1);
        }
        Connecting::Closed => return Err(Error::Closed),
    };
    if let Some(baud) = baud {
        line = match line.call_set_line(baud, 8, Parity::None, 1) {
            Joined_SetLine::LineSet(_, line) => line,
            Joined_SetLine::NotSet(_) => {
                eprintln!("serial: {path}: no speed near {baud}; there are 115200 / n");
                return Ok(1);
            }
            Joined_SetLine::Closed => return Err(Error::Closed),
        };
    }
    let mut to_line = Writer::new(to_line);
    let mut input = io::stdin();
    while let Some(data) = input.receive() {
        to_line.send(data)?;
    }
    to_line.settle()?;
    drop(line);
    Ok(0)
}
