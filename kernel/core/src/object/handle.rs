//! The handle table: strongly typed, unforgeable names for kernel objects ([O] 3.2.1).
//!
//! Each SIP has its own table, so that no handle means anything elsewhere. A handle is `generation
//! << 16 | index`, positive as an `i32` and never 0; a slot's generation changes at each reuse, so
//! that stale handles are refused.

use crate::ground::work::Work;
use crate::mechanism::interrupt;
use crate::mechanism::wait::On;
use crate::object::channel::{self, Channel};
use crate::object::device::Device;
use crate::object::exheap;
use crate::object::queue::Queue;
use crate::object::set::Set;
use crate::object::sip::Sip;
use crate::object::sync::{Event, Mutex};
use crate::object::thread::Thread;
use sing_abi::trap::Trap;
use sing_image::manifest::Side;
use sing_runtime::{Charged, Payer};

/// The most handles that a SIP can have.
const MAX_HANDLES: usize = 1 << 16;
/// Generations count from 1 to one less than this, and wrap.
const GENERATIONS: u16 = 1 << 15;

/// The object that a handle names.
#[derive(Clone, Copy)]
pub(crate) enum Object {
    /// Nothing.
    None,
    /// One end of a channel, and the bits that an operation on it must carry.
    Endpoint(&'static Channel, Side, u32),
    /// A set of endpoints.
    Set(&'static Set),
    /// An exchange-heap allocation, moved out of a thread's table (`xh_park`) so that any thread of
    /// the SIP can take it.
    Parked(u32),
    /// An event.
    Event(&'static Event),
    /// A mutex.
    Mutex(&'static Mutex),
    /// A thread of the same SIP.
    Thread(&'static Thread),
    /// A child process.
    Process(&'static Sip),
    /// An interrupt line of the console.
    Interrupt(&'static interrupt::Device),
    /// A device.
    Device(&'static Device),
    /// Registers of a device, by their number.
    Io(&'static Device, u8),
    /// A device's interrupt.
    Irq(&'static Device),
    /// A device's queue, by its number.
    Queue(&'static Device, u8),
}

/// Everything that depends on the kind of object, other than the kinds' own entries.
impl Object {
    /// What a thread waits for if it waits for this handle.
    pub(crate) fn waitable(&self) -> Option<On> {
        Some(match *self {
            Object::None | Object::Parked(_) => return None,
            Object::Device(_) | Object::Io(..) | Object::Queue(..) => return None,
            Object::Irq(device) => device.line()?,
            Object::Endpoint(channel, side, _) => channel.member(side),
            Object::Set(s) => s,
            Object::Event(e) => e,
            Object::Mutex(m) => m,
            Object::Thread(t) => t,
            Object::Process(p) => p,
            Object::Interrupt(device) => device,
        })
    }

    /// Bytes that a SIP is charged for the object, beside the handle's slot.
    pub(crate) fn cost(&self) -> u64 {
        match self {
            Object::Event(_) => Event::COST,
            Object::Mutex(_) => Mutex::COST,
            Object::Set(_) => Set::COST,
            Object::Queue(..) => Queue::COST,
            _ => 0,
        }
    }

    /// Gives up the object, which `by` held through a handle that is already gone. Long work is
    /// left to `by`, or to the idle context.
    pub(crate) fn dispose(self, by: &'static Sip, work: &mut Work) {
        match self {
            Object::None => {}
            Object::Interrupt(line) => line.release(),
            Object::Device(d) => d.dispose(work),
            Object::Io(d, number) => d.release_registers(by, number),
            Object::Irq(d) => d.release_irq(),
            Object::Queue(d, index) => d.dispose_queue(index, work),
            Object::Endpoint(c, side, _) => work.spend_items(channel::close(c, side, by)),
            Object::Set(s) => s.dispose(),
            Object::Parked(allocation) => exheap::free_later(allocation, work),
            Object::Event(e) => e.dispose(),
            Object::Mutex(m) => m.dispose(),
            Object::Thread(t) => t.release(),
            Object::Process(p) => {
                // What it has kept moves to another list, one after the other.
                work.spend_items(p.legacy_len());
                p.let_go(by);
            }
        }
        work.spend(0);
    }
}

struct Slot {
    generation: u16,
    /// The next free slot, if this one is free and not the last.
    next_free: u16,
    object: Object,
}

/// The table of one SIP.
#[derive(Default)]
pub(crate) struct HandleTable {
    slots: Charged<Slot>,
    /// The number of free slots, and the first of them if there is any.
    free: u32,
    first_free: u16,
}

impl HandleTable {
    /// Gives an object a handle. `None` if the table is full, or memory short or beyond the budget.
    pub(crate) fn insert(&mut self, object: Object, payer: &'static dyn Payer) -> Option<u32> {
        if self.free == 0 {
            let index = self.slots.len();
            if index == MAX_HANDLES {
                return None;
            }
            let slot = Slot {
                generation: 1,
                next_free: 0,
                object: Object::None,
            };
            self.slots.push(slot, payer).ok()?;
            self.first_free = index as u16;
            self.free = 1;
        }
        let index = self.first_free;
        let slot = self.slots.get_mut(usize::from(index))?;
        self.first_free = slot.next_free;
        self.free -= 1;
        slot.object = object;
        Some(u32::from(slot.generation) << 16 | u32::from(index))
    }

    /// The object that a handle names; [`Object::None`] for a stale or forged handle.
    #[inline(always)]
    pub(crate) fn get(&self, handle: u32) -> Object {
        match self.slots.get((handle & 0xffff) as usize) {
            Some(s) if u32::from(s.generation) == handle >> 16 => s.object,
            _ => Object::None,
        }
    }

    /// The endpoint that a handle names, if `operation` carries its bits.
    #[inline(always)]
    fn endpoint(&self, handle: u32, operation: u32) -> Option<(&'static Channel, Side)> {
        match self.get(handle) {
            Object::Endpoint(c, side, bits) if bits == operation & !0x7fff => Some((c, side)),
            _ => None,
        }
    }

    /// Changes the bits that operations on an endpoint must carry.
    pub(crate) fn relabel(&mut self, handle: u32, bits: u32) {
        if let Some(s) = self.slots.get_mut((handle & 0xffff) as usize)
            && u32::from(s.generation) == handle >> 16
            && let Object::Endpoint(_, _, old) = &mut s.object
        {
            *old = bits;
        }
    }

    /// Removes a handle; the object that it named.
    pub(crate) fn remove(&mut self, handle: u32) -> Object {
        let index = (handle & 0xffff) as usize;
        match self.slots.get_mut(index) {
            Some(s)
                if u32::from(s.generation) == handle >> 16 && !matches!(s.object, Object::None) =>
            {
                s.generation = s.generation % (GENERATIONS - 1) + 1;
                s.next_free = self.first_free;
                self.first_free = index as u16;
                self.free += 1;
                core::mem::replace(&mut s.object, Object::None)
            }
            _ => Object::None,
        }
    }

    /// Handles in use.
    pub(crate) fn live(&self) -> u32 {
        (self.slots.len() as u32).saturating_sub(self.free)
    }

    /// Calls `f` with the object of each slot, [`Object::None`] for a free one.
    pub(crate) fn each(&self, f: impl FnMut(&Object)) {
        self.slots.iter().map(|s| &s.object).for_each(f);
    }

    /// The object that [`HandleTable::drain`] takes out next; none when the table is empty. For a
    /// SIP that ends.
    pub(crate) fn last(&mut self) -> Object {
        self.free = 0;
        while let Some(slot) = self.slots.last() {
            if !matches!(slot.object, Object::None) {
                return slot.object;
            }
            self.slots.pop();
        }
        Object::None
    }

    /// Removes any one handle, for a SIP that ends; the object that it named. `None` when the table
    /// is empty.
    pub(crate) fn drain(&mut self) -> Option<Object> {
        let last = self.last();
        if matches!(last, Object::None) {
            *self = HandleTable::default();
            return None;
        }
        self.slots.pop();
        Some(last)
    }
}

impl Sip {
    /// Gives an object a handle of this SIP, which pays for the slot. `None` if the table is full,
    /// or memory short.
    pub(crate) fn insert(&self, object: Object) -> Option<u32> {
        self.handles.lock().insert(object, self.account())
    }

    /// The object that a handle of this SIP names.
    #[inline(always)]
    pub(crate) fn object(&self, handle: u32) -> Object {
        self.handles.lock().get(handle)
    }

    /// The channel and side of an endpoint, if `operation` is of the same contract and side.
    #[inline(always)]
    pub(crate) fn endpoint(
        &self,
        handle: u32,
        operation: u32,
    ) -> Result<(&'static Channel, Side), Trap> {
        let found = self.handles.lock().endpoint(handle, operation);
        found.ok_or(Trap::BadHandle)
    }

    /// As [`Sip::endpoint`], for a fast path: `None` also if the table is locked.
    #[inline(always)]
    pub(crate) fn endpoint_now(
        &self,
        handle: u32,
        operation: u32,
    ) -> Option<(&'static Channel, Side)> {
        self.handles.try_lock()?.endpoint(handle, operation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use sing_runtime::Kernel;

    #[test]
    fn stale_and_forged_handles_name_nothing() {
        let mut t = HandleTable::default();
        let a = t.insert(Object::Parked(1), &Kernel).unwrap();
        let b = t.insert(Object::Parked(2), &Kernel).unwrap();
        assert!(a as i32 > 0 && b as i32 > 0 && a != b);
        assert!(matches!(t.remove(a), Object::Parked(1)));
        assert!(matches!(t.get(a), Object::None) && matches!(t.remove(a), Object::None));
        let c = t.insert(Object::Parked(3), &Kernel).unwrap();
        assert_ne!(a, c);
        assert!(matches!(t.get(a), Object::None));
        for forged in [0, 1, 0xffff, 3 << 16, c ^ 1 << 16, u32::MAX, b + 1] {
            assert!(matches!(t.get(forged), Object::None), "{forged:#x}");
        }
        assert_eq!(t.live(), 2);
    }

    #[test]
    fn generations_go_round_without_zero() {
        let mut t = HandleTable::default();
        let mut seen = Vec::new();
        for _ in 0..70_000 {
            let h = t.insert(Object::Parked(1), &Kernel).unwrap();
            assert!(h as i32 > 0 && h >> 16 != 0);
            t.remove(h);
            seen.push(h);
        }
        seen.dedup();
        assert_eq!(seen.len(), 70_000);
    }

    #[test]
    fn a_full_table_says_so() {
        let mut t = HandleTable::default();
        for _ in 0..MAX_HANDLES {
            assert!(t.insert(Object::Parked(1), &Kernel).is_some());
        }
        assert!(t.insert(Object::Parked(1), &Kernel).is_none());
        let mut n = 0;
        while t.drain().is_some() {
            n += 1;
        }
        assert_eq!((n, t.live()), (MAX_HANDLES, 0));
    }
}
