//! Runs as pictures: the chart with messages as arrows from when they are sent to when they are
//! received.

use crate::chart::columns;
use crate::explore::Taken;
use crate::step::EventKind;
use crate::system::System;
use std::fmt::Write as _;

const COLUMN: usize = 180;
const ROW: usize = 28;
const TOP: usize = 60;

/// A chart as an SVG document.
#[must_use]
pub fn svg(system: &System, title: &str, run: &[Taken], last: &[(usize, String)]) -> String {
    let lines = crate::chart::lines(system, run);
    let also: Vec<usize> = last.iter().map(|(p, _)| *p).collect();
    let columns = columns(system, &lines, &also);
    let x = |p: usize| COLUMN / 2 + COLUMN * columns.iter().position(|&c| c == p).unwrap_or(0);
    let events: Vec<_> = run
        .iter()
        .flat_map(|t| t.events.iter().map(|e| (t.process, *e)))
        .collect();
    let y = |row: usize| TOP + ROW + row * ROW;
    let height = y(events.len() + last.len()) + ROW;
    let width = (COLUMN * columns.len()).max(COLUMN);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" \
         orient=\"auto\"><path d=\"M0,0 L8,4 L0,8 z\"/></marker></defs>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"8\" y=\"18\" font-weight=\"bold\">{}</text>\n",
        escape(title)
    );
    for &p in &columns {
        let (at, name) = (x(p), escape(&system.processes[p].name));
        let _ = writeln!(
            out,
            "<text x=\"{at}\" y=\"{}\" text-anchor=\"middle\">{name}</text>\n\
             <line x1=\"{at}\" y1=\"{TOP}\" x2=\"{at}\" y2=\"{height}\" stroke=\"gray\"/>",
            TOP - 10
        );
    }
    for (row, (process, event)) in events.iter().enumerate() {
        let at = x(*process);
        let mut local = |text: String| {
            let _ = writeln!(
                out,
                "<circle cx=\"{at}\" cy=\"{}\" r=\"3\"/><text x=\"{}\" y=\"{}\">{}</text>",
                y(row),
                at + 6,
                y(row) + 4,
                escape(&text)
            );
        };
        let end = &system.channels[event.channel].ends[event.side.index()];
        let name = end.as_ref().map_or("", |e| e.name.as_str());
        match event.kind {
            EventKind::Sent(m) => {
                let text = system.message(event.channel, m);
                let Some(to) = system.holder(event.channel, event.side.peer()) else {
                    local(format!("{name}.{text} to nobody"));
                    continue;
                };
                // It is received at the first such event after as many receives as there were sends
                // before.
                let same = |e: &crate::step::Event, kind| {
                    e.channel == event.channel
                        && std::mem::discriminant(&e.kind) == std::mem::discriminant(&kind)
                };
                let before = events[..row]
                    .iter()
                    .filter(|(_, e)| e.side == event.side && same(e, EventKind::Sent(0)))
                    .count();
                let received = events
                    .iter()
                    .enumerate()
                    .filter(|(_, (_, e))| e.side != event.side && same(e, EventKind::Received(0)))
                    .nth(before)
                    .map(|(i, _)| i);
                let (end_row, dash) = match received {
                    Some(i) => (i, ""),
                    None => (row + 1, " stroke-dasharray=\"4 3\""),
                };
                let _ = writeln!(
                    out,
                    "<line x1=\"{at}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke=\"black\" marker-end=\"url(#tip)\"{dash}/>\
                     <text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
                    y(row),
                    x(to),
                    y(end_row),
                    (at + x(to)) / 2,
                    (y(row) + y(end_row)) / 2 - 4,
                    escape(text)
                );
            }
            EventKind::Received(_) => {}
            EventKind::Heard => local(format!("{name} is closed")),
            EventKind::Closed => local(format!("closes {name}")),
        }
    }
    for (i, (p, text)) in last.iter().enumerate() {
        let _ = writeln!(
            out,
            "<text x=\"{}\" y=\"{}\" fill=\"#b00000\">{}</text>",
            x(*p) + 6,
            y(events.len() + i) + 4,
            escape(text)
        );
    }
    out + "</svg>\n"
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
