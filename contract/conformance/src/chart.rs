//! Runs as message sequence charts: a column for each process, time runs downwards.
//!
//! A message that is received at once is an arrow that ends at its receiver (`>`). One that lies in
//! the queue for a while ends before it (`)`), and where it is taken stands a line of its own.

use crate::explore::Taken;
use crate::step::{Event, EventKind};
use crate::system::System;
use std::fmt::Write as _;

/// The narrowest column.
const MIN_WIDTH: usize = 16;

/// The content of a line of a chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// A message from one process to another: it is received at once, or lies in the queue.
    Message {
        /// The sender's column, from 0.
        from: usize,
        /// The receiver's column.
        to: usize,
        /// Its text.
        text: String,
        /// Whether it is received at once.
        at_once: bool,
    },
    /// Something that one process does by itself.
    Local {
        /// Who.
        at: usize,
        /// What.
        text: String,
    },
}

/// The lines of a chart for a run.
#[must_use]
pub fn lines(system: &System, run: &[Taken]) -> Vec<Line> {
    // A step that nobody sees has no event, but it is shown too.
    let flat: Vec<(usize, Option<Event>)> = run
        .iter()
        .flat_map(|t| {
            let events = t.events.iter().map(|e| (t.process, Some(*e)));
            let unseen = t.events.is_empty().then_some((t.process, None));
            events.chain(unseen)
        })
        .collect();
    let mut targets = run.iter().filter(|t| t.events.is_empty()).map(|t| t.to);
    let mut lines = Vec::new();
    let mut taken_at_once = None;
    for (i, (process, event)) in flat.iter().enumerate() {
        let Some(event) = event else {
            let node = targets.next().flatten();
            let machine = system.machine(*process);
            let name = node.and_then(|n| machine.map(|m| m.nodes[n].name.as_str()));
            lines.push(Line::Local {
                at: *process,
                text: format!("goes on to {}", name.unwrap_or("?")),
            });
            continue;
        };
        let peer = system.holder(event.channel, event.side.peer());
        let name = match &system.channels[event.channel].ends[event.side.index()] {
            Some(end) => end.name.clone(),
            None => String::new(),
        };
        match event.kind {
            EventKind::Sent(m) => {
                let text = system.message(event.channel, m).to_owned();
                let Some(to) = peer else {
                    let text = format!("{name}.{text} to nobody");
                    lines.push(Line::Local { at: *process, text });
                    continue;
                };
                let next = flat.get(i + 1).and_then(|(_, next)| *next);
                let at_once = next.is_some_and(|next| {
                    next.channel == event.channel
                        && next.side == event.side.peer()
                        && next.kind == EventKind::Received(m)
                });
                if at_once {
                    taken_at_once = Some(i + 1);
                }
                lines.push(Line::Message {
                    from: *process,
                    to,
                    text,
                    at_once,
                });
            }
            EventKind::Received(_) if taken_at_once == Some(i) => {}
            EventKind::Received(m) => {
                let text = format!("takes {}", system.message(event.channel, m));
                lines.push(Line::Local { at: *process, text });
            }
            EventKind::Heard => {
                let text = format!("{name} is closed");
                lines.push(Line::Local { at: *process, text });
            }
            EventKind::Closed => {
                let text = format!("closes {name}");
                lines.push(Line::Local { at: *process, text });
            }
        }
    }
    lines
}

/// The processes that a chart has columns for: those that take part in the run, and these.
#[must_use]
pub fn columns(system: &System, lines: &[Line], also: &[usize]) -> Vec<usize> {
    let part = |p: &usize| {
        also.contains(p)
            || lines.iter().any(|line| match line {
                Line::Message { from, to, .. } => from == p || to == p,
                Line::Local { at, .. } => at == p,
            })
    };
    (0..system.processes.len()).filter(part).collect()
}

/// A chart in text. `last` says what is the matter at its end with some processes.
#[must_use]
pub fn text(system: &System, run: &[Taken], last: &[(usize, String)]) -> String {
    let lines = lines(system, run);
    let also: Vec<usize> = last.iter().map(|(p, _)| *p).collect();
    let columns = columns(system, &lines, &also);
    let column = |p: usize| columns.iter().position(|&c| c == p).unwrap_or(0);
    let names = columns.iter().map(|&p| system.processes[p].name.len());
    let texts = lines.iter().map(|l| match l {
        Line::Message { text, .. } => text.len() + 4,
        Line::Local { .. } => 0,
    });
    let width = names.chain(texts).max().unwrap_or(0).max(MIN_WIDTH - 2) + 2;
    let place = |c: usize| width / 2 + c * width;
    let mut out = String::new();
    for &p in &columns {
        let _ = write!(out, "{:^width$}", system.processes[p].name);
    }
    truncate(&mut out);
    let blank = || {
        let mut row = vec![' '; width * columns.len()];
        for c in 0..columns.len() {
            row[place(c)] = '|';
        }
        row
    };
    let mut put = |row: &[char]| {
        out.extend(row);
        truncate(&mut out);
    };
    put(&blank());
    for line in &lines {
        let mut row = blank();
        match line {
            Line::Message {
                from,
                to,
                text,
                at_once,
            } => {
                let (a, b) = (place(column(*from)), place(column(*to)));
                arrow(&mut row, a, b, text, *at_once);
            }
            Line::Local { at, text } => {
                let at = place(column(*at));
                row[at] = '*';
                write_at(&mut row, at + 2, text);
            }
        }
        put(&row);
    }
    for (p, text) in last {
        let mut row = blank();
        let at = place(column(*p));
        row[at] = '#';
        write_at(&mut row, at + 2, text);
        put(&row);
    }
    out
}

/// Ends a line, without blanks at its end.
fn truncate(out: &mut String) {
    out.truncate(out.trim_end().len());
    out.push('\n');
}

fn write_at(row: &mut Vec<char>, at: usize, text: &str) {
    for (i, c) in text.chars().enumerate() {
        if at + i < row.len() {
            row[at + i] = c;
        } else {
            row.push(c);
        }
    }
}

fn arrow(row: &mut [char], from: usize, to: usize, text: &str, at_once: bool) {
    let (low, high) = (from.min(to), from.max(to));
    if low == high {
        return;
    }
    for c in &mut row[low + 1..high] {
        *c = '-';
    }
    let tip = if from < to { high - 1 } else { low + 1 };
    row[tip] = match (at_once, from < to) {
        (true, true) => '>',
        (true, false) => '<',
        (false, true) => ')',
        (false, false) => '(',
    };
    // The text stands beside its sender, so that an arrow over several columns is read from there.
    let start = if from < to {
        low + 3
    } else {
        high.saturating_sub(text.chars().count() + 2)
    };
    for (i, c) in text.chars().enumerate() {
        if start + i > low + 1 && start + i < high {
            row[start + i] = c;
        }
    }
}
