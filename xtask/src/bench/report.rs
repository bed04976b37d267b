//! The result of a benchmark: table and JSON.

use super::samples::Measured;
use super::targets::{Target, target};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// A row of the result.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The target's number; `null` if the row belongs to no target.
    pub id: Option<String>,
    /// The name of the measurement.
    pub name: String,
    /// The median.
    pub value: f64,
    /// Its unit.
    pub unit: String,
    /// The 10th percentile.
    pub p10: f64,
    /// The 90th percentile.
    pub p90: f64,
    /// The papers' figure.
    pub paper: Option<f64>,
    /// Figures of the peers, on the same machine in the same run.
    pub peers: BTreeMap<String, f64>,
}

/// A whole result.
#[derive(Clone, Debug, Serialize)]
pub struct Result {
    /// The benchmark's name.
    pub bench: String,
    /// The machine it ran on.
    pub machine: BTreeMap<String, serde_json::Value>,
    /// Its rows.
    pub rows: Vec<Row>,
}

/// Puts our figures and the peers' together. The peers, and the papers' figures, stand at the first
/// row of their target and unit.
pub fn rows(ours: &[Measured], peers: &[Measured]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for measured in ours {
        let id = measured.id.as_deref();
        let first = !rows
            .iter()
            .any(|row| row.id == measured.id && row.unit == measured.unit);
        let main = id.filter(|_| first);
        let main = main.and_then(|id| target(id, &measured.unit));
        let alike = |peer: &&Measured| peer.id == measured.id && peer.unit == measured.unit;
        // A peer that is named after a row stands there and nowhere else.
        let named = |peer: &&Measured| names(peer) == Some(&measured.name);
        let beside = peers
            .iter()
            .filter(|peer| named(peer) || main.is_some() && alike(peer) && names(peer).is_none());
        rows.push(Row {
            id: measured.id.clone(),
            name: measured.name.clone(),
            value: measured.median,
            unit: measured.unit.clone(),
            p10: measured.p10,
            p90: measured.p90,
            paper: main.and_then(|target| target.paper),
            peers: beside
                .map(|peer| (peer.name.clone(), peer.median))
                .collect(),
        });
    }
    rows
}

/// The row that a peer is named after: `linux pread: disk read` after `disk read`.
fn names(peer: &Measured) -> Option<&str> {
    peer.name.split_once(": ").map(|(_, row)| row)
}

/// The table that a person reads.
pub fn table(rows: &[Row]) -> String {
    let mut text = String::new();
    let mut shown = BTreeSet::new();
    let head = ("", "operation", "ours", "p10", "p90", "target", "papers");
    let _ = writeln!(
        text,
        "{:<4} {:<56} {:>10} {:>10} {:>10} {:>9} {:>9}",
        head.0, head.1, head.2, head.3, head.4, head.5, head.6
    );
    for row in rows {
        let first = shown.insert((row.id.clone(), row.unit.clone()));
        let id = row.id.as_deref().filter(|_| first);
        let goal = id.and_then(|id| target(id, &row.unit));
        let most = goal.and_then(|goal: &Target| goal.most);
        let verdict = match most {
            Some(most) if row.value <= most => " met",
            Some(_) => " missed",
            None => "",
        };
        let note = goal
            .filter(|goal| !goal.note.is_empty())
            .map_or(String::new(), |g| format!(" ({})", g.note));
        let number = |value: Option<f64>| value.map_or(String::new(), figure);
        let _ = writeln!(
            text,
            "{:<4} {:<56} {:>10} {:>10} {:>10} {:>9} {:>9} {}{verdict}{note}",
            row.id.as_deref().unwrap_or(""),
            row.name,
            figure(row.value),
            figure(row.p10),
            figure(row.p90),
            number(most),
            number(row.paper),
            row.unit,
        );
        for (peer, value) in &row.peers {
            let ratio = if row.value > 0.0 {
                value / row.value
            } else {
                0.0
            };
            let _ = writeln!(
                text,
                "{:<4}   {peer:<54} {:>10} {:>9}x",
                "",
                figure(*value),
                figure(ratio)
            );
        }
    }
    text
}

/// Formats a number with as many digits as are significant.
pub fn figure(value: f64) -> String {
    let digits = if value.abs() >= 100.0 {
        0
    } else if value.abs() >= 10.0 {
        1
    } else {
        2
    };
    let plain = format!("{value:.digits$}");
    let (whole, fraction) = plain
        .split_once('.')
        .map_or((plain.as_str(), None), |(w, f)| (w, Some(f)));
    let mut grouped = String::new();
    for (i, c) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i) % 3 == 0 && c != '-' && !grouped.ends_with('-') {
            grouped.push(',');
        }
        grouped.push(c);
    }
    match fraction {
        Some(fraction) => format!("{grouped}.{fraction}"),
        None => grouped,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(id: Option<&str>, name: &str, median: f64) -> Measured {
        let (p10, p90) = (median - 1.0, median + 1.0);
        Measured {
            id: id.map(String::from),
            name: name.into(),
            unit: "cycles".into(),
            median,
            p10,
            p90,
        }
    }

    #[test]
    fn peers_and_paper_stand_at_the_first_row_of_a_target() {
        let ours = [
            measured(Some("T3"), "one word", 140.0),
            measured(Some("T3"), "twelve words", 230.0),
        ];
        let peers = [
            measured(Some("T3"), "linux pipe", 8400.0),
            measured(Some("T2"), "sched_yield", 1500.0),
        ];
        let rows = rows(&ours, &peers);
        assert_eq!(rows[0].paper, Some(803.0));
        assert_eq!(rows[0].peers.len(), 1);
        assert!(rows[1].paper.is_none() && rows[1].peers.is_empty());
        let text = table(&rows);
        assert!(
            text.contains("met") && !text.contains("missed") && text.contains("60.0x"),
            "{text}"
        );
    }

    #[test]
    fn a_peer_named_after_a_row_stands_there() {
        let ours = [
            measured(Some("T3"), "block read", 140.0),
            measured(Some("T3"), "block written", 230.0),
        ];
        let peers = [measured(Some("T3"), "linux pwrite: block written", 500.0)];
        let rows = rows(&ours, &peers);
        assert!(rows[0].peers.is_empty());
        assert_eq!(rows[1].peers.len(), 1);
    }

    #[test]
    fn json_has_the_documented_form() {
        let rows = rows(&[measured(None, "other", 5.0)], &[]);
        let result = Result {
            bench: "basic".into(),
            machine: BTreeMap::new(),
            rows,
        };
        let json = serde_json::to_value(&result).unwrap();
        assert_eq!(json["rows"][0]["id"], serde_json::Value::Null);
        assert_eq!(json["rows"][0]["value"], 5.0);
        assert!(json["rows"][0]["peers"].is_object());
    }

    #[test]
    fn figures_are_short_and_grouped() {
        assert_eq!(figure(353_000.4), "353,000");
        assert_eq!(figure(1234.0), "1,234");
        assert_eq!(figure(3.456), "3.46");
        assert_eq!(figure(12.34), "12.3");
        assert_eq!(figure(999.0), "999");
        assert_eq!(figure(-1234.0), "-1,234");
    }
}
