//! Ends SIPs whose threads wait in every possible way, while other SIPs make threads: a record that
//! is freed too early would by then belong to one of these, and the wrong thread would be woken, or
//! be in two lists.
//!
//! `lifetime [ROUNDS]`. Run as `lifetime victim` it is a SIP to be ended, as `lifetime maker` one
//! that makes threads.
#![no_std]
#![no_main]

use sing_sdk::prelude::*;

use core::time::Duration;
use sing_sdk::inspect;
use sing_sdk::process::{Child, Exit};
use sing_sdk::thread;
use sing_sdk::time::{self, Timeout};

sing_sdk::manifest! {
    name: "lifetime",
    description: "ends SIPs whose threads wait, and looks whether strangers feel it",
    privileges: [create, inspect],
    endpoints: { stdout: optional PipeContract.Imp:Start },
    memory: 32 MiB,
}

/// The kernel's entries, without the SDK's wrappers: handles that several threads share.
mod raw {
    #[link(wasm_import_module = "sing_v1")]
    unsafe extern "C" {
        pub safe fn wait_one(handle: u32, timeout: i64) -> i32;
        pub safe fn wait_any(handles: u32, count: u32, timeout: i64) -> i32;
        pub safe fn handle_dispose(handle: u32) -> i32;
        pub safe fn mutex_create(owned: i32) -> i32;
        pub safe fn auto_event_create(initial: i32) -> i32;
        pub safe fn set_create() -> i32;
        pub safe fn set_add(set: u32, endpoint: u32, key: u32) -> i32;
        pub safe fn set_wait(set: u32, timeout: i64) -> i32;
        pub safe fn select(handles: u32, tags: u32, count: u32, timeout: i64) -> i32;
    }
    #[link(wasm_import_module = "contract:PingContract")]
    unsafe extern "C" {
        pub safe fn new(out: u32) -> i32;
        #[link_name = "exp.recv"]
        pub safe fn recv(endpoint: u32, out: u32) -> i32;
        #[link_name = "imp.send.Ping"]
        #[allow(dead_code, reason = "the contract is used from both sides")]
        pub safe fn send_ping(endpoint: u32, number: i64) -> i32;
    }
}

/// Never: a time-out of the ABI.
const FOREVER: i64 = -1;
/// A long time, in nanoseconds: a wait that is also in the list of timers.
const LONG: i64 = 3_600_000_000_000;
/// Handles that are freed between those of threads and those of the objects that the threads wait
/// at.
const EVENTS: u32 = 60_000;
/// Threads of a victim, without the first.
const THREADS: u32 = 38;
/// Bytes of a waiting thread's shadow stack.
const STACK: usize = 4 << 10;
/// How long a maker's threads sleep, in microseconds: each a little longer than the one before, so
/// that one is always about to be woken, and the freeing thread is displaced again and again.
const SLEEP: u64 = 60;
/// The status of a poll without a result (`WOULD_BLOCK`).
const NOTHING_YET: i32 = -8;

fn address<T>(of: &mut T) -> u32 {
    core::ptr::from_mut(of).expose_provenance() as u32
}

/// A channel: the handles of its importing and exporting ends.
fn channel() -> (u32, u32) {
    let ends: &'static mut [u32; 2] = Box::leak(Box::new([0; 2]));
    raw::new(address(ends));
    // The kernel has written them.
    let ends = core::hint::black_box(ends);
    (ends[0], ends[1])
}

/// Starts a thread that waits by `wait`, again and again.
fn waits(wait: impl Fn() + Send + 'static) -> Result<thread::JoinHandle<()>, Error> {
    thread::spawn_with_stack(STACK, wait)
}

/// The objects that threads wait at.
struct Places {
    timeout: i64,
    alone: u32,
    member: u32,
    set: u32,
    event: u32,
    mutex: u32,
    picked: [u32; 3],
}

impl Places {
    fn new(timeout: i64) -> Places {
        let places = Places {
            timeout,
            alone: channel().1,
            member: channel().1,
            set: raw::set_create() as u32,
            event: raw::auto_event_create(0) as u32,
            mutex: raw::mutex_create(1) as u32,
            picked: core::array::from_fn(|_| channel().1),
        };
        raw::set_add(places.set, places.member, 7);
        places
    }
}

