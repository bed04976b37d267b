//! In which states an endpoint may travel in a message.
//!
//! While an endpoint travels nobody owns it but the message, and its queue goes with it. If that
//! queue could get an endpoint whose queue could get, directly or through further ones, an endpoint
//! of the first kind, then two of them could come to lie in each other's queue: owned by nobody,
//! and lost for ever. Such an argument is refused.
//!
//! The graph: its nodes are the types of endpoint arguments, contract, side and state. An edge
//! leads to each type that a message can bring which the peer may send from that state on, before
//! the travelling side sends anything. A type stands for what can be given for it too, an endpoint
//! of a derived contract: with that no endpoints come but those of the base (`overriding`), so the
//! type says all, whatever contracts others derive. Refused is every cycle. Where the travelling
//! side is the one to send, its peer waits, nothing comes, and no edge leads on.

use super::limits::{self, Budget};
use crate::bounds::side_name;
use crate::diagnostic::Diagnostic;
use crate::model::{Contract, Field, Model, Side, Span, Type};
use std::collections::{HashMap, HashSet};

/// An endpoint type: contract, side, state.
type Kind<'a> = (&'a str, Side, &'a str);

/// How one kind of endpoint can come to lie in the queue of another.
#[derive(Clone, Copy)]
struct Edge<'a> {
    to: usize,
    /// The contract and the message that brings it.
    by: (&'a Contract, usize),
}

/// The most cycles that are looked for. The first already refuses the text.
const MOST_CYCLES: usize = 64;

/// Checks all arguments.
pub(super) fn check(model: &Model, budget: &mut Budget, found: &mut Vec<Diagnostic>) {
    let mut kinds: Vec<(Kind<'_>, Span)> = Vec::new();
    let mut index: HashMap<Kind<'_>, usize> = HashMap::new();
    for message in model.contracts.iter().flat_map(|c| &c.messages) {
        for kind in endpoints(&message.arguments, model) {
            index.entry(kind).or_insert_with(|| {
                kinds.push((kind, message.span));
                kinds.len() - 1
            });
        }
    }
    let mut all: Vec<Vec<Edge<'_>>> = Vec::new();
    for &(kind, place) in &kinds {
        all.push(edges(kind, model, &index, &mut budget.followed));
        if budget.followed == 0 {
            found.push(*limits::too_many_followed(place));
            return;
        }
    }
    for cycle in cycles(&all) {
        found.push(report(&kinds, &cycle));
    }
}

/// The endpoints among these values, those in rep structs included.
pub(super) fn endpoints<'a>(fields: &'a [Field], model: &'a Model) -> Vec<Kind<'a>> {
    let mut all = Vec::new();
    for field in fields {
        match &field.ty {
            Type::Endpoint {
                contract,
                side,
                state,
            } => {
                all.push((contract.as_str(), *side, state.as_str()));
            }
            Type::Struct(name) => {
                let inner = model.structure(name).filter(|s| s.endpoints);
                all.extend(
                    inner
                        .map(|s| endpoints(&s.fields, model))
                        .into_iter()
                        .flatten(),
                );
            }
            _ => {}
        }
    }
    all
}

/// The kinds of endpoint that can come to lie in the queue of an endpoint while it travels.
fn edges<'a>(
    (contract, side, state): Kind<'_>,
    model: &'a Model,
    index: &HashMap<Kind<'a>, usize>,
    left: &mut usize,
) -> Vec<Edge<'a>> {
    let mut edges: Vec<Edge<'a>> = Vec::new();
    let Some(given) = model.contract(contract) else {
        return edges;
    };
    let Some(start) = given.states.iter().position(|s| s.name == *state) else {
        return edges;
    };
    // A permission's messages are those of the contract that it narrows.
    let of = given.narrows.as_ref().and_then(|n| n.of.last());
    let channel = of.and_then(|name| model.contract(name)).unwrap_or(given);
    let mut seen = HashSet::new();
    for message in coming(given, side, start, left) {
        for kind in endpoints(&given.messages[message].arguments, model) {
            // More than to follow a transition, as it is kept.
            *left = left.saturating_sub(4);
            if let Some(&to) = index.get(&kind)
                && seen.insert(to)
            {
                edges.push(Edge {
                    to,
                    by: (channel, message),
                });
            }
        }
    }
    edges
}

