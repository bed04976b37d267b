//! The records of calls and kept processes: made when they are needed, and used again; those that
//! are free are linked.

use super::Ending;
use super::limits::Budget;
use super::making::{Made, Speaks};
use crate::object::account::Account;
use crate::object::channel::Channel;
use crate::object::set::Set;
use crate::object::sip::Sip;
use alloc::vec::Vec;
use sing_calls::Outcome;

/// What a record stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Nothing.
    Free,
    /// A process that is not asked: one that is kept, or one that is about to be asked.
    Idle,
    /// One that is.
    Asked,
    /// One that has been ended and is not free yet.
    Ending(Ending),
}

/// A call, or a process that is kept.
#[derive(Clone, Copy)]
pub(super) struct Call {
    pub(super) state: State,
    /// The number of the request that is asked.
    pub(super) id: u64,
    /// The kept process's number; 0 for a process of one call.
    pub(super) process: u64,
    /// The process, to which this is a counted reference.
    pub(super) sip: Option<&'static Sip>,
    /// The channel to it.
    pub(super) channel: Option<&'static Channel>,
    /// Whether it serves a directory.
    serves: bool,
    /// That directory's channel, whose importing end is the kernel's until a process is given it.
    pub(super) directory: Option<&'static Channel>,
    /// The channel by which it asks for random bytes, if it may, whose exporting end is the kernel's.
    pub(super) random: Option<&'static Channel>,
    pub(super) speaks: Speaks,
    /// Cycles that it had used when it last gave the host a message, if it speaks with it.
    pub(super) used: u64,
    budget: Budget,
    /// The next free record.
    next: Option<u32>,
}

impl Call {
    /// Whether it serves a directory.
    pub(super) fn serves(&self) -> bool {
        self.serves
    }
}

/// All of them.
pub(super) struct Calls {
    pub(super) records: Vec<Call>,
    free: Option<u32>,
    /// How many are asked, without those that serve directories: these are always.
    pub(super) asked: u32,
    /// How many are kept, without those.
    pub(super) kept: u32,
    /// How many serve directories.
    pub(super) serving: u32,
    /// The set of the kernel's ends.
    pub(super) set: Option<&'static Set>,
    /// What blocks are charged to that the host holds.
    pub(super) held: Option<&'static Account>,
}

impl Calls {
    pub(super) const fn new() -> Calls {
        Calls {
            records: Vec::new(),
            free: None,
            asked: 0,
            kept: 0,
            serving: 0,
            set: None,
            held: None,
        }
    }

    /// Makes room for one more. False if memory is short.
    pub(super) fn reserve(&mut self) -> bool {
        self.free.is_some() || self.records.try_reserve(1).is_ok()
    }

    /// Adds one, for which there is room; its index.
    pub(super) fn add(&mut self, process: u64, made: &Made) -> u32 {
        let call = Call {
            state: State::Idle,
            id: 0,
            process,
            sip: Some(made.sip),
            channel: Some(made.channel),
            serves: made.directory.is_some(),
            directory: made.directory,
            random: made.random,
            speaks: made.speaks,
            used: 0,
            budget: Budget::NONE,
            next: None,
        };
        match call.serves {
            true => self.serving += 1,
            false => self.kept += u32::from(process != 0),
        }
        let at = self.free.unwrap_or(self.records.len() as u32);
        match self.records.get_mut(at as usize) {
            Some(record) => {
                self.free = record.next;
                *record = call;
            }
            None => {
                #[expect(clippy::disallowed_methods, reason = "there is room")]
                self.records.push(call);
            }
        }
        at
    }

    /// The record with this index, if it is in use.
    pub(super) fn get(&self, index: u32) -> Option<Call> {
        let call = self.records.get(index as usize).copied();
        call.filter(|call| call.state != State::Free)
    }

    fn find(&self, is: impl Fn(&Call) -> bool) -> Option<u32> {
        self.records.iter().position(is).map(|index| index as u32)
    }

    /// The kept process of this number, which has not ended, and whether it is asked.
    pub(super) fn kept(&self, process: u64) -> Option<(u32, State)> {
        let alive = |call: &Call| matches!(call.state, State::Idle | State::Asked);
        // 0 is no kept process, but each that was made for one call.
        let is = |call: &Call| process != 0 && call.process == process && alive(call);
        let index = self.find(is)?;
        Some((index, self.get(index)?.state))
    }

    /// The directory that the process of this number serves, if no other has been given it.
    pub(super) fn directory(&self, process: u64) -> Option<&'static Channel> {
        let (index, _) = self.kept(process)?;
        self.get(index)?.directory
    }

    /// Notes that a process has been given these directories.
    pub(super) fn give(&mut self, directories: &[u64]) {
        for &process in directories {
            if let Some((index, _)) = self.kept(process)
                && let Some(call) = self.records.get_mut(index as usize)
            {
                call.directory = None;
            }
        }
    }

    /// Notes that a process asks for random bytes no more.
    pub(super) fn no_random(&mut self, index: u32) {
        if let Some(call) = self.records.get_mut(index as usize) {
            call.random = None;
        }
    }

    /// The record that is asked this.
    pub(super) fn asked(&self, id: u64) -> Option<u32> {
        self.find(|call| call.id == id && call.state == State::Asked)
    }

    /// Notes that it is asked.
    pub(super) fn ask(&mut self, index: u32, id: u64, budget: Budget) {
        if let Some(call) = self.records.get_mut(index as usize) {
            call.state = State::Asked;
            call.id = id;
            call.budget = budget;
            self.asked += u32::from(!call.serves);
        }
    }

    /// Notes the cycles that a process has used when it gives the host a message.
    pub(super) fn gave(&mut self, index: u32, used: u64) {
        if let Some(call) = self.records.get_mut(index as usize) {
            call.used = used;
        }
    }

    /// Notes that a kept process has answered.
    pub(super) fn rest(&mut self, index: u32) {
        if let Some(call) = self.records.get_mut(index as usize) {
            call.state = State::Idle;
            self.asked -= u32::from(!call.serves);
        }
    }

    /// The first call that has reached a limit, and which; else when to look again.
    pub(super) fn late(&mut self, now: u64) -> Result<(u32, Outcome), u64> {
        let mut next = u64::MAX;
        for (call, index) in self.records.iter_mut().zip(0..) {
            if let (State::Asked, Some(sip)) = (call.state, call.sip) {
                if let Some(outcome) = call.budget.is_over(now, sip) {
                    return Ok((index, outcome));
                }
                next = next.min(call.budget.look());
            }
        }
        Err(next)
    }

    /// Notes that its process is ended; `None` if it has been before.
    pub(super) fn end(&mut self, index: u32, ending: Ending) -> Option<Call> {
        let call = self.records.get_mut(index as usize)?;
        match call.state {
            State::Free | State::Ending(_) => return None,
            State::Asked => self.asked -= u32::from(!call.serves),
            State::Idle => {}
        }
        call.state = State::Ending(ending);
        match call.serves {
            true => self.serving -= 1,
            false => self.kept -= u32::from(call.process != 0),
        }
        Some(*call)
    }

    /// One whose process was ended and is free.
    pub(super) fn gone(&self) -> Option<u32> {
        let has_ended = |call: &Call| call.sip.is_some_and(Sip::has_ended);
        self.find(|call| matches!(call.state, State::Ending(_)) && has_ended(call))
    }

    /// Frees a record; what it was.
    pub(super) fn remove(&mut self, index: u32) -> Option<Call> {
        let call = self.records.get_mut(index as usize)?;
        let was = *call;
        call.state = State::Free;
        call.next = self.free.replace(index);
        Some(was)
    }
}
