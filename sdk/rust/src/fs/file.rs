//! An open file.

use super::PIECE;
use crate::contracts::{FileAttributes, FileContract, FileFault};
use crate::names::Names;
use crate::rt::Vector;
use crate::{Error, client, fs};
use FileContract::imp;
use alloc::vec::Vec;
use core::ops::Range;

type Ready = FileContract::Imp<FileContract::Ready>;

/// How a file is best read and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Where offset and length are multiples of this, blocks move uncopied to the disk and back.
    pub block: usize,
    /// The most bytes of one request.
    pub most: usize,
}

/// An open file, at no place in particular: each request says where.
#[derive(Debug)]
pub struct File(Option<Ready>);

/// The outcome of a request, and the channel for the next one.
type Answer<T> = Option<(Result<T, FileFault>, Ready)>;

/// The bytes of a block that a request is about.
fn within(block: &Vector<u8>, range: &Range<usize>) -> Result<(u32, u32), Error> {
    if range.start > range.end || range.end > block.len() {
        return Err(Error::BadArgument);
    }
    let word = |n: usize| u32::try_from(n).map_err(|_| Error::BadArgument);
    Ok((word(range.start)?, word(range.len())?))
}

/// A block as it has come back from a server, if it is as long as the one that the server was lent. Another one
/// may be a part of far more, for which its holder would pay.
pub(super) fn given_back(block: Vector<u8>, lent: usize) -> Result<Vector<u8>, Error> {
    match block.len() == lent {
        true => Ok(block),
        false => Err(Error::File(FileFault::Medium)),
    }
}

/// A block for the next piece of a request: that of the one before, if it is what it was. Its server
/// may have given back another.
fn next_block(before: Option<Vector<u8>>, bytes: usize) -> Result<Vector<u8>, Error> {
    if let Some(mut block) = before
        && block.len() >= bytes
        && block.block_mut().unshare().is_ok()
    {
        return Ok(block);
    }
    Vector::new(bytes)
}

impl File {
    /// Uses a channel to a file that has been opened.
    ///
    /// # Errors
    /// [`Error::Closed`] if its server does not take part.
    pub fn new(channel: FileContract::Imp<FileContract::Start>) -> Result<File, Error> {
        Ok(File(Some(channel.recv_success()?)))
    }

    /// Opens the file at a path of the name space.
    ///
    /// # Errors
    /// Why it cannot be opened, as its directory says it; [`Error::NotFound`] where there is none.
    pub fn open(names: &mut Names, path: &str) -> Result<File, Error> {
        match File::bind(names, path) {
            // The name server knows no reasons; a directory above does.
            Err(error) if super::may_know_above(error) => {
                let (mut above, rest) = fs::Directory::nearest(names, path)?;
                let opened = above.open_with(rest, fs::Options::write());
                opened.map_err(|reason| super::better(error, reason))
            }
            other => other,
        }
    }

    /// Opens the file at a path of the name space, which is made if it does not exist.
    ///
    /// # Errors
    /// Why it cannot be opened or made.
    pub fn create(names: &mut Names, path: &str, options: fs::Options) -> Result<File, Error> {
        let (mut above, rest) = fs::Directory::nearest(names, path)?;
        above.open_with(rest, options)
    }

    pub(super) fn bind(names: &mut Names, path: &str) -> Result<File, Error> {
        client::reach(names, path, |names, path| {
            let (imp, exp) = FileContract::new_channel()?;
            names.bind(path, exp)?;
            File::new(imp)
        })
    }

    /// Makes a request. The channel is kept for the next one, whatever the outcome.
    fn ask<T>(&mut self, request: impl FnOnce(Ready) -> Answer<T>) -> Result<T, Error> {
        let channel = self.0.take().ok_or(Error::Closed)?;
        let (outcome, next) = request(channel).ok_or(Error::Closed)?;
        self.0 = Some(next);
        outcome.map_err(Error::from)
    }

    /// Its attributes.
    ///
    /// # Errors
    /// [`Error::Closed`] if its server has gone; [`FileFault::Medium`].
    pub fn attributes(&mut self) -> Result<FileAttributes, Error> {
        use imp::Ready_GetAttributes as Reply;
        self.ask(|file| match file.call_get_attributes() {
            Reply::Attributes(attributes, next) => Some((Ok(attributes), next)),
            Reply::Failed(fault, next) => Some((Err(fault), next)),
            Reply::Closed => None,
        })
    }

