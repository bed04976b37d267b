//! Which data each function of a sealed module uses, as far as the module tells.
//!
//! Nothing in a module says so. What there is: numbers in the code that are addresses of data,
//! segments that instructions name, and, where they were kept, names of segments and debug
//! information of variables. So:
//!
//! - A function uses the data at each constant of its code that is an address inside an active
//!   segment: a constant, the offset of an access, their sum, or the value of an immutable global.
//!   Constants that become no address are left aside: masks, factors, shifts, and what is subtracted.
//!   A number that only looks like an address counts as one.
//! - It uses the passive segments that it names.
//! - Data is cut into pieces. A piece is a variable, a segment with a name of its own, or else begins
//!   where code or a word of the data points, and ends where the next one begins.
//! - A word of the data that is an address inside a segment leads from its piece to another.
//!
//! What addresses lead to that are computed, or handed over by others, is not known.

mod constants;
#[cfg(test)]
mod tests;

use crate::debug;
use crate::error::Result;
use crate::graph::Graph;
use crate::module::{Module, Segment};
use crate::names;
use sing_image::meta::SegmentMode;
use std::collections::VecDeque;

/// Names that linkers give to all segments of a kind together.
const KINDS: [&str; 5] = [".rodata", ".data", ".bss", ".tdata", ".tbss"];

/// A part of the module's data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    /// The memory in which it is from the start; none for a passive segment.
    pub memory: Option<u32>,
    /// The address; of a passive segment, its number.
    pub at: u64,
    /// Its length.
    pub bytes: u64,
    /// The variable's name, or the segment's.
    pub name: Option<String>,
    /// The pieces to which its words point.
    pub leads_to: Vec<u32>,
}

/// What is used by whom.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    /// The data in pieces, by memory and address, and then the passive segments.
    pub pieces: Vec<Piece>,
    /// The pieces that each function names, in order; imported functions name none.
    pub of: Vec<Vec<u32>>,
    /// The names of segments.
    pub segments: Vec<Option<String>>,
    /// Why debug information does not help, though there is some.
    pub note: Option<String>,
}

/// How a piece is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// By the code of a function that can run.
    Named,
    /// By words in pieces that are reached.
    Pointed,
    /// Only by the code of functions that cannot run, or through that.
    Idle,
    /// By nothing that is known.
    Not,
}

/// A place in a memory.
type Place = (u32, u64);

/// Bytes of a memory from a place on, up to the end.
#[derive(Clone, Debug)]
struct Extent {
    start: Place,
    end: u64,
    name: Option<String>,
}

impl Uses {
    /// Finds them out for a valid, sealed module, of which the call graph is known.
    ///
    /// # Errors
    /// The module cannot be parsed.
    pub fn of(wasm: &[u8], graph: &Graph) -> Result<Uses> {
        let module = Module::parse(wasm)?;
        let mut uses = Uses {
            segments: names::of_data(&module),
            ..Uses::default()
        };
        let placed = placed(&module)?;
        let areas = joined(&placed);
        let variables = debug::variables(&module).unwrap_or_else(|why| {
            uses.note = Some(why.to_string());
            Vec::new()
        });
        let known = known(&uses.segments, &placed, variables);
        let mut cutter = Cutter {
            areas: &areas,
            known: &known,
        };
        let code: Vec<Vec<Place>> = module
            .bodies
            .iter()
            .map(|body| Ok(cutter.clean(constants::read(&module, &areas, body)?)))
            .collect::<Result<_>>()?;
        let words = words(&module, &placed, &mut cutter);
        // Where pieces begin.
        let mut cuts: Vec<Place> = code.iter().flatten().copied().collect();
        cuts.extend(words.iter().map(|(_, to)| *to));
        cuts.extend(placed.iter().map(|(start, ..)| cutter.start_of(*start)));
        cuts.extend(known.iter().flat_map(|k| [k.start, (k.start.0, k.end)]));
        cuts.extend(areas.iter().map(|area| area.start));
        cuts.sort_unstable();
        cuts.dedup();
        uses.cut(&areas, &known, &cuts);
        for (from, to) in words {
            let (from, to) = (uses.at(&known, from), uses.at(&known, to));
            // What points to itself leads nowhere.
            if let (Some(from), Some(to)) = (from, to)
                && from != to
            {
                uses.pieces[from as usize].leads_to.push(to);
            }
        }
        for piece in &mut uses.pieces {
            piece.leads_to.sort_unstable();
            piece.leads_to.dedup();
        }
        let imported = vec![Vec::new(); module.imported_funcs as usize];
        let own = code.into_iter().map(|places| {
            let pieces = places.into_iter().filter_map(|at| uses.at(&known, at));
            pieces.collect()
        });
        uses.of = imported.into_iter().chain(own).collect();
        uses.add_passive(&module, graph);
        for pieces in &mut uses.of {
            pieces.sort_unstable();
            pieces.dedup();
        }
        Ok(uses)
    }

