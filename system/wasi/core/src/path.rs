//! Opening and changing what paths stand for.

use crate::Wasi;
use crate::abi::{fdflags, filetype, oflags, rights};
use crate::errno::{Errno, Result};
use crate::host::{Directory, Host, How};
use crate::names::{above, ends_with_itself};
use crate::stat::follow;
use crate::table::{Descriptor, Object, OpenDirectory, OpenFile, known_flags};
use alloc::string::String;

/// What `path_open` was asked for.
pub(crate) struct Request {
    how: How,
    directory: bool,
    rights: u64,
    inheriting: u64,
    flags: u16,
}

impl<H: Host> Wasi<H> {
    /// `path_open`.
    ///
    /// # Errors
    /// `Badf`, `Notdir`, `Notcapable`, `Inval`, `Perm` for a path that leads out, `Isdir`, `Mfile`,
    /// `Fault`, and the file's.
    #[allow(clippy::too_many_arguments)] // Preview 1's.
    pub fn path_open(
        &mut self,
        fd: u32,
        lookup: u32,
        path: u32,
        len: u32,
        how: u32,
        base: u64,
        inheriting: u64,
        flags: u32,
        out: u32,
    ) -> Result {
        self.check(out, 4)?;
        let path = self.path(path, len)?;
        // A program asks for reading and writing. All else it has, whether it asked or not, as in other
        // engines: there are programs that ask for nothing.
        let passed_on = self.table.look(fd)?.inheriting;
        let base = base | passed_on & !(rights::FD_READ | rights::FD_WRITE);
        let request = request(how, follow(lookup)?, base, inheriting | passed_on, flags)?;
        let number = self.open_at(fd, &path, &request)?;
        self.store_u32(out, number)
    }

    /// Opens what a path stands for; its descriptor.
    pub(crate) fn open_at(&mut self, fd: u32, path: &str, request: &Request) -> Result<u32> {
        // There is a number before anything is made.
        self.table.next()?;
        let mut needed = rights::PATH_OPEN;
        if request.how.create {
            needed |= rights::PATH_CREATE_FILE;
        }
        if request.how.truncate {
            needed |= rights::PATH_FILESTAT_SET_SIZE;
        }
        let parent = self.table.look(fd)?.inheriting;
        let open = self.table.directory(fd, needed)?;
        if request.rights & !parent != 0 {
            return Err(Errno::Notcapable);
        }
        let object = open_in(open, path, request)?;
        let descriptor = Descriptor {
            rights: request.rights & object.applicable(),
            inheriting: match object {
                Object::Directory(_) => request.inheriting & parent,
                _ => 0,
            },
            filetype: match object {
                Object::Directory(_) => filetype::DIRECTORY,
                _ => filetype::REGULAR_FILE,
            },
            object,
            flags: request.flags,
        };
        self.table.insert(descriptor)
    }

    /// `path_create_directory`.
    ///
    /// # Errors
    /// `Badf`, `Notdir`, `Notcapable`, `Fault`, and the directory's.
    pub fn path_create_directory(&mut self, fd: u32, path: u32, len: u32) -> Result {
        let path = self.path(path, len)?;
        let open = self.table.directory(fd, rights::PATH_CREATE_DIRECTORY)?;
        not_itself(&mut open.directory, &path, Errno::Exist)?;
        open.directory.make_directory(&path)
    }

    /// `path_unlink_file`.
    ///
    /// # Errors
    /// As [`Wasi::path_create_directory`]; `Isdir` for a directory.
    pub fn path_unlink_file(&mut self, fd: u32, path: u32, len: u32) -> Result {
        let path = self.path(path, len)?;
        let open = self.table.directory(fd, rights::PATH_UNLINK_FILE)?;
        open.directory.remove(&path)
    }

    /// `path_remove_directory`.
    ///
    /// # Errors
    /// As [`Wasi::path_create_directory`]; `Notdir` for what is none, `Notempty`; `Inval` for a path that ends with `.`.
    pub fn path_remove_directory(&mut self, fd: u32, path: u32, len: u32) -> Result {
        let path = self.path(path, len)?;
        let open = self.table.directory(fd, rights::PATH_REMOVE_DIRECTORY)?;
        not_itself(&mut open.directory, &path, Errno::Inval)?;
        open.directory.remove_directory(&path)
    }

