//! Reports of the kernel on itself (`sys_query`, `trace_read`): structures in postcard form. Texts
//! and lists are strings and vectors for readers; the kernel, which writes items one by one, uses
//! other types with the same encoding.

use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// `sys_query` code: `Vec<Process>`.
pub const QUERY_PROCESSES: u32 = 0;
/// `sys_query` code: `Vec<Channel>`.
pub const QUERY_CHANNELS: u32 = 1;
/// `sys_query` code: [`Memory`].
pub const QUERY_MEMORY: u32 = 2;
/// `sys_query` code: [`System`].
pub const QUERY_SYSTEM: u32 = 3;
/// `sys_query` code: `Vec<Contract>`, all contracts of the installed images.
pub const QUERY_CONTRACTS: u32 = 4;
/// `sys_query` code: [`Sweep`].
pub const QUERY_SWEEP: u32 = 5;
/// `sys_query` code: `Vec<Crash>`, the last crash reports.
pub const QUERY_CRASHES: u32 = 16;

/// The first line of a crash report, with what the process said last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Crash<Text = String> {
    /// Id of the SIP that crashed.
    pub id: u32,
    /// Of what, where, and what the process said last.
    pub text: Text,
}

/// State of a SIP or thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// Made, not started.
    Created,
    /// Runs, or waits for a processor.
    Ready,
    /// Waits for an event.
    Blocked,
    /// Suspended by its parent.
    Suspended,
    /// Has ended; only its handle remains.
    Ended,
}

/// A SIP.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process<Text = String> {
    /// Its id.
    pub id: u32,
    /// Id of the SIP that made it; 0 for the kernel.
    pub parent: u32,
    /// Its image's name.
    pub name: Text,
    /// State now.
    pub state: State,
    /// Live threads.
    pub threads: u32,
    /// Pages of 4 KiB that it occupies.
    pub pages: u64,
    /// Bytes of its exchange-heap allocations.
    pub exchange: u64,
    /// Execution time in nanoseconds.
    pub cpu_ns: u64,
    /// Live handles.
    pub handles: u32,
    /// Bytes charged to it and to its descendants.
    pub charged: u64,
    /// The most bytes that may be charged to it: by its own budget, or that of an ancestor.
    pub budget: u64,
    /// Whether it is essential: the system ends when it does.
    pub essential: bool,
}

/// One end of a channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelEnd<Text = String> {
    /// Id of the SIP that owns it; `None` while it is in a message; 0 for the kernel.
    pub owner: Option<u32>,
    /// Name of the owner, if there is one.
    pub name: Text,
    /// Name of the protocol state, as seen by this side.
    pub state: Text,
    /// Messages that wait to be received here.
    pub queued: u32,
    /// Whether it is closed.
    pub closed: bool,
}

/// A channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Channel<Text = String> {
    /// Its number.
    pub id: u32,
    /// Its contract's name.
    pub contract: Text,
    /// The importing and the exporting end.
    pub ends: [ChannelEnd<Text>; 2],
    /// Messages over channels with this number while anybody traced, since the start of the system;
    /// it wraps.
    pub traced: u32,
}

/// Memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory<Text = String> {
    /// Pages of 4 KiB that the machine has for SIPs and kernel.
    pub total_pages: u64,
    /// Pages in use.
    pub used_pages: u64,
    /// Pages of the kernel's own objects and of stacks in reserve.
    pub kernel_pages: u64,
    /// Pages among these that hold records of objects, in use or ready to be.
    pub record_pages: u64,
    /// Pages of code of installed images.
    pub code_pages: u64,
    /// Pages of the chunks that small blocks are cut from, free pieces included.
    pub chunk_pages: u64,
    /// Pages that the machine has free.
    pub free_pages: u64,
    /// Live exchange-heap allocations.
    pub allocations: u64,
    /// Bytes in them.
    pub allocated: u64,
    /// Live channels.
    pub channels: u64,
    /// Live SIPs.
    pub processes: u64,
    /// Live threads.
    pub threads: u64,
    /// Live handles.
    pub handles: u64,
    /// Accounts: one for each SIP, and for each that has ended with charges outstanding.
    pub accounts: u64,
    /// The longest time that interrupts arriving in kernel code waited to be served, in nanoseconds
    /// of the kernel's work.
    pub held_ns: u64,
    /// Source file of the kernel at the end of that wait.
    pub held_file: Text,
    /// Line in that file.
    pub held_line: u32,
}

/// Findings of a check of all kernel records: for tests, as it delays everything else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sweep {
    /// Records checked.
    pub records: u64,
    /// Faults found: references to free records, counts that do not add up.
    pub wrong: Vec<String>,
}

