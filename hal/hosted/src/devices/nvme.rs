//! An NVMe controller ([NVM Express] 1.2): one namespace, whose sectors are a file of the host
//! (`store.rs`).
//!
//! It does what drivers need: admin commands to look at it and to make and delete queues, and
//! reading, writing, flushing and forgetting sectors. It interrupts by one message. There are no
//! lists of other forms than pages (SGL), no further namespaces, no events, no firmware.
//!
//! A driver that breaks the rules of the queues (a doorbell behind a queue or of none, queues where
//! the controller reaches no memory) finds the controller stopped, with the bit for a fatal error
//! in its status, until it switches it off. A command that asks for what cannot be is answered so.
//!
//! Invariants:
//! - Memory is reached with the state locked, by the window alone (`window.rs`).
//! - A turn takes commands of a bounded number and of a bounded number of bytes; the rest is the
//!   disk's thread's, a turn at a time.
//! - What waits for the host is bounded by the disk's jobs, and belongs to a queue of commands:
//!   when that goes, by a command or a reset, the request touches nothing any more.
//!
//! [NVM Express]: https://nvmexpress.org/specifications/

use super::disk::Disk;
use super::disk_thread::{Finished, Front, Jobs};
use super::lines;
use super::nvme_command::{Command, Fault, Part, put};
use super::nvme_facts::VERSION;
use super::nvme_queue::{Answer, Completion, Submission};
use super::pci::{Description, Function};
use super::refusal::DiskError;
use super::store::{Outcome, Store};
use super::turns::Turns;
use super::window::{Reach, Window};
use sing_abi::PAGE;
use std::io;
use std::sync::{Arc, MutexGuard};

/// Queues of each kind, that of the admin commands among them.
pub(super) const QUEUES: usize = 4;
/// Entries of a queue at the most, and of those of the admin commands.
pub(super) const ENTRIES: u32 = 128;
const ADMIN_ENTRIES: u32 = 4096;

/// Bytes that commands may move in one turn, beside the last one, and what a command counts as.
const TURN: usize = 256 << 10;
pub(super) const EACH: usize = 1 << 10;

/// Offsets of the registers.
mod at {
    pub(super) const CAPABILITIES: u32 = 0x00;
    pub(super) const CAPABILITIES_HIGH: u32 = 0x04;
    pub(super) const VERSION: u32 = 0x08;
    pub(super) const CONFIGURATION: u32 = 0x14;
    pub(super) const STATUS: u32 = 0x1c;
    pub(super) const ADMIN_SIZES: u32 = 0x24;
    pub(super) const ADMIN_COMMANDS: u32 = 0x28;
    pub(super) const ADMIN_ANSWERS: u32 = 0x30;
    pub(super) const DOORBELLS: u32 = 0x1000;
}
/// Bytes of the registers.
const REGISTERS: u32 = 0x2000;

/// Queues lie in one piece; half a second is enough for a start; the commands are those of NVM.
const CAPABILITIES: u32 = (ENTRIES - 1) | 1 << 16 | 1 << 24;
const CAPABILITIES_HIGH: u32 = 1 << 5;
/// The configuration: on; what must be 0 (kinds of commands, pages, arbitration); the driver goes;
/// the sizes of entries.
const ENABLE: u32 = 1;
const OTHERS: u32 = 0x3ff0;
const GOING: u32 = 3 << 14;
const SIZES: u32 = 0xff << 16;
const USUAL_SIZES: u32 = 6 << 16 | 4 << 20;
/// The status: ready; stopped; how far it is with the driver's going: all that it has said is being
/// written, or is.
const READY: u32 = 1;
const FATAL: u32 = 2;
const PARTING: u32 = 3 << 2;
const LEAVING: u32 = 1 << 2;
const GONE: u32 = 2 << 2;

/// How it is described.
pub(super) fn description() -> Description {
    Description {
        signature: "/pci/01/08/1b36/0010",
        registers: REGISTERS,
    }
}

/// What waits for the host.
pub(super) enum Ticket {
    Command(Waiting),
    /// The driver goes: the name of its going ([`State::going`]).
    Going(u64),
}

