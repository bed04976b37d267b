//! The answer that a component gives: status and fields, then the body, whose blocks move to the web server
//! as they are.
//!
//! Invariants:
//! - The answer is said to be whole only if its body was finished, or it has none: a client never takes a
//!   part for the whole.
//! - A process has one answer. Bodies that belong to no response are read by nobody, and there are at most
//!   [`BODIES`].

use alloc::rc::Rc;
use core::cell::RefCell;
use core::fmt::Write as _;
use sing_sdk::io::Writer;
use sing_sdk::prelude::*;
use sing_sdk::process;
use sing_sdk::program::Local;
use sing_sdk::rt::{Handle, Waitable};
use wasi_core::component::web::{Exchange, Field};
use wasi_core::errno::{Errno, Result};
use wasi_core::sing::{Merged, Sing, Sink, Stream, writing};

extern crate alloc;

/// The status of a process whose answer is none.
const NONE: i32 = 1;
/// Bodies at most.
const BODIES: usize = 16;

/// The writing end of a body: nothing, if nobody is to get it.
type Out = Rc<RefCell<Option<Writer>>>;

/// A body: where it is written, and where it is read until it is sent.
struct Body {
    out: Out,
    read: Option<PipeContract::Exp<PipeContract::Start>>,
    finished: bool,
}

/// How far the answer is.
enum Stage {
    Asked(WebContract::Exp<WebContract::Asked>),
    /// With the number of its body.
    Answering(WebContract::Exp<WebContract::Answering>, Option<u32>),
    /// Why there is none.
    Failed(String),
}

struct State {
    /// The request's name in the log.
    id: String,
    /// Whether only its head is asked for.
    head_only: bool,
    stage: Option<Stage>,
    bodies: Vec<Body>,
}

static STATE: Local<State> = Local::new();

/// There is a request to answer.
pub fn begin(id: String, head_only: bool, asked: WebContract::Exp<WebContract::Asked>) {
    STATE.with(|state| {
        *state = Some(State {
            id,
            head_only,
            stage: Some(Stage::Asked(asked)),
            bodies: Vec::new(),
        });
    });
}

/// The process's answer.
#[derive(Debug)]
pub struct Answer;

/// The stream of a body.
struct BodyStream(Out);

impl core::fmt::Debug for BodyStream {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("BodyStream")
    }
}

impl Stream for BodyStream {
    fn send(&mut self, block: Vector<u8>) -> Result {
        match &mut *self.0.borrow_mut() {
            Some(out) => out.send(block).map_err(writing),
            // It is written, and not sent.
            None => Ok(()),
        }
    }

    fn handle(&self) -> Handle {
        self.0
            .borrow()
            .as_ref()
            .map_or(Handle::NONE, Waitable::handle)
    }
}

impl Exchange<Sing<Merged>> for Answer {
    fn body(&mut self) -> Result<(Sink, u32)> {
        let (out, read) = PipeContract::new_channel().map_err(|_| Errno::Nomem)?;
        let out = Rc::new(RefCell::new(Some(Writer::new(out))));
        STATE.with(|state| {
            let bodies = &mut state.as_mut().ok_or(Errno::Badf)?.bodies;
            if bodies.len() == BODIES {
                return Err(Errno::Nomem);
            }
            let sink = Sink::Other(Box::new(BodyStream(Rc::clone(&out))));
            bodies.push(Body {
                out,
                read: Some(read),
                finished: false,
            });
            Ok((sink, bodies.len() as u32 - 1))
        })
    }

    fn respond(&mut self, status: u16, fields: &[Field], body: Option<u32>) -> Result {
        let mut headers = String::new();
        for (name, value) in fields {
            let (name, value) = (text(name)?, text(value)?);
            writeln!(headers, "{name}: {value}").map_err(|_| Errno::Nomem)?;
        }
        STATE.with(|state| match state {
            Some(state) => state.respond(status, &headers, body),
            None => Err(Errno::Badf),
        })
    }

    fn finish(&mut self, body: u32) {
        STATE.with(|state| {
            let bodies = state.as_mut().map(|state| &mut state.bodies);
            if let Some(body) = bodies.and_then(|bodies| bodies.get_mut(body as usize)) {
                body.finished = true;
            }
        });
    }

    fn refuse(&mut self, error: u32) {
        STATE.with(|state| {
            if let Some(state) = state {
                let why = format!("the component answers with error {error} of wasi:http");
                state.stage = Some(Stage::Failed(why));
            }
        });
    }
}

fn text(bytes: &[u8]) -> Result<&str> {
    core::str::from_utf8(bytes).map_err(|_| Errno::Ilseq)
}

impl State {
    fn respond(&mut self, status: u16, headers: &str, body: Option<u32>) -> Result {
        let Some(Stage::Asked(asked)) = self.stage.take() else {
            return Err(Errno::Pipe);
        };
        if !(200..=599).contains(&status) {
            let why = format!(
                "the component answers with status {status}, which is none from 200 to 599"
            );
            self.stage = Some(Stage::Failed(why));
            return Ok(());
        }
        let short = |_| Errno::Nomem;
        let headers = Text::new(headers).map_err(short)?;
        let of = body.and_then(|body| self.bodies.get_mut(body as usize));
        let read = match of {
            Some(body) => {
                if self.head_only || matches!(status, 204 | 304) {
                    // What nobody gets is not sent, and the component may write it all the same.
                    *body.out.borrow_mut() = None;
                }
                body.read.take()
            }
            None => None,
        };
        let read = match read {
            Some(read) => read,
            // There is nothing in it.
            None => PipeContract::new_channel().map_err(short)?.1,
        };
        let answering = asked.send_response(status.into(), headers, read);
        self.stage = Some(Stage::Answering(answering, body));
        Ok(())
    }

    /// The component has ended with this status.
    fn end(mut self, status: i32) -> ! {
        let why = match self.stage.take() {
            Some(Stage::Answering(answering, body)) => {
                let body = body.and_then(|body| self.bodies.get_mut(body as usize));
                if body.as_ref().is_none_or(|body| body.finished) {
                    let out = body.and_then(|body| body.out.borrow_mut().take());
                    if let Some(mut out) = out {
                        // A reader that has gone has seen enough.
                        let _ = out.settle();
                    }
                    let _asked_no_more = answering.send_done();
                    process::exit(0)
                }
                "the component ended before it had finished the body of its answer".into()
            }
            Some(Stage::Failed(why)) => why,
            Some(Stage::Asked(_)) | None => "the component ended without an answer".into(),
        };
        sing_sdk::log!("request {}: {why} (status {status})", self.id);
        process::exit(if status == 0 { NONE } else { status })
    }
}

/// Ends the process as its component has ended.
pub fn end(status: i32) -> ! {
    match STATE.with(Option::take) {
        Some(state) => state.end(status),
        None => process::exit(status),
    }
}
