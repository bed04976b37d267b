//! The driver of a serial line: a 16550.
//!
//! Invariants:
//! - One client at a time is connected; what is kept for it is bounded, and gone when its channel
//!   is closed. Others are told so at once, and hold up nobody.
//! - A byte that the device has received is lost only if the client does not take what has come,
//!   the device's room is full too, and the far end does not stop when it is asked to. Those are
//!   counted.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

mod line;
mod session;

use line::Line;
use session::Session;
use sing_sdk::prelude::*;
use sing_sdk::provider::Provider;
use sing_sdk::time::Timeout;

sing_sdk::manifest! {
    name: "uart16550",
    description: "drives a serial line",
    category: driver,
    serves: { serial: SerialContract },
    endpoints: { stderr: optional PipeContract.Imp:Start },
    devices: {
        device: ["/pnp/PNP0501"] { registers: [0], interrupt },
    },
    memory: 4 MiB,
}

sing_sdk::arguments! {}

#[sing_sdk::main]
fn main(_: Arguments) -> Result<(), Error> {
    let device = startup::device().ok_or(Error::NotFound)?;
    let mut line = Line::new(device)?;
    let lookup = startup::serial().ok_or(Error::NotFound)?;
    let mut serial: Provider<_, _> = Provider::new(lookup, SerialContract::Exp::send_success)?;
    let mut session = Session::new();
    loop {
        switch_receive! {
            timeout session.wait().map_or(Timeout::FOREVER, Timeout::from) => {}
            // Before the device is looked at, which its registers then tell all of.
            case &line.irq => line.irq.acknowledge(),
            case serial.clients[key].Connect(received, sent) as client => {
                if session.is_open() {
                    serial.clients.put(key, client.send_busy());
                } else {
                    line.usual();
                    let client = client.send_connected();
                    serial.clients.release(key, &client);
                    session.open(client, received, sent);
                }
            }
            case serial.clients[key].GetCounts() as client => {
                let c = line.counts;
                let client = client.send_counts(
                    c.received, c.sent, c.overruns, c.parity, c.framing, c.breaks,
                );
                serial.clients.put(key, client);
            }
            case serial.clients[_].ChannelClosed() => {}
            case session.client[key].SetLine(baud, bits, parity, stops) as client => {
                session.client[key] = Some(match line.set(baud, bits, parity, stops) {
                    Some(baud) => client.send_line_set(baud),
                    None => client.send_not_set(),
                });
            }
            case session.client[key].SendBreak(milliseconds) as client => {
                session.begin_break(&line, milliseconds);
                session.client[key] = Some(client.send_break_begun());
            }
            case session.client[_].ChannelClosed() => {
                line.hold_break(false);
                session = Session::new();
            }
            case session.sent[_].Write(data) as pipe => session.send(data, pipe),
            case session.sent[_].ChannelClosed() => {}
            case session.told[_].Ack() as pipe => session.idle = Some(pipe),
            // Nobody takes what is received any more.
            case session.told[_].ChannelClosed() => session.deaf = true,
            case &serial.lookup => {
                // Clients bind the line itself; there is nothing below it.
                if serial.answer(|path| (path == "/").then_some(())).is_err() {
                    return Ok(());
                }
            }
        }
        session.serve(&mut line);
    }
}
