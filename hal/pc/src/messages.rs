//! Interrupts as messages, in the forms of Intel VT-d (chapters 5 and 9.10): what an I/O APIC or a
//! device sends, the entry of the remapping table that it names, and the record of one that was
//! refused.
//!
//! Plain numbers, without hardware, so that they are tested on any host.

/// Where the local APICs take messages: 1 MiB from here on.
pub const ADDRESS: u32 = 0xfee0_0000;
/// Bits of the address: the message names an entry of the remapping table; its data is added to
/// the entry's number.
const REMAPPED: u32 = 1 << 4 | 1 << 3;

/// Bits of an entry's first half.
const PRESENT: u64 = 1;
const LEVEL: u64 = 1 << 4;
/// In the second half: the whole number of the sender is compared.
const COMPARED: u64 = 1 << 18;

/// In the first register of a function's capability for messages (MSI-X): its id, and how many
/// vectors its table has, less one.
pub const MSIX: u8 = 0x11;
const COUNT: u32 = 0x7ff;

/// How many vectors a function's table has, as the first register of its capability says; `None` if
/// that is another capability's, or nobody has answered.
pub fn vectors(first: u32) -> Option<u32> {
    (first as u8 == MSIX).then_some((first >> 16 & COUNT) + 1)
}

/// What is sent to a processor by an entry of the remapping table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Remapped {
    /// The interrupt's vector.
    pub vector: u8,
    /// Id of the local APIC.
    pub destination: u32,
    /// Whether the local APICs have their extended mode (x2APIC), in which ids have 32 bits.
    pub extended: bool,
    /// Whether it is level-triggered.
    pub level: bool,
    /// The only sender: bus, device and function.
    pub source: u16,
}

impl Remapped {
    /// The two halves of the entry.
    pub fn entry(&self) -> [u64; 2] {
        let destination = if self.extended {
            u64::from(self.destination)
        } else {
            u64::from(self.destination & 0xff) << 8
        };
        let level = if self.level { LEVEL } else { 0 };
        let first = destination << 32 | u64::from(self.vector) << 16 | level | PRESENT;
        [first, u64::from(self.source) | COMPARED]
    }
}

/// The address to which a device writes to send the interrupt of an entry of the remapping table;
/// the data is 0.
pub fn address_of(entry: u16) -> u32 {
    let entry = u32::from(entry);
    ADDRESS | (entry & 0x7fff) << 5 | REMAPPED | (entry >> 15) << 2
}

/// The two halves of an I/O APIC's register that send the interrupt of an entry of the remapping
/// table, for the bits of signal and mask. They still name the vector: by it the local APIC says
/// that a level-triggered interrupt has been handled.
pub fn redirection_to(entry: u16, vector: u8, signal: u32) -> [u32; 2] {
    let entry = u32::from(entry);
    let low = signal | (entry >> 15) << 11 | u32::from(vector);
    [low, (entry & 0x7fff) << 17 | 1 << 16]
}

/// The reasons why an interrupt is refused, among those why an access is.
const INTERRUPTS: core::ops::Range<u8> = 0x20..0x28;

/// What a unit recorded of something that it has refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Bus, device and function of the device.
    pub source: u16,
    /// The page's address; of an interrupt, that where messages go.
    pub page: u64,
    /// Whether it was a write, as an interrupt is.
    pub write: bool,
    /// Why.
    pub reason: u8,
}

impl Fault {
    /// The fault in a record with these halves. `None` if there is none.
    pub fn of(low: u64, high: u64) -> Option<Fault> {
        const THERE: u64 = 1 << 63;
        const READ: u64 = 1 << 62;
        let reason = (high >> 32) as u8;
        // The record of an interrupt has the entry that it named instead of a page.
        let interrupt = INTERRUPTS.contains(&reason);
        let page = if interrupt {
            u64::from(ADDRESS)
        } else {
            low & !0xfff
        };
        (high & THERE != 0).then_some(Fault {
            source: high as u16,
            page,
            write: interrupt || high & READ == 0,
            reason,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capability_that_is_none_has_no_vectors() {
        assert_eq!(vectors(0x0000_0011), Some(1));
        assert_eq!(vectors(0xc7ff_b011), Some(2048));
        // A function that is not there any more answers with ones.
        assert_eq!(vectors(u32::MAX), None);
        assert_eq!(vectors(0), None);
    }

    #[test]
    fn an_entry_names_vector_processor_and_sender() {
        let entry = Remapped {
            vector: 0x31,
            destination: 0x1_0005,
            extended: false,
            level: false,
            source: 0x00f8,
        };
        assert_eq!(entry.entry(), [0x0000_0500_0031_0001, 0x0004_00f8]);
        let wide = Remapped {
            extended: true,
            level: true,
            ..entry
        };
        assert_eq!(wide.entry(), [0x0001_0005_0031_0011, 0x0004_00f8]);
    }

    #[test]
    fn messages_name_their_entry() {
        assert_eq!(address_of(0), 0xfee0_0018);
        assert_eq!(address_of(5), 0xfee0_00b8);
        assert_eq!(address_of(0x8001), 0xfee0_003c);
        assert_eq!(redirection_to(0, 0x21, 1 << 16), [0x1_0021, 0x0001_0000]);
        assert_eq!(redirection_to(0x8005, 0x24, 0), [0x824, 0x000b_0000]);
    }

    #[test]
    fn a_refused_interrupt_is_a_write_to_where_messages_go() {
        assert_eq!(Fault::of(0x1234_5000, 5 << 32 | 0x10), None);
        let there = 1u64 << 63;
        let read = Fault::of(0x1234_5678, there | 1 << 62 | 6 << 32 | 0x0110);
        assert_eq!(
            read,
            Some(Fault {
                source: 0x110,
                page: 0x1234_5000,
                write: false,
                reason: 6
            })
        );
        for reason in [0x20u64, 0x25, 0x26] {
            let fault = Fault::of(7 << 48, there | 1 << 62 | reason << 32 | 0x18).unwrap();
            assert_eq!((fault.page, fault.write), (0xfee0_0000, true));
            assert_eq!(fault.source, 0x18);
        }
    }
}
