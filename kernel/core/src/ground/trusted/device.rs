//! Registers of devices: those that a driver may reach, and the transports of virtio devices, which
//! only the kernel reaches.
//!
//! Invariant: a device that no IOMMU confines is told an address only by [`Transport::set_queue`],
//! and only that of a [`Ring`]. So it reaches no memory but rings, and what [`Ring::describe`] was
//! given. One that is confined may be told any: it reaches what is mapped for it
//! ([`super::DeviceMemory`]).

use super::ring::Ring;
use crate::ground::device::{Device, Space, Transport as Kind, Window};
use crate::ground::machine::hal;

/// Registers that a driver may reach.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Registers {
    device: usize,
    space: Space,
    window: Window,
}

/// An access that is not inside the registers, or not at a multiple of its width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outside;

impl Registers {
    /// Range `index` of a device, as its driver counts them. `None` if it has none of that number.
    pub(crate) fn of(device: usize, index: usize) -> Option<Registers> {
        let (space, window) = hal().devices().get(device)?.driver_window(index)?;
        Some(Registers {
            device,
            space,
            window,
        })
    }

    /// Returns the number of bytes.
    pub(crate) fn len(&self) -> u32 {
        self.window.len
    }

    fn check(&self, offset: u32, width: u32) -> Result<u32, Outside> {
        let end = offset.checked_add(width).ok_or(Outside)?;
        // Eight bytes are more than a port can have.
        let widest = match self.space {
            Space::Memory => 8,
            Space::Port => 4,
        };
        let width_fits = width.is_power_of_two() && width <= widest;
        let at = self.window.offset.wrapping_add(offset);
        if width_fits && end <= self.window.len && at.is_multiple_of(width) {
            Ok(at)
        } else {
            Err(Outside)
        }
    }

    /// Reads a register.
    pub(crate) fn read(&self, offset: u32, width: u32) -> Result<u64, Outside> {
        let at = self.check(offset, width)?;
        Ok(hal().io_read(self.device, self.window.range, at, width))
    }

    /// Makes them accessible to code, until [`Registers::hide`]. `None` if only the kernel reaches
    /// them. For the device's holder alone.
    pub(crate) fn show(&self) -> Option<sing_runtime::Window> {
        if self.space != Space::Memory {
            return None;
        }
        let base = hal().show_registers(self.device, self.window.range)?;
        let (base, len) = (base + u64::from(self.window.offset), self.window.len);
        // SAFETY: what the HAL shows is this range and nothing else. The caller's SIP holds the
        // device, and has ended before another one does (`object::device::inline`). As
        // for `write`, no access makes the device reach memory.
        Some(unsafe { sing_runtime::Window::new(base, len, true) })
    }

    /// Makes them inaccessible to code.
    pub(crate) fn hide(&self) {
        if self.space == Space::Memory {
            hal().hide_registers(self.device, self.window.range);
        }
    }

    /// Writes a register.
    pub(crate) fn write(&self, offset: u32, width: u32, value: u64) -> Result<(), Outside> {
        let at = self.check(offset, width)?;
        // SAFETY: a driver's window holds no register of a transport, and a device without one
        // cannot reach memory but what is mapped for it (`Device::driver_window`, and the HAL's
        // obligations).
        unsafe { hal().io_write(self.device, self.window.range, at, width, value) };
        Ok(())
    }
}

/// Bits of a device's status.
const ACKNOWLEDGE: u8 = 1;
const DRIVER: u8 = 2;
const DRIVER_OK: u8 = 4;
const FEATURES_OK: u8 = 8;
const FAILED: u8 = 128;

/// The feature without which a device is not driven: version 1 of the interface.
const VERSION_1: u64 = 1 << 32;
/// The features that concern the kind of device, and not transport and queues.
const OF_KIND: u64 = ((1 << 24) - 1) | (!0 << 50);

/// How long a device may take to confirm a reset, in nanoseconds, and how many looks it has in any
/// case. Nothing else runs meanwhile.
const PATIENCE: u64 = 1_000_000;
const LOOKS: u32 = 100;

/// In place of an MSI-X vector: none.
const NO_VECTOR: u16 = 0xffff;

