//! A host in memory: streams with what tests put there, a clock that goes on when somebody waits.

use super::disk::{Directory, File};
use super::fake_net::Net;
use crate::component::client::Client;
use crate::errno::{Errno, Result};
use crate::host::{self, Host};
use crate::net::Waited;
use core::net::SocketAddr;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::vec;
use std::vec::Vec;

/// A stream to read: what has come, and whether its writer has gone.
#[derive(Clone, Default)]
pub struct Source(pub Rc<RefCell<(VecDeque<Vec<u8>>, bool)>>);

impl host::Source for Source {
    type Block = Vec<u8>;

    fn receive(&mut self) -> Option<(Vec<u8>, usize)> {
        assert!(self.is_ready(), "a test that would wait for ever");
        let block = self.0.borrow_mut().0.pop_front()?;
        let len = block.len();
        Some((block, len))
    }

    fn is_ready(&self) -> bool {
        let state = self.0.borrow();
        !state.0.is_empty() || state.1
    }

    fn has_ended(&self) -> bool {
        let state = self.0.borrow();
        state.0.is_empty() && state.1
    }
}

/// A stream to write: what was written, and whether its reader is there and wants more.
#[derive(Clone, Default)]
pub struct Sink(pub Rc<RefCell<Written>>);

#[derive(Default)]
pub struct Written {
    pub bytes: Vec<u8>,
    pub blocks: usize,
    pub gone: bool,
    pub full: bool,
}

impl host::Sink for Sink {
    type Block = Vec<u8>;

    fn send(&mut self, block: Vec<u8>) -> Result {
        let mut state = self.0.borrow_mut();
        if state.gone {
            return Err(Errno::Pipe);
        }
        state.bytes.extend(block);
        state.blocks += 1;
        Ok(())
    }

    fn is_ready(&self) -> bool {
        !self.0.borrow().full
    }
}

/// A socket that listens: the connections that wait there, and whether the network is there.
#[derive(Clone, Default)]
pub struct Listener(pub Rc<RefCell<(Connections, bool)>>);

/// Connections that nobody has taken yet.
type Connections = VecDeque<(Source, Sink)>;

/// The two ends of each of them.
pub const ENDS: [&str; 2] = ["127.0.0.1:8080", "127.0.0.1:50000"];

impl host::Listener for Listener {
    type Source = Source;
    type Sink = Sink;

    fn accept(&mut self) -> Result<(Source, Sink)> {
        assert!(self.is_ready(), "a test that would wait for ever");
        let next = self.0.borrow_mut().0.pop_front();
        next.ok_or(Errno::Netdown)
    }

    fn accept_with_ends(&mut self) -> Result<(Source, Sink, [SocketAddr; 2])> {
        let (source, sink) = self.accept()?;
        Ok((source, sink, ENDS.map(|end| end.parse().unwrap())))
    }

    fn is_ready(&self) -> bool {
        let state = self.0.borrow();
        !state.0.is_empty() || state.1
    }
}

/// What happens to streams while somebody waits for them.
pub type Happens = std::boxed::Box<dyn FnOnce(&[&Source], &[&Sink])>;

/// The host.
pub struct Fake {
    pub memory: Vec<u8>,
    pub now: u64,
    /// At each wait that has no time of its own, this happens.
    pub happens: VecDeque<Happens>,
    /// A connection that comes while somebody waits for a socket.
    pub comes: Option<(Source, Sink)>,
    pub waits: usize,
    pub asked: usize,
    pub source: bool,
    /// The network, if the program has one.
    pub net: Option<Net>,
    /// Where the next room in the program's memory is, and what the program says in its place.
    pub next_room: u32,
    pub lies: Option<u32>,
}

impl crate::component::Room for Fake {
    fn room(&mut self, alignment: u32, len: u32) -> u32 {
        if let Some(lie) = self.lies {
            return lie;
        }
        let at = self.next_room.next_multiple_of(alignment.max(8));
        self.next_room = at.saturating_add(len);
        at
    }

    fn step(&mut self, client: &mut Client<Fake>, waits: bool) {
        client.step(self, waits);
    }
}

impl Host for Fake {
    type Block = Vec<u8>;
    type File = File;
    type Directory = Directory;
    type Source = Source;
    type Sink = Sink;
    type Listener = Listener;
    type Net = Net;

    fn size(&self) -> u64 {
        self.memory.len() as u64
    }

    fn read(&mut self, from: u32, out: &mut [u8]) {
        out.copy_from_slice(&self.memory[from as usize..][..out.len()]);
    }

    fn write(&mut self, to: u32, bytes: &[u8]) {
        self.memory[to as usize..][..bytes.len()].copy_from_slice(bytes);
    }

    fn block(&mut self, len: usize) -> Result<Vec<u8>> {
        assert!((1..=crate::PIECE).contains(&len));
        Ok(vec![0; len])
    }

    fn net(&mut self) -> Option<&mut Net> {
        self.net.as_mut()
    }

    fn nowhere(&mut self) -> Sink {
        Sink::default()
    }

    fn gather(&mut self, from: u32, block: &mut Vec<u8>, at: usize, len: usize) {
        block[at..at + len].copy_from_slice(&self.memory[from as usize..][..len]);
    }

    fn scatter(&mut self, block: &Vec<u8>, at: usize, to: u32, len: usize) {
        self.memory[to as usize..][..len].copy_from_slice(&block[at..at + len]);
    }

    fn peek(&self, block: &Vec<u8>, at: usize, out: &mut [u8]) {
        out.copy_from_slice(&block[at..][..out.len()]);
    }

    fn fill(&mut self, block: &mut Vec<u8>, bytes: &[u8]) {
        block[..bytes.len()].copy_from_slice(bytes);
    }

    fn part(&mut self, block: &Vec<u8>, from: usize, len: usize) -> Result<Vec<u8>> {
        Ok(block[from..from + len].to_vec())
    }

    fn realtime(&self) -> u64 {
        self.now + 1_000_000_000_000
    }

    fn monotonic(&self) -> u64 {
        self.now
    }

    fn random(&mut self, out: &mut [u8]) -> Result {
        self.asked += 1;
        if !self.source {
            return Err(Errno::Io);
        }
        for (i, byte) in out.iter_mut().enumerate() {
            *byte = (self.asked * 7 + i) as u8 | 1;
        }
        Ok(())
    }

    fn wait(
        &mut self,
        sources: &[&Source],
        sinks: &[&Sink],
        listeners: &[&Listener],
        others: &[Waited<'_, Net>],
        nanos: Option<u64>,
    ) {
        self.waits += 1;
        // What is done meanwhile is the network's.
        if !others.is_empty()
            && let Some(comes) = self.net.as_mut().and_then(|net| net.comes.pop_front())
        {
            return comes();
        }
        if let ([listener, ..], Some(connection)) = (listeners, self.comes.take()) {
            listener.0.borrow_mut().0.push_back(connection);
            return;
        }
        match self.happens.pop_front() {
            Some(happens) => happens(sources, sinks),
            None => self.now += nanos.expect("a test that would wait for ever"),
        }
    }

    fn pause(&mut self) {}
}
