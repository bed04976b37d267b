//! The driver of the hosted machine's device for calls of a host program: makes a process for each
//! call, or keeps one for many, asks it over `CallContract`, and gives its answer to the host.
//!
//! Invariants:
//! - A process that was made for one call has ended, and all of it is free, before its answer goes
//!   to the host; so has one that has crashed, ended by itself or run out of time.
//! - Each request that wants an answer gets one, unless the host has withdrawn it.
//! - No process is waited for: one that does not end when it should is ended.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

mod answers;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use answers::Answers;
use core::time::Duration;
use sing_calls::{BLOCK, HEAD, NEVER, OPEN, Op, Outcome, RECEIVE, Request, SEND};
use sing_sdk::device::{Device, Irq, Part, Queue};
use sing_sdk::inspect;
use sing_sdk::prelude::*;
use sing_sdk::process::{self, Child, Exit, Manifest, stop};
use sing_sdk::time::{Timeout, uptime};

sing_sdk::manifest! {
    name: "host-calls",
    description: "drives calls of a host program",
    category: driver,
    privileges: [create, inspect],
    devices: {
        device: ["/virtio/1512"] {
            registers: [], interrupt, queues: 2,
        },
    },
}

/// Blocks that wait for requests.
const BLOCKS: usize = 4;
/// Manifests that are kept.
const MANIFESTS: usize = 32;

type Idle = CallContract::Imp<CallContract::Start>;
type Busy = CallContract::Imp<CallContract::Start_Call>;

/// Who answers a request.
enum Who {
    /// A process of its own.
    Fresh(Child),
    /// The kept process of this number.
    Kept(u64),
}

/// A request that waits for its process.
struct Asked {
    id: u64,
    until: Option<Duration>,
    who: Who,
}

/// A process that is kept.
struct Kept {
    child: Child,
    /// `None` while it is asked.
    idle: Option<Idle>,
}

struct Driver {
    // Dropped first: nothing is under way then.
    receive: Queue,
    answers: Answers,
    irq: Irq,
    _device: Device,
    busy: EndpointSet<Busy>,
    /// By the keys of `busy`.
    asked: BTreeMap<usize, Asked>,
    /// The keys of `busy`, by the requests' numbers.
    keys: BTreeMap<u64, usize>,
    /// When which of them have to be over.
    deadlines: BTreeSet<(Duration, usize)>,
    kept: BTreeMap<u64, Kept>,
    manifests: BTreeMap<String, Manifest>,
    buffer: Vec<u8>,
    /// Blocks that were handed in, and of which the device has not been told.
    untold: usize,
}

impl Driver {
    fn start(device: Device) -> Result<Driver, Error> {
        device.reset()?;
        // It has no features of its own.
        device.accept(0)?;
        let irq = device.irq()?;
        let mut receive = device.queue(RECEIVE, BLOCKS as u32)?;
        let answers = Answers::new(device.queue(SEND, answers::PARTS)?)?;
        device.ready()?;
        for _ in 0..BLOCKS {
            offer(&mut receive, Block::new(BLOCK)?)?;
        }
        Ok(Driver {
            receive,
            answers,
            irq,
            _device: device,
            busy: EndpointSet::new()?,
            asked: BTreeMap::new(),
            keys: BTreeMap::new(),
            deadlines: BTreeSet::new(),
            kept: BTreeMap::new(),
            manifests: BTreeMap::new(),
            buffer: Vec::new(),
            untold: BLOCKS,
        })
    }

    fn run(mut self) -> Result<(), Error> {
        let mut come = true;
        loop {
            if come {
                self.requests()?;
            }
            // Most have none, and then nobody looks at the clock.
            let left = match self.deadlines.first() {
                Some((until, _)) => until.saturating_sub(uptime()).into(),
                None => Timeout::FOREVER,
            };
            come = switch_receive! {
                case &self.irq => {
                    self.irq.acknowledge();
                    true
                }
                case self.busy[key].Answer(bytes) as end => {
                    self.answered(key, end, Outcome::Done, bytes.into_block())?;
                    false
                }
                case self.busy[key].Refused(reason) as end => {
                    self.answered(key, end, Outcome::Refused, reason.into_block())?;
                    false
                }
                case self.busy[key].ChannelClosed() => {
                    self.closed(key)?;
                    false
                }
                timeout left => {
                    self.expired()?;
                    false
                }
            };
        }
    }

