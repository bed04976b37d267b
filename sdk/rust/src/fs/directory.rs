//! An open directory.

use super::file::given_back;
use super::{Changes, Entries, File, Service, split};
use crate::Error;
use crate::client;
use crate::contracts::{
    DirectoryContract, FileAttributes, FileChangesContract, FileContract, FileFault, OpenHow,
};
use crate::names::Names;
use crate::rt::{Text, Vector};
use DirectoryContract::imp;
use alloc::string::String;

type Ready = DirectoryContract::Imp<DirectoryContract::Ready>;

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    write: bool,
    how: OpenHow,
    truncate: bool,
    follow: bool,
}

impl Options {
    const fn new(write: bool, how: OpenHow) -> Options {
        Options {
            write,
            how,
            truncate: false,
            follow: true,
        }
    }

    /// One that exists, for reading.
    #[must_use]
    pub const fn read() -> Options {
        Options::new(false, OpenHow::Existing)
    }

    /// One that exists, for reading and writing.
    #[must_use]
    pub const fn write() -> Options {
        Options::new(true, OpenHow::Existing)
    }

    /// For reading and writing; made if it does not exist.
    #[must_use]
    pub const fn create() -> Options {
        Options::new(true, OpenHow::OrCreate)
    }

    /// For reading and writing; made, and an error if it exists.
    #[must_use]
    pub const fn create_new() -> Options {
        Options::new(true, OpenHow::Create)
    }

    /// Its content is thrown away, if it is opened for writing.
    #[must_use]
    pub const fn truncate(mut self) -> Options {
        self.truncate = true;
        self
    }

    /// A symbolic link as the last part of the path is refused.
    #[must_use]
    pub const fn no_follow(mut self) -> Options {
        self.follow = false;
        self
    }
}

/// An open directory. Paths are relative to it.
#[derive(Debug)]
pub struct Directory(Option<Ready>);

/// The outcome of a request, and the channel for the next one.
type Answer<T> = Option<(Result<T, FileFault>, Ready)>;

/// A request that is answered with Done or Failed.
macro_rules! done {
    ($reply:ident, $call:expr) => {
        match $call {
            imp::$reply::Done(next) => Some((Ok(()), next)),
            imp::$reply::Failed(fault, next) => Some((Err(fault), next)),
            imp::$reply::Closed => None,
        }
    };
}

impl Directory {
    /// Uses a channel to a directory that has been opened.
    ///
    /// # Errors
    /// [`Error::Closed`] if its server does not take part.
    pub fn new(channel: DirectoryContract::Imp<DirectoryContract::Start>) -> Result<Self, Error> {
        Ok(Directory(Some(channel.recv_success()?)))
    }

    /// Opens the directory at a path of the name space.
    ///
    /// # Errors
    /// Why it cannot be opened, as a directory above says it; [`Error::NotFound`] where none is
    /// that a file system serves, [`Error::NoResources`] where this program has its share of open
    /// ones.
    pub fn open(names: &mut Names, path: &str) -> Result<Directory, Error> {
        match Directory::bind(names, path) {
            Err(error) if super::may_know_above(error) => {
                let (mut above, rest) = Directory::nearest(names, path)?;
                let opened = above.open_directory(rest);
                opened.map_err(|reason| super::better(error, reason))
            }
            other => other,
        }
    }

    fn bind(names: &mut Names, path: &str) -> Result<Directory, Error> {
        client::reach(names, path, |names, path| {
            let (imp, exp) = DirectoryContract::new_channel()?;
            names.bind(path, exp)?;
            Directory::new(imp)
        })
    }

