//! From the syntax tree to the model: looks names up, lets contracts inherit, builds their state
//! machines.
//!
//! Nothing half right leaves here: a model without errors has only types that exist, messages that
//! fit, states that are deterministic, queues that are finite, endpoints that can travel.

mod blocks;
mod contracts;
mod limits;
mod machine;
mod names;
mod narrowing;
mod overriding;
mod requires;
mod transfer;
mod types;

use crate::ast::{File, Item, Name};
use crate::bounds::{self, Apart};
use crate::diagnostic::{Diagnostic, MOST_KEPT, Severity};
use crate::format;
use crate::model::Model;
use limits::Budget;
use std::cell::Cell;
use std::collections::HashMap;

/// Resolves a file; errors and warnings are added to `found`. Without an error among them, the
/// model holds.
pub(crate) fn resolve(file: &File, found: &mut Vec<Diagnostic>) -> Model {
    LEFT.set(MAX_SUGGESTING);
    let items = merge(file, found);
    limits::count(&items, found);
    let mut model = Model::default();
    if errors(found) > 0 {
        return model;
    }
    let mut budget = Budget::default();
    types::resolve(&items, &mut model, found);
    contracts::resolve(&items, &mut model, &mut budget, found);
    if errors(found) == 0 {
        let apart = queues(&mut model, &mut budget, found);
        overriding::resolve(&mut model, &apart, &mut budget, found);
        transfer::check(&model, &mut budget, found);
    }
    model
}

/// How many errors there are.
fn errors(found: &[Diagnostic]) -> usize {
    let errors = found.iter().filter(|d| d.severity == Severity::Error);
    errors.count()
}

/// Whether so much is wrong that nobody needs to know more.
fn enough(found: &[Diagnostic]) -> bool {
    found.len() >= MOST_KEPT && errors(found) >= MOST_KEPT
}

/// Computes the queues. A permission has those of the contract that it narrows, whose channel it
/// is. Also says in which different states the two sides of a contract can be, if that was
/// explored, by the contract's index.
fn queues(model: &mut Model, budget: &mut Budget, found: &mut Vec<Diagnostic>) -> Vec<Apart> {
    let mut apart = Vec::new();
    for contract in &mut model.contracts {
        if contract.narrows.is_some() {
            apart.push(Apart::new());
            continue;
        }
        match bounds::queues(contract, &mut budget.steps) {
            Ok((queue, different)) => {
                contract.queue = queue;
                apart.push(different);
            }
            Err(Some(problem)) => {
                apart.push(Apart::new());
                found.push(*problem);
            }
            Err(None) => {
                found.push(*limits::too_many_steps(contract.span));
                break;
            }
        }
    }
    for i in 0..model.contracts.len() {
        let of = model.contracts[i]
            .narrows
            .as_ref()
            .and_then(|n| n.of.last());
        if let Some(queue) = of.and_then(|name| model.contract(name)).map(|c| c.queue) {
            model.contracts[i].queue = queue;
        }
    }
    apart
}

/// Declarations by name. The same declaration may come along more than one way; two that differ
/// under one name are an error.
fn merge<'a>(file: &'a File, found: &mut Vec<Diagnostic>) -> Vec<&'a Item> {
    let mut items: Vec<&Item> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    // What the first declarations mean, of those that are repeated.
    let mut meanings: HashMap<usize, String> = HashMap::new();
    for item in &file.items {
        if enough(found) {
            break;
        }
        let name = item.name();
        let Some(&i) = places.get(name.text.as_str()) else {
            places.insert(&name.text, items.len());
            items.push(item);
            continue;
        };
        let first = meanings
            .entry(i)
            .or_insert_with(|| format::meaning(items[i]));
        if *first != format::meaning(item) {
            found.push(
                twice(&name.text, name, items[i].name())
                    .note("the same declaration may be repeated, but these two differ"),
            );
        }
    }
    items
}

/// The report that a name is declared twice.
fn twice(what: &str, second: &Name, first: &Name) -> Diagnostic {
    Diagnostic::error(
        format!("{what} is declared twice"),
        second.span,
        "declared again",
    )
    .label(first.span, "first declared here")
}

/// The cost that suggestions may have in one run, in letters compared: enough for any ordinary
/// mistake, and no more than a moment for a text that is wrong everywhere.
const MAX_SUGGESTING: usize = 1 << 23;

thread_local! {
    /// The rest of that cost.
    static LEFT: Cell<usize> = const { Cell::new(MAX_SUGGESTING) };
}

/// Pays for a part of a suggestion. False where nothing is left.
fn afford(cost: usize) -> bool {
    let left = LEFT.get().checked_sub(cost);
    LEFT.set(left.unwrap_or(0));
    left.is_some()
}

/// `; did you mean …?`, where a name is close to one of those that exist.
fn suggestion<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    if name.len() > 100 {
        return None;
    }
    let name = name.to_ascii_lowercase();
    known
        .take_while(|_| afford(1))
        .filter_map(|k| {
            let most = k.len().max(3) / 3;
            let close = name.len().abs_diff(k.len()) <= most.min(8);
            let payable = close && afford(name.len() * k.len());
            // Two neighbours swapped count as one edit.
            let distance = payable.then(|| strsim::osa_distance(&name, &k.to_ascii_lowercase()))?;
            (distance <= most).then_some((distance, k))
        })
        .min()
        .map(|(_, k)| format!("there is a `{k}`; did you mean that?"))
}
