//! Whoever asked by Notify to be told of changes ([O] 5.3), as the server of the names sees it.
//!
//! Invariant: a watcher that does not answer costs no more than one that does. It has one message
//! at a time, and gets one for all changes since.

use crate::contracts::NotifyContract;
use NotifyContract::{Imp, Start, Telling};

/// The endpoint that comes with a Notify.
pub type Channel = Imp<Start>;

#[derive(Debug)]
enum State {
    Idle(Channel),
    /// Told of a change, and not yet ready for the next.
    Telling(Imp<Telling>),
    Gone,
}

/// A watcher.
#[derive(Debug)]
pub struct Watcher {
    state: State,
    /// There was a change since the last message.
    changed: bool,
}

impl Watcher {
    /// One that knows of all changes so far.
    #[must_use]
    pub const fn new(channel: Channel) -> Watcher {
        Watcher {
            state: State::Idle(channel),
            changed: false,
        }
    }

    /// Tells it of a change, at once or when it is ready for that.
    pub fn tell(&mut self) {
        self.changed = true;
        self.advance();
    }

    /// Receives from it: to be called when its channel is ready. False if it has gone.
    #[must_use]
    pub fn hear(&mut self) -> bool {
        if let State::Telling(channel) = core::mem::replace(&mut self.state, State::Gone)
            && let Ok(channel) = channel.recv_ack()
        {
            self.state = State::Idle(channel);
            self.advance();
        }
        !matches!(self.state, State::Gone)
    }

    fn advance(&mut self) {
        self.state = match core::mem::replace(&mut self.state, State::Gone) {
            State::Idle(channel) if core::mem::take(&mut self.changed) => {
                State::Telling(channel.send_changed())
            }
            other => other,
        };
    }
}