/// A command that waits for the host.
pub(super) struct Waiting {
    pub(super) queue: usize,
    /// The queue's name ([`Submission::name`]).
    pub(super) name: u64,
    pub(super) number: u16,
    /// Where what was read goes.
    pub(super) to: Vec<Part>,
    /// What an error is.
    pub(super) fault: Fault,
}

/// The controller's state.
pub(super) struct State {
    pub(super) store: Store<Ticket>,
    /// The file's name.
    pub(super) name: Vec<u8>,
    configuration: u32,
    status: u32,
    admin_sizes: u32,
    /// Addresses of the admin queues: commands, answers.
    admin: [u64; 2],
    pub(super) commands: [Option<Submission>; QUEUES],
    pub(super) answers: [Option<Completion>; QUEUES],
    /// The last name of a queue, or of a going.
    pub(super) names: u64,
    /// The last going of the driver.
    going: u64,
    /// Whether a flush for one is among the jobs: there is one at most, however often a driver
    /// comes and goes.
    flushing: bool,
}

/// The controller.
pub(super) struct Nvme {
    line: u32,
    window: Window,
    state: Turns<State>,
}

impl Nvme {
    /// Starts the disk's thread.
    pub(super) fn start(line: u32, disk: &Disk) -> Result<Arc<Nvme>, DiskError> {
        let jobs = Arc::new(Jobs::default());
        let nvme = Arc::new(Nvme::new(line, disk, Arc::clone(&jobs)));
        disk.start_thread(&jobs, Arc::clone(&nvme))?;
        Ok(nvme)
    }

    /// One that leaves to others what is among the jobs.
    pub(super) fn new(line: u32, disk: &Disk, jobs: Arc<Jobs<Ticket>>) -> Nvme {
        let name = disk.path.file_name().unwrap_or_default();
        let state = State {
            store: Store::of(disk, jobs),
            name: name.as_encoded_bytes().into(),
            configuration: 0,
            status: 0,
            admin_sizes: 0,
            admin: [0; 2],
            commands: Default::default(),
            answers: Default::default(),
            names: 0,
            going: 0,
            flushing: false,
        };
        Nvme {
            line,
            window: Window::default(),
            state: Turns::new(state),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.kernel()
    }

    /// Serves a turn of what the queues hold, or less if the kernel waits. Returns whether an
    /// interrupt is now to be delivered, and whether there may be more.
    fn serve(&self, state: &mut State) -> (bool, bool) {
        let mut tell = false;
        let mut moved = 0;
        for queue in 0..QUEUES {
            loop {
                if moved >= TURN || moved > 0 && self.state.is_wanted() {
                    return (tell, true);
                }
                let mut reach = self.window.reach();
                let Some((command, name)) = state.take(queue, &mut reach) else {
                    break;
                };
                moved += EACH;
                let number = command.number;
                let result = if queue == 0 {
                    state.admin(&command, &mut reach, &mut moved).map(Some)
                } else {
                    state.io(queue, name, &command, &mut reach, &mut moved)
                };
                drop(reach);
                if let Some(result) = result.transpose() {
                    tell |= self.answer(state, queue, number, result);
                }
            }
        }
        (tell, false)
    }

    /// Answers a command of a queue. Returns whether an interrupt is now to be delivered.
    fn answer(
        &self,
        state: &mut State,
        queue: usize,
        number: u16,
        result: Result<u32, Fault>,
    ) -> bool {
        let Some(commands) = &mut state.commands[queue] else {
            return false;
        };
        let Some(answers) = &mut state.answers[commands.answers] else {
            return false;
        };
        commands.under = commands.under.saturating_sub(1);
        let answer = Answer {
            queue: queue as u16,
            head: commands.head,
            number,
            result,
        };
        let interrupts = answers.interrupts;
        if answers.put(&mut self.window.reach(), &answer).is_err() {
            state.stop();
            return false;
        }
        interrupts && lines::message(self.line)
    }

    /// A doorbell: the driver has put commands, or taken answers.
    fn ring(&self, state: &mut State, offset: u32, value: u32) -> bool {
        let bell = ((offset - at::DOORBELLS) / 4) as usize;
        let (queue, is_head) = (bell / 2, bell % 2 == 1);
        let sound = if is_head {
            let queue = state.answers.get_mut(queue).and_then(Option::as_mut);
            queue.is_some_and(|queue| queue.set_head(value))
        } else {
            let queue = state.commands.get_mut(queue).and_then(Option::as_mut);
            queue.is_some_and(|queue| queue.set_tail(value))
        };
        if !state.works() {
            return false;
        }
        if !sound {
            state.stop();
            return false;
        }
        let (tell, more) = self.serve(state);
        if more {
            state.store.jobs.resume();
        }
        tell
    }
}

impl State {
    /// Whether it takes commands.
    fn works(&self) -> bool {
        self.status & (READY | FATAL | PARTING) == READY
    }

