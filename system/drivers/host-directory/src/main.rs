//! A directory of the host for one process of an embedded system: the kernel makes a process of this
//! for each directory that a call is given, and connects it with the call's.
//!
//! It speaks 9P2000.L with the host program, which has a thread for it, over the channel by which the
//! kernel calls programs. The roles are turned round: each answer is a request of 9P, and the next call
//! brings the reply. The first call says whether the directory may be changed.
//!
//! Invariants:
//! - It reaches nothing but the one directory that the host serves on this channel, and serves nobody
//!   but the holder of the one channel that it starts with.
//! - It ends when the holder has closed all channels, or the host this one.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

use core::ops::Range;
use sing_p9::DATA_HEAD;
use sing_sdk::prelude::*;
use virtio_9p::{ANSWER, Failed, Moved, Server, Session, Transport};

sing_sdk::manifest! {
    name: "host-directory",
    description: "serves a directory of the host to the process of a call",
    endpoints: {
        calls: CallContract.Exp:Start,
        directory: DirectoryContract.Exp:Ready,
    },
    memory: 8 MiB,
}

sing_sdk::arguments! {}

/// The first call of a directory that may be changed.
const CHANGES: &[u8] = b"w";
/// Bytes that are copied at once between two blocks.
const PIECE: usize = 4 << 10;

/// The host, which has asked and waits for the next request.
struct Host(Option<CallContract::Exp<CallContract::Start_Call>>);

impl Host {
    /// Sends a request; the reply.
    fn ask(&mut self, request: Vector<u8>) -> Result<Vector<u8>, Failed> {
        use CallContract::exp::Start;
        let asked = self.0.take().ok_or(Failed::Lost)?;
        let Start::Call(reply, next) = asked.call_answer(request) else {
            return Err(Failed::Lost);
        };
        self.0 = Some(next);
        Ok(reply)
    }
}

/// Copies bytes from one block into another; both have them.
fn copy(from: &Block, start: usize, to: &mut Block, at: usize, len: usize) {
    let mut piece = [0; PIECE];
    for done in (0..len).step_by(PIECE) {
        let piece = &mut piece[..(len - done).min(PIECE)];
        from.read(start + done, piece);
        to.write(at + done, piece);
    }
}

impl Transport for Host {
    type Data = Block;

    fn exchange(&mut self, request: &[u8], reply: &mut Vec<u8>) -> Result<(), Failed> {
        let request = Vector::from_bytes(request).map_err(|_| Failed::NotSent)?;
        let answer = self.ask(request)?.into_block();
        if answer.len() > ANSWER {
            return Err(Failed::Lost);
        }
        // There is room for it.
        reply.clear();
        reply.resize(answer.len(), 0);
        answer.read(0, reply);
        Ok(())
    }

    fn send(
        &mut self,
        head: &[u8],
        data: Block,
        part: Range<u32>,
        reply: &mut Vec<u8>,
    ) -> Moved<Block> {
        let (start, len) = (part.start as usize, part.len());
        let Ok(mut message) = Block::new(head.len() + len) else {
            return (Some(data), Err(Failed::NotSent));
        };
        message.write(0, head);
        copy(&data, start, &mut message, head.len(), len);
        let answer = match self.ask(Vector::from_block(message)) {
            Ok(answer) => answer.into_block(),
            Err(failed) => return (Some(data), Err(failed)),
        };
        reply.clear();
        reply.resize(answer.len().min(DATA_HEAD), 0);
        answer.read(0, reply);
        (Some(data), Ok(answer.len() as u32))
    }

    fn fill(
        &mut self,
        request: &[u8],
        mut data: Block,
        part: Range<u32>,
        reply: &mut Vec<u8>,
    ) -> Moved<Block> {
        let Ok(request) = Vector::from_bytes(request) else {
            return (Some(data), Err(Failed::NotSent));
        };
        let answer = match self.ask(request) {
            Ok(answer) => answer.into_block(),
            Err(failed) => return (Some(data), Err(failed)),
        };
        let head = answer.len().min(DATA_HEAD);
        reply.clear();
        reply.resize(head, 0);
        answer.read(0, reply);
        let len = (answer.len() - head).min(part.len());
        copy(&answer, head, &mut data, part.start as usize, len);
        (Some(data), Ok((head + len) as u32))
    }
}

#[sing_sdk::main]
fn main(_: Arguments) -> Result<(), Error> {
    use CallContract::exp::Start;
    let calls = startup::calls().ok_or(Error::NotFound)?;
    let holder = startup::directory().ok_or(Error::NotFound)?;
    let Start::Call(first, next) = calls.recv() else {
        return Ok(());
    };
    let changes = first.to_vec() == CHANGES;
    let session = Session::begin(Host(Some(next))).map_err(|_| Error::BadState)?;
    Server::held(session, holder, changes)?.run()?;
    Ok(())
}
