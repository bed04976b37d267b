//! Descriptors.
//!
//! Invariant: the lowest free number is given, as POSIX has it; there are at most [`DESCRIPTORS`].

use crate::abi::{fdflags, filetype, rights};
use crate::component::sockets::Made;
use crate::errno::{Errno, Result};
use crate::host::Host;
use crate::{Wasi, names};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

/// Descriptors at most.
pub const DESCRIPTORS: usize = 1024;

/// An open file, with its place.
pub(crate) struct OpenFile<H: Host> {
    pub file: H::File,
    pub offset: u64,
    /// Of which preopen.
    pub origin: u32,
}

/// An open directory.
pub(crate) struct OpenDirectory<H: Host> {
    pub directory: H::Directory,
    /// Of which preopen, and its path there when it was opened: for what is done in two directories.
    pub origin: u32,
    pub path: String,
    /// A preopen's name.
    pub name: Option<Vec<u8>>,
}

/// A stream that is read, with what is left of the last block.
pub(crate) struct OpenSource<H: Host> {
    pub source: H::Source,
    pub rest: Option<Rest<H::Block>>,
}

pub(crate) struct Rest<B> {
    pub block: B,
    pub used: usize,
    pub len: usize,
}

pub(crate) enum Object<H: Host> {
    Source(OpenSource<H>),
    Sink(H::Sink),
    File(OpenFile<H>),
    Directory(OpenDirectory<H>),
    Listener(H::Listener),
    Socket(OpenSocket<H>),
    /// What a component has made of the network.
    Made(Box<Made<H>>),
}

/// A connection; what of it was shut down is gone.
pub(crate) struct OpenSocket<H: Host> {
    pub input: Option<OpenSource<H>>,
    pub output: Option<H::Sink>,
}

impl<H: Host> Object<H> {
    /// The rights that mean something for it.
    pub fn applicable(&self) -> u64 {
        match self {
            Object::Source(_) => rights::SOURCE,
            Object::Sink(_) => rights::SINK,
            Object::File(_) => rights::FILE,
            Object::Directory(_) => rights::DIRECTORY,
            Object::Listener(_) => rights::LISTENER,
            Object::Socket(_) | Object::Made(_) => rights::SOCKET,
        }
    }

    /// What is read of a stream or a connection.
    pub fn source(&self) -> Option<&OpenSource<H>> {
        match self {
            Object::Source(source) => Some(source),
            Object::Socket(socket) => socket.input.as_ref(),
            Object::Made(made) => made.connection()?.input.as_ref(),
            _ => None,
        }
    }

    pub fn source_mut(&mut self) -> Option<&mut OpenSource<H>> {
        match self {
            Object::Source(source) => Some(source),
            Object::Socket(socket) => socket.input.as_mut(),
            Object::Made(made) => made.connection_mut()?.input.as_mut(),
            _ => None,
        }
    }

    /// What is written of one.
    pub fn sink(&self) -> Option<&H::Sink> {
        match self {
            Object::Sink(sink) => Some(sink),
            Object::Socket(socket) => socket.output.as_ref(),
            Object::Made(made) => made.connection()?.output.as_ref(),
            _ => None,
        }
    }

    pub fn sink_mut(&mut self) -> Option<&mut H::Sink> {
        match self {
            Object::Sink(sink) => Some(sink),
            Object::Socket(socket) => socket.output.as_mut(),
            Object::Made(made) => made.connection_mut()?.output.as_mut(),
            _ => None,
        }
    }
}

pub(crate) struct Descriptor<H: Host> {
    pub object: Object<H>,
    pub rights: u64,
    pub inheriting: u64,
    pub flags: u16,
    /// Of a stream: what it says it is.
    pub filetype: u8,
}

impl<H: Host> Descriptor<H> {
    pub fn has(&self, right: u64) -> Result {
        if self.rights & right == right {
            Ok(())
        } else {
            Err(Errno::Notcapable)
        }
    }

    pub fn is(&self, flags: u16) -> bool {
        self.flags & flags != 0
    }
}

