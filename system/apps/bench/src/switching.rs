//! Channels beside endpoints that are idle: words, `switch receive`, endpoints and trees there and
//! back.

use crate::channels::{Channel, Give, Peer, ROUND_TRIPS, RoundTrip, Shared};
use crate::stats::Row;
use crate::{Measure, cycles, timed};
use alloc::boxed::Box;
use alloc::format;
use alloc::rc::Rc;
use alloc::vec::Vec;
use sing_sdk::Error;
use sing_sdk::contracts::{BenchNode, PingContract};
use sing_sdk::rt::{Record, Vector};

/// How many endpoints are idle beside the one that is used.
const IDLE: [usize; 4] = [1, 8, 64, 512];
/// Nodes of the trees.
const TREES: [usize; 5] = [1, 16, 256, 4096, 32_768];
/// As many endpoints as a program can select from at once.
const MOST_SELECTED: usize = 64;

/// How the other side waits.
const WAYS: [&str; 4] = ["receive", "set", "array", "variables"];

type Carried = PingContract::Imp<PingContract::Start>;

/// A value that travels there and back for the length of a burst.
struct There<T, F> {
    peer: Shared,
    load: Option<T>,
    /// Sends it and takes it back.
    trip: F,
}

impl<T, F: Fn(T, Channel) -> Option<(T, Channel)>> Measure for There<T, F> {
    fn burst(&mut self) -> Result<f64, Error> {
        let load = self.load.take().ok_or(Error::Closed)?;
        let (mut kept, trip) = (None, &self.trip);
        let took = self.peer.borrow_mut().with(|channel| {
            let mut both = Some((load, channel));
            let took = timed(ROUND_TRIPS, || {
                both = both.take().and_then(|(load, channel)| trip(load, channel));
            });
            let (load, channel) = both?;
            kept = Some(load);
            Some((took, channel))
        });
        self.load = kept;
        took
    }
}

/// A complete binary tree of this many blocks.
fn tree(nodes: usize) -> Result<Record<BenchNode>, Error> {
    let below = nodes - 1;
    let part = |nodes| (nodes > 0).then(|| tree(nodes)).transpose();
    let (left, right) = (part(below.div_ceil(2))?, part(below / 2)?);
    Record::new(BenchNode {
        value: nodes as u32,
        left,
        right,
    })
}

/// Adds the measurements of this module.
pub fn add(all: &mut Vec<(Row, Box<dyn Measure>)>) -> Result<(), Error> {
    for idle in IDLE {
        let beside = format!("{idle} idle beside");
        let calls = Peer::start("call", idle)?;
        let word = RoundTrip {
            peer: Rc::clone(&calls),
            fused: true,
        };
        let name = format!("round trip, one word, {beside}");
        all.push((cycles(Some("T3"), name), Box::new(word)));
        for (way, size) in [("64 KiB", 64 << 10), ("1 byte", 1)] {
            let give = Give {
                peer: Rc::clone(&calls),
                data: Some(Vector::new(size)?),
            };
            let name = format!("round trip, block of {way}, {beside}");
            all.push((cycles(None, name), Box::new(give)));
        }
        let (imp, exp) = PingContract::new_channel()?;
        let carry = There {
            peer: Rc::clone(&calls),
            load: Some(imp),
            trip: move |endpoint: Carried, channel: Channel| {
                // The other side stays here, so that the travelling end is open, and idle.
                let _open = &exp;
                channel.call_carry(endpoint).carried().ok()
            },
        };
        let name = format!("round trip, an endpoint moved there and back, {beside}");
        all.push((cycles(None, name), Box::new(carry)));
        plant(all, &calls, 256, &beside)?;
        for way in WAYS {
            if way == "array" && idle >= MOST_SELECTED || way == "variables" && idle != 1 {
                continue;
            }
            let switch = RoundTrip {
                peer: Peer::start(way, idle)?,
                fused: true,
            };
            all.push((cycles(None, waiting_name(way, idle)), Box::new(switch)));
        }
    }
    let calls = Peer::start("call", 0)?;
    for nodes in TREES {
        plant(all, &calls, nodes, "none idle beside")?;
    }
    Ok(())
}

fn plant(
    all: &mut Vec<(Row, Box<dyn Measure>)>,
    peer: &Shared,
    nodes: usize,
    beside: &str,
) -> Result<(), Error> {
    let plant = There {
        peer: Rc::clone(peer),
        load: Some(tree(nodes)?),
        trip: |tree: Record<BenchNode>, channel: Channel| channel.call_plant(tree).planted().ok(),
    };
    let name = format!("round trip, a tree of {nodes} blocks, {beside}");
    all.push((cycles(None, name), Box::new(plant)));
    Ok(())
}

fn waiting_name(way: &str, idle: usize) -> alloc::string::String {
    format!("round trip, one word to a {}, {idle} idle beside", how(way))
}

fn how(way: &str) -> &'static str {
    match way {
        "receive" => "plain receive",
        "set" => "switch receive from a set",
        "array" => "switch receive from an array",
        _ => "switch receive from two variables",
    }
}

/// Figures derived from others: `switch receive` over a plain receive, and how constant the cost of
/// blocks is.
pub fn derived(rows: &[Row]) -> Vec<Row> {
    let of = |name: &str| {
        let row = rows.iter().find(|row| row.name == name);
        row.map_or(&[][..], |row| &row.samples)
    };
    // Adjacent bursts are compared, not the medians of all.
    let pairs = |a: &str, b: &str, f: fn(f64, f64) -> f64| {
        of(a).iter().zip(of(b)).map(|(a, b)| f(*a, *b)).collect()
    };
    let mut derived = Vec::new();
    for way in &WAYS[1..] {
        // The target is for 8.
        let mut order = IDLE;
        order.sort_by_key(|idle| *idle != 8);
        for idle in order {
            let (own, plain) = (waiting_name(way, idle), waiting_name("receive", idle));
            if of(&own).is_empty() {
                continue;
            }
            derived.push(Row {
                id: Some("T5"),
                name: format!("{} over a plain receive, {idle} idle beside", how(way)),
                unit: "cycles",
                samples: pairs(&own, &plain, |own, plain| own - plain),
            });
        }
    }
    for idle in IDLE {
        let name = |size| format!("round trip, block of {size}, {idle} idle beside");
        derived.push(Row {
            id: Some("T4"),
            name: format!("block of 64 KiB against 1 byte, {idle} idle beside"),
            unit: "ratio",
            samples: pairs(&name("64 KiB"), &name("1 byte"), |large, small| {
                large / small
            }),
        });
    }
    derived
}
