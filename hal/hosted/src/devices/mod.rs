//! The hosted machine's devices: models of virtio devices, behind the registers of virtio-mmio, of
//! platform devices, behind ports and memory at fixed places, and of PCI functions.
//!
//! They are there so that the same drivers run hosted and on a PC ([O] 5.1). A driver does not
//! see the difference: it reaches the registers through checked accesses and memory through the
//! queues that the kernel sets up, and the model does what QEMU's device does, with a file of the
//! host behind it.
//!
//! Invariants:
//! - A model of a virtio device touches the system's memory only with its device's state locked, in
//!   a request that the kernel has put into a queue. A reset takes the same lock and forgets all
//!   queues: so a device that has been reset reaches nothing, whatever the host still does for it.
//!   A platform device touches none, a PCI function what its window leads to (`window.rs`).
//! - Work that may wait for the host is done by a thread of the device's own, into memory of its
//!   own. What cannot wait may be done on the kernel's thread (`sockets.rs`, `host_dir.rs`).
//! - Descriptors are the kernel's words, contents of requests a driver's: only the latter are
//!   doubted.

mod call_dir;
mod descriptors;
mod disk;
mod disk_thread;
mod display;
mod e1000;
mod e1000_ring;
#[cfg(test)]
mod e1000_tests;
pub(crate) mod entropy;
mod host_dir;
mod isa;
mod isa_clock;
mod isa_keyboard;
mod isa_screen;
mod isa_serial;
mod lines;
mod mapping;
mod mmio;
mod net;
#[cfg(test)]
mod net_tests;
mod nvme;
mod nvme_command;
mod nvme_facts;
mod nvme_queue;
mod nvme_serve;
#[cfg(test)]
mod nvme_tests;
#[cfg(test)]
mod nvme_tests_going;
mod p9;
mod p9_ahead;
mod p9_files;
mod p9_shares;
#[cfg(test)]
mod p9_tests;
#[cfg(test)]
mod p9_tests_bounds;
mod pci;
mod queue;
mod refusal;
mod sockets;
mod sockets_datagrams;
#[cfg(test)]
mod sockets_datagrams_tests;
mod sockets_host;
mod sockets_policy;
mod sockets_stream;
#[cfg(test)]
mod sockets_tests;
mod store;
#[cfg(test)]
mod tests;
mod turns;
#[cfg(test)]
mod turns_tests;
mod window;

pub use call_dir::{Directories, GivenDirectories, GivenDirectory};
pub use display::{DisplayError, DisplaySocket};
pub use host_dir::{DirectoryError, HostDirectory};
pub use isa_serial::{SerialError, SerialLine};
pub(crate) use lines::{deliver, due, forget};
pub(crate) use mapping::resume_after;
pub use net::{Network, NetworkError};
pub use refusal::DiskError;
pub use sockets::SocketsError;
pub(crate) use sockets::{Idle, Next};
pub use sockets_policy::{AddressRange, HostSockets, RangeError};

use disk::Disk;
use e1000::E1000;
use entropy::Entropy;
use isa::{Description, Platform};
use isa_clock::RealTimeClock;
use isa_serial::Serial;
use mmio::Transport;
use nvme::Nvme;
use pci::Function;
use sing_kernel::device::{Device, IoRange, Space, Window};
use sing_kernel::hal::{DeviceAccess, LINES, Refused};
use std::convert::Infallible;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// The first interrupt line of a device.
const FIRST_LINE: u32 = 4;
/// Devices beside disks, directories and network cards: entropy, the real-time clock, a serial
/// port, a keyboard, a screen, sockets of the host.
const OTHERS: u32 = 6;
/// The most disks, directories and network cards together: the lines are one a device.
pub const MOST_DISKS: usize = (LINES - FIRST_LINE - OTHERS) as usize;

/// A disk of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskFile {
    /// The file whose bytes it holds.
    pub path: PathBuf,
    /// Whether it cannot be written.
    pub read_only: bool,
    /// Whether it is an NVMe disk, not a virtio one.
    pub nvme: bool,
}

/// The model behind a device's registers.
enum Behind {
    Virtio(Arc<Transport>),
    Platform(Arc<dyn Platform>),
    Function(Arc<dyn Function>),
}

/// The machine's devices.
#[derive(Default)]
pub(crate) struct Devices {
    list: Vec<Device>,
    models: Vec<Behind>,
    /// The devices' lines, one bit each.
    lines: u32,
    /// What the kernel's thread does for sockets of the host when it has nothing to run.
    idle: Option<Idle>,
}

