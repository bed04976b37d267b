//! Devices on the PCI bus: enumeration, registers, capabilities.
//!
//! The firmware has placed the registers; they stay where they are. What the firmware has not
//! placed, or placed over something else, is left out.

use super::config::{Function, Way};
use super::reset::Reset;
use super::{Known, Pin, Place, Search, give_line, range, take_line};
use super::{acs, msix, pins};
use crate::function_reset::Plan;
use crate::messages::{MSIX, vectors};
use crate::serial::line;
use crate::{ioapic, iommu, memory, virtio_kinds};
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;
use sing_kernel::device::{Device, IoRange, Space, Transport, Window};

const CAPABILITIES: u16 = 0x34;
const FIRST_BAR: u16 = 0x10;
const BARS: u16 = 6;
/// Interrupt line and pin.
const LINE: u16 = 0x3c;
/// Class of bridges, whose configuration is the machine's.
const BRIDGE: u8 = 6;
const VIRTIO: u16 = 0x1af4;
/// Capabilities.
const VENDOR: u8 = 0x09;
const EXPRESS: u8 = 0x10;
/// Kind of PCI Express function: a port of the root complex.
const ROOT_PORT: u32 = 4;
/// More than fit into the space.
const MOST_CAPABILITIES: usize = 48;
/// Bytes of virtio's common configuration that the kernel uses.
const COMMON: u32 = 56;

/// What is between a bus and memory.
#[derive(Clone, Copy)]
enum Behind {
    /// Nothing but the root.
    Root,
    /// A port of the root, with this number, which hands everything on to the root.
    Port(u8),
    /// A port that does not, a switch, behind which devices reach each other, or a bridge, behind
    /// which they have its number.
    Others,
}

/// Adds the functions of all buses.
pub fn find(search: &mut Search<'_>) {
    let mut buses = Vec::from([(0u8, Behind::Root)]);
    let mut seen = 0;
    while let Some(&(bus, behind)) = buses.get(seen) {
        seen += 1;
        let Some(way) = Way::to(bus, &search.platform.pci) else {
            continue;
        };
        for number in 0..=255 {
            let function = Function::new(way, bus, number);
            let first = Function::new(way, bus, number & !7);
            // Function 0 says whether there are others.
            if number % 8 != 0 && (first.read16(0) == 0xffff || first.read8(0x0e) & 0x80 == 0) {
                continue;
            }
            if function.read16(0) == 0xffff {
                continue;
            }
            if function.read8(0x0b) == BRIDGE {
                // Beyond it lies another bus, once the firmware has given it a number.
                let further = function.read8(0x19);
                let is_bridge = function.read8(0x0e) & 0x7f == 1;
                if is_bridge && further > bus && buses.iter().all(|(b, _)| *b != further) {
                    let is_port = bus == 0 && is_root_port(&function);
                    let behind = if is_port && acs::isolate_port(&function) {
                        Behind::Port(number)
                    } else {
                        Behind::Others
                    };
                    buses.push((further, behind));
                }
                continue;
            }
            function.stop_mastering();
            let has_neighbours = first.read8(0x0e) & 0x80 != 0;
            let isolated = has_neighbours
                && matches!(behind, Behind::Port(_))
                && acs::isolate_function(&function);
            let behind = match behind {
                Behind::Port(_) if has_neighbours && !isolated => Behind::Others,
                behind => behind,
            };
            add(search, &function, behind, isolated);
        }
    }
}

/// A range of registers, with the number of its base address register.
struct Bar {
    number: u8,
    place: Place,
    range: IoRange,
}

/// A function's capabilities: the kind and place of each.
fn capabilities(function: &Function) -> Vec<(u8, u16)> {
    let mut found = Vec::new();
    if function.read(0x04) >> 16 & 1 << 4 != 0 {
        let mut at = u16::from(function.read8(CAPABILITIES) & !3);
        while at >= 0x40 && found.len() < MOST_CAPABILITIES {
            found.push((function.read8(at), at));
            at = u16::from(function.read8(at + 1) & !3);
        }
    }
    found
}

/// Whether a bridge is a port of the root, with nothing but one device behind it.
fn is_root_port(bridge: &Function) -> bool {
    let kind = |at: u16| bridge.read(at) >> 20 & 15;
    let all = capabilities(bridge);
    all.iter()
        .any(|&(id, at)| id == EXPRESS && kind(at) == ROOT_PORT)
}