    /// The nearest directory above a path that there is, and the rest of the path.
    pub(super) fn nearest<'a>(
        names: &mut Names,
        path: &'a str,
    ) -> Result<(Directory, &'a str), Error> {
        let mut above = path;
        while let Some((parent, _)) = split(above) {
            above = parent;
            match Directory::bind(names, above) {
                Ok(directory) => {
                    let rest = path.get(above.len()..).unwrap_or_default();
                    return Ok((directory, rest.trim_start_matches('/')));
                }
                Err(error) if super::may_know_above(error) => {}
                Err(error) => return Err(error),
            }
        }
        Err(Error::NotFound)
    }

    /// Makes a request. The channel is kept for the next one, whatever the outcome.
    fn ask<T>(&mut self, request: impl FnOnce(Ready) -> Answer<T>) -> Result<T, Error> {
        let channel = self.0.take().ok_or(Error::Closed)?;
        let (outcome, next) = request(channel).ok_or(Error::Closed)?;
        self.0 = Some(next);
        outcome.map_err(Error::from)
    }

    fn attributes_at(&mut self, path: &str, follow: bool) -> Result<FileAttributes, Error> {
        use imp::Ready_GetAttributes as Reply;
        let path = Text::new(path)?;
        self.ask(|d| match d.call_get_attributes(path, follow) {
            Reply::Attributes(attributes, next) => Some((Ok(attributes), next)),
            Reply::Failed(fault, next) => Some((Err(fault), next)),
            Reply::Closed => None,
        })
    }

    /// Attributes of what a path stands for, symbolic links followed; `""` is the directory.
    ///
    /// # Errors
    /// A [`FileFault`] with the reason, as the contract says it; [`Error::Closed`] if the server
    /// has gone. So it is with all requests.
    pub fn attributes(&mut self, path: &str) -> Result<FileAttributes, Error> {
        self.attributes_at(path, true)
    }

    /// The same, of a link itself.
    ///
    /// # Errors
    /// As [`Directory::attributes`].
    pub fn attributes_of_link(&mut self, path: &str) -> Result<FileAttributes, Error> {
        self.attributes_at(path, false)
    }

    fn open_at(&mut self, path: &str, options: Options, exp: Service) -> Result<(), Error> {
        let path = Text::new(path)?;
        let Options {
            how,
            truncate,
            follow,
            ..
        } = options;
        if options.write {
            use imp::Ready_Open as Reply;
            self.ask(|d| match d.call_open(path, how, truncate, follow, exp) {
                Reply::Opened(next) => Some((Ok(()), next)),
                Reply::NotOpened(fault, _, next) => Some((Err(fault), next)),
                Reply::Closed => None,
            })
        } else {
            use imp::Ready_OpenToRead as Reply;
            self.ask(|d| match d.call_open_to_read(path, follow, exp) {
                Reply::Opened(next) => Some((Ok(()), next)),
                Reply::NotOpened(fault, _, next) => Some((Err(fault), next)),
                Reply::Closed => None,
            })
        }
    }

    /// Opens a file.
    ///
    /// # Errors
    /// As [`Directory::attributes`].
    pub fn open_with(&mut self, path: &str, options: Options) -> Result<File, Error> {
        let (imp, exp) = FileContract::new_channel()?;
        self.open_at(path, options, exp.into())?;
        File::new(imp)
    }

    /// Opens a file for reading.
    ///
    /// # Errors
    /// As [`Directory::attributes`].
    pub fn open_file(&mut self, path: &str) -> Result<File, Error> {
        self.open_with(path, Options::read())
    }

    /// Opens a directory below this one, for changes if this one is; `""` is this one again.
    ///
    /// # Errors
    /// As [`Directory::attributes`].
    pub fn open_directory(&mut self, path: &str) -> Result<Directory, Error> {
        self.open_directory_with(path, Options::write())
    }

    /// The same for reading only: to be passed on.
    ///
    /// # Errors
    /// As [`Directory::attributes`].
    pub fn open_directory_to_read(&mut self, path: &str) -> Result<Directory, Error> {
        self.open_directory_with(path, Options::read())
    }

    /// Opens a directory below this one: of the options, those for opening something that exists.
    ///
    /// # Errors
    /// As [`Directory::attributes`].
    pub fn open_directory_with(&mut self, path: &str, options: Options) -> Result<Self, Error> {
        let (imp, exp) = DirectoryContract::new_channel()?;
        self.open_at(path, options, exp.into())?;
        Directory::new(imp)
    }

    /// Opens a channel over which the server tells whether anything in this directory or below has changed.
    ///
    /// # Errors
    /// As [`Directory::attributes`]; [`FileFault::NotSupported`] where the server cannot tell.
    pub fn changes(&mut self) -> Result<Changes, Error> {
        let (imp, exp) = FileChangesContract::new_channel()?;
        self.open_at("", Options::read(), exp.into())?;
        Changes::new(imp)
    }

    /// Makes an empty directory.
    ///
    /// # Errors
    /// As [`Directory::attributes`].
    pub fn make_directory(&mut self, path: &str) -> Result<(), Error> {
        let path = Text::new(path)?;
        self.ask(|d| done!(Ready_MakeDirectory, d.call_make_directory(path)))
    }

    /// Removes a file or link.
    ///
    /// # Errors
    /// As [`Directory::attributes`].
    pub fn remove(&mut self, path: &str) -> Result<(), Error> {
        let path = Text::new(path)?;
        self.ask(|d| done!(Ready_Remove, d.call_remove(path)))
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// As [`Directory::attributes`].
    pub fn remove_directory(&mut self, path: &str) -> Result<(), Error> {
        let path = Text::new(path)?;
        self.ask(|d| done!(Ready_RemoveDirectory, d.call_remove_directory(path)))
    }

    /// Gives what is at `from` the name `to` in its place, and replaces what is there.
    ///
    /// # Errors
    /// As [`Directory::attributes`].
    pub fn rename(&mut self, from: &str, to: &str) -> Result<(), Error> {
        let (from, to) = (Text::new(from)?, Text::new(to)?);
        self.ask(|d| done!(Ready_Rename, d.call_rename(from, to)))
    }

    /// Gives a file a further name.
    ///
    /// # Errors
    /// As [`Directory::attributes`].
    pub fn link(&mut self, from: &str, to: &str) -> Result<(), Error> {
        let (from, to) = (Text::new(from)?, Text::new(to)?);
        self.ask(|d| done!(Ready_Link, d.call_link(from, to)))
    }

    /// Makes a symbolic link at `path`.
    ///
    /// # Errors
    /// As [`Directory::attributes`].
    pub fn make_link(&mut self, path: &str, target: &str) -> Result<(), Error> {
        let (path, target) = (Text::new(path)?, Text::new(target)?);
        self.ask(|d| done!(Ready_MakeLink, d.call_make_link(path, target)))
    }

    /// The text of a symbolic link.
    ///
    /// # Errors
    /// As [`Directory::attributes`]; [`FileFault::BadRequest`] for what is no link.
    pub fn read_link(&mut self, path: &str) -> Result<String, Error> {
        use imp::Ready_ReadLink as Reply;
        let path = Text::new(path)?;
        let text = self.ask(|d| match d.call_read_link(path) {
            Reply::Target(text, next) => Some((Ok(text), next)),
            Reply::Failed(fault, next) => Some((Err(fault), next)),
            Reply::Closed => None,
        })?;
        Ok(text.to_lossy())
    }

    fn set_times_at(
        &mut self,
        path: &str,
        follow: bool,
        accessed: u64,
        modified: u64,
    ) -> Result<(), Error> {
        let path = Text::new(path)?;
        self.ask(|d| {
            done!(
                Ready_SetTimes,
                d.call_set_times(path, follow, accessed, modified)
            )
        })
    }

    /// Sets times, in nanoseconds since 1970; [`super::KEEP`] leaves one as it is.
    ///
    /// # Errors
    /// As [`Directory::attributes`].
    pub fn set_times(&mut self, path: &str, accessed: u64, modified: u64) -> Result<(), Error> {
        self.set_times_at(path, true, accessed, modified)
    }

    /// The same, of a link itself.
    ///
    /// # Errors
    /// As [`Directory::attributes`].
    pub fn set_times_of_link(
        &mut self,
        path: &str,
        accessed: u64,
        modified: u64,
    ) -> Result<(), Error> {
        self.set_times_at(path, false, accessed, modified)
    }

    /// Its entries, in no particular order.
    pub fn list(&mut self) -> Entries<'_> {
        self.list_from(0)
    }

    /// Its entries behind a place, which is the `next` of one.
    pub fn list_from(&mut self, place: u64) -> Entries<'_> {
        Entries::new(self, place)
    }

    /// Fills a block with entries from a place on, as the contract packs them; how many bytes.
    pub(super) fn list_into(
        &mut self,
        from: u64,
        buffer: Vector<u8>,
    ) -> Result<(Vector<u8>, usize), Error> {
        use imp::Ready_List as Reply;
        let lent = buffer.len();
        let (buffer, count) = self.ask(|d| match d.call_list(from, buffer) {
            Reply::Entries(buffer, count, next) => Some((Ok((buffer, count)), next)),
            Reply::NotListed(fault, _, next) => Some((Err(fault), next)),
            Reply::Closed => None,
        })?;
        let buffer = given_back(buffer, lent)?;
        Ok((buffer, (count as usize).min(lent)))
    }

    /// Returns when all changes so far of the names directly in it are safe from a power cut. On a
    /// disk of the system's, all of the file system is; elsewhere, what is in a file is safe by the
    /// file's own [`File::sync`].
    ///
    /// # Errors
    /// As [`Directory::attributes`]; [`FileFault::Medium`]: then it is unknown.
    pub fn sync(&mut self) -> Result<(), Error> {
        self.ask(|d| done!(Ready_Sync, d.call_sync()))
    }

    /// Its channel, for who passes it on.
    ///
    /// # Errors
    /// [`Error::Closed`] if its server has gone.
    pub fn into_channel(self) -> Result<DirectoryContract::Imp<DirectoryContract::Ready>, Error> {
        self.0.ok_or(Error::Closed)
    }

    /// A directory over a channel that no request is under way on.
    #[must_use]
    pub fn from_channel(channel: DirectoryContract::Imp<DirectoryContract::Ready>) -> Directory {
        Directory(Some(channel))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use DirectoryContract::exp::Ready as Request;

    /// Whoever holds a block pays for all of its region, and copies what is said to be in it.
    #[test]
    fn a_listing_in_a_block_of_another_length_is_not_taken() {
        for length in [1, 1 << 20] {
            let (imp, exp) = DirectoryContract::new_channel().unwrap();
            std::thread::spawn(move || {
                let directory = exp.send_success();
                if let Request::List(_, _, next) = directory.recv() {
                    drop(next.send_entries(Vector::new(length).unwrap(), length as u32));
                }
            });
            let mut directory = Directory::new(imp).unwrap();
            let first = directory.list().next();
            assert_eq!(first.unwrap().err(), Some(Error::File(FileFault::Medium)));
        }
    }
}
