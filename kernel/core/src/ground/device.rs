//! Devices, as the machine describes them to the kernel ([O] 5.1, 5.2.1).
//!
//! A HAL finds the devices at the start, before the kernel runs; the list never changes. The kernel
//! gives each device to one SIP at a time ([`crate::object::device`]) and reaches its registers
//! through [`crate::hal::Hal::io_read`] and [`crate::hal::Hal::io_write`] alone.
//!
//! Invariants that a HAL keeps for the list:
//! - No range holds ordinary memory, or registers by which the machine itself is controlled
//!   (interrupt controllers, PCI configuration, tables of MSI-X vectors, IOMMUs).
//! - What platform devices control of the machine itself (its reset line, address line 20, settings
//!   of the firmware, non-maskable interrupts) no access to their ranges reaches.
//! - No two devices share a range, a line or a location. A device whose registers cannot be kept
//!   apart from others' is left out.
//! - Requests to a virtio device hold data, never addresses of memory: a driver writes what it
//!   likes into them. Kinds with addresses there, such as balloons, are left out.
//! - A device with [`Transport::None`] cannot reach memory by itself: the HAL keeps it from
//!   mastering the bus, unless an IOMMU confines it and its window is open
//!   ([`crate::hal::Hal::open_window`]). A device with a transport reaches memory only through the
//!   queues that the kernel sets up in it.

use alloc::string::String;
use alloc::vec::Vec;

/// The most devices of a machine that the kernel uses.
pub const MOST_DEVICES: usize = 32;
/// The most ranges of a device.
pub const MOST_RANGES: usize = 8;

/// What kind of addresses a range of registers has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// Memory-mapped registers (`IoMemory`).
    Memory,
    /// I/O ports (`IoPort`).
    Port,
}

/// A range of a device's registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoRange {
    /// Its kind.
    pub space: Space,
    /// Its length in bytes, from 1 to 2^31 - 1.
    pub len: u32,
}

/// A part of a range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    /// Index of the range in [`Device::ranges`].
    pub range: usize,
    /// Offset of the part in the range, a multiple of 4.
    pub offset: u32,
    /// Its length in bytes; 0: there is none.
    pub len: u32,
}

/// How the kernel speaks to a virtio device (virtio 1.x; a device that speaks only the legacy
/// interface has no transport).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    /// It is no virtio device, or none that the kernel can speak to.
    None,
    /// virtio over memory-mapped registers, version 2 ("4.2.2 MMIO Device Register Layout"): the
    /// window holds 0x100 bytes of registers and the device's own configuration behind them.
    Mmio(Window),
    /// virtio over PCI ("4.1.4 Virtio Structure PCI Capabilities").
    Pci {
        /// The common configuration structure, of at least 56 bytes.
        common: Window,
        /// The notification structure.
        notify: Window,
        /// Multiplier of a queue's notification offset.
        multiplier: u32,
        /// The interrupt status byte, which a read clears.
        isr: Window,
        /// The device's own configuration.
        config: Window,
        /// Whether [`Device::line`] is vector 0 of the device's MSI-X table; if not, the device
        /// raises the line as its interrupt pin.
        vectors: bool,
    },
}

/// A device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Where it is: `/pci/00/04.0` (bus, device and function in hexadecimal), `/virtio-mmio/3`, or
    /// `/isa/02f8` (a platform device's first port or address). Unique.
    pub location: String,
    /// What it is ([O] 5.2.1): `/pci/<class>/<subclass>/<vendor>/<device>` in hexadecimal digits
    /// (2, 2, 4, 4), `/virtio/<device id>` in decimal, or `/pnp/<id>` for platform devices, by the
    /// names of ACPI and Plug and Play: `/pnp/PNP0501`.
    pub signature: String,
    /// Its registers, at most [`MOST_RANGES`]. For PCI: the index is that of the base address
    /// register less the empty ones. For platform devices: the fixed ranges
    /// (`IoFixedPortRange`, `IoFixedMemoryRange`) in the order that the documentation gives.
    pub ranges: Vec<IoRange>,
    /// Its interrupt line, between 4 and [`crate::hal::LINES`]; in
    /// [`crate::hal::Hal::interrupt_lines`] too. `None` if it has none, or the HAL does not know
    /// how it is routed.
    pub line: Option<u32>,
    /// How the kernel speaks to it, if it is a virtio device.
    pub transport: Transport,
}

impl Device {
    /// The registers that a driver may have: number `index` of its own numbering. A driver of a
    /// virtio device has one window, the device's own configuration; the kernel alone reaches the
    /// registers of the transport, among them the addresses of queues.
    pub(crate) fn driver_window(&self, index: usize) -> Option<(Space, Window)> {
        let window = match self.transport {
            Transport::None => Window {
                range: index,
                offset: 0,
                len: self.ranges.get(index)?.len,
            },
            _ if index > 0 => return None,
            Transport::Mmio(all) => Window {
                offset: all.offset + MMIO_CONFIG,
                len: all.len.checked_sub(MMIO_CONFIG)?,
                ..all
            },
            Transport::Pci { config, .. } => config,
        };
        let space = self.ranges.get(window.range)?.space;
        (window.len > 0).then_some((space, window))
    }
}

/// Offset of the device's own configuration in the registers of virtio-mmio.
const MMIO_CONFIG: u32 = 0x100;
