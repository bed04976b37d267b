//! Reading and writing.
//!
//! A call's buffers are gone through twice: to compare all of them with the program's memory, and to
//! copy. In between and meanwhile they may change, as what is read may be written over the list; so
//! each is checked again when it is used. What has been moved before an error counts.

use crate::abi::{fdflags, rights};
use crate::errno::{Errno, Result};
use crate::host::{File, Host, Sink, Source};
use crate::table::{Object, Rest};
use crate::{PIECE, Wasi};

/// The most bytes of a call: what POSIX's `ssize_t` can tell.
const MOST: u64 = i32::MAX as u64;

/// A place in a list of buffers.
pub(crate) struct Cursor {
    list: u32,
    count: u32,
    next: u32,
    /// What is left of the buffer before `next`.
    at: u32,
    left: u32,
}

/// Without the right to read or write, a descriptor is not open for that.
fn not_open(reason: Errno) -> Errno {
    if reason == Errno::Notcapable {
        Errno::Badf
    } else {
        reason
    }
}

/// What has been done counts; only if that is nothing, why.
pub(crate) fn so_far(done: u64, reason: Errno) -> Result<u64> {
    if done > 0 { Ok(done) } else { Err(reason) }
}

/// A place in a file, which is not negative as POSIX has it.
fn place(offset: u64) -> Result<u64> {
    i64::try_from(offset)
        .map(i64::cast_unsigned)
        .map_err(|_| Errno::Inval)
}

impl<H: Host> Wasi<H> {
    /// All bytes of a list of buffers, and a place at its beginning.
    pub(crate) fn buffers(&mut self, list: u32, count: u32) -> Result<(Cursor, u64)> {
        self.check(list, u64::from(count) * 8)?;
        let mut total = 0;
        for number in 0..count {
            let (at, len) = self.buffer(list, number)?;
            if len > 0 {
                self.check(at, len.into())?;
            }
            total += u64::from(len);
        }
        if total > MOST {
            return Err(Errno::Inval);
        }
        let cursor = Cursor {
            list,
            count,
            next: 0,
            at: 0,
            left: 0,
        };
        Ok((cursor, total))
    }

    fn buffer(&mut self, list: u32, number: u32) -> Result<(u32, u32)> {
        let [a, b, c, d, e, f, g, h] = self.load(Self::element(list, number, 8)?)?;
        Ok((
            u32::from_le_bytes([a, b, c, d]),
            u32::from_le_bytes([e, f, g, h]),
        ))
    }

    /// The next range of at most `len` bytes; `None` behind the last buffer.
    fn range(&mut self, cursor: &mut Cursor, len: usize) -> Result<Option<(u32, usize)>> {
        while cursor.left == 0 {
            if cursor.next == cursor.count {
                return Ok(None);
            }
            let (at, left) = self.buffer(cursor.list, cursor.next)?;
            (cursor.at, cursor.left) = (at, left);
            cursor.next += 1;
        }
        let len = len.min(cursor.left as usize);
        let at = cursor.at;
        self.check(at, len as u64)?;
        cursor.left -= len as u32;
        cursor.at = at.wrapping_add(len as u32);
        Ok(Some((at, len)))
    }

    /// Fills a block from buffers; how many bytes.
    fn gather(&mut self, cursor: &mut Cursor, block: &mut H::Block, len: usize) -> Result<usize> {
        let mut done = 0;
        while done < len {
            let Some((at, piece)) = self.range(cursor, len - done)? else {
                break;
            };
            self.host.gather(at, block, done, piece);
            done += piece;
        }
        Ok(done)
    }

    /// Fills buffers from a part of a block; how many bytes.
    fn scatter(
        &mut self,
        cursor: &mut Cursor,
        block: &H::Block,
        from: usize,
        len: usize,
    ) -> Result<usize> {
        let mut done = 0;
        while done < len {
            let Some((at, piece)) = self.range(cursor, len - done)? else {
                break;
            };
            self.host.scatter(block, from + done, at, piece);
            done += piece;
        }
        Ok(done)
    }

    /// `fd_read`.
    ///
    /// # Errors
    /// `Badf`, `Isdir`, `Fault`, `Inval`, `Again`, and the file's.
    pub fn fd_read(&mut self, fd: u32, list: u32, count: u32, out: u32) -> Result {
        self.check(out, 4)?;
        let (mut cursor, total) = self.buffers(list, count)?;
        let done = match &self.table.get(fd)?.object {
            Object::File(file) => {
                let offset = file.offset;
                let done = self.read_file(fd, offset, &mut cursor, total)?;
                let (file, _) = self.table.file(fd, rights::FD_READ, Errno::Badf)?;
                file.offset = offset + done;
                done
            }
            Object::Source(_) | Object::Socket(_) => {
                self.read_source(fd, &mut cursor, total, false)?
            }
            Object::Directory(_) => return Err(Errno::Isdir),
            Object::Listener(_) | Object::Made(_) => return Err(Errno::Notconn),
            Object::Sink(_) => return Err(Errno::Badf),
        };
        self.store_u32(out, done as u32)
    }

