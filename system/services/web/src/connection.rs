//! One connection: its requests, one after the other.

use crate::exchange;
use crate::files;
use crate::root::Root;
use crate::server::{Id, Server};
use crate::slots::Held;
use crate::trace::Trace;
use crate::wire::{Lost, Wire};
use core::net::IpAddr;
use sing_sdk::net::Connection;
use sing_sdk::prelude::*;
use sing_sdk::rt::Handle;
use sing_sdk::select::Select;
use sing_sdk::time::{Timeout, uptime, utc};
use web::answer::{self, Answer, Length};
use web::head::{Fault, Framing, Head};
use web::pace::Pace;
use web::requests::{Event, Requests};
use web::target::Target;

/// Bytes of a body that nobody wants, and that are passed over so that the connection can go on.
const UNWANTED: u64 = 64 << 10;

/// A client that does not send its body on.
pub const SLOW: Fault = Fault::new(408, "the body takes too long to come");
/// A client that has ended its direction within a body.
pub const CUT: Fault = Fault::bad("the body ends before it is whole");

/// A request that is being answered.
pub struct Talk<'a> {
    pub server: &'a Server,
    /// The connection's place.
    pub slot: usize,
    /// Whence the client has connected.
    pub peer: IpAddr,
    pub wire: &'a mut Wire,
    pub requests: &'a mut Requests,
    pub head: Head,
    /// Its name in the log.
    pub id: Id,
    /// Whether the connection goes on behind the answer.
    pub stays: bool,
    /// Whether all of its body has come.
    pub is_whole: bool,
    pub pace: Pace,
    /// What is recorded of it.
    pub trace: Trace<'a>,
    /// The directory of files, once it is open.
    pub root: &'a mut Option<Root>,
}

/// What comes at the beginning of a request.
enum Heard {
    Head(Head),
    Fault(Fault),
    /// The client has ended, or is asked to.
    Over,
    /// It has begun a request, and is too slow.
    Slow,
    /// It has begun a request, and another connection needs the place.
    Leave,
}

/// Serves a connection to its end, and gives back its place. `root`: the directory of files, once it is open.
pub fn serve(
    server: &Server,
    place: Held<'_>,
    root: &mut Option<Root>,
    connection: Connection,
    peer: IpAddr,
) {
    let slot = place.slot;
    let Ok(mut wire) = Wire::open(connection) else {
        return;
    };
    let mut requests = Requests::new(server.config.body);
    for number in 1..=server.config.requests {
        if number > 1 {
            server.slots.quiet(slot);
        }
        let heard = listen(server, slot, &mut wire, &mut requests);
        if !server.slots.busy(slot) {
            return match heard {
                // Its last answer may be on its way.
                Heard::Over if number > 1 => close(server, place, wire),
                _ => wire.abort(),
            };
        }
        let head = match heard {
            Heard::Head(head) => head,
            Heard::Over => return close(server, place, wire),
            Heard::Leave => return wire.abort(),
            Heard::Slow => {
                let late = Fault::new(408, "the request takes too long to come");
                return refuse(server, place, wire, late, requests.wants_no_content());
            }
            Heard::Fault(fault) => {
                return refuse(server, place, wire, fault, requests.wants_no_content());
            }
        };
        let stays = head.keep_alive && number < server.config.requests && !server.is_stopping();
        let id = server.next_id();
        let mut talk = Talk {
            server,
            slot,
            peer,
            wire: &mut wire,
            requests: &mut requests,
            trace: Trace::begin(server.spans.as_ref(), &head, peer, id),
            id,
            stays,
            is_whole: false,
            pace: Pace::new(uptime()),
            root,
            head,
        };
        let answered = talk.answer();
        talk.trace.end(&talk.head.method, &answered);
        let outcome = answered.and_then(|()| talk.finish());
        match outcome {
            Ok(true) => {}
            Ok(false) => return close(server, place, wire),
            Err(_) => return wire.abort(),
        }
    }
    close(server, place, wire);
}

/// Set when a connection that waits for its client has to make way. A server that is being stopped
/// needs no places.
fn leave(server: &Server, slot: usize) -> Handle {
    match server.is_stopping() {
        true => Handle::NONE,
        false => server.slots.leave(slot).handle(),
    }
}

