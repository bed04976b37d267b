//! The processes that the system manifest puts under the manager's supervision: the name server, the
//! console. Each is started by the kernel; when it ends, it goes on in a successor, which gets what
//! it has kept: its clients' channels, in the states that they are in.
//!
//! A thread of its own watches over them, which needs none of them: the manager's first thread may be
//! waiting for an answer of the very name server that has to be started again.
//!
//! Invariants:
//! - The thread waits for its wards only, and uses no name and no output but the log.
//! - A ward that people kill starts again as often as they like. One that ends by itself again and
//!   again, without having been up for [`CALM`], is given up, and the system ends with it: this
//!   process is essential.

use crate::service::how;
use alloc::sync::Arc;
use core::time::Duration;
use manager::lines::Lines;
use sing_sdk::inspect;
use sing_sdk::prelude::*;
use sing_sdk::process::{self, Child, Exit, stop};
use sing_sdk::rt::{Handle, Waitable};
use sing_sdk::sync::{AutoEvent, Mutex, wait_any};
use sing_sdk::thread;
use sing_sdk::time::{self, Timeout};

/// The exit code of a manager that has given up a ward.
const GIVEN_UP: i32 = 3;
/// How often in a row a ward ends by itself until it is given up.
const MOST: u32 = 10;
/// One that was up for so long has not ended "again".
const CALM: Duration = Duration::from_secs(1);
/// The wait before a ward is started that has ended by itself, doubled each time.
const FIRST_WAIT: Duration = Duration::from_millis(10);
/// How long the thread waits for memory before it tries again.
const RETRY: Duration = Duration::from_millis(20);
/// The most bytes of a reason that are kept.
const REASON: usize = 200;

/// What is told of a ward.
#[derive(Clone)]
pub struct Ward {
    pub name: String,
    /// Its process now.
    pub process: u32,
    pub restarts: u32,
    /// Since when it runs.
    pub since: Duration,
    /// Why it ended last.
    pub reason: String,
}

/// What is told of all of them. The supervising thread writes it, the others read it.
static TOLD: Mutex<Vec<Ward>> = Mutex::new(Vec::new());
/// The processes of wards that somebody wants restarted, at most one entry for each, and what tells
/// the supervising thread of them.
static WANTED: Mutex<(Vec<u32>, Option<Arc<AutoEvent>>)> = Mutex::new((Vec::new(), None));

/// What is known of all wards.
pub fn all() -> Vec<Ward> {
    TOLD.lock().clone()
}

/// The text of a ward's file in `/services`.
pub fn text(ward: &Ward, now: Duration) -> String {
    let time = now.saturating_sub(ward.since);
    let mut text = format!(
        "name       {}\nstate      up\nfor        {time:.1?}\nprocess    {}\nrestarts   {}\n",
        ward.name, ward.process, ward.restarts
    );
    if !ward.reason.is_empty() {
        text.push_str(&format!("reason     {}\n", ward.reason));
    }
    text.push_str(
        "starts     with the system\nrestart    always; its clients keep their channels\n",
    );
    text
}

/// Has the ward of this process end and start again.
pub fn restart(process: u32) {
    let mut wanted = WANTED.lock();
    if !wanted.0.contains(&process) {
        wanted.0.push(process);
    }
    if let Some(wake) = &wanted.1 {
        wake.set();
    }
}

/// A ward that is watched.
struct Watched {
    child: Child,
    /// Why it has ended, and when its successor is to be made.
    ended: Option<(String, Duration)>,
    /// How often it has ended by itself in a row.
    row: u32,
    /// Its lines in the log.
    lines: Lines,
}

/// Begins to watch over all wards.
///
/// # Errors
/// If there is no memory for that.
pub fn watch() -> Result<(), Error> {
    let mut watched = Vec::new();
    let processes = inspect::processes()?;
    for child in process::wards() {
        let id = child.id();
        let name = processes.iter().find(|p| p.id == id);
        TOLD.lock().push(Ward {
            name: name.map(|p| p.name.clone()).unwrap_or_default(),
            process: id,
            restarts: 0,
            since: Duration::ZERO,
            reason: String::with_capacity(REASON),
        });
        watched.push(Watched {
            child,
            ended: None,
            row: 0,
            lines: Lines::default(),
        });
    }
    if !watched.is_empty() {
        let wake = Arc::new(AutoEvent::new(false)?);
        WANTED.lock().1 = Some(wake.clone());
        // Its handle is not needed: it runs as long as the manager does.
        drop(thread::spawn(move || supervise(&mut watched, &wake))?);
    }
    Ok(())
}

