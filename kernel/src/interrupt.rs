//! Interrupts: how a HAL reports them, and when the kernel acts on them.
//!
//! Kernel code is not pre-empted. An interrupt that finds SIP code is acted on at once; one that finds the
//! kernel is noted, and acted on at the end of the kernel entry or in the idle context.

use crate::cpu;
use crate::hal::{LINE_CONSOLE, LINE_TIMER};
use crate::sched::Scheduler;
use crate::thread::State;
use crate::wait::{self, WaitList};
use core::sync::atomic::{AtomicU32, Ordering};
use sing_arch::lock::{Counter, SpinLock};

/// Lines whose interrupt has come and was not acted on, one bit each.
static PENDING: AtomicU32 = AtomicU32::new(0);

struct Line {
    /// Interrupts since the last acknowledgement.
    count: u32,
    waiters: WaitList,
}

static CONSOLE: SpinLock<Line> = SpinLock::new(Line {
    count: 0,
    waiters: WaitList::new(),
});

/// Reports an interrupt on a line. `in_sip`: whether it interrupted SIP code; then the kernel may switch to
/// another thread inside this call. Safe to call from an interrupt or signal handler at any instruction.
pub fn arrive(line: u32, in_sip: bool) {
    PENDING.fetch_or(1 << line, Ordering::SeqCst);
    if in_sip {
        take_over();
    }
}

/// Whether an interrupt waits to be acted on.
#[inline(always)]
pub(crate) fn pending() -> bool {
    PENDING.load(Ordering::Relaxed) != 0
}

/// Acts on interrupts in the idle context, where nobody runs who could be pre-empted.
pub(crate) fn deliver() {
    if pending() {
        act();
    }
}

/// Acts on interrupts on the stack of the running thread, and lets another one run where that is due.
#[cold]
pub(crate) fn take_over() {
    let cpu = cpu::this();
    let Some(me) = cpu.running() else { return };
    let (quantum_ended, woken) = act();
    // Ended SIPs are given back a little at each quantum's end, however much there is to run.
    let dying = quantum_ended && crate::sip::is_dying();
    let mut queue = cpu.queue.lock();
    if queue.is_empty() && !dying || !(quantum_ended || woken) {
        return;
    }
    if quantum_ended {
        queue.quantum_ended(Some(me));
    } else {
        queue.displaced(me);
    }
    drop(queue);
    me.state.store(State::Ready as u32, Ordering::Relaxed);
    cpu.preemptions.add(1);
    if dying {
        cpu.leave_for_idle();
    } else {
        cpu.leave();
    }
}

/// Acts on what is pending: whether a quantum has ended, and whether anybody was woken. Who is woken by a
/// device or by time runs at once: that is what minimum latency means.
fn act() -> (bool, bool) {
    let lines = PENDING.swap(0, Ordering::SeqCst);
    let (mut quantum_ended, mut woken) = (false, false);
    if lines & 1 << LINE_TIMER != 0 {
        (quantum_ended, woken) = crate::timer::expired();
    }
    if lines & 1 << LINE_CONSOLE != 0 {
        let mut line = CONSOLE.lock();
        line.count += 1;
        woken |= !line.waiters.is_empty();
        wait::wake_all(&line.waiters);
    }
    (quantum_ended, woken)
}

/// Whether an interrupt has come on this line since it was acknowledged.
pub(crate) fn has_come(line: u32) -> bool {
    line == LINE_CONSOLE && CONSOLE.lock().count > 0
}

/// Acknowledges the interrupts of a line.
pub(crate) fn acknowledge(line: u32) {
    if line == LINE_CONSOLE {
        CONSOLE.lock().count = 0;
    }
}

/// The threads that wait for a line.
pub(crate) fn with_waiters<R>(_line: u32, f: impl FnOnce(&WaitList) -> R) -> R {
    f(&CONSOLE.lock().waiters)
}
