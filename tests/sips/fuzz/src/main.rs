//! Runs herds of SIPs against the kernel, and detects harm to others:
//! `herder SEED ROUNDS SECONDS BOUND LOG`.
//!
//! A round is a herd: SIPs that call every entry with random arguments, wired up with each other,
//! stopped and suspended at random instants. Beside them two bystanders answer questions, each
//! within BOUND milliseconds. When the herd has been ended, all counts of the system must be the
//! same as before. All of a round follows from its own seed, SEED and the round's number; no more
//! rounds begin after SECONDS (0: no end). With LOG 1 each SIP prints each call before it makes it.
//!
//! Lines that begin with `fuzz:` are for the driver; the last one reports the end.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

mod check;
mod herd;

use sing_sdk::prelude::*;

use check::Check;
use core::time::Duration;
use herd::Herd;
use sing_sdk::inspect::{self, Memory};
use sing_sdk::process::{self, Child, Exit};
use sing_sdk::rt::Vector;
use sing_sdk::time::{self, Timeout};

sing_sdk::manifest! {
    name: "herder",
    description: "lets herds of SIPs loose on the kernel, and looks whom they harm",
    privileges: [create, inspect, control],
    endpoints: { stdout: optional PipeContract.Imp:Start },
    memory: 512 MiB,
}

/// SIPs of a herd at a time.
const ALIVE: usize = 6;
/// How often to check again, after the herd has been ended, before a difference counts as left
/// behind.
const LONG: usize = 400;
/// How often in a row everything must be the same before a count holds.
const CALM: usize = 4;
/// How many pages more the programs that stay may have after a round: what they have once needed, they
/// keep.
const HEAPS: u64 = 32;
/// How long to wait between checks.
const MOMENT: Duration = Duration::from_millis(1);

struct Random(u64);

