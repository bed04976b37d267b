//! Messages that ended processes leave in queues are charged to the processes that made them: no
//! process gets memory beyond every budget by making processes that end. `debts`; with an argument
//! it is one of those, and sends a block on its way, itself or through one that it makes.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;
use sing_sdk::process::Child;

sing_sdk::contract!(
    "
    contract DebtContract {
      in message Leave(byte[] in ExHeap block);
      state Start: Leave? -> closed;
    }
    contract PairContract {
      in message Both(byte[] in ExHeap large, byte[] in ExHeap small);
      state Start: Both? -> closed;
    }
    "
);

sing_sdk::manifest! {
    name: "debts",
    description: "leaves blocks in queues and ends",
    privileges: [create, inspect],
    endpoints: {
        stdout: optional PipeContract.Imp:Start,
        queue: optional DebtContract.Imp:Start,
        pair: optional PairContract.Imp:Start,
    },
    memory: 16 MiB,
}

/// Bytes of a block: three fit the budget.
const BLOCK: usize = 4 << 20;

type Debtor = DebtContract::Imp<DebtContract::Start>;

#[sing_sdk::main]
fn main() -> Result<i32, Error> {
    if let Some(pair) = startup::pair() {
        drop(pair.send_both(Vector::new(BLOCK)?, Vector::new(64)?));
        sing_sdk::time::sleep(core::time::Duration::from_secs(3600));
    }
    match (sing_sdk::args::get(1).as_deref(), startup::queue()) {
        (Some("leave"), Some(queue)) => {
            drop(queue.send_leave(Vector::new(BLOCK)?));
            Ok(0)
        }
        // Its child outlives it by as long as it takes.
        (Some("have left"), Some(queue)) => {
            // One that has ended already need not be detached.
            let _ = child("leave", queue)?.detach();
            Ok(0)
        }
        _ => {
            let wrong = check("leave")? || check("have left")? || refused()?;
            println!("debts: {}", if wrong { "forgotten" } else { "paid" });
            Ok(i32::from(wrong))
        }
    }
}

fn child(what: &str, queue: Debtor) -> Result<Child, Error> {
    let me = Child::of("debts").arg("debts").arg(what);
    Ok(me.endpoint("queue", queue).start()?)
}

/// Leaves blocks in queues until there is no room, and takes them out again; returns whether any of
/// that went wrong.
fn check(how: &str) -> Result<bool, Error> {
    let mut queues = Vec::new();
    while Vector::<u8>::new(BLOCK).is_ok() {
        if queues.len() > 8 {
            return Ok(true);
        }
        let (imp, exp) = DebtContract::new_channel()?;
        child(how, imp)?.join()?;
        // The process that it made may still be running.
        sing_sdk::time::sleep(core::time::Duration::from_millis(20));
        queues.push(exp);
    }
    let left = queues.len();
    let mut taken = 0;
    for queue in queues {
        // Once received, it is this process's own, and freed at once.
        taken += usize::from(queue.recv_leave().is_ok());
    }
    Ok(left < 2 || taken != left || Vector::<u8>::new(2 * BLOCK).is_err())
}

/// Blocks that fit into a thread's table before it is doubled, which takes 256 KiB.
const TABLE: usize = 4096;

#[allow(
    unsafe_code,
    reason = "a receive that is refused, which types do not do"
)]
mod raw {
    #[link(wasm_import_module = "contract:PairContract")]
    unsafe extern "C" {
        #[link_name = "exp.recv"]
        pub safe fn recv(endpoint: u32, out: usize) -> i32;
    }
}

/// The amount charged to a process and all its descendants.
fn charged(child: &Child) -> Result<u64, Error> {
    let all = sing_sdk::inspect::processes()?;
    let found = all.iter().find(|p| p.id == child.id());
    found.map(|p| p.charged).ok_or(Error::NotFound)
}

/// Has room in its table for one block more, and none for a larger table, and receives a message of
/// two: blocks that cannot be received stay with their sender, all of them. Returns whether that is
/// wrong.
fn refused() -> Result<bool, Error> {
    let (imp, exp) = PairContract::new_channel()?;
    let me = Child::of("debts").args(["debts", "both"]);
    let sender = me.endpoint("pair", imp).start()?;
    while charged(&sender)? < BLOCK as u64 {
        sing_sdk::thread::yield_now();
    }
    let mut blocks = Vec::with_capacity(TABLE);
    for _ in 0..TABLE - 100 {
        blocks.push(Block::new(64)?);
    }
    // Some of it for further blocks, and some of the heap for the queries afterwards.
    let events: Result<Vec<_>, _> = (0..2000)
        .map(|_| sing_sdk::sync::ManualEvent::new(false))
        .collect();
    let events = events?;
    let heap: Vec<u8> = Vec::with_capacity(128 << 10);
    for piece in [1 << 20, 60 << 10] {
        loop {
            let mut room: Vec<u8> = Vec::new();
            if room.try_reserve_exact(piece).is_err() {
                break;
            }
            core::mem::forget(room);
        }
    }
    drop(heap);
    drop(events);
    while blocks.len() < TABLE
        && let Ok(block) = Block::new(64)
    {
        blocks.push(block);
    }
    let full = blocks.len();
    blocks.pop();
    let mut words = [0u64; 2];
    let status = raw::recv(exp.handle().raw(), words.as_mut_ptr() as usize);
    let left = charged(&sender)?;
    drop(blocks);
    drop(exp);
    sender.stop(0)?;
    let wrong = full < TABLE - 50 || status != -3 || left < BLOCK as u64;
    if wrong {
        println!("debts: {full} blocks, status {status}, {left} bytes left with the sender");
    }
    Ok(wrong)
}
