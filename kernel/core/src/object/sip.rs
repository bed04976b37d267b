//! Software-isolated processes ([O] 3.3, [S] 2.1): a closed object space, a closed code space, handles, a
//! budget, and how they end.
//!
//! Invariants:
//! - The code of a SIP is its image's, fixed when it is made.
//! - Nothing but a SIP's own kernel calls changes its state, except its making, suspension and end.
//! - A SIP that is suspended or has ended is marked, at a cost that does not depend on what it has; its threads are held
//!   when they would become runnable, or run. So nothing has to be done to them at once.
//! - When it is gone ([`Sip::has_ended`]), everything that it owned is given back, at a cost in proportion to it;
//!   only its exit status remains, for as long as a handle names it.
//! - Its record is free when nobody counts any more: no handle, no child, no debt, no thread that works with it
//!   ([`Kept`]), and it is not alive.

mod dependants;
mod ending;
mod endpoints;
mod family;
mod making;
mod memory;
mod role;
mod sweep;
mod threads;

use dependants::OfGuardian;
use ending::begin;
pub(crate) use ending::{discard, exit_current, is_dying, reap, stop, stop_only, trap, work_off};
pub(crate) use family::{resume_all, suspend_all};
pub(crate) use making::{Making, create};
pub(crate) use role::Role;
pub(crate) use sweep::{records, sweep};
pub(crate) use threads::Totals;

use crate::ground::ids::Ids;
use crate::ground::image::Installed;
use crate::ground::memory::LinearMemory;
use crate::ground::work::Work;
use crate::mechanism::cpu;
use crate::mechanism::interrupt;
use crate::mechanism::sched::{Machine, Scheduler};
use crate::mechanism::wait::{WaitList, Waitable};
use crate::object::account::Account;
use crate::object::channel::Channel;
use crate::object::crash::Crash;
use crate::object::handle::HandleTable;
use crate::object::host::Guest;
use crate::object::set::{Closing, Member};
use crate::object::thread::{OfSip, Thread};
use alloc::sync::Arc;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering::Relaxed};
pub(crate) use sing_abi::exit::End;
use sing_arch::link::{Link, Linked, List, Node};
use sing_arch::lock::{Counter, SpinLock};
use sing_arch::slab::Slab;
use sing_image::manifest::Side;
use sing_runtime::{Charged, Instance, Template};

/// What a SIP costs beside its memory, threads and handles.
const COST: u64 = Slab::<Sip>::RECORD;

/// The role of a node by which a SIP stands in the list of its parent's children.
struct OfParent;

/// A SIP.
#[derive(Default)]
pub(crate) struct Sip {
    /// Its place among those that are given back.
    node: Node<Sip>,
    /// Its place among its parent's children.
    sibling: Node<Sip, OfParent>,
    /// SIPs that it has made whose records there are, whether they have ended or not.
    children: SpinLock<List<Sip, OfParent>>,
    /// Its place among those that end with its guardian.
    dependant: Node<Sip, OfGuardian>,
    /// The SIP with which it ends.
    guardian: Link<Sip>,
    /// Those that end with it.
    dependants: SpinLock<List<Sip, OfGuardian>>,
    index: AtomicU32,
    id: AtomicU32,
    /// Id of the SIP that made it; 0 for the kernel.
    pub(crate) parent: AtomicU32,
    /// Whether it is there at all, and has not ended.
    alive: AtomicBool,
    /// Whether all that it had has been given back.
    gone: AtomicBool,
    started: AtomicBool,
    /// Whether those that depend on it go on when it ends.
    ends_alone: AtomicBool,
    /// How it ended, as numbers.
    end: (AtomicU32, AtomicI32),
    image: SpinLock<Option<&'static Installed>>,
    /// Its handles.
    pub(crate) handles: SpinLock<HandleTable>,
    inner: SpinLock<Inner>,
    memory: LinearMemory,
    /// What it pays from.
    account: Link<Account>,
    /// Cycles of its threads that have ended.
    pub(crate) ended_cycles: AtomicU64,
    /// Why it must not run: how often it has been suspended more than resumed, and [`ENDED`].
    halted: AtomicU32,
    /// Threads of it that would run if it could.
    pub(crate) held: SpinLock<List<Thread>>,
    /// Threads that wait for its end.
    pub(crate) joiners: SpinLock<WaitList>,
    /// Handles to it, and one for being alive.
    references: AtomicU32,
    /// Why else its record is kept: one for each child's, and one for each that works with it meanwhile.
    keepers: AtomicU32,
    /// Endpoints that it has closed at which messages wait, to be given back.
    pub(crate) closing: SpinLock<List<Member, Closing>>,
    /// What its end means for the system.
    pub(crate) role: Role,
    /// Where it crashed.
    pub(crate) crash: SpinLock<Crash>,
    dying: SpinLock<Option<End>>,
    /// The SIP that made it. Its record is kept as long as this one.
    parent_sip: Link<Sip>,
    /// Itself, where somebody else looks after it.
    guest: Link<Guest>,
}