/// Ends a connection whose last answer is given. It makes way until its last block can go, and has no place any more
/// when that goes.
fn close(server: &Server, place: Held<'_>, mut wire: Wire) {
    server.slots.sends(place.slot);
    match wire.end(leave(server, place.slot)) {
        Ok(()) => place.part(|| wire.part()),
        Err(_) => wire.abort(),
    }
}

/// Waits for the next request.
fn listen(server: &Server, slot: usize, wire: &mut Wire, requests: &mut Requests) -> Heard {
    let began = uptime();
    let mut first = None;
    loop {
        match requests.event() {
            Ok(Some(Event::Head(head))) => return Heard::Head(head),
            Ok(Some(_)) => continue,
            Ok(None) => {}
            Err(fault) => return Heard::Fault(fault),
        }
        let begun = requests.waiting() > 0;
        if begun && first.is_none() {
            first = Some(uptime());
        }
        let end = match first {
            Some(first) => first + server.config.header,
            None => began + server.config.idle,
        };
        if wire.is_over() {
            return Heard::Over;
        }
        let mut select = Select::<2>::new();
        let input = select.add(wire.input());
        let leave = select.add(server.slots.leave(slot).handle());
        if Timeout::until(end).is_none_or(|time| select.wait(time).is_err()) {
            return match begun {
                true => Heard::Slow,
                false => Heard::Over,
            };
        }
        let leaves = select.tag(leave).is_some();
        // What has come is heard, but not when another needs the place: it may come without end.
        if select.tag(input).is_some()
            && (!leaves || server.is_stopping())
            && let Some(block) = wire.take()
        {
            requests.feed_with(block.len(), |room| block.block().read(0, room));
        } else if leaves {
            return match begun {
                true => Heard::Leave,
                false => Heard::Over,
            };
        }
    }
}

/// Answers what is no request, and ends the connection. `bare`: without a page, as the client asks for
/// the head of an answer.
fn refuse(server: &Server, place: Held<'_>, mut wire: Wire, fault: Fault, bare: bool) {
    let page = answer::page(fault.status, fault.reason, None);
    let head = Answer::new(fault.status, utc().as_secs());
    let head = head.header("Content-Type", "text/html; charset=utf-8");
    let head = head.finish(Length::Known(page.len() as u64), false, true);
    let page = if bare { "" } else { page.as_str() };
    match wire.write((head + page).as_bytes()) {
        Ok(()) => close(server, place, wire),
        Err(_) => wire.abort(),
    }
}

