//! Takes as many objects of one kind as its budget pays for, reports their number, and waits:
//! `glutton THING [COUNT]`. With a count it takes only that many, and ends.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use core::mem::forget;
use core::time::Duration;
use sing_sdk::contracts::PingContract;
use sing_sdk::process::Child;
use sing_sdk::rt::Waitable;
use sing_sdk::set::WaitSet;
use sing_sdk::sync::{self, ManualEvent};
use sing_sdk::thread;
use sing_sdk::time::{self, Timeout};

sing_sdk::manifest! {
    name: "glutton",
    description: "takes as much of one thing as it can get",
    privileges: [create],
    endpoints: {
        stdout: optional PipeContract.Imp:Start,
        asked: optional PingContract.Exp:Start,
    },
    memory: 8 MiB,
}

/// Bytes of a waiting thread's shadow stack.
const STACK: usize = 2 << 10;

#[allow(
    unsafe_code,
    reason = "the kernel's mutexes, which the SDK has no type for"
)]
mod raw {
    #[link(wasm_import_module = "sing_v1")]
    unsafe extern "C" {
        pub safe fn mutex_create(owned: u32) -> i32;
    }
}

/// Makes one.
fn make(thing: &str, event: &'static ManualEvent) -> Result<(), Error> {
    match thing {
        "events" => forget(ManualEvent::new(false)?),
        "mutexes" => {
            if raw::mutex_create(0) < 0 {
                return Err(Error::NoResources);
            }
        }
        "sets" => forget(WaitSet::new()?),
        "channels" => forget(PingContract::new_channel()?),
        "blocks" => forget(Block::new(64)?),
        "pages" => forget(Block::new(4096)?),
        "children" => forget(Child::of("glutton").arg("glutton").create()?),
        "threads" => forget(thread::spawn_with_stack(STACK, || {
            let _ = sync::wait(event, Duration::from_secs(3600).into());
        })?),
        "waits" => forget(thread::spawn_with_stack(STACK, || {
            let _ = sync::wait_any(&[event.handle(); 64], Timeout::FOREVER);
        })?),
        _ => return Err(Error::NotFound),
    }
    Ok(())
}

#[sing_sdk::main]
fn main() -> Result<i32, Error> {
    let thing = sing_sdk::args::get(1).unwrap_or_default();
    let most = sing_sdk::args::get(2).and_then(|s| s.parse::<u32>().ok());
    let event: &'static ManualEvent = Box::leak(Box::new(ManualEvent::new(false)?));
    let asked = startup::asked();
    let mut made = 0;
    while most.is_none_or(|most| made < most) && make(&thing, event).is_ok() {
        made += 1;
    }
    if most.is_some() {
        return Ok(i32::from(most != Some(made)));
    }
    let mut exp = asked.ok_or(Error::NotFound)?;
    while let PingContract::exp::Start::Ping(_, asked) = exp.recv() {
        exp = asked.send_pong(made);
    }
    time::sleep(Duration::from_secs(3600));
    Ok(0)
}
