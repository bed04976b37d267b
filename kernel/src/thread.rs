//! Threads ([O] 3.3.3): what runs, on a stack of its own, with a context record and an exchange-heap table.

use crate::cpu;
use crate::exheap;
use crate::memory::{STACK_RESERVE, Stack};
use crate::sched::Scheduler;
use crate::sip::{self, End, Sip};
use crate::trusted;
use crate::wait::{self, Wait, WaitList};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use sing_arch::link::{Link, Linked, Node};
use sing_arch::lock::{Counter, SpinLock};
use sing_arch::slab::Slab;
use sing_runtime::{Context, ContextParams, XTable};

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum State {
    /// Made, not started.
    Created = 0,
    /// Could run.
    Ready = 1,
    /// Runs.
    Running = 2,
    /// Waits.
    Blocked = 3,
    /// Has ended.
    Ended = 4,
}

/// A thread.
#[derive(Default)]
pub(crate) struct Thread {
    node: Node<Thread>,
    /// Saved stack pointer while it does not run.
    pub(crate) sp: AtomicU64,
    /// Its index.
    pub(crate) index: AtomicU32,
    /// Its id; never used twice.
    pub(crate) id: AtomicU32,
    sip: Link<Sip>,
    /// [`State`].
    pub(crate) state: AtomicU32,
    /// Became runnable while its SIP was suspended.
    held: AtomicBool,
    /// Cycles that it has run.
    pub(crate) cycles: AtomicU64,
    /// Its waiting.
    pub(crate) wait: Wait,
    /// Allocations that it owns.
    pub(crate) xtable: SpinLock<XTable>,
    own: SpinLock<Own>,
    /// Threads that wait for its end.
    pub(crate) joiners: SpinLock<WaitList>,
    /// Handles to it, and one for running.
    references: AtomicU32,
    /// What `sip_thread` is called with; unused for the first thread.
    argument: AtomicU32,
    first: AtomicBool,
}

/// What a thread has for itself.
#[derive(Default)]
struct Own {
    context: Option<Context>,
    stack: Stack,
}

impl Linked for Thread {
    fn node(&self) -> &Node<Thread> {
        &self.node
    }
}

static THREADS: Slab<Thread> = Slab::new();
static NEXT_ID: AtomicU32 = AtomicU32::new(1);

/// Threads that exist.
pub(crate) fn live() -> u32 {
    THREADS.live()
}

/// Switches from a thread or idle context to another.
#[inline(always)]
pub(crate) fn switch(save: &AtomicU64, to: u64) {
    trusted::switch_stacks(save, to);
}

/// What a new thread runs.
pub(crate) enum Start {
    /// The module's start function and `sip_main`.
    Main,
    /// `sip_thread` with this argument and this shadow stack pointer.
    Thread(u32, u32),
}