/// Waits with many threads in every way, and keeps very many handles that are newer than those that
/// it waits for.
fn victim() -> Result<i32, Error> {
    let mut kept = Vec::new();
    let places = [FOREVER, LONG].map(Places::new);
    for _ in 0..EVENTS {
        raw::auto_event_create(0);
    }
    // The handles of threads are the newest.
    for Places {
        timeout,
        alone,
        member,
        set,
        event,
        mutex,
        picked,
    } in places
    {
        for _ in 0..3 {
            kept.push(waits(move || {
                raw::recv(alone, address(Box::leak(Box::new([0_u64; 4]))));
            })?);
            kept.push(waits(move || {
                raw::set_wait(set, timeout);
            })?);
            kept.push(waits(move || {
                raw::wait_one(event, timeout);
            })?);
            kept.push(waits(move || {
                raw::wait_one(mutex, timeout);
            })?);
            kept.push(waits(move || {
                let all = Box::leak(Box::new([member, event, mutex, set]));
                raw::wait_any(address(all), 4, timeout);
            })?);
            kept.push(waits(move || {
                let handles = Box::leak(Box::new(picked));
                let tags = Box::leak(Box::new([NOTHING_YET; 3]));
                raw::select(address(handles), address(tags), 3, timeout);
            })?);
        }
        kept.push(waits(|| time::sleep(Duration::from_secs(3600)))?);
    }
    kept.into_iter().try_for_each(|t| t.join())?;
    Ok(0)
}

/// Makes threads that wait, all the time. Returns whether one was woken before its time.
fn maker() -> Result<i32, Error> {
    loop {
        let (imp, exp) = channel();
        let receivers = (0..16)
            .map(|_| {
                waits(move || {
                    raw::recv(exp, address(Box::leak(Box::new([0_u64; 4]))));
                })
            })
            .collect::<Result<Vec<_>, _>>()?;
        let sleepers = (1..=16)
            .map(|i| {
                thread::spawn_with_stack(STACK, move || {
                    let (before, wanted) = (time::uptime(), Duration::from_micros(i * SLEEP));
                    time::sleep(wanted);
                    let slept = time::uptime() - before;
                    (slept < wanted).then_some(slept)
                })
            })
            .collect::<Result<Vec<_>, _>>()?;
        for sleeper in sleepers {
            if let Some(slept) = sleeper.join()? {
                println!("lifetime: woken after {} us", slept.as_micros());
                return Ok(1);
            }
        }
        // They find it closed.
        raw::handle_dispose(imp);
        receivers.into_iter().try_for_each(|t| t.join())?;
        raw::handle_dispose(exp);
    }
}

/// Starts a victim, and waits until it has all its handles.
fn start_victim() -> Result<Child, Error> {
    let victim = Child::of("lifetime").args(["lifetime", "victim"]).start()?;
    loop {
        let all = inspect::processes()?;
        let me = all.iter().find(|p| p.id == victim.id());
        // The last thread runs before the one that checks runs again.
        time::sleep(Duration::from_millis(1));
        if me.is_none_or(|p| p.threads > THREADS) {
            return Ok(victim);
        }
    }
}

#[sing_sdk::main]
fn main() -> Result<i32, Error> {
    match sing_sdk::args::get(1).as_deref() {
        Some("victim") => return victim(),
        Some("maker") => return maker(),
        _ => {}
    }
    let rounds = sing_sdk::args::get(1)
        .and_then(|s| s.parse::<u32>().ok())
        .unwrap_or(10);
    let makers = (0..2)
        .map(|_| Child::of("lifetime").args(["lifetime", "maker"]).start())
        .collect::<Result<Vec<_>, _>>()?;
    for _ in 0..rounds {
        let victim = start_victim()?;
        victim.stop(3)?;
        if victim.exit()? != Exit::Stopped(3) {
            println!("lifetime: a victim has ended by itself");
            return Ok(1);
        }
    }
    let mut disturbed = 0;
    for maker in makers {
        if maker.join_within(Timeout::NONE)? {
            disturbed += 1;
        } else {
            maker.stop(0)?;
        }
    }
    println!("lifetime: {rounds} ended, {disturbed} strangers disturbed");
    Ok(i32::from(disturbed > 0))
}
