//! Charges for memory that several processes have had: all of it is charged, and no process is
//! charged for what others do.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use core::time::Duration;
use sing_sdk::inspect;
use sing_sdk::process::{Child, Exit};
use sing_sdk::time;

sing_sdk::contract!(
    "
    contract GiftContract {
      in message Give(byte[] in ExHeap block);
      out message Kept(uint number);
      state Start: Give? -> Kept! -> Start;
    }
    "
);

sing_sdk::manifest! {
    name: "payers",
    description: "tries who pays for memory",
    privileges: [create, inspect],
    endpoints: {
        stdout: optional PipeContract.Imp:Start,
        gifts: optional GiftContract.Exp:Start,
    },
}

/// The budget of a giver.
const GIVERS: u64 = 64 << 20;

/// Bytes of pages that processes occupy.
fn used() -> Result<u64, Error> {
    Ok(inspect::memory()?.used_pages * 4096)
}

/// Bytes of pages in which small blocks lie.
fn chunks() -> Result<u64, Error> {
    Ok(inspect::memory()?.chunk_pages * 4096)
}

/// The amount charged to a process and all its descendants.
fn charged(id: u32) -> Result<u64, Error> {
    let all = inspect::processes()?;
    let found = all.iter().find(|p| p.id == id);
    found.map(|p| p.charged).ok_or(Error::NotFound)
}

/// A giver and a keeper, wired to each other: the number of blocks given, and of blocks kept.
fn gifts(how: &str) -> Result<(Exit, Exit), Error> {
    let (imp, exp) = GiftContract::new_channel()?;
    let keeper = Child::of("keeper").endpoint("gifts", exp).start()?;
    let giver = Child::of("giver").args(["giver", how]);
    let giver = giver.endpoint("gifts", imp).start()?;
    Ok((giver.join()?, keeper.join()?))
}

/// Takes the rest of blocks of which others keep four bytes each, on the list of deferred frees of
/// an idle account, and gives it up; returns the bytes that this occupies beyond the charges.
fn hidden() -> Result<u64, Error> {
    let (mine, before) = (sing_sdk::process::id(), used()?);
    let at_first = charged(mine)?;
    let mut kept = Vec::new();
    for _ in 0..12 {
        let (imp, exp) = GiftContract::new_channel()?;
        let giver = Child::of("giver").args(["giver", "hide"]);
        kept.push(giver.endpoint("gifts", imp).start()?);
        let (block, next) = exp.recv_give().map_err(|_| Error::Closed)?;
        drop(next.send_kept(1));
        // Its thread ends.
        time::sleep(Duration::from_millis(5));
        drop(block);
    }
    let (occupied, charged) = (used()?.saturating_sub(before), charged(mine)? - at_first);
    Ok(occupied.saturating_sub(charged))
}

/// Takes blocks of which their giver keeps a part, frees them, and returns what it pays for by then.
fn clutched(how: &str) -> Result<u64, Error> {
    let mine = || -> Result<u64, Error> {
        let (all, me) = (inspect::processes()?, sing_sdk::process::id());
        let found = all.iter().find(|p| p.id == me).ok_or(Error::NotFound)?;
        Ok(found.exchange)
    };
    let before = mine()?;
    let (imp, mut exp) = GiftContract::new_channel()?;
    let giver = Child::of("giver").args(["giver", how]);
    let giver = giver.endpoint("gifts", imp).start()?;
    for number in 1..=40 {
        let (block, next) = exp.recv_give().map_err(|_| Error::Closed)?;
        drop(block);
        exp = next.send_kept(number);
    }
    let after = mine()?;
    giver.stop(0)?;
    Ok(after - before)
}

/// Gives a service blocks until it has no room for the next, and then another one's request, which it
/// has no room for either: what it answers, and how it ends.
fn stuffed() -> Result<(Option<Refusal>, Exit), Error> {
    use NamespaceContract::imp::Binding;
    let (imp, exp) = GiftContract::new_channel()?;
    let (names, lookup) = NamespaceContract::new_channel()?;
    let keeper = Child::of("keeper").endpoint("gifts", exp);
    let keeper = keeper.endpoint("lookup", lookup).start()?;
    let names = names.recv_success()?;
    let mut gifts = imp;
    let gifts = loop {
        let given = gifts.send_give(Vector::new(1 << 20)?);
        let since = time::uptime();
        while !given.is_ready() && time::uptime() < since + Duration::from_secs(1) {
            time::sleep(Duration::from_millis(1));
        }
        match given.try_recv() {
            Ok(answer) => gifts = answer.kept()?.1,
            Err(unanswered) => break unanswered,
        }
    };
    let (_clock, service) = ClockContract::new_channel()?;
    let asked = names.send_bind(Text::new("/")?, 0, service.into());
    // It has room again: for the gift, and for the request.
    let (_, gifts) = gifts.recv_kept()?;
    drop(gifts);
    let answer = match asked.recv() {
        Binding::NakBind(reason, _, _) => Some(reason),
        Binding::AckBind(_) | Binding::Closed => None,
    };
    Ok((answer, keeper.join()?))
}