/// What else a SIP has.
#[derive(Default)]
struct Inner {
    threads: List<Thread, OfSip>,
    /// How many those are.
    count: u32,
    arguments: Charged<u8>,
    /// Start-up endpoints that it has not taken yet, with the names of the contracts that its manifest says.
    endpoints: Charged<StartupEnd>,
}

impl Inner {
    fn add(&mut self, t: &'static Thread) {
        self.threads.push(t);
        self.count += 1;
    }
}

impl Linked for Sip {
    fn node(&self) -> &Node<Sip> {
        &self.node
    }
}

impl Linked<OfGuardian> for Sip {
    fn node(&self) -> &Node<Sip, OfGuardian> {
        &self.dependant
    }
}

impl Linked<OfParent> for Sip {
    fn node(&self) -> &Node<Sip, OfParent> {
        &self.sibling
    }
}

impl Waitable for Sip {
    fn acquire(&'static self, _: &'static Thread) -> bool {
        self.has_ended()
    }

    fn with_waiters(&self, f: &mut dyn FnMut(&WaitList)) {
        f(&self.joiners.lock());
    }
}

/// A counted name of a SIP: its record stays that SIP's while this value is there.
pub(crate) struct Kept(&'static Sip);

impl Kept {
    /// Names a SIP.
    pub(crate) fn of(sip: &'static Sip) -> Kept {
        sip.keep();
        Kept(sip)
    }

    /// Which one.
    pub(crate) fn sip(&self) -> &'static Sip {
        self.0
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.0.unkeep();
    }
}

/// Set in `Sip::halted` where the SIP has ended.
const ENDED: u32 = 1 << 31;
/// How often it can be suspended more than resumed: what is counted stays below [`ENDED`].
const MOST_SUSPENDS: u32 = ENDED - 1;

static SIPS: Slab<Sip> = Slab::new();
static IDS: Ids = Ids::new();
/// SIPs that live, or that handles name.
static LIVE: AtomicU32 = AtomicU32::new(0);
/// SIPs whose current thread has ended them, until the idle context knows of it.
static EXITED: SpinLock<List<Sip>> = SpinLock::new(List::new());
/// SIPs that have ended, some of which is to be given back.
static DYING: SpinLock<List<Sip>> = SpinLock::new(List::new());

/// An end of a channel that a SIP is given at its start, or none.
pub(crate) type StartupEnd = Option<(&'static Channel, Side)>;

/// All SIPs that exist, ended ones with handles included.
fn all() -> impl Iterator<Item = &'static Sip> {
    SIPS.all().filter(|s| s.exists())
}

/// The record with this index, whether a SIP has it now or not.
pub(crate) fn record(index: u32) -> Option<&'static Sip> {
    SIPS.get(index)
}

/// SIPs that exist.
pub(crate) fn live() -> u32 {
    LIVE.load(Relaxed)
}

