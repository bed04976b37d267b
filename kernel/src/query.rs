//! What the kernel tells of itself (`sys_query`).

use crate::channel;
use crate::contract;
use crate::cpu;
use crate::exheap;
use crate::image;
use crate::machine::hal;
use crate::memory;
use crate::sched::{Current, Scheduler};
use crate::sip::{self, Sip};
use crate::thread;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::sync::atomic::Ordering::Relaxed;
use sing_image::snapshot::{
    Channel, ChannelEnd, Contract, Memory, Process, QUERY_CHANNELS, QUERY_CONTRACTS, QUERY_MEMORY,
    QUERY_PROCESSES, QUERY_SYSTEM, System,
};

/// The snapshot that a code asks for, in postcard form; `None` for an unknown code.
pub(crate) fn snapshot(what: u32) -> Option<Vec<u8>> {
    match what {
        QUERY_PROCESSES => postcard::to_allocvec(&processes()).ok(),
        QUERY_CHANNELS => postcard::to_allocvec(&channels()).ok(),
        QUERY_MEMORY => postcard::to_allocvec(&memory_snapshot()).ok(),
        QUERY_SYSTEM => postcard::to_allocvec(&system()).ok(),
        QUERY_CONTRACTS => postcard::to_allocvec(&contracts()).ok(),
        _ => None,
    }
}

/// Nanoseconds that a number of cycles takes.
pub(crate) fn to_ns(cycles: u64) -> u64 {
    let hz = hal().cycles_per_second().max(1);
    (u128::from(cycles) * 1_000_000_000 / u128::from(hz)) as u64
}

fn processes() -> Vec<Process> {
    cpu::this().settle();
    let mut list: Vec<Process> = sip::all()
        .map(|s: &Sip| Process {
            id: s.id(),
            parent: s.parent.load(Relaxed),
            name: s.name().to_string(),
            state: sip::state_of(s),
            threads: s.threads().len() as u32,
            pages: s.pages(),
            exchange: s.exchange.load(Relaxed),
            cpu_ns: to_ns(s.cycles()),
            handles: s.handles.lock().live(),
            charged: s.charged.load(Relaxed),
            budget: s.budget.load(Relaxed),
        })
        .collect();
    list.sort_by_key(|p| p.id);
    list
}

fn contracts() -> Vec<Contract> {
    let names = |c: &contract::Contract| c.table.messages.iter().map(|m| m.name.clone()).collect();
    contract::all()
        .into_iter()
        .map(|c| Contract {
            id: c.id,
            name: c.table.name.clone(),
            messages: names(c),
        })
        .collect()
}

fn channels() -> Vec<Channel> {
    channel::all()
        .filter_map(|c| {
            let inner = c.lock();
            let contract = inner.contract?;
            let end = |i: usize| -> ChannelEnd {
                let e = &inner.ends[i];
                let owner = e.owner.get();
                ChannelEnd {
                    owner: owner.map(Sip::id),
                    name: owner.map_or(String::new(), |s| s.name().to_string()),
                    state: contract.state_name(e.state).to_string(),
                    queued: e.len as u32,
                    closed: e.closed,
                }
            };
            Some(Channel {
                id: c.index.load(Relaxed),
                contract: contract.table.name.clone(),
                ends: [end(0), end(1)],
            })
        })
        .collect()
}

/// Memory now.
pub(crate) fn memory_snapshot() -> Memory {
    let (sips, pools, code) = memory::page_counts();
    let (allocations, allocated) = exheap::counts();
    let handles: u32 = sip::all().map(|s| s.handles.lock().live()).sum();
    Memory {
        total_pages: hal().total_pages(),
        used_pages: sips,
        kernel_pages: pools,
        code_pages: code,
        allocations,
        allocated,
        channels: u64::from(channel::live()),
        processes: u64::from(sip::live()),
        threads: u64::from(thread::live()),
        handles: u64::from(handles),
    }
}

fn system() -> System {
    let cpu = cpu::this();
    System {
        machine: hal().name().to_string(),
        version: env!("CARGO_PKG_VERSION").to_string(),
        scheduler: Current::NAME.to_string(),
        cpus: hal().cpus(),
        uptime_ns: hal().now(),
        switches: cpu.switches.load(Relaxed),
        preemptions: cpu.preemptions.load(Relaxed),
        images: image::names(),
    }
}
