//! Platform devices: those at fixed ports, addresses and interrupts, which no bus describes
//! (`IoFixedPortRange` and `IoFixedMemoryRange` of [O] 5.2.1).
//!
//! Their signatures are the names by which ACPI and Plug and Play know them. The firmware's tables
//! say what is certainly missing; whether the rest is there, its registers tell, which are looked
//! at only after no other device has claimed them.
//!
//! Their interrupts are edges, of which those are lost that come while a line is masked. A driver
//! misses nothing all the same: it looks at its device after it has acknowledged an interrupt, until
//! the device has nothing more to tell and its line is low.
//!
//! None of them reaches memory.

use super::{Known, Pin, Place, Search, give_line, range, take_line};
use crate::clock;
use crate::guard::Guard;
use crate::serial::line;
use crate::{ioapic, memory, port};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;
use sing_kernel::device::{Device, IoRange, Space, Transport};

/// The real-time clock's ([`clock::CALENDAR`]).
const CLOCK_LINE: u8 = 8;
/// The keyboard's controller (an 8042): data; status and commands.
const KEYBOARD: [u16; 2] = [0x60, 0x64];
const KEYBOARD_LINE: u8 = 1;
/// The second serial port (a 16550), as the first is the kernel's: its registers, and of them the
/// one that does nothing.
const SERIAL: Range<u16> = 0x2f8..0x300;
const SERIAL_SCRATCH: u16 = 0x2ff;
const SERIAL_LINE: u8 = 3;
/// The VGA's text, its fonts, and its registers.
const TEXT: Range<u64> = 0xb_8000..0xc_0000;
const FONTS: Range<u64> = 0xa_0000..0xb_0000;
const SCREEN: Range<u16> = 0x3c0..0x3e0;
/// How the signature of a display on the PCI bus begins.
const DISPLAY: &str = "/pci/03/00/";

/// What a port reads as at which nothing answers.
const NOTHING: u8 = 0xff;

/// Adds those that there are.
pub fn find(search: &mut Search<'_>) {
    // The tables' word on what is missing; without tables, nothing is known to be.
    let missing = search.platform.fixed.map(|f| f.missing).unwrap_or_default();
    if !missing.clock && clock_is_there() {
        let ports = Ports::guarded(clock::CALENDAR, Guard::Clock);
        add(search, "/pnp/PNP0B00", &[ports], Some(CLOCK_LINE));
    }
    if !missing.keyboard && port::read8(KEYBOARD[1]) != NOTHING {
        let [data, command] = KEYBOARD;
        let ports = [
            Ports::plain(data..data + 1),
            Ports::guarded(command..command + 1, Guard::Keyboard),
        ];
        add(search, "/pnp/PNP0303", &ports, Some(KEYBOARD_LINE));
    }
    serial(search);
    screen(search);
}

/// Whether a clock answers: no register of its own reads as all ones.
fn clock_is_there() -> bool {
    (0x0a..=0x0d).all(|register| clock::read_calendar(register) != NOTHING)
}

fn serial(search: &mut Search<'_>) {
    let location = location(Place::Port(SERIAL.start), 0);
    let claimed = u32::from(SERIAL.start)..u32::from(SERIAL.end);
    if !search.claim_ports(&location, claimed.clone()) {
        return;
    }
    let holds = |value| {
        port::write8(SERIAL_SCRATCH, value);
        port::read8(SERIAL_SCRATCH) == value
    };
    if holds(0x5a) && holds(0xa5) {
        let ports = Ports::plain(SERIAL);
        add(search, "/pnp/PNP0501", &[ports], Some(SERIAL_LINE));
    } else {
        search.ports.retain(|r| *r != claimed);
    }
}

/// The text screen of a display that the firmware has switched on.
fn screen(search: &mut Search<'_>) {
    let displays = &search.list.devices;
    if !displays.iter().any(|d| d.signature.starts_with(DISPLAY)) {
        return;
    }
    let location = location(Place::Memory(TEXT.start), TEXT.start);
    let ports = u32::from(SCREEN.start)..u32::from(SCREEN.end);
    if !search.claim(&location, TEXT)
        || !search.claim(&location, FONTS)
        || !search.claim_ports(&location, ports)
    {
        return;
    }
    let map = |range: Range<u64>| memory::map_device(range.start, range.end - range.start);
    let (Some(text), Some(fonts)) = (map(TEXT), map(FONTS)) else {
        line!("machine: {location} is not used: its memory cannot be mapped");
        return;
    };
    let memory = |at, space: Range<u64>| Ports {
        place: Place::Memory(at),
        len: space.end - space.start,
    };
    let parts = [
        memory(text, TEXT),
        memory(fonts, FONTS),
        Ports::plain(SCREEN),
    ];
    add_at(search, location, "/pnp/PNP0900", &parts, None);
}

/// A range of a platform device: its first port or address, and its length.
struct Ports {
    place: Place,
    len: u64,
}

impl Ports {
    fn plain(ports: Range<u16>) -> Ports {
        Ports {
            place: Place::Port(ports.start),
            len: u64::from(ports.end - ports.start),
        }
    }

    /// Ports of which a driver does not get all.
    fn guarded(ports: Range<u16>, guard: Guard) -> Ports {
        Ports {
            place: Place::Guarded(ports.start, guard),
            ..Ports::plain(ports)
        }
    }
}

/// A device's location: its first port, or the physical address.
fn location(first: Place, physical: u64) -> String {
    match first {
        Place::Port(port) | Place::Guarded(port, _) => format!("/isa/{port:04x}"),
        Place::Memory(_) => format!("/isa/{physical:05x}"),
    }
}

fn add(search: &mut Search<'_>, signature: &str, ports: &[Ports], isa: Option<u8>) {
    let Some(first) = ports.first() else { return };
    add_at(search, location(first.place, 0), signature, ports, isa);
}

fn add_at(
    search: &mut Search<'_>,
    location: String,
    signature: &str,
    parts: &[Ports],
    isa: Option<u8>,
) {
    let space = |p: &Ports| match p.place {
        Place::Memory(_) => Space::Memory,
        Place::Port(_) | Place::Guarded(..) => Space::Port,
    };
    let ranges: Option<Vec<IoRange>> = parts.iter().map(|p| range(space(p), p.len)).collect();
    let Some(ranges) = ranges else { return };
    let device = Device {
        location,
        signature: signature.into(),
        ranges,
        line: isa.and_then(|isa| connect(search, isa)),
        transport: Transport::None,
    };
    let known = Known {
        places: parts.iter().map(|p| p.place).collect(),
        function: None,
        reset: None,
        pin: Pin::None,
        masters: false,
        confined: false,
    };
    search.add(device, known);
}

/// Connects a line to the input at which a line of the ISA bus arrives.
fn connect(search: &Search<'_>, isa: u8) -> Option<u32> {
    let line = take_line()?;
    let connected = ioapic::connect(line, ioapic::isa(search.platform, isa));
    if !connected {
        give_line(line);
    }
    connected.then_some(line)
}
