//! Registers and their bits ([Intel], chapter 13).
//!
//! [Intel]: PCI/PCI-X Family of Gigabit Ethernet Controllers, Software Developer's Manual

/// Control: reset, set the link up, detect its speed.
pub const CONTROL: u32 = 0x0000;
pub const RESET: u32 = 1 << 26;
pub const LINK: u32 = 1 << 6;
pub const DETECT: u32 = 1 << 5;

/// Status: there is a network.
pub const STATUS: u32 = 0x0008;
pub const LINK_UP: u32 = 1 << 1;

/// Interrupts: the causes, which a read clears; those that raise the line, and those that do not
/// any more.
pub const CAUSES: u32 = 0x00c0;
pub const WANTED: u32 = 0x00d0;
pub const UNWANTED: u32 = 0x00d8;
/// Frames were sent; the network came or went; receive blocks are short, or were; frames have come.
pub const SENT: u32 = 1 << 0;
pub const CHANGED: u32 = 1 << 2;
pub const SHORT: u32 = 1 << 4;
pub const OVERRUN: u32 = 1 << 6;
pub const CAME: u32 = 1 << 7;

/// Receiving: on, all multicast, broadcast, without the checksum; blocks of 2048 bytes.
pub const RECEIVE: u32 = 0x0100;
pub const RECEIVE_ON: u32 = 1 << 1 | 1 << 4 | 1 << 15 | 1 << 26;
/// Sending: on, short frames padded, and what half duplex needs.
pub const SEND: u32 = 0x0400;
pub const SEND_ON: u32 = 1 << 1 | 1 << 3 | 0x0f << 4 | 0x40 << 12;
/// The gap between frames, as the manual has it for copper.
pub const GAP: u32 = 0x0410;
pub const USUAL_GAP: u32 = 0x0060_200a;

/// The rings: registers from here on.
pub const RECEIVE_RING: u32 = 0x2800;
pub const SEND_RING: u32 = 0x3800;
/// Of a ring: its address, its bytes, what the device does next, and where the driver's part ends.
pub const BASE: u32 = 0x00;
pub const BASE_HIGH: u32 = 0x04;
pub const BYTES: u32 = 0x08;
pub const HEAD: u32 = 0x10;
pub const TAIL: u32 = 0x18;

/// The filter for multicast addresses: so many words.
pub const MULTICAST: u32 = 0x5200;
pub const MULTICAST_WORDS: u32 = 128;
/// The address, which the device has read from its memory when it was reset.
pub const ADDRESS: u32 = 0x5400;
pub const ADDRESS_HIGH: u32 = 0x5404;
/// The bytes of registers up to here.
pub const END: u32 = 0x5408;