/// Adds a function. `isolated`: it was told to pass nothing on to its neighbours.
fn add(search: &mut Search<'_>, function: &Function, behind: Behind, isolated: bool) {
    let location = function.to_string();
    let (vendor, id) = (function.read16(0), function.read16(2));
    let (class, subclass) = (function.read8(0x0b), function.read8(0x0a));
    let signature = format!("/pci/{class:02x}/{subclass:02x}/{vendor:04x}/{id:04x}");
    if function.read8(0x0e) & 0x7f != 0 {
        return;
    }
    let Some(mut bars) = bars(search, function, &location) else {
        return;
    };
    let capabilities = capabilities(function);
    let mut transport = Transport::None;
    if vendor == VIRTIO {
        transport = virtio(function, &capabilities, &bars).unwrap_or(Transport::None);
        let kind = virtio_kinds::of(id);
        // Without the modern interface, its registers hold addresses of queues, and some machines
        // let it reach memory whatever its command register says.
        if kind.is_some() && transport == Transport::None {
            line!("machine: {location} is not used: a virtio device without the modern interface");
            return;
        }
        if kind.is_some_and(|kind| !virtio_kinds::takes_no_addresses(kind)) {
            line!("machine: {location} is not used: its requests may hold addresses of memory");
            return;
        }
    }
    let remapped = match behind {
        Behind::Root => iommu::confines(search.platform, function.source(), None),
        Behind::Port(port) => iommu::confines(search.platform, function.source(), Some(port)),
        Behind::Others => false,
    };
    if matches!(behind, Behind::Others) && !search.platform.remapping.is_empty() {
        line!(
            "machine: {location} is not confined by the IOMMU: what is before it may pass accesses on to others"
        );
    }
    let confined = transport == Transport::None && remapped;
    // Messages from behind a bridge carry the bridge's number, which would be anybody's there.
    let is_named = !matches!(behind, Behind::Others)
        || capabilities.iter().any(|(id, _)| *id == EXPRESS)
        || !iommu::interrupts::are_remapped();
    let messages = is_named && (confined || transport != Transport::None);
    let message = messages.then(|| interrupt(function, &capabilities, &bars));
    let message = message.flatten();
    let mut line = message.map(|m| m.line);
    if let Transport::Pci { vectors, .. } = &mut transport {
        *vectors = line.is_some();
    }
    let mut pin = Pin::None;
    if line.is_none()
        && let Some((connected, how)) = connect_pin(search, function)
    {
        (line, pin) = (Some(connected), how);
    }
    if transport == Transport::None {
        hide_vectors(function, &capabilities, &mut bars);
    }
    // A device with a transport confirms its own reset.
    let plan = Plan::of(function, &capabilities).filter(|_| transport == Transport::None);
    let reset = plan.map(|plan| Reset {
        plan,
        isolated,
        message,
    });
    let known = Known {
        places: bars.iter().map(|b| b.place).collect(),
        function: Some(*function),
        reset,
        pin,
        masters: transport != Transport::None,
        confined,
    };
    let device = Device {
        location,
        signature,
        ranges: bars.iter().map(|b| b.range).collect(),
        line,
        transport,
    };
    search.add(device, known);
}

/// Its base address registers. `None` if one of them cannot be used.
fn bars(search: &mut Search<'_>, function: &Function, location: &str) -> Option<Vec<Bar>> {
    let mut bars = Vec::new();
    let mut number = 0;
    while number < BARS {
        let register = FIRST_BAR + 4 * number;
        let low = function.read(register);
        let wide = low & 1 == 0 && low >> 1 & 3 == 2 && number + 1 < BARS;
        let sized = |register: u16| {
            let old = function.read(register);
            function.while_off(|| {
                function.write(register, u32::MAX);
                let size = function.read(register);
                function.write(register, old);
                (old, size)
            })
        };
        let (low, low_size) = sized(register);
        let (high, high_size) = if wide {
            sized(register + 4)
        } else {
            (0, u32::MAX)
        };
        let bar = number as u8;
        number += if wide { 2 } else { 1 };
        if low_size == 0 {
            continue;
        }
        if low & 1 == 1 {
            let mask = (low_size & !3) as u16;
            let (base, len) = ((low & !3) as u16, u64::from(mask.wrapping_neg()));
            if base == 0 || mask == 0 {
                continue;
            }
            if !search.claim_ports(location, base.into()..u32::from(base) + len as u32) {
                return None;
            }
            bars.push(Bar {
                number: bar,
                place: Place::Port(base),
                range: range(Space::Port, len)?,
            });
            continue;
        }
        let join = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low & !15);
        let (base, mask) = (join(low, high), join(low_size, high_size));
        let len = mask.wrapping_neg();
        if base == 0 || mask == 0 {
            // Not placed by the firmware.
            continue;
        }
        let end = base.checked_add(len)?;
        let Some(kernels) = range(Space::Memory, len) else {
            continue;
        };
        if !search.claim(location, base..end) {
            return None;
        }
        let Some(mapped) = memory::map_device(base, len) else {
            line!("machine: {location} is not used: its registers at {base:#x} cannot be mapped");
            return None;
        };
        bars.push(Bar {
            number: bar,
            place: Place::Memory(mapped),
            range: kernels,
        });
    }
    Some(bars)
}

