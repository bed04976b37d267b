//! The drawing of a diagram as SVG.

use super::super::html::{anchor, escape};
use super::{DOT, Diagram, GAP, Kind, LAYER, LINE, Line, Place};
use std::fmt::Write as _;

impl Diagram<'_> {
    /// The point at which the line to a neighbour meets a place: along a named state's edge, in
    /// their order, so that arrowheads can be told apart.
    fn port(&self, place: usize, to: usize) -> f64 {
        let Place {
            x,
            half,
            near,
            layer,
            kind,
        } = &self.places[place];
        if !matches!(kind, Kind::State(_)) || half.0 <= DOT {
            return *x;
        }
        let below = self.places[to].layer > *layer;
        let mut all: Vec<usize> = near.clone();
        all.retain(|&n| (self.places[n].layer > *layer) == below);
        all.sort_by(|&a, &b| self.places[a].x.total_cmp(&self.places[b].x));
        let rank = all.iter().position(|&n| n == to).unwrap_or(0) as f64;
        x + ((rank + 0.5) / all.len().max(1) as f64 - 0.5) * 1.6 * half.0
    }

    /// The drawing.
    pub(in crate::doc) fn svg(&self) -> String {
        let right = |p: &Place| p.x + p.half.0;
        let width = self.places.iter().map(right).fold(0.0, f64::max) + GAP;
        let height = self.bands.last().map_or(0.0, |b| b.0 + b.1) + LAYER;
        let name = escape(&self.contract.name);
        let mut out = format!(
            "<svg class=\"states\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" \
             role=\"img\" aria-label=\"States of {name}\">\n<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"7\" \
             refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto-start-reverse\"><path d=\"M0 0L8 4L0 8z\"/>\
             </marker></defs>\n"
        );
        for line in &self.lines {
            let _ = writeln!(
                out,
                "<path class=\"line\" d=\"{}\" marker-end=\"url(#arrow)\"/>",
                self.path(line)
            );
        }
        for (index, place) in self.places.iter().enumerate() {
            match place.kind {
                Kind::State(state) => out += &self.state(index, state),
                Kind::Label(line) => out += &self.label(index, &self.lines[line]),
                Kind::Pass => {}
            }
        }
        out + "</svg>\n"
    }

    /// The way of a line, from its first state to its second.
    fn path(&self, line: &Line) -> String {
        let (Some(from), Some(to)) = (self.of_state[line.from], self.of_state[line.to]) else {
            return String::new();
        };
        let (a, b) = (&self.places[from], &self.places[to]);
        if a.layer == b.layer {
            return self.beside(line, from, to);
        }
        let down = a.layer < b.layer;
        let mut points = vec![from];
        points.extend(&line.through);
        if !down {
            points[1..].reverse();
        }
        points.push(to);
        // Each place is passed straight; between two of them the line bends.
        let sign = if down { 1.0 } else { -1.0 };
        let mut out = String::new();
        for (i, pair) in points.windows(2).enumerate() {
            let leave = if i == 0 {
                self.places[pair[0]].half.1
            } else {
                self.bands[self.places[pair[0]].layer].1 / 2.0
            };
            let last = i + 2 == points.len();
            let reach = if last {
                self.places[pair[1]].half.1
            } else {
                self.bands[self.places[pair[1]].layer].1 / 2.0
            };
            let (x0, y0) = (self.port(pair[0], pair[1]), self.y(pair[0]) + sign * leave);
            let (x1, y1) = (self.port(pair[1], pair[0]), self.y(pair[1]) - sign * reach);
            let bend = (y1 - y0) / 2.0;
            let _ = write!(
                out,
                "{}{x0:.1} {y0:.1}C{x0:.1} {:.1} {x1:.1} {:.1} {x1:.1} {y1:.1}",
                if i == 0 { "M" } else { "L" },
                y0 + bend,
                y1 - bend
            );
        }
        out
    }

    /// A line between two states of one layer, or from one to itself: down to the side of its
    /// label, and up again.
    fn beside(&self, line: &Line, from: usize, to: usize) -> String {
        let Some(&label) = line.through.first() else {
            return String::new();
        };
        let (x, y, half) = (
            self.places[label].x,
            self.y(label),
            self.places[label].half.0,
        );
        let shift = if from == to {
            self.places[from].half.0 * 0.5
        } else {
            0.0
        };
        let turn = if self.places[from].x <= self.places[to].x {
            1.0
        } else {
            -1.0
        };
        let (x0, y0) = (
            self.places[from].x - turn * shift,
            self.y(from) + self.places[from].half.1,
        );
        let (x1, y1) = (
            self.places[to].x + turn * shift,
            self.y(to) + self.places[to].half.1,
        );
        let (l, r) = (x - turn * half, x + turn * half);
        format!(
            "M{x0:.1} {y0:.1}C{x0:.1} {y:.1} {:.1} {y:.1} {l:.1} {y:.1}M{r:.1} {y:.1}C{:.1} {y:.1} {x1:.1} {y:.1} {x1:.1} {y1:.1}",
            l - turn * 6.0,
            r + turn * 6.0
        )
    }

    fn state(&self, place: usize, state: usize) -> String {
        let Place { x, half, .. } = &self.places[place];
        let y = self.y(place);
        let state = &self.contract.states[state];
        let name = escape(&state.name);
        let last = if state.transitions.is_empty() {
            " last"
        } else {
            ""
        };
        if !state.is_named() {
            return format!(
                "<circle class=\"state{last}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{DOT}\"><title>{name}</title></circle>\n"
            );
        }
        let first = if place == 0 { " first" } else { "" };
        format!(
            "<a href=\"#{}\"><rect class=\"state{first}{last}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" \
             rx=\"8\"/><text class=\"name\" x=\"{x:.1}\" y=\"{:.1}\">{name}</text></a>\n",
            anchor(&state.name),
            x - half.0,
            y - half.1,
            half.0 * 2.0,
            half.1 * 2.0,
            y + 4.5
        )
    }

    fn label(&self, place: usize, line: &Line) -> String {
        let Place { x, half, .. } = &self.places[place];
        let y = self.y(place) - half.1;
        let mut out = format!(
            "<rect class=\"under\" x=\"{:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>\n",
            x - half.0,
            half.0 * 2.0,
            half.1 * 2.0
        );
        for (i, (text, side)) in line.labels.iter().enumerate() {
            let _ = writeln!(
                out,
                "<text class=\"{}\" x=\"{x:.1}\" y=\"{:.1}\">{}</text>",
                side.name().to_lowercase(),
                y + (i as f64 + 1.0) * LINE - 3.5,
                escape(text)
            );
        }
        out
    }
}
