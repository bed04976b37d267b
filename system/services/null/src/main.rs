//! Two files that are on no disk: `/dev/null`, which takes everything and has nothing, and
//! `/dev/zero`, which takes everything and has zeros without end.
//!
//! Invariant: no client can stop another. Each request is done at once, is bounded, and nothing is
//! kept of it; an origin has no more than its share of the open files.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

use sing_sdk::contracts::{FileAttributes, FileContract, FileFault, FileKind};
use sing_sdk::door::{Door, Place, Turned};
use sing_sdk::prelude::*;
use sing_sdk::rt::{Endpoint, TypedEndpoint, stand_for};
use sing_sdk::share::SYSTEM;
use sing_sdk::slots::Slots;
use sing_sdk::time::{Timeout, utc};
use sing_sdk::walk::{Directories, Entry};

sing_sdk::manifest! {
    name: "null",
    description: "serves a file that takes and has nothing, and one that has zeros",
    category: service,
    serves: { null: FileContract, zero: FileContract },
    endpoints: { stderr: optional PipeContract.Imp:Start },
    memory: 16 MiB,
}

/// Channels at a time.
const SLOTS: usize = 1024;
/// Those that each origin may have while there is room.
const LEAST: usize = 8;
/// In which blocks the files are best read and written; any size will do.
const BLOCK: u32 = 4 << 10;
/// The largest request, so that none takes long.
const MOST: u32 = 1 << 20;
/// Blocks are filled in pieces of this size.
const ZEROS: [u8; 4096] = [0; 4096];

type Start = FileContract::Exp<FileContract::Start>;
type Service = ServiceContract::Exp<ServiceContract::Start>;
type Ready = FileContract::Exp<FileContract::Ready>;

/// Which of the two files, and whether its holder can write it.
#[derive(Clone, Copy)]
struct Which {
    zero: bool,
    write: bool,
}

enum Client {
    Door(Door, Which),
    File(Ready, Which),
}

struct Server {
    slots: Slots<Client>,
    /// When it started: the files' times.
    since: u64,
}

/// What the name server asks about one of them.
struct Named<'a>(&'a mut Server, Which);

impl Directories for Named<'_> {
    fn list(&mut self, at: &str, _: Option<&str>, _: usize) -> Result<Vec<Entry>, Refusal> {
        Err(match at {
            "/" => Refusal::NotADirectory,
            _ => Refusal::NotFound,
        })
    }
}

impl Place for Named<'_> {
    fn bind(&mut self, path: &str, origin: u32, client: Endpoint) -> Result<(), Turned> {
        if path != "/" {
            return Err((Refusal::NotFound, client));
        }
        let file: Start = client.cast().map_err(|e| (Refusal::OtherContract, e))?;
        let opened = self.0.open(origin, file, self.1);
        opened.map_err(|file| (Refusal::NoResources, file.into_endpoint()))
    }
}

/// Whether these bytes are in the block, and not too many.
fn holds(block: &Block, start: u32, count: u32) -> bool {
    let end = u64::from(start) + u64::from(count);
    count <= MOST && end <= block.len() as u64
}

/// Fills a part of a client's block with zeros.
fn fill(block: &mut Block, start: u32, count: u32) {
    let (mut at, end) = (start as usize, (start + count) as usize);
    while at < end {
        let len = ZEROS.len().min(end - at);
        block.write(at, &ZEROS[..len]);
        at += len;
    }
}

impl Server {
    /// Takes a client; its endpoint again if there is no room for it.
    fn open(&mut self, origin: u32, file: Start, which: Which) -> Result<(), Start> {
        let begin = |file: Start| Client::File(file.send_success(), which);
        let taken = self.slots.insert(origin, file, begin);
        taken.map(drop).map_err(|(_, file)| file)
    }

    fn attributes(&self, which: Which) -> FileAttributes {
        FileAttributes {
            id: which.zero.into(),
            kind: FileKind::File,
            links: 1,
            bytes: 0,
            allocated: 0,
            accessed: self.since,
            modified: self.since,
            changed: self.since,
            created: self.since,
        }
    }

