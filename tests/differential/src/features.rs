//! The proposals of WebAssembly that a module makes use of, so that a run says how many of its
//! modules had which, and which engines judged them.

use crate::sip::ADDED;
use anyhow::Result;
use std::collections::BTreeSet;
use wasmparser::{Operator, Parser, Payload, RefType, TypeRef, ValType};

macro_rules! define_proposal {
    ($( @$proposal:ident $op:ident $({ $($arg:ident: $ty:ty),* })? => $visit:ident ($($rest:tt)*) )*) => {
        /// The proposal that an instruction comes from, by wasmparser's name.
        pub fn proposal(op: &Operator<'_>) -> &'static str {
            match op {
                $( Operator::$op { .. } => stringify!($proposal), )*
                _ => "another",
            }
        }
    };
}
wasmparser::for_each_operator!(define_proposal);

/// The pages of a memory of the first version, as a power of two.
const PAGE: u32 = 16;

/// The proposals of a module, in words.
pub fn of(wasm: &[u8]) -> Result<BTreeSet<&'static str>> {
    let mut found = BTreeSet::new();
    let mut memories = 0;
    let mut bodies = Vec::new();
    for payload in Parser::new(0).parse_all(wasm) {
        match payload? {
            Payload::MemorySection(section) => {
                for memory in section {
                    let memory = memory?;
                    memories += 1;
                    if memory.memory64 {
                        found.insert("memories of 64-bit addresses");
                    }
                    if memory.page_size_log2.is_some_and(|page| page != PAGE) {
                        found.insert("custom page sizes");
                    }
                }
            }
            Payload::TableSection(section) => {
                for table in section {
                    let table = table?;
                    if table.ty.table64 {
                        found.insert("tables of 64-bit indices");
                    }
                    if is_typed(table.ty.element_type) {
                        found.insert("typed references to functions");
                    }
                }
            }
            Payload::GlobalSection(section) => {
                for global in section {
                    let global = global?;
                    if let ValType::Ref(of) = global.ty.content_type
                        && is_typed(of)
                    {
                        found.insert("typed references to functions");
                    }
                    let mut ops = global.init_expr.get_operators_reader();
                    let mut count = 0;
                    while !ops.eof() {
                        ops.read()?;
                        count += 1;
                    }
                    // A constant and `end` are what there always was.
                    if count > 2 {
                        found.insert("extended constant expressions");
                    }
                }
            }
            Payload::TagSection(_) => {
                found.insert("exceptions");
            }
            Payload::ImportSection(section) => {
                for import in section.into_imports() {
                    if matches!(import?.ty, TypeRef::Tag(_)) {
                        found.insert("exceptions");
                    }
                }
            }
            Payload::CodeSectionEntry(body) => bodies.push(body),
            _ => {}
        }
    }
    if memories > 1 {
        found.insert("several memories");
    }
    // The function that digests the state has vectors in almost every module.
    bodies.truncate(bodies.len().saturating_sub(ADDED as usize));
    for body in bodies {
        for op in body.get_operators_reader()? {
            found.extend(in_words(proposal(&op?)));
        }
    }
    Ok(found)
}

/// Whether it is a reference to functions of one type.
fn is_typed(of: RefType) -> bool {
    of.type_index().is_some()
}

/// The proposals that are worth a figure.
fn in_words(proposal: &str) -> Option<&'static str> {
    Some(match proposal {
        "simd" => "SIMD",
        "relaxed_simd" => "relaxed SIMD",
        "exceptions" => "exceptions",
        "tail_call" => "tail calls",
        "threads" => "atomic accesses",
        "function_references" => "typed references to functions",
        "bulk_memory" => "bulk memory",
        "reference_types" => "reference types",
        _ => return None,
    })
}
