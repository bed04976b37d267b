//! Sends spans to a collector that speaks OpenTelemetry's protocol (OTLP over HTTP, in JSON). A
//! service of its own: what a collector says is read here, and whoever makes spans has no connection
//! to it.
//!
//! Invariants:
//! - Nothing is sent but to the address that came with the spans, and nothing of its own accord.
//! - One request at a time, over a connection of its own, which ends after a bounded time, and of
//!   whose answer a bounded part is read.
//! - What was not taken is not kept: whoever has sent it counts it.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

mod post;

use sing_sdk::health::Health;
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::provider::Provider;
use spans::otlp::{self, Source};
use spans::record::{self, MOST, MOST_BYTES};

sing_sdk::manifest! {
    name: "spans",
    description: "sends spans to a collector that speaks OpenTelemetry's protocol",
    category: service,
    serves: { spans: SpansContract },
    endpoints: {
        stdout: optional PipeContract.Imp:Start,
        stderr: optional PipeContract.Imp:Start,
        names: optional NamespaceContract.Imp:Start,
        health: optional HealthContract.Exp:Start,
    },
    memory: 16 MiB,
}

/// The spans are the web server's, the only one that may ask.
const SOURCE: Source<'static> = Source {
    service: "web",
    version: env!("CARGO_PKG_VERSION"),
};
/// The most bytes of an address.
const ADDRESS: usize = 2048;
/// Clients: the web server has one channel, and its successor another.
const CLIENTS: usize = 8;

/// Sends; how many were taken.
fn export(
    names: &mut Names,
    url: &Text,
    records: &Vector<SpanRecord>,
    text: &Text,
) -> Result<u32, String> {
    let none = || String::from("what came is no list of spans");
    let url = url.get_within(ADDRESS).ok_or_else(none)?;
    let text = text.get_within(MOST_BYTES).ok_or_else(none)?;
    if records.len() > MOST {
        return Err(none());
    }
    let records: Option<Vec<_>> = (0..records.len()).map(|at| records.get(at)).collect();
    let spans = records.and_then(|records| record::unpack(&records, &text));
    let spans = spans.ok_or_else(none)?;
    let answer = post::post(names, &url, &otlp::request(SOURCE, &spans))?;
    Ok(otlp::taken(&answer, spans.len() as u32))
}

#[sing_sdk::main]
fn main() -> Result<(), Error> {
    let mut health = Health::new(startup::health());
    let mut names = Names::new(startup::names().ok_or(Error::NotFound)?)?;
    let begin = SpansContract::Exp::send_success;
    let lookup = startup::spans().ok_or(Error::NotFound)?;
    let mut provider: Provider<_, _> = Provider::new(lookup, begin)?.at_most(CLIENTS);
    loop {
        switch_receive! {
            case provider.clients[key].Export(url, records, text) as client => {
                match export(&mut names, &url, &records, &text) {
                    Ok(taken) => provider.clients.put(key, client.send_exported(taken)),
                    Err(why) => match Text::new(&why) {
                        Ok(why) => provider.clients.put(key, client.send_not_exported(why)),
                        // Without memory for the answer the client finds its channel closed.
                        Err(_) => {
                            drop(client);
                            provider.clients.forget(key);
                        }
                    },
                }
            }
            case provider.clients[_].ChannelClosed() => {}
            case &health => health.answer(),
            case &provider.lookup => {
                if provider.answer(|path| (path == "/").then_some(())).is_err() {
                    return Ok(());
                }
            }
        }
    }
}
