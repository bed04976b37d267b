//! What the calls are made of: the program's memory, open files and directories, streams, clocks.
//!
//! The system's own implementation is in [`crate::sing`]; tests have others.

use crate::errno::Result;
use crate::net::{Network, Waited};
use alloc::string::String;
use core::net::SocketAddr;

/// The world of a program.
pub trait Host {
    /// Bytes on their way between the program and a server; moves without being copied.
    type Block;
    /// An open file.
    type File: File<Block = Self::Block>;
    /// An open directory.
    type Directory: Directory<File = Self::File>;
    /// A stream that is read.
    type Source: Source<Block = Self::Block>;
    /// A stream that is written.
    type Sink: Sink<Block = Self::Block>;
    /// A socket that listens.
    type Listener: Listener<Source = Self::Source, Sink = Self::Sink>;
    /// The network, for a program that makes its own sockets.
    type Net: Network<
            Block = Self::Block,
            Source = Self::Source,
            Sink = Self::Sink,
            Listener = Self::Listener,
        >;

    /// Bytes of the program's memory.
    fn size(&self) -> u64;
    /// Copies from the program's memory. The range has been checked.
    fn read(&mut self, from: u32, out: &mut [u8]);
    /// Copies into the program's memory. The range has been checked.
    fn write(&mut self, to: u32, bytes: &[u8]);

    /// A block of so many bytes, at least one.
    ///
    /// # Errors
    /// If memory is short.
    fn block(&mut self, len: usize) -> Result<Self::Block>;
    /// The network, if the program was given one.
    fn net(&mut self) -> Option<&mut Self::Net>;
    /// A stream of which nothing comes out.
    fn nowhere(&mut self) -> Self::Sink;
    /// Copies from the program's memory into a block. Both ranges have been checked.
    fn gather(&mut self, from: u32, block: &mut Self::Block, at: usize, len: usize);
    /// Copies from a block into the program's memory. Both ranges have been checked.
    fn scatter(&mut self, block: &Self::Block, at: usize, to: u32, len: usize);

    /// Copies bytes of a block. The range is within it.
    fn peek(&self, block: &Self::Block, at: usize, out: &mut [u8]);
    /// Copies to the beginning of a block, which has so many bytes.
    fn fill(&mut self, block: &mut Self::Block, bytes: &[u8]);

    /// A block with a part of another one.
    ///
    /// # Errors
    /// If memory is short.
    fn part(&mut self, block: &Self::Block, from: usize, len: usize) -> Result<Self::Block>;

    /// Nanoseconds since 1970.
    fn realtime(&self) -> u64;
    /// Nanoseconds since some moment; never goes back.
    fn monotonic(&self) -> u64;
    /// Fills with random bytes.
    ///
    /// # Errors
    /// If there are none.
    fn random(&mut self, out: &mut [u8]) -> Result;
    /// Waits until one of the streams or sockets is ready, so long at most; it may return sooner.
    fn wait(
        &mut self,
        sources: &[&Self::Source],
        sinks: &[&Self::Sink],
        listeners: &[&Self::Listener],
        others: &[Waited<'_, Self::Net>],
        nanos: Option<u64>,
    );
    /// Lets others run.
    fn pause(&mut self);
}

/// What something in a file system is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
}

/// Attributes. Times are nanoseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Attributes {
    pub id: u64,
    pub kind: Kind,
    pub links: u64,
    pub bytes: u64,
    pub accessed: u64,
    pub modified: u64,
    pub changed: u64,
}

/// For a time that stays as it is.
pub const KEEP: u64 = u64::MAX;

