//! The client that is connected to the line: its pipes, and what is under way in them.

use crate::line::Line;
use alloc::vec::Vec;
use core::time::Duration;
use sing_sdk::prelude::*;
use sing_sdk::time;

/// Bytes of a block that is sent, and of one that is handed to the client.
const LARGEST: usize = 64 << 10;
const PIECE: usize = 4096;
/// How long until it is tried again to hand over what has been received, if memory was short.
const AGAIN: Duration = Duration::from_millis(10);
/// How long until the device is looked at again that has a break waiting.
const LOOK: Duration = Duration::from_millis(1);
/// The longest break.
const LONGEST: u64 = 1000;

type Start = PipeContract::Start;
type Written = PipeContract::Written;

/// A block that is being sent.
struct Sending {
    bytes: Vec<u8>,
    done: usize,
    pipe: PipeContract::Exp<Written>,
}

/// The client. Each array has one endpoint or none.
pub struct Session {
    pub client: [Option<SerialContract::Exp<SerialContract::Joined>>; 1],
    /// The pipe of what is to be sent, while nothing is.
    pub sent: [Option<PipeContract::Exp<Start>>; 1],
    sending: Option<Sending>,
    /// The pipe of what was received, while the client has a block to take, and while it has none.
    pub told: [Option<PipeContract::Imp<Written>>; 1],
    pub idle: Option<PipeContract::Imp<Start>>,
    /// Whether the client takes nothing any more.
    pub deaf: bool,
    /// A break that waits until the device has sent all, and no longer than until this time; and
    /// how long it is.
    break_due: Option<(Duration, Duration)>,
    /// When the break ends.
    break_end: Option<Duration>,
    /// Whether memory was short for what has been received.
    short: bool,
}

impl Session {
    /// Nobody's.
    pub const fn new() -> Session {
        Session {
            client: [None],
            sent: [None],
            sending: None,
            told: [None],
            idle: None,
            deaf: true,
            break_due: None,
            break_end: None,
            short: false,
        }
    }

    pub fn is_open(&self) -> bool {
        self.client[0].is_some()
    }

    pub fn open(
        &mut self,
        client: SerialContract::Exp<SerialContract::Joined>,
        received: PipeContract::Imp<Start>,
        sent: PipeContract::Exp<Start>,
    ) {
        *self = Session {
            client: [Some(client)],
            sent: [Some(sent)],
            idle: Some(received),
            deaf: false,
            ..Session::new()
        };
    }

    /// Begins to send a block; one that is too large closes the pipe.
    pub fn send(&mut self, data: Vector<u8>, pipe: PipeContract::Exp<Written>) {
        if data.len() <= LARGEST {
            self.sending = Some(Sending {
                bytes: data.to_vec(),
                done: 0,
                pipe,
            });
        }
    }

    pub fn begin_break(&mut self, line: &Line, milliseconds: u32) {
        let length = Duration::from_millis(u64::from(milliseconds).min(LONGEST));
        // What was acknowledged may be in the device still. One that never says that it has sent
        // all holds up nobody.
        let latest = time::uptime() + line.longest();
        self.break_due = Some((latest, length));
    }

    /// Whether nothing is sent now, for a break.
    fn breaks(&self) -> bool {
        self.break_due.is_some() || self.break_end.is_some()
    }

    /// How long until something is to be done though nothing comes; `None`: for ever.
    pub fn wait(&self) -> Option<Duration> {
        let to_end = self.break_end.map(|end| end.saturating_sub(time::uptime()));
        let again = self.short.then_some(AGAIN);
        // No interrupt says when the last bit has gone.
        let begins = self.break_due.map(|_| LOOK);
        to_end.into_iter().chain(again).chain(begins).min()
    }

    /// Moves what can be moved now.
    pub fn serve(&mut self, line: &mut Line) {
        if self.break_end.is_some_and(|end| end <= time::uptime()) {
            line.hold_break(false);
            self.break_end = None;
        }
        let now = time::uptime();
        let due = self
            .break_due
            .take_if(|(latest, _)| line.is_idle() || *latest <= now);
        if let Some((_, length)) = due {
            line.hold_break(true);
            self.break_end = Some(now + length);
        }
        line.taken = !self.deaf;
        if self.deaf {
            line.received.clear();
        }
        // During a break nothing is sent.
        let breaks = self.breaks();
        let waits = self.sending.as_mut().filter(|_| !breaks);
        let done = match waits {
            Some(sending) => {
                sending.done += line.serve(&sending.bytes[sending.done..]);
                sending.done == sending.bytes.len()
            }
            None => {
                line.serve(&[]);
                false
            }
        };
        if done && let Some(sending) = self.sending.take() {
            self.sent = [Some(sending.pipe.send_ack())];
        }
        self.hand_over(line);
        line.listen(self.sending.is_some() && !self.breaks());
    }

    /// Hands the client what was received, if it has taken what it got before.
    fn hand_over(&mut self, line: &mut Line) {
        self.short = false;
        if line.received.is_empty() {
            return;
        }
        let Some(pipe) = self.idle.take() else { return };
        let count = line.received.len().min(PIECE);
        let bytes: Vec<u8> = line.received.iter().take(count).copied().collect();
        match Vector::from_bytes(&bytes) {
            Ok(data) => {
                line.received.drain(..count);
                self.told = [Some(pipe.send_write(data))];
            }
            Err(_) => {
                self.idle = Some(pipe);
                self.short = true;
            }
        }
    }
}
