//! Interrupts: the HAL's report, the kernel's response, and the holders of interrupt lines.
//!
//! Kernel code is not pre-empted. An interrupt that finds SIP code is acted on at once; one that
//! finds kernel code is noted, and acted on at the end of the kernel entry, between two steps of
//! long work ([`let_others_run`]), or in the idle context. [`crate::mechanism::watchdog`] records
//! the longest such delay.
//!
//! A line has one holder at a time: a handle, which is disposed of or goes with its SIP. Interrupts
//! on a line without a holder are dropped.

use crate::ground::hal::{LINE_CALL, LINE_OUTPUT, LINE_POWER, LINE_TIMER, LINES};
use crate::ground::machine::hal;
use crate::ground::trusted::{parts_restart, variables};
use crate::mechanism::cpu;
use crate::mechanism::sched::{Current, Machine, Scheduler};
use crate::mechanism::wait::{self, WaitList, Waitable};
use crate::mechanism::watchdog;
use crate::object::calls;
use crate::object::thread::{State, Thread};
use core::panic::Location;
use core::sync::atomic::{AtomicU32, Ordering};
use sing_abi::status;
use sing_arch::lock::{Counter, SpinLock};

variables! { forget:
    /// Lines with an interrupt that has arrived and was not acted on, one bit each.
    pub(crate) static PENDING: AtomicU32 = AtomicU32::new(0);
    static DEVICES: [Device; LINES as usize] = devices();
}
/// A bit that belongs to no line and is never cleared: every look at interrupts finds the end of a
/// quantum.
const STRESS: u32 = 1 << 31;

const _: () = assert!(LINE_CALL >= LINES && LINE_CALL < 31);

/// An interrupt line.
pub(crate) struct Line {
    /// Whether a handle names the line.
    held: bool,
    /// Interrupts since the last acknowledgement.
    count: u32,
    waiters: WaitList,
}

/// A device's interrupts, as threads wait for them.
pub(crate) struct Device {
    index: u32,
    line: SpinLock<Line>,
}

parts_restart!(Device: line);

const fn devices() -> [Device; LINES as usize] {
    let mut devices = [const {
        Device {
            index: 0,
            line: SpinLock::new(Line {
                held: false,
                count: 0,
                waiters: WaitList::new(),
            }),
        }
    }; LINES as usize];
    let mut i = 0;
    while i < devices.len() {
        devices[i].index = i as u32;
        i += 1;
    }
    devices
}

/// Reports an interrupt on a line. `in_sip`: whether it interrupted SIP code; then the kernel may
/// switch to another thread inside this call. Safe to call from an interrupt or signal handler at
/// any instruction.
pub fn arrive(line: u32, in_sip: bool) {
    PENDING.fetch_or(1 << line, Ordering::SeqCst);
    if in_sip {
        // An interrupt noted in the kernel's last instructions before the return to SIP code was
        // not delayed.
        hal().held();
        take_over();
    }
}

/// Has the running thread leave for the idle context, which looks at calls, at the end of its entry.
pub(crate) fn note_call() {
    PENDING.fetch_or(1 << LINE_CALL, Ordering::SeqCst);
}

/// Whether an interrupt is pending.
#[inline(always)]
pub(crate) fn pending() -> bool {
    PENDING.load(Ordering::Relaxed) != 0
}

/// Whether a device's interrupt is pending.
pub(crate) fn has_arrived() -> bool {
    PENDING.load(Ordering::Relaxed) & !STRESS != 0
}

/// Whether there is something to run, or an interrupt to act on. For HALs.
pub fn has_work() -> bool {
    has_arrived() || cpu::this().has_runnable() || calls::are_due()
}

/// Makes every look at interrupts let another thread run: at the end of each entry, and between two
/// steps of long work. For tests: an invariant that must hold at such places is then tested at all
/// of them.
pub(crate) fn stress() {
    PENDING.fetch_or(STRESS, Ordering::SeqCst);
}

/// Acts on interrupts in the idle context, where no thread runs that could be pre-empted.
#[track_caller]
pub(crate) fn deliver() {
    if pending() {
        act(Location::caller());
    }
}

/// Acts on interrupts between two steps of long work. The caller may hold no lock and no uncounted
/// reference to a record: its thread may never resume.
#[inline(always)]
#[track_caller]
pub(crate) fn let_others_run() {
    if pending() {
        take_over();
    }
}

