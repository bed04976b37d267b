//! Calls of the program that the system is embedded in: where they come in, and where their answers
//! are waited for.
//!
//! A request waits here until the kernel takes it, in its idle context, and answers it there
//! ([`sing_kernel::hal::Callers`]). There is no thread for that: one that waits for its answer is the
//! kernel's itself meanwhile, unless another is ([`Baton`]).
//!
//! Invariants:
//! - A request is in `waiting`, with the thread that runs the kernel ([`here`]), or with the kernel, until it
//!   is answered.
//! - Nothing of the host's runs within the kernel: an answer is put down, and the thread that
//!   waits for it is woken.
//! - What the kernel answers to nothing is not copied.
//! - A block of a message is given back when nobody reads it any more ([`lent`]).
//! - A process that was made by a fork has no system, whose threads it does not have: nothing
//!   here takes a lock there, which a thread that is not there might have, or waits.
//! - Once the system has ended, every request has an answer: that it has.

mod answer;
mod here;
mod lent;

pub use answer::{Pending, Reply};
pub use lent::{Held, Lent, Message, Word};

use crate::baton::Baton;
use crate::devices::entropy;
use crate::origin::Origin;
use crate::signals::beside;
use crate::wakers::Wakers;
use crate::{HostedHal, hosted};
use answer::{Place, locked};
use here::Here;
use lent::Loans;
use sing_calls::{Endpoint, Given, Limits, Op, Outcome, Request};
use sing_kernel::hal::Callers;
use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::Duration;

/// How long it waits before it interrupts the kernel again, if Linux has refused that.
const AGAIN: Duration = Duration::from_millis(1);

/// The host's end of the system.
#[derive(Default)]
pub struct Port {
    /// The process that the system is in.
    origin: Origin,
    state: Mutex<State>,
    /// The number of the last request.
    last: AtomicU64,
    /// The request of the thread that runs the kernel.
    here: Here,
    /// Wakers to be called, by a thread of the host's.
    wakers: Arc<Wakers>,
    /// Who runs the kernel.
    baton: Baton,
    /// Blocks that the host has.
    loans: Loans,
    /// Itself, once something was asked.
    own: OnceLock<Weak<Port>>,
}

#[derive(Default)]
struct State {
    /// Requests that the kernel has not taken.
    waiting: VecDeque<Waiting>,
    /// Places of answers, with the requests' numbers: a few, or as many as the program has calls under
    /// way. The last ones are mostly those that are asked for.
    open: Vec<(u64, Arc<Place>)>,
    ended: Option<i32>,
    /// Blocks that have been given back since the kernel was told of one.
    untold: usize,
}

/// A request that waits.
struct Waiting {
    op: Op,
    id: u64,
    process: u64,
    limits: Limits,
    directories: Box<[u64]>,
    endpoint: Option<Box<Wanted>>,
    /// The message, and how many words of `words` it has.
    message: Option<u32>,
    words: Box<[u64]>,
    /// The name of the image and the arguments, of so many bytes, and the bytes of the call behind them.
    text: Box<[u8]>,
    name: usize,
    arguments: usize,
}

/// An endpoint that is asked for.
struct Wanted {
    name: Box<str>,
    contract: Box<str>,
    identity: [u8; 32],
    state: Box<str>,
    exports: bool,
}

impl Wanted {
    fn of(endpoint: &Endpoint<'_>) -> Box<Wanted> {
        Box::new(Wanted {
            name: endpoint.name.into(),
            contract: endpoint.contract.into(),
            identity: *endpoint.identity,
            state: endpoint.state.into(),
            exports: endpoint.exports,
        })
    }

    fn endpoint(&self) -> Endpoint<'_> {
        Endpoint {
            name: &self.name,
            contract: &self.contract,
            identity: &self.identity,
            state: &self.state,
            exports: self.exports,
        }
    }
}

/// What the host asks of the system.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// What is wanted.
    pub op: Op,
    /// As of [`Request::process`].
    pub process: u64,
    /// What it may use.
    pub limits: Limits,
    /// The name of an image.
    pub name: &'a str,
    /// The endpoint of [`Op::Talk`].
    pub endpoint: Option<Endpoint<'a>>,
    /// The message of [`Op::Send`] and [`Op::Exchange`].
    pub message: Option<sing_calls::Message<'a>>,
    /// As of [`Request::directories`].
    pub directories: &'a [u64],
    /// As of [`Request::arguments`].
    pub arguments: &'a [u8],
    /// The bytes of a call, or of a message's blocks.
    pub bytes: &'a [u8],
}