    /// `path_symlink`.
    ///
    /// # Errors
    /// As [`Wasi::path_create_directory`]; `Perm` for an absolute target; for a path with a slash or `.` at
    /// its end, which can name directories only, what the server of the files says: `Exist`, `Noent` or `Notdir`.
    pub fn path_symlink(
        &mut self,
        target: u32,
        target_len: u32,
        fd: u32,
        path: u32,
        len: u32,
    ) -> Result {
        let target = self.target(target, target_len)?;
        let path = self.path(path, len)?;
        let open = self.table.directory(fd, rights::PATH_SYMLINK)?;
        not_itself(&mut open.directory, &path, Errno::Exist)?;
        open.directory.make_link(&path, &target)
    }

    /// `path_readlink`: as much of the text as there is room for.
    ///
    /// # Errors
    /// As [`Wasi::path_create_directory`]; `Inval` for what is no link.
    pub fn path_readlink(
        &mut self,
        fd: u32,
        path: u32,
        len: u32,
        to: u32,
        room: u32,
        out: u32,
    ) -> Result {
        self.check(to, room.into())?;
        self.check(out, 4)?;
        let text = self.read_link_at(fd, path, len)?;
        let count = text.len().min(room as usize);
        self.store(to, &text.as_bytes()[..count])?;
        self.store_u32(out, count as u32)
    }

    /// The text of the link that a path stands for.
    pub(crate) fn read_link_at(&mut self, fd: u32, path: u32, len: u32) -> Result<String> {
        let path = self.path(path, len)?;
        let open = self.table.directory(fd, rights::PATH_READLINK)?;
        open.directory.read_link(&path)
    }

    /// `path_link`.
    ///
    /// # Errors
    /// As [`Wasi::path_create_directory`]; `Inval` if a link is to be followed, `Xdev` from one
    /// preopen to another, `Perm` for a directory, which has one name only.
    #[allow(clippy::too_many_arguments)] // Preview 1's.
    pub fn path_link(
        &mut self,
        from_fd: u32,
        lookup: u32,
        from: u32,
        from_len: u32,
        to_fd: u32,
        to: u32,
        to_len: u32,
    ) -> Result {
        if follow(lookup)? {
            return Err(Errno::Inval);
        }
        let (from, to) = (self.path(from, from_len)?, self.path(to, to_len)?);
        let (source, target) = (rights::PATH_LINK_SOURCE, rights::PATH_LINK_TARGET);
        self.in_two((from_fd, &from, source), (to_fd, &to, target), |d, a, b| {
            d.link(a, b).map_err(|e| match e {
                Errno::Isdir => Errno::Perm,
                other => other,
            })
        })
    }

    /// `path_rename`.
    ///
    /// # Errors
    /// As [`Wasi::path_create_directory`]; `Xdev` from one preopen to another; `Busy` for a path that ends
    /// with `.`; `Inval` for a directory that is to be moved below itself.
    pub fn path_rename(
        &mut self,
        from_fd: u32,
        from: u32,
        from_len: u32,
        to_fd: u32,
        to: u32,
        to_len: u32,
    ) -> Result {
        let (from, to) = (self.path(from, from_len)?, self.path(to, to_len)?);
        let (source, target) = (rights::PATH_RENAME_SOURCE, rights::PATH_RENAME_TARGET);
        for (fd, path, right) in [(from_fd, &from, source), (to_fd, &to, target)] {
            let open = self.table.directory(fd, right)?;
            not_itself(&mut open.directory, path, Errno::Busy)?;
        }
        self.in_two((from_fd, &from, source), (to_fd, &to, target), |d, a, b| {
            d.rename(a, b).map_err(|e| match e {
                // The file contract has one word for this and for links in a circle. Where both paths
                // lead somewhere, it is this.
                Errno::Loop if [a, b].iter().all(|p| d.attributes(above(p), true).is_ok()) => {
                    Errno::Inval
                }
                other => other,
            })
        })
    }

    /// Does something in two directories that the program has open. One request is about one
    /// directory: the one itself, or the preopen above both.
    fn in_two(
        &mut self,
        (from_fd, from, from_right): (u32, &str, u64),
        (to_fd, to, to_right): (u32, &str, u64),
        change: impl FnOnce(&mut H::Directory, &str, &str) -> Result,
    ) -> Result {
        if from_fd == to_fd {
            let open = self.table.directory(from_fd, from_right | to_right)?;
            return change(&mut open.directory, from, to);
        }
        let (origin, from) = self.in_origin(from_fd, from, from_right)?;
        let (other, to) = self.in_origin(to_fd, to, to_right)?;
        if origin != other {
            return Err(Errno::Xdev);
        }
        let root = self.table.preopen(origin).ok_or(Errno::Xdev)?;
        change(&mut root.directory, &from, &to)
    }