    /// Makes the pieces of the memories. What is known to lie somewhere is one piece, also where no
    /// segment fills all of it.
    fn cut(&mut self, areas: &[Extent], known: &[Extent], cuts: &[Place]) {
        let mut at = 0;
        let mut last = None;
        for area in areas {
            let (memory, start) = area.start;
            at += cuts[at..].partition_point(|cut| *cut < (memory, start));
            while let Some(&(_, start)) = cuts
                .get(at)
                .filter(|(m, cut)| *m == memory && *cut < area.end)
            {
                at += 1;
                let next = cuts.get(at).filter(|(m, _)| *m == memory);
                let end = next.map_or(area.end, |next| next.1.min(area.end));
                let known = covering(known, (memory, start));
                let extent = known.map(|known| known.start);
                let is_further = extent.is_some() && extent == last;
                last = extent;
                if let Some(piece) = self.pieces.last_mut().filter(|_| is_further) {
                    piece.bytes += end - start;
                    continue;
                }
                self.pieces.push(Piece {
                    memory: Some(memory),
                    at: start,
                    bytes: end - start,
                    name: known.and_then(|known| known.name.clone()),
                    leads_to: Vec::new(),
                });
            }
        }
    }

    /// The piece that an address in data means: that of what is known to lie there, or another.
    fn at(&self, known: &[Extent], at: Place) -> Option<u32> {
        let pieces = &self.pieces;
        let place = |piece: &Piece| (piece.memory.unwrap_or(u32::MAX), piece.at);
        let number = match covering(known, at) {
            Some(known) => {
                // It may begin before there is data.
                let number = pieces.partition_point(|piece| place(piece) < known.start);
                let first = pieces.get(number)?;
                (place(first) < (at.0, known.end)).then_some(number)?
            }
            None => pieces
                .partition_point(|piece| place(piece) <= at)
                .checked_sub(1)?,
        };
        Some(number as u32)
    }

    /// The passive segments, and the functions that name them.
    fn add_passive(&mut self, module: &Module<'_>, graph: &Graph) {
        let mut pieces = vec![None; module.data.len()];
        for (segment, number) in module.data.iter().zip(0_u32..) {
            if segment.mode != SegmentMode::Passive {
                continue;
            }
            pieces[number as usize] = Some(self.pieces.len() as u32);
            self.pieces.push(Piece {
                memory: None,
                at: number.into(),
                bytes: segment.bytes.len() as u64,
                name: self.segments[number as usize].clone(),
                leads_to: Vec::new(),
            });
        }
        for &(func, number) in &graph.named {
            let piece = pieces.get(number as usize).copied().flatten();
            if let (Some(of), Some(piece)) = (self.of.get_mut(func), piece) {
                of.push(piece);
            }
        }
    }

    /// How each piece is reached, if these functions can run.
    #[must_use]
    pub fn reached(&self, runs: impl Fn(usize) -> bool) -> Vec<Reached> {
        let mut found = vec![Reached::Not; self.pieces.len()];
        let named = |found: &mut Vec<Reached>, running: bool, as_what| {
            let mut queue = VecDeque::new();
            for (func, pieces) in self.of.iter().enumerate() {
                for &piece in pieces.iter().filter(|_| runs(func) == running) {
                    if found[piece as usize] == Reached::Not {
                        found[piece as usize] = as_what;
                        queue.push_back(piece);
                    }
                }
            }
            queue
        };
        let spread = |found: &mut Vec<Reached>, mut queue: VecDeque<u32>, as_what| {
            while let Some(piece) = queue.pop_front() {
                for &next in &self.pieces[piece as usize].leads_to {
                    if found[next as usize] == Reached::Not {
                        found[next as usize] = as_what;
                        queue.push_back(next);
                    }
                }
            }
        };
        let queue = named(&mut found, true, Reached::Named);
        spread(&mut found, queue, Reached::Pointed);
        let queue = named(&mut found, false, Reached::Idle);
        spread(&mut found, queue, Reached::Idle);
        found
    }
}