    /// The answer to a write of so many bytes.
    fn taken(which: Which, block: &Block, start: u32, count: u32) -> Result<(), FileFault> {
        match which.write {
            false => Err(FileFault::ReadOnly),
            true if !holds(block, start, count) => Err(FileFault::BadRequest),
            true => Ok(()),
        }
    }

    /// Serves one request; `None` when the client has gone.
    fn file(&mut self, number: u32, file: Ready, which: Which) -> Option<Ready> {
        use FileContract::exp::Ready as Request;
        let allowed = which.write.then_some(()).ok_or(FileFault::ReadOnly);
        Some(match file.recv() {
            Request::GetAttributes(next) => next.send_attributes(self.attributes(which)),
            Request::GetLimits(next) => next.send_limits(BLOCK, MOST),
            Request::Read(_, buffer, start, count, next) => {
                let mut block = buffer.into_block();
                if !holds(&block, start, count) || block.unshare().is_err() {
                    let block = Vector::from_block(block);
                    return Some(next.send_refused(FileFault::BadRequest, block));
                }
                let count = if which.zero { count } else { 0 };
                fill(&mut block, start, count);
                next.send_data(Vector::from_block(block), count)
            }
            Request::Write(_, data, start, count, next) => {
                match Self::taken(which, data.block(), start, count) {
                    Ok(()) => next.send_written(data, count),
                    Err(fault) => next.send_refused(fault, data),
                }
            }
            Request::Append(data, start, count, next) => {
                match Self::taken(which, data.block(), start, count) {
                    Ok(()) => next.send_appended(data, count, 0),
                    Err(fault) => next.send_refused(fault, data),
                }
            }
            Request::SetSize(_, next) => match allowed {
                Ok(()) => next.send_done(),
                Err(fault) => next.send_failed(fault),
            },
            Request::SetTimes(_, _, next) => match allowed {
                Ok(()) => next.send_done(),
                Err(fault) => next.send_failed(fault),
            },
            Request::Sync(next) => next.send_done(),
            Request::Another(exp, next) => match self.another(number, exp, which) {
                Ok(()) => next.send_opened(),
                Err((fault, exp)) => next.send_not_opened(fault, exp),
            },
            Request::AnotherToRead(exp, next) => {
                let which = Which {
                    write: false,
                    ..which
                };
                match self.another(number, exp, which) {
                    Ok(()) => next.send_opened(),
                    Err((fault, exp)) => next.send_not_opened(fault, exp),
                }
            }
            Request::Closed => return None,
        })
    }

    /// Takes a further channel of a client.
    fn another(
        &mut self,
        number: u32,
        exp: Service,
        which: Which,
    ) -> Result<(), (FileFault, Service)> {
        let origin = self.slots.origin(number).unwrap_or(u32::MAX);
        let file: Start = match exp.into_endpoint().cast() {
            Ok(file) => file,
            Err(endpoint) => return Err((FileFault::NotSupported, stand_for(endpoint))),
        };
        let opened = self.open(origin, file, which);
        opened.map_err(|file| (FileFault::NoResources, stand_for(file.into_endpoint())))
    }
}

sing_sdk::arguments! {}

#[sing_sdk::main]
fn main(_: Arguments) -> Result<(), Error> {
    let since = u64::try_from(utc().as_nanos()).unwrap_or_default();
    let slots = Slots::new(SLOTS, LEAST)?;
    let mut server = Server { slots, since };
    for (lookup, zero) in [(startup::null(), false), (startup::zero(), true)] {
        let lookup = lookup.ok_or(Error::NotFound)?.send_success();
        let which = Which { zero, write: true };
        let door = |lookup| Client::Door(Door::new(lookup), which);
        let taken = server.slots.insert(SYSTEM, lookup, door);
        taken.map_err(|(error, _)| error)?;
    }
    loop {
        let number = server.slots.wait(Timeout::FOREVER)?;
        match server.slots.take(number) {
            Some(Client::Door(door, which)) => match door.answer(&mut Named(&mut server, which)) {
                Ok(door) => server.slots.put(number, Client::Door(door, which)),
                Err(_) => return Ok(()),
            },
            Some(Client::File(file, which)) => match server.file(number, file, which) {
                Some(file) => server.slots.put(number, Client::File(file, which)),
                None => drop(server.slots.remove(number)),
            },
            None => {}
        }
    }
}
