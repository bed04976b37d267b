//! Two SIPs: yields, words and blocks there and back.

use crate::stats::Row;
use crate::{Measure, cycles, timed};
use alloc::boxed::Box;
use alloc::format;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::RefCell;
use sing_sdk::contracts::BenchContract;
use sing_sdk::process::Child;
use sing_sdk::rt::Vector;
use sing_sdk::{Error, thread, time};

pub const ROUND_TRIPS: u32 = 200;
const YIELDS: u32 = 500;

/// Our side of the measured channel.
pub type Channel = BenchContract::Imp<BenchContract::Start>;

/// The other SIP, of another module than this.
pub struct Peer {
    channel: Option<Channel>,
    _child: Child,
    /// Our ends of idle channels.
    _idle: Vec<Channel>,
}

pub type Shared = Rc<RefCell<Peer>>;

impl Peer {
    /// Starts a peer that waits in this way, with this many idle endpoints beside the one in use.
    pub fn start(way: &str, idle: usize) -> Result<Shared, Error> {
        let (imp, exp) = BenchContract::new_channel()?;
        let mut child = Child::of("bench-peer")
            .arg("bench-peer")
            .arg(way)
            .endpoint("bench", exp);
        let mut ours = Vec::with_capacity(idle);
        for _ in 0..idle {
            let (imp, exp) = BenchContract::new_channel()?;
            ours.push(imp);
            child = child.endpoint("idle", exp);
        }
        Ok(Rc::new(RefCell::new(Peer {
            channel: Some(imp),
            _child: child.start()?,
            _idle: ours,
        })))
    }

    /// Runs a function with the channel; if it returns without the channel, the peer has gone.
    pub fn with(
        &mut self,
        run: impl FnOnce(Channel) -> Option<(f64, Channel)>,
    ) -> Result<f64, Error> {
        let channel = self.channel.take().ok_or(Error::Closed)?;
        let (result, channel) = run(channel).ok_or(Error::Closed)?;
        self.channel = Some(channel);
        Ok(result)
    }
}

/// One word there and back.
pub struct RoundTrip {
    /// The process that answers.
    pub peer: Shared,
    /// Send and receive in one call.
    pub fused: bool,
}

impl Measure for RoundTrip {
    fn burst(&mut self) -> Result<f64, Error> {
        let fused = self.fused;
        self.peer.borrow_mut().with(|channel| {
            let mut channel = Some(channel);
            let mut word = 0;
            let took = timed(ROUND_TRIPS, || {
                let answer = channel.take().and_then(|c| {
                    if fused {
                        c.call_ping(word).pong().ok()
                    } else {
                        c.send_ping(word).recv_pong().ok()
                    }
                });
                if let Some((next_word, next)) = answer {
                    word = next_word;
                    channel = Some(next);
                }
            });
            Some((took, channel?))
        })
    }
}

/// A block there and back.
pub struct Give {
    /// The process that answers.
    pub peer: Shared,
    /// The block.
    pub data: Option<Vector<u8>>,
}

impl Measure for Give {
    fn burst(&mut self) -> Result<f64, Error> {
        let data = self.data.take().ok_or(Error::Closed)?;
        let mut kept = None;
        let took = self.peer.borrow_mut().with(|channel| {
            let mut both = Some((data, channel));
            let took = timed(ROUND_TRIPS, || {
                both = both
                    .take()
                    .and_then(|(data, c)| c.call_give(data).r#return().ok());
            });
            let (data, channel) = both?;
            kept = Some(data);
            Some((took, channel))
        });
        self.data = kept;
        took
    }
}

struct Yield(Shared);

impl Measure for Yield {
    fn burst(&mut self) -> Result<f64, Error> {
        self.0.borrow_mut().with(|channel| {
            // The peer yields more often than we do, so that it is there for each of ours.
            let channel = channel.send_yield(YIELDS + 100);
            for _ in 0..10 {
                thread::yield_now();
            }
            let start = time::cycle_count();
            for _ in 0..YIELDS {
                thread::yield_now();
            }
            let took = time::cycle_count() - start;
            let channel = channel.recv_yielded().ok()?;
            // Each of our yields is one of the peer's too.
            Some((took as f64 / f64::from(2 * YIELDS), channel))
        })
    }
}

const SIZES: [(usize, &str); 8] = [
    (1, "1 B"),
    (64, "64 B"),
    (1024, "1 KiB"),
    (4096, "4 KiB"),
    (16 << 10, "16 KiB"),
    (64 << 10, "64 KiB"),
    (256 << 10, "256 KiB"),
    (1 << 20, "1 MiB"),
];

fn block_name(size: &str) -> alloc::string::String {
    format!("round trip, block of {size} moved there and back")
}

/// Adds the measurements of this module.
pub fn add(all: &mut Vec<(Row, Box<dyn Measure>)>) -> Result<(), Error> {
    let peer = Peer::start("call", 0)?;
    all.push((
        cycles(
            Some("T2"),
            "yield between two processes of different modules",
        ),
        Box::new(Yield(Rc::clone(&peer))),
    ));
    all.push((
        cycles(Some("T3"), "round trip, one word"),
        Box::new(RoundTrip {
            peer: Rc::clone(&peer),
            fused: true,
        }),
    ));
    all.push((
        cycles(None, "round trip, one word, send and receive as two calls"),
        Box::new(RoundTrip {
            peer: Rc::clone(&peer),
            fused: false,
        }),
    ));
    for (size, name) in SIZES {
        let data = Some(Vector::new(size)?);
        let give = Give {
            peer: Rc::clone(&peer),
            data,
        };
        all.push((cycles(None, block_name(name)), Box::new(give)));
    }
    Ok(())
}

/// The cost of a block of 64 KiB against one of 1 byte.
pub fn flatness(rows: &[Row]) -> Row {
    let of = |size| {
        let name = block_name(size);
        rows.iter()
            .find(|r| r.name == name)
            .map_or(&[][..], |r| &r.samples)
    };
    // Adjacent bursts are compared, not the medians of all.
    let samples = of("64 KiB")
        .iter()
        .zip(of("1 B"))
        .map(|(large, small)| large / small)
        .collect();
    Row {
        id: Some("T4"),
        name: "block of 64 KiB against 1 byte".into(),
        unit: "ratio",
        samples,
    }
}
