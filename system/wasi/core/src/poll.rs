//! Waiting for clocks and streams at once.
//!
//! The list of what a program waits for stays in its memory and is gone through again after each
//! wait, so that its length costs the adapter no memory. Files are always ready. A clock that counts
//! from now counts from the call's beginning.

use crate::Wasi;
use crate::abi::{Layout, rights};
use crate::clock::REALTIME;
use crate::component::sockets::Side;
use crate::errno::{Errno, Result};
use crate::host::{File, Host, Listener, Sink, Source};
use crate::table::{Object, Table};
use alloc::vec::Vec;

/// Bytes of an event.
const EVENT: u32 = 32;

/// How subscriptions lie in the program's memory.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Form {
    /// As preview 1 has them.
    Preview1,
    /// As the version before had them: a clock has a number of the program's before its own.
    Unstable,
}

impl Form {
    /// Bytes of a subscription.
    const fn bytes(self) -> u32 {
        match self {
            Form::Preview1 => 48,
            Form::Unstable => 56,
        }
    }
}

/// Kinds of both.
const CLOCK: u8 = 0;
const READ: u8 = 1;
const WRITE: u8 = 2;

/// The time is not counted from now.
const ABSTIME: u16 = 1;
/// The other side has closed the stream.
const HANGUP: u16 = 1;

/// Streams and sockets that one wait is for, in each direction. What is beyond that is looked at when the wait
/// is over, which is then soon.
pub(crate) const STREAMS: usize = 32;

/// How long a wait lasts at most if there are more of them.
pub(crate) const TURN: u64 = 10_000_000;

/// How long a wait lasts at most if it ends at a time of day, which may be set meanwhile.
const GLANCE: u64 = 1_000_000_000;

/// What there is to be said of a subscription.
enum State {
    /// It has happened: bytes there are, and flags.
    Ready(u64, u16),
    Wrong(Errno),
    /// Not before so many nanoseconds have passed.
    In(u64),
    /// Not before a stream is ready.
    Waits,
}

impl<H: Host> Wasi<H> {
    /// `poll_oneoff`.
    ///
    /// # Errors
    /// `Inval` for no subscriptions or an unknown kind, `Fault`. What is wrong with one of several
    /// its event tells.
    pub fn poll_oneoff(&mut self, list: u32, events: u32, count: u32, out: u32) -> Result {
        self.poll(Form::Preview1, list, events, count, out)
    }

    pub(crate) fn poll(
        &mut self,
        form: Form,
        list: u32,
        events: u32,
        count: u32,
        out: u32,
    ) -> Result {
        if count == 0 {
            return Err(Errno::Inval);
        }
        self.check(list, u64::from(count) * u64::from(form.bytes()))?;
        self.check(events, u64::from(count) * u64::from(EVENT))?;
        self.check(out, 4)?;
        let begin = self.host.monotonic();
        loop {
            let (done, wait) = self.look(form, list, events, count, begin)?;
            if done > 0 {
                return self.store_u32(out, done);
            }
            self.await_any(form, list, count, wait)?;
        }
    }

    /// A subscription, as preview 1 has it.
    fn subscription(&mut self, form: Form, list: u32, number: u32) -> Result<Layout<48>> {
        let at = Self::element(list, number, form.bytes())?;
        match form {
            Form::Preview1 => Ok(Layout(self.load(at)?)),
            Form::Unstable => {
                let whole = Layout::<56>(self.load(at)?);
                let rest = match whole.0[8] {
                    CLOCK => 24,
                    _ => 16,
                };
                Ok(Layout::new()
                    .with(0, whole.get::<16>(0))
                    .with(16, whole.get::<32>(rest)))
            }
        }
    }

    /// Goes through the subscriptions once: how many events there are, or how long until the first.
    fn look(
        &mut self,
        form: Form,
        list: u32,
        events: u32,
        count: u32,
        begin: u64,
    ) -> Result<(u32, Option<u64>)> {
        let (mut done, mut wait) = (0, None);
        for number in 0..count {
            let subscription = self.subscription(form, list, number)?;
            let kind = subscription.0[8];
            let (errno, (bytes, flags)) = match self.state(&subscription, begin)? {
                State::Ready(bytes, flags) => (0, (bytes, flags)),
                State::Wrong(errno) => (errno as u16, (0, 0)),
                State::In(nanos) => {
                    wait = Some(wait.map_or(nanos, |least: u64| least.min(nanos)));
                    continue;
                }
                State::Waits => continue,
            };
            let event = Layout::<32>::new()
                .with(0, subscription.get::<8>(0))
                .with(8, errno.to_le_bytes())
                .with(10, [kind])
                .with(16, bytes.to_le_bytes())
                .with(24, flags.to_le_bytes());
            self.store(Self::element(events, done, EVENT)?, &event.0)?;
            done += 1;
        }
        Ok((done, wait))
    }

    fn state(&mut self, subscription: &Layout<48>, begin: u64) -> Result<State> {
        let word = u32::from_le_bytes(subscription.get(16));
        match subscription.0[8] {
            CLOCK => {
                let timeout = u64::from_le_bytes(subscription.get(24));
                let flags = u16::from_le_bytes(subscription.get(40));
                Ok(self.clock_state(word, timeout, flags, begin))
            }
            READ => self.read_state(word),
            WRITE => Ok(self.write_state(word)),
            _ => Err(Errno::Inval),
        }
    }

