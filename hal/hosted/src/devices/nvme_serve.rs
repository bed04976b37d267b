//! What an NVMe controller does for each command.

use super::disk::SECTOR;
use super::disk_thread::Work;
use super::nvme::{ENTRIES, QUEUES, State, Ticket, Waiting};
use super::nvme_command::{Command, Fault, admin, io};
use super::nvme_facts::{self as facts, MOST, NAMESPACE};
use super::nvme_queue::{Completion, Submission};
use super::queue::bytes;
use super::store::Outcome;
use super::window::Reach;
use sing_abi::PAGE;

/// What there is to identify: the namespace, the controller, the namespaces' numbers.
const ONE: u32 = 0;
const CONTROLLER: u32 = 1;
const NUMBERS: u32 = 2;
/// Logs: errors, health, firmware.
const ERRORS: u32 = 1;
const HEALTH: u32 = 2;
const FIRMWARE: u32 = 3;
/// Features: the cache, and how many queues there are beside the admin's.
const CACHE: u32 = 6;
const COUNT: u32 = 7;
const BESIDE: u32 = QUEUES as u32 - 1;
/// Forget the sectors.
const DEALLOCATE: u32 = 4;
/// Bytes of a range of sectors.
const RANGE: usize = 16;
/// All namespaces.
const ALL: u32 = u32::MAX;

impl State {
    /// Does an admin command: what the answer's first word says. What it is to move is added to
    /// `moved`.
    pub(super) fn admin(
        &mut self,
        command: &Command,
        reach: &mut Reach<'_>,
        moved: &mut usize,
    ) -> Result<u32, Fault> {
        if !command.is_plain() {
            return Err(Fault::FIELD);
        }
        match command.kind {
            admin::IDENTIFY => {
                *moved += PAGE as usize;
                let page = match (command.words[0] & 0xff, command.namespace) {
                    (ONE, NAMESPACE) => facts::namespace(self.store.capacity, self.store.read_only),
                    (ONE, _) => return Err(Fault::NAMESPACE),
                    (CONTROLLER, _) => facts::controller(&self.name),
                    (NUMBERS, above) => facts::namespaces(above),
                    _ => return Err(Fault::FIELD),
                };
                command.answer(reach, &page).map(|()| 0)
            }
            admin::GET_LOG => {
                let mut log = match command.words[0] & 0xff {
                    // No errors are kept, and no firmware.
                    ERRORS | FIRMWARE => Vec::new(),
                    HEALTH => facts::health(),
                    _ => return Err(Fault::LOG),
                };
                let words = (command.words[0] >> 16 & 0xfff) as usize + 1;
                log.resize(4 * words, 0);
                *moved += log.len();
                command.answer(reach, &log).map(|()| 0)
            }
            admin::CREATE_COMPLETION => self.create_completion(command),
            admin::CREATE_SUBMISSION => self.create_submission(command),
            admin::DELETE_COMPLETION => self.delete_completion(command),
            admin::DELETE_SUBMISSION => self.delete_submission(command),
            // It was done, or is past being called back.
            admin::ABORT => Ok(1),
            admin::SET_FEATURES | admin::GET_FEATURES => match command.words[0] & 0xff {
                COUNT => Ok((BESIDE - 1) << 16 | (BESIDE - 1)),
                CACHE if command.kind == admin::GET_FEATURES => Ok(1),
                CACHE if command.words[1] & 1 == 1 => Ok(0),
                _ => Err(Fault::FIELD),
            },
            _ => Err(Fault::KIND),
        }
    }

    /// What a queue is to be: its number and size.
    fn described(command: &Command) -> Result<(usize, u32), Fault> {
        let number = (command.words[0] & 0xffff) as usize;
        let size = (command.words[0] >> 16) + 1;
        if !(1..QUEUES).contains(&number) {
            return Err(Fault::QUEUE);
        }
        if !(2..=ENTRIES).contains(&size) {
            return Err(Fault::QUEUE_SIZE);
        }
        // In one piece, which begins a page.
        if command.words[1] & 1 == 0 {
            return Err(Fault::FIELD);
        }
        if !command.data[0].is_multiple_of(PAGE) {
            return Err(Fault::OFFSET);
        }
        Ok((number, size))
    }

    fn create_completion(&mut self, command: &Command) -> Result<u32, Fault> {
        let (number, size) = Self::described(command)?;
        let [_, flags, ..] = command.words;
        if self.answers[number].is_some() {
            return Err(Fault::QUEUE);
        }
        // There is one message.
        if flags >> 16 != 0 {
            return Err(Fault::VECTOR);
        }
        let interrupts = flags & 2 != 0;
        self.answers[number] = Some(Completion::new(command.data[0], size, interrupts));
        Ok(0)
    }

    fn create_submission(&mut self, command: &Command) -> Result<u32, Fault> {
        let (number, size) = Self::described(command)?;
        if self.commands[number].is_some() {
            return Err(Fault::QUEUE);
        }
        let answers = (command.words[1] >> 16) as usize;
        let there = answers > 0 && self.answers.get(answers).is_some_and(Option::is_some);
        if !there {
            return Err(Fault::COMPLETION_QUEUE);
        }
        self.names += 1;
        let queue = Submission::new(command.data[0], size, answers, self.names);
        self.commands[number] = Some(queue);
        Ok(0)
    }

