//! The system in a browser, at `/system` of the web server, and its figures for Prometheus, at
//! `/metrics`. A service of its own and no program of the web server's: one process has the key,
//! bounds all viewers and takes one look for all of them, and the web server needs no right of it.
//!
//! Invariants:
//! - What is live is shown, and something is done, only for whom `access` lets in.
//! - Whatever clients do, about one look a second is taken; each request has one thread, and the
//!   number of viewers and threads is bounded.
//! - Messages are traced while a viewer watches them, and no longer.
//! - The key is random bytes of the machine's device, or there is none.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

mod app;
mod background;
mod collect;
mod key;
mod tracer;

use alloc::sync::Arc;
use app::App;
use collect::Collector;
use sing_sdk::health::Health;
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::provider::Provider;

sing_sdk::manifest! {
    name: "watch",
    description: "shows the system in a browser, and its figures to Prometheus",
    category: service,
    privileges: [control, inspect],
    serves: { pages: WebServiceContract, key: WatchKeyContract },
    endpoints: {
        stdout: optional PipeContract.Imp:Start,
        stderr: optional PipeContract.Imp:Start,
        names: optional NamespaceContract.Imp:Start,
        health: optional HealthContract.Exp:Start,
    },
    memory: 32 MiB,
}

sing_sdk::arguments! {
    /// Show the system and its figures to all who reach the web server, also without the key.
    open: flag "--open";
}

/// Clients of each name: the web server has one for each mount, `httpd` one.
const CLIENTS: usize = 64;

#[sing_sdk::main]
fn main(Arguments { open }: Arguments) -> Result<(), Error> {
    let mut health = Health::new(startup::health());
    let mut names = Names::new(startup::names().ok_or(Error::NotFound)?)?;
    let key = key::draw(&mut names);
    if let Err(error) = &key {
        sing_sdk::log!("/dev/random0: {error}; there is no key, and nobody is let in");
    }
    // A search may wait for a disk's file system: what else is asked does not wait for that.
    let search = Names::new(names.connect()?)?;
    let hardware = Names::new(names.connect()?)?;
    let collector = Collector::new(Names::new(names.connect()?)?, search, hardware);
    let app = Arc::new(App::new(key.ok(), open, collector, names));
    let begin = WebServiceContract::Exp::send_success;
    let pages = startup::pages().ok_or(Error::NotFound)?;
    let mut pages: Provider<_, _> = Provider::new(pages, begin)?.at_most(CLIENTS);
    let begin = WatchKeyContract::Exp::send_success;
    let keys = startup::key().ok_or(Error::NotFound)?;
    let mut keys: Provider<_, _> = Provider::new(keys, begin)?.at_most(CLIENTS);
    loop {
        switch_receive! {
            case pages.clients[key].Serve(requests) as client => {
                app::serve(&app, requests);
                pages.clients.put(key, client.send_taken());
            }
            case pages.clients[_].ChannelClosed() => {}
            case keys.clients[key].GetKey() as client => {
                let text = app.key().and_then(|key| Text::new(key).ok());
                match text {
                    Some(text) => keys.clients.put(key, client.send_key(text)),
                    None => keys.clients.put(key, client.send_no_key()),
                }
            }
            case keys.clients[_].ChannelClosed() => {}
            case &health => health.answer(),
            case &pages.lookup => {
                // Clients bind the service itself; there is nothing below it.
                if pages.answer(|path| (path == "/").then_some(())).is_err() {
                    return Ok(());
                }
            }
            case &keys.lookup => {
                if keys.answer(|path| (path == "/").then_some(())).is_err() {
                    return Ok(());
                }
            }
        }
    }
}
