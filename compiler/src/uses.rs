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

use crate::debug;
use crate::error::Result;
use crate::graph::Graph;
use crate::module::{Module, Segment};
use crate::names;
use sing_image::meta::{ConstExpr, SegmentMode};
use std::collections::VecDeque;
use wasmparser as wp;

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
            .map(|body| Ok(cutter.clean(constants(&module, &areas, body)?)))
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

/// A constant that was read, and of which the next instructions say what becomes of it.
#[derive(Clone, Copy)]
enum Open {
    Read(u64),
    /// It was added to something.
    Added(u64),
}

/// The addresses that the constants of a function may be. A constant of which nothing says which
/// memory it is for counts in each that the function accesses, or in all if it accesses none.
fn constants(
    module: &Module<'_>,
    areas: &[Extent],
    body: &wp::FunctionBody<'_>,
) -> Result<Vec<Place>> {
    if areas.is_empty() {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    let (mut plain, mut accessed) = (Vec::new(), Vec::new());
    let mut open = None;
    for operator in body.get_operators_reader()? {
        let operator = operator?;
        let access = access(&operator);
        let mut next = None;
        if let Some(Access { memory, .. }) = access
            && accessed.last() != Some(&memory)
        {
            accessed.push(memory);
        }
        match (open.take(), access) {
            (Some(Open::Read(value)), Some(access)) if access.by_last => {
                found.push((access.memory, value.saturating_add(access.offset)));
            }
            (before, access) => {
                if let Some(access) = access.filter(|access| access.offset > 0) {
                    found.push((access.memory, access.offset));
                }
                match before {
                    Some(Open::Read(_)) if is_no_address(&operator) => {}
                    Some(Open::Read(value)) if is_sum(&operator) => next = Some(Open::Added(value)),
                    // The stack pointer, which is set back.
                    Some(Open::Added(_)) if matches!(operator, wp::Operator::GlobalSet { .. }) => {}
                    Some(Open::Read(value) | Open::Added(value)) => plain.push(value),
                    None => {}
                }
            }
        }
        open = next.or_else(|| constant(module, &operator).map(Open::Read));
    }
    if let Some(Open::Read(value) | Open::Added(value)) = open {
        plain.push(value);
    }
    accessed.sort_unstable();
    accessed.dedup();
    if accessed.is_empty() {
        accessed = areas.iter().map(|area| area.start.0).collect();
        accessed.dedup();
    }
    plain.sort_unstable();
    plain.dedup();
    for memory in accessed {
        found.extend(plain.iter().map(|value| (memory, *value)));
    }
    Ok(found)
}

/// The integer that an instruction pushes, whatever runs before.
fn constant(module: &Module<'_>, operator: &wp::Operator<'_>) -> Option<u64> {
    match *operator {
        wp::Operator::I32Const { value } => Some(value.cast_unsigned().into()),
        wp::Operator::I64Const { value } => Some(value.cast_unsigned()),
        wp::Operator::GlobalGet { global_index } => {
            let ty = module.globals.get(global_index as usize)?;
            if ty.mutable {
                return None;
            }
            module.constant(ConstExpr::Global(global_index)).ok()
        }
        _ => None,
    }
}

/// Whether the last operand of an instruction is no address.
fn is_no_address(operator: &wp::Operator<'_>) -> bool {
    use wp::Operator as O;
    matches!(
        operator,
        O::I32And
            | O::I32Xor
            | O::I32Sub
            | O::I32Mul
            | O::I32DivS
            | O::I32DivU
            | O::I32RemS
            | O::I32RemU
            | O::I32Shl
            | O::I32ShrS
            | O::I32ShrU
            | O::I32Rotl
            | O::I32Rotr
            | O::I64And
            | O::I64Xor
            | O::I64Sub
            | O::I64Mul
            | O::I64DivS
            | O::I64DivU
            | O::I64RemS
            | O::I64RemU
            | O::I64Shl
            | O::I64ShrS
            | O::I64ShrU
            | O::I64Rotl
            | O::I64Rotr
            | O::Drop
            | O::MemoryGrow { .. }
    )
}

fn is_sum(operator: &wp::Operator<'_>) -> bool {
    matches!(operator, wp::Operator::I32Add | wp::Operator::I64Add)
}

/// An access to memory.
#[derive(Clone, Copy)]
struct Access {
    memory: u32,
    offset: u64,
    /// Whether the last operand is the address.
    by_last: bool,
}

/// The access that an instruction is: all that have a field of this name are one.
macro_rules! accesses {
    (of [memarg $($name:ident)*] [$memarg:ident $($rest:ident)*] arity $(memarg)? $operands:literal -> $results:literal) => {{
        $( let _ = $rest; )*
        Some(($memarg, $operands))
    }};
    (of [$($name:ident)*] [$($rest:ident)*] $($ann:tt)*) => {{
        $( let _ = $rest; )*
        None
    }};
    ($operator:expr; $( @$proposal:ident $op:ident $({ $($arg:ident: $argty:ty),* })? => $visit:ident ($($ann:tt)*) )*) => {
        match $operator {
            $(
                wp::Operator::$op $({ $($arg),* })? => {
                    accesses!(of [$($($arg)*)?] [$($($arg)*)?] $($ann)*)
                }
            )*
            _ => None,
        }
    };
}

/// What an instruction accesses, if it has an address of its own.
fn access(operator: &wp::Operator<'_>) -> Option<Access> {
    macro_rules! of_all {
        ($($all:tt)*) => { accesses!(operator; $($all)*) };
    }
    let found: Option<(&wp::MemArg, u32)> = wp::for_each_operator!(of_all);
    let (memarg, operands) = found?;
    let wp::MemArgTarget::Memory(memory) = memarg.target else {
        return None;
    };
    Some(Access {
        memory,
        offset: memarg.offset,
        by_last: operands == 1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::processor_time;
    use std::time::Duration;

    fn uses(text: &str) -> Uses {
        let wasm = wat::parse_str(text).unwrap();
        Uses::of(&wasm, &Graph::of(&wasm).unwrap()).unwrap()
    }

    /// The pieces of a module: memory, address, length.
    fn pieces(uses: &Uses) -> Vec<(Option<u32>, u64, u64)> {
        let pieces = uses.pieces.iter();
        pieces.map(|p| (p.memory, p.at, p.bytes)).collect()
    }

    /// The pieces that function 0 names in a memory with 100 bytes at 1000, by their addresses.
    fn named(body: &str) -> Vec<u64> {
        let hundred = "x".repeat(100);
        let uses = uses(&format!(
            "(module (memory 1) (data (i32.const 1000) \"{hundred}\") (func {body})
                (global $table i32 (i32.const 1040)) (global $sp (mut i32) (i32.const 1020)))"
        ));
        let named = uses.of[0].iter();
        named.map(|p| uses.pieces[*p as usize].at).collect()
    }

    #[test]
    fn constants_that_become_addresses_are_found() {
        for (body, found) in [
            ("(drop (i32.load (i32.const 1016)))", &[1016][..]),
            ("(drop (i32.load offset=1000 (i32.const 16)))", &[1016]),
            ("(drop (i32.load offset=1000 (i32.const 0)))", &[1000]),
            (
                "(i32.store offset=1012 (i32.const 0) (i32.const 1001))",
                &[1001, 1012],
            ),
            (
                "(local i32) (drop (i32.load8_u offset=1032 (local.get 0)))",
                &[1032],
            ),
            (
                "(local i32) (drop (i32.load8_u (i32.add (local.get 0) (i32.const 1032))))",
                &[1032],
            ),
            ("(drop (i32.load (global.get $table)))", &[1040]),
            ("(drop (v128.load (i32.const 1048)))", &[1048]),
            (
                "(drop (i32.atomic.rmw.add (i32.const 1008) (i32.const 5)))",
                &[1008],
            ),
            (
                "(local v128) (drop (v128.load8_lane offset=1000 3 (i32.const 24) (local.get 0)))",
                &[1000],
            ),
            (
                "(memory.copy (i32.const 0) (i32.const 1099) (i32.const 4))",
                &[1099],
            ),
            // Outside, or something else.
            ("(drop (i32.load (i32.const 999)))", &[]),
            ("(drop (i32.load (i32.const 1100)))", &[]),
            (
                "(local i32) (drop (i32.and (local.get 0) (i32.const 1023)))",
                &[],
            ),
            (
                "(local i32) (drop (i32.mul (local.get 0) (i32.const 1000)))",
                &[],
            ),
            (
                "(global.set $sp (i32.sub (global.get $sp) (i32.const 1024)))",
                &[],
            ),
            (
                "(global.set $sp (i32.add (global.get $sp) (i32.const 1024)))",
                &[],
            ),
            ("(drop (i64.load (i32.const 8)))", &[]),
        ] {
            assert_eq!(named(body), found, "{body}");
        }
    }

    #[test]
    fn pieces_end_where_the_next_begin_and_are_all_of_the_data() {
        let of = uses(
            "(module (memory 1) (data (i32.const 64) \"0123456789\") (data (i32.const 74) \"abcdef\")
                (data (i32.const 100) \"far\") (data \"passive\")
                (func (drop (i32.load (i32.const 66)))) (func (drop (i32.load (i32.const 76))))
                (func (memory.init 3 (i32.const 0) (i32.const 0) (i32.const 7))))",
        );
        assert_eq!(
            pieces(&of),
            [
                (Some(0), 64, 2),
                (Some(0), 66, 8),
                (Some(0), 74, 2),
                (Some(0), 76, 4),
                (Some(0), 100, 3),
                (None, 3, 7),
            ]
        );
        assert_eq!(of.of, [vec![1], vec![3], vec![5]]);
        use Reached as R;
        let found = of.reached(|func| func != 1);
        assert_eq!(found, [R::Not, R::Named, R::Not, R::Idle, R::Not, R::Named]);
    }

    #[test]
    fn words_lead_from_piece_to_piece() {
        // At 16 a word that points to 24, where one points to 28, where there is a text; another
        // piece points to the first and is named by nobody, and one by a function that cannot run.
        let of = uses(
            "(module (memory 1) (data (i32.const 16) \"\\18\\00\\00\\00abcd\\1c\\00\\00\\00text\")
                (data (i32.const 64) \"\\10\\00\\00\\00\") (data (i32.const 80) \"\\54\\00\\00\\00beyo\")
                (func (drop (i32.load (i32.const 16)))) (func (drop (i32.load (i32.const 80)))))",
        );
        let leads: Vec<_> = of
            .pieces
            .iter()
            .map(|p| (p.at, p.leads_to.clone()))
            .collect();
        let expected: [(u64, &[u32]); 6] = [
            (16, &[1]),
            (24, &[2]),
            (28, &[]),
            (64, &[0]),
            (80, &[5]),
            (84, &[]),
        ];
        assert!(
            leads.iter().map(|(at, to)| (*at, &to[..])).eq(expected),
            "{leads:?}"
        );
        use Reached as R;
        let found = of.reached(|func| func == 0);
        assert_eq!(
            found,
            [R::Named, R::Pointed, R::Pointed, R::Not, R::Idle, R::Idle]
        );
    }

    #[test]
    fn a_segment_with_a_name_of_its_own_is_one_piece() {
        let text = "(module (memory 1) (data $NAME (i32.const 16) \"01234567\") (data $.rodata (i32.const 24) \"89abcdef\")
            (func (drop (i32.load8_u (i32.const 20)))) (func (drop (i32.load8_u (i32.const 28)))))";
        let of = uses(&text.replace("NAME", "table"));
        assert_eq!(
            pieces(&of),
            [(Some(0), 16, 8), (Some(0), 24, 4), (Some(0), 28, 4)]
        );
        assert_eq!(of.pieces[0].name.as_deref(), Some("table"));
        assert_eq!(of.of, [[0], [2]]);
        // That of a linker, for all that is alike.
        let of = uses(&text.replace("NAME", ".data"));
        assert_eq!(of.pieces.len(), 4);
        assert_eq!(of.segments[0].as_deref(), Some(".data"));
        assert!(of.pieces.iter().all(|piece| piece.name.is_none()));
    }

    #[test]
    fn segments_over_each_other_are_counted_once() {
        let of = uses(
            "(module (memory 1) (data (i32.const 16) \"01234567\") (data (i32.const 20) \"abcdefgh\")
                (data (i32.const 18) \"x\") (data (i32.const 40) \"\"))",
        );
        assert_eq!(pieces(&of).iter().map(|p| p.2).sum::<u64>(), 12);
        let end = u64::from(u32::MAX);
        let last = uses(&format!(
            "(module (memory 65536) (data (i32.const {end}) \"z\"))"
        ));
        assert_eq!(pieces(&last), [(Some(0), end, 1)]);
    }

    #[test]
    fn constants_count_in_the_memories_that_a_function_accesses() {
        let of = uses(
            "(module (memory $a 1) (memory $b i64 1)
                (data (memory $a) (i32.const 16) \"0123\") (data (memory $b) (i64.const 16) \"0123\")
                (func (drop (i32.load $a (i32.const 16))) (drop (i32.const 16)))
                (func (local i64) (drop (i32.load $b (i64.add (local.get 0) (i64.const 16)))))
                (func (param i32)) (func (call 2 (i32.const 16))))",
        );
        assert_eq!(of.of, [vec![0], vec![1], vec![], vec![0, 1]]);
    }

    #[test]
    fn what_is_known_is_one_piece_however_few_segments_fill_it() {
        let known = [
            Extent {
                start: (0, 10),
                end: 40,
                name: Some("a".into()),
            },
            Extent {
                start: (0, 60),
                end: 70,
                name: Some("empty".into()),
            },
        ];
        let placed: [(Place, usize, &[u8]); 4] = [
            ((0, 12), 0, b"aa"),
            ((0, 20), 1, b"bbb"),
            ((0, 38), 2, b"cccc"),
            ((0, 80), 3, b"d"),
        ];
        let areas = joined(&placed);
        let mut cuts: Vec<Place> = areas.iter().map(|area| area.start).collect();
        cuts.extend(known.iter().flat_map(|k| [k.start, (0, k.end)]));
        cuts.sort_unstable();
        let mut uses = Uses::default();
        uses.cut(&areas, &known, &cuts);
        assert_eq!(
            pieces(&uses),
            [(Some(0), 12, 7), (Some(0), 40, 2), (Some(0), 80, 1)]
        );
        for (at, piece) in [
            (10, Some(0)),
            (21, Some(0)),
            (39, Some(0)),
            (41, Some(1)),
            (65, None),
            (80, Some(2)),
        ] {
            assert_eq!(uses.at(&known, (0, at)), piece, "{at}");
        }
    }

    #[test]
    fn what_there_are_very_many_of_takes_no_time() {
        const MANY: usize = 100_000;
        let loads = "(drop (i32.load 0 (i32.const 0))) (drop (i32.load 1 (i32.const 0)))";
        let drops: String = (0..MANY).map(|n| format!("(data.drop {n})")).collect();
        for (what, text) in [
            (
                "accesses of two memories in turns",
                format!(
                    "(memory 1) (memory 1) (data (i32.const 0) \"x\") (func {})",
                    loads.repeat(MANY)
                ),
            ),
            (
                "passive segments",
                format!("(memory 1) {} (func {drops})", "(data \"\")".repeat(MANY)),
            ),
        ] {
            let wasm = wat::parse_str(format!("(module {text})")).unwrap();
            let graph = Graph::of(&wasm).unwrap();
            let (uses, took) = processor_time(|| Uses::of(&wasm, &graph));
            assert!(uses.is_ok(), "{what}");
            assert!(took < Duration::from_secs(20), "{what}: {took:?}");
        }
    }
}
