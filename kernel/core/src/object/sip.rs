//! Software-isolated processes ([O] 3.3, [S] 2.1): a closed object space, a closed code space,
//! handles, a budget, and how they end.
//!
//! Invariants:
//! - The code of a SIP is its image's, fixed when it is made.
//! - A SIP's state changes only by its own kernel calls, its creation, suspension and end.
//! - Suspending or ending a SIP sets a mark, in constant time; its threads are held when they would
//!   become runnable or run next. So neither has to visit the threads.
//! - When it is gone ([`Sip::has_ended`]), everything that it owned has been freed, at a cost in
//!   proportion to it; only its exit status remains, while a handle refers to it.
//! - Its record is free when it has ended and nothing refers to it: no handle, child, or thread
//!   that works with it ([`Kept`]). Its account lives on while anything is charged to it.

mod dependants;
mod ending;
mod endpoints;
mod family;
pub(crate) mod layout;
mod making;
mod memory;
mod resuming;
mod role;
mod succession;
mod sweep;
mod threads;

use crate::ground::trusted::{Ended, variables};
use dependants::OfGuardian;
use ending::begin;
pub(crate) use ending::{
    discard, end, exit_current, is_dying, reap, stop, stop_only, trap, work_off,
};
pub(crate) use family::{resume_all, suspend_all};
pub(crate) use making::{Making, create, create_within};
use resuming::OfResumed;
pub(crate) use role::Role;
pub(crate) use sweep::{records, sweep};
pub(crate) use threads::Totals;

use crate::ground::ids::Ids;
use crate::ground::image::Installed;
use crate::ground::memory::LinearMemory;
use crate::ground::work::Work;
use crate::mechanism::interrupt;
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

/// Bytes that a SIP costs beside its memory, threads and handles.
const COST: u64 = Slab::<Sip>::RECORD;

/// The role of the node by which a SIP is in its parent's list of children.
struct OfParent;

/// A SIP.
#[derive(Default)]
pub(crate) struct Sip {
    /// Its place in [`EXITED`] or [`DYING`].
    node: Node<Sip>,
    /// Its place among its parent's children.
    sibling: Node<Sip, OfParent>,
    /// SIPs that it has created and whose records are in use, ended ones included.
    children: SpinLock<List<Sip, OfParent>>,
    /// Its place among its guardian's dependants.
    dependant: Node<Sip, OfGuardian>,
    /// The SIP whose end ends it, too ([`dependants`]).
    guardian: Link<Sip>,
    /// The SIPs that its end ends, too.
    dependants: SpinLock<List<Sip, OfGuardian>>,
    index: AtomicU32,
    id: AtomicU32,
    /// Id of the SIP that created it; 0 for the kernel.
    pub(crate) parent: AtomicU32,
    /// Whether it has been created and has not ended.
    alive: AtomicBool,
    /// Whether it has ended and all that it had has been freed.
    gone: AtomicBool,
    started: AtomicBool,
    /// Whether its dependants go on when it ends.
    ends_alone: AtomicBool,
    /// How it ended: kind and code, as in [`End::to_numbers`].
    end: (AtomicU32, AtomicI32),
    image: SpinLock<Option<&'static Installed>>,
    /// Its handles.
    pub(crate) handles: SpinLock<HandleTable>,
    inner: SpinLock<Inner>,
    memory: LinearMemory,
    /// The account that it pays from.
    account: Link<Account>,
    /// Cycles of its threads that have ended, and of the kernel for it while none ran.
    pub(crate) ended_cycles: AtomicU64,
    /// Why it must not run: the number of suspends without a resume, and the bit [`ENDED`].
    halted: AtomicU32,
    /// Its threads that are runnable but held, because it is halted.
    pub(crate) held: SpinLock<List<Thread>>,
    /// Its place among those whose held threads are becoming runnable.
    resumed: Node<Sip, OfResumed>,
    /// Threads that wait for its end.
    pub(crate) joiners: SpinLock<WaitList>,
    /// The number of handles to it, and one while it has not ended.
    references: AtomicU32,
    /// Further references to its record, which keep no exit status: one for each child's record,
    /// and one for each [`Kept`].
    record_references: AtomicU32,
    /// Endpoints that it has closed and whose queued messages are still to be freed.
    pub(crate) closing: SpinLock<List<Member, Closing>>,
    /// Whether what it keeps passes to a successor when it ends ([`succession`]).
    supervised: AtomicBool,
    /// Endpoints of its predecessor that it has not taken yet or, if it has ended, those that it
    /// keeps for its successor; and how many.
    legacy: SpinLock<List<Member, Closing>>,
    legacy_len: AtomicU32,
    /// Whether its end is the system's.
    pub(crate) role: Role,
    /// Where it crashed.
    pub(crate) crash: SpinLock<Crash>,
    dying: SpinLock<Option<End>>,
    /// The SIP that created it, whose record is kept as long as this one.
    parent_sip: Link<Sip>,
    /// Set for a SIP that an embedder manages ([`crate::object::host`]).
    guest: Link<Guest>,
}