/// The registers by which the kernel speaks to a virtio device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transport {
    device: usize,
    kind: Kind,
}

impl Transport {
    /// The transport of a device; `None` if it has none.
    pub(crate) fn of(device: usize) -> Option<Transport> {
        let kind = hal().devices().get(device)?.transport;
        (kind != Kind::None).then_some(Transport { device, kind })
    }

    fn read(&self, window: Window, offset: u32, width: u32) -> u64 {
        debug_assert!(offset + width <= window.len);
        hal().io_read(self.device, window.range, window.offset + offset, width)
    }

    fn write(&self, window: Window, offset: u32, width: u32, value: u64) {
        debug_assert!(offset + width <= window.len);
        // SAFETY: the register is one of the transport; what is an address in them is that of a
        // ring (`set_queue`), which is the device's until it has been reset (`device-last`).
        unsafe {
            hal().io_write(
                self.device,
                window.range,
                window.offset + offset,
                width,
                value,
            );
        }
    }

    fn status(&self) -> u8 {
        match self.kind {
            Kind::Mmio(w) => self.read(w, 0x70, 4) as u8,
            Kind::Pci { common, .. } => self.read(common, 20, 1) as u8,
            Kind::None => 0,
        }
    }

    fn set_status(&self, status: u8) {
        match self.kind {
            Kind::Mmio(w) => self.write(w, 0x70, 4, status.into()),
            Kind::Pci { common, .. } => self.write(common, 20, 1, status.into()),
            Kind::None => {}
        }
    }

    /// Resets the device. Returns whether it has confirmed: it then does not use any queue.
    pub(crate) fn reset(&self) -> bool {
        self.set_status(0);
        let end = hal().now().saturating_add(PATIENCE);
        let mut looks = 0;
        loop {
            if self.status() == 0 {
                return true;
            }
            looks += 1;
            if looks > LOOKS && hal().now() > end {
                return false;
            }
        }
    }

    /// Returns the features of its kind that the device offers; `None` if it does not speak version
    /// 1. The device has been reset.
    pub(crate) fn offered(&self) -> Option<u64> {
        self.set_status(ACKNOWLEDGE);
        self.set_status(ACKNOWLEDGE | DRIVER);
        let mut offered = 0;
        for half in 0..2 {
            let bits = match self.kind {
                Kind::Mmio(w) => {
                    self.write(w, 0x14, 4, half);
                    self.read(w, 0x10, 4)
                }
                Kind::Pci { common, .. } => {
                    self.write(common, 0, 4, half);
                    self.read(common, 4, 4)
                }
                Kind::None => 0,
            };
            offered |= (bits & 0xffff_ffff) << (32 * half);
        }
        (offered & VERSION_1 != 0).then_some(offered & OF_KIND)
    }

    /// Accepts features of the device's kind. Returns whether the device agrees.
    pub(crate) fn accept(&self, features: u64) -> bool {
        let features = features & OF_KIND | VERSION_1;
        for half in 0..2 {
            let bits = features >> (32 * half) & 0xffff_ffff;
            match self.kind {
                Kind::Mmio(w) => {
                    self.write(w, 0x24, 4, half);
                    self.write(w, 0x20, 4, bits);
                }
                Kind::Pci { common, .. } => {
                    self.write(common, 8, 4, half);
                    self.write(common, 12, 4, bits);
                }
                Kind::None => {}
            }
        }
        self.set_status(ACKNOWLEDGE | DRIVER | FEATURES_OK);
        if self.status() & FEATURES_OK == 0 {
            self.set_status(FAILED);
            return false;
        }
        if let Kind::Pci {
            common, vectors, ..
        } = self.kind
        {
            self.write(common, 16, 2, vector(vectors));
        }
        true
    }

    /// Tells the device that its driver is ready.
    pub(crate) fn ready(&self) {
        self.set_status(ACKNOWLEDGE | DRIVER | FEATURES_OK | DRIVER_OK);
    }

    fn select(&self, index: u16) {
        match self.kind {
            Kind::Mmio(w) => self.write(w, 0x30, 4, index.into()),
            Kind::Pci { common, .. } => self.write(common, 22, 2, index.into()),
            Kind::None => {}
        }
    }

