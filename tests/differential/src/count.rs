//! How often a run executes what a comparison is about: a copy of a module counts in globals of its
//! own, so that a figure says what ran, not what was there.
//!
//! The copy has, before each instruction of a class, an addition to the global of that class. These
//! leave the operand stack and all results as they are. The function that digests the state counts
//! only the calls that it begins.

use crate::features;
use crate::sip;
use anyhow::{Context, Result};
use std::ops::AddAssign;
use wasm_encoder::Encode;
use wasmparser::{BinaryReader, Operator, Parser, Payload};

/// The counted classes.
pub const CLASSES: [&str; CLASS_COUNT] = [
    "exceptions thrown",
    "try blocks entered",
    "calls through typed references",
    "tail calls",
    "atomic accesses",
    "vector instructions",
    "calls",
];
const CLASS_COUNT: usize = 7;
/// Their places.
const THROWN: usize = 0;
const TRIED: usize = 1;
const REFERENCES: usize = 2;
const TAILS: usize = 3;
const ATOMICS: usize = 4;
const VECTORS: usize = 5;
const CALLS: usize = 6;
/// The place behind the classes: calls that the function which digests the state has begun, the
/// first of which asks for the number of arguments.
const BEGUN: usize = CLASS_COUNT;
/// All counters.
pub const COUNTERS: usize = CLASS_COUNT + 1;

/// How often each class was executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts(pub [u64; COUNTERS]);

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        for (sum, n) in self.0.iter_mut().zip(other.0) {
            *sum += n;
        }
    }
}

impl Counts {
    /// Exceptions thrown: all are caught but one for each run that ends by it.
    pub fn thrown(&self) -> u64 {
        self.0[THROWN]
    }

    /// Calls of plans that were begun, and the question for the number of arguments before them.
    pub fn begun(&self) -> u64 {
        self.0[BEGUN]
    }
}

/// The name of the export with the counter of a class.
pub fn export(class: usize) -> String {
    format!("counted {class}")
}

/// The classes of an instruction.
fn classes(op: &Operator<'_>) -> Vec<usize> {
    use Operator as O;
    match op {
        O::Throw { .. } | O::ThrowRef => vec![THROWN],
        O::TryTable { .. } => vec![TRIED],
        O::CallRef { .. } => vec![REFERENCES, CALLS],
        O::ReturnCallRef { .. } => vec![REFERENCES, TAILS, CALLS],
        O::ReturnCall { .. } | O::ReturnCallIndirect { .. } => vec![TAILS, CALLS],
        O::Call { .. } | O::CallIndirect { .. } => vec![CALLS],
        other => match features::proposal(other) {
            "threads" => vec![ATOMICS],
            "simd" | "relaxed_simd" => vec![VECTORS],
            _ => Vec::new(),
        },
    }
}

/// `global.get N`, `i64.const 1`, `i64.add`, `global.set N`.
fn addition(global: u32, out: &mut Vec<u8>) {
    out.push(0x23);
    global.encode(out);
    out.extend([0x42, 0x01, 0x7c, 0x24]);
    global.encode(out);
}

/// The classes of an instruction of the function that digests the state.
fn of_digest(op: &Operator<'_>) -> Vec<usize> {
    match op {
        Operator::Call { .. } => vec![BEGUN],
        _ => Vec::new(),
    }
}

/// A function's body with its additions; `first` is the first counter's global.
fn counting(
    wasm: &[u8],
    body: &wasmparser::FunctionBody<'_>,
    first: u32,
    classes: fn(&Operator<'_>) -> Vec<usize>,
) -> Result<Vec<u8>> {
    let whole = sip::bytes(&body.range());
    let mut out = Vec::with_capacity(whole.len() * 2);
    let mut copied = whole.start;
    let mut reader = body.get_operators_reader()?;
    while !reader.eof() {
        let at = reader.original_position() as usize;
        let op = reader.read()?;
        let classes = classes(&op);
        if classes.is_empty() {
            continue;
        }
        out.extend_from_slice(&wasm[copied..at]);
        copied = at;
        if matches!(op, Operator::ThrowRef) {
            // A null one throws nothing: `ref.as_non_null` traps as it would.
            out.push(0xd4);
        }
        for class in classes {
            addition(first + class as u32, &mut out);
        }
    }
    out.extend_from_slice(&wasm[copied..whole.end]);
    Ok(out)
}

/// The items of a section and those of the counters.
fn more(section: &[u8], count: u32, items: &[u8]) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut reader = BinaryReader::new(section, 0);
    let there = match section.is_empty() {
        true => 0,
        false => reader.read_var_u32()?,
    };
    (there + count).encode(&mut out);
    out.extend_from_slice(&section[reader.original_position() as usize..]);
    out.extend_from_slice(items);
    Ok(out)
}

