//! Interrupt lines of devices: connects the kernel's lines to inputs of the I/O APICs.
//!
//! Invariants: line `n` has vector `FIRST_VECTOR + n` and at most one input; an input serves at
//! most one line. A line is masked when it is connected, until it is unmasked.

use crate::acpi::Platform;
use crate::iommu::interrupts::{Route, Sender, route};
use crate::{apic, interrupts, memory, messages};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use x86_64::instructions::interrupts::without_interrupts;

/// Physical address of the I/O APIC on machines whose tables name none.
const CUSTOMARY: u64 = 0xfec0_0000;
/// Bytes of its registers: an index register at 0, a data register at 16.
const REGISTERS: u64 = 0x14;
/// The most I/O APICs that are used.
const MAX: usize = 8;
const MASKED: u32 = 1 << 16;
const LEVEL: u32 = 1 << 15;
const LOW: u32 = 1 << 13;

/// An I/O APIC: the address where its registers are mapped (0: none), their physical address, its
/// first input, the number of its inputs.
struct Controller {
    registers: AtomicU64,
    physical: AtomicU64,
    first: AtomicU32,
    inputs: AtomicU32,
}

static CONTROLLERS: [Controller; MAX] = [const {
    Controller {
        registers: AtomicU64::new(0),
        physical: AtomicU64::new(0),
        first: AtomicU32::new(0),
        inputs: AtomicU32::new(0),
    }
}; MAX];

/// The input of each line plus 1; 0 for none.
static CONNECTED: [AtomicU32; interrupts::LINES] = [const { AtomicU32::new(0) }; interrupts::LINES];

/// An input of an I/O APIC, and its signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Input {
    /// Its number among the inputs of all I/O APICs.
    pub number: u32,
    /// Whether the signal is active low.
    pub low: bool,
    /// Whether it is level-triggered, not edge-triggered.
    pub level: bool,
}

/// Finds the controllers and masks all their inputs.
pub fn init(platform: &Platform) {
    let customary = [(CUSTOMARY, 0)];
    let named = platform.io_apics.iter().map(|a| (a.registers, a.first));
    let found: &mut dyn Iterator<Item = (u64, u32)> = if platform.io_apics.is_empty() {
        &mut customary.into_iter()
    } else {
        &mut { named }
    };
    for ((physical, first), controller) in found.zip(&CONTROLLERS) {
        let Some(registers) = memory::map_device(physical, REGISTERS) else {
            continue;
        };
        controller.registers.store(registers, Relaxed);
        controller.physical.store(physical, Relaxed);
        let version = controller.read(1);
        if version == 0 || version == u32::MAX {
            controller.registers.store(0, Relaxed);
            continue;
        }
        controller.first.store(first, Relaxed);
        controller.inputs.store((version >> 16 & 0xff) + 1, Relaxed);
        for input in 0..controller.inputs.load(Relaxed) {
            controller.write(0x10 + 2 * input, MASKED);
        }
    }
}

/// The input at which a line of the ISA bus arrives.
pub fn isa(platform: &Platform, line: u8) -> Input {
    platform.overrides.iter().find(|o| o.line == line).map_or(
        Input {
            number: u32::from(line),
            low: false,
            level: false,
        },
        |o| Input {
            number: o.input,
            low: o.low,
            level: o.level,
        },
    )
}

/// Connects a line to an input, masked. False, with nothing changed, if there is no such input, or
/// it or the line is connected already, or its controller's interrupts are refused.
pub fn connect(line: u32, input: Input) -> bool {
    let wanted = input.number + 1;
    let Some(place) = CONNECTED.get(line as usize) else {
        return false;
    };
    let (Some(controller), Some(vector)) = (find(input.number), interrupts::vector(line)) else {
        return false;
    };
    if CONNECTED.iter().any(|c| c.load(Relaxed) == wanted) {
        return false;
    }
    if place.load(Relaxed) != 0 {
        return false;
    }
    let mut signal = MASKED;
    if input.low {
        signal |= LOW;
    }
    if input.level {
        signal |= LEVEL;
    }
    let sender = Sender::IoApic(controller.physical.load(Relaxed));
    let [low, high] = match route(line, input.level, sender) {
        Some(Route::By(entry)) => messages::redirection_to(entry, vector, signal),
        Some(Route::Direct) => [signal | u32::from(vector), apic::id() << 24],
        None => return false,
    };
    place.store(wanted, Relaxed);
    with_entry(line, |controller, register| {
        controller.write(register + 1, high);
        controller.write(register, low);
    })
}

/// The line that is connected to an input; `None` if none is, or the input's signal is another.
pub fn line_of(input: Input) -> Option<u32> {
    let wanted = input.number + 1;
    let line = CONNECTED.iter().position(|c| c.load(Relaxed) == wanted)? as u32;
    let mut same = false;
    with_entry(line, |c, register| {
        let signal = c.read(register) & (LOW | LEVEL);
        let [low, level] = [(input.low, LOW), (input.level, LEVEL)];
        let bit = |(so, bit): (bool, u32)| if so { bit } else { 0 };
        same = signal == bit(low) | bit(level);
    });
    same.then_some(line)
}

/// Masks a line and disconnects it from its input.
pub fn disconnect(line: u32) {
    mask(line);
    CONNECTED[line as usize].store(0, Relaxed);
}

/// Lets a line interrupt.
pub fn unmask(line: u32) {
    with_entry(line, |c, register| {
        c.write(register, c.read(register) & !MASKED)
    });
}

/// Keeps a line from interrupting.
pub fn mask(line: u32) {
    with_entry(line, |c, register| {
        c.write(register, c.read(register) | MASKED)
    });
}

/// Calls `f` with the controller and the redirection register of a line's input. False if the line
/// has none.
fn with_entry(line: u32, f: impl FnOnce(&Controller, u32)) -> bool {
    let connected = CONNECTED.get(line as usize).map_or(0, |c| c.load(Relaxed));
    let Some(input) = connected.checked_sub(1) else {
        return false;
    };
    let Some(controller) = find(input) else {
        return false;
    };
    // Selecting a register and accessing it must not be interrupted by a handler that does the
    // same.
    without_interrupts(|| {
        f(
            controller,
            0x10 + 2 * (input - controller.first.load(Relaxed)),
        )
    });
    true
}

fn find(input: u32) -> Option<&'static Controller> {
    CONTROLLERS.iter().find(|c| {
        let first = c.first.load(Relaxed);
        c.registers.load(Relaxed) != 0 && (first..first + c.inputs.load(Relaxed)).contains(&input)
    })
}

impl Controller {
    fn read(&self, register: u32) -> u32 {
        self.select(register);
        // SAFETY: `init` has mapped the page for this, uncached; the register holds the selected
        // one's value.
        unsafe { ((self.registers.load(Relaxed) + 16) as *const u32).read_volatile() }
    }

    fn write(&self, register: u32, value: u32) {
        self.select(register);
        // SAFETY: as for `read`; what is written routes interrupts, whose handlers are ready.
        unsafe { ((self.registers.load(Relaxed) + 16) as *mut u32).write_volatile(value) }
    }

    fn select(&self, register: u32) {
        // SAFETY: as for `read`; the register selects another.
        unsafe { (self.registers.load(Relaxed) as *mut u32).write_volatile(register) }
    }
}