/// The part of a SIP under one lock.
#[derive(Default)]
struct Inner {
    threads: List<Thread, OfSip>,
    /// The number of `threads`.
    count: u32,
    arguments: Charged<u8>,
    /// Start-up endpoints in the order of its manifest; none where it has taken one.
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

/// A counted reference to a SIP's record, which is not reused while this value exists.
pub(crate) struct Kept(&'static Sip);

impl Kept {
    /// Adds a reference to a SIP's record.
    pub(crate) fn of(sip: &'static Sip) -> Kept {
        sip.retain_record();
        Kept(sip)
    }

    /// The SIP.
    pub(crate) fn sip(&self) -> &'static Sip {
        self.0
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.0.release_record();
    }
}

/// The bit of `Sip::halted` that is set when the SIP has ended.
const ENDED: u32 = 1 << 31;
/// The most suspends without a resume: the count stays below [`ENDED`].
const MOST_SUSPENDS: u32 = ENDED - 1;

variables! { restart:
    static SIPS: Slab<Sip> = Slab::new();
    static IDS: Ids = Ids::new();
    /// The number of SIPs that are alive or have handles to them.
    static LIVE: AtomicU32 = AtomicU32::new(0);
    /// SIPs that their own thread has ended, until the idle context marks them ([`ending`]).
    static EXITED: SpinLock<List<Sip>> = SpinLock::new(List::new());
    /// SIPs that have ended and are still to be freed, wholly or in part.
    static DYING: SpinLock<List<Sip>> = SpinLock::new(List::new());
}

/// An endpoint that a SIP is given at its start; `None` for an optional one that it is not given,
/// or one that it has taken.
pub(crate) type StartupEnd = Option<(&'static Channel, Side)>;

/// Forgets all: the system has ended.
pub(crate) fn forget(ended: &Ended) {
    restart(ended);
    role::forget(ended);
    resuming::forget(ended);
}

/// The record with this index, in use or not.
pub(crate) fn record(index: u32) -> Option<&'static Sip> {
    SIPS.get(index)
}

/// The number of SIPs that are alive or have handles to them.
pub(crate) fn live() -> u32 {
    LIVE.load(Relaxed)
}

/// The live SIP with this id. Others may run during the search, but not between finding it and the
/// return.
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

    /// Its host's side, if an embedder manages it.
    #[inline(always)]
    pub(crate) fn guest(&self) -> Option<&'static Guest> {
        self.guest.get()
    }

    /// Makes it a SIP that an embedder manages.
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

    /// Calls `f` with its instance; `None` if it has none.
    pub(crate) fn with_instance<R>(&self, f: impl FnOnce(&Instance) -> R) -> Option<R> {
        self.memory.with_instance(f)
    }

    /// Starts its first thread. False if it was started before, or has ended.
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

    /// Holds a runnable thread of this SIP until the SIP may run.
    #[cold]
    #[inline(never)]
    pub(crate) fn hold(&self, t: &'static Thread) {
        self.held.lock().push(t);
    }

    /// Keeps it from running until it has been resumed as often. False if the count is at its
    /// maximum.
    pub(crate) fn suspend(&self) -> bool {
        let can = self.halted.load(Relaxed) & !ENDED < MOST_SUSPENDS;
        if can {
            self.halted.add(1);
        }
        can
    }

    /// Calls `f` with each of its threads.
    pub(crate) fn each_thread(&self, f: impl FnMut(&'static Thread)) {
        self.inner.lock().threads.iter().for_each(f);
    }

    /// How many threads it has.
    pub(crate) fn thread_count(&self) -> u32 {
        self.inner.lock().count
    }

    /// Whether it is alive or a handle refers to it.
    pub(crate) fn exists(&self) -> bool {
        self.references.load(Relaxed) > 0
    }

    /// Adds a thread that was created for it.
    pub(crate) fn add_thread(&self, t: &'static Thread) {
        self.inner.lock().add(t);
    }

    /// Removes an ended thread from its list.
    pub(crate) fn remove_thread(&self, t: &'static Thread) {
        let mut inner = self.inner.lock();
        if inner.threads.remove(t) {
            inner.count -= 1;
        }
    }

    /// Pages that it occupies: committed memory, stacks, allocations.
    pub(crate) fn pages(&self, totals: &Totals) -> u64 {
        let exchange = self.account().exchange.load(Relaxed);
        let memories = self.memory.committed() + self.memory.further_committed();
        (memories + totals.stacks + exchange).div_ceil(sing_abi::PAGE)
    }

    /// Whether it has ended, and everything that it had has been freed.
    pub(crate) fn has_ended(&self) -> bool {
        self.gone.load(Relaxed)
    }

    /// How it ended (kind and code); `None` while [`Sip::has_ended`] is false.
    pub(crate) fn exit_status(&self) -> Option<(u32, i32)> {
        self.has_ended()
            .then(|| (self.end.0.load(Relaxed), self.end.1.load(Relaxed)))
    }

    /// Counts another handle to it.
    pub(crate) fn retain(&self) {
        self.references.add(1);
    }

    /// `by` disposes of its handle, the only one. A SIP that has not been started never will be,
    /// and ends; one that was to have a successor will have none.
    pub(crate) fn let_go(&'static self, by: &'static Sip) {
        if !self.is_started() {
            discard(self);
        }
        if self.is_supervised() {
            self.end_succession(by);
        }
        self.release();
    }

    /// Counts one handle less.
    pub(crate) fn release(&'static self) {
        if self.references.sub(1) == 1 {
            // The arguments stay until now, for a successor.
            self.free_startup();
            LIVE.sub(1);
            if self.record_references.load(Relaxed) == 0 {
                self.free_record();
            }
        }
    }

    /// Adds a reference to its record.
    fn retain_record(&self) {
        self.record_references.add(1);
    }

    /// Removes a reference to its record.
    fn release_record(&'static self) {
        if self.record_references.sub(1) == 1 && self.references.load(Relaxed) == 0 {
            self.free_record();
        }
    }

    /// Frees the record, releases its reference to the parent's, and repeats upward.
    fn free_record(&'static self) {
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
                Some(p) if p.record_references.sub(1) == 1 && p.references.load(Relaxed) == 0 => {
                    sip = p;
                }
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
