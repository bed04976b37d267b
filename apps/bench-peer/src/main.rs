//! The other side of what `bench` measures: answers words, blocks, trees and endpoints, and yields when asked to.
//!
//! How it waits for the next request is what its argument says: in the call that answers the one before (`call`, and
//! where nothing is said), by a plain receive (`receive`), or by `switch receive` over all its endpoints, which it keeps
//! in a set (`set`) or in an array (`array`), or over two that are variables (`variables`).
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

use sing_sdk::prelude::*;
use sing_sdk::set::EndpointSet;
use sing_sdk::{switch_receive, thread};

sing_sdk::manifest! {
    name: "bench-peer",
    description: "the other side of what bench measures: bench-peer [call|receive|set|array|variables]",
    endpoints: {
        bench: BenchContract.Exp:Start,
        /// Endpoints beside, which stay idle.
        idle: many BenchContract.Exp:Start,
    },
}

type Client = BenchContract::Exp<BenchContract::Start>;

#[sing_sdk::main]
fn main() -> Result<i32, Error> {
    let Some(bench) = startup::bench() else {
        return Ok(0);
    };
    match sing_sdk::args::get(1).as_deref() {
        None | Some("call") => by_calls(bench),
        Some("receive") => by_receives(bench),
        Some("set") => from_a_set(bench)?,
        Some("array") => from_an_array(bench),
        Some("variables") => from_variables(bench),
        Some(other) => {
            eprintln!(
                "bench-peer: unknown way to wait `{other}`: call, receive, set, array or variables"
            );
            return Ok(2);
        }
    }
    Ok(0)
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
