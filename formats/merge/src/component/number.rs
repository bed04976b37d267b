//! The numbers of all things in a linked module.

use super::follow::{STEPS, nowhere};
use super::link::{FUNCTIONS, KINDS, Linker, Place};
use crate::parts::{Parts, count};
use crate::renumber::{Renumber, Space};
use std::collections::BTreeMap;
use wasmparser as wp;

/// Why a table is not there: its functions are called without it.
const OF_SHIM: &str =
    "is the table of a module that only passes calls on, which is left out: link it statically";

impl Linker<'_, '_, '_, '_> {
    /// The table, memory, global or tag that an instance has under a name. What a member imports has its
    /// place already, as it is instantiated before the one that asks.
    fn thing(&mut self, kind: usize, instance: u32, name: &str, steps: usize) -> Option<Place> {
        let steps = steps.checked_sub(1)?;
        let number = *self.things.get(instance as usize)?.get(&(kind, name))?;
        if let Some(member) = self.member(instance) {
            let member_of = &self.members[member];
            return match number.checked_sub(count(member_of.imports[kind].len())) {
                Some(_) => Some((member, number)),
                None => *member_of.places[kind].get(number as usize)?,
            };
        }
        if let Some(known) = self.aliases.get(&(kind, number)) {
            return *known;
        }
        let component = self.lowering.component;
        let aliased = component.core(KINDS[kind]);
        let aliased = aliased.and_then(|things| things.get(number as usize));
        let found = aliased.and_then(|(instance, name)| self.thing(kind, *instance, name, steps));
        self.aliases.insert((kind, number), found);
        found
    }

    /// Why a thing is not there that a member imports from an instance.
    fn nowhere(&self, from: Option<u32>, import: &wp::Import<'_>) -> String {
        let component = self.lowering.component;
        let shims = from.is_some_and(|from| {
            matches!(import.ty, wp::TypeRef::Table(_))
                && (self.lowering.index).is_of_shim(
                    component,
                    self.lowering.roles,
                    from,
                    import.name,
                )
        });
        match shims {
            true => OF_SHIM.into(),
            false => nowhere(),
        }
    }

    /// The numbers of all things.
    pub fn numbers(&mut self) {
        let mut next = Renumber::default();
        let mut own = count(self.imports.len());
        for member in 0..self.members.len() {
            let parts = self.members[member].parts;
            let mut numbers = next.clone();
            let defined = [
                0,
                parts.tables.as_ref().map_or(0, |s| s.count()),
                count(parts.memories.len()),
                parts.globals.as_ref().map_or(0, |s| s.count()),
                parts.tags.as_ref().map_or(0, |s| s.count()),
            ];
            for (kind, defined) in (0..).zip(defined).skip(FUNCTIONS + 1) {
                for number in 0..self.members[member].imports[kind].len() {
                    let import = self.members[member].imports[kind][number];
                    let instance = self.members[member].instance;
                    let from = self.lowering.from(instance, import.module);
                    let place = from.and_then(|from| self.thing(kind, from, import.name, STEPS));
                    let place = place.filter(|(of, _)| *of < member);
                    self.members[member].places[kind].push(place);
                    match place {
                        Some((of, number)) => {
                            let number = space(&mut self.members[of].numbers, kind).number(number);
                            space(&mut numbers, kind).imported.push(number);
                        }
                        None => {
                            let why = self.nowhere(from, import);
                            self.lacks(import, &why);
                        }
                    }
                }
                space(&mut next, kind).own += defined;
            }
            let globals = &self.members[member].imports[GLOBALS];
            if let Some(&import) = unknown(parts, &numbers, &self.constants)
                .and_then(|global| globals.get(global as usize))
            {
                self.lacks(
                    import,
                    "a segment or global is made with its value, which is not known before: link it statically",
                );
            }
            // Globals that never change, whose values later members may need.
            let globals = parts.globals.clone().into_iter().flatten().flatten();
            for (global, number) in globals.zip(numbers.globals.own..) {
                let value = numbers.value(&global.init_expr, &self.constants);
                if let Some(value) = value.filter(|_| !global.ty.mutable) {
                    self.constants.insert(number, value);
                }
            }
            next.types += count(parts.types.len());
            next.elements += parts.elements.as_ref().map_or(0, |s| s.count());
            next.data += parts.data.as_ref().map_or(0, |s| s.count());
            numbers.functions = (own..own + parts.defined()).collect();
            own += parts.defined();
            self.members[member].numbers = numbers;
        }
    }
}

/// The place of globals in [`KINDS`].
const GLOBALS: usize = 3;

/// An imported global that a constant expression of a module names, where its value is not known.
fn unknown(parts: &Parts<'_>, numbers: &Renumber, constants: &BTreeMap<u32, i32>) -> Option<u32> {
    let one = |expression: &wp::ConstExpr<'_>| {
        if numbers.value(expression, constants).is_some() {
            return None;
        }
        let mut operators = expression.get_operators_reader().into_iter();
        operators.find_map(|operator| match operator {
            Ok(wp::Operator::GlobalGet { global_index }) => Some(global_index),
            _ => None,
        })
    };
    let mut globals = parts.globals.clone().into_iter().flatten().flatten();
    let mut tables = parts.tables.clone().into_iter().flatten().flatten();
    let mut data = parts.data.clone().into_iter().flatten().flatten();
    let mut elements = parts.elements.clone().into_iter().flatten().flatten();
    (globals.find_map(|global| one(&global.init_expr)))
        .or_else(|| {
            tables.find_map(|table| match &table.init {
                wp::TableInit::Expr(expression) => one(expression),
                wp::TableInit::RefNull => None,
            })
        })
        .or_else(|| {
            data.find_map(|data| match &data.kind {
                wp::DataKind::Active { offset_expr, .. } => one(offset_expr),
                wp::DataKind::Passive => None,
            })
        })
        .or_else(|| {
            elements.find_map(|segment| {
                let offset = match &segment.kind {
                    wp::ElementKind::Active { offset_expr, .. } => one(offset_expr),
                    _ => None,
                };
                offset.or_else(|| match segment.items {
                    wp::ElementItems::Expressions(_, items) => {
                        items.into_iter().flatten().find_map(|item| one(&item))
                    }
                    wp::ElementItems::Functions(_) => None,
                })
            })
        })
}

/// The numbers of the things of a kind in [`KINDS`]; those of functions are in no such space.
fn space(numbers: &mut Renumber, kind: usize) -> &mut Space {
    match KINDS[kind] {
        wp::ExternalKind::Table => &mut numbers.tables,
        wp::ExternalKind::Memory => &mut numbers.memories,
        wp::ExternalKind::Tag => &mut numbers.tags,
        _ => &mut numbers.globals,
    }
}
