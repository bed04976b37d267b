//! The driver of the real-time clock: an MC146818 or its like, at two ports.
//!
//! Invariants:
//! - No client can stop another: a request takes a bounded number of accesses, and nothing is kept
//!   for a client but its channel.
//! - A time that was read is one that the clock had: its registers are read until two readings
//!   agree, while it does not change them.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

mod clock;

use clock::Clock;
use sing_sdk::prelude::*;
use sing_sdk::provider::Provider;

sing_sdk::manifest! {
    name: "mc146818",
    description: "drives the real-time clock",
    category: driver,
    serves: { clock: RealTimeClockContract, control: SetClockContract },
    endpoints: { stderr: optional PipeContract.Imp:Start },
    devices: {
        device: ["/pnp/PNP0B00"] { registers: [0] },
    },
    memory: 4 MiB,
}

sing_sdk::arguments! {}

#[sing_sdk::main]
fn main(_: Arguments) -> Result<(), Error> {
    let device = startup::device().ok_or(Error::NotFound)?;
    let clock = Clock::new(device.registers(0)?);
    let (lookup, control) = (startup::clock(), startup::control());
    let (lookup, control) = (
        lookup.ok_or(Error::NotFound)?,
        control.ok_or(Error::NotFound)?,
    );
    let mut told: Provider<_, _> = Provider::new(lookup, RealTimeClockContract::Exp::send_success)?;
    let mut set: Provider<_, _> = Provider::new(control, SetClockContract::Exp::send_success)?;
    loop {
        switch_receive! {
            case told.clients[key].GetTime() as client => {
                let client = match clock.time() {
                    Some(seconds) => client.send_time(seconds),
                    None => client.send_no_time(),
                };
                told.clients.put(key, client);
            }
            case told.clients[_].ChannelClosed() => {}
            case set.clients[key].SetTime(seconds) as client => {
                let client = if clock.set(seconds) {
                    client.send_time_set()
                } else {
                    client.send_not_set()
                };
                set.clients.put(key, client);
            }
            case set.clients[_].ChannelClosed() => {}
            // Clients bind the services themselves; there is nothing below them.
            case &told.lookup => {
                if told.answer(|path| (path == "/").then_some(())).is_err() {
                    return Ok(());
                }
            }
            case &set.lookup => {
                if set.answer(|path| (path == "/").then_some(())).is_err() {
                    return Ok(());
                }
            }
        }
    }
}