/// The messages that this side can get from a state on, before it sends anything. `left` is how
/// many transitions may still be followed; where nothing is left, these are not all.
pub(super) fn coming(
    contract: &Contract,
    side: Side,
    start: usize,
    left: &mut usize,
) -> Vec<usize> {
    let mut seen = vec![false; contract.states.len()];
    let mut comes = vec![false; contract.messages.len()];
    let mut todo = vec![start];
    while let Some(state) = todo.pop() {
        if std::mem::replace(&mut seen[state], true) {
            continue;
        }
        for t in contract.states[state].receives(side) {
            comes[t.message] = true;
            todo.push(t.target);
            *left = left.saturating_sub(1);
        }
        if *left == 0 {
            break;
        }
    }
    (0..comes.len()).filter(|&m| comes[m]).collect()
}

/// The nodes that lie in a cycle: those from which a way leads back (Kosaraju's algorithm).
fn in_cycles(edges: &[Vec<Edge<'_>>]) -> Vec<bool> {
    let mut back: Vec<Vec<usize>> = vec![Vec::new(); edges.len()];
    for (from, all) in edges.iter().enumerate() {
        for edge in all {
            back[edge.to].push(from);
        }
    }
    // In the order in which a walk, depth first, has done with them.
    let mut done = Vec::new();
    let mut seen = vec![false; edges.len()];
    for start in 0..edges.len() {
        let mut path: Vec<(usize, usize)> = Vec::new();
        if !std::mem::replace(&mut seen[start], true) {
            path.push((start, 0));
        }
        while let Some((node, next)) = path.last_mut() {
            let Some(edge) = edges[*node].get(*next) else {
                done.push(*node);
                path.pop();
                continue;
            };
            *next += 1;
            if !std::mem::replace(&mut seen[edge.to], true) {
                path.push((edge.to, 0));
            }
        }
    }
    // Who is reached backwards, from the last one on, can reach each other.
    let mut cyclic = vec![false; edges.len()];
    for &start in done.iter().rev() {
        let mut group = vec![];
        let mut todo = vec![start];
        while let Some(node) = todo.pop() {
            if std::mem::replace(&mut seen[node], false) {
                group.push(node);
                todo.extend(back[node].iter().filter(|&&n| seen[n]));
            }
        }
        let itself = |&node: &usize| back[node].contains(&node);
        if group.len() > 1 || group.iter().any(itself) {
            for node in group {
                cyclic[node] = true;
            }
        }
    }
    cyclic
}

/// One shortest cycle through each node that is in one and in none found before, as far as anybody
/// wants to know.
fn cycles<'a>(edges: &[Vec<Edge<'a>>]) -> Vec<Vec<(usize, Edge<'a>)>> {
    let cyclic = in_cycles(edges);
    let mut told = vec![false; edges.len()];
    let mut all = Vec::new();
    for start in 0..edges.len() {
        if told[start] || !cyclic[start] {
            continue;
        }
        if all.len() >= MOST_CYCLES {
            break;
        }
        let mut from: Vec<Option<(usize, Edge<'a>)>> = vec![None; edges.len()];
        let mut todo = std::collections::VecDeque::from([start]);
        while let Some(at) = todo.pop_front() {
            for &edge in &edges[at] {
                if from[edge.to].is_none() {
                    from[edge.to] = Some((at, edge));
                    todo.push_back(edge.to);
                }
            }
        }
        // The way back to where it began.
        let mut cycle = Vec::new();
        let mut at = start;
        while let Some(step) = from[at] {
            cycle.push(step);
            at = step.0;
            if at == start {
                break;
            }
        }
        cycle.reverse();
        for step in &cycle {
            told[step.0] = true;
        }
        if !cycle.is_empty() {
            all.push(cycle);
        }
    }
    all
}

fn report(kinds: &[(Kind<'_>, Span)], cycle: &[(usize, Edge<'_>)]) -> Diagnostic {
    let shown = |i: usize| {
        let (contract, side, state) = kinds[i].0;
        format!("{contract}.{}:{state}", side.name())
    };
    let (first, _) = cycle[0];
    let (kind, place) = kinds[first];
    let mut error = Diagnostic::error(
        format!("an endpoint {} cannot be sent safely", shown(first)),
        place,
        "this message has one as an argument",
    );
    let mut text = shown(first);
    for (i, (_, edge)) in cycle.iter().enumerate() {
        let (contract, message) = edge.by;
        let message = &contract.messages[message];
        if i < 8 && message.span != place {
            error = error.label(message.span, "and while it travels, its peer may send this");
        }
        text += &format!(
            " may hold, by {} of {}, {}",
            message.name,
            contract.name,
            shown(edge.to)
        );
    }
    error
        .note(format!("the cycle: {text}"))
        .note(
            "while an endpoint travels its queue travels with it: two of them could come to lie in each other's queue, \
             owned by nobody and lost",
        )
        .help(format!(
            "send it in a state in which the {} side is the one to send: then its peer waits, and nothing can come",
            side_name(kind.1)
        ))
}
