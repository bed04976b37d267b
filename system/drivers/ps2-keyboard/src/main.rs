//! The driver of the keyboard of a PC (PS/2, or what the firmware or the emulator makes look like
//! it).
//!
//! It serves `KeyboardContract` to whoever binds it; who starts it says where in the name space it
//! is, and with which layout.
//!
//! Invariants:
//! - No client can stop another: keys go to the one that asked last, and nothing waits for it.
//! - What is kept of keys for which nobody asks is bounded.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

mod controller;

use controller::{BURST, Controller};
use core::time::Duration;
use ps2_keyboard::{Keys, Layout};
use sing_sdk::prelude::*;
use sing_sdk::provider::Provider;
use sing_sdk::time::Timeout;

sing_sdk::manifest! {
    name: "ps2-keyboard",
    description: "drives the keyboard of a PC",
    category: driver,
    serves: { keyboard: KeyboardContract },
    endpoints: {
        stdout: optional PipeContract.Imp:Start,
        stderr: optional PipeContract.Imp:Start,
    },
    devices: {
        // Range 0 is the port of data, range 1 that of status and commands.
        device: ["/pnp/PNP0303"] { registers: [0, 1], interrupt },
    },
    memory: 4 MiB,
    behavior: "
        // Without a device that works, it ends at once.
        state Start: ( keyboard.Success! -> Serving or skip -> Failing
          or stdout.Write! -> ( stdout.Ack? -> end or stdout.ChannelClosed? -> end ) );
        // The device's interrupts are none of the channels'.
        state Serving: one {
          keyboard.Bind? -> ( keyboard.AckBind! or keyboard.NakBind! ) -> Serving;
          keyboard.Find? -> ( keyboard.AckFind! or keyboard.NakFind! ) -> Serving;
          keyboard.Notify? -> keyboard.NakNotify! -> Serving;
          keyboard.Register? -> keyboard.NakRegister! -> Serving;
          keyboard.Deregister? -> keyboard.NakDeregister! -> Serving;
          keyboard.Link? -> keyboard.NakLink! -> Serving;
          keyboard.ReadLink? -> ( keyboard.AckReadLink! or keyboard.NakReadLink! ) -> Serving;
          keyboard.ChannelClosed? -> end;
        }
        state Failing: ( stderr.Write! -> end or skip -> end );
    ",
}

sing_sdk::arguments! {
    /// Which characters the keys have: us, uk or de; us if left out.
    layout: default Layout = Layout::Us, "LAYOUT";
}

/// The size to which the heap is grown at the start.
const HEAP: usize = 64 << 10;
/// Channels at a time.
const CLIENTS: usize = 64;
/// How long the driver waits for memory, and for the rest of a long burst.
const RETRY: Duration = Duration::from_millis(5);

#[sing_sdk::main]
fn main(Arguments { layout }: Arguments) -> Result<(), Error> {
    let device = startup::device().ok_or(Error::NotFound)?;
    sing_sdk::reserve(HEAP)?;
    let controller = Controller::start(device)?;
    let mut keys = Keys::new(layout);
    if let Some(byte) = keys.lights() {
        controller.send(byte)?;
    }
    let lookup = startup::keyboard().ok_or(Error::NotFound)?;
    let begin = KeyboardContract::Exp::send_success;
    let mut provider: Clients = Provider::new(lookup, begin)?.at_most(CLIENTS);
    // The client that waits for keys.
    let mut reading = None;
    loop {
        let more = drain(&controller, &mut keys)?;
        forget_gone(&mut reading, &mut provider);
        if keys.has_events()
            && let Some((key, client)) = reading.take()
        {
            match Vector::from_elements(keys.events()) {
                Ok(events) => {
                    keys.clear();
                    provider.clients.put(key, send(client, events));
                }
                Err(_) => reading = Some((key, client)),
            }
        }
        let waits = more || keys.has_events() && reading.is_some();
        switch_receive! {
            timeout if waits { Timeout::from(RETRY) } else { Timeout::FOREVER } => {}
            case &controller.irq => controller.irq.acknowledge(),
            case provider.clients[key].Read() as client => {
                // Whoever waited before is closed.
                if let Some((old, gone)) = reading.replace((key, client)) {
                    drop(gone);
                    provider.clients.forget(old);
                }
            }
            case provider.clients[_].ChannelClosed() => {}
            case &provider.lookup => {
                // A new client may need its place.
                forget_gone(&mut reading, &mut provider);
                if provider.answer(|path| (path == "/").then_some(())).is_err() {
                    return Ok(());
                }
            }
        }
    }
}

type Reading = KeyboardContract::Exp<KeyboardContract::Reading>;
type Ready = KeyboardContract::Exp<KeyboardContract::Ready>;

type Clients = Provider<KeyboardContract::Exp<KeyboardContract::Start>, Ready>;

/// Forgets who waited for keys and has gone, which nothing else tells while it waits: the keys are
/// for the next one.
fn forget_gone(reading: &mut Option<(usize, Reading)>, provider: &mut Clients) {
    if let Some((key, client)) = reading.take_if(|(_, client)| client.is_ready()) {
        drop(client);
        provider.clients.forget(key);
    }
}

fn send(client: Reading, events: Vector<KeyEvent>) -> Ready {
    client.send_typed(events)
}

/// Takes what the keyboard has sent; returns whether there may be more.
fn drain(controller: &Controller, keys: &mut Keys) -> Result<bool, Error> {
    for _ in 0..BURST {
        let Some(byte) = controller.read() else {
            return Ok(false);
        };
        if let Some(answer) = keys.feed(byte) {
            controller.send(answer)?;
        }
    }
    Ok(true)
}
