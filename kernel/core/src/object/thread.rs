//! Threads ([O] 3.3.3): each runs on its own stack, with a context record and a table of its
//! exchange-heap allocations.
//!
//! A thread that has ended is freed in steps ([`Thread::give_back`]): first it is removed from
//! every queue and list, so that only counted references to it are left, then its stack and blocks
//! are freed. Its record is free when no reference is counted: neither a handle nor its SIP's list.

pub(crate) mod building;
pub(crate) mod layout;
mod sweep;

pub(crate) use sweep::{count_kept, sweep};

use crate::ground::ids::Ids;
use crate::ground::memory::{PIECE, Stack};
use crate::ground::trusted::variables;
use crate::ground::trusted::{self, Fiber, GivenUp, Left, ThreadParams};
use crate::ground::work::{PIECE as LARGE, Work};
use crate::mechanism::cpu;
use crate::mechanism::sched::{Current, Machine, Scheduler};
use crate::mechanism::wait::{self, Wait, WaitList, Waitable};
use crate::object::account::Account;
use crate::object::exheap;
use crate::object::sip::{self, End, Sip};
use building::Building;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use sing_arch::link::{Link, Linked, Node};
use sing_arch::lock::{Counter, SpinLock};
use sing_arch::slab::Slab;
use sing_arch::switch;
use sing_runtime::{Context, Entry, EntryPoint};

/// The states of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum State {
    /// Created, not started.
    Created = 0,
    /// Runnable, but not running.
    Ready = 1,
    /// Running.
    Running = 2,
    /// Waiting.
    Blocked = 3,
    /// Ended, and everything but the record is freed.
    Ended = 4,
    /// Never runs again, but is not freed yet.
    Ending = 6,
}

/// The role of the node by which a thread is in its SIP's list of threads.
pub(crate) struct OfSip;

/// A thread.
#[derive(Default)]
pub(crate) struct Thread {
    /// Its place among runnable threads, its SIP's held threads, or threads that have ended
    /// themselves.
    node: Node<Thread>,
    /// Its place among its SIP's threads.
    sibling: Node<Thread, OfSip>,
    /// Its stack, and the saved state of execution.
    pub(crate) fiber: Fiber,
    /// Its index in the store.
    pub(crate) index: AtomicU32,
    /// Its id; never used twice.
    pub(crate) id: AtomicU32,
    sip: Link<Sip>,
    /// The account that its record is charged to.
    account: Link<Account>,
    /// [`State`].
    pub(crate) state: AtomicU32,
    /// Processor cycles that it has run.
    pub(crate) cycles: AtomicU64,
    /// The scheduler's data about it.
    pub(crate) scheduling: SpinLock<<Current as Scheduler>::Data>,
    /// Its record of waiting.
    pub(crate) wait: Wait,
    /// A large stack that it is building in steps, for a thread that it will create.
    building: SpinLock<Building>,
    /// Its context record, with the table of allocations that it owns.
    context: SpinLock<Option<Context>>,
    /// Threads that wait for its end.
    pub(crate) joiners: SpinLock<WaitList>,
    /// The number of handles to it, and one while it is in its SIP's list.
    references: AtomicU32,
    /// The argument of `sip_thread`; unused for the first thread.
    argument: AtomicU32,
    first: AtomicBool,
}

impl Linked for Thread {
    fn node(&self) -> &Node<Thread> {
        &self.node
    }
}

impl Linked<OfSip> for Thread {
    fn node(&self) -> &Node<Thread, OfSip> {
        &self.sibling
    }
}

impl Waitable for Thread {
    fn acquire(&'static self, _: &'static Thread) -> bool {
        self.state() == State::Ended
    }

    fn with_waiters(&self, f: &mut dyn FnMut(&WaitList)) {
        f(&self.joiners.lock());
    }
}

/// The most threads of a SIP. All of them may wait for one object, and are woken in one step.
pub(crate) const MAX_THREADS: u32 = 1 << 15;

variables! { forget:
    static THREADS: Slab<Thread> = Slab::new();
    static IDS: Ids = Ids::new();
}
/// Bytes that its place among the timers costs: their array is up to twice as large as needed.
const TIMER: u64 = 16;

/// The number of threads.
pub(crate) fn live() -> u32 {
    THREADS.live()
}

