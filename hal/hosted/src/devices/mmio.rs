//! The registers of a virtio device ("4.2.2 MMIO Device Register Layout", version 2).

use super::lines;
use super::queue::{Chain, MOST, Queue, bytes};
use super::turns::Turns;
use std::sync::MutexGuard;

/// "virt".
const MAGIC: u32 = 0x7472_6976;
const VERSION: u32 = 2;
/// "sing".
const VENDOR: u32 = 0x676e_6973;

/// Offsets of the registers.
mod at {
    pub(super) const MAGIC: u32 = 0x000;
    pub(super) const VERSION: u32 = 0x004;
    pub(super) const DEVICE: u32 = 0x008;
    pub(super) const VENDOR: u32 = 0x00c;
    pub(super) const OFFERED: u32 = 0x010;
    pub(super) const OFFERED_WORD: u32 = 0x014;
    pub(super) const ACCEPTED: u32 = 0x020;
    pub(super) const ACCEPTED_WORD: u32 = 0x024;
    pub(super) const QUEUE: u32 = 0x030;
    pub(super) const QUEUE_MOST: u32 = 0x034;
    pub(super) const QUEUE_SIZE: u32 = 0x038;
    pub(super) const QUEUE_READY: u32 = 0x044;
    pub(super) const NOTIFY: u32 = 0x050;
    pub(super) const INTERRUPT: u32 = 0x060;
    pub(super) const INTERRUPT_ACK: u32 = 0x064;
    pub(super) const STATUS: u32 = 0x070;
    /// Addresses of the queue's parts: the low half, and the high one behind it.
    pub(super) const DESCRIPTORS: u32 = 0x080;
    pub(super) const DESCRIPTORS_HIGH: u32 = 0x084;
    pub(super) const DRIVER: u32 = 0x090;
    pub(super) const DRIVER_HIGH: u32 = 0x094;
    pub(super) const DEVICE_PART: u32 = 0x0a0;
    pub(super) const DEVICE_PART_HIGH: u32 = 0x0a4;
    pub(super) const CONFIG: u32 = 0x100;
}

/// Bytes of the registers before the device's own configuration.
pub(super) const REGISTERS: u32 = at::CONFIG;

/// The feature that every modern device has.
const VERSION_1: u64 = 1 << 32;
/// Bits of the status: the driver has accepted features; it is ready.
const FEATURES_OK: u32 = 8;
const DRIVER_OK: u32 = 4;
/// The interrupt's reason: a request has been given back.
const USED: u32 = 1;

/// The most queues of a device.
pub(super) const QUEUES: usize = 2;

/// Bytes that requests may move in one turn, beside the last one: what a turn moves delays the
/// whole system, which waits for it.
pub(super) const TURN: usize = 256 << 10;

/// What stands behind the registers.
pub(super) trait Model: Send {
    /// The kind of device ("5 Device Types").
    fn id(&self) -> u32;

    /// The features that it offers beside those of the transport.
    fn features(&self) -> u64 {
        0
    }

    /// Its own configuration.
    fn config(&self) -> &[u8] {
        &[]
    }

    /// How many queues it has, at most [`QUEUES`].
    fn queues(&self) -> usize {
        1
    }

    /// Whether requests of this queue stay in it until the model has something for them, which
    /// [`Transport::fill`] then puts there. Called when the driver has added some.
    fn keeps(&mut self, queue: usize) -> bool {
        let _ = queue;
        false
    }

    /// The most bytes that it writes for a request.
    fn most(&self) -> usize;

    /// A turn begins, which is bounded by itself: of what the model does in it beside writing at most
    /// [`Model::most`] bytes for each request, the model keeps count.
    fn begins(&mut self) {}

    /// Serves a request; `chain` is valid during the call. Returns the bytes written, or `None` if
    /// the model gives the request back later by [`Transport::finish`] with this ticket.
    fn serve(&mut self, chain: &mut Chain, ticket: Ticket) -> Option<u32>;

    /// There is more to serve than one turn may move: [`Transport::resume`] is to be called until
    /// there is none.
    fn more(&mut self) {}

    /// The device has been reset: whatever the model has for its driver is to be forgotten.
    fn reset(&mut self) {}

    /// Whether the model can serve the rest in later turns. All of a queue of one that cannot is
    /// served in one, which the queue's size bounds: its requests move little.
    fn resumes(&self) -> bool {
        false
    }
}

/// A request that is to be given back later.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticket {
    /// The number of resets before the request.
    resets: u64,
    pub(super) queue: usize,
    head: u16,
}

