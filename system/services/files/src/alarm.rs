//! An alarm clock for the thread of a file system: a thread that sleeps for it.
//!
//! A wait with a time-out costs two looks at the clock, a place among the kernel's timers, and the
//! direct hand-over from a client's thread: more than reading a small piece of a file. So nobody
//! waits with one while changes wait for their sync, which is most of the time that files are in
//! use: the alarm's message ends the wait instead.
//!
//! Invariant: the thread has at most one alarm to ring, for at most [`COMMIT`], and ends when its
//! channel has been closed: after that time at the latest.

use crate::sync::COMMIT;
use crate::volume::{Client, Volume};
use core::time::Duration;
use sing_sdk::prelude::*;
use sing_sdk::thread;
use sing_sdk::time::uptime;

sing_sdk::contract!(
    "
    // Between the thread of a mounted file system and the one that sleeps for it.
    contract Alarm {
      in message Ring(ulong nanoseconds);
      out message Rung();

      state Start: Ring? -> Rung! -> Start;
    }
    "
);

/// The alarm, as its user has it.
pub enum Clock {
    Silent(Alarm::Imp<Alarm::Start>),
    /// It is going to ring.
    Set(Alarm::Imp<Alarm::Start_Ring>),
}

/// Of the sleeping thread.
const STACK: usize = 16 << 10;

impl Clock {
    /// Starts the thread; the channel to it.
    pub fn start() -> Result<Alarm::Imp<Alarm::Start>, Error> {
        let (clock, sleeper) = Alarm::new_channel()?;
        drop(thread::spawn_with_stack(STACK, move || sleep_for(sleeper))?);
        Ok(clock)
    }

    /// Lets it ring after this time, or after [`COMMIT`] if that is shorter. Nothing happens if it is
    /// set already.
    pub fn set(self, after: Duration) -> Clock {
        match self {
            Clock::Silent(clock) => {
                let after = after.min(COMMIT).as_nanos() as u64;
                Clock::Set(clock.send_ring(after))
            }
            set @ Clock::Set(_) => set,
        }
    }

    /// Takes the message with which it rings; `None` if its thread has gone.
    pub fn rung(self) -> Option<Clock> {
        match self {
            Clock::Set(clock) => clock.recv_rung().ok().map(Clock::Silent),
            // Only what was set has something to say.
            Clock::Silent(_) => None,
        }
    }
}

impl Volume {
    /// Whether the alarm ends the wait when changes since then are to be synced.
    pub fn will_ring(&mut self, since: Duration) -> bool {
        // It was set when changes began to wait that are at most as old as these.
        if self.alarmed {
            return true;
        }
        let Some(number) = self.alarm else {
            return false;
        };
        let Some(Client::Alarm(clock)) = self.slots.take(number) else {
            return false;
        };
        let clock = clock.set((since + COMMIT).saturating_sub(uptime()));
        self.slots.put(number, Client::Alarm(clock));
        self.alarmed = true;
        true
    }

    /// The alarm has rung, or its thread has gone.
    pub fn heard_alarm(&mut self, number: u32, clock: Clock) {
        self.alarmed = false;
        self.rung = true;
        match clock.rung() {
            Some(clock) => self.slots.put(number, Client::Alarm(clock)),
            None => {
                self.slots.remove(number);
                self.alarm = None;
            }
        }
    }
}

fn sleep_for(mut user: Alarm::Exp<Alarm::Start>) {
    while let Ok((nanoseconds, asked)) = user.recv_ring() {
        thread::sleep(Duration::from_nanos(nanoseconds).min(COMMIT));
        user = asked.send_rung();
    }
}