impl Asked<'_> {
    /// The request to do this to a process, with nothing more.
    #[must_use]
    pub const fn of(op: Op, process: u64) -> Asked<'static> {
        Asked {
            op,
            process,
            limits: Limits::NONE,
            name: "",
            endpoint: None,
            message: None,
            directories: &[],
            arguments: &[],
            bytes: &[],
        }
    }

    /// Whoever has a block of the kernel's gives it back, once, and nobody else: the block is read where it lies.
    fn check(&self) {
        assert!(self.op != Op::Free, "a block is given back by what has it");
    }

    fn request(&self, id: u64) -> Request<'_> {
        Request {
            op: self.op,
            id,
            process: self.process,
            limits: self.limits,
            name: self.name,
            endpoint: self.endpoint,
            message: self.message,
            directories: self.directories,
            arguments: self.arguments,
            bytes: self.bytes,
        }
    }
}

impl State {
    /// Adds a request.
    fn add(&mut self, request: &Request<'_>) {
        let (name, arguments) = (request.name.as_bytes(), request.arguments);
        self.waiting.push_back(Waiting {
            op: request.op,
            id: request.id,
            process: request.process,
            limits: request.limits,
            directories: request.directories.into(),
            endpoint: request.endpoint.as_ref().map(Wanted::of),
            message: request.message.map(|message| message.index),
            words: request
                .message
                .map_or(&[][..], |message| message.words)
                .into(),
            text: [name, arguments, request.bytes].concat().into(),
            name: name.len(),
            arguments: arguments.len(),
        });
    }

    /// Takes the place of an answer that is waited for.
    fn take(&mut self, id: u64) -> Option<Arc<Place>> {
        let at = self.open.iter().rposition(|(other, _)| *other == id)?;
        Some(self.open.swap_remove(at).1)
    }
}

impl Waiting {
    /// The request.
    fn request(&self) -> Request<'_> {
        let (name, rest) = self.text.split_at(self.name);
        let (arguments, bytes) = rest.split_at(self.arguments);
        Request {
            op: self.op,
            id: self.id,
            process: self.process,
            limits: self.limits,
            // It was one.
            name: std::str::from_utf8(name).unwrap_or_default(),
            endpoint: self.endpoint.as_deref().map(Wanted::endpoint),
            message: self.message.map(|index| sing_calls::Message {
                index,
                words: &self.words,
            }),
            directories: &self.directories,
            arguments,
            bytes,
        }
    }
}

impl fmt::Debug for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Port").finish_non_exhaustive()
    }
}

impl Port {
    /// Hands the system a request, and waits for the answer. The system runs on this thread
    /// meanwhile, unless another runs it already.
    #[must_use]
    pub fn call(self: &Arc<Self>, asked: &Asked<'_>) -> Reply {
        asked.check();
        if self.is_elsewhere() {
            return Reply::ended();
        }
        match self.lend() {
            // Requests that others have made before are served before.
            Some(hosted) if !self.is_due() => self.call_here(hosted, asked),
            lent => {
                let mut pending = self.put_in(asked);
                match lent {
                    Some(hosted) => self.run(hosted, pending.id),
                    None => pending.tell_sleeper(),
                }
                pending.wait()
            }
        }
    }

    /// Runs the kernel on this thread, which was lent, for a request that stays here; and waits for the
    /// answer elsewhere if the kernel rests without it.
    fn call_here(self: &Arc<Self>, hosted: &HostedHal, asked: &Asked<'_>) -> Reply {
        self.name_itself();
        let request = asked.request(self.next_number());
        // SAFETY: the request is not touched until `end`, below. The kernel does not unwind; if the host's code
        // beside it did, the baton would stay here, and without it nobody looks at the request.
        unsafe { self.here.put(&request) };
        self.baton.run(hosted, request.id);
        let waits = self.here.waits();
        let reply = self.here.end();
        // Before another thread runs the kernel, which could answer then.
        let pending = match reply {
            Some(_) => None,
            None => Some(self.expect(request.id, waits.then_some(&request))),
        };
        self.baton.give();
        match (reply, pending) {
            (Some(reply), _) => reply,
            (None, Some(mut pending)) => pending.wait(),
            (None, None) => Reply::ended(),
        }
    }

    /// The number of the next request.
    fn next_number(&self) -> u64 {
        self.last.fetch_add(1, Relaxed) + 1
    }

    /// Notes where this port is, for blocks that the host is lent.
    fn name_itself(self: &Arc<Self>) {
        self.own.get_or_init(|| Arc::downgrade(self));
    }