    /// Whether it answers those that it has taken.
    fn answers(&self) -> bool {
        self.status & (READY | FATAL) == READY && self.status & PARTING != GONE
    }

    /// The driver goes: all that it has had written is to be on the medium before that is said.
    fn leave(&mut self) {
        self.status = self.status & !PARTING | LEAVING;
        self.names += 1;
        self.going = self.names;
        if self.flushing {
            // That of an earlier going; there is another behind it.
            return;
        }
        match self.store.flush() {
            Outcome::Done => self.status = self.status & !PARTING | GONE,
            Outcome::Later(work) => {
                self.flushing = true;
                self.store.later(work, Ticket::Going(self.going));
            }
        }
    }

    /// The flush for a going has been done. Returns whether the driver is told how it went.
    fn left(&mut self, going: u64, done: bool) -> bool {
        self.flushing = false;
        if self.status & PARTING != LEAVING {
            return false;
        }
        if going != self.going {
            self.leave();
            return false;
        }
        match done {
            true => self.status = self.status & !PARTING | GONE,
            // There is no other way to say it. The next flush has the error, too.
            false => self.stop(),
        }
        done
    }

    /// Stops, as the driver has broken a rule.
    fn stop(&mut self) {
        self.status |= FATAL;
    }

    /// Takes the next command of a queue, with the queue's name, if there is room for its answer.
    fn take(&mut self, queue: usize, reach: &mut Reach<'_>) -> Option<(Command, u64)> {
        if !self.works() {
            return None;
        }
        let commands = self.commands[queue].as_mut()?;
        let answers = self.answers[commands.answers].as_mut()?;
        if !answers.has_room() {
            return None;
        }
        match commands.take(reach) {
            Ok(command) => {
                answers.under += u32::from(command.is_some());
                command.map(|command| (command, commands.name))
            }
            Err(_) => {
                self.stop();
                None
            }
        }
    }

    /// Forgets all but what the disk is.
    fn reset(&mut self) {
        self.configuration = 0;
        self.status = 0;
        self.commands = Default::default();
        self.answers = Default::default();
    }

    /// Goes on or off, as the driver says.
    fn configure(&mut self, value: u32, line: u32) {
        let was_on = self.configuration & ENABLE != 0;
        if value & ENABLE == 0 {
            self.reset();
            lines::lower(line);
            self.configuration = value & !ENABLE;
            return;
        }
        self.configuration = value;
        if !was_on {
            self.status = if self.begin() { READY } else { FATAL };
        }
        if value & GOING == 0 {
            self.status &= !PARTING;
        } else if self.status & PARTING == 0 {
            self.leave();
        }
    }

    /// Makes the admin queues. False if the driver has described none that can be.
    fn begin(&mut self) -> bool {
        let sizes = [self.admin_sizes, self.admin_sizes >> 16].map(|n| (n & 0xfff) + 1);
        let usual = self.configuration & OTHERS == 0 && self.configuration & SIZES == USUAL_SIZES;
        let sound = sizes.iter().all(|n| (2..=ADMIN_ENTRIES).contains(n));
        if !usual || !sound {
            return false;
        }
        self.names += 1;
        let [commands, answers] = self.admin;
        self.commands[0] = Some(Submission::new(commands, sizes[0], 0, self.names));
        self.answers[0] = Some(Completion::new(answers, sizes[1], true));
        true
    }

