//! The machine's devices: found once at the start, then only reached through
//! [`sing_kernel::hal::Hal`].
//!
//! Looked for are virtio transports that the command line names
//! (`virtio_mmio.device=SIZE@ADDRESS:INPUT`, as hypervisors without firmware tables write it), PCI
//! functions, and platform devices at fixed ports and addresses.
//!
//! Invariants:
//! - A range of a device overlaps no memory, no interrupt controller, no window onto PCI
//!   configuration, and no range of another device; who would is left out, with a line that says
//!   so.
//! - A PCI function that is no bridge masters the bus only while the kernel has it connected and it
//!   has a virtio transport, or while it has a window and an IOMMU confines it to that. So no other
//!   device reaches memory, nor sends messages for interrupts.
//! - A PCI function without a transport that can be reset is reset before each of its holders.

mod acs;
mod config;
mod guard;
mod isa;
mod msix;
mod pci;
mod pins;
mod reset;
pub use pins::tick;
mod virtio_mmio;

use crate::acpi::Platform;
use crate::command_line::Request;
use crate::guard::Guard;
use crate::port;
use crate::regions::Regions;
use crate::serial::line;
use crate::{ioapic, iommu, memory};
use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use config::Function;
use core::ops::Range;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering::Relaxed};
use reset::Reset;
use sing_kernel::device::{Device, IoRange, MOST_DEVICES, MOST_RANGES, Space};

/// The first interrupt line of devices: those before are the timer's, the console's and the power
/// button's.
const FIRST_LINE: u32 = 4;

/// Where a range of registers is.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// A virtual address.
    Memory(u64),
    /// A port.
    Port(u16),
    /// A port of which a driver does not get all.
    Guarded(u16, Guard),
}

/// What a device's interrupt pin is to its line. It is raised only while the device is connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pin {
    /// The device has none, or its line is not the pin.
    None,
    /// It is the line.
    Alone,
    /// It shares an input with others: that of this line ([`pins`]).
    Shared(u32),
}

/// What this HAL knows of a device beside what the kernel does.
struct Known {
    places: Vec<Place>,
    /// Its PCI function; `None` for virtio-mmio and platform devices.
    function: Option<Function>,
    /// How it is reset when it is given back; `None` if it cannot be, or the kernel resets it.
    reset: Option<Reset>,
    /// Its interrupt pin, if that is its line.
    pin: Pin,
    /// Whether it may master the bus while it is connected.
    masters: bool,
    /// Whether an IOMMU confines it, so that it may master the bus while its window is open.
    confined: bool,
}

/// The devices, complete.
struct List {
    devices: Vec<Device>,
    known: Vec<Known>,
    /// For each range of each device, the address at which its driver reaches it, where there is
    /// one.
    views: Vec<Vec<Option<u64>>>,
}

static LIST: AtomicPtr<List> = AtomicPtr::new(ptr::null_mut());

/// Lines that are in use, one bit each, and the next one that may be free.
static LINES: AtomicU32 = AtomicU32::new(0);
static NEXT_LINE: AtomicU32 = AtomicU32::new(FIRST_LINE);

fn list() -> Option<&'static List> {
    let list = LIST.load(Relaxed);
    // SAFETY: null, or a list that `init` has leaked and nobody changes.
    unsafe { list.as_ref() }
}

/// The ports of the platform itself: interrupt controllers, timers and keyboard; the serial line;
/// edges and levels; power; PCI configuration. Platform devices have some of them ([`isa`]).
const PLATFORM_PORTS: [Range<u32>; 5] = [
    0..0x100,
    0x3f8..0x400,
    0x4d0..0x4d2,
    0x600..0x680,
    0xcf8..0xd00,
];

/// What a search has found so far.
struct Search<'a> {
    list: List,
    platform: &'a Platform,
    /// Physical addresses that no device may have.
    taken: Vec<Range<u64>>,
    /// Ports that no device may have.
    ports: Vec<Range<u32>>,
}

/// Finds the devices.
pub fn init(platform: &Platform, memory: &Regions, request: &Request<'_>) {
    let mut taken: Vec<Range<u64>> = memory.iter().collect();
    taken.push(0xfee0_0000..0xfef0_0000);
    taken.push(0xfec0_0000..0xfec0_1000);
    taken.extend(
        platform
            .io_apics
            .iter()
            .map(|a| a.registers..a.registers + 0x1000),
    );
    taken.extend(
        platform
            .remapping
            .iter()
            .map(|u| u.registers..u.registers + 0x1000),
    );
    taken.extend(platform.pci.iter().map(|w| {
        let bus = |n: u64| w.base + (n << 20);
        bus(w.buses.0.into())..bus(u64::from(w.buses.1) + 1)
    }));
    let mut search = Search {
        list: List {
            devices: Vec::new(),
            known: Vec::new(),
            views: Vec::new(),
        },
        platform,
        taken,
        ports: PLATFORM_PORTS.into(),
    };
    virtio_mmio::find(&mut search, request);
    pci::find(&mut search);
    isa::find(&mut search);
    search.list.make_views();
    LIST.store(Box::leak(Box::new(search.list)), Relaxed);
}