    fn delete_submission(&mut self, command: &Command) -> Result<u32, Fault> {
        let number = (command.words[0] & 0xffff) as usize;
        let queue = self.commands.get_mut(number).filter(|_| number > 0);
        let queue = queue.and_then(Option::take).ok_or(Fault::QUEUE)?;
        // What of it waits for the host is answered no more.
        if let Some(answers) = &mut self.answers[queue.answers] {
            answers.under = answers.under.saturating_sub(queue.under);
        }
        Ok(0)
    }

    fn delete_completion(&mut self, command: &Command) -> Result<u32, Fault> {
        let number = (command.words[0] & 0xffff) as usize;
        let there = self.answers.get(number).is_some_and(Option::is_some);
        if number == 0 || !there {
            return Err(Fault::QUEUE);
        }
        if self.commands.iter().flatten().any(|q| q.answers == number) {
            return Err(Fault::DELETION);
        }
        self.answers[number] = None;
        Ok(0)
    }

    /// Does a command to the namespace; `None` if its answer comes later. What it is to move is added
    /// to `moved`, before it is looked whether it can be: reading lists of pages and looking each up
    /// costs as much where the last one leads nowhere.
    pub(super) fn io(
        &mut self,
        queue: usize,
        name: u64,
        command: &Command,
        reach: &mut Reach<'_>,
        moved: &mut usize,
    ) -> Result<Option<u32>, Fault> {
        if !command.is_plain() {
            return Err(Fault::FIELD);
        }
        let flush = command.kind == io::FLUSH;
        if command.namespace != NAMESPACE && !(flush && command.namespace == ALL) {
            return Err(Fault::NAMESPACE);
        }
        let mut ticket = Waiting {
            queue,
            name,
            number: command.number,
            to: Vec::new(),
            fault: Fault::WRITING,
        };
        let outcome = match command.kind {
            io::FLUSH if self.store.has_room(0) => self.store.flush(),
            io::FLUSH => return Err(Fault::INTERNAL),
            io::READ | io::WRITE => self.transfer(command, reach, &mut ticket, moved)?,
            io::MANAGE => self.manage(command, reach, moved)?,
            _ => return Err(Fault::KIND),
        };
        match outcome {
            Outcome::Done => Ok(Some(0)),
            Outcome::Later(work) => {
                self.store.later(work, Ticket::Command(ticket));
                Ok(None)
            }
        }
    }

    /// Reads or writes sectors.
    fn transfer(
        &mut self,
        command: &Command,
        reach: &mut Reach<'_>,
        ticket: &mut Waiting,
        moved: &mut usize,
    ) -> Result<Outcome, Fault> {
        let read = command.kind == io::READ;
        let [low, high, count, ..] = command.words;
        let sector = u64::from(low) | u64::from(high) << 32;
        let len = ((count & 0xffff) as usize + 1) * SECTOR as usize;
        if len > MOST {
            return Err(Fault::FIELD);
        }
        if !read && self.store.read_only {
            return Err(Fault::READ_ONLY);
        }
        let at = self.store.place(sector, len).ok_or(Fault::RANGE)?;
        *moved += len;
        let parts = command.parts(reach, len)?;
        if !self.store.has_room(if read { 0 } else { len }) {
            return Err(Fault::INTERNAL);
        }
        let mut pieces = std::mem::take(&mut self.store.pieces);
        let reached = parts
            .iter()
            .try_for_each(|&(at, len)| reach.pieces(at, len, read, &mut pieces));
        let outcome = reached.map(|()| {
            debug_assert_eq!(bytes(&pieces), len);
            if read {
                self.store.read(at, &pieces)
            } else {
                self.store.write(at, &pieces)
            }
        });
        pieces.clear();
        self.store.pieces = pieces;
        if read {
            ticket.to = parts;
            ticket.fault = Fault::READING;
        }
        outcome.map_err(|_| Fault::TRANSFER)
    }

    /// Forgets ranges of sectors, if that is what is to be done.
    fn manage(
        &mut self,
        command: &Command,
        reach: &mut Reach<'_>,
        moved: &mut usize,
    ) -> Result<Outcome, Fault> {
        let [count, what, ..] = command.words;
        if self.store.read_only {
            return Err(Fault::READ_ONLY);
        }
        let mut list = vec![0; ((count & 0xff) as usize + 1) * RANGE];
        *moved += list.len();
        let mut rest = &mut list[..];
        for (at, len) in command.parts(reach, rest.len())? {
            let (now, behind) = rest.split_at_mut(len);
            reach.read(at, now).map_err(|_| Fault::TRANSFER)?;
            rest = behind;
        }
        let mut ranges = Vec::new();
        for range in list.chunks_exact(RANGE) {
            let [_, _, _, _, a, b, c, d, e, f, g, h, i, j, k, l] = *range else {
                return Err(Fault::INTERNAL);
            };
            let sectors = u32::from_le_bytes([a, b, c, d]);
            let sector = u64::from_le_bytes([e, f, g, h, i, j, k, l]);
            let range = self.store.range(sector, sectors.into());
            let range = range.ok_or(Fault::RANGE)?;
            if range.1 > 0 {
                ranges.push(range);
            }
        }
        // The rest are hints.
        if what & DEALLOCATE == 0 || ranges.is_empty() {
            return Ok(Outcome::Done);
        }
        if !self.store.has_room(0) {
            return Err(Fault::INTERNAL);
        }
        Ok(Outcome::Later(Work::Discard(ranges)))
    }
}
