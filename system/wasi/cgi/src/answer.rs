//! The answer that a program writes on its standard output: the head up to an empty line, then the body,
//! whose blocks move to the web server as they are.
//!
//! Invariants:
//! - The answer is said to be whole only if the program has ended well, or has written as many bytes as
//!   its head says: a client never takes a part for the whole.
//! - What is kept of a head is bounded; a program whose head is none is ended at once.

use core::fmt;
use sing_sdk::io::Writer;
use sing_sdk::prelude::*;
use sing_sdk::process;
use sing_sdk::program::Local;
use sing_sdk::rt::{Handle, Waitable};
use wasi_core::cgi;
use wasi_core::errno::{Errno, Result};
use wasi_core::sing::{Stream, writing};

/// The status of a process whose answer is none.
const NONE: i32 = 1;

/// How far the answer is.
enum Stage {
    /// What has come of its head.
    Head(WebContract::Exp<WebContract::Asked>, Vec<u8>),
    /// Its body is written here; nowhere if nobody is to get it.
    Body(WebContract::Exp<WebContract::Answering>, Option<Writer>),
    Over,
}

/// The answer to one request.
pub struct Answer {
    /// The request's name in the log.
    id: String,
    /// Whether only its head is asked for.
    head_only: bool,
    stage: Stage,
    /// Bytes of the body that are still to come, if the head has said how many.
    left: Option<u64>,
}

static ANSWER: Local<Answer> = Local::new();

impl Answer {
    pub fn new(id: String, head_only: bool, asked: WebContract::Exp<WebContract::Asked>) -> Answer {
        Answer {
            id,
            head_only,
            stage: Stage::Head(asked, Vec::new()),
            left: None,
        }
    }

    /// Ends the process without an answer, or without the rest of it. The log has the reason.
    fn fail(&self, why: fmt::Arguments<'_>, status: i32) -> ! {
        sing_sdk::log!("request {}: {why}", self.id);
        process::exit(status)
    }

    fn write(&mut self, block: Vector<u8>) -> Result {
        match core::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Head(asked, mut bytes) => {
                bytes.extend_from_slice(&block.to_vec());
                match cgi::head(&bytes) {
                    Ok(None) => {
                        self.stage = Stage::Head(asked, bytes);
                        Ok(())
                    }
                    Ok(Some((head, body))) => self.begin(asked, &head, &bytes[body..]),
                    Err(why) => self.fail(format_args!("{why}"), NONE),
                }
            }
            body @ Stage::Body(..) => {
                self.stage = body;
                self.body(block)
            }
            Stage::Over => Err(Errno::Pipe),
        }
    }

    /// The head is whole: sends it, and what has come behind it.
    fn begin(
        &mut self,
        asked: WebContract::Exp<WebContract::Asked>,
        head: &cgi::Head,
        rest: &[u8],
    ) -> Result {
        let short = |_| Errno::Nomem;
        let headers = Text::new(&head.headers).map_err(short)?;
        let (out, body) = PipeContract::new_channel().map_err(short)?;
        let answering = asked.send_response(head.status.into(), headers, body);
        // What nobody gets is not sent, and the program may write it all the same.
        let unread = self.head_only || matches!(head.status, 204 | 304);
        let out = (!unread).then(|| Writer::new(out));
        self.left = head.length;
        self.stage = Stage::Body(answering, out);
        if rest.is_empty() {
            return Ok(());
        }
        // The program would write all of it again, head and body, if it learned of this.
        match Vector::from_bytes(rest)
            .map_err(short)
            .and_then(|rest| self.body(rest))
        {
            Err(reason) if reason != Errno::Pipe => {
                self.fail(format_args!("there is no memory for its answer"), NONE)
            }
            sent => sent,
        }
    }

    fn body(&mut self, block: Vector<u8>) -> Result {
        let len = block.len() as u64;
        if let Stage::Body(_, Some(out)) = &mut self.stage {
            out.send(block).map_err(writing)?;
        }
        self.left = self.left.map(|left| left.saturating_sub(len));
        Ok(())
    }

    /// The program has ended with this status.
    fn end(mut self, status: i32) -> ! {
        match core::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Head(..) => self.fail(
                format_args!(
                    "the program ended with status {status} before the empty line that ends the head of its \
                     answer"
                ),
                if status == 0 { NONE } else { status },
            ),
            Stage::Body(..) if status != 0 && self.left != Some(0) => self.fail(
                format_args!("the program ended with status {status} within its answer"),
                status,
            ),
            Stage::Body(answering, out) => {
                if let Some(mut out) = out {
                    // A reader that has gone has seen enough.
                    let _ = out.settle();
                }
                let _asked_no_more = answering.send_done();
                process::exit(0)
            }
            Stage::Over => process::exit(status),
        }
    }
}

/// There is a request to answer.
pub fn begin(answer: Answer) {
    ANSWER.with(|place| *place = Some(answer));
}

/// Ends the process as its program has ended.
pub fn end(status: i32) -> ! {
    match ANSWER.with(Option::take) {
        Some(answer) => answer.end(status),
        None => process::exit(status),
    }
}

/// The program's standard output.
#[derive(Debug)]
pub struct Stdout;

impl Stream for Stdout {
    fn send(&mut self, block: Vector<u8>) -> Result {
        ANSWER.with(|answer| match answer {
            Some(answer) => answer.write(block),
            None => Err(Errno::Pipe),
        })
    }

    fn handle(&self) -> Handle {
        ANSWER.with(|answer| match answer.as_ref().map(|answer| &answer.stage) {
            Some(Stage::Body(_, Some(out))) => out.handle(),
            _ => Handle::NONE,
        })
    }
}