    fn clock_state(&self, clock: u32, timeout: u64, flags: u16, begin: u64) -> State {
        let now = match self.now(clock) {
            Ok(now) => now,
            Err(errno) => return State::Wrong(errno),
        };
        let relative = flags & ABSTIME == 0;
        if flags & !ABSTIME != 0 {
            return State::Wrong(Errno::Inval);
        }
        // However the time of day is set, a time from now is one.
        let (now, deadline) = match relative {
            true => (self.host.monotonic(), begin.saturating_add(timeout)),
            false => (now, timeout),
        };
        match deadline.saturating_sub(now) {
            0 => State::Ready(0, 0),
            left if clock == REALTIME && !relative => State::In(left.min(GLANCE)),
            left => State::In(left),
        }
    }

    fn read_state(&mut self, fd: u32) -> Result<State> {
        let Ok(descriptor) = self.table.get(fd) else {
            return Ok(State::Wrong(Errno::Badf));
        };
        if descriptor
            .has(rights::POLL_FD_READWRITE | rights::FD_READ)
            .is_err()
        {
            return Ok(State::Wrong(Errno::Badf));
        }
        Ok(match &mut descriptor.object {
            Object::File(open) => match open.file.attributes() {
                Ok(a) => State::Ready(a.bytes.saturating_sub(open.offset), 0),
                Err(errno) => State::Wrong(errno),
            },
            Object::Listener(listener) if listener.is_ready() => State::Ready(1, 0),
            Object::Listener(_) => State::Waits,
            object => match object.source() {
                Some(open) => match &open.rest {
                    Some(rest) => State::Ready((rest.len - rest.used) as u64, 0),
                    None if open.source.has_ended() => State::Ready(0, HANGUP),
                    None if open.source.is_ready() => State::Ready(1, 0),
                    None => State::Waits,
                },
                // Of a connection, it was shut down.
                None if matches!(object, Object::Socket(_)) => State::Ready(0, HANGUP),
                None => State::Wrong(Errno::Badf),
            },
        })
    }

    fn write_state(&mut self, fd: u32) -> State {
        let Ok(descriptor) = self.table.look(fd) else {
            return State::Wrong(Errno::Badf);
        };
        if descriptor
            .has(rights::POLL_FD_READWRITE | rights::FD_WRITE)
            .is_err()
        {
            return State::Wrong(Errno::Badf);
        }
        match &descriptor.object {
            Object::File(_) => State::Ready(1, 0),
            object => match object.sink() {
                Some(sink) if sink.is_ready() => State::Ready(1, 0),
                Some(_) => State::Waits,
                None if matches!(object, Object::Socket(_)) => State::Ready(0, HANGUP),
                None => State::Wrong(Errno::Badf),
            },
        }
    }

    /// Waits for the streams among the subscriptions, so long at most.
    fn await_any(&mut self, form: Form, list: u32, count: u32, nanos: Option<u64>) -> Result {
        let (mut read, mut written) = (Vec::new(), Vec::new());
        let mut beyond = false;
        for number in 0..count {
            let subscription = self.subscription(form, list, number)?;
            let fd = u32::from_le_bytes(subscription.get(16));
            let of_kind = match subscription.0[8] {
                READ => &mut read,
                WRITE => &mut written,
                _ => continue,
            };
            if of_kind.contains(&fd) {
                continue;
            }
            match of_kind.len() < STREAMS {
                true => of_kind.push(fd),
                false => beyond = true,
            }
        }
        // One that is not waited for may be the next that is ready.
        let nanos = match beyond {
            true => Some(nanos.map_or(TURN, |nanos| nanos.min(TURN))),
            false => nanos,
        };
        wait(&mut self.host, &self.table, (&read, &written, &[]), nanos);
        Ok(())
    }
}

/// Waits for streams and sockets, so long at most: for what is read, what is written, and what becomes of sockets
/// that a component has made.
pub(crate) fn wait<H: Host>(
    host: &mut H,
    table: &Table<H>,
    (read, written, made): (&[u32], &[u32], &[u32]),
    nanos: Option<u64>,
) {
    let object = |fd: &u32| table.look(*fd).ok().map(|d| &d.object);
    let client = |fd| match object(fd)? {
        Object::Made(made) => made.client(),
        _ => None,
    };
    let sources = read.iter().filter_map(|fd| object(fd)?.source());
    let sources = sources.map(|open| &open.source);
    let answers = made.iter().filter_map(|fd| client(fd)?.source());
    let sources: Vec<&H::Source> = sources.chain(answers).collect();
    let sinks = written.iter().filter_map(|fd| object(fd)?.sink());
    let requests = made.iter().filter_map(|fd| client(fd)?.sink());
    let sinks: Vec<&H::Sink> = sinks.chain(requests).collect();
    let listeners = read.iter().chain(made).filter_map(|fd| match object(fd)? {
        Object::Listener(listener) => Some(listener),
        Object::Made(made) => made.listener(),
        _ => None,
    });
    let listeners: Vec<&H::Listener> = listeners.collect();
    let of_made = |fd, side| match object(fd)? {
        Object::Made(made) => made.waited(side),
        _ => None,
    };
    let come = read.iter().filter_map(|fd| of_made(fd, Side::Come));
    let room = written.iter().filter_map(|fd| of_made(fd, Side::Room));
    let become_of = made.iter().filter_map(|fd| of_made(fd, Side::Stage));
    let others: Vec<_> = come.chain(room).chain(become_of).collect();
    host.wait(&sources, &sinks, &listeners, &others, nanos);
}