impl List {
    /// Makes the views of all ranges of memory-mapped registers, hidden. One for which memory is
    /// short is left out: the kernel reaches the range.
    fn make_views(&mut self) {
        let view = |device: usize, range: usize| match self.known[device].places[range] {
            Place::Memory(at) => {
                let len = self.devices[device].ranges[range].len;
                memory::make_view(device, range, at, len.into())
            }
            Place::Port(_) | Place::Guarded(..) => None,
        };
        let all = |device: usize| {
            let ranges = self.devices[device].ranges.len();
            let count = ranges.min(self.known[device].places.len());
            (0..count).map(|range| view(device, range)).collect()
        };
        self.views = (0..self.devices.len()).map(all).collect();
    }
}

impl Search<'_> {
    /// Reserves physical addresses for a device. False, with a line that says so, if they are
    /// taken.
    fn claim(&mut self, location: &str, range: Range<u64>) -> bool {
        let overlaps = |r: &&Range<u64>| r.start < range.end && range.start < r.end;
        if let Some(other) = self.taken.iter().find(overlaps) {
            line!("machine: {location} is not used: its registers at {range:x?} are in {other:x?}");
            return false;
        }
        self.taken.push(range);
        true
    }

    /// Reserves ports for a device. False, with a line that says so, if they are taken or none.
    fn claim_ports(&mut self, location: &str, range: Range<u32>) -> bool {
        let overlaps = |r: &&Range<u32>| r.start < range.end && range.start < r.end;
        if range.end > 1 << 16 || self.ports.iter().any(|r| overlaps(&r)) {
            line!("machine: {location} is not used: its ports {range:x?} are taken, or none");
            return false;
        }
        self.ports.push(range);
        true
    }

    /// Adds a device. Those beyond the kernel's limits are left out.
    fn add(&mut self, device: Device, known: Known) {
        if self.list.devices.len() == MOST_DEVICES || device.ranges.len() > MOST_RANGES {
            line!("machine: {} is not used: too many devices", device.location);
            return;
        }
        self.list.devices.push(device);
        self.list.known.push(known);
    }
}

/// A line that is not in use; it stays the caller's.
fn take_line() -> Option<u32> {
    let line = NEXT_LINE.load(Relaxed);
    if line >= sing_kernel::hal::LINES {
        return None;
    }
    NEXT_LINE.store(line + 1, Relaxed);
    LINES.fetch_or(1 << line, Relaxed);
    Some(line)
}

/// Gives the line that was taken last back.
fn give_line(line: u32) {
    NEXT_LINE.store(line, Relaxed);
    LINES.fetch_and(!(1 << line), Relaxed);
}

/// Lines of devices, one bit each.
pub fn lines() -> u32 {
    LINES.load(Relaxed)
}

/// The devices.
pub fn all() -> &'static [Device] {
    list().map_or(&[], |l| &l.devices)
}

/// Prints them.
pub fn print() {
    for d in all() {
        let ranges: Vec<_> = d
            .ranges
            .iter()
            .map(|r| format!("{:?} {:#x}", r.space, r.len))
            .collect();
        line!(
            "machine: device {} {}, line {:?}, [{}]",
            d.location,
            d.signature,
            d.line,
            ranges.join(", ")
        );
    }
}

fn place(device: usize, range: usize) -> Option<Place> {
    list()?.known.get(device)?.places.get(range).copied()
}

/// Reads a register that the kernel has found to lie in the range.
pub fn read(device: usize, range: usize, offset: u32, width: u32) -> u64 {
    match place(device, range) {
        // SAFETY: `init` has mapped the range for this, uncached, and the register lies in it,
        // aligned.
        Some(Place::Memory(base)) => unsafe {
            let at = base + u64::from(offset);
            match width {
                1 => (at as *const u8).read_volatile().into(),
                2 => (at as *const u16).read_volatile().into(),
                4 => (at as *const u32).read_volatile().into(),
                _ => (at as *const u64).read_volatile(),
            }
        },
        Some(Place::Port(base)) => {
            let at = base.wrapping_add(offset as u16);
            match width {
                1 => port::read8(at).into(),
                2 => port::read16(at).into(),
                _ => port::read32(at).into(),
            }
        }
        Some(Place::Guarded(base, guard)) => guard.read(base, offset, width),
        None => u64::MAX,
    }
}