    /// The machine, if nobody runs its kernel and this thread may: it is the one to do that now.
    fn lend(&self) -> Option<&'static HostedHal> {
        if !self.baton.take() {
            return None;
        }
        // The machine of this port: it goes only when the system has ended, which keeps the baton.
        // What the host has for its sockets, the system's own thread looks for when the kernel rests.
        let machine = hosted().filter(|hosted| hosted.devices.idle().is_none() && beside::lend());
        if machine.is_none() {
            self.baton.give();
        }
        machine
    }

    /// Runs the kernel on this thread, which was lent, until it is idle or this request is answered.
    fn run(&self, hosted: &HostedHal, id: u64) {
        self.baton.run(hosted, id);
        self.baton.give();
    }

    /// Who calls wakers.
    fn wakers(&self) -> &Arc<Wakers> {
        &self.wakers
    }

    /// Who runs the kernel.
    pub(crate) fn baton(&self) -> &Baton {
        &self.baton
    }

    /// Hands the system a request. The kernel is told of it at once if it sleeps; otherwise when the
    /// answer is asked for.
    pub fn ask(self: &Arc<Self>, asked: &Asked<'_>) -> Pending {
        asked.check();
        if self.is_elsewhere() {
            return Pending {
                place: Arc::default(),
                port: Arc::clone(self),
                id: 0,
                untold: false,
            };
        }
        let mut pending = self.put_in(asked);
        pending.tell_sleeper();
        pending
    }

    /// Hands the system a request, in the process that it is in, and tells nobody.
    fn put_in(self: &Arc<Self>, asked: &Asked<'_>) -> Pending {
        self.name_itself();
        let id = self.next_number();
        self.expect(id, Some(&asked.request(id)))
    }

    /// Makes a place for the answer of this number, and hands the system its request, unless the kernel has
    /// that already.
    fn expect(self: &Arc<Self>, id: u64, request: Option<&Request<'_>>) -> Pending {
        let place = Arc::new(Place::default());
        let mut state = locked(&self.state);
        let mut pending = Pending {
            place: Arc::clone(&place),
            port: Arc::clone(self),
            id,
            untold: false,
        };
        if state.ended.is_some() {
            drop(state);
            place.put(Reply::ended(), &self.wakers);
            return pending;
        }
        state.open.push((id, place));
        if let Some(request) = request {
            state.add(request);
            self.baton.note_request(true);
        }
        // Also where others wait: nobody may have told of them yet.
        pending.untold = true;
        pending
    }

    /// Tells the system what has no answer: that a kept process is to be closed, or that nobody
    /// waits for a request any more.
    pub fn tell(&self, op: Op, number: u64) {
        if self.is_elsewhere() {
            return;
        }
        let mut state = locked(&self.state);
        if state.ended.is_some() {
            return;
        }
        Asked::of(op, number).check();
        if op == Op::Cancel {
            state.take(number);
        }
        state.add(&Asked::of(op, number).request(number));
        self.baton.note_request(true);
        drop(state);
        self.interrupt();
    }

    /// Gives a block back that nobody reads any more. The kernel learns of it with the next request, or when
    /// there are many.
    fn give_back(&self, number: u32) {
        if self.is_elsewhere() {
            return;
        }
        let mut state = locked(&self.state);
        let ended = state.ended.is_some();
        if !ended {
            let asked = Asked::of(Op::Free, number.into());
            state.add(&asked.request(0));
            self.baton.note_request(true);
            state.untold += 1;
        }
        let many = state.untold == lent::UNTOLD;
        if many {
            state.untold = 0;
        }
        drop(state);
        if many && !ended {
            // Nobody waits for it: where Linux refuses the signal, the next request brings it.
            self.baton.kick();
        }
        self.loans.returned();
    }

    /// Waits until the host reads no block any more, or drops the system, which has ended.
    pub(crate) fn wait_for_loans(&self) {
        self.loans.wait(|| self.baton.stops());
    }

    /// Whether the system is in another process, of which this one is a fork.
    #[must_use]
    pub fn is_elsewhere(&self) -> bool {
        self.origin.is_elsewhere()
    }

    /// Whether a request waits.
    fn is_due(&self) -> bool {
        self.baton.has_request()
    }

    /// Has the system end soon.
    pub(crate) fn stop(&self) {
        self.baton.stop();
        self.loans.look();
        self.interrupt();
    }

    /// Interrupts the thread that runs the kernel, or wakes the system's, so that it looks at what has
    /// come, and whether it is to end. While Linux refuses the signal this waits, until the kernel has
    /// looked by itself or ended.
    pub(crate) fn interrupt(&self) {
        while !self.baton.kick() {
            std::thread::sleep(AGAIN);
            if !self.is_due() && !self.baton.stops() {
                return;
            }
        }
    }

    /// Waits for the thread that calls wakers, of a system that has ended.
    pub(crate) fn join(&self) {
        self.wakers.join();
    }

    /// The status of the system, once it has ended.
    #[must_use]
    pub fn status(&self) -> Option<i32> {
        if self.is_elsewhere() {
            return None;
        }
        locked(&self.state).ended
    }

    /// The system has ended with this status: answers all requests so.
    pub(crate) fn end(&self, status: i32) {
        let mut state = locked(&self.state);
        state.ended = Some(status);
        state.waiting.clear();
        self.baton.note_request(false);
        let open = std::mem::take(&mut state.open);
        drop(state);
        for (_, place) in open {
            place.put(Reply::ended(), &self.wakers);
        }
        self.wakers.end();
    }

    /// Takes the place of an answer that is waited for.
    fn take(&self, id: u64) -> Option<Arc<Place>> {
        locked(&self.state).take(id)
    }
}

