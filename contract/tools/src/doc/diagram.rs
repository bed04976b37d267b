//! State diagrams: a layered layout of a contract's states. [`draw`] draws it.
//!
//! States lie in layers by their distance from the first one, from top to bottom. What a line is
//! labelled with lies in a layer of its own below the higher of the two states, and a line that
//! passes a layer has a place in it, so that no label overlaps another and no line crosses one. In
//! a layer, things are ordered by the mean of their neighbours, then placed as near to it as their
//! widths allow.

mod draw;

use sing_contract::model::{Contract, Side};
use std::collections::BTreeMap;

/// Width of a character of a state's name and of a label (both monospaced), and height of a label's
/// line.
const NAME: f64 = 8.0;
const LABEL: f64 = 7.0;
const LINE: f64 = 14.0;
/// Half the size of an anonymous state, and of a named one's height.
const DOT: f64 = 5.0;
const HALF: f64 = 14.0;
/// Room between things in a layer, and between layers.
const GAP: f64 = 18.0;
const LAYER: f64 = 26.0;
/// How often the layers are ordered and placed anew.
const SWEEPS: usize = 12;

/// The purpose of a place in a layer.
#[derive(Clone, Debug, PartialEq)]
enum Kind {
    /// A state, by index.
    State(usize),
    /// The label of a line.
    Label(usize),
    /// A line passes here.
    Pass,
}

/// A place in a layer.
#[derive(Clone, Debug)]
struct Place {
    kind: Kind,
    layer: usize,
    /// Half its width and height.
    half: (f64, f64),
    x: f64,
    /// Places in the layers above and below that a line leads to.
    near: Vec<usize>,
}

/// All transitions from one state to another.
#[derive(Debug)]
struct Line {
    from: usize,
    to: usize,
    /// The messages: text, and the side that sends it.
    labels: Vec<(String, Side)>,
    /// Places that it leads through, from the higher end to the lower one; where both ends are in
    /// one layer, only the label.
    through: Vec<usize>,
}

/// A contract's diagram, laid out.
pub(super) struct Diagram<'a> {
    contract: &'a Contract,
    places: Vec<Place>,
    lines: Vec<Line>,
    /// The layers' places, from left to right.
    layers: Vec<Vec<usize>>,
    /// Upper end of each layer, and its height.
    bands: Vec<(f64, f64)>,
    /// The place of each state; none where it cannot be reached.
    of_state: Vec<Option<usize>>,
}

