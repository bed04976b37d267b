//! A connection's two pipes, with time-outs: the network reads the one and writes the other.
//!
//! Invariant: no wait is without end, whatever the client does.

use crate::sink::Sink;
use alloc::collections::VecDeque;
use core::time::Duration;
use sing_sdk::net::{Connection, Joined};
use sing_sdk::prelude::*;
use sing_sdk::rt::Handle;
use sing_sdk::select::Select;
use sing_sdk::time::{Timeout, uptime};
use web::pace::Pace;

/// Bytes that wait for others before they go.
const SMALL: usize = 4 << 10;
/// A block of at most so many bytes is copied behind those that wait: two blocks to the network, and
/// from there to the client, take longer.
const COPIED: usize = 16 << 10;
/// The most bytes of a block, as everywhere (`PipeContract`).
pub const LARGEST: usize = 64 << 10;

pub type Source = PipeContract::Exp<PipeContract::Start>;

pub struct Wire {
    /// Where the client's bytes come from; `None` at their end.
    input: Option<Source>,
    pub output: Sink,
    queue: VecDeque<Vector<u8>>,
    /// Bytes behind the queue that more may follow: what is sent in many small packets takes long.
    tail: Vec<u8>,
    /// Bytes until the last block is queued, if that is known to be a connection's last.
    last: Option<u64>,
    joined: Joined,
}

/// Why nothing more can be done over a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// The client has gone, or memory is short.
    Gone,
    /// It is too slow.
    Slow,
    /// It has ended its direction within a request, and may read still.
    Over,
}

impl From<Error> for Lost {
    fn from(_: Error) -> Lost {
        Lost::Gone
    }
}

impl Wire {
    pub fn open(connection: Connection) -> Result<Wire, Error> {
        let (output, from) = PipeContract::new_channel()?;
        let (to, input) = PipeContract::new_channel()?;
        let joined = connection.open(from, to)?;
        Ok(Wire {
            input: Some(input),
            output: Sink::Ready(output),
            queue: VecDeque::new(),
            tail: Vec::new(),
            last: None,
            joined,
        })
    }

    /// To wait for bytes of the client.
    pub fn input(&self) -> Handle {
        self.input.as_ref().map_or(Handle::NONE, Waitable::handle)
    }

    /// Whether the client sends no more.
    pub fn is_over(&self) -> bool {
        self.input.is_none()
    }

    /// Takes a block that has come; `None` at the end.
    pub fn take(&mut self) -> Option<Vector<u8>> {
        let (block, input) = self.input.take()?.recv_write().ok()?;
        self.input = Some(input.send_ack());
        Some(block)
    }

    /// Whether the next block can be queued.
    pub fn has_room(&self) -> bool {
        self.queue.is_empty()
    }

    /// The connection ends behind so many bytes more than have been written: the block that has the last of them is not
    /// moved before [`Wire::part`].
    pub fn ends_after(&mut self, bytes: u64) {
        self.last = Some(self.tail.len() as u64 + bytes);
    }

    /// Moves a block that is held back, before what may take long.
    pub fn release(&mut self) {
        self.last = None;
        self.pump();
    }

    /// How many blocks are held back.
    fn held(&self) -> usize {
        usize::from(self.last == Some(0))
    }

    fn enqueue(&mut self, block: Vector<u8>) {
        if let Some(last) = &mut self.last {
            *last = last.saturating_sub(block.len() as u64);
        }
        self.queue.push_back(block);
    }