    /// Its size in bytes.
    ///
    /// # Errors
    /// As [`File::attributes`].
    pub fn size(&mut self) -> Result<u64, Error> {
        Ok(self.attributes()?.bytes)
    }

    /// How it is best read and written.
    ///
    /// # Errors
    /// [`Error::Closed`] if its server has gone.
    pub fn limits(&mut self) -> Result<Limits, Error> {
        self.ask(|file| {
            let (block, most, next) = file.call_get_limits().limits().ok()?;
            let limits = Limits {
                block: block as usize,
                most: most as usize,
            };
            Some((Ok(limits), next))
        })
    }

    /// Has a block filled from `offset` on; it comes back with the number of bytes that are the
    /// file's.
    ///
    /// # Errors
    /// As [`File::read_part`].
    pub fn read(&mut self, offset: u64, buffer: Vector<u8>) -> Result<(Vector<u8>, usize), Error> {
        let all = 0..buffer.len();
        self.read_part(offset, buffer, all)
    }

    /// Has a part of a block filled from `offset` on; it comes back with the number of bytes that
    /// are the file's, fewer than asked for only at its end.
    ///
    /// # Errors
    /// [`Error::Closed`] if its server has gone; [`Error::BadArgument`] for a part that the block
    /// has not; [`FileFault::BadRequest`] for a block that is shared or too large;
    /// [`FileFault::Medium`], also if the server gives back another block, of another length.
    pub fn read_part(
        &mut self,
        offset: u64,
        buffer: Vector<u8>,
        part: Range<usize>,
    ) -> Result<(Vector<u8>, usize), Error> {
        use imp::Ready_Read as Reply;
        let (start, count) = within(&buffer, &part)?;
        let lent = buffer.len();
        let (buffer, filled) =
            self.ask(|file| match file.call_read(offset, buffer, start, count) {
                Reply::Data(buffer, count, next) => Some((Ok((buffer, count)), next)),
                Reply::Refused(fault, _, next) => Some((Err(fault), next)),
                Reply::Closed => None,
            })?;
        Ok((given_back(buffer, lent)?, (filled as usize).min(part.len())))
    }

    /// A block with the bytes from `offset` on, at most `max` of them; `None` at the end.
    ///
    /// # Errors
    /// As [`File::read_part`].
    pub fn read_block(&mut self, offset: u64, max: usize) -> Result<Option<Vector<u8>>, Error> {
        let (buffer, count) = self.read(offset, Vector::new(max)?)?;
        if count == 0 {
            return Ok(None);
        }
        let mut block = buffer.into_block();
        if count < block.len() {
            drop(block.split(count)?);
        }
        Ok(Some(Vector::from_block(block)))
    }

    /// Copies bytes from `offset` on into `out`; how many there are, fewer than fit only at the
    /// end.
    ///
    /// # Errors
    /// As [`File::read_part`].
    pub fn read_at(&mut self, offset: u64, out: &mut [u8]) -> Result<usize, Error> {
        let (mut done, mut block) = (0, None);
        while done < out.len() {
            let piece = (out.len() - done).min(PIECE);
            let buffer = next_block(block, piece)?;
            let (buffer, count) = self.read_part(offset + done as u64, buffer, 0..piece)?;
            let count = count.min(buffer.len());
            buffer.block().read(0, &mut out[done..done + count]);
            done += count;
            if count < piece {
                break;
            }
            block = Some(buffer);
        }
        Ok(done)
    }

    /// All of it.
    ///
    /// # Errors
    /// As [`File::read_part`]; [`Error::NoResources`] for a file that memory does not hold.
    pub fn read_to_end(&mut self) -> Result<Vec<u8>, Error> {
        let (mut out, mut block) = (Vec::new(), None);
        loop {
            let (len, buffer) = (out.len(), next_block(block, PIECE)?);
            let (buffer, count) = self.read_part(len as u64, buffer, 0..PIECE)?;
            let count = count.min(buffer.len());
            if count == 0 {
                return Ok(out);
            }
            out.try_reserve(count).map_err(|_| Error::NoResources)?;
            out.resize(len + count, 0);
            buffer.block().read(0, &mut out[len..]);
            block = Some(buffer);
        }
    }

