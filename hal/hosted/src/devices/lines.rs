//! Interrupt lines of the devices.
//!
//! A line has a level, as a device's pin has: high while the device has something to tell. It is
//! masked when its interrupt is delivered, and delivered again if it is still high when the kernel
//! unmasks it; so none is lost and none repeats itself.
//!
//! A model raises its line on the kernel's thread, which then calls the kernel itself, or on a
//! thread of its own, which then sends a signal. A line to be delivered waits in [`DUE`] for
//! either.

use crate::HostedHal;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

/// Lines that are high, one bit each.
static LEVEL: AtomicU32 = AtomicU32::new(0);
/// Lines that are masked.
static MASKED: AtomicU32 = AtomicU32::new(u32::MAX);
/// Lines whose interrupts are to be delivered.
static DUE: AtomicU32 = AtomicU32::new(0);

/// Lines on which a message has come that was not delivered, as they were masked.
static MESSAGES: AtomicU32 = AtomicU32::new(0);

/// A message has come (MSI-X): it is delivered once, now or when the line is unmasked. Called with
/// the device's state locked, so that one device's messages do not overtake each other. Returns
/// whether an interrupt is now to be delivered.
pub(super) fn message(line: u32) -> bool {
    MESSAGES.fetch_or(1 << line, SeqCst);
    let now = offer(line);
    if now {
        MESSAGES.fetch_and(!(1 << line), SeqCst);
    }
    now
}

/// Makes a line high. Returns whether an interrupt is now to be delivered.
pub(super) fn raise(line: u32) -> bool {
    LEVEL.fetch_or(1 << line, SeqCst);
    offer(line)
}

/// Makes a line low, and forgets its message.
pub(super) fn lower(line: u32) {
    MESSAGES.fetch_and(!(1 << line), SeqCst);
    LEVEL.fetch_and(!(1 << line), SeqCst);
}

/// Masks a line.
pub(super) fn mask(line: u32) {
    MASKED.fetch_or(1 << line, SeqCst);
}

/// Unmasks a line. Returns whether an interrupt is now to be delivered, as it is still high, or a
/// message has come.
pub(super) fn unmask(line: u32) -> bool {
    // In this order, and the other way round in `raise`: one of the two sees the other.
    MASKED.fetch_and(!(1 << line), SeqCst);
    let message = MESSAGES.fetch_and(!(1 << line), SeqCst) & 1 << line != 0;
    (message || LEVEL.load(SeqCst) & 1 << line != 0) && offer(line)
}

fn offer(line: u32) -> bool {
    let open = MASKED.fetch_or(1 << line, SeqCst) & 1 << line == 0;
    if open {
        DUE.fetch_or(1 << line, SeqCst);
    }
    open
}

/// Whether an interrupt is due.
pub(crate) fn due() -> bool {
    DUE.load(SeqCst) != 0
}

/// Forgets all: the machine has ended.
pub(crate) fn forget() {
    LEVEL.store(0, SeqCst);
    MASKED.store(u32::MAX, SeqCst);
    DUE.store(0, SeqCst);
    MESSAGES.store(0, SeqCst);
}

/// Reports the interrupts that are due to the kernel, and those of other lines, one bit each: on its
/// thread, outside SIP code or, in a signal handler, inside it.
pub(crate) fn deliver(hosted: &HostedHal, others: u32, in_sip: bool) {
    let mut due = DUE.swap(0, SeqCst) | others;
    while due != 0 {
        let line = due.trailing_zeros();
        due &= due - 1;
        // The report of the last one may switch to another thread: the others are only noted.
        (hosted.hooks.interrupt)(line, in_sip && due == 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_delivered_once_until_it_is_unmasked() {
        const LINE: u32 = 29;
        assert!(!raise(LINE), "a masked line was delivered");
        assert!(unmask(LINE), "a line that was high was forgotten");
        assert_eq!(DUE.fetch_and(!(1 << LINE), SeqCst) >> LINE & 1, 1);
        assert!(!raise(LINE));
        lower(LINE);
        assert!(!unmask(LINE), "a line that is low was delivered");
        assert!(raise(LINE));
        assert!(!raise(LINE));
        mask(LINE);
        lower(LINE);
    }

    #[test]
    fn a_message_is_delivered_once() {
        const LINE: u32 = 28;
        assert!(!message(LINE), "a masked line was delivered");
        assert!(unmask(LINE), "a message was forgotten");
        assert!(!unmask(LINE), "a message was delivered twice");
        assert!(message(LINE));
        assert!(!message(LINE));
        lower(LINE);
        assert!(!unmask(LINE), "a message outlived the reset");
        mask(LINE);
        DUE.fetch_and(!(1 << LINE), SeqCst);
    }
}
