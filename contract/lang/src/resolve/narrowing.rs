//! Permissions ([O] 5.5.3): a contract with fewer messages that one side may still send.
//!
//! A permission has the messages and states of what it narrows, with the same indices, and of its
//! transitions those of the other side and those of the messages that are left. So an endpoint of
//! the contract is, from one moment on and in whatever state, one of the permission. Where in a
//! state nothing is left, its holder can only close.

use super::limits::Budget;
use super::names::{MAX_GENERATIONS, Names};
use super::{enough, suggestion, twice};
use crate::ast::{self, Item, Name};
use crate::bounds::side_name;
use crate::diagnostic::Diagnostic;
use crate::model::{Contract, Message, Model, Narrowing, Side};
use sing_image::contract::MAX_MESSAGES;

/// Adds the permissions to the contracts. An error is returned where the budget is used up.
pub(super) fn resolve(
    items: &[&Item],
    names: &Names<'_>,
    model: &mut Model,
    budget: &mut Budget,
    found: &mut Vec<Diagnostic>,
) -> Result<(), Box<Diagnostic>> {
    let mut all: Vec<(usize, &ast::Narrowing)> = Vec::new();
    for item in items {
        if let Item::Narrowing(n) = item {
            match depth(n, names) {
                Ok(depth) => all.push((depth, n)),
                Err(error) => found.extend(error.map(|e| *e)),
            }
        }
    }
    // A permission is resolved after the contract that it narrows.
    all.sort_by_key(|(depth, _)| *depth);
    for (_, n) in all {
        if enough(found) {
            break;
        }
        // Without it, what is wrong with the narrowed one has been said.
        let Some(of) = model.contract(&n.of.text) else {
            continue;
        };
        budget.narrow(n)?;
        if let Some(contract) = narrow(n, of, found) {
            budget.made(&contract, model)?;
            model.add_contract(contract);
        }
    }
    Ok(())
}

/// How many permissions lie between this one and the contract. An error without a report is
/// reported elsewhere.
fn depth(n: &ast::Narrowing, names: &Names<'_>) -> Result<usize, Option<Box<Diagnostic>>> {
    let mut at = n;
    for depth in 0..MAX_GENERATIONS {
        let Some(next) = names.narrowing(&at.of.text) else {
            let known = names.contract(&at.of.text).is_some();
            let unknown = || Box::new(names.unknown("contract", &n.of));
            return if known {
                Ok(depth)
            } else {
                Err((depth == 0).then(unknown))
            };
        };
        if next.name.text == n.name.text {
            let text = format!("permission {} narrows itself", n.name.text);
            return Err(Some(Box::new(
                Diagnostic::error(text, n.of.span, "this closes the circle")
                    .help("narrow a contract, or a permission that comes from one"),
            )));
        }
        at = next;
    }
    let text = format!("permission {} narrows too many others", n.name.text);
    let label = format!("permissions narrow each other at most {MAX_GENERATIONS} deep");
    Err(Some(Box::new(Diagnostic::error(text, n.name.span, label))))
}

fn narrow(n: &ast::Narrowing, of: &Contract, found: &mut Vec<Diagnostic>) -> Option<Contract> {
    let errors = found.len();
    if !of.has_side(n.side) {
        let text = format!("permission {} has no {}", of.name, n.side.name());
        let label = format!(
            "it has only endpoints of the {} side",
            side_name(n.side.peer())
        );
        found.push(
            Diagnostic::error(text, n.side_span, label)
                .label(of.span, "declared here")
                .help(format!("write `{}.{}`", of.name, n.side.peer().name())),
        );
        return None;
    }
    if let Some(one) = n.messages.get(MAX_MESSAGES) {
        let text = format!(
            "permission {} names {} messages",
            n.name.text,
            n.messages.len()
        );
        let label = format!("a contract has at most {MAX_MESSAGES}");
        found.push(Diagnostic::error(text, one.span, label));
        return None;
    }
    let mut sends = [Side::Imp, Side::Exp].map(|_| vec![false; of.messages.len()]);
    for t in of.states.iter().flat_map(|s| &s.transitions) {
        sends[t.sender.index()][t.message] = true;
    }
    let mut left = vec![false; of.messages.len()];
    for (i, name) in n.messages.iter().enumerate() {
        if let Some(first) = n.messages[..i].iter().find(|f| f.text == name.text) {
            found.push(twice(&format!("message {}", name.text), name, first));
        } else {
            match message(name, n, of, &sends) {
                Ok(index) => left[index] = true,
                Err(error) => found.push(*error),
            }
        }
    }
    if found.len() > errors {
        return None;
    }
    let mut states = of.states.clone();
    let mut taken = false;
    for state in &mut states {
        let before = state.transitions.len();
        state
            .transitions
            .retain(|t| t.sender != n.side || left[t.message]);
        taken |= state.transitions.len() < before;
    }
    if !taken {
        let text = format!("permission {} takes nothing away", n.name.text);
        let label = format!("this is all that {}.{} may send", of.name, n.side.name());
        found.push(Diagnostic::warning(text, n.name.span, label));
    }
    let further = of.narrows.iter().flat_map(|n| n.of.iter().cloned());
    Some(Contract {
        docs: n.docs.clone(),
        public: n.public,
        name: n.name.text.clone(),
        bases: Vec::new(),
        narrows: Some(Narrowing {
            side: n.side,
            of: std::iter::once(of.name.clone()).chain(further).collect(),
        }),
        messages: of.messages.clone(),
        states,
        queue: of.queue,
        span: n.name.span,
    })
}

/// Index of a message that may still be sent. `sends` says which messages each side sends.
fn message(
    name: &Name,
    n: &ast::Narrowing,
    of: &Contract,
    sends: &[Vec<bool>; 2],
) -> Result<usize, Box<Diagnostic>> {
    let index = of.messages.iter().position(|m| m.name == name.text);
    let sends = |i: usize, side: Side| sends[side.index()][i];
    let sendable = of.messages.iter().enumerate();
    let sendable = sendable.filter(|(i, _)| sends(*i, n.side)).map(|(_, m)| m);
    let error = match index {
        Some(i) if sends(i, n.side) => return Ok(i),
        Some(i) => never_sent(name, n, of, &of.messages[i], sends(i, n.side.peer())),
        None => {
            let text = format!("contract {} has no message {}", of.name, name.text);
            Diagnostic::error(text, name.span, "no such message")
        }
    };
    let names: Vec<&str> = sendable.map(|m| m.name.as_str()).collect();
    let help = suggestion(
        &name.text,
        names.iter().copied().filter(|s| *s != name.text),
    );
    Err(Box::new(error.help(help.unwrap_or_else(|| {
        if names.is_empty() {
            format!(
                "the {} side sends nothing: there is nothing to narrow",
                side_name(n.side)
            )
        } else {
            format!(
                "the {} side may send {}",
                side_name(n.side),
                names.join(", ")
            )
        }
    }))))
}

fn never_sent(
    name: &Name,
    n: &ast::Narrowing,
    of: &Contract,
    message: &Message,
    received: bool,
) -> Diagnostic {
    let (text, side) = (&name.text, side_name(n.side));
    let label = if of.narrows.is_some() {
        format!(
            "{} has already taken it away, or it was never there",
            of.name
        )
    } else if received {
        format!("only the {} side sends it", side_name(n.side.peer()))
    } else {
        "no state says that it may".to_string()
    };
    Diagnostic::error(
        format!("the {side} side never sends {text}"),
        name.span,
        label,
    )
    .label(message.span, "declared here")
    .note("a permission names what its holder may still send; what he receives stays as it is")
}
