//! Software-isolated processes ([O] 3.3, [S] 2.1): a closed object space, a closed code space, handles, a
//! budget, and how they end.
//!
//! Invariants:
//! - The code of a SIP is its image's, fixed when it is made.
//! - Nothing but a SIP's own kernel calls changes its state, except its making, suspension and end.
//! - When [`end`] returns, everything that the SIP owned is given back, at a cost in proportion to it;
//!   only its exit status remains, for as long as a handle names it.

mod accounts;
mod ending;
mod endpoints;
mod memory;

pub(crate) use ending::{end, exit_current, is_dying, reap, stop, trap};

use crate::channel::Channel;
use crate::crash::Crash;
use crate::exheap::Graves;
use crate::handle::HandleTable;
use crate::image::Installed;
use crate::memory::{DEFAULT_STACK, Slot, Stack};
use crate::thread::{Start, State, Thread};
use crate::trace;
use crate::trusted;
use crate::wait::WaitList;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering::Relaxed};
use sing_abi::status;
use sing_abi::trap::Trap;
use sing_arch::link::{Link, Linked, List, Node};
use sing_arch::lock::{Counter, SpinLock};
use sing_arch::slab::Slab;
use sing_image::manifest::Side;
use sing_runtime::{Instance, Template};

/// Budget of a SIP whose manifest names none, in bytes.
const DEFAULT_BUDGET: u64 = 64 << 20;

/// How a SIP ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It ended itself with this exit code.
    Exit(i32),
    /// It was stopped, with this exit code.
    Stop(i32),
    /// Its code trapped.
    Trap(Trap),
}

impl End {
    /// The number of a trap.
    pub(crate) const TRAPPED: u32 = 2;

    /// How, and with which code, as numbers (`process_exit_status`).
    pub(crate) fn to_numbers(self) -> (u32, i32) {
        match self {
            End::Exit(code) => (0, code),
            End::Stop(code) => (1, code),
            End::Trap(trap) => (Self::TRAPPED, i32::from(trap.code())),
        }
    }
}

/// A SIP.
#[derive(Default)]
pub(crate) struct Sip {
    node: Node<Sip>,
    index: AtomicU32,
    id: AtomicU32,
    /// Id of the SIP that made it; 0 for the kernel.
    pub(crate) parent: AtomicU32,
    /// Whether it is there at all, and has not ended.
    alive: AtomicBool,
    /// Whether all that it had has been given back.
    gone: AtomicBool,
    started: AtomicBool,
    /// How it ended, as numbers.
    end: (AtomicU32, AtomicI32),
    image: SpinLock<Option<&'static Installed>>,
    /// Its handles.
    pub(crate) handles: SpinLock<HandleTable>,
    inner: SpinLock<Inner>,
    slot: SpinLock<Slot>,
    /// Address of its memory.
    memory_base: AtomicU64,
    /// Bytes of it that are accessible.
    committed: AtomicU64,
    /// Bytes charged to it.
    pub(crate) charged: AtomicU64,
    /// The most bytes that may be charged to it.
    pub(crate) budget: AtomicU64,
    /// Bytes of its exchange-heap allocations.
    pub(crate) exchange: AtomicU64,
    /// Cycles of its threads that have ended.
    pub(crate) ended_cycles: AtomicU64,
    /// How often it has been suspended more than resumed.
    pub(crate) suspended: AtomicU32,
    /// Threads that wait for its end.
    pub(crate) joiners: SpinLock<WaitList>,
    /// Handles to it, and one for being alive.
    references: AtomicU32,
    /// Why else its record is kept: one for each child's, and one while it pays for what is on its way elsewhere.
    keepers: AtomicU32,
    /// Whether it has ended and pays for what is on its way elsewhere, as do those who made it.
    pays: AtomicBool,
    /// Allocations that it has given up, not yet given back.
    pub(crate) graves: SpinLock<Graves>,
    /// Its death is the system's.
    pub(crate) essential: AtomicBool,
    /// Where it crashed.
    pub(crate) crash: SpinLock<Crash>,
    dying: SpinLock<Option<End>>,
    /// The SIP that made it. Its record is kept as long as this one.
    parent_sip: Link<Sip>,
}

/// What else a SIP has.
#[derive(Default)]
struct Inner {
    instance: Option<Instance>,
    threads: Vec<&'static Thread>,
    arguments: Vec<u8>,
    /// Start-up endpoints that it has not taken yet, with the names of the contracts that its manifest says.
    endpoints: Vec<StartupEnd>,
}

impl Linked for Sip {
    fn node(&self) -> &Node<Sip> {
        &self.node
    }
}