/// The record with this index, in use or not.
pub(crate) fn record(index: u32) -> Option<&'static Thread> {
    THREADS.get(index)
}

/// What a new thread runs.
pub(crate) enum Start {
    /// The module's start function and `sip_main`.
    Main,
    /// `sip_thread` with this argument and this shadow stack pointer.
    Thread(u32, u32),
}

impl Thread {
    /// Bytes that the record of a thread costs, beside its stack.
    pub(crate) const COST: u64 = Slab::<Thread>::RECORD + TIMER;

    /// Creates a thread of `sip`, not yet runnable, at the SIP's cost. `None` if memory is short,
    /// the account has no room, or the SIP has [`MAX_THREADS`].
    pub(crate) fn create(sip: &'static Sip, start: &Start) -> Option<&'static Thread> {
        let account = sip.account();
        let bytes = sip.stack_bytes();
        if sip.thread_count() >= MAX_THREADS || !account.charge(bytes + Self::COST) {
            return None;
        }
        let Some(t) = Self::make(sip, bytes, start) else {
            account.discharge(bytes + Self::COST);
            return None;
        };
        t.account.set(Some(account));
        Some(t)
    }

    fn make(sip: &'static Sip, stack_bytes: u64, start: &Start) -> Option<&'static Thread> {
        let built = cpu::this()
            .running()
            .and_then(|t| t.take_built(stack_bytes));
        let stack = built.or_else(|| Stack::take(stack_bytes))?;
        // What was built in steps is freed in steps.
        let give = |stack: Stack| match cpu::this().running() {
            Some(t) => t.return_built(stack),
            None => stack.give(),
        };
        let room = crate::mechanism::timer::reserve(THREADS.live() + 1);
        let Some((index, t)) = room.then(|| THREADS.take()).flatten() else {
            give(stack);
            return None;
        };
        t.index.store(index, Relaxed);
        let exists = |t: &&'static Thread| t.references.load(Relaxed) > 0;
        let in_use = |i| THREADS.get(i).filter(exists).map(|t| t.id.load(Relaxed));
        t.id.store(IDS.take(|| THREADS.end(), in_use), Relaxed);
        t.sip.set(Some(sip));
        t.state.store(State::Created as u32, Relaxed);
        t.cycles.store(0, Relaxed);
        *t.scheduling.lock() = Default::default();
        t.wait.own.thread.set(Some(t));
        let (argument, stack_pointer) = match *start {
            Start::Main => (0, None),
            Start::Thread(argument, sp) => (argument, Some(sp)),
        };
        t.argument.store(argument, Relaxed);
        t.first.store(matches!(start, Start::Main), Relaxed);
        let params = ThreadParams {
            sip_id: sip.id(),
            thread_id: t.id.load(Relaxed),
            kernel_word: u64::from(index),
            stack_pointer,
        };
        let made = sip.with_instance(|instance| {
            trusted::context(
                instance,
                crate::entry::table(),
                &stack,
                &params,
                sip.account(),
            )
        });
        let Some(Ok(context)) = made else {
            give(stack);
            THREADS.give(index);
            return None;
        };
        *t.context.lock() = Some(context);
        t.references.store(1, Relaxed);
        t.fiber.prepare(stack, run, u64::from(index));
        Some(t)
    }

    /// Makes it the thread of a SIP without an image ([`crate::object::host`]), which brings its
    /// own context records.
    pub(crate) fn attach(&'static self, sip: &'static Sip, stack: Stack, first: switch::Entry) {
        self.sip.set(Some(sip));
        self.wait.own.thread.set(Some(self));
        self.fiber.prepare(stack, first, 0);
    }

    /// Its SIP.
    ///
    /// # Panics
    /// If the record is free.
    #[inline(always)]
    pub(crate) fn sip(&self) -> &'static Sip {
        self.sip.get().expect("a thread has a SIP")
    }

    /// Whether it is a thread of this SIP that has not ended.
    pub(crate) fn is_of(&self, sip: &'static Sip) -> bool {
        self.sip.is(sip) && Node::<Thread, OfSip>::is_linked(&self.sibling)
    }

    /// Its SIP; none for a free record.
    #[inline(always)]
    pub(crate) fn its_sip(&self) -> Option<&'static Sip> {
        self.sip.get()
    }

