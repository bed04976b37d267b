//! Queues of virtio devices: requests whose memory belongs to the device until it is done with
//! them.
//!
//! A request consists of parts of blocks of the exchange heap. They leave the caller's table when
//! the request is added, and come into the table of whoever takes the request back: between the
//! two, no SIP reaches them, and nobody frees them. The device writes into them directly; nothing
//! is copied.
//!
//! Invariants:
//! - A descriptor that the device may use names bytes of a block in [`Inner::requests`], or it is
//!   free, and then not reachable from a request that was made available.
//! - A block leaves a request once: when the device says that it is done with the request and this
//!   record agrees that it was under way, or after the device has been reset. A device that says
//!   anything else is reset.
//! - The chain of descriptors is kept here; what lies in the shared memory is never read back.

#[cfg(test)]
pub(crate) mod tests;

use crate::ground::memory;
use crate::ground::trusted::parts_restart;
use crate::ground::trusted::{Bell, RING_BYTES, Ring, Run, Transport};
use crate::ground::work::Work;
use crate::object::account::Account;
use crate::object::exheap::{self, Allocation};
use sing_abi::{MAX_PARTS, MAX_QUEUE, PAGE, REQUEST_LOST, status};
use sing_arch::lock::SpinLock;
use sing_runtime::Charged;

/// The most queues of a device.
pub(crate) const MOST_QUEUES: usize = 8;

/// A part of a request.
#[derive(Clone, Copy, Default)]
pub(crate) struct Part {
    /// Index of the allocation.
    pub(crate) allocation: u32,
    /// The first byte.
    pub(crate) start: u32,
    /// How many.
    pub(crate) len: u32,
    /// Whether the device writes it.
    pub(crate) writes: bool,
}

/// A descriptor, and the request that begins with it.
#[derive(Clone, Copy, Default)]
struct Slot {
    /// The descriptor behind this one, in a request or among the free ones.
    next: u16,
    /// Whether a request that is under way begins here.
    head: bool,
    /// The request's last descriptor, and how many it has.
    last: u16,
    count: u16,
    /// How many parts it has.
    parts: u8,
    /// The allocation of each part.
    allocations: [u32; MAX_PARTS],
    /// Bytes that the device may write.
    writable: u32,
}

/// A queue that has been set up.
struct Inner {
    ring: Ring,
    bell: Bell,
    slots: Charged<Slot>,
    /// The first free descriptor, and how many are free.
    free: u16,
    free_count: u16,
    /// Requests that the device has.
    under_way: u16,
    /// Whether the device has been reset since the queue was set up.
    lost: bool,
}

/// A queue of a device.
pub(crate) struct Queue {
    inner: SpinLock<Option<Inner>>,
}

/// A request that is done.
pub(crate) struct Done {
    /// Its number.
    pub(crate) number: u16,
    /// Bytes that the device says it has written, or [`REQUEST_LOST`].
    pub(crate) written: u32,
    /// The allocation of each part.
    pub(crate) allocations: [u32; MAX_PARTS],
    /// How many parts it has.
    pub(crate) parts: usize,
}

parts_restart!(Queue: inner);

impl Queue {
    /// Bytes that one costs its SIP, beside its handle and slots.
    pub(crate) const COST: u64 = RING_BYTES;

    pub(crate) const fn new() -> Queue {
        Queue {
            inner: SpinLock::new(None),
        }
    }

    /// Whether it has been set up and not been given up.
    pub(crate) fn is_there(&self) -> bool {
        self.inner.lock().is_some()
    }

