//! Has very many objects of one kind, and gives them up at once: `heavy THING [COUNT]`. The program
//! that must answer runs beside it.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use core::time::Duration;
use sing_sdk::contracts::PingContract;
use sing_sdk::process::{self, Child, Exit};
use sing_sdk::rt::Waitable;
use sing_sdk::set::WaitSet;
use sing_sdk::sync::{self, ManualEvent};
use sing_sdk::thread;
use sing_sdk::time::{self, Timeout};

sing_sdk::contract!(
    "
    // Channels that hold ends of sixteen others, each of which holds as many.
    contract Leaf { in message Nothing(); state Start: Nothing? -> closed; }
    contract Twig {
      in message Put(Leaf.Exp:Start inner);
      state Start: Put? -> Put? -> Put? -> Put? -> Put? -> Put? -> Put? -> Put?
                -> Put? -> Put? -> Put? -> Put? -> Put? -> Put? -> Put? -> Put? -> closed;
    }
    contract Branch {
      in message Put(Twig.Exp:Start inner);
      state Start: Put? -> Put? -> Put? -> Put? -> Put? -> Put? -> Put? -> Put?
                -> Put? -> Put? -> Put? -> Put? -> Put? -> Put? -> Put? -> Put? -> closed;
    }
    contract Bough {
      in message Put(Branch.Exp:Start inner);
      state Start: Put? -> Put? -> Put? -> Put? -> Put? -> Put? -> Put? -> Put?
                -> Put? -> Put? -> Put? -> Put? -> Put? -> Put? -> Put? -> Put? -> closed;
    }
    contract Tree {
      in message Put(Bough.Exp:Start inner);
      state Start: Put? -> Put? -> Put? -> Put? -> Put? -> Put? -> Put? -> Put?
                -> Put? -> Put? -> Put? -> Put? -> Put? -> Put? -> Put? -> Put? -> closed;
    }

    // A queue of many blocks.
    contract QueueContract {
      in message Put(byte[] in ExHeap block);
      state Start: Put? -> Put? -> Put? -> Put? -> Put? -> Put? -> Put? -> Put?
                -> Put? -> Put? -> Put? -> Put? -> Put? -> Put? -> Put? -> Put? -> closed;
    }
    "
);

sing_sdk::manifest! {
    name: "heavy",
    description: "gives up very much at once",
    privileges: [create],
    endpoints: { stdout: optional PipeContract.Imp:Start },
    memory: 512 MiB,
}

/// Bytes of a message's block: as many as are freed in one piece.
const BLOCK: usize = 4 << 20;
/// Bytes of a waiting thread's shadow stack.
const STACK: usize = 4 << 10;

#[sing_sdk::main]
fn main() -> Result<i32, Error> {
    let thing = sing_sdk::args::get(1).unwrap_or_default();
    let count = sing_sdk::args::get(2).and_then(|s| s.parse::<usize>().ok());
    match thing.as_str() {
        "blocks" => blocks(count.unwrap_or(20_000))?,
        "queue" => queue()?,
        "threads" => threads(count.unwrap_or(2_000))?,
        "woken" => woken(count.unwrap_or(2_000))?,
        "sleepers" => sleepers(count.unwrap_or(2_000))?,
        "resumed" => resumed(count.unwrap_or(2_000))?,
        "nested" => nested()?,
        "nest" => nest(count.unwrap_or(200))?,
        "family" => family()?,
        "sets" => sets(count.unwrap_or(8_000))?,
        _ => return Ok(2),
    }
    Ok(0)
}

/// A thread ends with very many blocks.
fn blocks(count: usize) -> Result<(), Error> {
    let thread = thread::spawn(move || {
        for _ in 0..count {
            match Block::new(64) {
                Ok(block) => core::mem::forget(block),
                Err(_) => return false,
            }
        }
        true
    })?;
    if thread.join()? {
        Ok(())
    } else {
        Err(Error::NoResources)
    }
}

/// Sends sixteen times the value of an expression.
macro_rules! put {
    ($imp:ident, $inner:expr) => {
        put!(@ $imp, $inner, 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16)
    };
    (@ $imp:ident, $inner:expr, $($n:literal)*) => {
        $(
            let _ = $n;
            let $imp = $imp.send_put($inner);
        )*
        drop($imp);
    };
}

/// Closes an end at which large messages wait.
fn queue() -> Result<(), Error> {
    let (imp, exp) = QueueContract::new_channel()?;
    put!(imp, large()?);
    drop(exp);
    Ok(())
}

fn large() -> Result<Vector<u8>, Error> {
    let mut block = Vector::new(BLOCK)?;
    for at in (0..BLOCK).step_by(4096) {
        block.set(at, 7);
    }
    Ok(block)
}

/// The program ends with very many threads that wait.
fn threads(count: usize) -> Result<(), Error> {
    let event: &'static ManualEvent = Box::leak(Box::new(ManualEvent::new(false)?));
    for _ in 0..count {
        core::mem::forget(thread::spawn_with_stack(STACK, || {
            // Never.
            let _ = sync::wait(event, Timeout::FOREVER);
        })?);
    }
    time::sleep(Duration::from_millis(1));
    Ok(())
}