    /// Its state.
    pub(crate) fn state(&self) -> State {
        match self.state.load(Relaxed) {
            0 => State::Created,
            1 => State::Ready,
            2 => State::Running,
            3 => State::Blocked,
            4 => State::Ended,
            _ => State::Ending,
        }
    }

    /// An entry point of its image, which `which` selects.
    fn entry_point<F>(
        &self,
        which: impl FnOnce(&Context) -> Option<EntryPoint<F>>,
    ) -> Option<EntryPoint<F>> {
        self.context.lock().as_ref().and_then(which)
    }

    /// Whether its SIP is suspended or has ended.
    #[inline(always)]
    pub(crate) fn is_halted(&self) -> bool {
        self.sip.get().is_some_and(Sip::is_halted)
    }

    /// Makes it runnable; if its SIP is halted, holds it instead.
    #[inline(always)]
    pub(crate) fn unblocked(&'static self) {
        if self.is_halted() {
            self.state.store(State::Ready as u32, Relaxed);
            return self.sip().hold(self);
        }
        self.ready();
    }

    /// Makes it runnable because its deadline has passed. Whether it preempts the running thread.
    pub(crate) fn timed_out(&'static self) -> bool {
        self.state.store(State::Ready as u32, Relaxed);
        if self.is_halted() {
            self.sip().hold(self);
            return false;
        }
        cpu::this().queue.lock().timed_out(self, &Machine)
    }

    /// Makes it runnable; the caller has checked that its SIP is not halted.
    #[inline(always)]
    pub(crate) fn ready(&'static self) {
        self.state.store(State::Ready as u32, Relaxed);
        cpu::this().queue.lock().unblocked(self, &Machine);
    }

    /// Yields at the end of a blocking entry whose result is 0. `None` if no other thread is
    /// runnable.
    #[inline(always)]
    pub(crate) fn yield_entry(&'static self) -> Option<Left> {
        let cpu = cpu::this();
        let mut queue = cpu.queue.lock();
        if queue.is_empty() {
            return None;
        }
        queue.yielded(self, &Machine);
        drop(queue);
        self.state.store(State::Ready as u32, Relaxed);
        self.wait.is_left();
        cpu.leave_entry(self)
    }

    /// Puts an allocation into its table, which grows if necessary; the handle, or `None` if there
    /// is no room. Who pays for the allocation does not change.
    #[inline]
    pub(crate) fn insert_allocation(&self, index: u32) -> Option<u32> {
        let a = exheap::get(index)?;
        let mut context = self.context.lock();
        let table = context.as_mut()?;
        let (block, writable) = (a.block.get(), !a.is_read_only());
        if let Some(handle) = table.insert(index, block, writable) {
            return Some(handle);
        }
        if !table.grow_table(self.sip().account()) {
            return None;
        }
        table.insert(index, block, writable)
    }