impl Talk<'_> {
    fn answer(&mut self) -> Result<(), Lost> {
        if self.head.target == "*" {
            return self.options();
        }
        let target = match Target::read(&self.head.target) {
            Ok(target) => target,
            Err(fault) => return self.error(fault.status, fault.reason),
        };
        let server = self.server;
        match server.pool(&target) {
            Some(pool) => exchange::run(self, pool),
            None => files::answer(self, &target),
        }
    }

    /// Passes over what is left of the body; whether the connection goes on.
    fn finish(&mut self) -> Result<bool, Lost> {
        // The client may send its body or not: only it knows.
        if !self.is_whole && self.head.expects {
            return Ok(false);
        }
        // Most requests have no body, of which the end is all that comes.
        if !self.is_whole && self.head.framing == Framing::Length(0) {
            self.is_whole = matches!(self.requests.event(), Ok(Some(Event::End)));
        }
        if !self.stays || self.is_whole {
            return Ok(self.stays);
        }
        let mut passed = 0;
        let pace = Pace::new(uptime());
        // The answer is given: who only holds the connection now keeps nobody out.
        self.server.slots.sends(self.slot);
        while self.stays && !self.is_whole {
            match self.requests.event() {
                Ok(Some(Event::Content(content))) => passed += content.len() as u64,
                Ok(Some(_)) => self.is_whole = true,
                // Its answer, and those before, may be on their way still: no reason to abort them.
                Ok(None) => match self.receive(pace, passed) {
                    Err(Lost::Over) => return Ok(false),
                    received => received?,
                },
                Err(_) => return Ok(false),
            }
            if passed > UNWANTED {
                return Ok(false);
            }
        }
        Ok(self.stays)
    }

    /// The body, or its first so many bytes if it has more; a connection that waits for them makes way
    /// for others.
    pub fn read_ahead(&mut self, most: usize) -> Result<Result<Vec<u8>, Fault>, Lost> {
        let mut body = Vec::new();
        self.go_on()?;
        self.wire.settle(self.pace, 0)?;
        let pace = Pace::new(uptime());
        let (mut waits, mut fault) = (false, None);
        while !self.is_whole && body.len() < most && fault.is_none() {
            match self.requests.event() {
                Ok(Some(Event::Content(content))) => body.extend_from_slice(&content),
                Ok(Some(_)) => self.is_whole = true,
                Ok(None) => {
                    if !core::mem::replace(&mut waits, true) {
                        self.server.slots.waits(self.slot);
                    }
                    match self.receive(pace, body.len() as u64) {
                        Err(Lost::Slow) => fault = Some(SLOW),
                        Err(Lost::Over) => fault = Some(CUT),
                        received => received?,
                    }
                }
                Err(why) => fault = Some(why),
            }
        }
        match self.server.slots.busy(self.slot) {
            true => Ok(fault.map_or(Ok(body), Err)),
            false => Err(Lost::Gone),
        }
    }

    /// Waits for bytes of the client, as one that makes way for others.
    fn receive(&mut self, pace: Pace, moved: u64) -> Result<(), Lost> {
        let mut select = Select::<2>::new();
        select.add(self.wire.input());
        let leave = select.add(leave(self.server, self.slot));
        if self.wire.is_over() {
            return Err(Lost::Over);
        }
        let end = pace.end(moved);
        if Timeout::until(end).is_none_or(|time| select.wait(time).is_err()) {
            return Err(Lost::Slow);
        }
        if select.tag(leave).is_some() {
            return Err(Lost::Gone);
        }
        match self.wire.take() {
            Some(block) => {
                self.requests
                    .feed_with(block.len(), |room| block.block().read(0, room));
                Ok(())
            }
            None => Err(Lost::Over),
        }
    }

    /// Tells a client to send the body, if it waits for that.
    pub fn go_on(&mut self) -> Result<(), Lost> {
        if core::mem::take(&mut self.head.expects) && !self.requests.is_begun() {
            self.wire.write(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        Ok(())
    }

    /// The head of an answer, to which headers can be added.
    pub fn head(&self, status: u16) -> Answer {
        Answer::new(status, utc().as_secs())
    }

    /// Queues a head.
    pub fn begin(&mut self, answer: Answer, length: Length) -> Result<(), Lost> {
        if length == Length::Open {
            self.stays = false;
        }
        // A client that waits to be told whether to send the body is told by this answer not to.
        if self.head.expects {
            self.stays = false;
        }
        // Whatever made the answer took its own time: the client's begins here.
        self.pace = Pace::new(uptime());
        self.trace.answered(answer.status);
        let text = answer.finish(length, self.stays, self.head.modern);
        self.wire.write(text.as_bytes())?;
        Ok(())
    }

    /// Queues the head of an answer that comes at once: if the connection ends with it, its place is given back before the
    /// client can have all of it.
    pub fn begin_whole(&mut self, answer: Answer, length: Length) -> Result<(), Lost> {
        self.begin(answer, length)?;
        if !self.stays {
            let is_sent = self.head.method != "HEAD";
            self.wire.ends_after(match length {
                Length::Known(bytes) if is_sent => bytes,
                _ => 0,
            });
        }
        Ok(())
    }

    /// Answers with a text.
    pub fn text(&mut self, answer: Answer, text: &str) -> Result<(), Lost> {
        let answer = answer.header("Content-Type", "text/html; charset=utf-8");
        self.begin_whole(answer, Length::Known(text.len() as u64))?;
        if self.head.method != "HEAD" {
            self.wire.write(text.as_bytes())?;
        }
        self.wire.settle(self.pace, 0)
    }

    /// Answers with a small page that says why not.
    pub fn error(&mut self, status: u16, reason: &str) -> Result<(), Lost> {
        let page = answer::page(status, reason, None);
        self.text(self.head(status), &page)
    }

    /// What may be asked of files.
    pub fn options(&mut self) -> Result<(), Lost> {
        let answer = self.head(204).header("Allow", "GET, HEAD, OPTIONS");
        self.begin_whole(answer, Length::None)?;
        self.wire.settle(self.pace, 0)
    }
}
