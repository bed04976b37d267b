//! Makes one pipe of two, as their blocks come: the shell starts it for `2>&1`. The blocks move on
//! without a copy.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::io::{self, NOBODY_READS, Writer};
use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "merge",
    description: "makes one pipe of two: for the shell's 2>&1",
    endpoints: {
        first: optional PipeContract.Exp:Start,
        second: optional PipeContract.Exp:Start,
        stdout: optional PipeContract.Imp:Start,
    },
}

sing_sdk::arguments! {}

type Pipe = PipeContract::Exp<PipeContract::Start>;

/// Moves the rest of one pipe.
fn rest(pipe: Pipe, out: &mut Writer) -> Result<(), Error> {
    let mut input = io::Reader::new(pipe);
    while let Some(block) = input.receive() {
        out.send(block)?;
    }
    Ok(())
}

fn merge(mut first: Pipe, mut second: Pipe, out: &mut Writer) -> Result<(), Error> {
    loop {
        switch_receive! {
            case first.Write(data) as pipe => {
                out.send(data)?;
                first = pipe.send_ack();
            }
            case second.Write(data) as pipe => {
                out.send(data)?;
                second = pipe.send_ack();
            }
            case first.ChannelClosed() => return rest(second, out),
            case second.ChannelClosed() => return rest(first, out),
        }
    }
}

#[sing_sdk::main]
fn main(_: Arguments) -> i32 {
    let Some(mut out) = io::take_stdout() else {
        return NOBODY_READS;
    };
    let moved = match (startup::first(), startup::second()) {
        (Some(first), Some(second)) => merge(first, second, &mut out),
        (Some(only), None) | (None, Some(only)) => rest(only, &mut out),
        (None, None) => Ok(()),
    };
    match moved.and_then(|()| out.settle()) {
        Ok(()) => 0,
        Err(Error::Closed) => NOBODY_READS,
        Err(_) => 1,
    }
}