static SIPS: Slab<Sip> = Slab::new();
static NEXT_ID: AtomicU32 = AtomicU32::new(1);
/// SIPs that live, or that handles name.
static LIVE: AtomicU32 = AtomicU32::new(0);
/// SIPs whose current thread has ended them, until the idle context knows of it.
static EXITED: SpinLock<List<Sip>> = SpinLock::new(List::new());
/// SIPs that have ended, some of which is to be given back.
static DYING: SpinLock<List<Sip>> = SpinLock::new(List::new());

/// An end of a channel that a SIP is given at its start, or none.
pub(crate) type StartupEnd = Option<(&'static Channel, Side)>;

/// What to make a SIP of.
pub(crate) struct Making {
    /// Its image.
    pub(crate) image: &'static Installed,
    /// The SIP that makes it.
    pub(crate) parent: Option<&'static Sip>,
    /// Arguments: each a `u32` length and bytes.
    pub(crate) arguments: Vec<u8>,
}

/// All SIPs that exist, ended ones with handles included.
pub(crate) fn all() -> impl Iterator<Item = &'static Sip> {
    SIPS.all().filter(|s| s.references.load(Relaxed) > 0)
}

/// SIPs that exist.
pub(crate) fn live() -> u32 {
    LIVE.load(Relaxed)
}

/// The live SIP with this id.
pub(crate) fn find(id: u32) -> Option<&'static Sip> {
    all().find(|s| s.id() == id && s.is_alive())
}

/// Makes a SIP, not yet running and without start-up endpoints, which it is given once it is there.
///
/// # Errors
/// A status.
pub(crate) fn create(making: Making) -> Result<&'static Sip, i32> {
    let Making {
        image,
        parent,
        arguments,
    } = making;
    let template = &image.template;
    let manifest = &image.manifest;
    let Some((index, sip)) = SIPS.take() else {
        return Err(status::NO_RESOURCES);
    };
    sip.index.store(index, Relaxed);
    sip.id.store(NEXT_ID.add(1), Relaxed);
    sip.parent.store(parent.map_or(0, Sip::id), Relaxed);
    sip.parent_sip.set(parent);
    sip.gone.store(false, Relaxed);
    sip.pays.store(false, Relaxed);
    *sip.image.lock() = Some(image);
    let budget = if manifest.memory == 0 {
        DEFAULT_BUDGET
    } else {
        manifest.memory
    };
    sip.budget.store(budget, Relaxed);
    sip.charged.store(0, Relaxed);
    sip.exchange.store(0, Relaxed);
    sip.ended_cycles.store(0, Relaxed);
    sip.suspended.store(0, Relaxed);
    sip.started.store(false, Relaxed);
    sip.essential.store(false, Relaxed);
    *sip.dying.lock() = None;
    sip.crash.lock().clear();

    let stack_bytes = sip.stack_bytes();
    let made = sip
        .charge(template.memory_min() + stack_bytes)
        .then_some(())
        .and_then(|()| {
            let (max, len) = (template.memory_max().min(budget), template.memory_min());
            let mode = template.meta().memory_mode;
            let slot = Slot::take(mode, max.max(len), len, template.data_end())?;
            sip.memory_base.store(slot.base, Relaxed);
            sip.committed.store(slot.committed, Relaxed);
            *sip.slot.lock() = slot;
            // The installer checked that the data fits, so a trap here means a broken image.
            let instance = trusted::instance(template, slot.base, slot.committed).ok()?;
            sip.inner.lock().instance = Some(instance);
            Thread::create(sip, stack_bytes, &Start::Main)
        });
    let Some(thread) = made else {
        sip.inner.lock().instance = None;
        core::mem::take(&mut *sip.slot.lock()).give();
        SIPS.give(index);
        return Err(status::NO_RESOURCES);
    };
    parent.inspect(|p| p.keep());
    {
        let mut inner = sip.inner.lock();
        inner.threads.push(thread);
        inner.arguments = arguments;
    }
    sip.references.store(1, Relaxed);
    LIVE.add(1);
    sip.alive.store(true, Relaxed);
    trace::created(sip);
    Ok(sip)
}

impl Sip {
    /// Its id; never used twice.
    #[inline(always)]
    pub(crate) fn id(&self) -> u32 {
        self.id.load(Relaxed)
    }

    /// Whether it has not ended.
    pub(crate) fn is_alive(&self) -> bool {
        self.alive.load(Relaxed)
    }

    /// Whether it has been started.
    pub(crate) fn is_started(&self) -> bool {
        self.started.load(Relaxed)
    }

