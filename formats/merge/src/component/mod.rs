//! A component, lowered: one core module, with what each of its imports means.
//!
//! Tools make a component of a program like this: the program's module; a shim and fix-ups around it
//! (`shim.rs`), since what it calls needs its memory; a module that starts its `_initialize`; perhaps an
//! adapter between WASI preview 1 and 0.2. Of these only the program's module stays. What it imports is followed through instances,
//! aliases and the shim to the component's own imports, by which the adapter of this system has them
//! (`wasi:io/streams@0.2.6`, `[method]output-stream.write`). Names within the component mean nothing.
//! Several modules that work in one memory are linked to one (`link.rs`).
//!
//! Invariants:
//! - The lowered module is, to the byte, one of the component's, or it is linked.
//! - Whatever does not lead where it should is a reason not to run it, and all reasons are collected.

mod follow;
mod index;
mod link;
mod number;
mod read;
mod room;
mod shim;
#[cfg(test)]
mod tests;

use crate::parts::Parts;
use crate::{Error, UNSTABLE};
use follow::{Lowering, Target};
use index::Index;
use read::{Component, CoreInstance, Item};
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use wasmparser as wp;

/// The interfaces by which a component begins.
const ENTRIES: [Entry; 2] = [
    Entry {
        interface: "wasi:cli/run@0.2.",
        name: "run",
        params: &[],
        results: &[wp::ValType::I32],
    },
    Entry {
        interface: "wasi:http/incoming-handler@0.2.",
        name: "handle",
        params: &[wp::ValType::I32; 2],
        results: &[],
    },
];

/// A function by which a component begins, and its core type.
struct Entry {
    interface: &'static str,
    name: &'static str,
    params: &'static [wp::ValType],
    results: &'static [wp::ValType],
}

