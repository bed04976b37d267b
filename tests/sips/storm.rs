//! Shared by the test programs that kill services at random moments while clients use them.

use core::time::Duration;
use sing_sdk::inspect::{self, Memory};
use sing_sdk::prelude::*;
use sing_sdk::time;

/// Random numbers, the same in each run.
pub struct Draw(pub u64);

impl Draw {
    /// The next one, below a bound.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// What the system has, and the handles and pages of each process, by its name.
pub struct State {
    memory: Memory,
    held: Vec<(String, [u64; 2])>,
}

/// So many handles may come and stay: a mutex makes its event when two threads of its program first
/// meet at it, at whatever time that is. What is left behind by each kill is far more.
const MEETINGS: u64 = 8;
/// So many pages may come and stay: heaps grow by the page, and how much of theirs programs that go on have
/// used is left to chance. What is left behind by each kill is far more.
const HEAPS: u64 = 32;

impl State {
    /// In what another differs from it, which may have so many pages more.
    fn difference(&self, other: &State, kept: u64) -> Option<String> {
        let mut then = self.memory.clone();
        if other.memory.used_pages <= then.used_pages + HEAPS + kept {
            then.used_pages = other.memory.used_pages;
        }
        if other.memory.handles <= then.handles + MEETINGS {
            then.handles = other.memory.handles;
        }
        // Less than before: nothing is left behind. What was under way when the first state was taken
        // has ended since.
        let (was, is) = (&mut then, &other.memory);
        was.used_pages = was.used_pages.min(is.used_pages);
        was.allocations = was.allocations.min(is.allocations);
        was.allocated = was.allocated.min(is.allocated);
        was.channels = was.channels.min(is.channels);
        was.threads = was.threads.min(is.threads);
        inspect::difference(&then, &other.memory)
    }
}

/// What the system has when nothing comes or goes any more: services hear a moment later that
/// clients have ended, and register again a moment after the name server has.
pub fn settled() -> Result<State, Error> {
    let start = time::uptime();
    let (mut last, mut same) = (inspect::memory()?, 0);
    while same < 6 && time::uptime() - start < Duration::from_secs(10) {
        time::sleep(Duration::from_millis(100));
        let now = inspect::memory()?;
        let differs = inspect::difference(&last, &now).is_some();
        same = if differs { 0 } else { same + 1 };
        last = now;
    }
    let all = inspect::processes()?;
    let held = all
        .iter()
        .map(|p| (p.name.clone(), [u64::from(p.handles), p.pages]));
    Ok(State {
        memory: last,
        held: held.collect(),
    })
}

/// How long what a storm leaves behind may take to go: longer than any service waits for a client.
const PATIENCE: Duration = Duration::from_secs(60);

/// Whether there is more than before for good, except so many pages, which programs keep once they
/// have needed them; says what it is, and whose handles or pages. It looks again for a minute, since a
/// connection whose other end was killed goes when its time is over, and an ended thread when its
/// program makes the next one.
pub fn left_behind(
    program: &str,
    before: &State,
    kept: u64,
    mut take: impl FnMut() -> Result<State, Error>,
) -> Result<bool, Error> {
    let end = time::uptime() + PATIENCE;
    let (difference, after) = loop {
        let after = take()?;
        match before.difference(&after, kept) {
            None => return Ok(false),
            Some(difference) if time::uptime() >= end => break (difference, after),
            Some(_) => time::sleep(Duration::from_secs(1)),
        }
    };
    println!("{program}: {difference}");
    for (name, held) in &after.held {
        let then = before.held.iter().find(|(other, _)| other == name);
        if then.is_none_or(|(_, then)| then != held) {
            println!("{program}: {name} has {held:?} handles and pages, before {then:?}");
        }
    }
    Ok(true)
}

/// Says how a storm has ended, and returns its status: whether something was left behind, how many
/// were killed, and how many of what failed.
pub fn verdict(program: &str, left_behind: bool, killed: u32, failed: u32, what: &str) -> i32 {
    if left_behind {
        return 1;
    }
    println!("{program}: {killed} killed, {failed} {what} failed, nothing left behind");
    i32::from(failed > 0)
}