impl Devices {
    /// Makes the devices; the disks come first, in the order given, then the directories, and then
    /// the network cards.
    pub(crate) fn new(
        disks: &[DiskFile],
        directories: &[HostDirectory],
        networks: &[Network],
        serial: Option<&SerialLine>,
        display: Option<&DisplaySocket>,
        sockets: &HostSockets,
    ) -> Result<Devices, crate::Error> {
        let mut devices = Devices::default();
        for file in disks {
            let disk = Disk::open(file).map_err(crate::Error::Disk)?;
            let added = if file.nvme {
                devices.add_function(&nvme::description(), |line| Ok(Nvme::start(line, &disk)?))
            } else {
                devices.add(|transport| disk.start(transport))
            };
            added.map_err(crate::Error::Disk)?;
        }
        // Asks Linux, and only where there are directories.
        let most_fids = match directories {
            [] => 0,
            all => p9_shares::more_fids(all.len()),
        };
        for directory in directories {
            let list = &mut devices;
            let added = list.add(|transport| host_dir::start(directory, most_fids, transport));
            added.map_err(crate::Error::Directory)?;
        }
        for network in networks {
            let added = if network.e1000 {
                devices.add_function(&e1000::description(), |line| {
                    Ok(E1000::start(line, network)?)
                })
            } else {
                devices.add(|transport| net::start(network, transport))
            };
            added.map_err(crate::Error::Network)?;
        }
        let Ok(()) = devices.add::<Infallible>(|_| Ok(Box::new(Entropy)));
        let Ok(()) = devices.add_platform::<Infallible>(isa_clock::description(), |_| {
            Ok(Arc::new(RealTimeClock::new()))
        });
        if let Some(far) = serial {
            let added = devices.add_platform(isa_serial::description(), |line| {
                Ok(Serial::start(line, far)?)
            });
            added.map_err(crate::Error::Serial)?;
        }
        if let Some(far) = display {
            let mut screen = None;
            let added = devices.add_platform(isa_keyboard::description(), |line| {
                let (keyboard, shown) = display::start(line, far)?;
                screen = Some(shown);
                Ok(keyboard)
            });
            added.map_err(crate::Error::Display)?;
            if let Some(screen) = screen {
                let Ok(()) =
                    devices.add_platform::<Infallible>(isa_screen::description(), |_| Ok(screen));
            }
        }
        if *sockets != HostSockets::None {
            let mut idle = None;
            let added = devices.add(|transport| {
                let (model, its) = sockets::start(sockets.clone(), directories.len(), transport)?;
                idle = Some(its);
                Ok(model)
            });
            added.map_err(crate::Error::Sockets)?;
            devices.idle = idle;
        }
        Ok(devices)
    }

    /// Adds a platform device; the model is told its line.
    fn add_platform<E>(
        &mut self,
        description: Description,
        model: impl FnOnce(u32) -> Result<Arc<dyn Platform>, E>,
    ) -> Result<(), E> {
        let line = FIRST_LINE + self.list.len() as u32;
        self.models.push(Behind::Platform(model(line)?));
        self.list.push(Device {
            location: description.location.into(),
            signature: description.signature.into(),
            ranges: description.ranges,
            line: description.interrupts.then_some(line),
            transport: sing_kernel::device::Transport::None,
        });
        if description.interrupts {
            self.lines |= 1 << line;
        }
        Ok(())
    }

    /// Adds a PCI function; the model is told its line.
    fn add_function<E>(
        &mut self,
        description: &pci::Description,
        model: impl FnOnce(u32) -> Result<Arc<dyn Function>, E>,
    ) -> Result<(), E> {
        let line = FIRST_LINE + self.list.len() as u32;
        self.models.push(Behind::Function(model(line)?));
        self.list.push(Device {
            location: format!("/pci/00/{:02x}.0", self.list.len()),
            signature: description.signature.into(),
            ranges: vec![IoRange {
                space: Space::Memory,
                len: description.registers,
            }],
            line: Some(line),
            transport: sing_kernel::device::Transport::None,
        });
        self.lines |= 1 << line;
        Ok(())
    }

    /// What a device reaches of memory, if it masters the bus.
    fn window(&self, device: usize) -> Option<&window::Window> {
        match self.models.get(device) {
            Some(Behind::Function(model)) => Some(model.window()),
            _ => None,
        }
    }