    /// `fd_pread`.
    ///
    /// # Errors
    /// As [`Wasi::fd_read`]; `Spipe` for a stream.
    pub fn fd_pread(&mut self, fd: u32, list: u32, count: u32, offset: u64, out: u32) -> Result {
        self.check(out, 4)?;
        let (mut cursor, total) = self.buffers(list, count)?;
        match &self.table.get(fd)?.object {
            Object::File(_) => {}
            Object::Directory(_) => return Err(Errno::Isdir),
            _ => return Err(Errno::Spipe),
        }
        let done = self.read_file(fd, place(offset)?, &mut cursor, total)?;
        self.store_u32(out, done as u32)
    }

    fn read_file(&mut self, fd: u32, from: u64, cursor: &mut Cursor, total: u64) -> Result<u64> {
        let readable = self.table.file(fd, rights::FD_READ, Errno::Badf);
        readable.map_err(not_open)?;
        let mut done = 0;
        while done < total {
            let want = (total - done).min(PIECE as u64) as usize;
            let moved = self.read_piece(fd, from + done, want, cursor);
            match moved {
                Ok(count) => {
                    done += count as u64;
                    if count < want {
                        break;
                    }
                }
                Err(reason) => return so_far(done, reason),
            }
        }
        Ok(done)
    }

    fn read_piece(&mut self, fd: u32, at: u64, want: usize, cursor: &mut Cursor) -> Result<usize> {
        let block = self.host.block(want)?;
        let (open, _) = self.table.file(fd, rights::FD_READ, Errno::Badf)?;
        let (block, count) = open.file.read(at, block, want)?;
        self.scatter(cursor, &block, 0, count.min(want))
    }

    /// What there is of a stream, after waiting for anything at all. It may stay there.
    pub(crate) fn read_source(
        &mut self,
        fd: u32,
        cursor: &mut Cursor,
        total: u64,
        stays: bool,
    ) -> Result<u64> {
        if total == 0 {
            return Ok(0);
        }
        let descriptor = self.table.get(fd)?;
        descriptor.has(rights::FD_READ).map_err(not_open)?;
        let waits = !descriptor.is(fdflags::NONBLOCK);
        let Some(mut rest) = self.take_rest(fd, waits)? else {
            return Ok(0);
        };
        let count = (rest.len - rest.used).min(total as usize);
        let moved = self.scatter(cursor, &rest.block, rest.used, count);
        // Of a buffer that is not there, the bytes stay for the next read.
        if !stays {
            rest.used += *moved.as_ref().unwrap_or(&0);
        }
        self.keep_rest(fd, rest);
        moved.map(|count| count as u64)
    }

    /// What is left of the last block of a stream, or the next block; `None` at the end. Whoever takes it
    /// gives back what remains.
    pub(crate) fn take_rest(&mut self, fd: u32, waits: bool) -> Result<Option<Rest<H::Block>>> {
        let descriptor = self.table.get(fd)?;
        let Some(open) = descriptor.object.source_mut() else {
            // Of a connection, it was shut down.
            return match descriptor.object {
                Object::Socket(_) | Object::Made(_) => Ok(None),
                _ => Err(Errno::Badf),
            };
        };
        match open.rest.take() {
            Some(rest) => Ok(Some(rest)),
            None if !waits && !open.source.is_ready() => Err(Errno::Again),
            None => Ok(open.source.receive().map(|(block, len)| Rest {
                block,
                used: 0,
                len,
            })),
        }
    }

    /// Keeps what remains of a block.
    pub(crate) fn keep_rest(&mut self, fd: u32, rest: Rest<H::Block>) {
        if rest.used < rest.len
            && let Ok(descriptor) = self.table.get(fd)
            && let Some(open) = descriptor.object.source_mut()
        {
            open.rest = Some(rest);
        }
    }

    /// `fd_write`.
    ///
    /// # Errors
    /// `Badf`, `Fault`, `Inval`, `Pipe`, and the file's; `Again` of a connection only.
    pub fn fd_write(&mut self, fd: u32, list: u32, count: u32, out: u32) -> Result {
        self.check(out, 4)?;
        let (mut cursor, total) = self.buffers(list, count)?;
        let done = match &self.table.get(fd)?.object {
            Object::File(file) => {
                let offset = file.offset;
                let (done, end) = self.write_file(fd, offset, true, &mut cursor, total)?;
                let (file, _) = self.table.file(fd, rights::FD_WRITE, Errno::Badf)?;
                file.offset = end;
                done
            }
            Object::Sink(_) | Object::Socket(_) => self.write_sink(fd, &mut cursor, total)?,
            Object::Listener(_) | Object::Made(_) => return Err(Errno::Notconn),
            Object::Directory(_) | Object::Source(_) => return Err(Errno::Badf),
        };
        self.store_u32(out, done as u32)
    }