/// Very many threads, each of which waits in all its places for the same object, are woken at once,
/// and once more by time.
fn woken(count: usize) -> Result<(), Error> {
    let event: &'static ManualEvent = Box::leak(Box::new(ManualEvent::new(false)?));
    let at = time::uptime() + Duration::from_millis(60);
    let waits: Result<Vec<_>, _> = (0..count)
        .map(|_| {
            thread::spawn_with_stack(STACK, move || {
                let first = sync::wait_any(&[event.handle(); sync::MAX_WAIT], Timeout::FOREVER);
                time::sleep(at.saturating_sub(time::uptime()));
                first.is_ok()
            })
        })
        .collect();
    time::sleep(Duration::from_millis(1));
    event.set();
    for thread in waits? {
        if !thread.join()? {
            return Err(Error::BadState);
        }
    }
    Ok(())
}

/// Very many threads wake at one time, and end.
fn sleepers(count: usize) -> Result<(), Error> {
    let at = time::uptime() + Duration::from_millis(200);
    let threads: Result<Vec<_>, _> = (0..count)
        .map(|_| {
            thread::spawn_with_stack(STACK, move || {
                time::sleep(at.saturating_sub(time::uptime()));
            })
        })
        .collect();
    threads?.into_iter().try_for_each(thread::JoinHandle::join)
}

/// Very many threads of a suspended process wake meanwhile, and run when it is resumed.
fn resumed(count: usize) -> Result<(), Error> {
    let child = Child::of("heavy")
        .args(["heavy", "sleepers", &count.to_string()])
        .start()?;
    time::sleep(Duration::from_millis(150));
    child.suspend(false)?;
    time::sleep(Duration::from_millis(100));
    child.resume(false)?;
    match child.join()? {
        Exit::Code(0) => Ok(()),
        _ => Err(Error::BadState),
    }
}

macro_rules! level {
    ($name:ident, $contract:ident, $inner:ident) => {
        fn $name() -> Result<$contract::Exp<$contract::Start>, Error> {
            let (imp, exp) = $contract::new_channel()?;
            put!(imp, $inner()?);
            Ok(exp)
        }
    };
}
level!(tree, Tree, bough);
level!(bough, Bough, branch);
level!(branch, Branch, twig);
level!(twig, Twig, leaf);

fn leaf() -> Result<Leaf::Exp<Leaf::Start>, Error> {
    Ok(Leaf::new_channel()?.1)
}

/// Closes an end that holds others in messages, which hold others, and so on: 69,905 channels.
fn nested() -> Result<(), Error> {
    drop(tree()?);
    Ok(())
}

/// Makes very many processes, which end when this one does, and waits.
fn nest(count: usize) -> Result<(), Error> {
    let mut kept = Vec::new();
    let pong = process::manifest("pong")?;
    for _ in 0..count {
        let (imp, exp) = PingContract::new_channel()?;
        let child = Child::of("pong").arg("pong").manifest(&pong);
        kept.push((child.endpoint("ping", exp).start()?, imp));
    }
    time::sleep(Duration::from_secs(3600));
    Ok(())
}

/// Suspends and resumes a process with all its descendants.
fn family() -> Result<(), Error> {
    let root = Child::of("heavy").args(["heavy", "nest"]).start()?;
    for _ in 0..50 {
        root.suspend(true)?;
        root.resume(true)?;
        time::sleep(Duration::from_millis(2));
    }
    root.stop(0)
}

type Ready = Leaf::Exp<Leaf::Start>;

/// An endpoint in a set, with a message.
fn ready(set: &WaitSet, number: u32) -> Result<Ready, Error> {
    let (imp, exp) = Leaf::new_channel()?;
    set.add(&exp, number)?;
    drop(imp.send_nothing());
    Ok(exp)
}

/// Gives up a set with very many endpoints that are ready, and ends with another. Waits for many
/// sets whose endpoints were ready until their messages were received without the sets.
fn sets(count: usize) -> Result<(), Error> {
    for given_up in [true, false] {
        let set = WaitSet::new()?;
        let ends: Result<Vec<_>, _> = (0..count).map(|i| ready(&set, i as u32)).collect();
        let mut ends = ends?;
        if set.wait(Timeout::NONE)? != 0 {
            return Err(Error::BadState);
        }
        if !given_up {
            core::mem::forget((set, ends));
            break;
        }
        drop(set);
        // They are in no set, and have their messages.
        let set = WaitSet::new()?;
        let last = ends.pop().ok_or(Error::NotFound)?;
        set.add(&last, 7)?;
        if set.wait(Timeout::NONE)? != 7 {
            return Err(Error::BadState);
        }
        for end in ends {
            drop(end.recv_nothing()?);
        }
    }
    let sets: Result<Vec<_>, _> = (0..sync::MAX_WAIT).map(|_| WaitSet::new()).collect();
    let sets = sets?;
    let mut kept = Vec::new();
    for set in &sets {
        for number in 0..255 {
            let (imp, exp) = PingContract::new_channel()?;
            set.add(&exp, number)?;
            let imp = imp.send_ping(number);
            kept.push((imp, exp.recv_ping()?));
        }
    }
    let handles: Vec<_> = sets.iter().map(Waitable::handle).collect();
    match sync::wait_any(&handles, Timeout::NONE) {
        Err(Error::Timeout) => {}
        _ => return Err(Error::BadState),
    }
    let end = ready(&sets[sets.len() - 1], 1)?;
    let found = sync::wait_any(&handles, Timeout::NONE)?;
    drop(end);
    if found == sets.len() - 1 {
        Ok(())
    } else {
        Err(Error::BadState)
    }
}
