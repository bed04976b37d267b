//! `wasi:io/poll`: waiting for streams and moments, any number at once.

use super::resources::Resource;
use super::sockets::Side;
use super::{Component, Outcome, Room};
use crate::host::{Sink as _, Source as _};
use crate::poll::{STREAMS, TURN, wait};
use crate::table::Object;
use alloc::vec::Vec;

/// Pollables of one call of `poll`, at most.
const POLLED: u32 = 1 << 16;

/// What is waited for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pollable {
    /// A stream that has something to read, or room.
    Read(u32),
    Write(u32),
    /// A socket that has been made, of which something becomes.
    Socket(u32),
    /// A moment of the monotonic clock.
    At(u64),
    Now,
}

impl<H: Room> Component<H> {
    pub(super) fn pollable(&mut self, pollable: Pollable) -> Outcome<u32> {
        self.table.add(Resource::Pollable(pollable))
    }

    fn is_ready(&self, pollable: Pollable) -> bool {
        match pollable {
            Pollable::Now => true,
            Pollable::At(moment) => self.wasi.host.monotonic() >= moment,
            Pollable::Read(fd) => match self.object(fd) {
                Some(Object::Made(made)) if made.connection().is_none() => {
                    made.is_ready(Side::Come)
                }
                object => {
                    let open = object.and_then(Object::source);
                    open.is_none_or(|open| open.rest.is_some() || open.source.is_ready())
                }
            },
            Pollable::Write(fd) => match self.object(fd) {
                Some(Object::Made(made)) if made.connection().is_none() => {
                    made.is_ready(Side::Room)
                }
                object => object
                    .and_then(Object::sink)
                    .is_none_or(|sink| sink.is_ready()),
            },
            Pollable::Socket(fd) => match self.object(fd) {
                Some(Object::Made(made)) => made.is_ready(Side::Stage),
                _ => true,
            },
        }
    }

    fn object(&self, fd: u32) -> Option<&Object<H>> {
        self.wasi.table.look(fd).ok().map(|d| &d.object)
    }

    /// Waits until one of these may be ready, or there is something to be done for a request to others.
    pub(super) fn await_any(&mut self, all: &[Pollable]) -> Outcome {
        let (mut read, mut written, mut made) = (Vec::new(), Vec::new(), Vec::new());
        let mut nanos = None;
        let now = self.wasi.host.monotonic();
        let mut least = |time: u64| {
            nanos = Some(nanos.map_or(time, |nanos: u64| nanos.min(time)));
        };
        for pollable in all {
            match *pollable {
                Pollable::Now => least(0),
                Pollable::At(moment) => least(moment.saturating_sub(now)),
                Pollable::Read(fd) if read.contains(&fd) => {}
                Pollable::Write(fd) if written.contains(&fd) => {}
                Pollable::Socket(fd) if made.contains(&fd) => {}
                // One that is not waited for may be the next that is ready.
                Pollable::Read(_) | Pollable::Socket(_) if read.len() + made.len() == STREAMS => {
                    least(TURN);
                }
                Pollable::Write(_) if written.len() == STREAMS => least(TURN),
                Pollable::Read(fd) | Pollable::Write(fd) | Pollable::Socket(fd)
                    if self.is_client(fd) => {}
                Pollable::Read(fd) => read.push(fd),
                Pollable::Write(fd) => written.push(fd),
                Pollable::Socket(fd) => made.push(fd),
            }
        }
        // Those go on whatever is waited for.
        for fd in &self.clients {
            match made.contains(fd) {
                true => {}
                false if read.len().max(written.len()) + made.len() >= STREAMS => least(TURN),
                false => made.push(*fd),
            }
        }
        if let Some(end) = self.clients_deadline() {
            least(end.saturating_sub(now));
        }
        let comes = nanos.is_some() || all.iter().any(|pollable| self.may_come(*pollable));
        if !comes {
            return Err("waits for what it has to do itself: to send its request".into());
        }
        let wasi = &mut self.wasi;
        wait(&mut wasi.host, &wasi.table, (&read, &written, &made), nanos);
        self.step_all();
        Ok(())
    }

    /// Waits for a pipe as [`Component::await_any`] does, if there are requests to others that are to go on meanwhile.
    /// Otherwise whoever uses the pipe waits there.
    pub(super) fn attend(&mut self, pipe: Pollable) -> Outcome {
        if self.clients.is_empty() || self.is_ready(pipe) {
            return Ok(());
        }
        self.step_all();
        while !self.is_ready(pipe) {
            self.await_any(&[pipe])?;
        }
        Ok(())
    }

    /// Whether something that is no doing of the program's can make this ready.
    fn may_come(&self, pollable: Pollable) -> bool {
        match pollable {
            Pollable::Now | Pollable::At(_) => true,
            Pollable::Read(fd) | Pollable::Write(fd) | Pollable::Socket(fd) => {
                match self.object(fd) {
                    Some(Object::Made(made)) => made.may_come(),
                    _ => true,
                }
            }
        }
    }

    /// `[method]pollable.ready`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn ready(&mut self, pollable: u32) -> Outcome<u32> {
        let pollable = *self.table.pollable(pollable)?;
        self.step_all();
        Ok(self.is_ready(pollable).into())
    }

    /// `[method]pollable.block`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn block(&mut self, pollable: u32) -> Outcome {
        let pollable = *self.table.pollable(pollable)?;
        self.step_all();
        while !self.is_ready(pollable) {
            self.await_any(&[pollable])?;
        }
        Ok(())
    }

    /// `poll`: which of a list are ready, after waiting for one at least.
    ///
    /// # Errors
    /// For an empty list, one of more than 65,536, and what breaks the canonical ABI.
    pub fn poll(&mut self, list: u32, count: u32, out: u32) -> Outcome {
        if count == 0 {
            return Err("waits for none of no pollables".into());
        }
        if count > POLLED {
            return Err("waits for more than 65536 pollables at once".into());
        }
        self.range(list, u64::from(count) * 4)?;
        let mut all = Vec::new();
        for number in 0..u64::from(count) {
            let handle = self.number(u64::from(list) + number * 4)?;
            all.push(*self.table.pollable(handle)?);
        }
        self.step_all();
        let ready = loop {
            let ready: Vec<u32> = (0..)
                .zip(&all)
                .filter_map(|(number, pollable)| self.is_ready(*pollable).then_some(number))
                .collect();
            if !ready.is_empty() {
                break ready;
            }
            self.await_any(&all)?;
        };
        let list = self.list(&ready, 4, |component, at, number| {
            component.put(at, &number.to_le_bytes())
        })?;
        self.put(out, &list)
    }
}
