//! A request of HTTP to another, from its handing over to the end of its answer: the state machine of a client, over
//! the program's own network.
//!
//! There is no thread: [`Client::step`] does what can be done without waiting, and is called when the program asks
//! for anything of it, and around every wait. A request has a connection of its own. It is left to the network when the
//! answer has been read and the request sent, and ended at once with the first error, or with the last of the program's
//! resources before that.
//!
//! Invariants:
//! - What is kept is bounded: of the request's body [`sending::ROOM`] and a block, of the answer one block and what
//!   [`sing_http`] keeps.
//! - Each state but those in which the program itself is waited for has a moment at which it ends
//!   ([`Client::deadline`]).
//! - A step does [`TURNS`] things at most.

mod reaching;
mod receiving;
mod sending;

use super::why::{Case, Why};
use crate::errno::Errno;
use crate::host::{Host, Sink as _, Source as _};
use crate::net::{Answer, Code, Control as _, Network, Pending, Waited};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};
use reaching::{connect, found, look_up};
use receiving::Receiving;
use sending::Sending;
use sing_http::Field;
use sing_http::request::Request;

pub(crate) use receiving::Head;
pub(crate) use sending::HEAD;

/// Things that a step does at most.
const TURNS: usize = 32;
/// Addresses of a name that are tried, one after the other.
const ADDRESSES: usize = 8;
/// Nanoseconds that each of the three times is if the program does not say.
const PATIENCE: u64 = 600_000_000_000;
/// Nanoseconds that the network has to say how a connection has ended. It knows of a fault at once, and else waits for
/// the server to hear of this side's end.
const ENDING: u64 = 2_000_000_000;

/// The times of `request-options` in their order: to connect, to the answer's head, between pieces of its body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    connect: u64,
    first: u64,
    between: u64,
}

impl Limits {
    pub(crate) fn of(options: [Option<u64>; 3]) -> Limits {
        let [connect, first, between] = options.map(|time| time.unwrap_or(PATIENCE));
        Limits {
            connect,
            first,
            between,
        }
    }
}

/// How far the connection is.
enum Stage<H: Host> {
    /// The program has not handed the request over.
    Unsent,
    Looking(<H::Net as Network>::Lookup),
    Connecting(<H::Net as Network>::Connecting),
    /// Without a sink, this side's direction has ended.
    Open(<H::Net as Network>::Control, H::Source, Option<H::Sink>),
    /// It is to be ended, by the next step: those are what only programs that send requests have.
    Broken(<H::Net as Network>::Control),
    /// There is none any more.
    Over,
}

/// A request that was handed over.
pub(crate) struct Asked {
    pub request: Request,
    /// What its fields say of its body's length.
    pub said: Option<u64>,
    /// The server: an address, or a name that is looked up.
    pub host: Box<str>,
    pub port: u16,
    pub limits: Limits,
}

/// A request, and its answer.
pub struct Client<H: Host> {
    stage: Stage<H>,
    /// The addresses that have not been tried, the next one last.
    addresses: Vec<IpAddr>,
    port: u16,
    limits: Limits,
    /// When the state began in which it is, or something last came or went.
    since: u64,
    /// The program itself was waited for at the end of the last step.
    idle: bool,
    /// Since when the network is asked how the connection has ended: the end of an answer that has no other.
    asked: Option<u64>,
    sending: Sending<H::Block>,
    receiving: Receiving<H::Block>,
}

impl<H: Host> Client<H> {
    /// One whose request has not been handed over; its body, if the program has it, can be written.
    pub(crate) fn new(length: Option<u64>) -> Client<H> {
        Client {
            stage: Stage::Unsent,
            addresses: Vec::new(),
            port: 0,
            limits: Limits::of([None; 3]),
            since: 0,
            idle: true,
            asked: None,
            sending: Sending::new(length),
            receiving: Receiving::new(),
        }
    }

    /// The program has the request's body.
    pub(crate) fn give_body(&mut self) {
        self.sending.give();
    }

    /// Begins to ask.
    pub(crate) fn begin(&mut self, host: &mut H, asked: Asked) {
        // The program has dropped its body already: it has failed.
        if self.is_sent() {
            return;
        }
        self.receiving.begin(&asked.request.method);
        self.sending.begin(asked.request);
        (self.port, self.limits) = (asked.port, asked.limits);
        self.since = host.monotonic();
        match asked.host.parse() {
            Ok(address) => {
                self.addresses = [address].into();
                self.connect(host);
            }
            Err(_) => match look_up(host, &asked.host) {
                Ok(lookup) => self.stage = Stage::Looking(lookup),
                Err(code) => self.fail(Why::of_lookup(code)),
            },
        }
    }

    /// Ends it: the answer, and what is written of the request, have failed for this reason, if they have not ended.
    /// The next step ends the connection.
    pub(crate) fn fail(&mut self, why: Why) {
        self.break_off();
        self.sending.stop(&why);
        self.receiving.fail(why);
    }