    /// Returns the most descriptors of a queue; 0 if the device has no such queue.
    pub(crate) fn queue_size(&self, index: u16) -> u16 {
        self.select(index);
        match self.kind {
            Kind::Mmio(w) => self.read(w, 0x34, 4) as u16,
            Kind::Pci { common, .. } => {
                let there = u64::from(index) < self.read(common, 18, 2);
                if there {
                    self.read(common, 24, 2) as u16
                } else {
                    0
                }
            }
            Kind::None => 0,
        }
    }

    /// Sets a queue up. The ring must stay until the device has been reset (`device-last`). Returns
    /// false if the device refuses.
    pub(crate) fn set_queue(&self, index: u16, ring: &Ring) -> bool {
        self.select(index);
        let [descriptors, available, used] = ring.addresses();
        match self.kind {
            Kind::Mmio(w) => {
                self.write(w, 0x38, 4, ring.size().into());
                for (at, address) in [(0x80, descriptors), (0x90, available), (0xa0, used)] {
                    self.write(w, at, 4, address & 0xffff_ffff);
                    self.write(w, at + 4, 4, address >> 32);
                }
                self.write(w, 0x44, 4, 1);
                self.read(w, 0x44, 4) == 1
            }
            Kind::Pci {
                common, vectors, ..
            } => {
                self.write(common, 24, 2, ring.size().into());
                self.write(common, 26, 2, vector(vectors));
                // A device that has no room for the vector says so here.
                if vectors && self.read(common, 26, 2) != vector(vectors) {
                    return false;
                }
                for (at, address) in [(32, descriptors), (40, available), (48, used)] {
                    self.write(common, at, 4, address & 0xffff_ffff);
                    self.write(common, at + 4, 4, address >> 32);
                }
                self.write(common, 28, 2, 1);
                true
            }
            Kind::None => false,
        }
    }

    /// The place where the device is told of new requests in a queue: read once, when the queue has
    /// been set up. `None` if the device names a place outside.
    pub(crate) fn bell(&self, index: u16) -> Option<Bell> {
        let (window, offset, width) = match self.kind {
            Kind::Mmio(w) => (w, 0x50, 4),
            Kind::Pci {
                common,
                notify,
                multiplier,
                ..
            } => {
                self.select(index);
                let place = self.read(common, 30, 2) as u32;
                (notify, place.checked_mul(multiplier)?, 2)
            }
            Kind::None => return None,
        };
        let fits = offset.checked_add(width)? <= window.len && offset.is_multiple_of(width);
        fits.then_some(Bell {
            transport: *self,
            window,
            offset,
            width,
            queue: index,
        })
    }

    /// Acknowledges the device's interrupt, if that is done at the device.
    pub(crate) fn acknowledge(&self) {
        match self.kind {
            Kind::Mmio(w) => {
                let causes = self.read(w, 0x60, 4);
                self.write(w, 0x64, 4, causes & 3);
            }
            Kind::Pci { vectors: true, .. } | Kind::None => {}
            Kind::Pci { isr, .. } => {
                self.read(isr, 0, 1);
            }
        }
    }
}

fn vector(vectors: bool) -> u64 {
    if vectors { 0 } else { NO_VECTOR.into() }
}

/// The register by which a device is told of new requests in a queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bell {
    transport: Transport,
    window: Window,
    offset: u32,
    width: u32,
    queue: u16,
}

impl Bell {
    /// One that nobody hears.
    #[cfg(test)]
    pub(crate) fn silent() -> Bell {
        let transport = Transport {
            device: 0,
            kind: Kind::None,
        };
        Bell {
            transport,
            window: Window {
                len: 4,
                ..Window::default()
            },
            offset: 0,
            width: 4,
            queue: 0,
        }
    }

    /// Tells the device.
    pub(crate) fn ring(&self) {
        let queue = u64::from(self.queue);
        self.transport
            .write(self.window, self.offset, self.width, queue);
    }
}

/// The device with this index.
pub(crate) fn device(index: usize) -> Option<&'static Device> {
    hal().devices().get(index)
}
