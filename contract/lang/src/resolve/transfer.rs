//! In which states an endpoint may travel in a message.
//!
//! While an endpoint travels nobody owns it but the message, and its queue goes with it. If that queue could get an
//! endpoint whose queue could get, directly or through further ones, an endpoint of the first kind, then two of them
//! could come to lie in each other's queue: owned by nobody, and lost for ever. Such an argument is refused.
//!
//! The graph: its nodes are the types of endpoint arguments, contract, side and state. An edge leads to each type that
//! a message can bring which the peer may send from that state on, before the travelling side sends anything. A type
//! stands for what can be given for it too, an endpoint of a derived contract: with that no endpoints come but those of
//! the base (`overriding`), so the type says all, whatever contracts others derive. Refused is every cycle. Where the
//! travelling side is the one to send, its peer waits, nothing comes, and no edge leads on.

use crate::bounds::side_name;
use crate::diagnostic::Diagnostic;
use crate::model::{Contract, Field, Model, Side, Span, Type};
use std::collections::HashMap;

/// An endpoint type: contract, side, state.
type Kind<'a> = (&'a str, Side, &'a str);

/// How one kind of endpoint can come to lie in the queue of another.
#[derive(Clone, Copy)]
struct Edge<'a> {
    to: usize,
    /// The contract and the message that brings it.
    by: (&'a Contract, usize),
}

/// Checks all arguments.
pub(super) fn check(model: &Model, found: &mut Vec<Diagnostic>) {
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
    let edges: Vec<Vec<Edge<'_>>> = kinds.iter().map(|k| edges(k.0, model, &index)).collect();
    for cycle in cycles(&edges) {
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
    for message in coming(given, side, start) {
        for kind in endpoints(&given.messages[message].arguments, model) {
            if let Some(&to) = index.get(&kind)
                && edges.iter().all(|e| e.to != to)
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

/// The messages that this side can get from a state on, before it sends anything.
pub(super) fn coming(contract: &Contract, side: Side, start: usize) -> Vec<usize> {
    let mut seen = vec![false; contract.states.len()];
    let mut messages = Vec::new();
    let mut todo = vec![start];
    while let Some(state) = todo.pop() {
        if std::mem::replace(&mut seen[state], true) {
            continue;
        }
        for t in contract.states[state].receives(side) {
            if !messages.contains(&t.message) {
                messages.push(t.message);
            }
            todo.push(t.target);
        }
    }
    messages.sort_unstable();
    messages
}

/// One shortest cycle through each node that is in one and in none found before.
fn cycles<'a>(edges: &[Vec<Edge<'a>>]) -> Vec<Vec<(usize, Edge<'a>)>> {
    let mut told = vec![false; edges.len()];
    let mut all = Vec::new();
    for start in 0..edges.len() {
        if told[start] {
            continue;
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