/// An open file. It may be for reading only; changes are then refused.
#[allow(clippy::missing_errors_doc)] // Why it could not be done.
pub trait File: Sized {
    /// Bytes on their way.
    type Block;
    /// Fills the first `len` bytes of a block from the file; fewer only at its end.
    fn read(&mut self, offset: u64, block: Self::Block, len: usize)
    -> Result<(Self::Block, usize)>;
    /// Writes the first `len` bytes of a block; how many.
    fn write(&mut self, offset: u64, block: Self::Block, len: usize) -> Result<usize>;
    /// Writes them at the end; how many, and where.
    fn append(&mut self, block: Self::Block, len: usize) -> Result<(usize, u64)>;
    /// Its attributes.
    fn attributes(&mut self) -> Result<Attributes>;
    /// Cuts it off or lets it grow.
    fn set_size(&mut self, bytes: u64) -> Result;
    /// Sets times.
    fn set_times(&mut self, accessed: u64, modified: u64) -> Result;
    /// Makes it safe from a power cut.
    fn sync(&mut self) -> Result;
}

/// How something is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct How {
    /// Also for changes.
    pub change: bool,
    /// Made if it does not exist.
    pub create: bool,
    /// An error if it exists; only with `create`.
    pub exclusive: bool,
    pub truncate: bool,
    /// A link as the last part is followed.
    pub follow: bool,
}

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Entry {
    /// The place behind it.
    pub next: u64,
    pub id: u64,
    pub kind: Kind,
    pub name: String,
}

/// An open directory. A path that leads out of it is refused with `Perm`.
#[allow(clippy::missing_errors_doc)] // Why it could not be done.
pub trait Directory: Sized {
    /// A file in it.
    type File;
    /// Opens a file; `Isdir` for a directory.
    fn open_file(&mut self, path: &str, how: How) -> Result<Self::File>;
    /// Opens a directory; `Notdir` for a file.
    fn open_directory(&mut self, path: &str, how: How) -> Result<Self>;
    /// Attributes of what a path stands for; "" is the directory.
    fn attributes(&mut self, path: &str, follow: bool) -> Result<Attributes>;
    /// Makes a directory.
    fn make_directory(&mut self, path: &str) -> Result;
    /// Removes a file or a link.
    fn remove(&mut self, path: &str) -> Result;
    /// Removes an empty directory.
    fn remove_directory(&mut self, path: &str) -> Result;
    /// Renames, replacing what is there.
    fn rename(&mut self, from: &str, to: &str) -> Result;
    /// Gives a file a further name.
    fn link(&mut self, from: &str, to: &str) -> Result;
    /// Makes a symbolic link.
    fn make_link(&mut self, path: &str, target: &str) -> Result;
    /// The text of one.
    fn read_link(&mut self, path: &str) -> Result<String>;
    /// Sets times.
    fn set_times(&mut self, path: &str, follow: bool, accessed: u64, modified: u64) -> Result;
    /// Calls `each` with the entries from a place on, until it says false.
    fn list(&mut self, from: u64, each: &mut dyn FnMut(Entry) -> Result<bool>) -> Result;
    /// Makes the names in it safe from a power cut.
    fn sync(&mut self) -> Result;
}

/// A stream that is read.
pub trait Source {
    /// Bytes on their way.
    type Block;
    /// Waits for the next block, with its length; `None` at the end.
    fn receive(&mut self) -> Option<(Self::Block, usize)>;
    /// Whether that would not wait.
    fn is_ready(&self) -> bool;
    /// Whether it is known to be at its end.
    fn has_ended(&self) -> bool;
}

/// A stream that is written.
pub trait Sink {
    /// Bytes on their way.
    type Block;
    /// Sends a block, when the one before has been taken.
    ///
    /// # Errors
    /// `Pipe` if nobody reads.
    fn send(&mut self, block: Self::Block) -> Result;
    /// Whether that would not wait.
    fn is_ready(&self) -> bool;
}

/// A socket that listens.
pub trait Listener {
    /// What is read of a connection.
    type Source;
    /// What is written of it.
    type Sink;
    /// Waits for the next connection.
    ///
    /// # Errors
    /// Why it cannot be taken.
    fn accept(&mut self) -> Result<(Self::Source, Self::Sink)>;
    /// The same, with the two ends of the connection, the local one first.
    ///
    /// # Errors
    /// Why it cannot be taken.
    fn accept_with_ends(&mut self) -> Result<(Self::Source, Self::Sink, [SocketAddr; 2])>;
    /// Whether that would not wait.
    fn is_ready(&self) -> bool;
}