/// The active segments that are not empty: where each begins, its number, and its bytes.
fn placed<'a>(module: &Module<'a>) -> Result<Vec<(Place, usize, &'a [u8])>> {
    let mut placed = Vec::new();
    for (number, &Segment { mode, bytes }) in module.data.iter().enumerate() {
        if let SegmentMode::Active { target, offset } = mode
            && !bytes.is_empty()
        {
            let at = module.constant(offset)?;
            placed.push(((target, at), number, bytes));
        }
    }
    Ok(placed)
}

/// The parts of memories that segments fill, in order and without overlaps.
fn joined(placed: &[(Place, usize, &[u8])]) -> Vec<Extent> {
    let ends = placed.iter().map(|(start, _, bytes)| Extent {
        start: *start,
        end: start.1.saturating_add(bytes.len() as u64),
        name: None,
    });
    let mut all: Vec<Extent> = ends.collect();
    all.sort_unstable_by_key(|area| (area.start, area.end));
    let mut areas: Vec<Extent> = Vec::new();
    for next in all {
        match areas.last_mut() {
            Some(last) if last.start.0 == next.start.0 && next.start.1 <= last.end => {
                last.end = last.end.max(next.end);
            }
            _ => areas.push(next),
        }
    }
    areas
}

/// What is known to lie in the memories, in order and without overlaps: variables, and segments with
/// names of their own.
fn known(
    names: &[Option<String>],
    placed: &[(Place, usize, &[u8])],
    variables: Vec<debug::Variable>,
) -> Vec<Extent> {
    let segments = placed.iter().filter_map(|(start, number, bytes)| {
        let name = names.get(*number)?.as_ref()?;
        (!KINDS.contains(&name.as_str())).then(|| Extent {
            start: *start,
            end: start.1.saturating_add(bytes.len() as u64),
            name: Some(name.clone()),
        })
    });
    let variables = variables.into_iter().map(|variable| Extent {
        start: (0, variable.at),
        end: variable.at.saturating_add(variable.bytes),
        name: variable.name,
    });
    let mut all: Vec<Extent> = variables.chain(segments).collect();
    all.retain(|known| known.start.1 < known.end);
    // Of those that begin at one place, the largest counts, and of equal ones the first.
    all.sort_by_key(|known| (known.start, std::cmp::Reverse(known.end)));
    let mut kept: Vec<Extent> = Vec::new();
    for next in all {
        let free = kept
            .last()
            .is_none_or(|last| last.start.0 != next.start.0 || last.end <= next.start.1);
        if free {
            kept.push(next);
        }
    }
    kept
}

/// That of these extents in which a place is.
fn covering(extents: &[Extent], at: Place) -> Option<&Extent> {
    let behind = extents.partition_point(|extent| extent.start <= at);
    let extent = extents.get(behind.checked_sub(1)?)?;
    (extent.start.0 == at.0 && at.1 < extent.end).then_some(extent)
}

/// Where data is, and what of it is known.
struct Cutter<'c> {
    areas: &'c [Extent],
    known: &'c [Extent],
}

impl Cutter<'_> {
    /// The place where that begins in which an address is.
    fn start_of(&self, at: Place) -> Place {
        covering(self.known, at).map_or(at, |known| known.start)
    }

    /// The places in data, each once.
    fn clean(&self, mut places: Vec<Place>) -> Vec<Place> {
        places.retain(|at| covering(self.areas, *at).is_some());
        for at in &mut places {
            *at = self.start_of(*at);
        }
        places.sort_unstable();
        places.dedup();
        places
    }
}

/// The words of the data that are addresses in their memory: where each is, and where it points.
fn words(
    module: &Module<'_>,
    placed: &[(Place, usize, &[u8])],
    cutter: &mut Cutter<'_>,
) -> Vec<(Place, Place)> {
    let mut found = Vec::new();
    for &((memory, start), _, bytes) in placed {
        let wide = module.memories.get(memory as usize);
        let size = match wide.is_some_and(|memory| memory.index64) {
            true => 8,
            false => 4,
        };
        let first = start.next_multiple_of(size) - start;
        let aligned = bytes.get(first as usize..).unwrap_or(&[]);
        for (word, at) in aligned.chunks_exact(size as usize).zip(0..) {
            let word = word.iter().rev().fold(0, |sum, b| sum << 8 | u64::from(*b));
            let to = (memory, word);
            if covering(cutter.areas, to).is_some() {
                let at = (memory, start + first + at * size);
                found.push((at, cutter.start_of(to)));
            }
        }
    }
    found
}
