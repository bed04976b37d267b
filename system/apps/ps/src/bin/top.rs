//! Shows the processes that use most processor time, again and again, until `q` or Ctrl-C.
//!
//! Without keys, in a pipeline or a script, it ends when it has shown as many tables as it is told to.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use core::time::Duration;
use ps::{share, state};
use sing_sdk::inspect::{self, Process};
use sing_sdk::io::Reader;
use sing_sdk::sync::wait_any;
use sing_sdk::time::{self, Timeout};
use sing_sdk::usage::{Kind, Value};

sing_sdk::manifest! {
    name: "top",
    description: "shows which processes use most time, until q: top [-d SECONDS] [-n TABLES] [-r ROWS]",
    privileges: [inspect],
    endpoints: {
        keys: optional PipeContract.Exp:Start,
        stdout: optional PipeContract.Imp:Start,
        stderr: optional PipeContract.Imp:Start,
    },
}

/// How long a table stays.
struct Pause(Duration);

impl Default for Pause {
    fn default() -> Self {
        Pause(Duration::from_secs(1))
    }
}

impl Value for Pause {
    const KIND: Kind = Kind::Seconds;

    fn parse(text: &str) -> Option<Self> {
        // What is shorter would show the measurement of itself.
        let pause = Duration::parse(text)?;
        Some(Pause(pause.max(Duration::from_millis(50))))
    }
}

sing_sdk::arguments! {
    /// How long each table stays; 1 if left out.
    pause: option Pause "-d SECONDS";
    /// How many tables are shown; if left out, one without keys, and else no end.
    tables: option u32 "-n TABLES";
    /// The most processes in a table; 18 if left out.
    rows: option u32 "-r ROWS";
}

/// To the upper left corner, and nothing below.
const CLEAR: &str = "\x1b[H\x1b[J";
/// Rows with which a table fits a terminal of 24.
const ROWS: u32 = 18;
/// Ctrl-D.
const END: u8 = 4;

/// The processes with the time that each has used before.
struct Look {
    at: Duration,
    processes: Vec<Process>,
}

impl Look {
    fn new() -> Result<Look, Error> {
        let (at, processes) = (time::uptime(), inspect::processes()?);
        Ok(Look { at, processes })
    }

    /// The table of what has been used since another look.
    fn table(&self, before: &Look, rows: usize) -> String {
        let time = self.at.saturating_sub(before.at).as_nanos();
        let time = u64::try_from(time).unwrap_or(u64::MAX);
        let used_before = |p: &Process| {
            let same = before.processes.iter().find(|old| old.id == p.id);
            same.map_or(0, |old| old.cpu_ns)
        };
        let share = |p: &Process| share(p.cpu_ns, used_before(p), time);
        let mut all: Vec<(u64, &Process)> = self.processes.iter().map(|p| (share(p), p)).collect();
        all.sort_by_key(|(share, p)| (core::cmp::Reverse(*share), p.id));
        let sum: u64 = all.iter().map(|(share, _)| share).sum();
        let percent = |share: u64| format!("{}.{}", share / 10, share % 10);
        let mut table = format!(
            "up {} s, {} processes, {} % of a processor\n{:>5} {:<14} {:<9} {:>6} {:>7} {:>11} {:>11}\n",
            self.at.as_secs(),
            all.len(),
            percent(sum),
            "ID",
            "NAME",
            "STATE",
            "%CPU",
            "PAGES",
            "EXCHANGE",
            "CPU"
        );
        for (share, p) in all.iter().take(rows) {
            table.push_str(&format!(
                "{:>5} {:<14} {:<9} {:>6} {:>7} {:>11} {:>11}\n",
                p.id,
                p.name,
                state(p.state),
                percent(*share),
                p.pages,
                p.exchange,
                format!("{:.3?}", Duration::from_nanos(p.cpu_ns)),
            ));
        }
        if all.len() > rows {
            table.push_str(&format!("… and {} more\n", all.len() - rows));
        }
        table
    }
}

/// Waits, and reads what is typed meanwhile; whether to go on.
fn goes_on(keys: &mut Option<Reader>, pause: Duration) -> bool {
    let until = time::uptime() + pause;
    while let Some(reader) = keys {
        let left = until.saturating_sub(time::uptime());
        if wait_any(&[reader.handle()], Timeout::from(left)).is_err() {
            return true;
        }
        match reader.receive() {
            Some(typed)
                if typed
                    .to_vec()
                    .iter()
                    .any(|key| matches!(*key, b'q' | b'Q' | END)) =>
            {
                return false;
            }
            Some(_) => {}
            // No more will come.
            None => *keys = None,
        }
    }
    time::sleep(until.saturating_sub(time::uptime()));
    true
}

#[sing_sdk::main]
fn main(arguments: Arguments) -> Result<(), Error> {
    let Arguments {
        pause,
        tables,
        rows,
    } = arguments;
    let pause = pause.unwrap_or_default().0;
    let rows = rows.unwrap_or(ROWS) as usize;
    let mut keys = startup::keys().map(Reader::new);
    let mut before = Look::new()?;
    let mut shown = 0;
    loop {
        // The first table is of a short time, so that it is there at once.
        let first = shown == 0;
        let wait = if first { pause / 5 } else { pause };
        if !goes_on(&mut keys, wait) {
            return Ok(());
        }
        let now = Look::new()?;
        // Not on a terminal that nobody types at.
        let clear = if keys.is_some() { CLEAR } else { "" };
        print!("{clear}{}", now.table(&before, rows));
        before = now;
        shown += 1;
        if tables.map_or(keys.is_none(), |most| shown >= most) {
            return Ok(());
        }
    }
}
