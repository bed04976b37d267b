//! A program that a host program calls: the call's bytes are its standard input, what it writes on
//! standard output is the answer, and what it writes on standard error goes to the log. The process's
//! arguments have the names of its directories, its environment and its own words ([`Settings::of_call`]). Its
//! random bytes come from the host, over a channel of this process alone.
//!
//! Invariants:
//! - What is kept of an answer is bounded.
//! - A program that ends with a status that is not 0 has no answer: the host is told the status.

use crate::startup;
use core::fmt;
use sing_sdk::io::Reader;
use sing_sdk::prelude::*;
use sing_sdk::process;
use sing_sdk::program::Local;
use sing_sdk::rt::Handle;
use wasi_core::chance;
use wasi_core::errno::{Errno, Result};
use wasi_core::running::{self, Given, World};
use wasi_core::settings::Settings;
use wasi_core::sing::Stream;

/// The most bytes of an answer.
const MOST: usize = (1 << 20) - 64;

/// A call that is to be answered.
struct Call {
    asked: CallContract::Exp<CallContract::Start_Call>,
    answer: Vec<u8>,
    /// It has written more than an answer may have.
    is_long: bool,
    /// There was no memory for something that it has written.
    is_short: bool,
}

static CALL: Local<Call> = Local::new();

/// The program's standard output.
#[derive(Debug)]
struct Stdout;

impl Stream for Stdout {
    fn send(&mut self, block: Vector<u8>) -> Result {
        CALL.with(|call| {
            let call = call.as_mut().ok_or(Errno::Pipe)?;
            if block.len() > MOST - call.answer.len() {
                call.is_long = true;
                return Err(Errno::Fbig);
            }
            if call.answer.try_reserve(block.len()).is_err() {
                call.is_short = true;
                return Err(Errno::Nomem);
            }
            let at = call.answer.len();
            call.answer.resize(at + block.len(), 0);
            block.block().read(0, &mut call.answer[at..]);
            Ok(())
        })
    }

    fn handle(&self) -> Handle {
        Handle::NONE
    }
}

/// A pipe with these bytes, and its end behind them.
fn source(bytes: Vector<u8>) -> core::result::Result<Reader, Error> {
    let (from, to) = PipeContract::new_channel()?;
    drop(from.send_write(bytes));
    Ok(Reader::new(to))
}

/// Waits for the call; the world of the program in it. None if there is no call any more.
///
/// # Errors
/// What of the world is not there, for a person.
pub fn world(
    calls: CallContract::Exp<CallContract::Start>,
    arguments: Vec<String>,
) -> core::result::Result<Option<World>, String> {
    let Ok((bytes, asked)) = calls.recv_call() else {
        return Ok(None);
    };
    CALL.with(|call| {
        *call = Some(Call {
            asked,
            answer: Vec::new(),
            is_long: false,
            is_short: false,
        });
    });
    let ends: Vec<_> = startup::directories().collect();
    let settings = Settings::of_call(arguments, ends.len());
    let none = |_: &str| Err(Error::NotFound);
    let named = settings.preopens.unwrap_or_default();
    let given = Given {
        arguments: running::bytes(settings.arguments),
        environment: running::bytes(settings.environment),
        chance: startup::random().map(chance::given),
        directories: running::directories(named, none, ends.into_iter())?,
    };
    let input = source(bytes).map_err(|e| format!("its standard input: {e}"))?;
    running::answering(given, input, Stdout).map(Some)
}

/// Tells the host that there is no answer.
fn refuse(asked: CallContract::Exp<CallContract::Start_Call>, why: fmt::Arguments<'_>) {
    // Without memory for the reason, the host sees the process's end.
    if let Ok(reason) = Text::new(&format!("{why}")) {
        let _ended = asked.send_refused(reason);
    }
}

/// There will be no answer to the call, if there is one: why.
pub fn fail(why: &str) {
    if let Some(call) = CALL.with(Option::take) {
        refuse(call.asked, format_args!("{why}"));
    }
}

/// The program has ended with this status: answers the call, if there is one.
pub fn end(status: i32) {
    let Some(call) = CALL.with(Option::take) else {
        return;
    };
    match Vector::from_bytes(&call.answer) {
        _ if call.is_long => refuse(
            call.asked,
            format_args!(
                "it has written more than the {MOST} bytes that an answer may have on its standard output"
            ),
        ),
        _ if status != 0 => refuse(call.asked, format_args!("it ended with status {status}")),
        _ if call.answer.is_empty() => refuse(
            call.asked,
            format_args!(
                "it has written nothing on its standard output, and an answer has a byte at least"
            ),
        ),
        Ok(answer) if !call.is_short => {
            let _ended = call.asked.send_answer(answer);
        }
        // The host is told that memory is short, as it has been refused.
        _ => process::exit(crate::NOT_THERE),
    }
}