    /// Writes a part of a block at `offset`. It comes back with the number of bytes written: fewer
    /// than asked for if the disk is full.
    ///
    /// # Errors
    /// [`Error::Closed`] if its server has gone; [`FileFault::ReadOnly`], [`FileFault::NoSpace`],
    /// [`FileFault::TooLarge`], [`FileFault::BadRequest`] for too many bytes,
    /// [`FileFault::Medium`].
    pub fn write(
        &mut self,
        offset: u64,
        data: Vector<u8>,
        part: Range<usize>,
    ) -> Result<(Vector<u8>, usize), Error> {
        use imp::Ready_Write as Reply;
        let (start, count) = within(&data, &part)?;
        let lent = data.len();
        let (data, done) = self.ask(|file| match file.call_write(offset, data, start, count) {
            Reply::Written(data, count, next) => Some((Ok((data, count)), next)),
            Reply::Refused(fault, _, next) => Some((Err(fault), next)),
            Reply::Closed => None,
        })?;
        Ok((given_back(data, lent)?, (done as usize).min(part.len())))
    }

    /// Copies bytes to `offset`, all of them.
    ///
    /// # Errors
    /// As [`File::write`]; a part may have been written.
    pub fn write_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        let (mut done, mut block) = (0, None);
        while done < bytes.len() {
            let piece = &bytes[done..bytes.len().min(done + PIECE)];
            let data = match block {
                None => Vector::from_bytes(piece)?,
                before => {
                    let mut data = next_block(before, piece.len())?;
                    data.block_mut().write(0, piece);
                    data
                }
            };
            let (data, count) = self.write(offset + done as u64, data, 0..piece.len())?;
            if count == 0 {
                return Err(Error::File(FileFault::NoSpace));
            }
            done += count;
            block = Some(data);
        }
        Ok(())
    }

    /// Writes a part of a block at the end, wherever that is: the block, how many bytes, and where.
    ///
    /// # Errors
    /// As [`File::write`].
    pub fn append_block(
        &mut self,
        data: Vector<u8>,
        part: Range<usize>,
    ) -> Result<(Vector<u8>, usize, u64), Error> {
        use imp::Ready_Append as Reply;
        let (start, count) = within(&data, &part)?;
        let lent = data.len();
        let (data, done, at) = self.ask(|file| match file.call_append(data, start, count) {
            Reply::Appended(data, count, at, next) => Some((Ok((data, count, at)), next)),
            Reply::Refused(fault, _, next) => Some((Err(fault), next)),
            Reply::Closed => None,
        })?;
        Ok((given_back(data, lent)?, (done as usize).min(part.len()), at))
    }

    /// Copies bytes to the end. Up to [`PIECE`] of them are in one piece there, whoever else
    /// appends.
    ///
    /// # Errors
    /// As [`File::write`]; a part may have been written.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let piece = &rest[..rest.len().min(PIECE)];
            let (_, count, _) = self.append_block(Vector::from_bytes(piece)?, 0..piece.len())?;
            if count == 0 {
                return Err(Error::File(FileFault::NoSpace));
            }
            rest = &rest[count..];
        }
        Ok(())
    }

    /// Cuts it off, or lets it grow by zeros.
    ///
    /// # Errors
    /// As [`File::write`].
    pub fn set_size(&mut self, bytes: u64) -> Result<(), Error> {
        use imp::Ready_SetSize as Reply;
        self.ask(|file| match file.call_set_size(bytes) {
            Reply::Done(next) => Some((Ok(()), next)),
            Reply::Failed(fault, next) => Some((Err(fault), next)),
            Reply::Closed => None,
        })
    }

    /// Sets times, in nanoseconds since 1970; [`super::KEEP`] leaves one as it is.
    ///
    /// # Errors
    /// [`Error::Closed`] if its server has gone; [`FileFault::ReadOnly`], [`FileFault::Medium`].
    pub fn set_times(&mut self, accessed: u64, modified: u64) -> Result<(), Error> {
        use imp::Ready_SetTimes as Reply;
        self.ask(|file| match file.call_set_times(accessed, modified) {
            Reply::Done(next) => Some((Ok(()), next)),
            Reply::Failed(fault, next) => Some((Err(fault), next)),
            Reply::Closed => None,
        })
    }

    /// Returns when all that was written to it is safe from a power cut.
    ///
    /// # Errors
    /// [`Error::Closed`] if its server has gone; [`FileFault::Medium`]: then it is unknown.
    pub fn sync(&mut self) -> Result<(), Error> {
        use imp::Ready_Sync as Reply;
        self.ask(|file| match file.call_sync() {
            Reply::Done(next) => Some((Ok(()), next)),
            Reply::Failed(fault, next) => Some((Err(fault), next)),
            Reply::Closed => None,
        })
    }

    /// A further channel to the same file, for requests in parallel.
    ///
    /// # Errors
    /// [`Error::Closed`] if its server has gone, [`Error::NoResources`] where this program has its
    /// share of open files.
    pub fn another(&mut self) -> Result<File, Error> {
        use imp::Ready_Another as Reply;
        let (imp, exp) = FileContract::new_channel()?;
        self.ask(|file| match file.call_another(exp.into()) {
            Reply::Opened(next) => Some((Ok(()), next)),
            Reply::NotOpened(fault, _, next) => Some((Err(fault), next)),
            Reply::Closed => None,
        })?;
        File::new(imp)
    }

    /// The same for reading only: to be passed on.
    ///
    /// # Errors
    /// As [`File::another`].
    pub fn another_to_read(&mut self) -> Result<File, Error> {
        use imp::Ready_AnotherToRead as Reply;
        let (imp, exp) = FileContract::new_channel()?;
        self.ask(|file| match file.call_another_to_read(exp.into()) {
            Reply::Opened(next) => Some((Ok(()), next)),
            Reply::NotOpened(fault, _, next) => Some((Err(fault), next)),
            Reply::Closed => None,
        })?;
        File::new(imp)
    }

    /// Its channel, for who waits for several or passes it on.
    ///
    /// # Errors
    /// [`Error::Closed`] if its server has gone.
    pub fn into_channel(self) -> Result<FileContract::Imp<FileContract::Ready>, Error> {
        self.0.ok_or(Error::Closed)
    }

    /// A file over a channel that no request is under way on.
    #[must_use]
    pub fn from_channel(channel: FileContract::Imp<FileContract::Ready>) -> File {
        File(Some(channel))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use FileContract::exp::Ready as Request;

    /// A file whose server gives back a block of another length, and says that all of it was done.
    fn hostile(length: usize) -> File {
        let (imp, exp) = FileContract::new_channel().unwrap();
        std::thread::spawn(move || {
            let mut file = exp.send_success();
            let other = || Vector::new(length).unwrap();
            loop {
                file = match file.recv() {
                    Request::Read(_, _, _, count, next) => next.send_data(other(), count),
                    Request::Write(_, _, _, count, next) => next.send_written(other(), count),
                    Request::Append(_, _, count, next) => next.send_appended(other(), count, 0),
                    _ => return,
                };
            }
        });
        File::new(imp).unwrap()
    }

    /// Whoever holds a block pays for all of its region.
    #[test]
    fn a_block_of_another_length_is_not_taken() {
        let wrong = Some(Error::File(FileFault::Medium));
        let lent = || Vector::new(4096).unwrap();
        for length in [1, 4095, 4097, 1 << 20] {
            let mut file = hostile(length);
            assert_eq!(file.read_block(0, 4096).err(), wrong, "{length}");
            assert_eq!(file.read_part(0, lent(), 7..9).err(), wrong, "{length}");
            assert_eq!(file.read_at(0, &mut [0; 4096]).err(), wrong, "{length}");
            assert_eq!(file.write(0, lent(), 0..4096).err(), wrong, "{length}");
            assert_eq!(file.append_block(lent(), 0..4096).err(), wrong, "{length}");
        }
        let mut file = hostile(4096);
        assert_eq!(
            file.read_block(0, 4096).unwrap().map(|block| block.len()),
            Some(4096)
        );
    }
}
