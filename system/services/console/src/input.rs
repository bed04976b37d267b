//! Typed text: read from the device, kept until the shell or a job asks for it, and moved there.

use crate::succession::Left;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use sing_sdk::contracts::{JobContract, PipeContract};
use sing_sdk::legacy;
use sing_sdk::rt::{Closed, Endpoint, Handle, Vector, Waitable};

/// The most bytes that are read ahead.
pub const MOST: usize = 64 << 10;
/// Ctrl-C.
const INTERRUPT: u8 = 3;
/// Ctrl-Z.
pub const SUSPEND: u8 = 26;

/// Bytes from the device that no reader has taken yet.
#[derive(Default)]
pub struct Typed {
    bytes: VecDeque<u8>,
    ended: bool,
}

impl Typed {
    /// All of them.
    pub fn bytes(&self) -> &VecDeque<u8> {
        &self.bytes
    }

    /// Reads the available bytes.
    pub fn fill(&mut self) {
        let mut buffer = [0; 1024];
        while !self.ended && self.bytes.len() < MOST {
            match sing_sdk::console::read(&mut buffer) {
                Ok(0) => return,
                Ok(count) => self.bytes.extend(&buffer[..count.min(1024)]),
                Err(_) => self.ended = true,
            }
        }
    }

    /// Whether there is room for more.
    pub fn has_room(&self) -> bool {
        self.bytes.len() < MOST
    }

    /// Adds bytes from a keyboard.
    pub fn add(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
    }

    /// Whether all bytes have been taken and no more will come.
    pub fn at_end(&self) -> bool {
        self.ended && self.bytes.is_empty()
    }

    /// Whether a Ctrl-C is among the bytes not yet taken.
    pub fn has_interrupt(&self) -> bool {
        self.bytes.contains(&INTERRUPT)
    }

    /// Discards everything up to and including the first Ctrl-C; returns whether there was one.
    pub fn skip_to_interrupt(&mut self) -> bool {
        let at = self.bytes.iter().position(|b| *b == INTERRUPT);
        if let Some(at) = at {
            self.bytes.drain(..=at);
        }
        at.is_some()
    }

    /// Whether more has been typed.
    pub fn has_more(&self) -> bool {
        !self.bytes.is_empty()
    }

    /// The next byte.
    pub fn byte(&mut self) -> Option<u8> {
        self.bytes.pop_front()
    }

    /// The next line with its line feed; the last one may have none. A line longer than the
    /// read-ahead comes in pieces.
    pub fn line(&mut self) -> Option<Vec<u8>> {
        let len = match self.bytes.iter().position(|b| *b == b'\n') {
            Some(at) => at + 1,
            None if self.ended || self.bytes.len() >= MOST => self.bytes.len(),
            None => return None,
        };
        (len > 0).then(|| self.bytes.drain(..len).collect())
    }

    /// Whether a line that was just taken goes on: it was longer than the read-ahead.
    pub fn goes_on(&self, line: &[u8]) -> bool {
        !line.ends_with(b"\n") && !self.at_end()
    }

    /// Puts back unused bytes.
    pub fn put_back(&mut self, bytes: &[u8]) {
        for &byte in bytes.iter().rev() {
            self.bytes.push_front(byte);
        }
    }
}

enum Pipe {
    Ready(PipeContract::Imp<PipeContract::Start>),
    /// Text that the job has not taken yet.
    Waiting(PipeContract::Imp<PipeContract::Written>, Vec<u8>),
    Closed,
}

enum Told {
    No(JobContract::Imp<JobContract::Start>),
    Interrupt(JobContract::Imp<JobContract::Told>),
    Suspend(JobContract::Imp<JobContract::Suspended>),
    Over,
}

/// The job in the foreground: it gets typed text, and is told of Ctrl-C.
pub struct Job {
    told: Told,
    pipe: Pipe,
    /// Whether it gets keys as they are typed.
    keys: bool,
}

/// Ends of a predecessor's job in the foreground, as they come.
#[derive(Default)]
pub struct Found {
    told: Option<Told>,
    pipe: Option<Pipe>,
    keys: bool,
}

impl Found {
    /// Takes an end of the job's channel.
    pub fn take_told(&mut self, endpoint: Endpoint) {
        self.told = match endpoint.cast() {
            Ok(channel) => Some(Told::No(channel)),
            Err(other) => other.cast().ok().map(Told::Interrupt),
        };
    }

    /// Takes an end of the job's input. Text on its way is the job's.
    pub fn take_input(&mut self, endpoint: Endpoint, keys: bool) {
        self.keys = keys;
        self.pipe = match endpoint.cast() {
            Ok(channel) => Some(Pipe::Ready(channel)),
            Err(other) => other.cast().ok().map(|c| Pipe::Waiting(c, Vec::new())),
        };
    }

    /// The job, if there is one.
    pub fn job(self) -> Option<Job> {
        Some(Job {
            told: self.told?,
            pipe: self.pipe.unwrap_or(Pipe::Closed),
            keys: self.keys,
        })
    }
}

impl Job {
    /// A job with its input.
    pub fn new(
        job: JobContract::Imp<JobContract::Start>,
        input: PipeContract::Imp<PipeContract::Start>,
        keys: bool,
    ) -> Job {
        let job = Job {
            told: Told::No(job),
            pipe: Pipe::Ready(input),
            keys,
        };
        let input = if keys { Left::Keys } else { Left::Input };
        job.leave(Left::Job, input);
        job
    }

