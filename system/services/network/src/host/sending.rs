//! What goes to the host: messages in a block that the driver gets when it has answered for the last one,
//! and behind them the data of the last message, if they lie in a large block of their own.

use super::{Host, Sending};
use crate::end::Stage;
use crate::network::HOST_SOCKETS;
use alloc::vec::Vec;
use sing_sdk::prelude::*;
use sing_sockets::{BLOCK, HEAD, Head, Op};

/// Messages without data that may wait for the driver. One that lets more wait does not work.
const QUEUE: usize = BUSY + 4 * HOST_SOCKETS;
/// Of these, as many as may wait when something begins: a connection, a listener, an offer. So
/// whoever begins and ends without a pause waits for the driver, and does not end it for all: the
/// rest is for what every socket may say until it has ended.
const BUSY: usize = 1024;
/// Bytes that are copied from block to block at a time: what lies between stays in the first cache.
const COPIED: usize = 8 << 10;
/// A program's block of at least so many bytes goes to the driver as it is. A smaller one is copied behind the
/// other messages, as it would keep them out of the block, and a turn of the driver costs more than its copy.
const WHOLE: usize = 16 << 10;

/// Messages that are to be sent.
pub(super) struct Out {
    block: Block,
    len: usize,
    /// The data of the last message: nothing goes behind them.
    data: Option<Vector<u8>>,
}

impl Out {
    /// No messages yet.
    pub(super) fn new(block: Block) -> Out {
        Out {
            block,
            len: 0,
            data: None,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How many bytes of data a further message may have; `None` if there is no room for one.
    fn room(&self) -> Option<usize> {
        match self.data {
            Some(_) => None,
            None => BLOCK.checked_sub(self.len + HEAD),
        }
    }

    /// Puts bytes behind the others, for which there is room.
    fn push(&mut self, bytes: &[u8]) {
        self.block.write(self.len, bytes);
        self.len += bytes.len();
    }
}

/// The first bytes of room that is kept, and is cleared only when it grows.
pub(super) fn first(bytes: &mut Vec<u8>, count: usize) -> &mut [u8] {
    if bytes.len() < count {
        bytes.resize(count, 0);
    }
    &mut bytes[..count]
}

impl Host {
    /// Sends a message without data.
    pub fn say(&mut self, head: Head) {
        if self.is_up() {
            self.queue.push_back(head);
            self.flush();
        }
    }

    /// Whether so much waits for the driver that nothing further is to begin. What there is can
    /// still end: that is bounded by everybody's share of sockets.
    pub fn is_busy(&self) -> bool {
        self.queue.len() > BUSY
    }

    /// Whether the driver lets too much wait.
    pub fn is_stuck(&self) -> bool {
        self.queue.len() > QUEUE
    }

    /// Moves messages that wait into the block.
    fn flush(&mut self) {
        let Some(out) = &mut self.out else { return };
        while out.room().is_some()
            && let Some(head) = self.queue.pop_front()
        {
            out.push(&head.encode());
        }
    }

    /// Sends a message with so many bytes of data, if there is room for all of it now; whether there
    /// was.
    pub fn put_whole(&mut self, head: &Head, bytes: usize, data: impl FnOnce() -> Vec<u8>) -> bool {
        let (Some(out), true) = (&mut self.out, self.queue.is_empty()) else {
            return false;
        };
        let fits = out.room().is_some_and(|room| bytes <= room);
        if fits {
            out.push(&head.encode());
            out.push(&data());
        }
        fits
    }

    /// Takes bytes of a program's block for a connection, from a place on; the block and the first byte that is
    /// left, unless nothing is.
    pub fn put(&mut self, number: u32, block: Block, at: usize) -> Option<(Block, usize)> {
        let (Some(socket), Some(out), true) = (
            self.sockets.get_mut(&number),
            &mut self.out,
            self.queue.is_empty(),
        ) else {
            return Some((block, at));
        };
        let (left, room) = (block.len() - at, out.room().unwrap_or(0));
        let count = left.min(room);
        // Each piece costs the host a call, and wakes the other side. There is credit for all of a block when
        // the host has taken what is under way.
        if count == 0 || socket.credit < left || socket.stage != Stage::Open {
            return Some((block, at));
        }
        // What does not fit behind others goes in one piece with the next block, but does not wait twice.
        if room < left && !core::mem::replace(&mut socket.held, true) {
            return Some((block, at));
        }
        socket.held = false;
        socket.credit -= count;
        let head = Head::new(Op::Data, number, count as u32).encode();
        if at == 0 && count == left && count >= WHOLE {
            out.push(&head);
            out.data = Some(Vector::from_block(block));
            return None;
        }
        let mut head = &head[..];
        let (mut from, end) = (at, at + count);
        while from < end {
            let part = (end - from).min(COPIED);
            let bytes = first(&mut self.bytes, head.len() + part);
            bytes[..head.len()].copy_from_slice(head);
            block.read(from, &mut bytes[head.len()..]);
            out.push(bytes);
            (from, head) = (from + part, &[]);
        }
        (end < block.len()).then_some((block, end))
    }

    /// Hands over what is to be sent, if nothing is under way.
    pub fn send(&mut self) -> Option<Sending> {
        if self.out.as_ref().is_none_or(Out::is_empty) {
            return None;
        }
        let sender = self.sender.take()?;
        let Some(out) = self.out.take() else {
            self.sender = Some(sender);
            return None;
        };
        self.out = self.spare.take().map(Out::new);
        self.flush();
        let messages = Vector::from_block(out.block);
        Some(sender.send_send(messages, out.len as u32, out.data))
    }

    /// The driver has answered; whether it is still there, and has given back what it was given.
    pub fn sent(&mut self, sending: Sending) -> bool {
        use HostSocketsContract::imp::Ready_Send as Answer;
        let Answer::Sent(block, next) = sending.recv() else {
            return false;
        };
        let mut block = block.into_block();
        // One that is shared cannot be written.
        if block.len() != BLOCK || block.unshare().is_err() {
            return false;
        }
        match self.out {
            Some(_) => self.spare = Some(block),
            None => self.out = Some(Out::new(block)),
        }
        self.sender = Some(next);
        // Listeners that asked for nothing as too much waited.
        self.changed |= self.is_busy();
        self.flush();
        self.has_room = true;
        true
    }
}
