//! A request that a program answers: its body goes to the program while the answer comes back.
//!
//! Invariants:
//! - Whatever the program does costs this request and no other: its end, its silence, its nonsense.
//! - The client takes no part of an answer for the whole: where a part is missing, the connection
//!   ends without the mark of the body's end.
//! - The program takes no part of a body for the whole: it is ended before its pipe is closed early.
//! - A client that does not send its body on holds no process for long.
//! - One block at most waits in each direction.

use crate::connection::{CUT, SLOW, Talk};
use crate::pool::{self, Pool, Process, Start};
use crate::sink::Sink;
use crate::trace;
use crate::wire::{Lost, Source};
use core::time::Duration;
use sing_sdk::io::LARGEST;
use sing_sdk::prelude::*;
use sing_sdk::process::Child;
use sing_sdk::rt::Handle;
use sing_sdk::select::Select;
use sing_sdk::time::{Timeout, uptime};
use web::answer::{self, Length};
use web::head::Fault;
use web::pace::{Pace, Patience};
use web::requests::Event;

/// How long the end of a process is waited for that has closed its channel.
const ENDING: Duration = Duration::from_millis(200);
/// Bytes of a body that have come, if it has so many, before a process is taken for it: who sends
/// none holds none.
const AHEAD: usize = 64 << 10;
/// Headers that are about the connection, that the server has dealt with, or that are its own word.
const OWN: [&str; 10] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "expect",
    "x-request-id",
    "x-peer",
];

/// How far the program is.
enum Stage {
    Asked(WebContract::Imp<WebContract::Asked>),
    Answering(WebContract::Imp<WebContract::Answering>),
    Done(Start),
    Gone,
}

impl Stage {
    fn handle(&self) -> Handle {
        match self {
            Stage::Asked(channel) => channel.handle(),
            Stage::Answering(channel) => channel.handle(),
            Stage::Done(_) | Stage::Gone => Handle::NONE,
        }
    }
}

/// Why a request was not answered by its program.
enum Failure {
    /// It has ended.
    Crashed,
    /// It takes too long.
    Late,
    /// Its answer is none.
    Nonsense(&'static str),
    /// The client's body is none.
    Client(Fault),
    /// Nothing can be said to the client any more.
    Lost(Lost),
}

impl Failure {
    /// Its kind, for who counts them.
    fn kind(&self) -> &'static str {
        match self {
            Failure::Crashed => "crash",
            Failure::Late => "timeout",
            Failure::Nonsense(_) => "nonsense",
            Failure::Client(_) => "client",
            Failure::Lost(_) => "connection",
        }
    }
}

impl From<Lost> for Failure {
    fn from(lost: Lost) -> Failure {
        Failure::Lost(lost)
    }
}

impl From<Error> for Failure {
    fn from(_: Error) -> Failure {
        Failure::Lost(Lost::Gone)
    }
}

struct Exchange<'t, 's> {
    talk: &'t mut Talk<'s>,
    stage: Stage,
    /// Where the request's body goes.
    body: Sink,
    /// What has come of it before there was a process.
    ahead: Vec<u8>,
    /// Where the answer's body comes from.
    answer: Option<Source>,
    /// How the answer's body ends, once the answer has begun.
    begun: Option<Length>,
    length: Length,
    /// Bytes of the answer's body so far.
    moved: u64,
    deadline: Duration,
    /// The client's time while the program waits for its body.
    patience: Patience,
}

/// The headers that the program gets.
fn headers(talk: &Talk<'_>) -> Vec<u8> {
    let (head, id, peer, parent) = (&talk.head, &talk.id, talk.peer, talk.trace.parent());
    let mut out = format!("x-request-id:{id}\nx-peer:{peer}\n").into_bytes();
    if let Some(parent) = &parent {
        out.extend_from_slice(format!("traceparent:{parent}\n").as_bytes());
    }
    for header in &head.headers {
        let name = header.name.as_str();
        let replaced = match name {
            "traceparent" => parent.is_some(),
            "tracestate" => !talk.trace.goes_on(),
            _ => false,
        };
        if !replaced && !OWN.contains(&name) {
            out.extend_from_slice(header.name.as_bytes());
            out.push(b':');
            out.extend_from_slice(&header.value);
            out.push(b'\n');
        }
    }
    out
}