    /// Writes bytes, which may wait for others until the next flush.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.tail.extend_from_slice(bytes);
        match self.tail.len() > SMALL {
            true => self.flush(),
            false => Ok(()),
        }
    }

    /// Writes a block, which moves to the network as it is if it is not small.
    pub fn push(&mut self, block: Vector<u8>) -> Result<(), Error> {
        if block.len() <= COPIED {
            let at = self.tail.len();
            self.tail.resize(at + block.len(), 0);
            block.block().read(0, &mut self.tail[at..]);
            return self.write(&[]);
        }
        self.push_whole(block)
    }

    /// Writes a block as a chunk.
    pub fn push_chunk(&mut self, block: Vector<u8>) -> Result<(), Error> {
        self.write(format!("{:x}\r\n", block.len()).as_bytes())?;
        self.push(block)?;
        self.write(b"\r\n")
    }

    /// Queues a block of what waits and as many of these bytes as fit behind it; how many.
    pub fn write_block(&mut self, bytes: &[u8]) -> Result<usize, Error> {
        let at = self.tail.len();
        let count = bytes.len().min(LARGEST.saturating_sub(at));
        match self.begin_block(count)? {
            Some((mut block, at)) => {
                block.block_mut().write(at, &bytes[..count]);
                self.tail.clear();
                self.push_whole(block)?;
            }
            // What waits is as large as a block may be.
            None => self.flush()?,
        }
        Ok(count)
    }

    /// A block that begins with what waits, and has room for so many bytes behind it, from the place
    /// that is given too; `None` if it would be too large, or has nothing there. Whoever has filled
    /// it, [`Wire::end_block`] is to have it.
    pub fn begin_block(&mut self, more: usize) -> Result<Option<(Vector<u8>, usize)>, Error> {
        let at = self.tail.len();
        if more == 0 || at.saturating_add(more) > LARGEST {
            return Ok(None);
        }
        let mut block = Vector::new(at + more)?;
        block.block_mut().write(0, &self.tail);
        Ok(Some((block, at)))
    }

    /// Queues a block of [`Wire::begin_block`] that another process has filled.
    ///
    /// # Errors
    /// [`Error::BadArgument`] if it has not those bytes behind what waits: whoever filled it may have
    /// given another one back, which the client would take for this side's own words.
    pub fn end_block(&mut self, block: Vector<u8>, more: usize) -> Result<(), Error> {
        // Read and not written again, which would end this process were it shared. Nobody changes
        // it from now on, shared or not.
        let is_it = block.len() == self.tail.len() + more
            && block.block().prefix(self.tail.len()) == self.tail;
        if !is_it {
            return Err(Error::BadArgument);
        }
        self.tail.clear();
        self.push_whole(block)
    }

    /// Queues a block as it is, behind what has been written.
    fn push_whole(&mut self, block: Vector<u8>) -> Result<(), Error> {
        self.flush()?;
        self.enqueue(block);
        self.pump();
        Ok(())
    }

    /// Queues what has been written, and moves the next block if it can go.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.queue_tail()?;
        self.pump();
        Ok(())
    }

    fn queue_tail(&mut self) -> Result<(), Error> {
        if !self.tail.is_empty() {
            self.enqueue(Vector::from_bytes(&self.tail)?);
            self.tail.clear();
        }
        Ok(())
    }

    /// Moves the next block to the network, if that has taken the last one.
    pub fn pump(&mut self) {
        if self.output.is_ready()
            && self.queue.len() > self.held()
            && let Some(block) = self.queue.pop_front()
        {
            self.output.send(block);
        }
    }

    /// Has all that is queued taken by the network, but for the last block, which is under way or held back.
    pub fn settle(&mut self, pace: Pace, moved: u64) -> Result<(), Lost> {
        self.flush()?;
        self.settle_but(self.held(), Handle::NONE, pace.end(moved))
    }

    /// Has all but so many blocks of the queue taken, and the network ready for the next of these, until some time, and
    /// unless `leave` is set before.
    fn settle_but(&mut self, left: usize, leave: Handle, end: Duration) -> Result<(), Lost> {
        loop {
            if self.queue.len() > left {
                self.pump();
            }
            if self.output.is_gone() {
                return Err(Lost::Gone);
            }
            if self.queue.is_empty() || self.queue.len() <= left && self.output.is_ready() {
                return Ok(());
            }
            // Mostly the last block was taken long ago: one look, and no wait with a time-out.
            if leave == Handle::NONE && self.output.has_come() && uptime() < end {
                self.output.answered();
                continue;
            }
            let mut select = Select::<2>::new();
            let output = select.add(self.output.handle());
            let leave = select.add(leave);
            if Timeout::until(end).is_none_or(|time| select.wait(time).is_err()) {
                return Err(Lost::Slow);
            }
            if select.tag(leave).is_some() {
                return Err(Lost::Gone);
            }
            if select.tag(output).is_some() {
                self.output.answered();
            }
        }
    }

    /// Has all taken that is queued but for the last block, for which the network is ready then, if it is not under way
    /// already; unless `leave` is set before.
    pub fn end(&mut self, leave: Handle) -> Result<(), Lost> {
        self.queue_tail()?;
        self.settle_but(1, leave, Pace::new(uptime()).end(0))
    }

    /// Leaves the connection, when it has [ended](Wire::end), to the network: that sends the last block, ends this side's
    /// direction, and passes over what the client sends until it has ended its own.
    pub fn part(mut self) {
        self.release();
    }

    /// Ends it at once.
    pub fn abort(self) {
        drop(self.joined.send_abort());
    }
}
