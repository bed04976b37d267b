//! The driver of the text screen of a PC (VGA).
//!
//! It serves `ScreenContract` to whoever binds it; who starts it says where in the name space it
//! is. The mode is the one that the firmware has left: 80 columns and 25 rows, usually.
//!
//! Invariant: no client can stop another. Each request is done at once, in bounded time.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

mod screen;

use screen::Screen;
use sing_sdk::prelude::*;
use sing_sdk::provider::Provider;

sing_sdk::manifest! {
    name: "vga-text",
    description: "drives the text screen of a PC",
    category: driver,
    serves: { screen: ScreenContract },
    endpoints: { stderr: optional PipeContract.Imp:Start },
    devices: {
        // Range 0 is the text, range 1 the fonts, range 2 the ports.
        device: ["/pnp/PNP0900"] { registers: [0, 2] },
    },
    memory: 16 MiB,
    behavior: "
        // Without a screen that shows text, it ends at once.
        state Start: ( screen.Success! -> Serving or stderr.Write! -> end or skip -> end );
        state Serving: one {
          screen.Bind? -> ( screen.AckBind! or screen.NakBind! ) -> Serving;
          screen.Find? -> ( screen.AckFind! or screen.NakFind! ) -> Serving;
          screen.Notify? -> screen.NakNotify! -> Serving;
          screen.Register? -> screen.NakRegister! -> Serving;
          screen.Deregister? -> screen.NakDeregister! -> Serving;
          screen.Link? -> screen.NakLink! -> Serving;
          screen.ReadLink? -> ( screen.AckReadLink! or screen.NakReadLink! ) -> Serving;
          screen.ChannelClosed? -> end;
        }
    ",
}

sing_sdk::arguments! {}

/// The size to which the heap is grown at the start.
const HEAP: usize = 128 << 10;
/// Channels at a time. Each has a block here only while that is shown.
const CLIENTS: usize = 64;

#[sing_sdk::main]
fn main(_: Arguments) -> Result<(), Error> {
    let device = startup::device().ok_or(Error::NotFound)?;
    sing_sdk::reserve(HEAP)?;
    let mut screen = Screen::start(device).inspect_err(|_| {
        sing_sdk::log!(
            "vga-text: the display shows no text; have the firmware or the boot loader leave it in text mode"
        );
    })?;
    let lookup = startup::screen().ok_or(Error::NotFound)?;
    let begin = ScreenContract::Exp::send_success;
    let mut provider: Provider<_, _> = Provider::new(lookup, begin)?.at_most(CLIENTS);
    loop {
        switch_receive! {
            case provider.clients[key].GetSize() as client => {
                let (columns, rows) = screen.size();
                provider.clients.put(key, client.send_size(columns, rows));
            }
            case provider.clients[key].Show(cells, cursor) as client => {
                screen.show(&cells, cursor);
                provider.clients.put(key, client.send_shown(cells));
            }
            case provider.clients[_].ChannelClosed() => {}
            case &provider.lookup => {
                if provider.answer(|path| (path == "/").then_some(())).is_err() {
                    return Ok(());
                }
            }
        }
    }
}