pub fn run(talk: &mut Talk<'_>, pool: &Pool) -> Result<(), Lost> {
    let ahead = match talk.read_ahead(AHEAD)? {
        Ok(ahead) => ahead,
        Err(fault) => {
            talk.stays = false;
            return talk.error(fault.status, fault.reason);
        }
    };
    let program = pool.mount.program.as_str();
    talk.trace.route(&pool.mount.path);
    let begin = talk.trace.now();
    let process = match pool.take() {
        Ok(process) => process,
        Err(pool::None::Busy) => {
            let why = Some(("busy", "all processes for this path are busy"));
            let of = (program, Option::None);
            talk.trace.process(trace::Process::Create, begin, of, why);
            let page = answer::page(503, "all processes for this path are busy", None);
            let answer = talk.head(503).header("Retry-After", 1);
            return talk.text(answer, &page);
        }
        Err(pool::None::NotMade(why)) => {
            sing_sdk::log!("request {}: {why}", talk.id);
            let failure = Some(("not_made", why.as_str()));
            let of = (program, Option::None);
            talk.trace
                .process(trace::Process::Create, begin, of, failure);
            return failed(talk, 500, "the program for this path cannot be started");
        }
    };
    let Process { child, channel } = process;
    let of = (program, child.as_ref());
    talk.trace.process(trace::Process::Create, begin, of, None);
    let begin = talk.trace.now();
    let outcome = exchange(talk, pool, &child, channel, ahead);
    let (kept, failure) = match outcome {
        Ok(channel) => (Some(channel), None),
        Err((failure, begun)) => (None, Some((failure, begun))),
    };
    let said = failure.map(|(failure, begun)| {
        let said = describe(talk, pool, &child, &failure);
        (failure, begun, said)
    });
    let failure = said.as_ref().map(|(failure, _, said)| {
        let why = said.as_deref().unwrap_or_default();
        (failure.kind(), why)
    });
    let of = (program, child.as_ref());
    talk.trace.process(trace::Process::Run, begin, of, failure);
    let begin = talk.trace.now();
    if said.is_some() {
        pool::end(&child);
    }
    pool.give_back(kept.map(|channel| Process { child, channel }));
    talk.trace
        .process(trace::Process::End, begin, (program, None), None);
    let result = match said {
        None => Ok(()),
        Some((failure, begun, said)) => {
            if let Some(said) = said {
                sing_sdk::log!("request {}: {said}", talk.id);
            }
            talk.stays &= begun.is_none();
            match (failure, begun) {
                (Failure::Lost(lost), _) => Err(lost),
                // The end of the connection would be the end of the body.
                (_, Some(Length::Open)) => Err(Lost::Gone),
                // The client gets what there is, and sees that a part is missing.
                (_, Some(_)) => talk.wire.settle(Pace::new(uptime()), 0),
                (Failure::Crashed, None) => {
                    failed(talk, 500, "the program for this path has crashed")
                }
                (Failure::Late, None) => {
                    failed(talk, 504, "the program for this path takes too long")
                }
                (Failure::Nonsense(_), None) => {
                    failed(talk, 502, "the program has given no answer")
                }
                (Failure::Client(fault), None) => {
                    talk.stays = false;
                    talk.error(fault.status, fault.reason)
                }
            }
        }
    };
    // The client need not wait for that.
    talk.wire.release();
    pool.fill();
    result
}

/// Answers that the program has not, with the name under which the log has the reason.
fn failed(talk: &mut Talk<'_>, status: u16, reason: &str) -> Result<(), Lost> {
    let page = answer::page(status, reason, Some(&talk.id.to_string()));
    let answer = talk.head(status).header("X-Request-Id", talk.id);
    talk.text(answer, &page)
}