    /// Puts an allocation into its table if that has room without growing; the handle. Who pays for
    /// the allocation does not change.
    pub(crate) fn enter_allocation(
        &self,
        (index, a): (u32, &'static exheap::Allocation),
    ) -> Option<u32> {
        let mut context = self.context.lock();
        context
            .as_mut()?
            .insert(index, a.block.get(), !a.is_read_only())
    }

    /// Takes an allocation out of its table; its index. The thread's SIP goes on paying until
    /// somebody receives it or it is freed: queued messages are paid for.
    #[inline]
    pub(crate) fn take_allocation(&self, handle: u32) -> Option<u32> {
        Some(self.context.lock().as_mut()?.remove(handle)?.alloc())
    }

    /// The table entry of a handle.
    #[inline]
    pub(crate) fn entry(&self, handle: u32) -> Option<Entry> {
        self.context.lock().as_ref()?.table().get(handle)
    }

    /// The allocation that a handle names.
    pub(crate) fn allocation(&self, handle: u32) -> Option<(u32, &'static exheap::Allocation)> {
        let entry = self.entry(handle)?;
        Some((entry.alloc(), exheap::get(entry.alloc())?))
    }

    /// Writes an allocation's changed bounds into its table.
    pub(crate) fn update_allocation(&self, handle: u32, a: &exheap::Allocation) {
        if let Some(context) = self.context.lock().as_mut() {
            context.set(handle, a.block.get(), !a.is_read_only());
        }
    }

    /// Takes any one allocation out of the table of a thread that has ended; its index. `None` if
    /// there is none.
    pub(crate) fn take_any_allocation(&self) -> Option<u32> {
        self.context.lock().as_mut().and_then(Context::pop)
    }

    /// Frees the table and context record of a thread that has ended: how many bytes.
    fn give_context_back(&self) -> u64 {
        let context = self.context.lock().take();
        context.as_ref().map_or(0, Context::bytes)
    }

    /// Removes a thread that never runs again from every queue, list and wait. The caller is not on
    /// its stack.
    fn finish(&'static self) {
        if matches!(self.state(), State::Ending | State::Ended) {
            return;
        }
        cpu::this().queue.lock().remove(self);
        let sip = self.sip();
        sip.held.lock().remove(self);
        self.cancel_wait();
        self.state.store(State::Ending as u32, Relaxed);
        sip.ended_cycles.add(self.cycles.load(Relaxed));
    }

    /// Frees some of an ended thread's stack. False if nothing is left of it.
    fn give_stack_back(&self, work: &mut Work) -> bool {
        match self.fiber.give_up_stack(LARGE) {
            GivenUp::All => return false,
            GivenUp::Piece => work.spend(LARGE),
            GivenUp::Rest(stack) => {
                let bytes = stack.bytes();
                stack.give();
                self.sip().account().discharge(bytes);
                work.spend(bytes.min(LARGE));
            }
        }
        true
    }

    /// Frees some of what a thread had that never runs again. True if that was all: its joiners
    /// have been woken, and its SIP's list does not have it any more.
    pub(crate) fn give_back(&'static self, work: &mut Work) -> bool {
        self.finish();
        while !work.is_spent() {
            if self.give_stack_back(work) {
                continue;
            }
            let building = self.give_up_building();
            if building {
                work.spend(LARGE);
                continue;
            }
            if let Some(allocation) = self.take_any_allocation() {
                exheap::free_later(allocation, work);
                continue;
            }
            work.spend(self.give_context_back());
            self.state.store(State::Ended as u32, Relaxed);
            wait::wake_all(&self.joiners.lock());
            cpu::this().ended.lock().remove(self);
            self.sip().remove_thread(self);
            self.release();
            return true;
        }
        false
    }

    /// Counts another handle to it.
    pub(crate) fn retain(&self) {
        self.references.add(1);
    }

    /// Counts one handle less, or its removal from its SIP's list. The last one frees the record.
    pub(crate) fn release(&'static self) {
        if self.references.sub(1) == 1 {
            THREADS.give(self.index.load(Relaxed));
            if let Some(account) = self.account.take() {
                account.discharge(Self::COST);
            }
        }
    }
}

/// Where every thread starts, on its own stack.
extern "C" fn run(index: u64) -> ! {
    let t = THREADS.get(index as u32).expect("a new thread exists");
    if t.first.load(Relaxed) {
        place_data(t.sip());
        if let Some(start) = t.entry_point(Context::start) {
            t.fiber.call_start(&start);
        }
        let main = t.entry_point(Context::main);
        let code = main.map_or(0, |main| t.fiber.call_main(&main));
        sip::exit_current(End::Exit(code))
    }
    if let Some(entry) = t.entry_point(Context::thread_entry) {
        t.fiber.call_thread(&entry, t.argument.load(Relaxed));
    }
    exit_current()
}

/// Puts the initial data of the current thread's SIP in place if it was too much for the SIP's
/// creation.
fn place_data(sip: &'static Sip) {
    if sip.template().data_end() > PIECE {
        in_steps(0, |at| sip.place_data(at));
    }
    if !sip.template().further().is_empty() {
        in_steps((0, 0), |at| sip.place_further_data(at));
    }
}

/// Does steps, each of which says where the next one begins, and lets others run between two.
fn in_steps<P: Copy>(start: P, step: impl Fn(P) -> Result<Option<P>, sing_abi::trap::Trap>) {
    let mut at = start;
    loop {
        match step(at) {
            Ok(Some(next)) => at = next,
            Ok(None) => return,
            Err(trap) => sip::exit_current(End::Trap(trap)),
        }
        crate::mechanism::interrupt::let_others_run();
    }
}

/// Ends the current thread alone. The idle context frees it.
fn exit_current() -> ! {
    let cpu = cpu::this();
    cpu.ended.lock().push(cpu::current());
    cpu.leave_for_idle();
    unreachable!("an ended thread runs")
}
