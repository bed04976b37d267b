//! Interrupt pins (INTx) that share an input of an I/O APIC.
//!
//! A function that shares its input has a line of the kernel's like any other. What interrupts is
//! the input, on the line of the first function that has been connected to it, the input's carrier. Each
//! function says itself whether it raises its pin, and can be kept from it (PCI 2.3: bits of status
//! and command): so the interrupt is that of each function that raises its pin, which is masked at
//! the function, until its driver acknowledges it. The input is not masked: a function that never
//! becomes quiet, or a driver that never acknowledges, holds up nobody else.
//!
//! Functions that do not have these bits share no input.

use super::{List, Pin, list, reset};
use crate::ioapic;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use sing_kernel::hal::LINES;

/// Lines that carry others, one bit each.
static CARRIERS: AtomicU32 = AtomicU32::new(0);
/// By carrier, interrupts in a row that no function has raised.
static UNKNOWN: [AtomicU32; LINES as usize] = [const { AtomicU32::new(0) }; LINES as usize];
/// After so many, the input is masked, until the timer ticks or a driver on it acknowledges an
/// interrupt. One device that raises its pin and takes it back at once, without end, so costs that
/// many interrupts a tick, and the others on its input wait for a tick and not for ever.
const MOST_UNKNOWN: u32 = 100;
/// Carriers that are masked for that, one bit each.
static MASKED: AtomicU32 = AtomicU32::new(0);

/// Lets a function share the input that this line carries: the first function on it must be able
/// to share, too. Whether it can.
pub fn share(list: &mut List, carrier: u32) -> bool {
    let mut others = list.devices.iter().zip(&mut list.known);
    let first = others.find(|(device, _)| device.line == Some(carrier));
    let Some((_, known)) = first else {
        return false;
    };
    let can_share = known.function.is_some_and(|f| f.can_mask_pin());
    match known.pin {
        Pin::Shared(_) => true,
        Pin::Alone if can_share => {
            known.pin = Pin::Shared(carrier);
            CARRIERS.fetch_or(1 << carrier, Relaxed);
            true
        }
        _ => false,
    }
}

/// The lines whose functions raise their pins at the input that this line carries, one bit each:
/// they are masked now. `None` if it carries none.
pub fn arrived(carrier: u32) -> Option<u32> {
    if CARRIERS.load(Relaxed) & 1 << carrier == 0 {
        return None;
    }
    let list = list()?;
    let mut lines = 0;
    for (number, (device, known)) in list.devices.iter().zip(&list.known).enumerate() {
        let Some(function) = known.function.filter(|_| known.pin == Pin::Shared(carrier)) else {
            continue;
        };
        // One that is being reset raises nothing.
        if reset::is_away(number) {
            continue;
        }
        if function.take_pin() {
            lines |= device.line.map_or(0, |line| 1 << line);
        }
    }
    let unknown = &UNKNOWN[carrier as usize % UNKNOWN.len()];
    if lines != 0 {
        unknown.store(0, Relaxed);
    } else if unknown.fetch_add(1, Relaxed) >= MOST_UNKNOWN {
        // Something else on the board raises it, or a device plays with it.
        ioapic::mask(carrier);
        MASKED.fetch_or(1 << carrier, Relaxed);
    }
    Some(lines)
}

/// Opens the inputs again that were masked because nobody had raised them. Called when the timer
/// ticks.
pub fn tick() {
    let mut masked = MASKED.swap(0, Relaxed);
    while masked != 0 {
        let carrier = masked.trailing_zeros();
        masked &= masked - 1;
        open(carrier);
    }
}

fn open(carrier: u32) {
    UNKNOWN[carrier as usize % UNKNOWN.len()].store(0, Relaxed);
    ioapic::unmask(carrier);
}

/// Masks or unmasks a line at its function. False if it does not share its input.
pub fn mask(line: u32, masked: bool) -> bool {
    if CARRIERS.load(Relaxed) == 0 {
        return false;
    }
    let found = list().and_then(|list| {
        let place = list.devices.iter().position(|d| d.line == Some(line))?;
        Some((place, list.known.get(place)?))
    });
    let Some((device, Pin::Shared(carrier), Some(function))) =
        found.map(|(device, k)| (device, k.pin, k.function))
    else {
        return false;
    };
    // One that is being reset comes back masked.
    if !reset::is_away(device) {
        function.let_pin(!masked);
    }
    if !masked {
        open(carrier);
    }
    true
}