/// A failure, for the log; `None` for one that is the client's affair.
fn describe(
    talk: &Talk<'_>,
    pool: &Pool,
    child: &Option<Child>,
    failure: &Failure,
) -> Option<String> {
    let ended = |child: &&Child| child.join_within(Timeout::from(ENDING)) == Ok(true);
    let what = match failure {
        Failure::Crashed => match child.as_ref().filter(ended) {
            Some(child) => child
                .exit()
                .map_or_else(|e| e.to_string(), |exit| exit.to_string()),
            None => "it has closed its channel".into(),
        },
        Failure::Late => format!("has not answered within {:?}", pool.deadline()),
        Failure::Nonsense(what) => (*what).into(),
        Failure::Client(_) | Failure::Lost(_) => return None,
    };
    talk.server
        .failed
        .fetch_add(1, core::sync::atomic::Ordering::Relaxed);
    let program = &pool.mount.program;
    Some(match child {
        Some(child) => format!("{program} (SIP {}): {what}", child.id()),
        None => format!("{program}: {what}"),
    })
}

/// The channel again, or the failure, with how the answer's body was to end if it has begun.
type Outcome = Result<Start, (Failure, Option<Length>)>;

fn exchange(
    talk: &mut Talk<'_>,
    pool: &Pool,
    child: &Option<Child>,
    channel: Start,
    ahead: Vec<u8>,
) -> Outcome {
    let early = |error: Error| (Failure::from(error), None);
    let (body, from) = PipeContract::new_channel().map_err(early)?;
    let method = Text::new(&talk.head.method).map_err(early)?;
    let target = Text::new(&talk.head.target).map_err(early)?;
    let lines = Vector::from_bytes(&headers(talk)).map_err(early)?;
    let asked = channel.send_request(method, target, lines, from);
    let mut exchange = Exchange {
        talk,
        stage: Stage::Asked(asked),
        body: Sink::Ready(body),
        ahead,
        answer: None,
        begun: None,
        length: Length::None,
        moved: 0,
        deadline: uptime() + pool.deadline(),
        patience: Patience::default(),
    };
    loop {
        match exchange.step() {
            Ok(None) => {}
            Ok(Some(channel)) => return Ok(channel),
            Err(failure) => {
                // While its pipes are open still: their end would tell it that the body is whole.
                if !matches!(failure, Failure::Crashed) {
                    pool::end(child);
                }
                return Err((failure, exchange.begun));
            }
        }
    }
}

impl Exchange<'_, '_> {
    /// Moves what can be moved, and waits for more; the channel when all is done.
    fn step(&mut self) -> Result<Option<Start>, Failure> {
        let wants = self.feed()?;
        // The head waits for the body's first block, to go with it.
        if self.moved > 0 || self.answer.is_none() {
            self.talk.wire.flush()?;
        }
        self.talk.wire.pump();
        if self.talk.wire.output.is_gone() {
            return Err(Failure::Lost(Lost::Gone));
        }
        if matches!(self.stage, Stage::Done(_)) {
            self.end()?;
            // The program took its own time: the client's for what is left begins here.
            self.talk.wire.settle(Pace::new(uptime()), 0)?;
            return match core::mem::replace(&mut self.stage, Stage::Gone) {
                Stage::Done(channel) => Ok(Some(channel)),
                _ => Err(Failure::Crashed),
            };
        }
        let mut select = Select::<5>::new();
        let input = select.add(if wants {
            self.talk.wire.input()
        } else {
            Handle::NONE
        });
        let output = select.add(self.talk.wire.output.handle());
        let body = select.add(self.body.handle());
        let room = self.talk.wire.has_room();
        let source = self.answer.as_ref().filter(|_| room);
        let answer = select.add(source.map_or(Handle::NONE, Waitable::handle));
        // What has been said of the body's end is true when the body has come.
        let stage = match self.answer {
            Some(_) => Handle::NONE,
            None => self.stage.handle(),
        };
        let stage = select.add(stage);
        let now = uptime();
        let end = match wants {
            true => self.deadline.min(now + self.patience.left()),
            false => self.deadline,
        };
        if Timeout::between(now, end).is_none_or(|time| select.wait(time).is_err()) {
            return Err(match end < self.deadline {
                true => Failure::Client(SLOW),
                false => Failure::Late,
            });
        }
        if wants {
            self.patience.waited(uptime().saturating_sub(now));
        }
        if select.tag(output).is_some() {
            self.talk.wire.output.answered();
        }
        if select.tag(body).is_some() {
            self.body.answered();
        }
        if select.tag(input).is_some() {
            match self.talk.wire.take() {
                Some(block) => {
                    self.patience.came(block.len());
                    self.talk.requests.feed(&block.to_vec());
                }
                None => return Err(Failure::Client(CUT)),
            }
        }
        if select.tag(answer).is_some() {
            self.take_answer()?;
        }
        if select.tag(stage).is_some() {
            self.advance()?;
        }
        Ok(None)
    }