/// The system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct System<Text = String, Texts = Vec<String>> {
    /// The HAL: `hosted` or `pc`.
    pub machine: Text,
    /// Version of the system.
    pub version: Text,
    /// Name of the scheduler.
    pub scheduler: Text,
    /// Processors in use.
    pub cpus: u32,
    /// Nanoseconds since the start.
    pub uptime_ns: u64,
    /// Context switches since the start.
    pub switches: u64,
    /// Pre-emptions since the start.
    pub preemptions: u64,
    /// Names of the installed images.
    pub images: Texts,
}

/// A device of the machine (`device_info`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceInfo<Text = String> {
    /// Where it is: `/pci/00/04.0`, `/virtio-mmio/3`.
    pub location: Text,
    /// What it is: `/pci/01/00/1af4/1042`, `/virtio/2`.
    pub signature: Text,
    /// Id of the SIP that has it; 0 for none.
    pub holder: u32,
    /// Whether it has an interrupt that can be used.
    pub interrupt: bool,
    /// Whether it was set aside, as it did not stop when its holder gave it up.
    pub broken: bool,
    /// Whether an IOMMU confines its access to memory, so that a driver may let it have some.
    pub confined: bool,
    /// Whether it is kept from raising others' interrupts, too.
    pub own_interrupts: bool,
}

/// A contract that an installed image uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contract<Text = String, Texts = Vec<String>> {
    /// Its number: the high half of `c` in a traced message.
    pub id: u32,
    /// Its name.
    pub name: Text,
    /// Names of its messages, by index.
    pub messages: Texts,
}

/// Size of a traced event, in bytes.
pub const TRACE_EVENT_SIZE: usize = 32;

/// Asks for events of all kinds (`trace_control`).
pub const TRACE_ALL: u32 = 1;

/// The kind of a traced event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum TraceKind {
    /// A message was sent: `a` channel, `b` message index, `c` receiving SIP in its low half (0
    /// unknown) and the contract's number ([`Contract::id`]) in its high half.
    Send = 1,
    /// A message was received: `a` channel, `b` message index, `c` as for a send, with the sending
    /// SIP.
    Receive = 2,
    /// A context switch: `a` the new thread's id, `b` its SIP.
    Switch = 3,
    /// A SIP was created: `a` its id, `c` one more than its image's index in [`System::images`] (0
    /// unknown).
    Create = 4,
    /// A SIP ended: `a` its id, `b` how (0 exit, 1 stop, 2 trap), `c` the code.
    End = 5,
    /// Events were lost: `a` how many.
    Lost = 6,
}

impl TraceKind {
    /// Its bit, for who asks for some kinds (`trace_control`).
    #[must_use]
    pub const fn bit(self) -> u32 {
        1 << self as u32
    }
}

/// A traced event: 32 bytes, little-endian, in the order of the fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceEvent {
    /// Nanoseconds since the start of the system.
    pub time_ns: u64,
    /// [`TraceKind`].
    pub kind: u32,
    /// The SIP that acted.
    pub sip: u32,
    /// See [`TraceKind`].
    pub a: u32,
    /// See [`TraceKind`].
    pub b: u32,
    /// See [`TraceKind`].
    pub c: u64,
}

impl TraceEvent {
    /// Returns the event's bytes.
    #[must_use]
    pub fn to_bytes(self) -> [u8; TRACE_EVENT_SIZE] {
        let mut out = [0; TRACE_EVENT_SIZE];
        out[0..8].copy_from_slice(&self.time_ns.to_le_bytes());
        out[8..12].copy_from_slice(&self.kind.to_le_bytes());
        out[12..16].copy_from_slice(&self.sip.to_le_bytes());
        out[16..20].copy_from_slice(&self.a.to_le_bytes());
        out[20..24].copy_from_slice(&self.b.to_le_bytes());
        out[24..32].copy_from_slice(&self.c.to_le_bytes());
        out
    }

    /// Decodes an event.
    #[must_use]
    pub fn from_bytes(b: &[u8; TRACE_EVENT_SIZE]) -> TraceEvent {
        let u4 = |i: usize| u32::from_le_bytes([b[i], b[i + 1], b[i + 2], b[i + 3]]);
        let u8_ = |i: usize| u64::from(u4(i)) | u64::from(u4(i + 4)) << 32;
        TraceEvent {
            time_ns: u8_(0),
            kind: u4(8),
            sip: u4(12),
            a: u4(16),
            b: u4(20),
            c: u8_(24),
        }
    }
}
