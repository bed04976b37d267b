//! The other side of the measurements of `bench`: answers words, blocks, trees and endpoints, and
//! yields on request.
//!
//! Its argument says how it waits for the next request: in the call that answers the one before
//! (`call`, the default), by a plain receive (`receive`), or by `switch receive` over all its
//! endpoints, which it keeps in a set (`set`) or in an array (`array`), or over two that are
//! variables (`variables`).
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

use sing_sdk::prelude::*;
use sing_sdk::set::EndpointSet;
use sing_sdk::{switch_receive, thread};

sing_sdk::manifest! {
    name: "bench-peer",
    description: "the other side of what bench measures: bench-peer [WAY]",
    endpoints: {
        bench: BenchContract.Exp:Start,
        /// Endpoints beside, which stay idle.
        idle: many BenchContract.Exp:Start,
    },
}

type Client = BenchContract::Exp<BenchContract::Start>;

sing_sdk::choices! {
    /// How it waits for the next request.
    Way: "call" Call, "receive" Receive, "set" Set, "array" Array, "variables" Variables
}

sing_sdk::arguments! {
    /// How it waits for the next request. By call if left out.
    way: optional Way "WAY";
}

#[sing_sdk::main]
fn main(Arguments { way }: Arguments) -> Result<(), Error> {
    let Some(bench) = startup::bench() else {
        return Ok(());
    };
    match way {
        None | Some(Way::Call) => by_calls(bench),
        Some(Way::Receive) => by_receives(bench),
        Some(Way::Set) => from_a_set(bench)?,
        Some(Way::Array) => from_an_array(bench),
        Some(Way::Variables) => from_variables(bench),
    }
    Ok(())
}

fn yield_so_often(times: u32) {
    for _ in 0..times {
        thread::yield_now();
    }
}

/// Each answer waits for the next request in the same call.
fn by_calls(bench: Client) {
    use BenchContract::exp::Start;
    let _idle: Vec<Client> = startup::idle().collect();
    let mut request = bench.recv();
    loop {
        request = match request {
            Start::Ping(word, next) => next.call_pong(word),
            Start::Give(data, next) => next.call_return(data),
            Start::Plant(tree, next) => next.call_planted(tree),
            Start::Carry(endpoint, next) => next.call_carried(endpoint),
            Start::Yield(times, next) => {
                yield_so_often(times);
                next.call_yielded()
            }
            Start::Closed => return,
        };
    }
}

fn by_receives(mut bench: Client) {
    use BenchContract::exp::Start;
    let _idle: Vec<Client> = startup::idle().collect();
    loop {
        bench = match bench.recv() {
            Start::Ping(word, next) => next.send_pong(word),
            Start::Give(data, next) => next.send_return(data),
            Start::Plant(tree, next) => next.send_planted(tree),
            Start::Carry(endpoint, next) => next.send_carried(endpoint),
            Start::Yield(times, next) => {
                yield_so_often(times);
                next.send_yielded()
            }
            Start::Closed => return,
        };
    }
}

fn from_a_set(bench: Client) -> Result<(), Error> {
    let mut clients = EndpointSet::new()?;
    clients.insert(bench)?;
    for client in startup::idle() {
        clients.insert(client)?;
    }
    loop {
        switch_receive! {
            case clients[key].Ping(word) as client => clients.put(key, client.send_pong(word)),
            case clients[key].Give(data) as client => clients.put(key, client.send_return(data)),
            case clients[key].Plant(tree) as client => clients.put(key, client.send_planted(tree)),
            case clients[key].Carry(endpoint) as client => {
                clients.put(key, client.send_carried(endpoint));
            }
            case clients[key].Yield(times) as client => {
                yield_so_often(times);
                clients.put(key, client.send_yielded());
            }
            case clients[_].ChannelClosed() => return Ok(()),
        }
    }
}

fn from_an_array(bench: Client) {
    let mut clients: Vec<Option<Client>> = core::iter::once(bench)
        .chain(startup::idle())
        .map(Some)
        .collect();
    loop {
        switch_receive! {
            case clients[key].Ping(word) as client => clients[key] = Some(client.send_pong(word)),
            case clients[key].Give(data) as client => clients[key] = Some(client.send_return(data)),
            case clients[key].Plant(tree) as client => clients[key] = Some(client.send_planted(tree)),
            case clients[key].Carry(endpoint) as client => {
                clients[key] = Some(client.send_carried(endpoint));
            }
            case clients[key].Yield(times) as client => {
                yield_so_often(times);
                clients[key] = Some(client.send_yielded());
            }
            case clients[_].ChannelClosed() => return,
        }
    }
}

fn from_variables(mut bench: Client) {
    let mut idle = startup::idle();
    let Some(other) = idle.next() else {
        return;
    };
    let _others: Vec<Client> = idle.collect();
    loop {
        bench = switch_receive! {
            case bench.Ping(word) => bench.send_pong(word),
            case bench.Give(data) => bench.send_return(data),
            case bench.Plant(tree) => bench.send_planted(tree),
            case bench.Carry(endpoint) => bench.send_carried(endpoint),
            case bench.Yield(times) => {
                yield_so_often(times);
                bench.send_yielded()
            }
            case bench.ChannelClosed() => return,
            case other.ChannelClosed() => return,
            else wait
        };
    }
}
