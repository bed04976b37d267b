//! Sums over the threads of a SIP, for status reports (`ps`).
//!
//! A SIP can have any number of threads. A few are summed up at once; for many, all thread records
//! of the system are visited, in steps between which others run.

use super::Sip;
use crate::ground::work::Work;
use crate::mechanism::interrupt;
use crate::object::thread::{self, State, Thread};
use core::sync::atomic::Ordering::Relaxed;
use sing_arch::lock::Counter;

/// The most threads that are summed up at once.
const FEW: u32 = 64;

/// Sums over the threads of a SIP.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    /// Processor cycles that they have run.
    pub(crate) cycles: u64,
    /// Bytes of their stacks.
    pub(crate) stacks: u64,
    /// Whether any of them runs, or could.
    pub(crate) ready: bool,
}

impl Totals {
    fn add(&mut self, t: &Thread) {
        self.cycles += t.cycles.load(Relaxed);
        self.stacks += t.fiber.stack_bytes();
        self.ready |= matches!(t.state(), State::Ready | State::Running);
    }
}

impl Sip {
    /// Notes that the kernel has used the processor for so many cycles at its request, while no thread of it ran.
    pub(crate) fn used(&self, cycles: u64) {
        self.ended_cycles.add(cycles);
    }

    /// Sums over its threads. Others may run meanwhile, so the threads are not all seen at the same
    /// time.
    pub(crate) fn totals(&'static self) -> Totals {
        let mut totals = Totals::default();
        if self.thread_count() <= FEW {
            self.each_thread(|t| totals.add(t));
        } else {
            let mut work = Work::step();
            for t in (0..).map_while(thread::record) {
                if t.is_of(self) {
                    totals.add(t);
                }
                work.spend(0);
                if work.is_spent() {
                    interrupt::let_others_run();
                    work = Work::step();
                }
            }
        }
        totals.cycles += self.ended_cycles.load(Relaxed);
        totals
    }
}
