//! Attacks of a broken or hostile program on the kernel, by the ABI itself:
//! `hostile ATTACK [VALUE]`. Each attack ends the SIP, or is refused; the exit code says which (0:
//! refused as it should be, 1: it got through).
#![no_std]
#![no_main]

use sing_sdk::prelude::*;

use core::hint::black_box;
use sing_sdk::contracts::{BenchContract, PingContract};
use sing_sdk::rt::{TypedEndpoint, Vector};
use sing_sdk::wrong;

sing_sdk::manifest! {
    name: "hostile",
    description: "attacks the kernel in the way that its argument names",
    endpoints: {
        stdout: optional PipeContract.Imp:Start,
        ping: optional PingContract.Imp:Start,
        bench: optional BenchContract.Imp:Start,
    },
    memory: 4 MiB,
}

/// The kernel's entries, without the SDK's wrappers.
mod raw {
    #[link(wasm_import_module = "sing_v1")]
    unsafe extern "C" {
        pub safe fn wait_one(handle: u32, timeout: i64) -> i32;
        pub safe fn handle_dispose(handle: u32) -> i32;
        pub safe fn event_set(handle: u32) -> i32;
        pub safe fn event_reset(handle: u32) -> i32;
        pub safe fn mutex_release(handle: u32) -> i32;
        pub safe fn mutex_create(owned: i32) -> i32;
        pub safe fn auto_event_create(initial: i32) -> i32;
        pub safe fn thread_start(handle: u32) -> i32;
        pub safe fn thread_join(handle: u32, timeout: i64) -> i32;
        pub safe fn xh_alloc(size: u32, ty: u32) -> i32;
        pub safe fn xh_free(handle: u32) -> i32;
        pub safe fn xh_load8(handle: u32, offset: u32) -> i32;
        pub safe fn xh_store8(handle: u32, offset: u32, value: i32);
        pub safe fn xh_share(handle: u32, start: u32, end: u32) -> i32;
        pub safe fn xh_split(handle: u32, offset: u32) -> i32;
        pub safe fn xh_read(handle: u32, offset: u32, to: u32, len: u32);
        pub safe fn endpoint_peek(handle: u32) -> i32;
        pub safe fn debug_print(text: u32, len: u32) -> i32;
        pub safe fn wait_any(handles: u32, count: u32, timeout: i64) -> i32;
        pub safe fn startup_arg(index: u32, out: u32, max: u32) -> i32;
    }
    #[link(wasm_import_module = "contract:PingContract")]
    unsafe extern "C" {
        #[link_name = "imp.send.Ping"]
        pub safe fn send_ping(endpoint: u32, number: i64) -> i32;
        #[link_name = "imp.recv"]
        pub safe fn recv(endpoint: u32, out: u32) -> i32;
        pub safe fn new(out: u32) -> i32;
        #[link_name = "exp.send.Pong"]
        pub safe fn send_pong(endpoint: u32, number: i64) -> i32;
    }
    #[link(wasm_import_module = "contract:BenchContract")]
    unsafe extern "C" {
        #[link_name = "imp.send.Give"]
        pub safe fn send_give(endpoint: u32, block: i64) -> i32;
    }
}

/// The exit code of an attack: 1 if it got through.
fn through(result: i32) -> i32 {
    i32::from(result >= 0)
}

fn ping_raw() -> Option<u32> {
    let ping = startup::ping()?;
    let h = ping.into_endpoint().into_raw().raw();
    Some(h)
}

