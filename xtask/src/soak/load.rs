//! The clients of a soak: random connections to the web server, each asked again until it is
//! answered as it should be.
//!
//! What may be said while services are killed is that nobody listens, that the connection has ended,
//! or a status of trouble. A whole answer with another content is a failure at once; so is a
//! connection that is not answered within `PATIENCE`.

use crate::fuzz::http::{self, OtherBody};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// How long one connection may take, with all attempts.
const PATIENCE: Duration = Duration::from_secs(90);
/// Between two attempts.
const PAUSE: Duration = Duration::from_millis(20);
/// Between two connections of a client: a soak is no measurement of speed.
const REST: Duration = Duration::from_millis(10);

/// What the clients have seen.
#[derive(Debug, Default)]
pub struct Load {
    /// Held for reading by each connection; whoever holds it for writing has peace.
    pub peace: RwLock<()>,
    /// Whether they are to end.
    pub over: AtomicBool,
    /// Connections that were answered.
    pub answered: AtomicU64,
    /// Those that had to be asked again.
    pub again: AtomicU64,
    /// The longest time of a connection, in seconds, and its number.
    pub longest: Mutex<(f64, u64)>,
    /// Answers that were as they should be, by what was asked.
    pub answers: Mutex<BTreeMap<&'static str, u64>>,
    /// What went wrong.
    pub findings: Mutex<Vec<String>>,
}

impl Load {
    /// One client, until the end.
    pub fn client(&self, port: u16, first: u64) {
        let mut seed = first;
        while !self.over.load(Ordering::Relaxed) {
            {
                let _busy = self.peace.read().unwrap_or_else(PoisonError::into_inner);
                self.ask(port, seed);
            }
            seed = seed.wrapping_add(1);
            std::thread::sleep(REST);
        }
    }

    /// One connection, until it is answered.
    fn ask(&self, port: u16, seed: u64) {
        let begun = Instant::now();
        let mut first = true;
        let why = loop {
            match http::connection(port, seed) {
                Ok(answered) => {
                    self.answered.fetch_add(1, Ordering::Relaxed);
                    let took = begun.elapsed().as_secs_f64();
                    let mut longest = self.longest.lock().unwrap_or_else(PoisonError::into_inner);
                    if took > longest.0 {
                        *longest = (took, seed);
                    }
                    drop(longest);
                    let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
                    for what in answered {
                        *answers.entry(what).or_default() += 1;
                    }
                    return;
                }
                Err(why) if why.is::<OtherBody>() => break why,
                Err(why) if begun.elapsed() > PATIENCE => break why,
                Err(_) => {}
            }
            if first {
                self.again.fetch_add(1, Ordering::Relaxed);
                first = false;
            }
            std::thread::sleep(PAUSE);
        };
        let mut findings = self.findings.lock().unwrap_or_else(PoisonError::into_inner);
        findings.push(format!("connection {seed}: {why:#}"));
    }
}