    /// `fd_pwrite`.
    ///
    /// # Errors
    /// As [`Wasi::fd_write`]; `Spipe` for a stream.
    pub fn fd_pwrite(&mut self, fd: u32, list: u32, count: u32, offset: u64, out: u32) -> Result {
        self.check(out, 4)?;
        let (mut cursor, total) = self.buffers(list, count)?;
        match &self.table.get(fd)?.object {
            Object::File(_) => {}
            Object::Directory(_) => return Err(Errno::Badf),
            _ => return Err(Errno::Spipe),
        }
        let (done, _) = self.write_file(fd, place(offset)?, false, &mut cursor, total)?;
        self.store_u32(out, done as u32)
    }

    /// Writes at a place, or at the end if the descriptor says so and it `may`: how many bytes, and
    /// the place behind them.
    fn write_file(
        &mut self,
        fd: u32,
        from: u64,
        may_append: bool,
        cursor: &mut Cursor,
        total: u64,
    ) -> Result<(u64, u64)> {
        let writable = self.table.file(fd, rights::FD_WRITE, Errno::Badf);
        let (_, flags) = writable.map_err(not_open)?;
        let append = may_append && flags & fdflags::APPEND != 0;
        let (mut done, mut end) = (0, from);
        while done < total {
            let want = (total - done).min(PIECE as u64) as usize;
            match self.write_piece(fd, end, append, want, cursor) {
                Ok((count, at)) => {
                    done += count as u64;
                    end = at.saturating_add(count as u64);
                    if count < want {
                        break;
                    }
                }
                Err(reason) => {
                    so_far(done, reason)?;
                    break;
                }
            }
        }
        if done > 0 && flags & (fdflags::SYNC | fdflags::DSYNC) != 0 {
            let (open, _) = self.table.file(fd, rights::FD_WRITE, Errno::Badf)?;
            open.file.sync()?;
        }
        Ok((done, end))
    }

    fn write_piece(
        &mut self,
        fd: u32,
        at: u64,
        append: bool,
        want: usize,
        cursor: &mut Cursor,
    ) -> Result<(usize, u64)> {
        let mut block = self.host.block(want)?;
        let want = self.gather(cursor, &mut block, want)?;
        let (open, _) = self.table.file(fd, rights::FD_WRITE, Errno::Badf)?;
        if append {
            open.file.append(block, want)
        } else {
            Ok((open.file.write(at, block, want)?, at))
        }
    }

    pub(crate) fn write_sink(&mut self, fd: u32, cursor: &mut Cursor, total: u64) -> Result<u64> {
        let mut done = 0;
        self.table
            .get(fd)?
            .has(rights::FD_WRITE)
            .map_err(not_open)?;
        while done < total {
            let want = (total - done).min(PIECE as u64) as usize;
            match self.sink_piece(fd, want, cursor) {
                Ok(()) => done += want as u64,
                Err(reason) => return so_far(done, reason),
            }
        }
        Ok(done)
    }

    fn sink_piece(&mut self, fd: u32, want: usize, cursor: &mut Cursor) -> Result {
        // Of a connection only: a standard stream has room again when its reader comes to it, and programs that
        // ask for this write there as if it were always so. Go's runtime gives up when its message of a panic
        // is not taken, and other engines know no standard stream that does not wait.
        let descriptor = self.table.get(fd)?;
        if descriptor.is(fdflags::NONBLOCK)
            && let Object::Socket(socket) = &descriptor.object
            && socket.output.as_ref().is_some_and(|sink| !sink.is_ready())
        {
            return Err(Errno::Again);
        }
        let mut block = self.host.block(want)?;
        // The list is only read meanwhile, so all of it is there.
        self.gather(cursor, &mut block, want)?;
        let object = &mut self.table.get(fd)?.object;
        // Of a connection, it may have been shut down.
        let gone = match object {
            Object::Socket(_) => Errno::Pipe,
            _ => Errno::Badf,
        };
        object.sink_mut().ok_or(gone)?.send(block)
    }

    /// `fd_seek`.
    ///
    /// # Errors
    /// `Badf`, `Spipe` for a stream, `Inval` for a place before the beginning, `Fault`.
    pub fn fd_seek(&mut self, fd: u32, delta: i64, whence: u32, out: u32) -> Result {
        self.check(out, 8)?;
        let right = if delta == 0 && whence == 1 {
            rights::FD_TELL
        } else {
            rights::FD_SEEK
        };
        let other = match self.table.get(fd)?.object {
            Object::File(_) | Object::Directory(_) => Errno::Badf,
            _ => Errno::Spipe,
        };
        let (open, _) = self.table.file(fd, right, other)?;
        let from = match whence {
            0 => 0,
            1 => open.offset,
            2 => open.file.attributes()?.bytes,
            _ => return Err(Errno::Inval),
        };
        let offset = from.checked_add_signed(delta).ok_or(Errno::Inval)?;
        open.offset = place(offset)?;
        self.store_u64(out, offset)
    }

    /// `fd_tell`.
    ///
    /// # Errors
    /// As [`Wasi::fd_seek`].
    pub fn fd_tell(&mut self, fd: u32, out: u32) -> Result {
        self.fd_seek(fd, 0, 1, out)
    }
}
