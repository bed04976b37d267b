//! Devices that never confirm a reset, for tests of what becomes of them.

use crate::ground::device::{Device, IoRange, Space, Transport, Window};
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::OnceLock;
use std::vec::Vec;

/// The register of a device's status, in virtio's memory-mapped registers.
const STATUS: u32 = 0x70;
/// What it always says: that a driver is at work.
const AT_WORK: u64 = 15;

/// Two of them, and the machine's clock.
pub(crate) struct Stubborn {
    devices: OnceLock<Vec<Device>>,
    looks: [AtomicU64; 2],
    clock: AtomicU64,
    /// By how much the clock goes on with each look.
    tick: AtomicU64,
}

/// While this is there, the clock goes on.
pub(crate) struct Ticks<'a>(&'a Stubborn);

impl Drop for Ticks<'_> {
    fn drop(&mut self) {
        self.0.tick.store(0, Relaxed);
        self.0.clock.store(0, Relaxed);
    }
}

impl Stubborn {
    pub(super) const fn new() -> Stubborn {
        Stubborn {
            devices: OnceLock::new(),
            looks: [AtomicU64::new(0), AtomicU64::new(0)],
            clock: AtomicU64::new(0),
            tick: AtomicU64::new(0),
        }
    }

    /// Lets the clock go on; otherwise it stands still.
    pub(crate) fn ticks(&self) -> Ticks<'_> {
        self.tick.store(10_000, Relaxed);
        Ticks(self)
    }

    /// How often the kernel has looked whether a device has reset itself.
    pub(crate) fn looks(&self, device: usize) -> u64 {
        self.looks[device].load(Relaxed)
    }

    pub(super) fn now(&self) -> u64 {
        self.clock.fetch_add(self.tick.load(Relaxed), Relaxed)
    }

    pub(super) fn devices(&self) -> &[Device] {
        let device = |at: usize| Device {
            location: std::format!("/virtio-mmio/{at}"),
            signature: "/virtio/99".into(),
            ranges: [IoRange {
                space: Space::Memory,
                len: 0x200,
            }]
            .into(),
            line: None,
            transport: Transport::Mmio(Window {
                range: 0,
                offset: 0,
                len: 0x100,
            }),
        };
        self.devices.get_or_init(|| (0..2).map(device).collect())
    }

    pub(super) fn read(&self, device: usize, offset: u32) -> u64 {
        if offset != STATUS {
            return 0;
        }
        self.looks[device].fetch_add(1, Relaxed);
        AT_WORK
    }

    /// The machine keeps the second one from its memory, whatever it does.
    pub(super) fn disconnect(device: usize, reset: bool) -> bool {
        reset || device == 1
    }
}