/// The live SIP with this id. Others may run before it is found, and none afterwards.
pub(crate) fn find(id: u32) -> Option<&'static Sip> {
    let mut work = Work::step();
    (0..).map_while(record).find(|sip| {
        if work.is_spent() {
            interrupt::let_others_run();
            work = Work::step();
        }
        work.spend(0);
        sip.exists() && sip.id() == id && sip.is_alive()
    })
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

    /// Itself as one that a host looks after, if it is.
    #[inline(always)]
    pub(crate) fn guest(&self) -> Option<&'static Guest> {
        self.guest.get()
    }

    /// A host looks after it from now on.
    pub(crate) fn set_guest(&self, guest: &'static Guest) {
        self.guest.set(Some(guest));
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

    /// Its account.
    ///
    /// # Panics
    /// For an object that is no SIP now.
    #[inline(always)]
    pub(crate) fn account(&self) -> &'static Account {
        self.account.get().expect("a SIP has an account")
    }

    /// Its name.
    pub(crate) fn name(&self) -> &'static str {
        &self.image().name
    }

    /// Bytes of each of its threads' stacks.
    pub(crate) fn stack_bytes(&self) -> u64 {
        self.image().stack
    }

    /// Works with its instance; `None` where it has none.
    pub(crate) fn with_instance<R>(&self, f: impl FnOnce(&Instance) -> R) -> Option<R> {
        self.memory.with_instance(f)
    }

    /// Lets it run.
    pub(crate) fn start(&'static self) -> bool {
        if !self.is_alive() || self.is_started() {
            return false;
        }
        self.started.store(true, Relaxed);
        let first = self.inner.lock().threads.first();
        if let Some(t) = first {
            t.unblocked();
        }
        true
    }

    /// Whether it must not run: it is suspended, or has ended.
    #[inline(always)]
    pub(crate) fn is_halted(&self) -> bool {
        self.halted.load(Relaxed) != 0
    }

    /// Takes a thread of this SIP that would run if the SIP could.
    #[cold]
    #[inline(never)]
    pub(crate) fn hold(&self, t: &'static Thread) {
        self.held.lock().push(t);
    }

    /// Keeps it from running until resumed as often. False where that is as often as can be counted.
    pub(crate) fn suspend(&self) -> bool {
        let can = self.halted.load(Relaxed) & !ENDED < MOST_SUSPENDS;
        if can {
            self.halted.add(1);
        }
        can
    }

    /// Undoes a suspend. False where there was none. The threads that were held follow in steps between which others run; the
    /// caller's thread keeps the record from then on, for the caller to let go.
    pub(crate) fn resume(&'static self) -> bool {
        if self.halted.load(Relaxed) & !ENDED == 0 {
            return false;
        }
        if self.halted.sub(1) == 1 {
            self.free_held();
        }
        true
    }

    /// Lets the threads run that are held, up to its end or its next suspend.
    fn free_held(&'static self) {
        let mut work = Work::step();
        while !self.is_halted() {
            // The list's lock must not be held where others run.
            let next = self.held.lock().pop();
            let Some(t) = next else { return };
            cpu::this().queue.lock().unblocked(t, &Machine);
            work.spend(0);
            if work.is_spent() {
                cpu::current().keep(Kept::of(self));
                interrupt::let_others_run();
                work = Work::step();
            }
        }
    }

    /// Works with each of its threads.
    pub(crate) fn each_thread(&self, f: impl FnMut(&'static Thread)) {
        self.inner.lock().threads.iter().for_each(f);
    }

    /// How many threads it has.
    pub(crate) fn thread_count(&self) -> u32 {
        self.inner.lock().count
    }

    /// Whether it exists: an ended one does while a handle names it.
    pub(crate) fn exists(&self) -> bool {
        self.references.load(Relaxed) > 0
    }

    /// Adds a thread that was made for it.
    pub(crate) fn add_thread(&self, t: &'static Thread) {
        self.inner.lock().add(t);
    }

    /// It has a thread no more.
    pub(crate) fn remove_thread(&self, t: &'static Thread) {
        let mut inner = self.inner.lock();
        if inner.threads.remove(t) {
            inner.count -= 1;
        }
    }

    /// Pages that it occupies: committed memory, stacks, allocations.
    pub(crate) fn pages(&self, totals: &Totals) -> u64 {
        let exchange = self.account().exchange.load(Relaxed);
        (self.memory.committed() + totals.stacks + exchange).div_ceil(sing_abi::PAGE)
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
            discard(self);
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
            if let Some(p) = parent {
                p.children.lock().remove(sip);
            }
            let account = sip.account();
            SIPS.give(sip.index.load(Relaxed));
            account.settle(COST);
            match parent {
                Some(p) if p.keepers.sub(1) == 1 && p.references.load(Relaxed) == 0 => sip = p,
                _ => return,
            }
        }
    }
}

/// State of a SIP, for `ps`.
pub(crate) fn state_of(sip: &Sip, totals: &Totals) -> sing_image::snapshot::State {
    use sing_image::snapshot::State as Shown;
    if !sip.is_alive() {
        Shown::Ended
    } else if sip.is_halted() {
        Shown::Suspended
    } else if !sip.is_started() {
        Shown::Created
    } else if totals.ready {
        Shown::Ready
    } else {
        Shown::Blocked
    }
}