impl Random {
    fn new(seed: u64) -> Random {
        // Neighbouring seeds must not give alike numbers.
        let z = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        Random((z ^ z >> 27) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 11
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// Two SIPs that do nothing wrong; the second one is the first one's partner.
struct Bystanders {
    children: [Child; 2],
    ask: Option<Check::Imp<Check::Start>>,
    asked: u32,
    worst: Duration,
    bound: Duration,
}

impl Bystanders {
    fn start(bound: Duration) -> Result<Bystanders, Error> {
        let (ask, first) = Check::new_channel()?;
        let (partner, second) = Check::new_channel()?;
        let by = || Child::of("bystander").arg("bystander");
        let second = by().endpoint("check", second).start()?;
        let first = by()
            .endpoint("check", first)
            .endpoint("partner", partner)
            .start()?;
        Ok(Bystanders {
            children: [first, second],
            ask: Some(ask),
            asked: 0,
            worst: Duration::ZERO,
            bound,
        })
    }

    /// Asks whether all is well.
    fn ask(&mut self) -> Result<(), String> {
        let Some(imp) = self.ask.take() else {
            return Ok(());
        };
        self.asked += 1;
        let n = self.asked;
        let data: Vec<u8> = check::bytes(n).collect();
        let data =
            Vector::from_bytes(&data).map_err(|e| format!("no block for a question: {e}"))?;
        let before = time::uptime();
        let answer = imp.send_ask(n, data).recv();
        let took = time::uptime() - before;
        self.worst = self.worst.max(took);
        match answer {
            Check::imp::Start_Ask::Whole(m, data, next) => {
                self.ask = Some(next);
                if m != n || !check::bytes(n).eq(data.to_vec()) {
                    return Err("a bystander's answer is not what it said".into());
                }
            }
            Check::imp::Start_Ask::Hurt(what, next) => {
                self.ask = Some(next);
                return Err(format!(
                    "a bystander is hurt: {}",
                    match what {
                        1 => "its memory has changed",
                        2 => "a block of it has changed",
                        3 => "a question did not arrive as it was sent",
                        4 => "its partner has answered wrongly, or not at all",
                        5 => "a thread has gone on that nobody could wake",
                        _ => "it was woken before its time",
                    }
                ));
            }
            Check::imp::Start_Ask::Closed => {
                let ended = self.children[0].exit();
                return Err(format!("a bystander is gone: {ended:?}"));
            }
        }
        if took > self.bound {
            return Err(format!("a bystander took {} ms", took.as_millis()));
        }
        Ok(())
    }
}

/// An argument for one of the herd: how rude, whether to log, how deep, and a number that
/// distinguishes it from the others.
fn argument(random: &mut Random, log: bool) -> String {
    let rude = ["0", "1", "2", "3", "5"][random.below(5) as usize];
    format!(
        "{rude}{}0{:016x}",
        u8::from(log),
        random.next() ^ random.next() << 31
    )
}

/// Two of the herd, with channels between them in both directions.
fn pair(random: &mut Random, log: bool) -> Result<[Child; 2], Error> {
    let make = |random: &mut Random, imp: Herd::Imp<Herd::Start>, exp: Herd::Exp<Herd::Start>| {
        let image = ["herd-all", "herd-plain"][random.below(2) as usize];
        Child::of(image)
            .arg(&argument(random, log))
            .endpoint("imp0", imp)
            .endpoint("exp1", exp)
            .create()
    };
    let (imp, other_exp) = Herd::new_channel()?;
    let (other_imp, exp) = Herd::new_channel()?;
    let first = make(random, imp, exp)?;
    let second = make(random, other_imp, other_exp)?;
    // One of the herd may have stopped it already.
    let _ = first.start();
    let _ = second.start();
    Ok([first, second])
}

/// Ends all of the herd, including children and orphans.
fn end_all() -> Result<u32, Error> {
    let mut ended = 0;
    loop {
        let left: Vec<u32> = inspect::processes()?
            .into_iter()
            .filter(|p| p.name.starts_with("herd-") && p.state != inspect::State::Ended)
            .map(|p| p.id)
            .collect();
        if left.is_empty() {
            return Ok(ended);
        }
        for id in left {
            ended += u32::from(sing_sdk::system::stop(id, 1).is_ok());
        }
    }
}

/// Runs a herd; returns the number of its SIPs, and the codes of the traps that ended them.
fn herd(random: &mut Random, by: &mut Bystanders, log: bool) -> Result<(u32, u32), String> {
    let wrong = |e: Error| format!("the herder itself: {e}");
    let mut alive: Vec<Child> = Vec::new();
    let (mut made, mut traps) = (0, 0);
    let steps = 20 + random.below(40);
    for _ in 0..steps {
        by.ask()?;
        while alive.len() < ALIVE {
            match pair(random, log) {
                Ok(two) => alive.extend(two),
                // The herd may have taken all memory.
                Err(Error::NoResources) => break,
                Err(e) => return Err(wrong(e)),
            }
            made += 2;
        }
        if alive.is_empty() {
            time::sleep(MOMENT);
            continue;
        }
        let which = random.below(alive.len() as u64) as usize;
        match random.below(8) {
            0 | 1 => {
                let child = alive.swap_remove(which);
                let _ = child.stop(7);
                let exit = child.join().map_err(wrong)?;
                traps += u32::from(matches!(exit, Exit::Trapped(_)));
            }
            2 => {
                // A process whose handle is given up continues for a while.
                alive.swap_remove(which);
            }
            3 => {
                let recursive = random.below(2) == 0;
                let _ = alive[which].suspend(recursive);
                by.ask()?;
                if random.below(4) != 0 {
                    let _ = alive[which].resume(recursive);
                }
            }
            4 => {
                let _ = alive[which].resume(random.below(2) == 0);
            }
            5 => {
                let _ = sing_sdk::system::stop(alive[which].id(), 8);
            }
            _ => time::sleep(Duration::from_micros(200 + random.below(3000))),
        }
        // Those that have ended make room.
        let mut i = 0;
        while i < alive.len() {
            if alive[i].join_within(Timeout::NONE).map_err(wrong)? {
                let exit = alive.swap_remove(i).exit().map_err(wrong)?;
                traps += u32::from(matches!(exit, Exit::Trapped(_)));
            } else {
                i += 1;
            }
        }
    }
    by.ask()?;
    Ok((made, traps))
}

/// What the system has. Pages of programs that stay are apart from the others: their heaps grow by the
/// page, and how much of theirs they have used by then is left to chance.
struct Counts {
    /// All counts, without the pages of those that stay.
    memory: Memory,
    /// The pages of those that stay.
    staying: u64,
}

impl Counts {
    fn take() -> Result<Counts, Error> {
        let all = inspect::processes()?;
        let mut memory = inspect::memory()?;
        let staying = all.iter().map(|p| p.pages).sum();
        // They are taken one after the other: what comes between makes a difference that does not last.
        memory.used_pages = memory.used_pages.saturating_sub(staying);
        Ok(Counts { memory, staying })
    }

    /// In what later counts differ, if they do.
    fn difference(&self, later: &Counts) -> Option<String> {
        if later.staying > self.staying + HEAPS {
            return Some(format!(
                "pages of those that stay {} before, {} after",
                self.staying, later.staying
            ));
        }
        inspect::difference(&self.memory, &later.memory)
    }
}

/// The counts, once they have not changed for a while: earlier output may still be on its way.
fn counts() -> Result<Counts, Error> {
    let mut last = Counts::take()?;
    let mut calm = 0;
    while calm < CALM {
        time::sleep(MOMENT);
        let now = Counts::take()?;
        calm = match last.difference(&now) {
            None => calm + 1,
            Some(_) => 0,
        };
        last = now;
    }
    Ok(last)
}

/// The lasting differences to the earlier counts.
fn left(before: &Counts) -> Result<Option<String>, Error> {
    let mut difference = None;
    for _ in 0..LONG {
        difference = before.difference(&Counts::take()?);
        if difference.is_none() {
            break;
        }
        time::sleep(MOMENT);
    }
    Ok(difference)
}

/// One herd, and its effect on the system.
fn round(seed: u64, by: &mut Bystanders, log: bool) -> Result<String, String> {
    let wrong = |e: Error| format!("the herder itself: {e}");
    let mut random = Random::new(seed);
    let before = counts().map_err(wrong)?;
    let done = herd(&mut random, by, log);
    let ended = end_all().map_err(wrong)?;
    let (made, traps) = done?;
    by.ask()?;
    let left = left(&before).map_err(wrong)?;
    let swept = inspect::sweep().map_err(wrong)?;
    if !swept.wrong.is_empty() {
        return Err(format!("the kernel's records: {}", swept.wrong.join("; ")));
    }
    match left {
        None => Ok(format!(
            "{made} SIPs and their children, {traps} trapped, {ended} ended last"
        )),
        Some(left) => Err(format!("left behind: {left}")),
    }
}

#[sing_sdk::main]
fn main() -> Result<i32, Error> {
    let number = |i, default| {
        sing_sdk::args::get(i)
            .and_then(|s: String| s.parse::<u64>().ok())
            .unwrap_or(default)
    };
    let (seed, rounds, seconds) = (number(1, 1), number(2, 1), number(3, 0));
    let (bound, log) = (Duration::from_millis(number(4, 1000)), number(5, 0) != 0);
    let start = time::uptime();
    let mut by = Bystanders::start(bound)?;
    // Once before counting, so that objects made at first use exist.
    by.ask().map_err(|_| Error::BadState)?;
    let _ = process::manifest("herd-all")?;
    println!("fuzz: warm");
    for n in 0..2 {
        let _ = pair(&mut Random::new(seed ^ n), log)?;
        end_all()?;
    }
    let mut findings = 0;
    let mut done = 0;
    for n in 0..rounds {
        if seconds > 0 && time::uptime() - start > Duration::from_secs(seconds) {
            break;
        }
        let seed = seed.wrapping_add(n);
        println!("fuzz: round seed {seed}");
        match round(seed, &mut by, log) {
            Ok(what) => println!("fuzz: seed {seed}: {what}"),
            Err(what) => {
                findings += 1;
                println!("fuzz: FINDING: seed {seed}: {what}");
                if by.ask.is_none() {
                    by = Bystanders::start(bound)?;
                }
            }
        }
        done += 1;
    }
    println!(
        "fuzz: worst answer {} us of {}",
        by.worst.as_micros(),
        by.asked
    );
    println!("fuzz: done: {done} rounds, {findings} findings");
    Ok(i32::from(findings > 0))
}
