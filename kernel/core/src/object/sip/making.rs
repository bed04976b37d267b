//! How a SIP is made.

use super::{COST, IDS, LIVE, SIPS, Sip, all};
use crate::ground::image::Installed;
use crate::ground::memory::{PIECE, Slot};
use crate::ground::trace;
use crate::ground::trusted;
use crate::object::account::{self, Refused};
use crate::object::thread::{Start, Thread};
use core::sync::atomic::Ordering::Relaxed;
use sing_abi::status;
use sing_arch::lock::Counter;
use sing_image::meta::MemoryMode;
use sing_runtime::{Charged, Instance};

/// Puts arguments into their place; a status where they are none.
pub(crate) type Put<'a> = &'a dyn Fn(&mut [u8]) -> Result<(), i32>;

/// What to make a SIP of.
pub(crate) struct Making<'a> {
    /// Its image.
    pub(crate) image: &'static Installed,
    /// The SIP that makes it.
    pub(crate) parent: Option<&'static Sip>,
    /// Bytes of its arguments, and what puts them into place. Each is a `u32` length and bytes.
    pub(crate) arguments: (usize, Put<'a>),
    /// How many start-up endpoints it will be given.
    pub(crate) endpoints: usize,
}

/// Makes a SIP, not yet running and without start-up endpoints, which it is given once it is there. All of it is on its own
/// account from the beginning; where anything is refused, nothing is left behind.
///
/// # Errors
/// A status.
pub(crate) fn create(making: &Making<'_>) -> Result<&'static Sip, i32> {
    let (image, parent) = (making.image, making.parent);
    let above = match parent {
        Some(parent) => parent.account(),
        None => account::root().ok_or(status::NO_RESOURCES)?,
    };
    let account = match above.open(image.budget) {
        Ok(account) => account,
        Err(Refused::NoRoom) => return Err(status::NO_RESOURCES),
        Err(Refused::TooDeep) => return Err(status::TOO_DEEP),
    };
    // All that it will need for certain, so that the accounts above are asked once.
    let memory = image.template.memory_min() + making.arguments.0 as u64;
    let needed = COST + memory + image.stack + Thread::COST;
    let room = account.has_room(needed) && account.charge(COST);
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
    sip.id
        .store(IDS.take(|id| all().any(|s| s.id() == id)), Relaxed);
    sip.parent.store(parent.map_or(0, Sip::id), Relaxed);
    sip.account.set(Some(account));
    sip.gone.store(false, Relaxed);
    *sip.image.lock() = Some(image);
    sip.ended_cycles.store(0, Relaxed);
    sip.halted.store(0, Relaxed);
    sip.started.store(false, Relaxed);
    sip.ends_alone.store(false, Relaxed);
    sip.role.set(false, false);
    *sip.dying.lock() = None;
    sip.crash.lock().clear();

    if let Err(status) = fill(sip, making) {
        sip.forget_gifts();
        let memory = sip.with_instance(Instance::memory_len).unwrap_or(0);
        account.discharge(memory);
        sip.memory.take().give();
        account.close();
        sip.forget();
        return Err(status);
    }
    if let Some(p) = parent {
        p.keep();
        sip.parent_sip.set(parent);
        p.children.lock().push(sip);
        sip.depend_on(p);
    }
    sip.references.store(1, Relaxed);
    LIVE.add(1);
    sip.alive.store(true, Relaxed);
    trace::created(sip);
    Ok(sip)
}

/// Gives a new SIP what it begins with: room for its arguments and endpoints, memory, an instance, its first thread.
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
    let memory = template.memory_min();
    if !account.charge(memory) {
        return Err(status::NO_RESOURCES);
    }
    let data = template.data_end();
    let at_once = if data <= PIECE { data } else { 0 };
    let made = (|| {
        let mode = template.meta().memory_mode;
        // A guarded memory has all addresses whatever it may become.
        let max = match mode {
            MemoryMode::Guard => memory,
            MemoryMode::Explicit => template.memory_max().min(account.limit()).max(memory),
        };
        // More than a piece of initial data is put in place by its first thread, in steps.
        let slot = Slot::take(mode, max, memory, at_once)?;
        sip.memory.place(slot);
        trusted::instance(template, &sip.memory, account).ok()
    })();
    if made.is_none() {
        account.discharge(memory);
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