#[derive(Default)]
struct State {
    model: Option<Box<dyn Model>>,
    status: u32,
    offered_word: u32,
    accepted_word: u32,
    accepted: u64,
    /// The number in the register that selects a queue.
    selected: u32,
    queues: [Queue; QUEUES],
    interrupt: u32,
    resets: u64,
    /// The request in work, kept for its room.
    chain: Chain,
}

// SAFETY: a chain's addresses are used only by who has the lock around the state.
unsafe impl Send for State {}

/// A device of this transport.
pub(super) struct Transport {
    line: u32,
    state: Turns<State>,
}

impl Transport {
    pub(super) fn new(line: u32) -> Transport {
        Transport {
            line,
            state: Turns::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.kernel()
    }

    /// Puts the model behind the registers.
    pub(super) fn install(&self, model: Box<dyn Model>) {
        self.lock().model = Some(model);
    }

    /// The kind of device and the length of its configuration.
    pub(super) fn describe(&self) -> (u32, u32) {
        let state = self.lock();
        state
            .model
            .as_ref()
            .map_or((0, 0), |m| (m.id(), m.config().len() as u32))
    }

    /// Forgets the queue: the device reaches no memory any more.
    pub(super) fn reset(&self) {
        self.lock().reset();
        lines::lower(self.line);
    }

    /// Reads a register.
    pub(super) fn read(&self, offset: u32, width: u32) -> u64 {
        let state = self.lock();
        let model = state.model.as_deref();
        if let Some(offset) = offset.checked_sub(at::CONFIG) {
            let config = model.map_or(&[][..], Model::config);
            let mut bytes = [0; 8];
            for (i, byte) in bytes.iter_mut().take(width as usize).enumerate() {
                *byte = config.get(offset as usize + i).copied().unwrap_or(0);
            }
            return u64::from_le_bytes(bytes);
        }
        if width != 4 {
            return 0;
        }
        let queue = state.selected();
        u64::from(match offset {
            at::MAGIC => MAGIC,
            at::VERSION => VERSION,
            at::DEVICE => model.map_or(0, Model::id),
            at::VENDOR => VENDOR,
            at::OFFERED => word(state.offered(), state.offered_word),
            at::QUEUE_MOST if queue.is_some() => u32::from(MOST),
            at::QUEUE_READY => queue.map_or(0, |n| u32::from(state.queues[n].ready)),
            at::INTERRUPT => state.interrupt,
            at::STATUS => state.status,
            _ => 0,
        })
    }

    /// Writes a register. Returns whether an interrupt is now to be delivered.
    pub(super) fn write(&self, offset: u32, width: u32, value: u64) -> bool {
        let mut state = self.lock();
        let value = value as u32;
        if width != 4 {
            return false;
        }
        if let Some(number) = state.selected() {
            set_up(&mut state.queues[number], offset, value);
        }
        match offset {
            at::OFFERED_WORD => state.offered_word = value,
            at::ACCEPTED_WORD => state.accepted_word = value,
            at::ACCEPTED => match state.accepted_word {
                0 => state.accepted = state.accepted & !0xffff_ffff | u64::from(value),
                1 => state.accepted = state.accepted & 0xffff_ffff | u64::from(value) << 32,
                _ => {}
            },
            at::QUEUE => state.selected = value,
            at::NOTIFY if (value as usize) < state.count() => {
                let (tell, more) = state.serve(value as usize, &self.state);
                if more && let Some(model) = &mut state.model {
                    model.more();
                }
                return tell && self.told(&mut state);
            }
            at::INTERRUPT_ACK => {
                state.interrupt &= !value;
                if state.interrupt == 0 {
                    lines::lower(self.line);
                }
            }
            at::STATUS if value == 0 => {
                state.reset();
                lines::lower(self.line);
            }
            at::STATUS => {
                state.status = value;
                // A set of features that was not offered is refused by clearing the bit.
                if state.accepted & !state.offered() != 0 || state.accepted & VERSION_1 == 0 {
                    state.status &= !FEATURES_OK;
                }
            }
            _ => {}
        }
        false
    }

    /// Gives a request back that has waited for the host: `fill` gets its memory, and returns the
    /// bytes written. Nothing happens if the device has been reset meanwhile. Returns whether an
    /// interrupt is now to be delivered.
    pub(super) fn finish(&self, ticket: Ticket, fill: impl FnOnce(&mut Chain) -> u32) -> bool {
        let mut state = self.state.step();
        let State {
            queues,
            chain,
            resets,
            ..
        } = &mut *state;
        let queue = &mut queues[ticket.queue];
        if *resets != ticket.resets || !queue.ready {
            return false;
        }
        queue.chain(ticket.head, chain);
        let written = fill(chain);
        let tell = queue.give_back(ticket.head, written);
        tell && self.told(&mut state)
    }

    /// Gives back the next request of a queue that the model [keeps](Model::keeps): `fill` gets its
    /// memory, and returns the bytes written. Returns whether an interrupt is now to be delivered;
    /// `None` if there is no request.
    pub(super) fn fill(&self, queue: usize, fill: impl FnOnce(&mut Chain) -> u32) -> Option<bool> {
        let mut state = self.state.step();
        let on = state.status & DRIVER_OK != 0;
        let State { queues, chain, .. } = &mut *state;
        let queue = queues.get_mut(queue).filter(|q| on && q.ready)?;
        let head = queue.take()?;
        queue.chain(head, chain);
        let written = fill(chain);
        let tell = queue.give_back(head, written);
        Some(tell && self.told(&mut state))
    }

    /// Serves one turn more of the first queue. Returns whether an interrupt is now to be delivered, and whether there
    /// is still more.
    pub(super) fn resume(&self) -> (bool, bool) {
        let mut state = self.state.step();
        let (tell, more) = state.serve(0, &self.state);
        (tell && self.told(&mut state), more)
    }

    fn told(&self, state: &mut State) -> bool {
        state.interrupt |= USED;
        lines::raise(self.line)
    }
}

impl State {
    fn offered(&self) -> u64 {
        VERSION_1 | self.model.as_ref().map_or(0, |m| m.features())
    }

