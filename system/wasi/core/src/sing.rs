//! The host that is this system: contracts' endpoints through the SDK, and a memory of any kind.
//!
//! Data passes through a buffer of the adapter's own between the program's memory and a block, in
//! pieces of [`BOUNCE`] bytes.

use crate::chance::Chance;
use crate::errno::{Errno, Result};
use crate::host::{self, Attributes, Entry, Host, How, Kind};
use crate::net::Waited;
use crate::net::system::SystemNetwork;
use crate::tcp::Listens;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec;
use core::time::Duration;
use sing_sdk::fs::{Directory, File, Options};
use sing_sdk::io::{DebugLog, Reader, Writer};
use sing_sdk::prelude::*;
use sing_sdk::rt::Handle;
use sing_sdk::select::Select;
use sing_sdk::time::Timeout;
use sing_sdk::{thread, time};

/// Bytes that are copied at once.
const BOUNCE: usize = 16 << 10;

/// The memory of the program.
pub trait Memory {
    /// Its bytes.
    fn size(&self) -> u64;
    /// Copies from it. The range has been checked.
    fn read(&self, from: u32, out: &mut [u8]);
    /// Copies into it. The range has been checked.
    fn write(&mut self, to: u32, bytes: &[u8]);
}

/// The program that the adapter is merged with.
#[derive(Debug)]
pub struct Merged;

impl Memory for Merged {
    fn size(&self) -> u64 {
        sing_sdk::program::size()
    }
    fn read(&self, from: u32, out: &mut [u8]) {
        sing_sdk::program::read(from, out);
    }
    fn write(&mut self, to: u32, bytes: &[u8]) {
        sing_sdk::program::write(to, bytes);
    }
}

/// This system.
pub struct Sing<M> {
    /// The program's memory.
    pub memory: M,
    chance: Option<Chance>,
    /// The network, for a component that may make sockets.
    pub network: Option<SystemNetwork>,
    bounce: Box<[u8]>,
}

impl<M> core::fmt::Debug for Sing<M> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Sing")
    }
}

impl<M> Sing<M> {
    /// With a source of random bytes, if there is one.
    #[must_use]
    pub fn new(memory: M, chance: Option<Chance>) -> Self {
        Sing {
            memory,
            chance,
            network: None,
            bounce: vec![0; BOUNCE].into(),
        }
    }
}

impl Sing<Merged> {
    /// One that has nothing, and takes another's place for a while.
    pub(crate) fn nothing() -> Self {
        Sing {
            memory: Merged,
            chance: None,
            network: None,
            bounce: Box::default(),
        }
    }
}

impl<M: Memory> Host for Sing<M> {
    type Block = Vector<u8>;
    type File = File;
    type Directory = Directory;
    type Source = Reader;
    type Sink = Sink;
    type Listener = Box<dyn Listens>;
    type Net = SystemNetwork;

    fn size(&self) -> u64 {
        self.memory.size()
    }

    fn read(&mut self, from: u32, out: &mut [u8]) {
        self.memory.read(from, out);
    }

    fn write(&mut self, to: u32, bytes: &[u8]) {
        self.memory.write(to, bytes);
    }

    fn block(&mut self, len: usize) -> Result<Vector<u8>> {
        Vector::new(len).map_err(errno)
    }

    fn net(&mut self) -> Option<&mut SystemNetwork> {
        self.network.as_mut()
    }

    fn nowhere(&mut self) -> Sink {
        Sink::Nowhere
    }

    fn gather(&mut self, from: u32, block: &mut Vector<u8>, at: usize, len: usize) {
        for done in (0..len).step_by(BOUNCE) {
            let piece = &mut self.bounce[..(len - done).min(BOUNCE)];
            self.memory.read(from + done as u32, piece);
            block.block_mut().write(at + done, piece);
        }
    }

    fn scatter(&mut self, block: &Vector<u8>, at: usize, to: u32, len: usize) {
        for done in (0..len).step_by(BOUNCE) {
            let piece = &mut self.bounce[..(len - done).min(BOUNCE)];
            block.block().read(at + done, piece);
            self.memory.write(to + done as u32, piece);
        }
    }

    fn peek(&self, block: &Vector<u8>, at: usize, out: &mut [u8]) {
        block.block().read(at, out);
    }

    fn fill(&mut self, block: &mut Vector<u8>, bytes: &[u8]) {
        block.block_mut().write(0, bytes);
    }

    fn part(&mut self, block: &Vector<u8>, from: usize, len: usize) -> Result<Vector<u8>> {
        let mut part = self.block(len)?;
        for done in (0..len).step_by(BOUNCE) {
            let piece = &mut self.bounce[..(len - done).min(BOUNCE)];
            block.block().read(from + done, piece);
            part.block_mut().write(done, piece);
        }
        Ok(part)
    }

    fn realtime(&self) -> u64 {
        nanos(time::utc())
    }

    fn monotonic(&self) -> u64 {
        nanos(time::uptime())
    }

