//! `wasi:io`: streams, and errors.
//!
//! A stream of a file has a place in it; one of a pipe has none. An output stream takes as much as
//! `check-write` has allowed, and no more.

use super::poll::Pollable;
use super::resources::{Reason, Resource};
use super::why::Why;
use super::{Component, Outcome, Room, pair};
use crate::PIECE;
use crate::abi::rights;
use crate::errno::Errno;
use crate::host::{File as _, Sink as _};
use alloc::format;

/// A stream that is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Input {
    pub fd: u32,
    /// The place in a file.
    pub at: Option<u64>,
}

/// Where a stream is written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum To {
    Pipe,
    Place(u64),
    End,
    /// The body of a request to others.
    Request,
}

/// A stream that is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    pub fd: u32,
    pub to: To,
    /// Bytes that may be written now.
    pub permit: u64,
}

/// Why a stream did not do it.
pub(super) enum Fault {
    Closed,
    Failed(Reason),
}

impl From<Why> for Fault {
    fn from(why: Why) -> Fault {
        Fault::Failed(Reason::Http(why))
    }
}

impl From<Errno> for Fault {
    fn from(errno: Errno) -> Fault {
        match errno {
            Errno::Pipe | Errno::Badf => Fault::Closed,
            errno => Fault::Failed(Reason::Errno(errno)),
        }
    }
}

/// Bytes on their way from a stream: a block, and which part of it.
pub(super) struct Got<B> {
    pub block: B,
    pub from: usize,
    pub len: usize,
    /// The whole block.
    pub whole: usize,
}

impl<H: Room> Component<H> {
    /// Gives the program a stream to read.
    pub(super) fn add_input(&mut self, fd: u32, at: Option<u64>) -> Outcome<u32> {
        self.hold(fd);
        self.table.add(Resource::Input(Input { fd, at }))
    }

    /// Gives the program a stream to write.
    pub(super) fn add_output(&mut self, fd: u32, to: To) -> Outcome<u32> {
        self.hold(fd);
        let output = Output { fd, to, permit: 0 };
        self.table.add(Resource::Output(output))
    }

    /// Answers with a stream's error, at a place of the result.
    fn fault(&mut self, out: u32, offset: u32, fault: Fault) -> Outcome {
        let (case, handle) = match fault {
            Fault::Closed => (1, 0),
            Fault::Failed(reason) => (0, self.table.add(Resource::Error(reason))?),
        };
        self.put(out, &[1])?;
        self.put_at(out, offset, &[case])?;
        self.put_at(out, offset + 4, &handle.to_le_bytes())
    }

    /// Answers `result<_, stream-error>`.
    fn written(&mut self, out: u32, written: core::result::Result<(), Fault>) -> Outcome {
        match written {
            Ok(()) => self.put(out, &[0]),
            Err(fault) => self.fault(out, 4, fault),
        }
    }

    /// Answers `result<u64, stream-error>`.
    fn counted(&mut self, out: u32, counted: core::result::Result<u64, Fault>) -> Outcome {
        match counted {
            Ok(count) => {
                self.put(out, &[0])?;
                self.put_at(out, 8, &count.to_le_bytes())
            }
            Err(fault) => self.fault(out, 8, fault),
        }
    }

    /// Takes bytes from a stream: none, if it would have to wait and is not to.
    fn get(
        &mut self,
        stream: u32,
        most: u64,
        waits: bool,
    ) -> Outcome<core::result::Result<Option<Got<H::Block>>, Fault>> {
        let input = *self.table.input(stream)?;
        let most = most.min(PIECE as u64) as usize;
        if most == 0 {
            return Ok(Ok(None));
        }
        let fd = input.fd;
        match input.at {
            Some(at) => Ok(self.get_of_file(fd, at, most)),
            None if self.is_client(fd) => self.get_of_client(fd, most, waits),
            None => {
                if waits {
                    self.attend(Pollable::Read(fd))?;
                }
                Ok(self.get_of_pipe(fd, most, waits))
            }
        }
    }

    fn get_of_file(
        &mut self,
        fd: u32,
        at: u64,
        most: usize,
    ) -> core::result::Result<Option<Got<H::Block>>, Fault> {
        let block = self.wasi.host.block(most)?;
        let (open, _) = self.wasi.table.file(fd, rights::FD_READ, Errno::Badf)?;
        let (block, len) = open.file.read(at, block, most)?;
        match len {
            0 => Err(Fault::Closed),
            len => Ok(Some(Got {
                block,
                from: 0,
                len: len.min(most),
                whole: most,
            })),
        }
    }

