//! A look at the whole system. Needs the privilege `inspect`.

pub use sing_image::snapshot::{
    Channel, ChannelEnd, Contract, Crash, Memory, Process, State, Sweep, System, TraceEvent,
    TraceKind,
};

use crate::args::with_buffer;
use crate::time::Timeout;
use crate::{Error, error, sys};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use sing_image::snapshot;

fn query<T: serde::de::DeserializeOwned>(what: u32) -> Result<T, Error> {
    // SAFETY: the buffer is writable for its length.
    let fill = |b: &mut [u8]| unsafe { sys::sys_query(what, b.as_mut_ptr(), b.len()) };
    let bytes = with_buffer(4096, fill)?;
    // A form that this SDK does not know is of another version: not an error of the caller's.
    postcard::from_bytes(&bytes).map_err(|_| Error::BadState)
}

/// All SIPs, by id.
///
/// # Errors
/// If memory is short.
pub fn processes() -> Result<Vec<Process>, Error> {
    let mut all: Vec<Process> = query(snapshot::QUERY_PROCESSES)?;
    all.sort_by_key(|p| p.id);
    Ok(all)
}

/// All channels.
///
/// # Errors
/// If memory is short.
pub fn channels() -> Result<Vec<Channel>, Error> {
    query(snapshot::QUERY_CHANNELS)
}

/// Memory.
///
/// # Errors
/// If memory is short.
pub fn memory() -> Result<Memory, Error> {
    query(snapshot::QUERY_MEMORY)
}

/// Has the kernel look at all its records, whether anything names one that is free. Nobody runs
/// meanwhile: for tests.
///
/// # Errors
/// If memory is short.
pub fn sweep() -> Result<Sweep, Error> {
    query(snapshot::QUERY_SWEEP)
}

/// The first lines of the last crash reports, each with what the process said last, the oldest first. There are sixteen at
/// most.
///
/// # Errors
/// If memory is short.
pub fn crashes() -> Result<Vec<Crash>, Error> {
    query(snapshot::QUERY_CRASHES)
}

/// The counts that differ, of those that a program must leave as it found them; `None` if nothing
/// does.
#[must_use]
pub fn difference(before: &Memory, after: &Memory) -> Option<String> {
    let rows = [
        ("pages", before.used_pages, after.used_pages),
        ("allocations", before.allocations, after.allocations),
        ("allocated bytes", before.allocated, after.allocated),
        ("channels", before.channels, after.channels),
        ("processes", before.processes, after.processes),
        ("threads", before.threads, after.threads),
        ("handles", before.handles, after.handles),
        ("accounts", before.accounts, after.accounts),
    ];
    let bad: Vec<String> = rows
        .iter()
        .filter(|(_, b, a)| b != a)
        .map(|(what, b, a)| format!("{what} {b} before, {a} after"))
        .collect();
    (!bad.is_empty()).then(|| bad.join("; "))
}

/// The system.
///
/// # Errors
/// If memory is short.
pub fn system() -> Result<System, Error> {
    query(snapshot::QUERY_SYSTEM)
}

/// The contracts of all installed images.
///
/// # Errors
/// If memory is short.
pub fn contracts() -> Result<Vec<Contract>, Error> {
    query(snapshot::QUERY_CONTRACTS)
}

/// Tracing, on while this value lives. Each program has its own events, four at a time, and only one
/// value of this: a second takes the place of the first.
#[derive(Debug)]
pub struct Trace(());

impl Trace {
    /// Starts tracing.
    ///
    /// # Errors
    /// [`Error::Held`] if four programs trace already; [`Error::NoResources`] if memory is short, or
    /// this program's has no room for the 512 KiB that unread events take.
    pub fn start() -> Result<Trace, Error> {
        error::check(sys::trace_control(snapshot::TRACE_ALL)).map(|_| Trace(()))
    }

    /// Starts tracing events of these kinds alone.
    ///
    /// # Errors
    /// As [`Trace::start`]; [`Error::BadArgument`] if there are none.
    pub fn of(kinds: &[TraceKind]) -> Result<Trace, Error> {
        // No kind at all is what stops tracing.
        if kinds.is_empty() {
            return Err(Error::BadArgument);
        }
        let kinds = kinds.iter().fold(0, |all, kind| all | kind.bit());
        error::check(sys::trace_control(kinds)).map(|_| Trace(()))
    }

    /// Waits for events and takes those that are there; none if the time-out passed.
    ///
    /// # Errors
    /// If tracing was stopped.
    pub fn read(&mut self, timeout: Timeout) -> Result<Vec<TraceEvent>, Error> {
        let mut bytes = alloc::vec![0; 512 * snapshot::TRACE_EVENT_SIZE];
        // SAFETY: the buffer is writable for its length.
        let code = unsafe { sys::trace_read(bytes.as_mut_ptr(), bytes.len(), timeout.nanos()) };
        let len = match error::check(code) {
            Err(Error::Timeout) => 0,
            other => other? as usize,
        };
        let (events, _) = bytes[..len.min(bytes.len())].as_chunks();
        Ok(events.iter().map(TraceEvent::from_bytes).collect())
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        sys::trace_control(0);
    }
}