/// The range of a base address register, and its index among the ranges.
fn bar(bars: &[Bar], number: u8) -> Option<(usize, &Bar)> {
    bars.iter().enumerate().find(|(_, b)| b.number == number)
}

/// The virtio transport that a function's capabilities describe; `None` if it lacks a part, as a
/// device that speaks only the legacy interface does.
fn virtio(function: &Function, capabilities: &[(u8, u16)], bars: &[Bar]) -> Option<Transport> {
    let mut parts: [Option<Window>; 5] = [None; 5];
    let mut multiplier = 0;
    for &(id, at) in capabilities {
        let kind = usize::from(function.read8(at + 3));
        if id != VENDOR || at > 0xec || !(1..5).contains(&kind) || parts[kind].is_some() {
            continue;
        }
        let (offset, len) = (function.read(at + 8), function.read(at + 12));
        let Some((range, bar)) = bar(bars, function.read8(at + 4)) else {
            continue;
        };
        let inside = offset
            .checked_add(len)
            .is_some_and(|end| end <= bar.range.len);
        if !inside || offset % 4 != 0 || bar.range.space != Space::Memory {
            continue;
        }
        parts[kind] = Some(Window { range, offset, len });
        if kind == 2 {
            multiplier = function.read(at + 16);
        }
    }
    let [_, common, notify, isr, config] = parts;
    Some(Transport::Pci {
        common: common.filter(|c| c.len >= COMMON)?,
        notify: notify?,
        multiplier,
        isr: isr?,
        config: config.unwrap_or_default(),
        vectors: false,
    })
}

/// Connects a line to the input at which a function's pin arrives, as the firmware has set it up for
/// systems that do not run its byte code. Functions share an input if all of them can; else the first
/// has it, and the others never raise their pins.
fn connect_pin(search: &mut Search<'_>, function: &Function) -> Option<(u32, Pin)> {
    let (at, pin) = (function.read8(LINE), function.read8(LINE + 1));
    // Not those of the ISA bus's timer, keyboard, clock and the like.
    let is_free = matches!(at, 3..=7 | 9..=12 | 14 | 15);
    if !is_free || !(1..=4).contains(&pin) {
        return None;
    }
    // Level-triggered, low unless the firmware's tables say otherwise.
    let isa = ioapic::isa(search.platform, at);
    let is_named = search.platform.overrides.iter().any(|o| o.line == at);
    let input = ioapic::Input {
        low: isa.low || !is_named,
        level: true,
        ..isa
    };
    let line = take_line()?;
    if ioapic::connect(line, input) {
        return Some((line, Pin::Alone));
    }
    let carrier = ioapic::line_of(input).filter(|_| function.can_mask_pin());
    let shared = carrier.filter(|&carrier| pins::share(&mut search.list, carrier));
    if shared.is_none() {
        give_line(line);
    }
    shared.map(|carrier| (line, Pin::Shared(carrier)))
}

/// Ends the ranges that hold a function's table of message vectors, or that of those that wait,
/// before these: its driver reaches what lies before. (A virtio device's driver reaches neither.)
fn hide_vectors(function: &Function, capabilities: &[(u8, u16)], bars: &mut Vec<Bar>) {
    let Some(&(_, at)) = capabilities.iter().find(|(id, _)| *id == MSIX) else {
        return;
    };
    for register in [at + 4, at + 8] {
        let place = function.read(register);
        let number = (place & 7) as u8;
        let offset = place & !7;
        if let Some(bar) = bars.iter_mut().find(|b| b.number == number) {
            bar.range.len = bar.range.len.min(offset);
        }
    }
    bars.retain(|b| b.range.len > 0);
}

/// Connects a line to the first of a function's message vectors.
fn interrupt(
    function: &Function,
    capabilities: &[(u8, u16)],
    bars: &[Bar],
) -> Option<msix::Connection> {
    let (_, at) = *capabilities.iter().find(|(id, _)| *id == MSIX)?;
    let place = function.read(at + 4);
    let count = vectors(function.read(at))?;
    let (_, bar) = bar(bars, (place & 7) as u8)?;
    let offset = place & !7;
    if offset.checked_add(count * msix::ENTRY)? > bar.range.len {
        return None;
    }
    let Place::Memory(base) = bar.place else {
        return None;
    };
    let connection = msix::Connection {
        capability: at,
        table: Place::Memory(base + u64::from(offset)),
        count,
        line: take_line()?,
    };
    let connected = connection.connect(function);
    if !connected {
        give_line(connection.line);
    }
    connected.then_some(connection)
}