/// What an import of a program's module means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wanted<'a> {
    /// A function of WASI preview 1.
    Preview1(&'a str),
    /// A function of the version before, `wasi_unstable`.
    Unstable(&'a str),
    /// A function of an interface, with its version.
    Interface(&'a str, Cow<'a, str>),
    /// A function of another module, as the module itself has it.
    Foreign,
    /// Nothing that there is.
    Wrong(String),
}

impl<'a> Wanted<'a> {
    /// A function of a module with one of the names in [`crate::WASI`].
    pub fn of_wasi(module: &str, name: &'a str) -> Wanted<'a> {
        match module == UNSTABLE {
            true => Wanted::Unstable(name),
            false => Wanted::Preview1(name),
        }
    }
}

/// A component, lowered.
#[derive(Default)]
pub(crate) struct Lowered<'a> {
    pub program: Parts<'a>,
    /// In its place, the module that its modules were linked to: what that imports, it imports of interfaces.
    pub linked: Option<Vec<u8>>,
    /// What each import means.
    pub wanted: Vec<Wanted<'a>>,
    /// The program's function that makes room in its memory.
    pub realloc: Option<u32>,
    /// The program's functions with which other modules of the component start, in their order.
    pub starts: Vec<u32>,
    /// The function of `wasi:cli/run`.
    pub run: Option<u32>,
    /// The function of `wasi:http/incoming-handler`.
    pub handle: Option<u32>,
    /// Whether it begins as a program of preview 1 does.
    pub begins: bool,
    /// What it exports.
    pub exports: Vec<&'a str>,
    /// Why it cannot run.
    pub reasons: Vec<String>,
}

/// What a module of a component is for.
enum Role<'a> {
    /// The slot that each function calls.
    Shim(Vec<u32>),
    /// The imported function in each slot, and the one with which they start.
    Fixups {
        slots: Vec<shim::Import<'a>>,
        start: Option<shim::Import<'a>>,
        /// The table that they fill.
        table: shim::Import<'a>,
    },
    /// It starts with this imported function, and does nothing else.
    Start(shim::Import<'a>),
    /// It works in another module's memory. If the program calls it by a name of preview 1, it is
    /// between preview 1 and 0.2.
    Adapter,
    Program,
}

/// Lowers a component, which is valid.
pub(crate) fn lower<'a>(bytes: &'a [u8]) -> Result<Lowered<'a>, Error> {
    let component = Component::read(bytes)?;
    let mut modules = Vec::new();
    for module in &component.modules {
        modules.push(match module {
            Item::Bytes(bytes) => Some(Parts::take(bytes)?),
            _ => None,
        });
    }
    let roles: Vec<Option<Role>> = modules
        .iter()
        .map(|module| module.as_ref().map(role))
        .collect();
    let mut reasons = Vec::new();
    let index = Index::new(&component, &modules, &roles);
    if index.twice {
        reasons.push("has a shim whose table is filled twice".into());
    }
    let mut programs: Vec<(u32, u32)> = Vec::new();
    let mut adapters = BTreeSet::new();
    for (number, instance) in (0..).zip(&component.core_instances) {
        let CoreInstance::Module(module, _) = instance else {
            continue;
        };
        match roles.get(*module as usize) {
            Some(None | Some(Role::Program)) => programs.push((number, *module)),
            Some(Some(Role::Adapter)) => {
                adapters.insert(number);
            }
            _ => {}
        }
    }
    let inner = component.components.iter();
    let composed = inner.filter(|c| has_modules(c)).count();
    if composed > 0 {
        reasons.push(format!(
            "is composed of {composed} component{} of their own modules and memories; a component whose modules \
             work in one memory can run: link its parts into one program instead",
            if composed == 1 { "" } else { "s" },
        ));
    }
    if component.starts {
        reasons.push("has values or a start function of the component model".into());
    }
    let Some(&(instance, module)) = programs.first() else {
        if composed == 0 {
            reasons.push("has no module in which a program could be".into());
        }
        return Ok(Lowered {
            reasons,
            ..Lowered::default()
        });
    };
    let program = modules.get_mut(module as usize).and_then(Option::take);
    let Some(program) = program else {
        reasons.push("imports the module that is its program".into());
        return Ok(Lowered {
            reasons,
            ..Lowered::default()
        });
    };
    let mut lowering = Lowering {
        component: &component,
        index: &index,
        roles: &roles,
        instance,
        members: BTreeSet::from([instance]),
        realloc: None,
        adapters,
        reasons,
        known: HashMap::new(),
    };
    let all = &lowering.adapters;
    let members = programs.iter().map(|(number, _)| number).chain(all);
    let members: BTreeSet<u32> = members.chain(&index.astray).copied().collect();
    // It may begin in any of its modules.
    let first = std::mem::replace(&mut lowering.members, members.clone());
    let targets: Vec<_> = ENTRIES.iter().map(|entry| lowering.entry(entry)).collect();
    lowering.members = first;
    lowering.known.clear();
    let exports = component.exports.iter().map(|(name, ..)| *name).collect();
    let before = lowering.reasons.clone();
    let wanted = lowering.imports(&program);
    let (mut begins, mut stay) = (false, Vec::new());
    let mut own = |target: &Option<Target<'a>>, entry| match target.as_ref()? {
        Target::Of(number, _, function) if *number == instance => {
            let typed = lowering.typed(program.function_type(*function), entry);
            typed.then_some(*function)
        }
        Target::Of(other, _, function) => {
            // An adapter calls the program's `_start`; what does something else stays.
            match lowering.only_starts(&program, &modules, *other, *function) {
                true => _ = lowering.adapters.remove(other),
                false => stay.push(*other),
            }
            begins = true;
            None
        }
        Target::Interface { .. } => None,
    };
    let entries = targets.iter().zip(&ENTRIES);
    let entries: Vec<Option<u32>> = entries.map(|(target, entry)| own(target, entry)).collect();
    lowering.adapters.extend(stay);
    if programs.len() + index.astray.len() + lowering.adapters.len() > 1 {
        modules[module as usize] = Some(program);
        lowering.members = members;
        // What is known was followed with one member.
        lowering.known.clear();
        lowering.reasons = before;
        let linked = link::link(&mut lowering, &modules, &targets)?;
        let reasons = lowering.reasons;
        return Ok(match linked {
            Some(linked) => Lowered {
                starts: linked.starts,
                realloc: linked.realloc,
                run: linked.entries[0],
                handle: linked.entries[1],
                linked: Some(linked.module),
                exports,
                reasons,
                ..Lowered::default()
            },
            None => Lowered {
                exports,
                reasons,
                ..Lowered::default()
            },
        });
    }
    let starts = lowering.starts(&program);
    let realloc = lowering.room(&program);
    Ok(Lowered {
        wanted,
        starts,
        realloc,
        run: entries[0],
        handle: entries[1],
        begins,
        exports,
        reasons: lowering.reasons,
        program,
        linked: None,
    })
}

fn role<'a>(module: &Parts<'a>) -> Role<'a> {
    if let Some(slots) = shim::slots(module) {
        return Role::Shim(slots);
    }
    if let Some((table, slots)) = shim::filled(module) {
        let start = shim::start(module);
        return Role::Fixups {
            slots,
            start,
            table,
        };
    }
    if let Some(start) = shim::only_starts(module) {
        return Role::Start(start);
    }
    let imports_memory = |i: &wp::Import<'_>| matches!(i.ty, wp::TypeRef::Memory(_));
    match module.memories.is_empty() && module.imports.iter().any(imports_memory) {
        true => Role::Adapter,
        false => Role::Program,
    }
}

/// Whether a component within another has modules.
fn has_modules(component: &Item<'_>) -> bool {
    let Item::Bytes(bytes) = component else {
        return false;
    };
    let mut payloads = wp::Parser::new(0).parse_all(bytes);
    payloads.any(|payload| matches!(payload, Ok(wp::Payload::ModuleSection { .. })))
}