    fn random(&mut self, out: &mut [u8]) -> Result {
        let len = out.len();
        match self.chance.as_mut().and_then(|chance| chance(len)) {
            Some(block) if block.len() == len => {
                block.block().read(0, out);
                Ok(())
            }
            _ => Err(Errno::Io),
        }
    }

    fn wait(
        &mut self,
        sources: &[&Reader],
        sinks: &[&Sink],
        listeners: &[&Box<dyn Listens>],
        others: &[Waited<'_, SystemNetwork>],
        nanos: Option<u64>,
    ) {
        let timeout = nanos.map_or(Timeout::FOREVER, |n| Duration::from_nanos(n).into());
        let mut select = Select::<{ sing_sdk::select::MAX }>::new();
        let handles = sources
            .iter()
            .map(|source| source.handle())
            .chain(sinks.iter().map(|sink| sink.handle()))
            .chain(listeners.iter().map(|listener| listener.handle()))
            .chain(others.iter().map(Waitable::handle))
            .filter(|handle| *handle != Handle::NONE);
        let mut none = true;
        for handle in handles.take(sing_sdk::select::MAX) {
            select.add(handle);
            none = false;
        }
        if none {
            time::sleep(Duration::from_nanos(nanos.unwrap_or(u64::MAX)));
        } else {
            // Whether something has come, or the time has passed: the caller looks itself.
            let _ = select.wait(timeout);
        }
    }

    fn pause(&mut self) {
        thread::yield_now();
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// A stream that is written.
#[derive(Debug)]
pub enum Sink {
    /// A pipe.
    Pipe(Writer),
    /// The system's log, for a program that nobody listens to.
    Log(Box<DebugLog>),
    /// Nowhere.
    Nowhere,
    /// Whatever the adapter has in its place.
    Other(Box<dyn Stream>),
}

/// What an adapter puts in a stream's place.
pub trait Stream: core::fmt::Debug {
    /// Takes a block.
    ///
    /// # Errors
    /// `Pipe` if nobody reads.
    fn send(&mut self, block: Vector<u8>) -> Result;
    /// What to wait for until it takes the next one; nothing if it does at once.
    fn handle(&self) -> Handle;
}

impl Waitable for Sink {
    fn handle(&self) -> Handle {
        match self {
            Sink::Pipe(writer) => writer.handle(),
            Sink::Log(_) | Sink::Nowhere => Handle::NONE,
            Sink::Other(stream) => stream.handle(),
        }
    }
}

impl host::Sink for Sink {
    type Block = Vector<u8>;

    fn send(&mut self, block: Vector<u8>) -> Result {
        match self {
            Sink::Pipe(writer) => writer.send(block).map_err(writing),
            Sink::Log(log) => {
                log.write(&block.to_vec());
                Ok(())
            }
            Sink::Nowhere => Ok(()),
            Sink::Other(stream) => stream.send(block),
        }
    }

    fn is_ready(&self) -> bool {
        look(self.handle()) != Some(None)
    }
}

/// What a look at an endpoint finds: nothing to look at, nothing there, or a message's tag.
pub(crate) fn look(handle: Handle) -> Option<Option<i32>> {
    if handle == Handle::NONE {
        return None;
    }
    let mut select = Select::<1>::new();
    let place = select.add(handle);
    let _ = select.wait(Timeout::NONE);
    Some(select.tag(place))
}

impl host::Source for Reader {
    type Block = Vector<u8>;

    fn receive(&mut self) -> Option<(Vector<u8>, usize)> {
        let block = Reader::receive(self)?;
        let len = block.len();
        Some((block, len))
    }

    fn is_ready(&self) -> bool {
        look(self.handle()) != Some(None)
    }

    fn has_ended(&self) -> bool {
        look(self.handle()).is_none_or(|tag| tag.is_some_and(|tag| tag < 0))
    }
}

/// The reason for which a block was not written to a pipe.
#[must_use]
pub fn writing(error: Error) -> Errno {
    match error {
        Error::Closed => Errno::Pipe,
        other => errno(other),
    }
}

/// The reason that a program gets.
#[must_use]
pub fn errno(error: Error) -> Errno {
    match error {
        Error::NotFound => Errno::Noent,
        Error::NoResources => Errno::Nomem,
        Error::File(fault) => of_fault(fault),
        Error::BadArgument => Errno::Inval,
        Error::NotPermitted => Errno::Perm,
        _ => Errno::Io,
    }
}

const fn of_fault(fault: FileFault) -> Errno {
    match fault {
        FileFault::NotFound => Errno::Noent,
        FileFault::Exists => Errno::Exist,
        FileFault::NotDirectory => Errno::Notdir,
        FileFault::IsDirectory => Errno::Isdir,
        FileFault::NotEmpty => Errno::Notempty,
        // A name that is too long has been refused before.
        FileFault::BadName | FileFault::BadRequest => Errno::Inval,
        FileFault::Loop => Errno::Loop,
        FileFault::Outside => Errno::Perm,
        FileFault::ReadOnly => Errno::Rofs,
        FileFault::NoSpace => Errno::Nospc,
        FileFault::TooLarge => Errno::Fbig,
        FileFault::TooManyLinks => Errno::Mlink,
        FileFault::Medium => Errno::Io,
        FileFault::Busy => Errno::Busy,
        FileFault::NoResources => Errno::Nomem,
        FileFault::NotSupported => Errno::Notsup,
    }
}

/// For what is opened, a share that is used up is the system's table of files.
fn opening(error: Error) -> Errno {
    match errno(error) {
        Errno::Nomem => Errno::Nfile,
        other => other,
    }
}

fn attributes(a: FileAttributes) -> Attributes {
    Attributes {
        id: a.id,
        kind: kind(a.kind),
        links: a.links.into(),
        bytes: a.bytes,
        accessed: a.accessed,
        modified: a.modified,
        changed: a.changed,
    }
}

const fn kind(kind: FileKind) -> Kind {
    match kind {
        FileKind::File => Kind::File,
        FileKind::Directory => Kind::Directory,
        FileKind::Link => Kind::Link,
    }
}

impl host::File for File {
    type Block = Vector<u8>;

    fn read(&mut self, at: u64, block: Vector<u8>, len: usize) -> Result<(Vector<u8>, usize)> {
        self.read_part(at, block, 0..len).map_err(errno)
    }

    fn write(&mut self, offset: u64, block: Vector<u8>, len: usize) -> Result<usize> {
        let written = File::write(self, offset, block, 0..len);
        written.map(|(_, count)| count).map_err(errno)
    }

    fn append(&mut self, block: Vector<u8>, len: usize) -> Result<(usize, u64)> {
        let appended = self.append_block(block, 0..len);
        appended.map(|(_, count, at)| (count, at)).map_err(errno)
    }

    fn attributes(&mut self) -> Result<Attributes> {
        File::attributes(self).map(attributes).map_err(errno)
    }

    fn set_size(&mut self, bytes: u64) -> Result {
        File::set_size(self, bytes).map_err(errno)
    }

    fn set_times(&mut self, accessed: u64, modified: u64) -> Result {
        File::set_times(self, accessed, modified).map_err(errno)
    }

    fn sync(&mut self) -> Result {
        File::sync(self).map_err(errno)
    }
}

fn options(how: How) -> Options {
    let options = match how {
        How { change: false, .. } => Options::read(),
        How { create: false, .. } => Options::write(),
        How {
            exclusive: false, ..
        } => Options::create(),
        How { .. } => Options::create_new(),
    };
    let options = match how.truncate {
        true => options.truncate(),
        false => options,
    };
    match how.follow {
        true => options,
        false => options.no_follow(),
    }
}

impl host::Directory for Directory {
    type File = File;

    /// Below a directory for reading, what exists opens for changes, too, and then refuses them. An
    /// ordinary program is to be told at once: a write of no bytes finds out.
    fn open_file(&mut self, path: &str, how: How) -> Result<File> {
        let mut file = self.open_with(path, options(how)).map_err(opening)?;
        if how.change && !how.truncate {
            let nothing = Vector::new(1).map_err(errno)?;
            File::write(&mut file, 0, nothing, 0..0).map_err(errno)?;
        }
        Ok(file)
    }

    fn open_directory(&mut self, path: &str, how: How) -> Result<Directory> {
        let opened = self.open_directory_with(path, options(how));
        opened.map_err(opening)
    }

    fn attributes(&mut self, path: &str, follow: bool) -> Result<Attributes> {
        let found = match follow {
            true => Directory::attributes(self, path),
            false => self.attributes_of_link(path),
        };
        found.map(attributes).map_err(errno)
    }

    fn make_directory(&mut self, path: &str) -> Result {
        Directory::make_directory(self, path).map_err(errno)
    }

    fn remove(&mut self, path: &str) -> Result {
        Directory::remove(self, path).map_err(errno)
    }

    fn remove_directory(&mut self, path: &str) -> Result {
        Directory::remove_directory(self, path).map_err(errno)
    }

    fn rename(&mut self, from: &str, to: &str) -> Result {
        Directory::rename(self, from, to).map_err(errno)
    }

    fn link(&mut self, from: &str, to: &str) -> Result {
        Directory::link(self, from, to).map_err(errno)
    }

    fn make_link(&mut self, path: &str, target: &str) -> Result {
        Directory::make_link(self, path, target).map_err(errno)
    }

    fn read_link(&mut self, path: &str) -> Result<String> {
        Directory::read_link(self, path).map_err(errno)
    }

    fn set_times(&mut self, path: &str, follow: bool, accessed: u64, modified: u64) -> Result {
        let set = match follow {
            true => Directory::set_times(self, path, accessed, modified),
            false => self.set_times_of_link(path, accessed, modified),
        };
        set.map_err(errno)
    }

    fn list(&mut self, from: u64, each: &mut dyn FnMut(Entry) -> Result<bool>) -> Result {
        for entry in self.list_from(from) {
            let entry = entry.map_err(errno)?;
            let more = each(Entry {
                next: entry.next,
                id: entry.id,
                kind: kind(entry.kind),
                name: entry.name,
            })?;
            if !more {
                break;
            }
        }
        Ok(())
    }

    fn sync(&mut self) -> Result {
        Directory::sync(self).map_err(errno)
    }
}
