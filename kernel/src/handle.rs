//! The handle table: strongly typed, unforgeable names for kernel objects ([O] 3.2.1).
//!
//! Each SIP has its own table, so that no handle means anything elsewhere. A handle is
//! `generation << 16 | index`, positive as an `i32` and never 0; a slot's generation changes at each reuse, so
//! that stale handles are refused.

use crate::channel::{self, Channel};
use crate::exheap;
use crate::set::Set;
use crate::sip::Sip;
use crate::sync::{Event, Mutex};
use crate::thread::Thread;
use alloc::vec::Vec;
use sing_abi::trap::Trap;
use sing_image::manifest::Side;

/// The most handles that a SIP can have.
const MAX_HANDLES: usize = 1 << 16;
/// Generations go round below this, and leave 0 out.
const GENERATIONS: u32 = 1 << 15;

/// What a handle names.
#[derive(Clone, Copy)]
pub(crate) enum Object {
    /// Nothing.
    None,
    /// One end of a channel, and the bits that an operation on it must carry.
    Endpoint(&'static Channel, Side, u32),
    /// A set of endpoints.
    Set(&'static Set),
    /// An exchange-heap allocation that any thread of the SIP can take.
    Parked(u32),
    /// An event.
    Event(&'static Event),
    /// A mutex.
    Mutex(&'static Mutex),
    /// A thread of the same SIP.
    Thread(&'static Thread),
    /// A child process.
    Process(&'static Sip),
    /// A device interrupt.
    Interrupt(u32),
}

struct Slot {
    generation: u32,
    object: Object,
}

/// The table of one SIP.
#[derive(Default)]
pub(crate) struct HandleTable {
    slots: Vec<Slot>,
    free: Vec<u16>,
}

impl HandleTable {
    /// Gives an object a handle. `None` where the table is full.
    pub(crate) fn insert(&mut self, object: Object) -> Option<u32> {
        let index = match self.free.pop() {
            Some(i) => usize::from(i),
            None if self.slots.len() < MAX_HANDLES => {
                self.slots.push(Slot {
                    generation: 1,
                    object: Object::None,
                });
                self.slots.len() - 1
            }
            None => return None,
        };
        let slot = &mut self.slots[index];
        slot.object = object;
        Some(slot.generation << 16 | index as u32)
    }

    /// What a handle names.
    #[inline(always)]
    pub(crate) fn get(&self, handle: u32) -> Object {
        match self.slots.get((handle & 0xffff) as usize) {
            Some(s) if s.generation == handle >> 16 => s.object,
            _ => Object::None,
        }
    }

    /// From now on operations on an endpoint must carry these bits.
    pub(crate) fn relabel(&mut self, handle: u32, bits: u32) {
        if let Some(s) = self.slots.get_mut((handle & 0xffff) as usize)
            && s.generation == handle >> 16
            && let Object::Endpoint(_, _, old) = &mut s.object
        {
            *old = bits;
        }
    }

    /// Takes a handle away; what it named.
    pub(crate) fn remove(&mut self, handle: u32) -> Object {
        let index = (handle & 0xffff) as usize;
        match self.slots.get_mut(index) {
            Some(s) if s.generation == handle >> 16 && !matches!(s.object, Object::None) => {
                s.generation = s.generation % (GENERATIONS - 1) + 1;
                self.free.push(index as u16);
                core::mem::replace(&mut s.object, Object::None)
            }
            _ => Object::None,
        }
    }

    /// Handles in use.
    pub(crate) fn live(&self) -> u32 {
        (self.slots.len() - self.free.len()) as u32
    }

    /// Takes any handle away, for a SIP that ends; what it named.
    pub(crate) fn drain(&mut self) -> Option<Object> {
        while let Some(slot) = self.slots.pop() {
            if !matches!(slot.object, Object::None) {
                return Some(slot.object);
            }
        }
        self.free.clear();
        None
    }
}

/// Gives up what a handle named.
pub(crate) fn dispose(object: Object) {
    match object {
        Object::None | Object::Interrupt(_) => {}
        Object::Endpoint(c, side, _) => channel::close(c, side),
        Object::Set(s) => s.dispose(),
        Object::Parked(allocation) => exheap::free(allocation),
        Object::Event(e) => e.dispose(),
        Object::Mutex(m) => m.dispose(),
        Object::Thread(t) => t.release(),
        Object::Process(p) => p.let_go(),
    }
}

impl Sip {
    /// What a handle of this SIP names.
    #[inline(always)]
    pub(crate) fn object(&self, handle: u32) -> Object {
        self.handles.lock().get(handle)
    }

    /// The channel and side of an endpoint that `operation` fits: the same contract, the same side.
    #[inline(always)]
    pub(crate) fn endpoint(
        &self,
        handle: u32,
        operation: u32,
    ) -> Result<(&'static Channel, Side), Trap> {
        match self.handles.lock().get(handle) {
            Object::Endpoint(c, side, bits) if bits == operation & !0x7fff => Ok((c, side)),
            _ => Err(Trap::BadHandle),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stale_and_forged_handles_name_nothing() {
        let mut t = HandleTable::default();
        let a = t.insert(Object::Interrupt(1)).unwrap();
        let b = t.insert(Object::Interrupt(2)).unwrap();
        assert!(a as i32 > 0 && b as i32 > 0 && a != b);
        assert!(matches!(t.remove(a), Object::Interrupt(1)));
        assert!(matches!(t.get(a), Object::None) && matches!(t.remove(a), Object::None));
        let c = t.insert(Object::Interrupt(3)).unwrap();
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
            let h = t.insert(Object::Interrupt(1)).unwrap();
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
            assert!(t.insert(Object::Interrupt(1)).is_some());
        }
        assert!(t.insert(Object::Interrupt(1)).is_none());
        let mut n = 0;
        while t.drain().is_some() {
            n += 1;
        }
        assert_eq!((n, t.live()), (MAX_HANDLES, 0));
    }
}