    /// The path in its preopen of a name below an open directory; `Xdev` if the directory is no
    /// longer where it was opened. That the path stays below it the directory's server has said.
    fn in_origin(&mut self, fd: u32, path: &str, right: u64) -> Result<(u32, String)> {
        let open = self.table.directory(fd, right)?;
        let above = above(path);
        let id = open.directory.attributes(above, true)?.id;
        let (origin, there) = (open.origin, Self::place(open, above)?);
        let whole = Self::place(open, path)?;
        let there = there.trim_end_matches('/');
        let root = self.table.preopen(origin).ok_or(Errno::Xdev)?;
        match root.directory.attributes(there, true) {
            Ok(found) if found.id == id => Ok((origin, whole)),
            _ => Err(Errno::Xdev),
        }
    }
}

/// Refuses a path that ends with the name which each directory has for itself with this error, if there is
/// such a directory.
fn not_itself<D: Directory>(directory: &mut D, path: &str, error: Errno) -> Result {
    if ends_with_itself(path) {
        directory.attributes(path, true)?;
        return Err(error);
    }
    Ok(())
}

pub(crate) fn request(
    how: u32,
    follow: bool,
    base: u64,
    inheriting: u64,
    flags: u32,
) -> Result<Request> {
    let how = u16::try_from(how).map_err(|_| Errno::Inval)?;
    let flags = known_flags(flags)?;
    let is = |flag: u16| how & flag != 0;
    let makes = is(oflags::CREAT) || is(oflags::EXCL) || is(oflags::TRUNC);
    if how & !oflags::ALL != 0 || is(oflags::DIRECTORY) && makes {
        return Err(Errno::Inval);
    }
    let change = base & rights::FD_WRITE != 0
        || is(oflags::CREAT)
        || is(oflags::TRUNC)
        || flags & fdflags::APPEND != 0;
    Ok(Request {
        how: How {
            change,
            create: is(oflags::CREAT),
            exclusive: is(oflags::CREAT) && is(oflags::EXCL),
            truncate: is(oflags::TRUNC),
            follow: follow && !(is(oflags::CREAT) && is(oflags::EXCL)),
        },
        directory: is(oflags::DIRECTORY),
        rights: base & rights::ALL,
        inheriting: inheriting & rights::ALL,
        flags,
    })
}

fn open_in<H: Host>(
    open: &mut OpenDirectory<H>,
    path: &str,
    request: &Request,
) -> Result<Object<H>> {
    let origin = open.origin;
    if !request.directory {
        match open_file(&mut open.directory, path, request) {
            // A directory can be opened as a file is, for reading.
            Err(Errno::Isdir) if !request.how.change => {}
            opened => {
                return Ok(Object::File(OpenFile {
                    file: opened?,
                    offset: 0,
                    origin,
                }));
            }
        }
    }
    let place = Wasi::<H>::place(open, path)?;
    let mut how = How {
        change: true,
        create: false,
        exclusive: false,
        truncate: false,
        follow: request.how.follow,
    };
    let directory = match open.directory.open_directory(path, how) {
        // All below is for reading, too.
        Err(Errno::Rofs) => {
            how.change = false;
            open.directory.open_directory(path, how)?
        }
        opened => opened?,
    };
    // No directory can be written as a file is: POSIX says so of O_DIRECTORY with O_RDWR.
    let both = rights::FD_READ | rights::FD_WRITE;
    if request.directory && request.rights & both == both {
        return Err(Errno::Isdir);
    }
    Ok(Object::Directory(OpenDirectory {
        directory,
        origin,
        path: place,
        name: None,
    }))
}

/// Opens a file: for changes if it is to be written, and where that can be also if only its times may
/// be set, for which POSIX asks no right to write.
fn open_file<D: Directory>(directory: &mut D, path: &str, request: &Request) -> Result<D::File> {
    let How {
        change,
        create,
        exclusive,
        truncate,
        follow,
    } = request.how;
    let writes = truncate || exclusive || request.rights & rights::FD_WRITE != 0;
    let how = How {
        change: change || request.rights & rights::FD_FILESTAT_SET_TIMES != 0,
        ..request.how
    };
    match directory.open_file(path, how) {
        Err(Errno::Rofs) if how.change && !writes => {
            let how = How {
                change: false,
                create: false,
                exclusive,
                truncate,
                follow,
            };
            match directory.open_file(path, how) {
                Err(Errno::Noent) if create => Err(Errno::Rofs),
                opened => opened,
            }
        }
        opened => opened,
    }
}
