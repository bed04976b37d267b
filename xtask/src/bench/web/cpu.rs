//! The processor's time of each process, from the system's own accounts: the table that `ps` prints;
//! and that of processes of Linux.

use std::collections::BTreeMap;

/// Nanoseconds of each program, all its processes together.
pub type Times = BTreeMap<String, f64>;

/// Reads the tables of `ps`; of several the last counts.
pub fn read(output: &str) -> Times {
    let mut times = Times::new();
    let mut place = None;
    for line in output.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.first() == Some(&"ID") && words.contains(&"CPU") {
            place = words.iter().position(|word| *word == "CPU");
            times.clear();
        } else if let Some(place) = place
            && let Some(time) = words.get(place).and_then(|word| nanoseconds(word))
            && words[0].bytes().all(|b| b.is_ascii_digit())
        {
            *times.entry(words[1].into()).or_default() += time;
        }
    }
    times
}

/// What passed between two tables.
pub fn between(before: &Times, after: &Times) -> Times {
    let mut passed = Times::new();
    for (name, time) in after {
        let since = time - before.get(name).copied().unwrap_or(0.0);
        if since > 0.0 {
            passed.insert(name.clone(), since);
        }
    }
    passed
}

/// A time as `ps` prints it: `1.234ms`.
fn nanoseconds(text: &str) -> Option<f64> {
    let units = [("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)];
    units.iter().find_map(|(unit, factor)| {
        let number = text.strip_suffix(unit)?.parse::<f64>().ok()?;
        Some(number * factor)
    })
}

/// Ticks of Linux's accounts in a second: what it tells programs is the same everywhere.
const TICKS: f64 = 100.0;

/// Seconds that processes of Linux have used, with all their threads and those of their children
/// that have ended.
pub fn spent(processes: &[u32]) -> f64 {
    let of = |id: &u32| {
        let text = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        ticks(&text)
    };
    processes.iter().filter_map(of).sum::<u64>() as f64 / TICKS
}

/// The times in a line of `/proc/ID/stat`: fields 14 to 17. The name before may have spaces.
fn ticks(line: &str) -> Option<u64> {
    let (_, rest) = line.rsplit_once(')')?;
    let times = rest.split_whitespace().skip(11).take(4);
    times.map(|word| word.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_read_and_compared() {
        let before = read(
            "noise\n   ID NAME   STATE   THREADS PAGES EXCHANGE   CPU PARENT RESTARTS ROLE\n   \
             5 web  blocked  1  8  0  10.5µs  1  0 -\n   6 files blocked 1 8 0 2.000ms 1 0 -\n",
        );
        let after = read(
            "   ID NAME   STATE   THREADS PAGES EXCHANGE   CPU PARENT RESTARTS ROLE\n   \
             5 web  blocked  1  8  0  1.000s  1  0 -\n   6 files blocked 1 8 0 2.000ms 1 0 -\n   \
             9 try blocked 1 8 0 300ns 5 - -\n   10 try blocked 1 8 0 200ns 5 - -\nmarked\n",
        );
        let passed = between(&before, &after);
        let all: Vec<(&str, f64)> = passed.iter().map(|(n, t)| (n.as_str(), *t)).collect();
        assert_eq!(all, [("try", 500.0), ("web", 1e9 - 10_500.0)]);
    }

    #[test]
    fn linux_accounts_are_read() {
        let line = "7 (a ) b) S 1 7 7 0 -1 4194560 1 2 3 4 100 20 3 4 20 0 1 0 5 6";
        assert_eq!(ticks(line), Some(127));
        assert_eq!(ticks("7 (a) S 1"), Some(0));
        assert!(spent(&[std::process::id()]) >= 0.0);
    }
}