fn put(out: &mut Vec<u8>, id: u8, section: &[u8]) {
    out.push(id);
    (section.len() as u32).encode(out);
    out.extend_from_slice(section);
}

/// The copy that counts. The module has exports, as each SIP has.
pub fn instrument(wasm: &[u8]) -> Result<Vec<u8>> {
    let count = COUNTERS as u32;
    let mut first = 0;
    let mut bodies = Vec::new();
    for payload in Parser::new(0).parse_all(wasm) {
        match payload? {
            Payload::GlobalSection(section) => first = section.count(),
            Payload::CodeSectionEntry(body) => bodies.push(body),
            _ => {}
        }
    }
    // Mutable ones of i64, of 0.
    let globals = [0x7e, 0x01, 0x42, 0x00, 0x0b].repeat(COUNTERS);
    let mut exports = Vec::new();
    for class in 0..COUNTERS {
        export(class).as_str().encode(&mut exports);
        exports.push(3);
        (first + class as u32).encode(&mut exports);
    }
    let mut out = wasm[..8].to_vec();
    let mut counters = false;
    for payload in Parser::new(0).parse_all(wasm) {
        let payload = payload?;
        let Some((id, range)) = payload.as_section() else {
            continue;
        };
        let section = wasm
            .get(sip::bytes(&range))
            .context("a section that is not there")?;
        if !counters && (6..=12).contains(&id) {
            counters = true;
            let there = if id == 6 { section } else { &[] };
            put(&mut out, 6, &more(there, count, &globals)?);
        }
        match id {
            6 => {}
            7 => put(&mut out, 7, &more(section, count, &exports)?),
            10 => {
                let mut code = Vec::new();
                (bodies.len() as u32).encode(&mut code);
                let digest = bodies.len().saturating_sub(sip::ADDED as usize);
                for (index, body) in bodies.iter().enumerate() {
                    let classes = if index < digest { classes } else { of_digest };
                    let body = counting(wasm, body, first, classes)?;
                    (body.len() as u32).encode(&mut code);
                    code.extend(body);
                }
                put(&mut out, 10, &code);
            }
            _ => put(&mut out, id, section),
        }
    }
    sip::validate(&out).context("the copy that counts is no module")?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::Engines;

    /// Modules of the first seeds.
    const SEEDS: std::ops::Range<u64> = 0..120;

    #[test]
    fn each_class_is_executed_and_exceptions_are_caught() {
        // Some modules exhaust the stack that the engines have, of megabytes.
        let thread = std::thread::Builder::new().stack_size(16 << 20);
        let thread = thread.spawn(execute).expect("a thread");
        thread.join().expect("each class");
    }

    fn execute() {
        let engines = Engines::new().expect("engines");
        let mut sums = std::collections::BTreeMap::<String, u64>::new();
        for seed in SEEDS {
            let Some(wasm) = crate::module(seed).expect("a module") else {
                continue;
            };
            let answer = engines.expect(&wasm).expect("results");
            for (figure, n) in answer.into_iter().flat_map(|answer| answer.figures) {
                *sums.entry(figure).or_default() += n;
            }
        }
        for figure in CLASSES.into_iter().chain(["exceptions caught"]) {
            let n = sums.get(figure).copied().unwrap_or_default();
            assert_eq!(n > 0, cfg!(feature = "wasmtime"), "{figure}: {n}");
        }
    }
}