    fn get_of_pipe(
        &mut self,
        fd: u32,
        most: usize,
        waits: bool,
    ) -> core::result::Result<Option<Got<H::Block>>, Fault> {
        match self.wasi.take_rest(fd, waits) {
            Ok(Some(rest)) => Ok(Some(Got {
                from: rest.used,
                len: (rest.len - rest.used).min(most),
                whole: rest.len,
                block: rest.block,
            })),
            Ok(None) => Err(Fault::Closed),
            Err(Errno::Again) => Ok(None),
            Err(reason) => Err(reason.into()),
        }
    }

    /// Says how much of what was taken has been used; the stream keeps the rest.
    fn used(&mut self, stream: u32, got: Got<H::Block>, count: usize) -> Outcome {
        let input = self.table.input(stream)?;
        if let Some(at) = &mut input.at {
            *at = at.saturating_add(count as u64);
            return Ok(());
        }
        let fd = input.fd;
        if self.is_client(fd) {
            let (host, client) = self.client(fd)?;
            client.used(host, got.block, count);
            return Ok(());
        }
        let rest = crate::table::Rest {
            block: got.block,
            used: got.from + count,
            len: got.whole,
        };
        self.wasi.keep_rest(fd, rest);
        Ok(())
    }

    /// `[method]input-stream.read` and `blocking-read`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn read(&mut self, stream: u32, most: u64, waits: bool, out: u32) -> Outcome {
        let got = match self.get(stream, most, waits)? {
            Ok(Some(got)) => got,
            Ok(None) => {
                let none = self.room(1, 0)?;
                self.put(out, &[0])?;
                return self.put_at(out, 4, &pair(none, 0));
            }
            Err(fault) => return self.fault(out, 4, fault),
        };
        let len = got.len;
        let at = self.room(1, len)?;
        self.wasi.host.scatter(&got.block, got.from, at, len);
        self.used(stream, got, len)?;
        self.put(out, &[0])?;
        self.put_at(out, 4, &pair(at, len as u32))
    }

    /// `[method]input-stream.skip` and `blocking-skip`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn skip(&mut self, stream: u32, most: u64, waits: bool, out: u32) -> Outcome {
        let skipped = match self.get(stream, most, waits)? {
            Ok(Some(got)) => {
                let len = got.len;
                self.used(stream, got, len)?;
                Ok(len as u64)
            }
            Ok(None) => Ok(0),
            Err(fault) => Err(fault),
        };
        self.counted(out, skipped)
    }

    /// `[method]input-stream.subscribe`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn subscribe_input(&mut self, stream: u32) -> Outcome<u32> {
        let input = *self.table.input(stream)?;
        match input.at {
            Some(_) => self.pollable(Pollable::Now),
            None => {
                self.hold(input.fd);
                self.pollable(Pollable::Read(input.fd))
            }
        }
    }

    /// `[method]output-stream.check-write`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn check_write(&mut self, stream: u32, out: u32) -> Outcome {
        let output = *self.table.output(stream)?;
        let permit = match output.to {
            To::Place(_) | To::End => Ok(PIECE as u64),
            To::Request => self.step(output.fd)?.room().map_err(Fault::from),
            To::Pipe => match self.wasi.table.look(output.fd) {
                Ok(descriptor) => match descriptor.object.sink() {
                    Some(sink) if sink.is_ready() => Ok(PIECE as u64),
                    Some(_) => Ok(0),
                    None => Err(Fault::Closed),
                },
                Err(_) => Err(Fault::Closed),
            },
        };
        if let Ok(permit) = permit {
            self.table.output(stream)?.permit = permit;
        }
        self.counted(out, permit)
    }

    /// Takes from what may be written.
    fn permitted(&mut self, stream: u32, len: u64) -> Outcome {
        let output = self.table.output(stream)?;
        match output.permit.checked_sub(len) {
            Some(left) => {
                output.permit = left;
                Ok(())
            }
            None => Err("writes more to an output-stream than check-write has allowed".into()),
        }
    }

    /// `[method]output-stream.write` and `blocking-write-and-flush`, which waits until there is room.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn write(&mut self, stream: u32, at: u32, len: u32, waits: bool, out: u32) -> Outcome {
        self.range(at, len.into())?;
        if !waits {
            self.permitted(stream, len.into())?;
        }
        self.table.output(stream)?;
        let mut done = 0;
        while done < len {
            let piece = (len - done).min(PIECE as u32);
            let block = self.wasi.host.block(piece as usize).map(|mut block| {
                self.wasi
                    .host
                    .gather(at + done, &mut block, 0, piece as usize);
                block
            });
            let sent = match block {
                Ok(block) => self.send(stream, block, piece as usize)?,
                Err(errno) => Err(errno.into()),
            };
            if sent.is_err() {
                return self.written(out, sent);
            }
            done += piece;
        }
        self.ended(stream, waits, out)
    }

    /// Answers a write: one that waits has been flushed.
    fn ended(&mut self, stream: u32, waits: bool, out: u32) -> Outcome {
        match waits {
            true => self.flush(stream, true, out),
            false => self.written(out, Ok(())),
        }
    }

    /// `[method]output-stream.write-zeroes` and `blocking-write-zeroes-and-flush`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn write_zeroes(&mut self, stream: u32, len: u64, waits: bool, out: u32) -> Outcome {
        if !waits {
            self.permitted(stream, len)?;
        }
        self.table.output(stream)?;
        let mut left = len;
        while left > 0 {
            let piece = left.min(PIECE as u64) as usize;
            let sent = match self.wasi.host.block(piece) {
                Ok(block) => self.send(stream, block, piece)?,
                Err(errno) => Err(errno.into()),
            };
            if sent.is_err() {
                return self.written(out, sent);
            }
            left -= piece as u64;
        }
        self.ended(stream, waits, out)
    }

    /// Sends a whole block to a stream.
    fn send(
        &mut self,
        stream: u32,
        block: H::Block,
        len: usize,
    ) -> Outcome<core::result::Result<(), Fault>> {
        let output = *self.table.output(stream)?;
        match output.to {
            To::Request => {
                let sent = self.send_body(output.fd, block, len)?;
                return Ok(sent.map_err(Fault::from));
            }
            To::Pipe => self.attend(Pollable::Write(output.fd))?,
            To::Place(_) | To::End => {}
        }
        let sent = self.send_to(output, block, len);
        if let (Ok(()), To::Place(place)) = (&sent, &mut self.table.output(stream)?.to) {
            *place = place.saturating_add(len as u64);
        }
        Ok(sent)
    }

    fn send_to(
        &mut self,
        output: Output,
        block: H::Block,
        len: usize,
    ) -> core::result::Result<(), Fault> {
        let table = &mut self.wasi.table;
        let place = match output.to {
            To::Pipe => {
                let object = &mut table.get(output.fd)?.object;
                let sink = object.sink_mut().ok_or(Fault::Closed)?;
                return Ok(sink.send(block)?);
            }
            To::Place(place) => Some(place),
            To::End => None,
            To::Request => return Err(Fault::Closed),
        };
        let (open, _) = table.file(output.fd, rights::FD_WRITE, Errno::Badf)?;
        let written = match place {
            Some(place) => open.file.write(place, block, len)?,
            None => open.file.append(block, len)?.0,
        };
        // What is not written then, finds no room.
        match written == len {
            true => Ok(()),
            false => Err(Errno::Nospc.into()),
        }
    }

    /// `[method]output-stream.flush` and `blocking-flush`: nothing is kept back here, but of a request's body.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn flush(&mut self, stream: u32, waits: bool, out: u32) -> Outcome {
        let output = *self.table.output(stream)?;
        let flushed = match output.to {
            To::Request => self.flush_body(output.fd, waits)?.map_err(Fault::from),
            _ => Ok(()),
        };
        self.written(out, flushed)
    }

    /// `[method]output-stream.subscribe`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn subscribe_output(&mut self, stream: u32) -> Outcome<u32> {
        let output = *self.table.output(stream)?;
        match output.to {
            To::Pipe | To::Request => {
                self.hold(output.fd);
                self.pollable(Pollable::Write(output.fd))
            }
            To::Place(_) | To::End => self.pollable(Pollable::Now),
        }
    }

    /// `[method]output-stream.splice` and `blocking-splice`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn splice(
        &mut self,
        stream: u32,
        source: u32,
        most: u64,
        waits: bool,
        out: u32,
    ) -> Outcome {
        let output = *self.table.output(stream)?;
        let ready = match output.to {
            To::Pipe if !waits => {
                let object = self.wasi.table.look(output.fd).map(|d| &d.object);
                object.is_ok_and(|object| object.sink().is_none_or(|sink| sink.is_ready()))
            }
            To::Request if !waits => self.step(output.fd)?.room() != Ok(0),
            _ => true,
        };
        let got = match ready {
            true => self.get(source, most, waits)?,
            false => Ok(None),
        };
        let got = match got {
            Ok(Some(got)) => got,
            Ok(None) => return self.counted(out, Ok(0)),
            Err(fault) => return self.counted(out, Err(fault)),
        };
        let len = got.len;
        let part = self.wasi.host.part(&got.block, got.from, len);
        self.used(source, got, len)?;
        let sent = match part {
            Ok(part) => self.send(stream, part, len)?,
            Err(errno) => Err(errno.into()),
        };
        self.counted(out, sent.map(|()| len as u64))
    }

    /// `[method]error.to-debug-string`.
    ///
    /// # Errors
    /// For what breaks the canonical ABI.
    pub fn error_text(&mut self, error: u32, out: u32) -> Outcome {
        let text = match self.table.error(error)? {
            Reason::Errno(errno) => format!("{errno:?}"),
            Reason::Http(why) => format!("{:?}", why.case),
        };
        let text = self.place(text.as_bytes())?;
        self.put(out, &text)
    }
}