pub(crate) struct Table<H: Host>(Vec<Option<Descriptor<H>>>);

impl<H: Host> Table<H> {
    pub const fn new() -> Self {
        Table(Vec::new())
    }

    /// The number that the next descriptor gets.
    pub fn next(&mut self) -> Result<usize> {
        if let Some(free) = self.0.iter().position(Option::is_none) {
            return Ok(free);
        }
        if self.0.len() >= DESCRIPTORS {
            return Err(Errno::Mfile);
        }
        self.0.try_reserve(1).map_err(|_| Errno::Nomem)?;
        self.0.push(None);
        Ok(self.0.len() - 1)
    }

    pub fn insert(&mut self, descriptor: Descriptor<H>) -> Result<u32> {
        let place = self.next()?;
        self.0[place] = Some(descriptor);
        Ok(place as u32)
    }

    pub fn get(&mut self, fd: u32) -> Result<&mut Descriptor<H>> {
        let entry = self.0.get_mut(fd as usize);
        entry.and_then(Option::as_mut).ok_or(Errno::Badf)
    }

    pub fn look(&self, fd: u32) -> Result<&Descriptor<H>> {
        let entry = self.0.get(fd as usize);
        entry.and_then(Option::as_ref).ok_or(Errno::Badf)
    }

    pub fn take(&mut self, fd: u32) -> Result<Descriptor<H>> {
        let entry = self.0.get_mut(fd as usize);
        entry.and_then(Option::take).ok_or(Errno::Badf)
    }

    pub fn put(&mut self, fd: u32, descriptor: Descriptor<H>) {
        if let Some(entry) = self.0.get_mut(fd as usize) {
            *entry = Some(descriptor);
        }
    }

    /// A file that has this right; what is none is refused for this reason.
    pub fn file(&mut self, fd: u32, right: u64, other: Errno) -> Result<(&mut OpenFile<H>, u16)> {
        let descriptor = self.get(fd)?;
        let granted = descriptor.has(right);
        let flags = descriptor.flags;
        match &mut descriptor.object {
            Object::File(file) => granted.map(|()| (file, flags)),
            _ => Err(other),
        }
    }

    /// A directory that has this right.
    pub fn directory(&mut self, fd: u32, right: u64) -> Result<&mut OpenDirectory<H>> {
        let descriptor = self.get(fd)?;
        let granted = descriptor.has(right);
        match &mut descriptor.object {
            Object::Directory(directory) => granted.map(|()| directory),
            _ => Err(Errno::Notdir),
        }
    }

    /// The descriptors that are open.
    pub fn open(&self) -> Vec<u32> {
        let open = (0..).zip(&self.0).filter(|(_, d)| d.is_some());
        open.map(|(fd, _)| fd).collect()
    }

    /// The directories that the program got from outside: descriptors and names.
    pub fn preopens(&self) -> impl Iterator<Item = (u32, &[u8])> {
        (0..)
            .zip(&self.0)
            .filter_map(|(fd, d)| match &d.as_ref()?.object {
                Object::Directory(d) => Some((fd, d.name.as_deref()?)),
                _ => None,
            })
    }

    /// A directory that the program got from outside.
    pub fn preopen(&mut self, origin: u32) -> Option<&mut OpenDirectory<H>> {
        self.0
            .iter_mut()
            .flatten()
            .find_map(|d| match &mut d.object {
                Object::Directory(d) if d.name.is_some() && d.origin == origin => Some(d),
                _ => None,
            })
    }
}

impl<H: Host> Wasi<H> {
    fn stream(&mut self, object: Object<H>, terminal: bool) -> Result<u32> {
        self.table.insert(Descriptor {
            rights: object.applicable(),
            object,
            inheriting: 0,
            flags: 0,
            filetype: if terminal {
                filetype::CHARACTER_DEVICE
            } else {
                filetype::UNKNOWN
            },
        })
    }