    /// As [`sing_kernel::hal::Hal::confines`].
    pub(crate) fn confines(&self, device: usize) -> bool {
        self.window(device).is_some()
    }

    /// As [`sing_kernel::hal::Hal::open_window`].
    pub(crate) fn open_window(&self, device: usize) -> bool {
        self.window(device).map(window::Window::open).is_some()
    }

    /// As [`sing_kernel::hal::Hal::map`], with its obligations.
    pub(crate) fn map(&self, device: usize, page: u32, at: u64, access: DeviceAccess) -> bool {
        let window = self.window(device);
        window.is_some_and(|window| window.map(page, at, access))
    }

    /// As [`sing_kernel::hal::Hal::unmap`], which a model never fails.
    pub(crate) fn unmap(&self, device: usize, pages: Range<u32>) -> bool {
        let window = self.window(device);
        window.map(|window| window.unmap(pages)).is_some()
    }

    /// As [`sing_kernel::hal::Hal::refused`].
    pub(crate) fn refused(&self, device: usize) -> Option<Refused> {
        self.window(device)?.refused()
    }

    fn add<E>(
        &mut self,
        model: impl FnOnce(&Arc<Transport>) -> Result<Box<dyn mmio::Model>, E>,
    ) -> Result<(), E> {
        let line = FIRST_LINE + self.list.len() as u32;
        let transport = Arc::new(Transport::new(line));
        transport.install(model(&transport)?);
        let (id, config) = transport.describe();
        let len = mmio::REGISTERS + config;
        self.list.push(Device {
            location: format!("/virtio-mmio/{}", self.list.len()),
            signature: format!("/virtio/{id}"),
            ranges: vec![IoRange {
                space: Space::Memory,
                len,
            }],
            line: Some(line),
            transport: sing_kernel::device::Transport::Mmio(Window {
                range: 0,
                offset: 0,
                len,
            }),
        });
        self.models.push(Behind::Virtio(transport));
        self.lines |= 1 << line;
        Ok(())
    }

    /// As [`sing_kernel::hal::Hal::devices`].
    pub(crate) fn list(&self) -> &[Device] {
        &self.list
    }

    /// What the kernel's thread does when it has nothing to run.
    pub(crate) fn idle(&self) -> Option<&Idle> {
        self.idle.as_ref()
    }

    /// The devices' lines, one bit each.
    pub(crate) fn lines(&self) -> u32 {
        self.lines
    }

    /// As [`sing_kernel::hal::Hal::io_read`].
    pub(crate) fn read(&self, device: usize, range: usize, offset: u32, width: u32) -> u64 {
        match self.models.get(device) {
            Some(Behind::Virtio(transport)) => transport.read(offset, width),
            Some(Behind::Platform(model)) => model.read(range, offset, width),
            Some(Behind::Function(model)) if range == 0 => model.read(offset, width),
            Some(Behind::Function(_)) => 0,
            None => 0,
        }
    }

    /// As [`sing_kernel::hal::Hal::io_write`]. Returns whether interrupts are now to be delivered.
    pub(crate) fn write(
        &self,
        device: usize,
        range: usize,
        offset: u32,
        width: u32,
        value: u64,
    ) -> bool {
        match self.models.get(device) {
            Some(Behind::Virtio(transport)) => transport.write(offset, width, value),
            Some(Behind::Platform(model)) => model.write(range, offset, width, value),
            Some(Behind::Function(model)) => range == 0 && model.write(offset, width, value),
            None => false,
        }
    }

    /// As [`sing_kernel::hal::Hal::disconnect`], which a model never fails.
    pub(crate) fn disconnect(&self, device: usize) {
        match self.models.get(device) {
            Some(Behind::Virtio(transport)) => transport.reset(),
            Some(Behind::Platform(model)) => model.reset(),
            Some(Behind::Function(model)) => {
                model.reset();
                model.window().close();
            }
            None => return,
        }
        self.mask(FIRST_LINE + device as u32);
    }

    /// Masks a device's line.
    pub(crate) fn mask(&self, line: u32) {
        if self.lines & 1 << line != 0 {
            lines::mask(line);
        }
    }

    /// Unmasks a device's line. Returns whether interrupts are now to be delivered.
    pub(crate) fn unmask(&self, line: u32) -> bool {
        self.lines & 1 << line != 0 && lines::unmask(line)
    }
}
