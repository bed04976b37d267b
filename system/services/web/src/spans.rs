//! Spans on their way to the collector that the configuration names: from the threads of connections,
//! which never wait for it, to the service that sends them.
//!
//! Invariants:
//! - At most [`ROOM`] wait; what has no room, or is not taken by the collector, is counted and gone.
//! - One thread waits for the service, for a bounded time, and no request does.

use crate::server::Server;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use sing_sdk::client;
use sing_sdk::entropy;
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::sync::{self, AutoEvent, ManualEvent, Mutex, wait};
use sing_sdk::time::{Timeout, cycle_count, uptime, utc};
use spans::Span;
use spans::context::Numbers;
use spans::record::{self, MOST};

/// Spans that wait, at most.
pub const ROOM: usize = 1024;
/// How long spans are gathered before they are sent.
const GATHERING: Duration = Duration::from_millis(500);
/// How long the service may take; a collector may take less.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a server that ends waits until the last spans are sent.
const LAST: Duration = Duration::from_secs(1);
/// How long the machine's device of entropy may take.
const DRAWING: Duration = Duration::from_millis(500);
const SERVICE: &str = "/spans";

type Ready = SpansContract::Imp<SpansContract::Ready>;

pub struct Spans {
    pub url: String,
    pub numbers: Numbers,
    queue: Mutex<VecDeque<Span>>,
    /// Set when there are some.
    some: AutoEvent,
    /// Set when there are enough for a message, or the server ends.
    enough: AutoEvent,
    done: ManualEvent,
    stopping: AtomicBool,
    sent: AtomicU64,
    dropped: AtomicU64,
}

/// A seed that no other machine and no earlier start has, as far as this one can tell.
fn seed(names: &mut Names) -> u64 {
    let drawn = entropy::draw(names, 8, uptime() + DRAWING);
    match drawn.map(<[u8; 8]>::try_from) {
        Ok(Ok(bytes)) => u64::from_le_bytes(bytes),
        // Numbers of spans are no secrets.
        _ => (utc().as_nanos() as u64).rotate_left(32) ^ cycle_count(),
    }
}

impl Spans {
    pub fn new(url: &str, names: &mut Names) -> Result<Spans, Error> {
        Ok(Spans {
            url: url.into(),
            numbers: Numbers::new(seed(names)),
            queue: Mutex::new(VecDeque::new()),
            some: AutoEvent::new(false)?,
            enough: AutoEvent::new(false)?,
            done: ManualEvent::new(false)?,
            stopping: AtomicBool::new(false),
            sent: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
        })
    }

    /// Takes the spans of a request, as far as there is room.
    pub fn give(&self, spans: Vec<Span>) {
        let mut queue = self.queue.lock();
        let room = ROOM - queue.len();
        let lost = spans.len().saturating_sub(room);
        queue.extend(spans.into_iter().take(room));
        let count = queue.len();
        drop(queue);
        self.lose(lost);
        self.some.set();
        if count >= MOST {
            self.enough.set();
        }
    }

    fn lose(&self, count: usize) {
        self.dropped.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// The next ones to be sent.
    fn take(&self) -> Vec<Span> {
        let mut queue = self.queue.lock();
        let count = queue.len().min(MOST);
        queue.drain(..count).collect()
    }

    /// How many were sent, and how many were dropped.
    pub fn count(&self) -> (u64, u64) {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        (of(&self.sent), of(&self.dropped))
    }

    /// Has the last ones sent, which is waited for a moment.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        self.some.set();
        self.enough.set();
        // What has not gone by then is lost.
        let _ = wait(&self.done, Timeout::from(LAST));
    }

    /// Sends some.
    fn send(&self, sender: &mut Sender, spans: &[Span]) -> Result<u32, String> {
        let (records, text) = record::pack(spans);
        let said = |error: Error| error.to_string();
        let url = Text::new(&self.url).map_err(said)?;
        let records = Vector::from_slice(&records).map_err(said)?;
        let text = Text::new(&text).map_err(said)?;
        let ready = match sender.channel.take() {
            Some(ready) => ready,
            None => bind(&mut sender.names).map_err(|error| format!("{SERVICE}: {error}"))?,
        };
        let asked = ready.send_export(url, records, text);
        let end = uptime() + PATIENCE;
        switch_receive! {
            case asked.Exported(taken) as ready => {
                sender.channel = Some(ready);
                Ok(taken)
            }
            case asked.NotExported(why) as ready => {
                sender.channel = Some(ready);
                Err(why.get_within(MOST_REASON).unwrap_or_default())
            }
            case asked.ChannelClosed() => Err(format!("{SERVICE}: {}", Error::Closed)),
            deadline end => Err(format!("{SERVICE}: {}", Error::Timeout)),
        }
    }
}

/// The most bytes of a reason in the log.
const MOST_REASON: usize = 4096;

/// The service, and the way to it.
struct Sender {
    names: Names,
    channel: Option<Ready>,
}

fn bind(names: &mut Names) -> Result<Ready, Error> {
    client::reach(names, SERVICE, |names, path| {
        let (service, exp) = SpansContract::new_channel()?;
        names.bind(path, exp)?;
        sync::wait(&service, Timeout::from(PATIENCE))?;
        Ok(service.recv_success()?)
    })
}

/// Sends what is given, until the server ends.
pub fn run(server: &Arc<Server>, names: Names) {
    let Some(spans) = &server.spans else {
        return;
    };
    let mut sender = Sender {
        names,
        channel: None,
    };
    let mut said = String::new();
    loop {
        let _ = wait(&spans.some, Timeout::FOREVER);
        // More of them go with the first.
        let _ = wait(&spans.enough, Timeout::from(GATHERING));
        loop {
            let batch = spans.take();
            if batch.is_empty() {
                break;
            }
            let sent = spans.send(&mut sender, &batch);
            let taken = *sent.as_ref().unwrap_or(&0);
            spans.sent.fetch_add(taken.into(), Ordering::Relaxed);
            spans.lose(batch.len().saturating_sub(taken as usize));
            // A reason is said once.
            let why = sent.err().unwrap_or_default();
            if !why.is_empty() && why != said {
                sing_sdk::log!("spans to {}: {why}; they are dropped", spans.url);
            }
            said = why;
        }
        if spans.stopping.load(Ordering::Relaxed) {
            return spans.done.set();
        }
    }
}