impl Thread {
    /// Makes a thread of `sip`, not yet runnable. The stack has been charged by the caller.
    pub(crate) fn create(
        sip: &'static Sip,
        stack_bytes: u64,
        start: &Start,
    ) -> Option<&'static Thread> {
        let stack = Stack::take(stack_bytes)?;
        let Some((index, t)) = THREADS.take() else {
            stack.give();
            return None;
        };
        t.index.store(index, Relaxed);
        t.id.store(NEXT_ID.add(1), Relaxed);
        t.sip.set(Some(sip));
        t.state.store(State::Created as u32, Relaxed);
        t.held.store(false, Relaxed);
        t.cycles.store(0, Relaxed);
        t.references.store(1, Relaxed);
        t.wait.own.thread.set(Some(t));
        let (argument, stack_pointer) = match *start {
            Start::Main => (0, None),
            Start::Thread(argument, sp) => (argument, Some(sp)),
        };
        t.argument.store(argument, Relaxed);
        t.first.store(matches!(start, Start::Main), Relaxed);
        let made = sip.with_instance(|instance| {
            Context::new(
                instance,
                &ContextParams {
                    kernel_table: crate::entry::table(),
                    stack_limit: stack.bottom + STACK_RESERVE,
                    sip_id: sip.id(),
                    thread_id: t.id.load(Relaxed),
                    kernel_word: u64::from(index),
                    cycles_per_second: crate::machine::hal().cycles_per_second(),
                    stack_pointer,
                },
            )
        });
        let Some(context) = made else {
            stack.give();
            THREADS.give(index);
            return None;
        };
        {
            let xtable = t.xtable.lock();
            context.set_xtab(xtable.base(), xtable.mask());
        }
        t.sp.store(
            trusted::first_frame(stack.top(), run, u64::from(index)),
            Relaxed,
        );
        *t.own.lock() = Own {
            context: Some(context),
            stack,
        };
        Some(t)
    }

    /// Makes it the thread of a SIP without an image, which brings its own context records.
    pub(crate) fn attach(&'static self, sip: &'static Sip, stack: Stack) {
        self.sip.set(Some(sip));
        self.wait.own.thread.set(Some(self));
        self.own.lock().stack = stack;
    }

    /// Its SIP.
    ///
    /// # Panics
    /// For an object that is no thread now.
    #[inline(always)]
    pub(crate) fn sip(&self) -> &'static Sip {
        self.sip.get().expect("a thread has a SIP")
    }

    /// Its state.
    pub(crate) fn state(&self) -> State {
        match self.state.load(Relaxed) {
            0 => State::Created,
            1 => State::Ready,
            2 => State::Running,
            3 => State::Blocked,
            _ => State::Ended,
        }
    }

    /// Its stack.
    pub(crate) fn stack(&self) -> Stack {
        self.own.lock().stack
    }

    /// Address of its context record.
    pub(crate) fn context(&self) -> u64 {
        self.own.lock().context.as_ref().map_or(0, Context::address)
    }

    /// Makes it runnable, or notes that it would be, where its SIP is suspended.
    #[inline(always)]
    pub(crate) fn unblocked(&'static self) {
        self.state.store(State::Ready as u32, Relaxed);
        if self.sip().suspended.load(Relaxed) != 0 {
            self.held.store(true, Relaxed);
            return;
        }
        cpu::this().queue.lock().unblocked(self);
    }

    /// Its SIP has been suspended.
    pub(crate) fn hold(&'static self) {
        if self.state() == State::Ready && self.node.is_linked() {
            cpu::this().queue.lock().remove(self);
            self.held.store(true, Relaxed);
        }
    }

    /// Its SIP goes on.
    pub(crate) fn unhold(&'static self) {
        if self.held.swap(false, Relaxed) {
            cpu::this().queue.lock().unblocked(self);
        }
    }

    /// Lets others run first.
    pub(crate) fn yield_now(&'static self) {
        let cpu = cpu::this();
        let mut queue = cpu.queue.lock();
        if queue.is_empty() {
            return;
        }
        queue.yielded(self);
        drop(queue);
        self.state.store(State::Ready as u32, Relaxed);
        cpu.leave();
    }

    /// Puts an allocation into its table and charges it; the handle, or `None` where the table is full.
    pub(crate) fn give_allocation(&self, index: u32) -> Option<u32> {
        let a = exheap::get(index)?;
        let mut table = self.xtable.lock();
        let (before, bytes) = (table.base(), table.bytes());
        let handle = table.insert(
            index,
            a.base.load(Relaxed),
            a.len.load(Relaxed),
            a.writable_len(),
        )?;
        if table.base() != before
            && let Some(c) = &self.own.lock().context
        {
            c.set_xtab(table.base(), table.mask());
        }
        let grown = table.bytes() - bytes;
        drop(table);
        self.sip().charged.add(grown);
        a.charge(self.sip());
        Some(handle)
    }

    /// Takes an allocation out of its table; its index. It stays on the account of the thread's SIP until somebody else
    /// has it, or it is freed: what lies in queues is paid for.
    #[inline]
    pub(crate) fn take_allocation(&self, handle: u32) -> Option<u32> {
        Some(self.xtable.lock().remove(handle)?.alloc)
    }

    /// The allocation that a handle names.
    pub(crate) fn allocation(&self, handle: u32) -> Option<(u32, &'static exheap::Allocation)> {
        let entry = self.xtable.lock().get(handle)?;
        Some((entry.alloc, exheap::get(entry.alloc)?))
    }

    /// Writes an allocation's changed bounds into its table.
    pub(crate) fn update_allocation(&self, handle: u32, a: &exheap::Allocation) {
        let len = a.len.load(Relaxed);
        self.xtable
            .lock()
            .set(handle, a.base.load(Relaxed), len, a.writable_len());
    }

    /// Takes any allocation out of the table of a thread that runs no more; its index. `None`, and the table is gone,
    /// where there is none.
    pub(crate) fn take_any_allocation(&self) -> Option<u32> {
        let mut table = self.xtable.lock();
        let bytes = table.bytes();
        let taken = table.pop();
        if taken.is_none() {
            *table = XTable::new();
        }
        let fewer = bytes - table.bytes();
        drop(table);
        self.sip().discharge(fewer);
        taken
    }

    /// Gives back what a thread has that runs no more, its allocations excepted, and tells who waits for its end. The
    /// caller is not on its stack.
    pub(crate) fn finish(&'static self) {
        if self.state() == State::Ended {
            return;
        }
        cpu::this().queue.lock().remove(self);
        self.cancel_wait();
        self.wait.selection.lock().dispose();
        self.state.store(State::Ended as u32, Relaxed);
        let own = core::mem::take(&mut *self.own.lock());
        own.stack.give();
        drop(own.context);
        let sip = self.sip();
        sip.discharge(own.stack.size);
        sip.ended_cycles.add(self.cycles.load(Relaxed));
        wait::wake_all(&self.joiners.lock());
    }

    /// One more handle names it.
    pub(crate) fn retain(&self) {
        self.references.add(1);
    }

    /// One handle fewer, or it has been taken from its SIP's list.
    pub(crate) fn release(&'static self) {
        if self.references.sub(1) == 1 {
            THREADS.give(self.index.load(Relaxed));
        }
    }
}

/// First code of every thread, on its own stack.
extern "sysv64" fn run(index: u64) -> ! {
    let t = THREADS.get(index as u32).expect("a new thread exists");
    let context = t.context();
    let template = t.sip().template();
    if t.first.load(Relaxed) {
        if let Some(start) = template.start() {
            trusted::call(start, context);
        }
        let code = template
            .main()
            .map_or(0, |main| trusted::call(main, context));
        sip::exit_current(End::Exit(code))
    }
    if let Some(entry) = template.thread_entry() {
        trusted::call_with(entry, context, u64::from(t.argument.load(Relaxed)));
    }
    exit_current()
}

/// Ends the current thread alone.
fn exit_current() -> ! {
    let cpu = cpu::this();
    cpu.ended.lock().push(cpu::current());
    cpu.leave_for_idle();
    unreachable!("an ended thread runs")
}