    /// Gives the program a stream to read; its descriptor.
    ///
    /// # Errors
    /// If there are too many.
    pub fn add_source(&mut self, source: H::Source, terminal: bool) -> Result<u32> {
        self.stream(Object::Source(OpenSource { source, rest: None }), terminal)
    }

    /// Gives the program a stream to write; its descriptor.
    ///
    /// # Errors
    /// If there are too many.
    pub fn add_sink(&mut self, sink: H::Sink, terminal: bool) -> Result<u32> {
        self.stream(Object::Sink(sink), terminal)
    }

    /// Gives the program a directory under a name: a preopen. Its descriptor.
    ///
    /// # Errors
    /// If there are too many.
    pub fn add_directory(&mut self, directory: H::Directory, name: Vec<u8>) -> Result<u32> {
        let origin = self.origins;
        self.origins += 1;
        self.table.insert(Descriptor {
            object: Object::Directory(OpenDirectory {
                directory,
                origin,
                path: String::new(),
                name: Some(name),
            }),
            rights: rights::DIRECTORY,
            inheriting: rights::ALL,
            flags: 0,
            filetype: filetype::DIRECTORY,
        })
    }

    /// `fd_close`.
    ///
    /// # Errors
    /// `Badf`.
    pub fn fd_close(&mut self, fd: u32) -> Result {
        self.table.take(fd).map(drop)
    }

    /// `fd_renumber`: both are open, and the second is closed.
    ///
    /// # Errors
    /// `Badf`.
    pub fn fd_renumber(&mut self, from: u32, to: u32) -> Result {
        self.table.get(to)?;
        self.table.get(from)?;
        if from != to {
            let moved = self.table.take(from)?;
            self.table.put(to, moved);
        }
        Ok(())
    }

    /// `fd_prestat_get`. A socket that listens says that it is a preopen of no kind that is known, so that
    /// a program which looks for its directories goes on behind it.
    ///
    /// # Errors
    /// `Badf` for what is no preopen.
    pub fn fd_prestat_get(&mut self, fd: u32, out: u32) -> Result {
        if let Object::Listener(_) = self.table.get(fd)?.object {
            return self.store(out, &[1, 0, 0, 0, 0, 0, 0, 0]);
        }
        let len = self.preopen_name(fd)?.len() as u32;
        let mut prestat = [0; 8];
        prestat[4..].copy_from_slice(&len.to_le_bytes());
        self.store(out, &prestat)
    }

    /// `fd_prestat_dir_name`.
    ///
    /// # Errors
    /// `Badf` for what is no preopen, `Nametoolong` if there is no room.
    pub fn fd_prestat_dir_name(&mut self, fd: u32, out: u32, len: u32) -> Result {
        let name = self.preopen_name(fd)?.clone();
        if name.len() > len as usize {
            return Err(Errno::Nametoolong);
        }
        self.store(out, &name)
    }

    fn preopen_name(&mut self, fd: u32) -> Result<&Vec<u8>> {
        match &self.table.get(fd)?.object {
            Object::Directory(directory) => directory.name.as_ref().ok_or(Errno::Badf),
            _ => Err(Errno::Badf),
        }
    }

    /// Where something below an open directory is in the directory's preopen.
    pub(crate) fn place(directory: &OpenDirectory<H>, path: &str) -> Result<String> {
        names::join(&directory.path, path)
    }

    /// `fd_fdstat_set_flags`.
    ///
    /// # Errors
    /// `Badf`, `Inval`, `Notcapable`.
    pub fn fd_fdstat_set_flags(&mut self, fd: u32, flags: u32) -> Result {
        let descriptor = self.table.get(fd)?;
        descriptor.has(rights::FD_FDSTAT_SET_FLAGS)?;
        descriptor.flags = known_flags(flags)?;
        Ok(())
    }
}

/// Flags of a descriptor, none unknown.
pub(crate) fn known_flags(flags: u32) -> Result<u16> {
    match u16::try_from(flags) {
        Ok(flags) if flags & !fdflags::ALL == 0 => Ok(flags),
        _ => Err(Errno::Inval),
    }
}