    /// Sets it up in the device, as number `index`, with at most `size` descriptors; `account` has
    /// paid [`Queue::COST`], and pays for the slots.
    ///
    /// # Errors
    /// A status, as for `queue_create`.
    pub(crate) fn create(
        &self,
        transport: Transport,
        index: u16,
        size: u32,
        account: &'static Account,
    ) -> Result<(), i32> {
        let mut place = self.inner.lock();
        if place.is_some() {
            return Err(status::HELD);
        }
        let most = u32::from(transport.queue_size(index)).min(MAX_QUEUE);
        if most == 0 {
            return Err(status::NOT_FOUND);
        }
        // The largest power of two that is not more than either.
        let size = 1u16 << size.min(most).max(1).ilog2();
        let slot = |i: usize| Slot {
            next: i as u16 + 1,
            ..Slot::default()
        };
        let none = |_| status::NO_RESOURCES;
        let slots = Charged::from_fn(usize::from(size), account, slot).map_err(none)?;
        let ring = Ring::new(size).ok_or(status::NO_RESOURCES)?;
        let set = transport.set_queue(index, &ring);
        let Some(bell) = transport.bell(index).filter(|_| set) else {
            // The device may know the ring: it is freed only if the device forgets it.
            if !transport.reset() {
                core::mem::forget(ring);
            }
            return Err(status::NOT_PERMITTED);
        };
        memory::count_pages((RING_BYTES / PAGE) as i64);
        *place = Some(Inner {
            ring,
            bell,
            slots,
            free: 0,
            free_count: size,
            under_way: 0,
            lost: false,
        });
        Ok(())
    }

    fn with<R>(&self, f: impl FnOnce(&mut Inner) -> R) -> Option<R> {
        self.inner.lock().as_mut().map(f)
    }

    /// Hands a request to the device: its number. The caller then takes the allocations out of its
    /// table; nothing has changed if this fails.
    ///
    /// # Errors
    /// A status, as for `queue_add`.
    pub(crate) fn add(&self, parts: &[Part]) -> Result<u16, i32> {
        self.with(|q| q.add(parts)).unwrap_or(Err(status::CLOSED))
    }

    /// Tells the device that requests have been added: whether it has done with some already, for
    /// which no interrupt may come. One comes for those that it is done with later: interrupts
    /// are wanted again before this looks. `None` if it has been reset.
    pub(crate) fn notify(&self) -> Option<bool> {
        let bell = self.with(|q| {
            (!q.lost).then(|| {
                q.ring.want_interrupts(false);
                q.bell
            })
        });
        // Not with the lock: the device may work while it is told.
        bell.flatten()?.ring();
        self.with(|q| {
            q.ring.want_interrupts(true);
            q.lost || q.ring.claimed() != 0
        })
    }

    /// A request that is done. It stays until [`Queue::finish`].
    ///
    /// # Errors
    /// `WOULD_BLOCK`, `CLOSED`; [`Nonsense`] if the device claims what cannot be.
    pub(crate) fn first_done(&self) -> Result<Result<Done, i32>, Nonsense> {
        self.with(|q| q.first_done())
            .unwrap_or(Ok(Err(status::CLOSED)))
    }

    /// The request that [`Queue::first_done`] has named is taken back.
    pub(crate) fn finish(&self, done: &Done) {
        self.with(|q| q.finish(done));
    }

    /// The device has been reset, and does not use the queue any more.
    pub(crate) fn lose(&self) {
        self.with(|q| q.lost = true);
    }

    /// Whether the device may still use memory of the queue: requests are under way, or it could
    /// write into the ring.
    pub(crate) fn is_used(&self) -> bool {
        self.with(|q| !q.lost).unwrap_or(false)
    }

    /// Frees it, with what its requests have. The device does not use it any more.
    pub(crate) fn dispose(&self, work: &mut Work) {
        let Some(mut q) = self.inner.lock().take() else {
            return;
        };
        debug_assert!(q.lost);
        memory::count_pages(-((RING_BYTES / PAGE) as i64));
        for slot in q.slots.iter_mut().filter(|s| s.head) {
            for (i, &a) in slot.parts().iter().enumerate() {
                if !slot.parts()[..i].contains(&a) {
                    exheap::free_later(a, work);
                }
            }
        }
    }

    /// Whether each allocation of its requests is there, as `is_there` says.
    pub(crate) fn allocations_are_there(&self, is_there: impl Fn(u32) -> bool) -> bool {
        let inner = self.inner.lock();
        let mut slots = inner.iter().flat_map(|q| q.slots.iter());
        slots.all(|s| !s.head || s.parts().iter().all(|&a| is_there(a)))
    }
}

/// A device claims to be done with a request that it does not have.
pub(crate) struct Nonsense;

impl Slot {
    fn parts(&self) -> &[u32] {
        &self.allocations[..usize::from(self.parts)]
    }
}