impl Port {
    /// Puts an answer down where it is waited for.
    fn put(&self, id: u64, outcome: Outcome, bytes: impl FnOnce() -> Vec<u8>) {
        let reply = |bytes| Reply {
            outcome: Some(outcome),
            bytes,
            message: None,
        };
        if self.here.has(id) {
            self.here.answer(reply(bytes()));
        } else if let Some(place) = self.take(id) {
            place.put(reply(bytes()), &self.wakers);
        } else {
            return;
        }
        self.baton.answered(id);
    }
}

/// What the kernel alone does, as [`OfKernel`] says.
impl Port {
    pub(crate) fn waits(&self) -> bool {
        self.here.waits() || self.is_due()
    }

    pub(crate) fn next(&self, serve: &mut dyn FnMut(&Request<'_>) -> bool) -> bool {
        let took = self.here.take(|request| {
            if !serve(request) {
                let mut state = locked(&self.state);
                state.add(request);
                // It stays before those that others have asked meanwhile.
                state.waiting.rotate_right(1);
                self.baton.note_request(true);
            }
        });
        if took.is_some() {
            return true;
        }
        let mut state = locked(&self.state);
        let first = state.waiting.pop_front();
        if state.waiting.is_empty() {
            self.baton.note_request(false);
        }
        drop(state);
        let Some(first) = first else {
            return false;
        };
        let taken = serve(&first.request());
        if !taken {
            let mut state = locked(&self.state);
            state.waiting.push_front(first);
            self.baton.note_request(true);
        }
        true
    }

    pub(crate) fn answer(
        &self,
        id: u64,
        outcome: Outcome,
        len: usize,
        read: &mut dyn FnMut(&mut [u8]),
    ) {
        self.put(id, outcome, || {
            let mut bytes = vec![0; len];
            read(&mut bytes);
            bytes
        });
    }

    pub(crate) fn message(&self, id: u64, index: u32, words: &[Given]) -> bool {
        let Some(own) = self.own.get().and_then(Weak::upgrade) else {
            return false;
        };
        let reply = || Reply {
            outcome: Some(Outcome::Done),
            bytes: Vec::new(),
            message: Some(Message::new(&own, index, words)),
        };
        if self.here.has(id) {
            self.here.answer(reply());
        } else if let Some(place) = self.take(id) {
            place.put(reply(), &self.wakers);
        } else {
            return false;
        }
        self.baton.answered(id);
        true
    }

    pub(crate) fn random(&self, bytes: &mut [u8]) -> bool {
        bytes
            .chunks_mut(entropy::MOST)
            .all(|piece| entropy::draw(piece) == piece.len())
    }

    pub(crate) fn say(&self, id: u64, outcome: Outcome, text: fmt::Arguments<'_>) {
        self.put(id, outcome, || text.to_string().into_bytes());
    }
}

/// The kernel's side of a port. Nobody else has one: whoever gives the host a message says where the host may
/// read, and until when.
pub(crate) struct OfKernel(pub(crate) Arc<Port>);

impl Callers for OfKernel {
    fn waits(&self) -> bool {
        self.0.waits()
    }

    fn next(&self, serve: &mut dyn FnMut(&Request<'_>) -> bool) -> bool {
        self.0.next(serve)
    }

    fn answer(&self, id: u64, outcome: Outcome, len: usize, read: &mut dyn FnMut(&mut [u8])) {
        self.0.answer(id, outcome, len, read);
    }

    fn message(&self, id: u64, index: u32, words: &[Given]) -> bool {
        self.0.message(id, index, words)
    }

    fn random(&self, bytes: &mut [u8]) -> bool {
        self.0.random(bytes)
    }

    fn say(&self, id: u64, outcome: Outcome, text: fmt::Arguments<'_>) {
        self.0.say(id, outcome, text);
    }
}

#[cfg(test)]
mod tests;