fn supervise(watched: &mut [Watched], wake: &AutoEvent) {
    loop {
        let now = time::uptime();
        // One that waits for its successor keeps no other from its own.
        for (at, ward) in watched.iter_mut().enumerate() {
            if ward.ended.as_ref().is_some_and(|(_, due)| *due <= now) {
                ward.renew(at);
            }
        }
        let due = watched.iter().filter_map(|w| w.ended.as_ref());
        let due = due.map(|(_, due)| *due).min();
        let timeout = due.map_or(Timeout::FOREVER, |due| due.saturating_sub(now).into());
        let running: Vec<usize> = (0..watched.len())
            .filter(|at| watched[*at].ended.is_none())
            .collect();
        let wards = running.iter().map(|at| watched[*at].child.handle());
        let handles: Vec<Handle> = wards.chain([wake.handle()]).collect();
        match wait_any(&handles, timeout) {
            Ok(first) => match running.get(first) {
                Some(&at) => watched[at].has_ended(at),
                None => {
                    let wanted = core::mem::take(&mut WANTED.lock().0);
                    for ward in watched.iter().filter(|w| wanted.contains(&w.child.id())) {
                        // One that has ended meanwhile starts again anyway.
                        let _ = ward.child.stop(stop::KILLED);
                    }
                }
            },
            Err(Error::Timeout) => {}
            // A wait takes memory, too.
            Err(_) => time::sleep(RETRY),
        }
    }
}

impl Watched {
    /// It has ended: decides when its successor is made.
    fn has_ended(&mut self, at: usize) {
        let Ok(exit) = self.child.exit() else {
            return;
        };
        let now = time::uptime();
        let (_, reason) = how(exit, self.child.id());
        let since = TOLD.lock().get(at).map_or(now, |told| told.since);
        let mut wait = Duration::ZERO;
        if matches!(exit, Exit::Stopped(_)) || now.saturating_sub(since) >= CALM {
            self.row = 0;
        } else {
            self.row += 1;
            if self.row >= MOST {
                self.give_up(
                    at,
                    &format!("{reason}; ends again and again, and nothing works without it"),
                );
            }
            wait = FIRST_WAIT * (1 << (self.row - 1));
        }
        self.ended = Some((reason, now + wait));
    }

    /// Makes and starts its successor, or tries again a little later.
    fn renew(&mut self, at: usize) {
        let Some((reason, _)) = self.ended.take() else {
            return;
        };
        match self.child.renew() {
            Ok(next) => {
                // One that was ended before its first step has a successor as any other.
                let _ = next.start();
                self.child = next;
            }
            // Others give memory back in time.
            Err(Error::NoResources) => {
                self.ended = Some((reason, time::uptime() + RETRY));
                return;
            }
            Err(e) => self.give_up(at, &format!("{reason}; cannot start again: {e}")),
        }
        let now = time::uptime();
        let id = self.child.id();
        let mut name = String::new();
        if let Some(told) = TOLD.lock().get_mut(at) {
            name.clone_from(&told.name);
            told.process = id;
            told.restarts = told.restarts.saturating_add(1);
            told.since = now;
            told.reason = reason.chars().take(REASON / 4).collect();
        }
        self.log(now, &name, &format!("{reason}; goes on as process {id}"));
    }

    /// Ends this process, and the system with it.
    fn give_up(&self, at: usize, why: &str) -> ! {
        let name = TOLD.lock().get(at).map(|told| told.name.clone());
        sing_sdk::log!("{}: {why}", name.unwrap_or_default());
        process::exit(GIVEN_UP)
    }

    /// Puts a line into the log, unless it had one a moment ago.
    fn log(&mut self, now: Duration, name: &str, text: &str) {
        if let Some(before) = self.lines.next(now) {
            sing_sdk::log!("{name}: {text}{before}");
        }
    }
}
