//! Virtio transports with memory-mapped registers, as the command line names them.

use super::{Known, Pin, Place, Search, give_line, range, take_line};
use crate::command_line::Request;
use crate::ioapic::{self, Input};
use crate::serial::line;
use crate::{memory, virtio_kinds};
use alloc::format;
use alloc::vec;
use sing_kernel::device::{Device, Space, Transport, Window};

/// The first register of each: "virt".
const MAGIC: u32 = 0x7472_6976;
/// The version of the registers that is used. Version 1 is the legacy interface.
const VERSION: u32 = 2;
/// Bytes of registers before the device's own configuration.
const REGISTERS: u64 = 0x100;

/// Adds those that there are.
pub fn find(search: &mut Search<'_>, request: &Request<'_>) {
    for (number, word) in request.virtio().enumerate() {
        let location = format!("/virtio-mmio/{number}");
        if word.len <= REGISTERS || word.base % 4 != 0 {
            line!("machine: {location} is not used: no such registers: {word:?}");
            continue;
        }
        let Some(end) = word.base.checked_add(word.len) else {
            continue;
        };
        if !search.claim(&location, word.base..end) {
            continue;
        }
        let Some(registers) = memory::map_device(word.base, word.len) else {
            continue;
        };
        // SAFETY: mapped above, uncached; reading these has no effect.
        let read = |at: u64| unsafe { ((registers + at) as *const u32).read_volatile() };
        let (magic, version, id) = (read(0), read(4), read(8));
        if magic != MAGIC || id == 0 {
            // No transport, or one without a device.
            continue;
        }
        if version != VERSION {
            line!("machine: {location} is not used: its registers have version {version}, not 2");
            continue;
        }
        if !virtio_kinds::takes_no_addresses(id) {
            line!("machine: {location} is not used: its requests may hold addresses of memory");
            continue;
        }
        let Some(all) = range(Space::Memory, word.len) else {
            continue;
        };
        let line = take_line().filter(|&line| {
            let input = Input {
                number: word.input,
                low: false,
                level: true,
            };
            let connected = ioapic::connect(line, input);
            if !connected {
                give_line(line);
            }
            connected
        });
        let window = Window {
            range: 0,
            offset: 0,
            len: all.len,
        };
        let device = Device {
            location,
            signature: format!("/virtio/{id}"),
            ranges: vec![all],
            line,
            transport: Transport::Mmio(window),
        };
        let known = Known {
            places: vec![Place::Memory(registers)],
            function: None,
            reset: None,
            pin: Pin::None,
            masters: true,
            confined: false,
        };
        search.add(device, known);
    }
}