    fn reset(&mut self) {
        self.status = 0;
        self.offered_word = 0;
        self.accepted_word = 0;
        self.accepted = 0;
        self.selected = 0;
        self.queues = Default::default();
        self.interrupt = 0;
        self.resets += 1;
        if let Some(model) = &mut self.model {
            model.reset();
        }
    }

    /// The number of queues.
    fn count(&self) -> usize {
        self.model.as_ref().map_or(0, |m| m.queues()).min(QUEUES)
    }

    /// The queue that is selected, if there is one of this number.
    fn selected(&self) -> Option<usize> {
        Some(self.selected as usize).filter(|n| *n < self.count())
    }

    /// Serves what the driver has added to a queue, a turn's worth, or less if the kernel waits.
    /// Returns whether it wants an interrupt for it, and whether there may be more.
    fn serve(&mut self, number: usize, turns: &Turns<State>) -> (bool, bool) {
        let mut tell = false;
        let mut moved = 0;
        let Some(model) = &mut self.model else {
            return (false, false);
        };
        if model.keeps(number) {
            return (false, false);
        }
        model.begins();
        for at in 0..MOST {
            let queue = &mut self.queues[number];
            if !queue.ready || self.status & DRIVER_OK == 0 {
                break;
            }
            let resumes = self.model.as_ref().is_some_and(|m| m.resumes());
            if resumes && (moved >= TURN || at > 0 && turns.is_wanted()) {
                return (tell, true);
            }
            let (Some(model), Some(head)) = (&mut self.model, queue.take()) else {
                break;
            };
            let ticket = Ticket {
                resets: self.resets,
                queue: number,
                head,
            };
            queue.chain(head, &mut self.chain);
            moved += bytes(&self.chain.readable) + bytes(&self.chain.writable).min(model.most());
            if let Some(written) = model.serve(&mut self.chain, ticket) {
                tell |= queue.give_back(head, written);
            }
        }
        (tell, false)
    }
}

/// Writes a register of a queue: where its parts are, as long as it is not ready, and whether it is.
fn set_up(queue: &mut Queue, offset: u32, value: u32) {
    if queue.ready {
        queue.ready = offset != at::QUEUE_READY || value != 0;
        return;
    }
    match offset {
        at::QUEUE_SIZE => queue.size = value.min(u32::from(u16::MAX)) as u16,
        at::QUEUE_READY => queue.ready = value == 1 && queue.is_sound(),
        at::DESCRIPTORS => set_low(&mut queue.descriptors, value),
        at::DESCRIPTORS_HIGH => set_high(&mut queue.descriptors, value),
        at::DRIVER => set_low(&mut queue.driver, value),
        at::DRIVER_HIGH => set_high(&mut queue.driver, value),
        at::DEVICE_PART => set_low(&mut queue.device, value),
        at::DEVICE_PART_HIGH => set_high(&mut queue.device, value),
        _ => {}
    }
}

/// One of the two halves of a set of features.
fn word(features: u64, index: u32) -> u32 {
    match index {
        0 => features as u32,
        1 => (features >> 32) as u32,
        _ => 0,
    }
}

fn set_low(address: &mut u64, value: u32) {
    *address = *address & !0xffff_ffff | u64::from(value);
}

fn set_high(address: &mut u64, value: u32) {
    *address = *address & 0xffff_ffff | u64::from(value) << 32;
}