/// Bytes that a process occupies which keeps one piece in each stretch of this much memory.
fn fragments(of: &str) -> Result<u64, Error> {
    let before = chunks()?;
    let (imp, exp) = GiftContract::new_channel()?;
    let giver = Child::of("giver").args(["giver", of]);
    let giver = giver.endpoint("gifts", imp).start()?;
    // It says when it is ready, and sleeps; pages go back when the system is idle.
    let _ready = exp.recv_give().map_err(|_| Error::Closed)?;
    let (mut last, mut times) = (0, 0);
    while times < 20 {
        time::sleep(Duration::from_millis(50));
        let now = chunks()?;
        times = if now == last { times + 1 } else { 0 };
        last = now;
    }
    let occupied = chunks()?.saturating_sub(before);
    giver.stop(0)?;
    Ok(occupied)
}

/// Takes all memory that it can get.
fn fill() {
    for bytes in [16 << 20, 1 << 20, 60 << 10] {
        loop {
            let mut room: Vec<u8> = Vec::new();
            if room.try_reserve_exact(bytes).is_err() {
                break;
            }
            core::hint::black_box(room.as_mut_ptr());
            core::mem::forget(room);
        }
    }
}

/// Gives a large block up while the machine has no memory left, and another process has a view of
/// it.
fn give_up() -> Result<(), Error> {
    let mut whole = Block::new(48 << 20)?;
    let view = whole.share(0..64)?;
    let (imp, exp) = GiftContract::new_channel()?;
    let keeper = Child::of("keeper").endpoint("gifts", exp).start()?;
    let given = imp.call_give(Vector::from_block(view)).kept();
    fill();
    drop(whole);
    keeper.stop(0)?;
    drop(given);
    time::sleep(Duration::from_millis(5));
    Ok(())
}

/// Does that repeatedly; returns the charges beyond the machine's memory.
fn full() -> Result<u64, Error> {
    let me = sing_sdk::process::id();
    // For the queries, when nothing else is left.
    let mut spare: Vec<u8> = Vec::with_capacity(1 << 20);
    core::hint::black_box(spare.as_mut_ptr());
    let rounds = (0..6).take_while(|_| give_up().is_ok()).count();
    drop(spare);
    let all = inspect::processes()?;
    let me = all.iter().find(|p| p.id == me).ok_or(Error::NotFound)?;
    if rounds == 0 {
        return Err(Error::NoResources);
    }
    Ok(me.charged.saturating_sub(me.budget))
}

fn sound() -> Result<bool, Error> {
    let wrong = inspect::sweep()?.wrong;
    for line in &wrong {
        println!("{line}");
    }
    Ok(wrong.is_empty())
}

#[sing_sdk::main]
fn main() -> Result<i32, Error> {
    match sing_sdk::args::get(1).as_deref() {
        Some("hidden") => println!("hidden: {} MiB too much", hidden()? >> 20),
        Some("full") => println!("full: {} bytes too much", full()?),
        Some("stuffed") => {
            let (answer, end) = stuffed()?;
            println!("stuffed: answered {answer:?}, kept {end:?}");
        }
        Some(how @ ("viewed" | "cut")) => {
            println!("{how}: {} MiB of a giver's", clutched(how)? >> 20);
        }
        Some("fragments") => {
            let of = sing_sdk::args::get(2).unwrap_or_default();
            let occupied = fragments(&of)?;
            println!("{of}: {} MiB", occupied >> 20);
            println!("{} times its budget", occupied.div_ceil(GIVERS));
        }
        Some(how) => {
            let (given, kept) = gifts(how)?;
            println!("{how}: given {given:?}, kept {kept:?}");
        }
        None => return Ok(2),
    }
    println!("{}", if sound()? { "sound" } else { "unsound" });
    Ok(0)
}