/// Acts on interrupts on the stack of the running thread, and lets another one run if that is due.
#[cold]
#[track_caller]
pub(crate) fn take_over() {
    take_over_at(Location::caller());
}

/// Does the same, on behalf of code at this place.
#[cold]
pub(crate) fn take_over_at(place: &'static Location<'static>) {
    let cpu = cpu::this();
    let Some(me) = cpu.running() else { return };
    let (quantum_ended, woken) = act(place);
    // Ended SIPs are freed a little at each quantum's end, however many threads are runnable.
    let dying = quantum_ended && crate::object::sip::is_dying();
    let leaves = hal().leaves() || calls::are_due();
    let mut queue = cpu.queue.lock();
    if !leaves && (queue.is_empty() && !dying || !(quantum_ended || woken)) {
        return;
    }
    if quantum_ended {
        queue.quantum_ended(Some(me), &Machine);
    } else {
        queue.displaced(me, &Machine);
    }
    drop(queue);
    me.state.store(State::Ready as u32, Ordering::Relaxed);
    cpu.preemptions.add(1);
    if dying || leaves {
        cpu.leave_for_idle();
    } else {
        cpu.leave();
    }
}

/// Acts on what is pending. Returns whether a quantum has ended, and whether a thread was woken by
/// a device or by time that takes the place of the running one.
fn act(place: &'static Location<'static>) -> (bool, bool) {
    watchdog::looked(place);
    let mut lines = PENDING.fetch_and(STRESS, Ordering::SeqCst);
    let (mut quantum_ended, mut woken) = (lines & STRESS != 0, false);
    lines &= !STRESS;
    while lines != 0 {
        let index = lines.trailing_zeros();
        lines &= lines - 1;
        if index == LINE_TIMER {
            let expired = crate::mechanism::timer::expired();
            quantum_ended |= expired.0;
            woken |= expired.1;
            continue;
        }
        // What has come, the idle context finds.
        if index == LINE_CALL {
            continue;
        }
        if index == LINE_POWER {
            crate::ground::machine::log!("system: the power button was pressed; shutting down");
            watchdog::end_system(0);
        }
        if index == LINE_OUTPUT {
            crate::ground::log::tell_lost();
        }
        let mut line = DEVICES[index as usize].line.lock();
        if line.held {
            line.count = line.count.saturating_add(1);
            woken |= Current::WOKEN_RUN_AT_ONCE && !line.waiters.is_empty();
            wait::wake_all(&line.waiters);
        }
    }
    (quantum_ended, woken)
}

/// A line, as threads wait for it.
pub(crate) fn device(line: u32) -> Option<&'static Device> {
    DEVICES.get(line as usize)
}

/// Gives a line its holder.
///
/// # Errors
/// A status: `NOT_FOUND` if the machine has no such line, `HELD` if it has a holder.
pub(crate) fn hold(index: u32) -> Result<&'static Device, i32> {
    let there = index < LINES
        && index != LINE_TIMER
        && index != LINE_POWER
        && hal().interrupt_lines() & 1 << index != 0;
    let device = DEVICES.get(index as usize).filter(|_| there);
    let device = device.ok_or(status::NOT_FOUND)?;
    let mut line = device.line.lock();
    if line.held {
        return Err(status::HELD);
    }
    line.held = true;
    line.count = 0;
    drop(line);
    hal().unmask(index);
    Ok(device)
}

impl Device {
    /// Keeps the line from interrupting.
    pub(crate) fn mask(&self) {
        hal().mask(self.index);
    }

    /// Releases the line. Threads that still wait for it find that the handle is gone.
    pub(crate) fn release(&self) {
        hal().mask(self.index);
        let mut line = self.line.lock();
        line.held = false;
        line.count = 0;
        wait::wake_all(&line.waiters);
    }

    /// Acknowledges the line's interrupts.
    pub(crate) fn acknowledge(&self) {
        self.line.lock().count = 0;
        hal().unmask(self.index);
    }
}

impl Waitable for Device {
    /// Whether an interrupt has arrived since the last acknowledgement.
    fn acquire(&'static self, _: &'static Thread) -> bool {
        self.line.lock().count > 0
    }

    fn with_waiters(&self, f: &mut dyn FnMut(&WaitList)) {
        f(&self.line.lock().waiters);
    }
}