    /// Takes requests as long as there are some.
    fn requests(&mut self) -> Result<(), Error> {
        loop {
            match self.receive.take() {
                Ok(mut done) => {
                    // A request that was lost is one of a device that was reset.
                    let written = done.written.ok_or(Error::Closed)?.min(BLOCK as u32);
                    let block = done.blocks.pop().ok_or(Error::Closed)?;
                    self.buffer.resize(written as usize, 0);
                    block.read(0, &mut self.buffer);
                    offer(&mut self.receive, block)?;
                    self.untold += 1;
                    let message = core::mem::take(&mut self.buffer);
                    let served = self.serve(&message);
                    self.buffer = message;
                    served?;
                }
                // A request that comes from here on has its interrupt, as the last one was
                // acknowledged before this.
                Err(Error::WouldBlock) if !self.tell() => return Ok(()),
                Err(Error::WouldBlock) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Tells the device of blocks, if it lacks half of them or more; whether requests have come.
    fn tell(&mut self) -> bool {
        let tells = self.untold * 2 >= BLOCKS;
        if tells {
            self.untold = 0;
        }
        tells && self.receive.notify()
    }

    fn serve(&mut self, message: &[u8]) -> Result<(), Error> {
        // The device's messages are the host's own; what it gets wrong ends the system.
        let request = Request::decode(message).map_err(|_| Error::BadArgument)?;
        let rest = message.get(HEAD..).ok_or(Error::BadArgument)?;
        let (name, rest) = rest
            .split_at_checked(request.name)
            .ok_or(Error::BadArgument)?;
        let name = core::str::from_utf8(name).map_err(|_| Error::BadArgument)?;
        let bytes = rest.get(..request.bytes).ok_or(Error::BadArgument)?;
        let id = request.id;
        let asked = match request.op {
            Op::Call | Op::Ask if self.asked.len() == OPEN => Err(format!(
                "{OPEN} calls are under way already; wait until one is over"
            )),
            Op::Call => self.make(name).and_then(|(child, end)| {
                let who = Who::Fresh(child);
                self.ask(&request, who, end, bytes)
            }),
            Op::Open if self.kept.len() == OPEN => Err(format!(
                "{name}: {OPEN} processes are kept already; drop one first"
            )),
            Op::Open => match self.make(name) {
                Ok((child, end)) => {
                    let idle = Some(end);
                    self.kept.insert(id, Kept { child, idle });
                    return self.answers.give(id, Outcome::Done, None);
                }
                Err(reason) => Err(reason),
            },
            Op::Ask => match self.kept.get_mut(&request.process) {
                Some(kept) => match kept.idle.take() {
                    Some(end) => self.ask(&request, Who::Kept(request.process), end, bytes),
                    None => Err("the process is asked already".into()),
                },
                None => Err("the process has ended".into()),
            },
            Op::Close => {
                if let Some(kept) = self.kept.remove(&request.process) {
                    let _ = kept.child.stop(stop::KILLED);
                }
                return Ok(());
            }
            Op::Cancel => {
                let key = self.keys.get(&id).copied();
                if let Some(asked) = key.and_then(|key| self.forget(key)) {
                    self.end(asked.who);
                }
                return Ok(());
            }
        };
        match asked {
            Ok(()) => Ok(()),
            Err(reason) => self.answers.say(id, Outcome::NotMade, &reason),
        }
    }

    /// Makes a process of an image; its end of the channel to it.
    fn make(&mut self, name: &str) -> Result<(Child, Idle), String> {
        if !self.manifests.contains_key(name) {
            let manifest = process::manifest(name).map_err(|error| match error {
                Error::NotFound => format!("{name}: the system image has no such program"),
                error => format!("{name}: {error}"),
            })?;
            if self.manifests.len() == MANIFESTS {
                self.manifests.pop_first();
            }
            self.manifests.insert(name.into(), manifest);
        }
        let Some(manifest) = self.manifests.get(name) else {
            return Err(format!("{name}: {}", Error::NoResources));
        };
        let (imp, exp) = CallContract::new_channel().map_err(|e| format!("{name}: {e}"))?;
        let child = Child::of(name)
            .manifest(manifest)
            .arg(name)
            .endpoint("calls", exp)
            .start()
            .map_err(|error| error.to_string())?;
        Ok((child, imp))
    }

    /// Asks a process.
    fn ask(&mut self, request: &Request, who: Who, end: Idle, bytes: &[u8]) -> Result<(), String> {
        let refuse = |error: Error| error.to_string();
        let sent = Vector::<u8>::from_bytes(bytes)
            .map_err(refuse)
            .and_then(|bytes| {
                let end = end.send_call(bytes);
                self.busy.insert(end).map_err(|back| refuse(back.error))
            });
        let key = match sent {
            Ok(key) => key,
            Err(reason) => {
                self.end(who);
                return Err(reason);
            }
        };
        let until = (request.time != NEVER)
            .then(|| uptime().saturating_add(Duration::from_nanos(request.time)));
        self.deadlines.extend(until.map(|until| (until, key)));
        self.keys.insert(request.id, key);
        let id = request.id;
        self.asked.insert(key, Asked { id, until, who });
        Ok(())
    }

    /// Forgets a request, whose end of the channel is closed.
    fn forget(&mut self, key: usize) -> Option<Asked> {
        drop(self.busy.remove(key));
        let asked = self.asked.remove(&key)?;
        if let Some(until) = asked.until {
            self.deadlines.remove(&(until, key));
        }
        self.keys.remove(&asked.id);
        Some(asked)
    }

    /// Ends a process; how it has ended, with its number, if it had before.
    fn end(&mut self, who: Who) -> Option<(u32, Exit)> {
        let child = match who {
            Who::Fresh(child) => child,
            Who::Kept(number) => self.kept.remove(&number)?.child,
        };
        let _ = child.stop(stop::KILLED);
        Some((child.id(), child.exit().ok()?))
    }

    fn answered(
        &mut self,
        key: usize,
        end: Idle,
        outcome: Outcome,
        block: Block,
    ) -> Result<(), Error> {
        self.busy.release(key, &end);
        let asked = self.forget(key).ok_or(Error::BadState)?;
        match asked.who {
            Who::Fresh(child) => {
                drop(end);
                let _ = child.stop(stop::KILLED);
            }
            Who::Kept(number) => {
                if let Some(kept) = self.kept.get_mut(&number) {
                    kept.idle = Some(end);
                }
            }
        }
        self.answers.give(asked.id, outcome, Some(block))
    }

    /// A process has closed its end.
    fn closed(&mut self, key: usize) -> Result<(), Error> {
        let asked = self.forget(key).ok_or(Error::BadState)?;
        let id = asked.id;
        let (outcome, text) = match self.end(asked.who) {
            Some((number, exit @ Exit::Trapped(_))) => {
                // The kernel keeps the first lines of the last reports.
                let all = inspect::crashes().unwrap_or_default();
                let report = all.into_iter().rev().find(|crash| crash.id == number);
                let text = report.map_or_else(|| exit.to_string(), |report| report.text);
                (Outcome::Crashed, text)
            }
            Some((_, exit @ Exit::Code(_))) => (Outcome::Ended, exit.to_string()),
            _ => (Outcome::Ended, "it has closed its channel".into()),
        };
        self.answers.say(id, outcome, &text)
    }

    /// Ends all processes whose time is over.
    fn expired(&mut self) -> Result<(), Error> {
        while let Some((until, key)) = self.deadlines.first().copied()
            && until <= uptime()
        {
            let asked = self.forget(key).ok_or(Error::BadState)?;
            let id = asked.id;
            self.end(asked.who);
            self.answers.give(id, Outcome::TimedOut, None)?;
        }
        Ok(())
    }
}

/// Hands the device a block for a request.
fn offer(queue: &mut Queue, block: Block) -> Result<(), Error> {
    let parts = [Part::written(0, 0..BLOCK as u32)];
    let added = queue.add([block].into(), &parts);
    added.map(drop).map_err(|back| back.error)
}

sing_sdk::arguments! {}

#[sing_sdk::main]
fn main(_: Arguments) -> Result<(), Error> {
    let device = startup::device().ok_or(Error::NotFound)?;
    Driver::start(device)?.run()
}
