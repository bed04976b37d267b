//! What the kernel tells of itself (`sys_query`, `trace_read`): structures in postcard form.

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

/// State of a SIP or thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// Made, not started.
    Created,
    /// Runs, or would if there were a processor.
    Ready,
    /// Waits.
    Blocked,
    /// Kept from running by its parent.
    Suspended,
    /// Has ended; only its handle remains.
    Ended,
}

/// A SIP.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Its id.
    pub id: u32,
    /// Id of the SIP that made it; 0 for the kernel.
    pub parent: u32,
    /// Its image's name.
    pub name: String,
    /// What it does now.
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
    /// Bytes charged to it, and its budget.
    pub charged: u64,
    /// The most bytes that may be charged.
    pub budget: u64,
}

/// One end of a channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelEnd {
    /// Id of the SIP that owns it; `None` while it is in a message; 0 for the kernel.
    pub owner: Option<u32>,
    /// Name of the owner, where there is one.
    pub name: String,
    /// Name of the protocol state, as this side has seen it.
    pub state: String,
    /// Messages that wait to be received here.
    pub queued: u32,
    /// Whether it is closed.
    pub closed: bool,
}

/// A channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Channel {
    /// Its number.
    pub id: u32,
    /// Its contract's name.
    pub contract: String,
    /// The importing and the exporting end.
    pub ends: [ChannelEnd; 2],
}

/// Memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// Pages of 4 KiB that the machine has for SIPs and kernel.
    pub total_pages: u64,
    /// Pages in use.
    pub used_pages: u64,
    /// Pages of the kernel's own objects and stacks in reserve.
    pub kernel_pages: u64,
    /// Pages of code of installed images.
    pub code_pages: u64,
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
}

/// The system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct System {
    /// Which HAL: `hosted` or `pc`.
    pub machine: String,
    /// Version of the system.
    pub version: String,
    /// Name of the scheduler.
    pub scheduler: String,
    /// Processors in use.
    pub cpus: u32,
    /// Nanoseconds since the start.
    pub uptime_ns: u64,
    /// Context switches since the start.
    pub switches: u64,
    /// Pre-emptions since the start.
    pub preemptions: u64,
    /// Names of the installed images.
    pub images: Vec<String>,
}

/// A contract that an installed image uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contract {
    /// Its number: the high half of `c` in a traced message.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Names of its messages, by index.
    pub messages: Vec<String>,
}

/// Size of a traced event, in bytes.
pub const TRACE_EVENT_SIZE: usize = 32;

/// What a traced event tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum TraceKind {
    /// A message was sent: `a` channel, `b` message index, `c` receiving SIP in its low half (0 unknown) and
    /// the contract's number ([`Contract::id`]) in its high half.
    Send = 1,
    /// A message was received: `a` channel, `b` message index, `c` as for a send, with the sending SIP.
    Receive = 2,
    /// Another thread runs: `a` its id, `b` its SIP.
    Switch = 3,
    /// A SIP was created: `a` its id, `c` one more than its image's place in [`System::images`] (0 unknown).
    Create = 4,
    /// A SIP ended: `a` its id, `b` how (0 exit, 1 stop, 2 trap), `c` the code.
    End = 5,
    /// Events were lost: `a` how many.
    Lost = 6,
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
    /// The event's bytes.
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

    /// The event in these bytes.
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