    fn word(&self, offset: u32) -> u32 {
        let half = |value: u64, high: bool| (value >> if high { 32 } else { 0 }) as u32;
        match offset {
            at::CAPABILITIES => CAPABILITIES,
            at::CAPABILITIES_HIGH => CAPABILITIES_HIGH,
            at::VERSION => VERSION,
            at::CONFIGURATION => self.configuration,
            at::STATUS => self.status,
            at::ADMIN_SIZES => self.admin_sizes,
            at::ADMIN_COMMANDS | at::ADMIN_ANSWERS => half(self.admin_queue(offset), false),
            _ if offset == at::ADMIN_COMMANDS + 4 || offset == at::ADMIN_ANSWERS + 4 => {
                half(self.admin_queue(offset - 4), true)
            }
            _ => 0,
        }
    }

    fn admin_queue(&self, offset: u32) -> u64 {
        self.admin[usize::from(offset == at::ADMIN_ANSWERS)]
    }

    /// Writes half of an admin queue's address, which begins a page.
    fn set_admin_queue(&mut self, offset: u32, value: u32) {
        let address = &mut self.admin[usize::from(offset >= at::ADMIN_ANSWERS)];
        *address = if offset.is_multiple_of(8) {
            *address & !0xffff_ffff | u64::from(value)
        } else {
            *address & 0xffff_ffff | u64::from(value) << 32
        } / PAGE
            * PAGE;
    }

    /// Writes a register other than a doorbell.
    fn set(&mut self, offset: u32, value: u32, line: u32) {
        let off = self.configuration & ENABLE == 0;
        match offset {
            at::CONFIGURATION => self.configure(value, line),
            at::ADMIN_SIZES if off => self.admin_sizes = value & 0x0fff_0fff,
            _ if off && (at::ADMIN_COMMANDS..at::ADMIN_ANSWERS + 8).contains(&offset) => {
                self.set_admin_queue(offset, value);
            }
            _ => {}
        }
    }
}

impl Function for Nvme {
    fn window(&self) -> &Window {
        &self.window
    }

    fn read(&self, offset: u32, width: u32) -> u64 {
        let state = self.lock();
        match width {
            4 => state.word(offset).into(),
            8 => u64::from(state.word(offset)) | u64::from(state.word(offset + 4)) << 32,
            _ => 0,
        }
    }

    fn write(&self, offset: u32, width: u32, value: u64) -> bool {
        let mut state = self.lock();
        if width == 4 && offset >= at::DOORBELLS {
            return self.ring(&mut state, offset, value as u32);
        }
        if width >= 4 {
            state.set(offset, value as u32, self.line);
        }
        if width == 8 {
            state.set(offset + 4, (value >> 32) as u32, self.line);
        }
        false
    }

    fn reset(&self) {
        let mut state = self.lock();
        state.reset();
        state.admin_sizes = 0;
        state.admin = [0; 2];
        lines::lower(self.line);
    }
}

impl Front<Ticket> for Nvme {
    fn finish(&self, ticket: Ticket, done: &io::Result<Vec<u8>>) -> Finished {
        let mut state = self.state.step();
        let ticket = match ticket {
            Ticket::Command(ticket) => ticket,
            Ticket::Going(going) => {
                let told = state.left(going, done.is_ok());
                return Finished { told, tell: false };
            }
        };
        let queue = state.commands[ticket.queue].as_ref();
        let there = state.answers() && queue.is_some_and(|queue| queue.name == ticket.name);
        if !there {
            return Finished {
                told: false,
                tell: false,
            };
        }
        let result = match done {
            Ok(data) => put(&mut self.window.reach(), &ticket.to, data).map(|()| 0),
            Err(_) => Err(ticket.fault),
        };
        let mut tell = self.answer(&mut state, ticket.queue, ticket.number, result);
        // Other commands may have waited for that.
        let (tell_too, more) = self.serve(&mut state);
        tell |= tell_too;
        if more {
            state.store.jobs.resume();
        }
        Finished { told: true, tell }
    }

    fn resume(&self) -> (bool, bool) {
        let mut state = self.state.step();
        self.serve(&mut state)
    }
}
