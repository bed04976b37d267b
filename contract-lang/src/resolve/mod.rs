//! From the syntax tree to the model: looks names up, lets contracts inherit, builds their state machines.
//!
//! Nothing half right leaves here: a model without errors has only types that exist, messages that fit,
//! states that are deterministic and queues that are finite.

mod contracts;
mod machine;
mod requires;
mod types;

use crate::ast::{File, Item, Name};
use crate::bounds;
use crate::diagnostic::{Diagnostic, Severity};
use crate::format;
use crate::model::Model;
use std::collections::HashMap;

/// Resolves a file; errors and warnings are added to `found`. Without an error among them, the model holds.
pub(crate) fn resolve(file: &File, found: &mut Vec<Diagnostic>) -> Model {
    let items = merge(file, found);
    let mut model = Model::default();
    types::resolve(&items, &mut model, found);
    contracts::resolve(&items, &mut model, found);
    if !found.iter().any(|d| d.severity == Severity::Error) {
        for contract in &mut model.contracts {
            match bounds::queues(contract) {
                Ok(queue) => contract.queue = queue,
                Err(problem) => found.push(*problem),
            }
        }
    }
    model
}

/// Declarations by name. The same declaration may come along more than one way; two that differ under one
/// name are an error.
fn merge<'a>(file: &'a File, found: &mut Vec<Diagnostic>) -> Vec<&'a Item> {
    let mut items: Vec<&Item> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for item in &file.items {
        let name = item.name();
        match places.get(name.text.as_str()) {
            None => {
                places.insert(&name.text, items.len());
                items.push(item);
            }
            Some(&i) if format::meaning(items[i]) == format::meaning(item) => {}
            Some(&i) => found.push(
                twice(&name.text, name, items[i].name())
                    .note("the same declaration may be repeated, but these two differ"),
            ),
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

/// `; did you mean …?`, where a name is close to one of those that exist.
fn suggestion<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    known
        .map(|k| (distance(name, k), k))
        .filter(|&(d, k)| d <= k.len().max(3) / 3)
        .min()
        .map(|(_, k)| format!("there is a `{k}`; did you mean that?"))
}

/// Edit distance of two names, without regard to case.
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.to_ascii_lowercase(), b.to_ascii_lowercase());
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let cost = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = cost.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
