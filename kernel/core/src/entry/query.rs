//! Reports of the kernel on itself (`sys_query`).

use super::caller;
use super::reply::{self, List, put_encoded};
use crate::ground::contract;
use crate::ground::image;
use crate::ground::machine::hal;
use crate::ground::memory;
use crate::mechanism::cpu;
use crate::mechanism::interrupt::let_others_run;
use crate::mechanism::sched::{Current, Scheduler};
use crate::mechanism::watchdog;
use crate::object::account;
use crate::object::channel;
use crate::object::crash::{self, Line};
use crate::object::exheap;
use crate::object::sip::{self, Sip, Totals};
use crate::object::sweep;
use crate::object::thread;
use core::sync::atomic::Ordering::Relaxed;
use serde::Serialize;
use sing_abi::status;
use sing_abi::trap::Trap;
use sing_image::snapshot::{
    Channel, ChannelEnd, Contract, Crash, Memory, Process, QUERY_CHANNELS, QUERY_CONTRACTS,
    QUERY_CRASHES, QUERY_MEMORY, QUERY_PROCESSES, QUERY_SWEEP, QUERY_SYSTEM, Sweep, System,
};

/// Handle tables visited in one step.
const TABLES: usize = 256;

/// Writes the answer to a query to the caller's memory, in postcard form. Lists are made record by
/// record, and other threads run in between: each record is as it was at some time during the call.
pub(super) fn answer(what: u32, out: u32, max: u32) -> Result<i32, Trap> {
    match what {
        QUERY_PROCESSES => {
            cpu::this().settle();
            let at = |i| {
                let sip = sip::record(i)?;
                let totals = sip.exists().then(|| sip.totals());
                // Other threads may have run: the record may be free by now, or hold another SIP.
                Some(totals.filter(|_| sip.exists()).map(|t| process(sip, &t)))
            };
            put_list(out, max, at)
        }
        QUERY_CHANNELS => {
            let at = |i| (i < channel::end()).then(|| channel::from_index(i).and_then(channel_now));
            put_list(out, max, at)
        }
        QUERY_MEMORY => {
            let handles = handles();
            put_encoded(&memory_snapshot(handles), out, max)
        }
        QUERY_SYSTEM => put_encoded(&system(), out, max),
        QUERY_CONTRACTS => put_list(out, max, |i| Some(Some(messages(contract::numbered(i)?)))),
        QUERY_CRASHES => put_list(out, max, last_crash),
        QUERY_SWEEP => put_encoded(&swept(), out, max),
        _ => Ok(status::BAD_ARGUMENT),
    }
}

/// Writes a list of the results of `at` for each index: `Some(None)` if a record is not in use,
/// `None` behind the last one. Returns the length, or a status, like any answer.
fn put_list<T: Serialize>(
    out: u32,
    max: u32,
    at: impl Fn(u32) -> Option<Option<T>>,
) -> Result<i32, Trap> {
    let sip = caller();
    let write = |at: usize, bytes: &[u8]| {
        let place = u32::try_from(out as usize + at).map_err(|_| Trap::MemoryOutOfBounds)?;
        sip.memory(place, bytes.len() as u64)?.write(place, bytes)
    };
    let len = reply::encode_list(max as usize, at, write, || let_others_run())?;
    Ok(reply::answer(len, max))
}

/// Returns the nanoseconds that a number of cycles takes.
pub(crate) fn to_ns(cycles: u64) -> u64 {
    let hz = hal().cycles_per_second().max(1);
    (u128::from(cycles) * 1_000_000_000 / u128::from(hz)) as u64
}

fn process(s: &'static Sip, totals: &Totals) -> Process<&'static str> {
    Process {
        id: s.id(),
        parent: s.parent.load(Relaxed),
        name: s.name(),
        state: sip::state_of(s, totals),
        threads: s.thread_count(),
        pages: s.pages(totals),
        exchange: s.account().exchange.load(Relaxed),
        cpu_ns: to_ns(totals.cycles),
        handles: s.handles.lock().live(),
        charged: s.account().charged(),
        budget: s.account().limit(),
        essential: s.role.is_essential(),
    }
}

/// Returns a crash report of those kept, `Some(None)` for a place that holds none.
fn last_crash(index: u32) -> Option<Option<Crash<Line>>> {
    let kept = crash::kept(index as usize)?;
    Some(kept.map(|(id, text)| Crash { id, text }))
}

fn swept() -> Sweep {
    let (records, wrong) = sweep::sweep();
    // A tool of tests: nothing may change while it looks, so delayed interrupts do not count for
    // the watchdog.
    hal().held();
    Sweep { records, wrong }
}

fn messages(c: &'static contract::Contract) -> Contract<&'static str, impl Serialize> {
    Contract {
        id: c.id,
        name: c.table.name.as_str(),
        messages: List(|| c.table.messages.iter().map(|m| m.name.as_str())),
    }
}

fn channel_now(c: &'static channel::Channel) -> Option<Channel<&'static str>> {
    let inner = c.lock();
    let contract = inner.contract?;
    let end = |i: usize| {
        let e = &inner.ends[i];
        let owner = e.owner.get();
        ChannelEnd {
            owner: owner.map(Sip::id),
            name: owner.map_or("", Sip::name),
            state: contract.state_name(e.state),
            queued: e.len as u32,
            closed: e.closed,
        }
    };
    Some(Channel {
        id: c.index.load(Relaxed),
        contract: contract.table.name.as_str(),
        ends: [end(0), end(1)],
        traced: c.traced.load(Relaxed),
    })
}

/// Returns the number of live handles of all SIPs.
fn handles() -> u32 {
    let mut handles = 0;
    for (i, sip) in (0..).map_while(sip::record).enumerate() {
        if sip.exists() {
            handles += sip.handles.lock().live();
        }
        if i.is_multiple_of(TABLES) {
            let_others_run();
        }
    }
    handles
}

/// Reports the use of memory.
fn memory_snapshot(handles: u32) -> Memory<&'static str> {
    let (sips, pools, code) = memory::page_counts();
    let records = sing_arch::slab::committed() / sing_abi::PAGE;
    let (allocations, allocated) = exheap::counts();
    let (held_ns, held_file, held_line) = watchdog::longest();
    Memory {
        total_pages: hal().total_pages(),
        used_pages: sips,
        kernel_pages: pools + records,
        record_pages: records,
        code_pages: code,
        chunk_pages: exheap::chunk_pages(),
        free_pages: hal().free_pages(),
        allocations,
        allocated,
        channels: u64::from(channel::live()),
        processes: u64::from(sip::live()),
        threads: u64::from(thread::live()),
        handles: u64::from(handles),
        accounts: u64::from(account::live()),
        held_ns,
        held_file,
        held_line,
    }
}

fn system() -> System<&'static str, impl Serialize> {
    let cpu = cpu::this();
    System {
        machine: hal().name(),
        version: env!("CARGO_PKG_VERSION"),
        scheduler: Current::NAME,
        cpus: hal().cpus(),
        uptime_ns: hal().now(),
        switches: cpu.switches.load(Relaxed),
        preemptions: cpu.preemptions.load(Relaxed),
        images: List(image::names),
    }
}