    /// Gives the program what has come of the body; whether more can be taken from the client.
    fn feed(&mut self) -> Result<bool, Failure> {
        if !self.ahead.is_empty() && self.body.is_ready() {
            let rest = self.ahead.split_off(self.ahead.len().min(LARGEST));
            self.body.send(Vector::from_bytes(&self.ahead)?);
            self.ahead = rest;
        }
        while !self.talk.is_whole && self.body.is_ready() {
            match self.talk.requests.event().map_err(Failure::Client)? {
                Some(Event::Content(content)) => {
                    self.body.send(Vector::from_bytes(&content)?);
                }
                Some(_) => self.talk.is_whole = true,
                None => return Ok(true),
            }
        }
        if self.talk.is_whole && self.body.is_ready() {
            // Its end.
            self.body = Sink::Gone;
        }
        Ok(false)
    }

    /// The program has said something.
    fn advance(&mut self) -> Result<(), Failure> {
        self.stage = match core::mem::replace(&mut self.stage, Stage::Gone) {
            Stage::Asked(channel) => {
                let answer = channel.recv_response();
                let (status, headers, body, next) = answer.map_err(|_| Failure::Crashed)?;
                self.begin(status, &headers, body)?;
                Stage::Answering(next)
            }
            Stage::Answering(channel) => {
                Stage::Done(channel.recv_done().map_err(|_| Failure::Crashed)?)
            }
            other => other,
        };
        Ok(())
    }

    fn begin(&mut self, status: u32, headers: &Text, body: Source) -> Result<(), Failure> {
        const HEADERS: Failure = Failure::Nonsense("its headers are none");
        let text = headers.get_within(answer::MOST_GIVEN).ok_or(HEADERS)?;
        let given = answer::given(&text).ok_or(HEADERS)?;
        // The contract has no others than 200 to 599.
        let status = u16::try_from(status).map_err(|_| HEADERS)?;
        let head = &self.talk.head;
        let bodiless = matches!(status, 204 | 304);
        self.length = match given.length {
            _ if bodiless => Length::None,
            Some(bytes) => Length::Known(bytes),
            None if head.modern => Length::Chunked,
            None => Length::Open,
        };
        // A body that nobody gets is not taken from the program either.
        let unread = bodiless || head.method == "HEAD";
        self.answer = (!unread).then_some(body);
        let answer = self.talk.head(status).given(&given);
        let answer = answer.header("X-Request-Id", self.talk.id);
        self.begun = Some(self.length);
        self.talk.begin(answer, self.length)?;
        if unread {
            self.length = Length::None;
        }
        Ok(())
    }

    /// Takes a block of the answer's body.
    fn take_answer(&mut self) -> Result<(), Failure> {
        let Some(source) = self.answer.take() else {
            return Ok(());
        };
        let Ok((block, source)) = source.recv_write() else {
            return Ok(());
        };
        self.answer = Some(source.send_ack());
        let len = block.len() as u64;
        // They move nothing, so that no count would end them.
        if len == 0 {
            return Err(Failure::Nonsense("it has sent an empty block"));
        }
        // The network takes no larger ones.
        if block.len() > LARGEST {
            return Err(Failure::Nonsense("it has sent a block that is too large"));
        }
        self.moved += len;
        match self.length {
            Length::Known(bytes) if self.moved > bytes => {
                return Err(Failure::Nonsense("it has sent more than it has said"));
            }
            Length::Chunked => self.talk.wire.push_chunk(block)?,
            _ => self.talk.wire.push(block)?,
        }
        Ok(())
    }

    /// All of the answer has come.
    fn end(&mut self) -> Result<(), Failure> {
        match self.length {
            Length::Known(bytes) if self.moved < bytes => {
                Err(Failure::Nonsense("it has sent less than it has said"))
            }
            Length::Chunked => Ok(self.talk.wire.write(b"0\r\n\r\n")?),
            _ => Ok(()),
        }
    }
}