    fn break_off(&mut self) {
        self.stage = match core::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Open(control, ..) | Stage::Broken(control) => Stage::Broken(control),
            _ => Stage::Over,
        };
    }

    /// Nobody waits for the answer any more.
    pub(crate) fn cancel(&mut self) {
        self.fail(Case::ConnectionTerminated.into());
    }

    /// Begins a connection to the next address.
    fn connect(&mut self, host: &mut H) {
        let mut why = Case::DestinationIpUnroutable.into();
        while let Some(address) = self.addresses.pop() {
            match connect(host, SocketAddr::new(address, self.port)) {
                Ok(connecting) => {
                    self.stage = Stage::Connecting(connecting);
                    return;
                }
                Err(code) => why = Why::of_connection(code),
            }
        }
        self.fail(why);
    }

    /// Does what can be done without waiting. When the program `waits`, or asks for something to be sent, the head goes
    /// out even if it is not known yet how long the body will be.
    pub(crate) fn step(&mut self, host: &mut H, waits: bool) {
        self.sending.hasten(waits);
        // What the program has done meanwhile is what others are waited for from now on.
        if self.idle {
            self.since = host.monotonic();
        }
        for _ in 0..TURNS {
            if !self.turn(host) {
                break;
            }
        }
        if self.deadline().is_some_and(|end| host.monotonic() >= end) {
            match self.asked.take() {
                Some(_) => self.close(Ok(())),
                None => self.fail(self.late()),
            }
        }
        if matches!(self.stage, Stage::Open(..))
            && self.receiving.has_ended()
            && self.sending.has_ended()
        {
            match self.receiving.is_whole() {
                // The network does the rest.
                true => self.stage = Stage::Over,
                false => self.break_off(),
            }
        }
        if let Stage::Broken(_) = self.stage
            && let Stage::Broken(control) = core::mem::replace(&mut self.stage, Stage::Over)
        {
            control.abort();
        }
        self.idle = self.deadline().is_none();
    }

    /// Does one thing; whether there was one.
    fn turn(&mut self, host: &mut H) -> bool {
        match &mut self.stage {
            Stage::Looking(lookup) if lookup.is_ready() => {
                let Stage::Looking(lookup) = core::mem::replace(&mut self.stage, Stage::Over)
                else {
                    return false;
                };
                match found(host, lookup) {
                    Ok(mut addresses) => {
                        addresses.truncate(ADDRESSES);
                        addresses.reverse();
                        self.addresses = addresses;
                        self.connect(host);
                    }
                    Err(code) => self.fail(Why::of_lookup(code)),
                }
                true
            }
            Stage::Connecting(connecting) if connecting.is_ready() => {
                let Stage::Connecting(connecting) =
                    core::mem::replace(&mut self.stage, Stage::Over)
                else {
                    return false;
                };
                let net = host.net().ok_or(Code::AccessDenied);
                match net.and_then(|net| net.joined(connecting)) {
                    Ok((source, sink, control)) => {
                        self.since = host.monotonic();
                        self.stage = Stage::Open(control, source, Some(sink));
                    }
                    Err(code) if self.addresses.is_empty() => self.fail(Why::of_connection(code)),
                    Err(_) => self.connect(host),
                }
                true
            }
            Stage::Open(control, source, output) => {
                if self.asked.is_some() {
                    if self.sending.has_ended() {
                        *output = None;
                    }
                    if control.is_ready() {
                        let ended = control.ended();
                        self.asked = None;
                        self.close(ended);
                        return true;
                    }
                }
                if let Some(sink) = output
                    && self.sending.is_ready()
                    && sink.is_ready()
                {
                    match self.sending.next(host) {
                        // The body's end, behind which nothing goes: the server's time begins.
                        Ok(None) => self.since = host.monotonic(),
                        Ok(Some(block)) => match sink.send(block) {
                            Ok(()) => self.since = host.monotonic(),
                            // The server may have answered all the same.
                            Err(_) => {
                                self.sending.stop(&Case::ConnectionTerminated.into());
                                self.since = host.monotonic();
                            }
                        },
                        Err(why) => self.fail(why),
                    }
                    return true;
                }
                if self.receiving.is_raw() {
                    if let Err(why) = self.receiving.digest(host) {
                        self.fail(why);
                    }
                    return true;
                }
                if self.asked.is_none() && self.receiving.is_ready() && source.is_ready() {
                    let done = match source.receive() {
                        Some((block, len)) => self.receiving.take(host, block, len),
                        None if self.receiving.is_until_closed() => {
                            control.ask();
                            self.asked = Some(host.monotonic());
                            Ok(())
                        }
                        None => self.receiving.close(),
                    };
                    // The time to the head is for all of it.
                    if self.receiving.has_head() {
                        self.since = host.monotonic();
                    }
                    if let Err(why) = done {
                        self.fail(why);
                    }
                    return true;
                }
                false
            }
            _ => false,
        }
    }

    /// The connection has ended, and so has the answer; by a fault, before all of it has come.
    fn close(&mut self, ended: Answer) {
        let closed = match ended {
            Ok(()) => self.receiving.close(),
            Err(_) => Err(Case::ResponseIncomplete.into()),
        };
        if let Err(why) = closed {
            self.fail(why);
        }
    }

    /// When it is given up, if nothing comes; `None` while the program itself is waited for.
    pub(crate) fn deadline(&self) -> Option<u64> {
        let time = match self.stage {
            Stage::Unsent | Stage::Broken(_) | Stage::Over => return None,
            Stage::Looking(_) | Stage::Connecting(_) => self.limits.connect,
            Stage::Open(..) if !self.receiving.has_head() => {
                let waits = self.sending.has_ended() || self.sending.is_ready();
                return waits.then(|| self.since.checked_add(self.limits.first))?;
            }
            Stage::Open(..) if self.asked.is_some() => return self.asked?.checked_add(ENDING),
            Stage::Open(..) if self.receiving.is_ready() || self.sending.is_ready() => {
                self.limits.between
            }
            Stage::Open(..) => return None,
        };
        self.since.checked_add(time)
    }

    /// What has not come in time.
    fn late(&self) -> Why {
        let case = match self.stage {
            Stage::Looking(_) => Case::DnsTimeout,
            Stage::Connecting(_) => Case::ConnectionTimeout,
            _ if self.sending.is_ready() => Case::ConnectionWriteTimeout,
            _ => Case::ConnectionReadTimeout,
        };
        case.into()
    }

    /// Whether it was handed over.
    pub(crate) const fn is_sent(&self) -> bool {
        !matches!(self.stage, Stage::Unsent)
    }

    /// Whether it waits for others.
    pub(crate) fn is_under_way(&self) -> bool {
        self.waited().is_some() || self.source().is_some() || self.sink().is_some()
    }

    /// What to wait for until a step may do something.
    pub(crate) fn waited(&self) -> Option<Waited<'_, H::Net>> {
        match &self.stage {
            Stage::Looking(lookup) => Some(Waited::Lookup(lookup)),
            Stage::Connecting(connecting) => Some(Waited::Connecting(connecting)),
            Stage::Open(control, ..) if self.asked.is_some() => Some(Waited::Ending(control)),
            _ => None,
        }
    }

    pub(crate) fn source(&self) -> Option<&H::Source> {
        match &self.stage {
            Stage::Open(_, source, _) if self.asked.is_none() && self.receiving.is_ready() => {
                Some(source)
            }
            _ => None,
        }
    }

    pub(crate) fn sink(&self) -> Option<&H::Sink> {
        match &self.stage {
            Stage::Open(_, _, sink) if self.sending.is_ready() => sink.as_ref(),
            _ => None,
        }
    }

    /// Whether the answer's head is there, or why there is none.
    pub(crate) fn is_answered(&self) -> bool {
        self.receiving.is_answered()
    }

    /// Takes the answer's head; `None` if it has been taken.
    pub(crate) fn take_head(&mut self) -> Option<Result<Head, Why>> {
        self.receiving.take_head()
    }

    /// Whether there is content to read, or its end, or a reason why there is none.
    pub(crate) fn has_come(&self) -> bool {
        self.receiving.has_come()
    }

    /// A block of the answer's body, at most so many bytes of it. It is given back with what was used
    /// ([`Client::used`]).
    pub(crate) fn content(&mut self, most: usize) -> Result<Come<H::Block>, Why> {
        self.receiving.content(most)
    }

    /// Gives a block back of which so many bytes were used.
    pub(crate) fn used(&mut self, host: &H, block: H::Block, count: usize) {
        // Only what is read can be waited for: the time begins now.
        self.since = host.monotonic();
        self.receiving.used(block, count);
    }

    /// Nobody wants what more comes of the answer. The request goes on, if the program has not finished it.
    pub(crate) fn abandon(&mut self) {
        self.receiving.fail(Case::ConnectionTerminated.into());
    }

    /// What more comes of the body is dropped.
    pub(crate) const fn drain(&mut self) {
        self.receiving.drain();
    }

    /// What came behind the body, at its end; `None` before.
    pub(crate) fn trailers(&mut self) -> Option<Result<Vec<Field>, Why>> {
        self.receiving.trailers()
    }

    /// How many bytes of the body may be written.
    pub(crate) fn room(&self) -> Result<u64, Why> {
        self.sending.room()
    }

    /// Takes a block of the body, for which there is room.
    pub(crate) fn write(&mut self, host: &mut H, block: H::Block, len: usize) -> Result<(), Why> {
        let written = self.sending.write(host, block, len);
        if let Err(why) = &written {
            self.fail(why.clone());
        }
        written
    }

    /// Whether all that was written has gone to the network, or has nowhere to go.
    pub(crate) fn is_flushed(&self) -> bool {
        self.sending.is_flushed()
    }

    /// The body is whole.
    pub(crate) fn finish(&mut self, trailers: Vec<Field>) -> Result<(), Why> {
        let finished = self.sending.finish(trailers);
        if let Err(why) = &finished {
            self.fail(why.clone());
        }
        finished
    }
}

/// What has come of an answer's body.
pub(crate) enum Come<B> {
    Nothing,
    /// A block, from where in it, and how many bytes.
    Content(B, usize, usize),
    End,
}

/// Memory is short.
fn short(_: Errno) -> Why {
    Why::text(Case::InternalError, "memory is short")
}
