//! The writing end of a pipe, of which a block is under way or not.

use sing_sdk::prelude::*;
use sing_sdk::rt::Handle;

pub enum Sink {
    /// It takes a block.
    Ready(PipeContract::Imp<PipeContract::Start>),
    /// The reader has not taken the last one.
    Waiting(PipeContract::Imp<PipeContract::Written>),
    /// It is closed, by this side or by the reader.
    Gone,
}

impl Sink {
    /// To wait for: ready when a block has been taken, or the reader has gone.
    pub fn handle(&self) -> Handle {
        match self {
            Sink::Ready(pipe) => pipe.handle(),
            Sink::Waiting(pipe) => pipe.handle(),
            Sink::Gone => Handle::NONE,
        }
    }

    pub fn is_ready(&self) -> bool {
        matches!(self, Sink::Ready(_))
    }

    pub fn is_gone(&self) -> bool {
        matches!(self, Sink::Gone)
    }

    /// Whether the reader has answered already, so that nobody need wait for it.
    pub fn has_come(&self) -> bool {
        matches!(self, Sink::Waiting(pipe) if pipe.is_ready())
    }

    /// Moves a block to the reader, if there is one and it is ready: the caller has looked.
    pub fn send(&mut self, block: Vector<u8>) {
        *self = match core::mem::replace(self, Sink::Gone) {
            Sink::Ready(pipe) => Sink::Waiting(pipe.send_write(block)),
            other => other,
        };
    }

    /// Its handle was ready.
    pub fn answered(&mut self) {
        *self = match core::mem::replace(self, Sink::Gone) {
            Sink::Waiting(pipe) => pipe.recv_ack().map_or(Sink::Gone, Sink::Ready),
            // A reader says nothing else but that it has gone.
            Sink::Ready(_) | Sink::Gone => Sink::Gone,
        };
    }
}