impl<'a> Diagram<'a> {
    pub fn new(contract: &'a Contract) -> Diagram<'a> {
        let depths = depths(contract);
        let mut diagram = Diagram {
            contract,
            places: Vec::new(),
            lines: lines(contract, &depths),
            layers: Vec::new(),
            bands: Vec::new(),
            of_state: vec![None; contract.states.len()],
        };
        for (index, depth) in depths.iter().enumerate() {
            if let Some(depth) = depth {
                let state = &contract.states[index];
                let half = if state.is_named() {
                    (state.name.chars().count() as f64 * NAME / 2.0 + 10.0, HALF)
                } else {
                    (DOT, DOT)
                };
                // Labels lie between states.
                let place = diagram.add(Kind::State(index), depth * 2, half);
                diagram.of_state[index] = Some(place);
            }
        }
        for line in 0..diagram.lines.len() {
            diagram.thread(line);
        }
        diagram.order();
        diagram.place();
        diagram
    }

    fn add(&mut self, kind: Kind, layer: usize, half: (f64, f64)) -> usize {
        self.places.push(Place {
            kind,
            layer,
            half,
            x: 0.0,
            near: Vec::new(),
        });
        if self.layers.len() <= layer {
            self.layers.resize(layer + 1, Vec::new());
        }
        self.layers[layer].push(self.places.len() - 1);
        self.places.len() - 1
    }

    fn join(&mut self, a: usize, b: usize) {
        self.places[a].near.push(b);
        self.places[b].near.push(a);
    }

    /// Gives a line its places: the label below its higher end, then one in each layer down to the
    /// lower one.
    fn thread(&mut self, line: usize) {
        let Line {
            from, to, labels, ..
        } = &self.lines[line];
        let (Some(a), Some(b)) = (self.of_state[*from], self.of_state[*to]) else {
            return;
        };
        let (high, low) = if self.places[a].layer <= self.places[b].layer {
            (a, b)
        } else {
            (b, a)
        };
        let widest = labels
            .iter()
            .map(|l| l.0.chars().count())
            .max()
            .unwrap_or(0);
        let half = (
            widest as f64 * LABEL / 2.0 + 3.0,
            labels.len() as f64 * LINE / 2.0,
        );
        let top = self.places[high].layer;
        let bottom = self.places[low].layer;
        let label = self.add(Kind::Label(line), top + 1, half);
        let mut through = vec![label];
        self.join(high, label);
        let mut last = label;
        for layer in top + 2..bottom {
            let pass = self.add(Kind::Pass, layer, (2.0, 2.0));
            through.push(pass);
            self.join(last, pass);
            last = pass;
        }
        if bottom != top || low != high {
            self.join(last, low);
        }
        self.lines[line].through = through;
    }

    /// Orders the places of each layer by the mean of their neighbours' ranks in the layer above,
    /// then below, and so on, so that few lines cross.
    fn order(&mut self) {
        let mut rank = vec![0usize; self.places.len()];
        let note = |layer: &[usize], rank: &mut Vec<usize>| {
            for (i, &p) in layer.iter().enumerate() {
                rank[p] = i;
            }
        };
        for layer in &self.layers {
            note(layer, &mut rank);
        }
        for sweep in 0..SWEEPS {
            let count = self.layers.len();
            for step in 0..count {
                let down = sweep % 2 == 0;
                let layer = if down { step } else { count - 1 - step };
                let mut keyed: Vec<(f64, usize)> = self.layers[layer]
                    .iter()
                    .map(|&p| {
                        let near = self.places[p].near.iter().filter(|&&n| {
                            let other = self.places[n].layer;
                            if down { other < layer } else { other > layer }
                        });
                        let ranks: Vec<f64> = near.map(|&n| rank[n] as f64).collect();
                        let own = rank[p] as f64;
                        let mean = ranks.iter().sum::<f64>() / ranks.len() as f64;
                        (if ranks.is_empty() { own } else { mean }, p)
                    })
                    .collect();
                keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
                self.layers[layer] = keyed.into_iter().map(|k| k.1).collect();
                note(&self.layers[layer], &mut rank);
            }
        }
    }

    /// Places everything as near to its neighbours' mean as the widths in its layer allow.
    fn place(&mut self) {
        for sweep in 0..2 * SWEEPS {
            let count = self.layers.len();
            for step in 0..count {
                let layer = if sweep % 2 == 0 {
                    step
                } else {
                    count - 1 - step
                };
                let places = &self.layers[layer];
                let wanted: Vec<f64> = places.iter().map(|&p| self.wanted(p)).collect();
                let halves: Vec<f64> = places.iter().map(|&p| self.places[p].half.0).collect();
                for (&p, x) in places.iter().zip(apart(&wanted, &halves)) {
                    self.places[p].x = x;
                }
            }
        }
        let left = |p: &Place| p.x - p.half.0;
        let least = self.places.iter().map(left).fold(f64::INFINITY, f64::min);
        for p in &mut self.places {
            p.x += GAP - least;
        }
        let mut y = LAYER;
        for layer in &self.layers {
            let halves = layer.iter().map(|&p| self.places[p].half.1);
            let height = 2.0 * halves.fold(0.0, f64::max);
            self.bands.push((y, height));
            y += height + LAYER;
        }
    }

    fn wanted(&self, place: usize) -> f64 {
        let Place { near, x, .. } = &self.places[place];
        if near.is_empty() {
            return *x;
        }
        near.iter().map(|&n| self.places[n].x).sum::<f64>() / near.len() as f64
    }

    fn y(&self, place: usize) -> f64 {
        let (top, height) = self.bands[self.places[place].layer];
        top + height / 2.0
    }
}

/// How far each state is from the first one; `None` where it cannot be reached.
fn depths(contract: &Contract) -> Vec<Option<usize>> {
    let mut depths = vec![None; contract.states.len()];
    let mut next: Vec<usize> = (0..contract.states.len().min(1)).collect();
    let mut depth = 0;
    while !next.is_empty() {
        next.retain(|&s| depths[s].is_none());
        for &s in &next {
            depths[s] = Some(depth);
        }
        let targets = next.iter().flat_map(|&s| &contract.states[s].transitions);
        next = targets.map(|t| t.target).collect();
        depth += 1;
    }
    depths
}

/// All transitions between reachable states, those between the same two together.
fn lines(contract: &Contract, depths: &[Option<usize>]) -> Vec<Line> {
    let mut all: BTreeMap<(usize, usize), Vec<(String, Side)>> = BTreeMap::new();
    for (from, state) in contract.states.iter().enumerate() {
        if depths[from].is_none() {
            continue;
        }
        for t in &state.transitions {
            let sign = if t.sender == Side::Imp { '?' } else { '!' };
            let text = format!("{}{sign}", contract.messages[t.message].name);
            all.entry((from, t.target))
                .or_default()
                .push((text, t.sender));
        }
    }
    let line = |((from, to), labels)| Line {
        from,
        to,
        labels,
        through: Vec::new(),
    };
    all.into_iter().map(line).collect()
}

/// The positions nearest to those wanted (least squares) at which things of these half widths, in
/// this order, stand apart: neighbours that would touch move together, by their mean.
fn apart(wanted: &[f64], halves: &[f64]) -> Vec<f64> {
    let mut offsets = Vec::with_capacity(halves.len());
    let mut at = 0.0;
    for (i, half) in halves.iter().enumerate() {
        if i > 0 {
            at += halves[i - 1] + half + GAP;
        }
        offsets.push(at);
    }
    // Blocks of neighbours that touch: sum of what they want, and how many they are.
    let mut blocks: Vec<(f64, usize)> = Vec::new();
    for (x, offset) in wanted.iter().zip(&offsets) {
        let mut block = (x - offset, 1);
        while let Some(last) = blocks.last()
            && last.0 / last.1 as f64 >= block.0 / block.1 as f64
        {
            block = (last.0 + block.0, last.1 + block.1);
            blocks.pop();
        }
        blocks.push(block);
    }
    let means = blocks
        .iter()
        .flat_map(|&(sum, count)| std::iter::repeat_n(sum / count as f64, count));
    means
        .zip(&offsets)
        .map(|(mean, offset)| mean + offset)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// No two things touch, and no line crosses a label.
    fn check(contract: &Contract) {
        let diagram = Diagram::new(contract);
        for layer in &diagram.layers {
            for pair in layer.windows(2) {
                let (a, b) = (&diagram.places[pair[0]], &diagram.places[pair[1]]);
                let gap = (b.x - b.half.0) - (a.x + a.half.0);
                assert!(gap > GAP - 0.01, "{}: {a:?} {b:?}", contract.name);
            }
        }
        for pair in diagram.bands.windows(2) {
            assert!(pair[0].0 + pair[0].1 < pair[1].0);
        }
        for place in &diagram.places {
            assert!(place.half.1 * 2.0 <= diagram.bands[place.layer].1 + 0.01);
            assert!(place.x - place.half.0 >= GAP - 0.01 && place.x.is_finite());
        }
        // Each line leads from one layer to the next, so between two of them nothing is in its way.
        for line in &diagram.lines {
            let ends =
                [line.from, line.to].map(|s| diagram.places[diagram.of_state[s].unwrap()].layer);
            let (top, bottom) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
            let layers: Vec<usize> = line
                .through
                .iter()
                .map(|&p| diagram.places[p].layer)
                .collect();
            let wanted: Vec<usize> = (top + 1..bottom.max(top + 2)).collect();
            assert_eq!(layers, wanted);
        }
        let svg = diagram.svg();
        let transitions: usize = diagram.lines.iter().map(|l| l.labels.len()).sum();
        let labels =
            svg.matches("<text class=\"imp\"").count() + svg.matches("<text class=\"exp\"").count();
        assert_eq!(labels, transitions);
    }

    #[test]
    fn the_systems_contracts() {
        let file =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../system/contracts/system.contract");
        for contract in &sing_contract::load_file(&file).unwrap().model.contracts {
            check(contract);
        }
    }

    #[test]
    fn loops_and_lines_in_a_layer() {
        let text = "contract C {
            in message A(); in message B(); out message X(); out message Y();
            state S: one { A? -> S1; B? -> S2; }
            state S1: one { X! -> S1a; Y! -> S2; }
            state S1a: one { A? -> S1; B? -> closed; }
            state S2: one { A? -> S1; B? -> closed; }
            state Never: A? -> X! -> S;
        }";
        let model = sing_contract::load(text).unwrap().model;
        check(&model.contracts[0]);
        let svg = Diagram::new(&model.contracts[0]).svg();
        assert!(!svg.contains("Never"));
        let loops = "contract L { message A(); state S: A? -> S; state T: A? -> A! -> T; }";
        // A loop in which one side sends again and again has no finite queue; the picture is drawn
        // all the same.
        assert!(sing_contract::load(loops).is_err());
        let mut own = model.contracts[0].clone();
        own.states[0].transitions[0].target = 0;
        check(&own);
    }

    #[test]
    fn wide_and_deep() {
        let mut text = String::from("contract Wide { in message M0(); out message Ok();");
        for i in 1..60 {
            text += &format!(" in message Message{i}();");
        }
        text += "state Start: one { M0? -> Ok! -> Start;";
        for i in 1..60 {
            text += &format!(
                " Message{i}? -> {} Start;",
                "Ok! -> M0? -> ".repeat(i % 7 + 1)
            );
        }
        text += "} }";
        check(&sing_contract::load(&text).unwrap().model.contracts[0]);
    }

    #[test]
    fn things_stand_as_near_as_they_can() {
        assert_eq!(apart(&[0.0, 100.0], &[1.0, 1.0]), [0.0, 100.0]);
        assert_eq!(apart(&[50.0, 50.0], &[1.0, 1.0]), [40.0, 60.0]);
        assert!(apart(&[], &[]).is_empty());
    }
}