#[sing_sdk::main]
fn main() -> i32 {
    let attack = sing_sdk::args::get(1).unwrap_or_default();
    let value = sing_sdk::args::get(2)
        .and_then(|s| s.parse::<u32>().ok())
        .unwrap_or(0x0001_0000);
    match attack.as_str() {
        // Handles that were never given, by every kind of call.
        "wait" => through(raw::wait_one(value, 0)),
        "dispose" => through(raw::handle_dispose(value)),
        "event" => through(raw::event_set(value)),
        "mutex" => through(raw::mutex_release(value)),
        "thread" => through(raw::thread_start(value)),
        "poll" => through(raw::endpoint_peek(value)),
        "send" => through(raw::send_ping(value, 1)),
        "block-load" => through(raw::xh_load8(value, 0)),
        "block-free" => through(raw::xh_free(value)),
        // Right handles, wrong kind.
        "kind-event" => through(raw::event_set(raw::mutex_create(0) as u32)),
        "kind-mutex" => through(raw::mutex_release(raw::auto_event_create(0) as u32)),
        "kind-thread" => through(raw::thread_join(raw::auto_event_create(1) as u32, 0)),
        "kind-endpoint" => through(raw::send_ping(raw::auto_event_create(1) as u32, 1)),
        "kind-block" => through(raw::xh_load8(raw::auto_event_create(1) as u32, 0)),
        "kind-handle" => through(raw::event_reset(raw::xh_alloc(64, 0) as u32)),
        // Stale handles.
        "stale-event" => {
            let h = raw::auto_event_create(0) as u32;
            raw::handle_dispose(h);
            raw::auto_event_create(0);
            through(raw::event_set(h))
        }
        "stale-block" => {
            let h = raw::xh_alloc(64, 0) as u32;
            raw::xh_free(h);
            raw::xh_alloc(64, 0);
            through(raw::xh_load8(h, 0))
        }
        "stale-block-twice" => {
            let h = raw::xh_alloc(64, 0) as u32;
            raw::xh_free(h);
            through(raw::xh_free(h))
        }
        "block-after-send" => {
            let Some(bench) = startup::bench() else {
                return 3;
            };
            let endpoint = bench.into_endpoint().into_raw().raw();
            let block = raw::xh_alloc(64, 0) as u32;
            raw::send_give(endpoint, i64::from(block));
            through(raw::xh_load8(block, 0))
        }
        // Blocks beyond their bounds, and stores to read-only ones.
        "block-bounds" => through(raw::xh_load8(raw::xh_alloc(64, 0) as u32, 64)),
        "block-wrap" => through(raw::xh_load8(raw::xh_alloc(64, 0) as u32, u32::MAX)),
        "block-read-only" => {
            let h = raw::xh_alloc(64, 0) as u32;
            raw::xh_share(h, 0, 32);
            raw::xh_store8(h, 0, 1);
            1
        }
        "block-split-bounds" => {
            let h = raw::xh_alloc(64, 0) as u32;
            raw::xh_split(h, 32);
            through(raw::xh_load8(h, 32))
        }
        "block-copy-bounds" => {
            raw::xh_read(raw::xh_alloc(64, 0) as u32, 1, 1024, 64);
            1
        }
        // Pointers outside the memory.
        "pointer" => through(raw::debug_print(0xffff_fff0, 32)),
        "pointer-out" => through(raw::startup_arg(0, 0xffff_fff0, 32)),
        "pointer-handles" => through(raw::wait_any(0xffff_ff00, 64, 0)),
        "memory" => i32::from(wrong::read_memory(black_box(value as usize)) != 0),
        // The first byte behind its memory, where a process before it may have had some.
        #[cfg(target_arch = "wasm32")]
        "behind" => {
            let end = core::arch::wasm32::memory_size::<0>() << 16;
            i32::from(wrong::read_memory(black_box(end)) != 0)
        }
        // Out of turn: a second question, an answer from the wrong side, a receive in a sending
        // state.
        "twice" => {
            let Some(h) = ping_raw() else { return 3 };
            raw::send_ping(h, 1);
            through(raw::send_ping(h, 2))
        }
        "wrong-side" => {
            let Some(h) = ping_raw() else { return 3 };
            // It could hold the other side, so the installer lets it ask.
            let mut own = [0u32; 2];
            raw::new(own.as_mut_ptr().expose_provenance() as u32);
            through(raw::send_pong(h, 2))
        }
        "wrong-contract" => {
            let Some(h) = ping_raw() else { return 3 };
            through(raw::send_give(h, 2))
        }
        "recv-out" => {
            let Some(h) = ping_raw() else { return 3 };
            raw::send_ping(h, 1);
            through(raw::recv(h, 0xffff_fff8))
        }
        "give-nothing" => {
            let Some(bench) = startup::bench() else {
                return 3;
            };
            let endpoint = bench.into_endpoint().into_raw().raw();
            through(raw::send_give(endpoint, i64::from(value)))
        }
        // Leaves a secret in memory and in blocks.
        "hide" => {
            let secret = [0xa5_u8; 4096];
            let kept: Vec<Vec<u8>> = (0..200).map(|_| secret.to_vec()).collect();
            let blocks: Vec<_> = (0..64).map(|_| Vector::from_bytes(&secret)).collect();
            black_box((&kept, &blocks));
            core::mem::forget((kept, blocks));
            0
        }
        // Looks for it.
        "seek" => {
            // Eight in a row: single bytes of this value stand in the allocator's own records.
            let (mut found, mut row) = (false, 0);
            let mut look = |byte: i32| {
                row = if byte == 0xa5 { row + 1 } else { 0 };
                found |= row >= 8;
            };
            let fresh: Vec<Vec<u8>> = (0..200).map(|_| Vec::with_capacity(4096)).collect();
            for v in &fresh {
                (0..4096).for_each(|i| look(wrong::read_memory(v.as_ptr() as usize + i).into()));
            }
            for _ in 0..64 {
                let h = raw::xh_alloc(4096, 0) as u32;
                (0..4096).for_each(|i| look(raw::xh_load8(h, i)));
            }
            i32::from(found)
        }
        _ => 2,
    }
}