    /// Leaves its ends to the next console as these.
    fn leave(&self, job: Left, input: Left) {
        match &self.told {
            Told::No(c) => legacy::keep(c, job as u32),
            Told::Interrupt(c) => legacy::keep(c, job as u32),
            Told::Suspend(c) => legacy::keep(c, job as u32),
            Told::Over => {}
        }
        match &self.pipe {
            Pipe::Ready(c) => legacy::keep(c, input as u32),
            Pipe::Waiting(c, _) => legacy::keep(c, input as u32),
            Pipe::Closed => {}
        }
    }

    /// Whether it gets keys as they are typed.
    pub fn takes_keys(&self) -> bool {
        self.keys
    }

    /// Tells it that it is suspended, under this number; false if it cannot be told now.
    pub fn suspend(&mut self, number: u32) -> bool {
        self.told = match core::mem::replace(&mut self.told, Told::Over) {
            Told::No(c) => Told::Suspend(c.send_suspend(number)),
            other => other,
        };
        let suspended = matches!(self.told, Told::Suspend(_));
        if suspended {
            // Text on its way is the job's from now on.
            if let Pipe::Waiting(_, written) = &mut self.pipe {
                *written = Vec::new();
            }
            // The next console is not to take it for the one in the foreground.
            self.leave(Left::Suspended, Left::Suspended);
        }
        suspended
    }

    /// It goes on in the foreground, as the shell has answered; false if it has ended.
    pub fn again(&mut self) -> bool {
        self.told = match core::mem::replace(&mut self.told, Told::Over) {
            Told::Suspend(c) => c.recv_resumed().map_or(Told::Over, Told::No),
            _ => Told::Over,
        };
        let input = if self.keys { Left::Keys } else { Left::Input };
        self.leave(Left::Job, input);
        !matches!(self.told, Told::Over)
    }

    /// Whether it has ended while it was suspended.
    pub fn is_over(&self) -> bool {
        match &self.told {
            Told::Suspend(c) => c.is_ready(),
            _ => true,
        }
    }

    /// Its channel: ready when the job has ended, or has learnt of an interrupt.
    pub fn handle(&self) -> Handle {
        match &self.told {
            Told::No(c) => c.handle(),
            Told::Interrupt(c) => c.handle(),
            Told::Suspend(c) => c.handle(),
            Told::Over => Handle::NONE,
        }
    }

    /// Its input: ready when more may be written, or its reader has gone.
    pub fn input(&self) -> Handle {
        match &self.pipe {
            Pipe::Ready(c) => c.handle(),
            Pipe::Waiting(c, _) => c.handle(),
            Pipe::Closed => Handle::NONE,
        }
    }

    /// Tells it of Ctrl-C, unless an earlier one is still unread.
    pub fn interrupt(&mut self) {
        self.told = match core::mem::replace(&mut self.told, Told::Over) {
            Told::No(c) => Told::Interrupt(c.send_interrupt()),
            other => other,
        };
    }

    /// Receives from its channel, which is ready; returns whether the job goes on.
    pub fn hear(&mut self) -> bool {
        self.told = match core::mem::replace(&mut self.told, Told::Over) {
            Told::Interrupt(c) => c.recv_ack().map_or(Told::Over, Told::No),
            // It may not send in this state, so the channel is closed.
            Told::No(_) | Told::Suspend(_) | Told::Over => Told::Over,
        };
        !matches!(self.told, Told::Over)
    }

    /// Receives from its input, which is ready; returns text that was written and never taken.
    pub fn settle(&mut self) -> Option<Vec<u8>> {
        match core::mem::replace(&mut self.pipe, Pipe::Closed) {
            Pipe::Waiting(c, written) => match c.recv_ack() {
                Ok(c) => self.pipe = Pipe::Ready(c),
                Err(Closed) => return Some(written),
            },
            // A message although we may write: the reader has gone.
            Pipe::Ready(_) | Pipe::Closed => {}
        }
        None
    }

    /// Whether it can take more input now.
    pub fn wants(&self) -> bool {
        matches!(self.pipe, Pipe::Ready(_))
    }

    /// Gives it input.
    ///
    /// # Errors
    /// Returns the input if memory is short.
    pub fn give(&mut self, bytes: Vec<u8>) -> Result<(), Vec<u8>> {
        let Ok(block) = Vector::from_bytes(&bytes) else {
            return Err(bytes);
        };
        self.pipe = match core::mem::replace(&mut self.pipe, Pipe::Closed) {
            Pipe::Ready(c) => Pipe::Waiting(c.send_write(block), bytes),
            other => other,
        };
        Ok(())
    }

    /// Ends its input.
    pub fn end_input(&mut self) {
        self.pipe = Pipe::Closed;
    }

    /// Ends the job; returns text that was written and never taken.
    pub fn finish(mut self) -> Option<Vec<u8>> {
        match &self.pipe {
            Pipe::Waiting(c, _) if c.is_ready() => self.settle(),
            Pipe::Waiting(..) => match self.pipe {
                Pipe::Waiting(_, written) => Some(written),
                _ => None,
            },
            _ => None,
        }
    }
}