    /// Its image.
    ///
    /// # Panics
    /// For an object that is no SIP now.
    #[inline]
    pub(crate) fn image(&self) -> &'static Installed {
        self.image.lock().expect("a SIP has an image")
    }

    /// Its image's template.
    pub(crate) fn template(&self) -> &'static Arc<Template> {
        &self.image().template
    }

    /// Its name.
    pub(crate) fn name(&self) -> &'static str {
        &self.image().name
    }

    /// The SIP that made it, while that lives.
    pub(crate) fn is_child_of(&self, parent: &Sip) -> bool {
        self.parent.load(Relaxed) == parent.id()
    }

    /// Bytes of each of its threads' stacks.
    pub(crate) fn stack_bytes(&self) -> u64 {
        let asked = u64::from(self.image().manifest.stack);
        Stack::bytes_for(if asked == 0 { DEFAULT_STACK } else { asked })
    }

    /// Works with its instance; `None` where it has none.
    pub(crate) fn with_instance<R>(&self, f: impl FnOnce(&Instance) -> R) -> Option<R> {
        self.inner.lock().instance.as_ref().map(f)
    }

    /// Lets it run.
    pub(crate) fn start(&'static self) -> bool {
        if !self.is_alive() || self.started.swap(true, Relaxed) {
            return false;
        }
        let first = self.inner.lock().threads.first().copied();
        if let Some(t) = first {
            t.unblocked();
        }
        true
    }

    /// Keeps it from running until resumed as often.
    pub(crate) fn suspend(&'static self) {
        if self.suspended.add(1) == 0 {
            self.threads().iter().for_each(|t| t.hold());
        }
    }

    /// Undoes a suspend. False where there was none.
    pub(crate) fn resume(&'static self) -> bool {
        match self.suspended.load(Relaxed) {
            0 => false,
            1 => {
                self.suspended.store(0, Relaxed);
                self.threads().iter().for_each(|t| t.unhold());
                true
            }
            n => {
                self.suspended.store(n - 1, Relaxed);
                true
            }
        }
    }

    /// Its threads.
    pub(crate) fn threads(&self) -> Vec<&'static Thread> {
        self.inner.lock().threads.clone()
    }

    /// Adds a thread that was made for it.
    pub(crate) fn add_thread(&self, t: &'static Thread) {
        self.inner.lock().threads.push(t);
    }

    /// Cycles that it has run.
    pub(crate) fn cycles(&self) -> u64 {
        let live: u64 = self
            .inner
            .lock()
            .threads
            .iter()
            .map(|t| t.cycles.load(Relaxed))
            .sum();
        live + self.ended_cycles.load(Relaxed)
    }

    /// Pages that it occupies: committed memory, stacks, allocations.
    pub(crate) fn pages(&self) -> u64 {
        let stacks: u64 = self
            .inner
            .lock()
            .threads
            .iter()
            .map(|t| t.stack().size)
            .sum();
        let exchange = self.exchange.load(Relaxed);
        (self.committed.load(Relaxed) + stacks + exchange).div_ceil(sing_abi::PAGE)
    }

    /// Whether it has ended, and all that it had has been given back.
    pub(crate) fn has_ended(&self) -> bool {
        self.gone.load(Relaxed)
    }

    /// How it ended; `None` while it has not.
    pub(crate) fn exit_status(&self) -> Option<(u32, i32)> {
        self.has_ended()
            .then(|| (self.end.0.load(Relaxed), self.end.1.load(Relaxed)))
    }

    /// One more handle names it.
    pub(crate) fn retain(&self) {
        self.references.add(1);
    }

    /// Its parent gives up its handle, the only one. Where it has not been started it never will be, and ends.
    pub(crate) fn let_go(&'static self) {
        if !self.is_started() {
            end(self, End::Stop(0));
        }
        self.release();
    }

    /// One handle fewer.
    pub(crate) fn release(&'static self) {
        if self.references.sub(1) == 1 {
            LIVE.sub(1);
            if self.keepers.load(Relaxed) == 0 {
                self.forget();
            }
        }
    }

    /// Its record is needed further.
    fn keep(&self) {
        self.keepers.add(1);
    }

    /// Its record is needed by one fewer.
    fn unkeep(&'static self) {
        if self.keepers.sub(1) == 1 && self.references.load(Relaxed) == 0 {
            self.forget();
        }
    }

    /// Nobody needs its record any more, nor it that of its parent; and so on up.
    fn forget(&'static self) {
        let mut sip = self;
        loop {
            let parent = sip.parent_sip.take();
            SIPS.give(sip.index.load(Relaxed));
            match parent {
                Some(p) if p.keepers.sub(1) == 1 && p.references.load(Relaxed) == 0 => sip = p,
                _ => return,
            }
        }
    }
}

/// State of a SIP, for `ps`.
pub(crate) fn state_of(sip: &Sip) -> sing_image::snapshot::State {
    use sing_image::snapshot::State as Shown;
    if !sip.is_alive() {
        return Shown::Ended;
    }
    if sip.suspended.load(Relaxed) != 0 {
        return Shown::Suspended;
    }
    if !sip.is_started() {
        return Shown::Created;
    }
    let ready = sip
        .threads()
        .iter()
        .any(|t| matches!(t.state(), State::Ready | State::Running));
    if ready { Shown::Ready } else { Shown::Blocked }
}
