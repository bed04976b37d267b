//! The outcomes of a run's calls: for each entry the statuses, and the traps that ended SIPs in it.

use super::ops::NOT_CALLED;
use sing_abi::entry::ENTRIES;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Names of the outcomes, in the order of the numbers that the SIPs print.
const OUTCOMES: [&str; 16] = [
    "0",
    "n",
    "closed",
    "timeout",
    "no-resources",
    "not-found",
    "too-small",
    "bad-state",
    "bad-argument",
    "would-block",
    "not-permitted",
    "-10",
    "-11",
    "-12",
    "-13",
    "other",
];

/// For each entry the number of times that each outcome was seen: statuses by the number of SIPs
/// that had them, traps by the reports.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    seen: BTreeMap<usize, BTreeMap<String, u64>>,
}

impl Coverage {
    /// Adds the coverage in a line of output; returns whether it has any.
    pub fn take(&mut self, line: &str) -> bool {
        if let Some((_, words)) = line.split_once("#cov ") {
            for word in words.split_whitespace() {
                let Ok(n) = usize::from_str_radix(word, 16) else {
                    continue;
                };
                if n >> 4 < ENTRIES.len() {
                    self.count(n >> 4, OUTCOMES[n & 15]);
                }
            }
            return true;
        }
        let Some((_, report)) = line.split_once(" died of: ") else {
            return false;
        };
        if let Some((trap, place)) = report.split_once(", in op.")
            && let Some(entry) = ENTRIES.iter().find(|e| e.name == place.trim())
        {
            self.count(entry.index, &format!("trap: {trap}"));
        }
        true
    }

    fn count(&mut self, entry: usize, outcome: &str) {
        let of_entry = self.seen.entry(entry).or_default();
        *of_entry.entry(outcome.to_string()).or_default() += 1;
    }

    /// Adds the coverage of another run.
    pub fn add(&mut self, other: Coverage) {
        for (entry, outcomes) in other.seen {
            for (outcome, n) in outcomes {
                *self
                    .seen
                    .entry(entry)
                    .or_default()
                    .entry(outcome)
                    .or_default() += n;
            }
        }
    }

    /// Entries from which no call returned, and in which none trapped.
    pub fn missing(&self) -> Vec<&'static str> {
        ENTRIES
            .iter()
            .filter(|e| !self.seen.contains_key(&e.index) && !NOT_CALLED.contains(&e.name))
            .map(|e| e.name)
            .collect()
    }

    /// The number of entries reached, and of different outcomes in total.
    pub fn summary(&self) -> String {
        let outcomes: usize = self.seen.values().map(BTreeMap::len).sum();
        format!(
            "{} of {} entries reached, {outcomes} outcomes",
            self.seen.len(),
            ENTRIES.len() - NOT_CALLED.len()
        )
    }

    /// The whole table.
    pub fn table(&self) -> String {
        let mut out = String::new();
        for e in &ENTRIES {
            let outcomes = self.seen.get(&e.index).map_or_else(
                || {
                    if NOT_CALLED.contains(&e.name) {
                        "(ends the run)".to_string()
                    } else {
                        "NOT REACHED".to_string()
                    }
                },
                |outcomes| {
                    let one = |(o, n): (&String, &u64)| format!("{o} ({n})");
                    outcomes.iter().map(one).collect::<Vec<_>>().join(", ")
                },
            );
            // Writing to a string does not fail.
            let _ = writeln!(out, "{:<26} {outcomes}", e.name);
        }
        let _ = writeln!(out, "{}", self.summary());
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted() {
        let mut c = Coverage::default();
        assert!(c.take("#cov 001 00a 001 fff zz"));
        assert!(
            c.take("crash: herd-all (SIP 12) died of: wrong use of a handle, in op.process_start")
        );
        assert!(c.take("crash: shell (SIP 2) died of: stack overflow, in main"));
        assert!(!c.take("fuzz: done: 1 rounds, 0 findings"));
        assert!(c.table().contains("n (2)"));
        assert!(c.table().contains("trap: wrong use of a handle (1)"));
        assert!(c.missing().contains(&"yield") && !c.missing().contains(&"process_create"));
        assert!(!c.missing().contains(&"sys_shutdown"));
        assert!(c.summary().starts_with("2 of "));
    }
}
