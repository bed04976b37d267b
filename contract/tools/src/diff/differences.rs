//! The differences between two versions of a contract, in words.

use sing_image::contract::{ContractTable, Direction, Message};
use sing_image::manifest::Side;
use std::collections::BTreeSet;

/// Each difference; none if the tables differ in nothing but the identities of other contracts.
pub fn between(old: &ContractTable, new: &ContractTable) -> Vec<String> {
    let mut found = Vec::new();
    relations(old, new, &mut found);
    messages(old, new, &mut found);
    for ty in changed_types(old, new) {
        found.push(format!("type {ty} has changed"));
    }
    states(old, new, &mut found);
    for side in [Side::Imp, Side::Exp] {
        let (before, now) = (old.queue[side.index()], new.queue[side.index()]);
        if before != now {
            let who = name(side);
            found.push(format!(
                "{now} messages can be under way to {who}, before {before}"
            ));
        }
    }
    if found.is_empty() && (&old.states, &old.next) != (&new.states, &new.next) {
        found.push("the steps between its named states have changed".into());
    }
    found
}

/// A side in words.
pub fn name(side: Side) -> &'static str {
    match side {
        Side::Imp => "the importing side",
        Side::Exp => "the exporting side",
    }
}

/// The enums and rep structs of both versions that are not the same.
pub fn changed_types<'a>(old: &'a ContractTable, new: &'a ContractTable) -> Vec<&'a str> {
    let before = |name: &str| old.types.iter().find(|(n, _)| n == name);
    let types = new.types.iter();
    let changed = types.filter(|(name, hash)| before(name).is_some_and(|(_, old)| old != hash));
    changed.map(|(name, _)| name.as_str()).collect()
}

fn relations(old: &ContractTable, new: &ContractTable, found: &mut Vec<String>) {
    let bases = |table: &ContractTable| -> Vec<String> {
        table.bases.iter().map(|base| base.name.clone()).collect()
    };
    let narrowed = |table: &ContractTable| -> Vec<String> {
        let narrows = table.narrows.iter();
        let of = narrows.flat_map(|n| n.of.iter().map(|(of, _)| format!("{of}.{}", n.side.name())));
        of.collect()
    };
    let listed = |names: Vec<String>| match names.is_empty() {
        true => "nothing".to_owned(),
        false => names.join(", "),
    };
    for (verb, before, now) in [
        ("derives from", bases(old), bases(new)),
        ("narrows", narrowed(old), narrowed(new)),
    ] {
        if before != now {
            let (before, now) = (listed(before), listed(now));
            found.push(format!("{verb} {now}, before {before}"));
        }
    }
}

/// The arguments of a message as they are written.
pub fn arguments(message: &Message) -> String {
    let arguments = message.arguments.iter();
    let arguments: Vec<String> = arguments.map(|a| format!("{} {}", a.ty, a.name)).collect();
    format!("({})", arguments.join(", "))
}

/// The conditions of a message, without those that its types bring.
pub fn conditions(message: &Message) -> Vec<&str> {
    let conditions = message.conditions.iter();
    conditions.map(|c| c.text.as_str()).collect()
}

fn messages(old: &ContractTable, new: &ContractTable, found: &mut Vec<String>) {
    let of = |table: &ContractTable, name: &str| table.message(name).map(usize::from);
    for before in &old.messages {
        let name = &before.name;
        let Some(now) = of(new, name).map(|i| &new.messages[i]) else {
            found.push(format!("message {name} is gone"));
            continue;
        };
        if before.direction != now.direction {
            let (before, now) = (direction(before.direction), direction(now.direction));
            found.push(format!("message {name} goes {now}, before {before}"));
        }
        let args = (arguments(before), arguments(now));
        if args.0 != args.1 {
            found.push(format!(
                "message {name} has the arguments {}, before {}",
                args.1, args.0
            ));
        } else if before.words != now.words {
            found.push(format!("message {name} has other words for its arguments"));
        } else if conditions(before) != conditions(now) {
            let listed = |message| match conditions(message).join(", ") {
                none if none.is_empty() => "nothing".to_owned(),
                some => some,
            };
            let (before, now) = (listed(before), listed(now));
            found.push(format!("message {name} requires {now}, before {before}"));
        }
    }
    for now in &new.messages {
        if of(old, &now.name).is_none() {
            let args = arguments(now);
            found.push(format!("message {}{args} is new", now.name));
        }
    }
    let order = |table: &ContractTable, other: &ContractTable| -> Vec<String> {
        let both = table.messages.iter().map(|m| m.name.clone());
        both.filter(|name| other.message(name).is_some()).collect()
    };
    if order(old, new) != order(new, old) {
        found.push("its messages have another order".into());
    }
}

fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::In => "in",
        Direction::Out => "out",
        Direction::Both => "either way",
    }
}

/// The steps of a state: message with its mark, and the state that follows.
fn steps(table: &ContractTable, state: u16) -> BTreeSet<(String, &str)> {
    let mut steps = BTreeSet::new();
    for (at, message) in table.messages.iter().enumerate() {
        for (side, mark) in [(Side::Imp, '?'), (Side::Exp, '!')] {
            if let Some(next) = table.step(state, at as u16, side) {
                let next = table.states.get(usize::from(next));
                let next = next.map_or("", String::as_str);
                steps.insert((format!("{}{mark}", message.name), next));
            }
        }
    }
    steps
}

fn states(old: &ContractTable, new: &ContractTable, found: &mut Vec<String>) {
    for (at, state) in old.states.iter().enumerate() {
        let Some(now) = new.state(state) else {
            // One without a name goes with the step that leads there.
            if !state.contains('\'') {
                found.push(format!("state {state} is gone"));
            }
            continue;
        };
        let (before, now) = (steps(old, at as u16), steps(new, now));
        for (message, next) in before.difference(&now) {
            match now.iter().find(|(m, _)| m == message) {
                // Names of states between steps follow from the steps around them.
                Some((_, other)) if next.contains('\'') && other.contains('\'') => {}
                Some((_, other)) => found.push(format!(
                    "state {state}: {message} leads to {other}, before to {next}"
                )),
                None => found.push(format!("state {state}: {message} is gone")),
            }
        }
        for (message, _) in now.difference(&before) {
            if !before.iter().any(|(m, _)| m == message) {
                found.push(format!("state {state}: {message} is new"));
            }
        }
    }
    for state in &new.states {
        if old.state(state).is_none() && !state.contains('\'') {
            found.push(format!("state {state} is new"));
        }
    }
    let first = |table: &ContractTable| table.states.first().cloned().unwrap_or_default();
    if first(old) != first(new) {
        let (before, now) = (first(old), first(new));
        found.push(format!("begins in state {now}, before in {before}"));
    }
}