impl Inner {
    fn add(&mut self, parts: &[Part]) -> Result<u16, i32> {
        if self.lost {
            return Err(status::CLOSED);
        }
        let head = self.free;
        let mut at = Chain {
            next: head,
            last: head,
            count: 0,
            run: None,
        };
        let mut request = Slot::default();
        for (part, place) in parts.iter().zip(&mut request.allocations) {
            *place = part.allocation;
            request.parts += 1;
            if part.writes {
                request.writable += part.len;
            }
            let block = exheap::get(part.allocation)
                .map(|a: &Allocation| a.block.get())
                .ok_or(status::BAD_ARGUMENT)?;
            let mut run: Option<Run> = None;
            let mut done = 0;
            while done < part.len {
                let next = Run::first_of(block, part.start + done, part.len - done)
                    .ok_or(status::NO_RESOURCES)?;
                done += next.len();
                run = Some(match run {
                    None => next,
                    Some(before) => match before.joined(next) {
                        Some(both) => both,
                        None => {
                            self.describe(&mut at, before, part.writes)?;
                            next
                        }
                    },
                });
            }
            if let Some(run) = run {
                self.describe(&mut at, run, part.writes)?;
            }
        }
        self.end_chain(&at);
        let after = self.slots[usize::from(at.last)].next;
        request.head = true;
        request.last = at.last;
        request.count = at.count;
        request.next = self.slots[usize::from(head)].next;
        self.slots[usize::from(head)] = request;
        self.free = after;
        self.free_count -= at.count;
        self.under_way += 1;
        self.ring.offer(head);
        Ok(head)
    }

    /// Writes the next descriptor of a chain that is not yet a request.
    fn describe(&self, at: &mut Chain, run: Run, writes: bool) -> Result<(), i32> {
        if at.count == self.free_count {
            // With all descriptors free, there is room for no such request ever.
            return Err(if self.under_way == 0 {
                status::BAD_ARGUMENT
            } else {
                status::WOULD_BLOCK
            });
        }
        let next = self.slots[usize::from(at.next)].next;
        // There is one behind it, unless it turns out to be the last.
        self.ring
            .describe(at.next, run, writes, Some(next % self.ring.size()));
        at.run = Some((run, writes));
        at.last = at.next;
        at.next = next;
        at.count += 1;
        Ok(())
    }

    /// Says in a chain's last descriptor that it is the last.
    fn end_chain(&self, at: &Chain) {
        if let Some((run, writes)) = at.run {
            self.ring.describe(at.last, run, writes, None);
        }
    }

    fn first_done(&mut self) -> Result<Result<Done, i32>, Nonsense> {
        if self.lost {
            let left = self.slots.iter().position(|s| s.head);
            let done = left.map(|i| self.done(i as u16, REQUEST_LOST));
            return Ok(done.ok_or(status::CLOSED));
        }
        let claimed = self.ring.claimed();
        if claimed == 0 {
            return Ok(Err(status::WOULD_BLOCK));
        }
        let (head, written) = self.ring.next_used();
        let slot = self.slots.get(head as usize).filter(|s| s.head);
        let Some(slot) = slot.filter(|_| claimed <= self.under_way) else {
            return Err(Nonsense);
        };
        let written = written.min(slot.writable);
        Ok(Ok(self.done(head as u16, written)))
    }

    fn done(&self, number: u16, written: u32) -> Done {
        let slot = &self.slots[usize::from(number)];
        Done {
            number,
            written,
            allocations: slot.allocations,
            parts: usize::from(slot.parts),
        }
    }

    fn finish(&mut self, done: &Done) {
        let free = self.free;
        let slot = &mut self.slots[usize::from(done.number)];
        slot.head = false;
        let (last, count) = (slot.last, slot.count);
        self.slots[usize::from(last)].next = free;
        self.free = done.number;
        self.free_count += count;
        self.under_way -= 1;
        if done.written != REQUEST_LOST {
            self.ring.see();
        }
    }
}

/// Descriptors of a request that is being made.
struct Chain {
    next: u16,
    last: u16,
    count: u16,
    /// What the last one names.
    run: Option<(Run, bool)>,
}
