//! How large a text may be as a whole. Each declaration has limits of its own; these bound what all
//! of them take together, in memory and time, however small the text is that says so.
//!
//! A derived contract has all that it inherits once more, and so has a permission what it narrows:
//! both count as if it were written there.

use crate::ast::{self, Item};
use crate::conditions;
use crate::diagnostic::Diagnostic;
use crate::model::{Contract, Model};
use sing_image::limits::{CONTRACTS, Limit};
use std::collections::HashMap;

/// The most rep structs. Walks through structs in each other go as deep.
const STRUCTS: Limit = Limit {
    what: "rep structs",
    most: 512,
    way_out: "leave out those that are not used",
};
/// The most enums.
const ENUMS: Limit = Limit {
    what: "enums",
    most: 4096,
    way_out: "leave out those that are not used",
};

/// The most bytes of the declarations of all contracts.
const MAX_BYTES: usize = 8 << 20;
/// The most states of all contracts.
const MAX_STATES: usize = 1 << 18;
/// The most places in the tables of all contracts, in which each message has one for each state. An
/// image holds no more.
const MAX_PLACES: usize = 1 << 21;
/// The most operations in the conditions of all contracts.
const MAX_OPERATIONS: usize = 1 << 20;
/// The most steps of exploring contracts in which both sides may send.
const MAX_STEPS: usize = 1 << 19;
/// The most transitions that are followed to find out which endpoints may travel when.
const MAX_FOLLOWED: usize = 1 << 25;

/// Compares the numbers of declarations with the limits, before anything is made of them.
pub(super) fn count(items: &[&Item], found: &mut Vec<Diagnostic>) {
    type Is = fn(&Item) -> bool;
    let kinds: [(Limit, Is); 3] = [
        (CONTRACTS, |i| {
            matches!(i, Item::Contract(_) | Item::Narrowing(_))
        }),
        (STRUCTS, |i| matches!(i, Item::Struct(_))),
        (ENUMS, |i| matches!(i, Item::Enum(_))),
    ];
    for (limit, is) in kinds {
        let all = || items.iter().filter(|i| is(i));
        if let (Some(first), Err(error)) = (
            all().nth(limit.most as usize),
            limit.check(all().count() as u64),
        ) {
            let label = "one too many";
            found.push(Diagnostic::error(error.message, first.name().span, label));
        }
    }
}

/// What is left for the contracts of a text.
pub(super) struct Budget {
    bytes: usize,
    states: usize,
    places: usize,
    operations: usize,
    /// Steps of exploring.
    pub steps: usize,
    /// Transitions to follow.
    pub followed: usize,
    /// The bytes of each contract, with those of what it inherits or narrows.
    sizes: HashMap<String, usize>,
}

impl Default for Budget {
    fn default() -> Self {
        Budget {
            bytes: MAX_BYTES,
            states: MAX_STATES,
            places: MAX_PLACES,
            operations: MAX_OPERATIONS,
            steps: MAX_STEPS,
            followed: MAX_FOLLOWED,
            sizes: HashMap::new(),
        }
    }
}

impl Budget {
    /// Pays for the text of a contract and of those that it derives from, before anything is made
    /// of it.
    pub(super) fn declare(&mut self, family: &[&ast::Contract]) -> Result<(), Box<Diagnostic>> {
        let bytes = family.iter().map(|c| c.span.range().len()).sum();
        self.pay_bytes(&family[0].name, bytes)
    }

    /// Pays for the text of a permission and of what it narrows.
    pub(super) fn narrow(&mut self, n: &ast::Narrowing) -> Result<(), Box<Diagnostic>> {
        let bytes = self.sizes.get(&n.of.text).copied();
        self.pay_bytes(&n.name, bytes.unwrap_or(0))
    }

    fn pay_bytes(&mut self, name: &ast::Name, bytes: usize) -> Result<(), Box<Diagnostic>> {
        self.sizes.insert(name.text.clone(), bytes);
        let what = format!("{MAX_BYTES} bytes of text");
        pay(&mut self.bytes, bytes, &what, name.span)
    }

    /// Pays for a contract that has been made.
    pub(super) fn made(&mut self, c: &Contract, model: &Model) -> Result<(), Box<Diagnostic>> {
        let states = c.states.len();
        let places = states * c.messages.len();
        let conditions = c.messages.iter().flat_map(|m| &m.requires);
        let required: usize = conditions.map(|c| conditions::size(&c.term)).sum();
        let of_types = |m| conditions::cost_of_types(m, model);
        let operations = required + c.messages.iter().map(of_types).sum::<usize>();
        for (left, cost, most, what) in [
            (&mut self.states, states, MAX_STATES, "states"),
            (
                &mut self.places,
                places,
                MAX_PLACES,
                "places in tables (each message has one for each state)",
            ),
            (
                &mut self.operations,
                operations,
                MAX_OPERATIONS,
                "operations in conditions",
            ),
        ] {
            pay(left, cost, &format!("{most} {what}"), c.span)?;
        }
        Ok(())
    }
}

fn pay(left: &mut usize, cost: usize, what: &str, place: ast::Span) -> Result<(), Box<Diagnostic>> {
    match left.checked_sub(cost) {
        Some(rest) => {
            *left = rest;
            Ok(())
        }
        None => Err(too_large(what, place)),
    }
}

/// The report that contracts exceed a limit together.
fn too_large(what: &str, place: ast::Span) -> Box<Diagnostic> {
    Box::new(
        Diagnostic::error(
            "the contracts of this text are too large together",
            place,
            format!("with this one, they have more than {what}"),
        )
        .note("what a contract inherits or narrows counts as if it were written there again")
        .help("let fewer contracts derive from large ones, or divide the text"),
    )
}

/// The report that the exploring takes too long.
pub(super) fn too_many_steps(place: ast::Span) -> Box<Diagnostic> {
    let what = format!("{MAX_STEPS} steps that both sides may take at the same time");
    too_large(&what, place)
}

/// The report that following endpoints takes too long.
pub(super) fn too_many_followed(place: ast::Span) -> Box<Diagnostic> {
    let what = format!("{MAX_FOLLOWED} transitions that can follow while an endpoint travels");
    too_large(&what, place)
}
