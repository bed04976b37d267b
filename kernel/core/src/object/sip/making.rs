//! Creating a SIP: its record, account, arguments, memory, instance and first thread, all of them
//! or none.

use super::{COST, IDS, LIVE, SIPS, Sip};
use crate::ground::image::Installed;
use crate::ground::memory::{PIECE, Slot};
use crate::ground::trace;
use crate::ground::trusted;
use crate::object::account::{self, Refused};
use crate::object::thread::{Start, Thread};
use core::sync::atomic::Ordering::Relaxed;
use sing_abi::status;
use sing_arch::lock::Counter;
use sing_image::manifest::LEAST_RECORDS;
use sing_image::meta::{MemoryMode, MemoryType};
use sing_runtime::Charged;

/// Bytes of addresses that the memories behind a SIP's first have together.
const FURTHER_ADDRESSES: u64 = 4 << 30;

// The verifier counts on it.
const _: () = assert!(COST + Thread::COST >= LEAST_RECORDS);

/// Writes the arguments into a buffer; a status if they are invalid.
pub(crate) type Put<'a> = &'a dyn Fn(&mut [u8]) -> Result<(), i32>;

/// What to create a SIP from.
pub(crate) struct Making<'a> {
    /// Its image.
    pub(crate) image: &'static Installed,
    /// The SIP that creates it; none for the kernel.
    pub(crate) parent: Option<&'static Sip>,
    /// The size of its arguments in bytes, and the function that writes them. Each argument is a
    /// `u32` length and bytes.
    pub(crate) arguments: (usize, Put<'a>),
    /// The number of start-up endpoints it will be given.
    pub(crate) endpoints: usize,
}

impl Making<'_> {
    /// Bytes that it certainly takes, before it runs.
    pub(crate) fn least(&self) -> u64 {
        let memory = self.image.template.all_memories_cost() + self.arguments.0 as u64;
        COST + memory + self.image.stack + Thread::COST
    }
}

/// Creates a SIP that does not run yet, and without its start-up endpoints. Everything is on its
/// own account from the beginning; if anything is refused, nothing is left behind.
///
/// # Errors
/// `NO_RESOURCES`, `TOO_DEEP`, or a status from the arguments.
pub(crate) fn create(making: &Making<'_>) -> Result<&'static Sip, i32> {
    create_within(making, making.image.budget)
}

/// As [`create`], with this budget, which is not more than the image's.
pub(crate) fn create_within(making: &Making<'_>, budget: u64) -> Result<&'static Sip, i32> {
    let (image, parent) = (making.image, making.parent);
    let above = match parent {
        Some(parent) => parent.account(),
        None => account::root().ok_or(status::NO_RESOURCES)?,
    };
    let account = match above.open(budget) {
        Ok(account) => account,
        Err(Refused::NoRoom) => return Err(status::NO_RESOURCES),
        Err(Refused::TooDeep) => return Err(status::TOO_DEEP),
    };
    // Requests all that it will certainly need, so that the accounts above are asked only once.
    let room = account.has_room(making.least()) && account.charge(COST);
    let taken = room.then(|| SIPS.take());
    let Some(Some((index, sip))) = taken else {
        if taken.is_some() {
            account.discharge(COST);
        }
        account.close();
        account.release();
        return Err(status::NO_RESOURCES);
    };
    sip.index.store(index, Relaxed);
    let in_use = |i| SIPS.get(i).filter(|s| s.exists()).map(Sip::id);
    let id = IDS.take(|| SIPS.end(), in_use);
    sip.id.store(id, Relaxed);
    sip.parent.store(parent.map_or(0, Sip::id), Relaxed);
    sip.account.set(Some(account));
    sip.gone.store(false, Relaxed);
    *sip.image.lock() = Some(image);
    sip.ended_cycles.store(0, Relaxed);
    sip.halted.store(0, Relaxed);
    sip.started.store(false, Relaxed);
    sip.ends_alone.store(false, Relaxed);
    sip.supervised.store(false, Relaxed);
    sip.role.set(false, false);
    *sip.dying.lock() = None;
    sip.crash.lock().clear();

    if let Err(status) = fill(sip, making) {
        sip.free_startup();
        account.discharge(sip.memory.cost());
        sip.memory.take().give();
        while let Some(memory) = sip.memory.take_further() {
            memory.give();
        }
        account.close();
        sip.free_record();
        return Err(status);
    }
    if let Some(p) = parent {
        p.retain_record();
        sip.parent_sip.set(parent);
        p.children.lock().push(sip);
        p.role.made();
        sip.depend_on(p);
    }
    sip.references.store(1, Relaxed);
    LIVE.add(1);
    sip.alive.store(true, Relaxed);
    trace::created(sip);
    Ok(sip)
}

/// Gives a new SIP its arguments, room for its endpoints, memory, an instance, and its first
/// thread.
fn fill(sip: &'static Sip, making: &Making<'_>) -> Result<(), i32> {
    let account = sip.account();
    let template = &making.image.template;
    let none = |_| status::NO_RESOURCES;
    let (len, put) = making.arguments;
    let mut arguments = Charged::from_fn(len, account, |_| 0).map_err(none)?;
    put(&mut arguments)?;
    let mut endpoints = Charged::new();
    endpoints
        .reserve_exact(making.endpoints, account)
        .map_err(none)?;
    let (memory, all) = (template.memory_min(), template.all_memories_cost());
    if !account.charge(all) {
        return Err(status::NO_RESOURCES);
    }
    let data = template.data_end();
    let at_once = if data <= PIECE { data } else { 0 };
    let made = (|| {
        let mode = template.meta().memory_mode;
        // A guarded memory reserves the whole address range regardless of its maximum.
        let max = match mode {
            MemoryMode::Guard => memory,
            MemoryMode::Explicit => template.memory_max().min(account.limit()).max(memory),
        };
        // Initial data beyond a piece is put in place by its first thread, in steps.
        let slot = Slot::take(mode, max, memory, at_once, making.image.expected())?;
        sip.memory.place(slot);
        let further = template.further();
        let take = |i: usize| further_slot(&further[i], further.len(), account.limit());
        // Most programs have none.
        if !further.is_empty() && !sip.memory.place_further(further.len(), account, take) {
            return None;
        }
        let devices = &making.image.manifest.devices;
        let registers = devices.iter().any(|d| !d.registers.is_empty());
        trusted::instance(template, &sip.memory, registers, account).ok()
    })();
    if made.is_none() {
        account.discharge(all);
        return Err(status::NO_RESOURCES);
    }
    let mut at = 0;
    while at < at_once
        && let Some(next) = sip.place_data(at).map_err(|_| status::NO_RESOURCES)?
    {
        at = next;
    }
    let thread = Thread::create(sip, &Start::Main).ok_or(status::NO_RESOURCES)?;
    let mut inner = sip.inner.lock();
    inner.add(thread);
    inner.arguments = arguments;
    inner.endpoints = endpoints;
    Ok(())
}

/// Takes a slot for one of `count` memories behind the first, on an account of this limit. They
/// have no guards, so each has addresses for what it may become; all together those of 4 GiB,
/// unless they start with more.
fn further_slot(ty: &MemoryType, count: usize, limit: u64) -> Option<Slot> {
    let most = ty.max_bytes().min(limit);
    let max = most.min(FURTHER_ADDRESSES / count as u64);
    let len = ty.min_bytes();
    Slot::take(MemoryMode::Explicit, max.max(len), len, 0, 0)
}