/// Writes one.
///
/// # Safety
/// As [`sing_kernel::hal::Hal::io_write`].
pub unsafe fn write(device: usize, range: usize, offset: u32, width: u32, value: u64) {
    match place(device, range) {
        // SAFETY: as for `read`; what the write makes the device do is the caller's promise.
        Some(Place::Memory(base)) => unsafe {
            let at = base + u64::from(offset);
            match width {
                1 => (at as *mut u8).write_volatile(value as u8),
                2 => (at as *mut u16).write_volatile(value as u16),
                4 => (at as *mut u32).write_volatile(value as u32),
                _ => (at as *mut u64).write_volatile(value),
            }
        },
        Some(Place::Port(base)) => {
            let at = base.wrapping_add(offset as u16);
            match width {
                1 => port::write8(at, value as u8),
                2 => port::write16(at, value as u16),
                _ => port::write32(at, value as u32),
            }
        }
        Some(Place::Guarded(base, guard)) => guard.write(base, offset, width, value),
        None => {}
    }
}

/// Makes a range accessible to its driver's code; the address of its first byte.
pub fn show_registers(device: usize, range: usize) -> Option<u64> {
    let view = *list()?.views.get(device)?.get(range)?;
    if view.is_some() {
        memory::show(device, range);
    }
    view
}

/// Undoes that.
pub fn hide_registers(device: usize, range: usize) {
    memory::hide(device, range);
}

/// Goes on with the reset of a device before its next holder gets it: the time at which to call again.
pub fn settle(device: usize) -> Option<u64> {
    let known = list()?.known.get(device)?;
    reset::settle(device, &known.function?, known.reset.as_ref()?)
}

/// Gets a device ready.
pub fn connect(device: usize) -> bool {
    let Some(known) = list().and_then(|l| l.known.get(device)) else {
        return false;
    };
    if reset::is_away(device) {
        return false;
    }
    if let Some(function) = &known.function {
        function.switch_on(known.masters);
        // One that shares its input raises it when its line is unmasked.
        if known.pin == Pin::Alone {
            function.let_pin(true);
        }
    }
    true
}

/// Masks a device's line and cuts it off from memory, if that is possible; `reset`: it has
/// confirmed a reset.
pub fn disconnect(device: usize, reset: bool) -> bool {
    let Some(list) = list() else { return false };
    if let Some(line) = list.devices.get(device).and_then(|d| d.line) {
        mask(line);
    }
    let known = list.known.get(device);
    let Some((function, known)) = known.and_then(|k| Some((k.function?, k))) else {
        return reset;
    };
    // One whose reset is under way already does neither.
    if !reset::is_away(device) {
        function.stop_mastering();
        function.let_pin(false);
    }
    let closed = !known.confined || iommu::close(device);
    if let Some(reset) = &known.reset {
        reset::begin(device, &function, reset);
    }
    closed
}

/// Whether an IOMMU confines a device.
pub fn is_confined(device: usize) -> bool {
    list()
        .and_then(|l| l.known.get(device))
        .is_some_and(|k| k.confined)
}

/// Opens a device's window, and lets it master the bus.
pub fn open_window(device: usize) -> bool {
    let known = list().and_then(|l| l.known.get(device));
    let function = known.filter(|k| k.confined).and_then(|k| k.function);
    let Some(function) = function else {
        return false;
    };
    let opened = iommu::open(device, function.source());
    if opened && !reset::is_away(device) {
        function.switch_on(true);
    }
    opened
}

/// Keeps a line from interrupting.
pub fn mask(line: u32) {
    if !msix::mask(line, true) && !pins::mask(line, true) {
        ioapic::mask(line);
    }
}

/// Lets a line interrupt.
pub fn unmask(line: u32) {
    if !msix::mask(line, false) && !pins::mask(line, false) {
        ioapic::unmask(line);
    }
}

/// An interrupt has arrived on a line: the lines whose devices have raised it, one bit each, which are
/// masked now, as a device stays active until its driver has served it. Called with interrupts off.
pub fn arrived(line: u32) -> u32 {
    pins::arrived(line).unwrap_or_else(|| {
        mask(line);
        1 << line
    })
}

/// A range as the kernel sees it.
fn range(space: Space, len: u64) -> Option<IoRange> {
    let len = u32::try_from(len).ok().filter(|&l| l > 0 && l < 1 << 31)?;
    Some(IoRange { space, len })
}
