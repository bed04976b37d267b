//! Contracts: inheritance, messages, and what must hold of the whole.
//!
//! A derived contract has the messages of its base, in the same order, then its own; the states of
//! its base, each replaced where it says `override`, then its own. A message of the base may be
//! said again, as it is. So a message has one index in a whole family, and the initial state keeps
//! its place.

use super::limits::Budget;
use super::names::{MAX_GENERATIONS, Names};
use super::types::{MAX_WORDS, fields, total_words};
use super::{blocks, enough, machine, narrowing, requires, suggestion, twice};
use crate::ast::{self, Direction, Item};
use crate::diagnostic::Diagnostic;
use crate::model::{Base, CLOSED, Contract, Field, Message, Model, State, Type};
use sing_image::contract::{MAX_MESSAGES, MAX_STATES};
use std::collections::{HashMap, HashSet};

pub(super) fn resolve(
    items: &[&Item],
    model: &mut Model,
    budget: &mut Budget,
    found: &mut Vec<Diagnostic>,
) {
    let names = Names::new(items);
    for item in items {
        let Item::Contract(c) = item else {
            continue;
        };
        if enough(found) {
            return;
        }
        match contract(c, &names, model, budget, found) {
            Ok(Some(contract)) => model.add_contract(contract),
            Ok(None) => {}
            Err(error) => {
                found.push(*error);
                return;
            }
        }
    }
    if let Err(error) = narrowing::resolve(items, &names, model, budget, found) {
        found.push(*error);
        return;
    }
    let places = items
        .iter()
        .enumerate()
        .map(|(i, item)| (item.name().text.as_str(), i));
    let places: HashMap<&str, usize> = places.collect();
    model.order_contracts(|name| places.get(name).copied());
    check_endpoints(model, found);
    warn_unused(items, model, found);
}

/// A contract and those it derives from, nearest first.
fn family<'a>(
    c: &'a ast::Contract,
    names: &Names<'a>,
    found: &mut Vec<Diagnostic>,
) -> Option<Vec<&'a ast::Contract>> {
    let mut all = vec![c];
    while let Some(base) = &all[all.len() - 1].base {
        let Some(next) = names.contract(&base.text) else {
            // Reported once, at the contract that names it.
            if all.len() == 1 {
                found.push(match names.narrowing(&base.text) {
                    Some(permission) => derives_from_permission(c, base, permission),
                    None => names.unknown("contract", base),
                });
            }
            return None;
        };
        if let Some(i) = all.iter().position(|a| a.name.text == next.name.text) {
            if i == 0 {
                let text = format!("contract {} derives from itself", c.name.text);
                let cycle: Vec<&str> = all.iter().map(|a| a.name.text.as_str()).collect();
                found.push(
                    Diagnostic::error(text, base.span, "this closes the circle").note(format!(
                        "{} : {}",
                        cycle.join(" : "),
                        c.name.text
                    )),
                );
            }
            return None;
        }
        if all.len() == MAX_GENERATIONS {
            let text = format!("contract {} has too many bases", c.name.text);
            let label = format!("contracts derive at most {MAX_GENERATIONS} deep");
            found.push(Diagnostic::error(text, c.name.span, label));
            return None;
        }
        all.push(next);
    }
    Some(all)
}

fn derives_from_permission(
    c: &ast::Contract,
    base: &ast::Name,
    permission: &ast::Narrowing,
) -> Diagnostic {
    let of = &permission.of.text;
    Diagnostic::error(
        format!("contract {} cannot derive from a permission", c.name.text),
        base.span,
        format!("this narrows {of}, and has endpoints of one side only"),
    )
    .label(permission.name.span, "declared here")
    .help(format!("derive from {of}, and narrow what comes of it"))
}

/// A contract, unless something is wrong with it. An error is returned where the budget is used up.
fn contract(
    c: &ast::Contract,
    names: &Names<'_>,
    model: &Model,
    budget: &mut Budget,
    found: &mut Vec<Diagnostic>,
) -> Result<Option<Contract>, Box<Diagnostic>> {
    let Some(family) = family(c, names, found) else {
        return Ok(None);
    };
    budget.declare(&family)?;
    let errors = found.len();
    let mut messages: Vec<Message> = Vec::new();
    let mut declared: HashMap<&str, &ast::Message> = HashMap::new();
    let mut states: Vec<&ast::State> = Vec::new();
    for (depth, member) in family.iter().enumerate().rev() {
        // Faults of a base are reported at the base.
        let mut elsewhere = Vec::new();
        let found = if depth == 0 {
            &mut *found
        } else {
            &mut elsewhere
        };
        for m in &member.messages {
            if messages.len() > MAX_MESSAGES {
                break; // one too many is enough to refuse it
            }
            message(m, member, names, model, &mut messages, &mut declared, found);
        }
        for s in &member.states {
            if states.len() > MAX_STATES {
                break;
            }
            state(s, member, &mut states, found);
        }
    }
    if messages.is_empty() {
        let text = format!("contract {} has no messages", c.name.text);
        found.push(
            Diagnostic::error(
                text,
                c.name.span,
                "nothing can ever be said on such a channel",
            )
            .help("declare one: `in message Hello();`"),
        );
    }
    if messages.len() > MAX_MESSAGES {
        let text = format!(
            "contract {} has more than {MAX_MESSAGES} messages",
            c.name.text
        );
        found.push(Diagnostic::error(
            text,
            c.name.span,
            "that is the most there can be",
        ));
    }
    if states.is_empty() {
        let text = format!("contract {} has no states", c.name.text);
        let help = match messages.first() {
            Some(m) if m.direction == Direction::Out => {
                format!("`state Start: {}! -> closed;`", m.name)
            }
            Some(m) => format!("`state Start: {}? -> closed;`", m.name),
            None => "`state Start: Hello? -> closed;`".into(),
        };
        found.push(
            Diagnostic::error(
                text,
                c.name.span,
                "it does not say when its messages may be sent",
            )
            .help(format!("declare at least one, for example {help}")),
        );
    }
    if found.len() > errors {
        return Ok(None);
    }
    let Some(states) = machine::build(c, &states, &messages, found) else {
        return Ok(None);
    };
    let contract = Contract {
        docs: c.docs.clone(),
        public: c.public,
        name: c.name.text.clone(),
        bases: family[1..]
            .iter()
            .map(|b| Base {
                name: b.name.text.clone(),
                stands: [Vec::new(), Vec::new()],
                pairs: [Vec::new(), Vec::new()],
            })
            .collect(),
        narrows: None,
        messages,
        states,
        queue: [0, 0],
        span: c.name.span,
    };
    budget.made(&contract, model)?;
    Ok(Some(contract))
}

fn message<'a>(
    m: &'a ast::Message,
    member: &ast::Contract,
    names: &Names<'_>,
    model: &Model,
    messages: &mut Vec<Message>,
    declared: &mut HashMap<&'a str, &'a ast::Message>,
    found: &mut Vec<Diagnostic>,
) {
    if matches!(m.name.text.as_str(), "Closed" | "ChannelClosed") {
        found.push(
            Diagnostic::error(
                format!("no message can be called {}", m.name.text),
                m.name.span,
                "this name is taken",
            )
            .note("every receive can find the channel closed: it says so by the name Closed, and a switch by ChannelClosed")
            .help("`Close` is free"),
        );
    }
    let arguments = fields(&m.arguments, names, model, found);
    blocks::check_contents(&m.arguments, model, found);
    let words = total_words(&arguments, model);
    if words > MAX_WORDS {
        let text = format!("message {} takes {words} words", m.name.text);
        found.push(
            Diagnostic::error(text, m.name.span, format!("a message takes at most {MAX_WORDS}"))
                .note("each scalar, enum, block and endpoint takes one; a rep struct as many as its fields")
                .help("put the values in a block: `T* in ExHeap` takes one word"),
        );
    }
    let requires = requires::resolve(&m.requires, &arguments, model, found);
    let message = Message {
        docs: m.docs.clone(),
        name: m.name.text.clone(),
        direction: m.direction,
        arguments,
        requires,
        span: m.name.span,
    };
    let Some(before) = declared.get(m.name.text.as_str()) else {
        declared.insert(&m.name.text, m);
        messages.push(message);
        return;
    };
    let Some(old) = messages.iter_mut().find(|o| o.name == message.name) else {
        return;
    };
    if member.messages.iter().any(|o| std::ptr::eq(o, *before)) {
        found.push(twice(
            &format!("message {}", m.name.text),
            &m.name,
            &before.name,
        ));
    } else if old.direction != message.direction
        || old.requires != message.requires
        || !same_types(&old.arguments, &message.arguments)
    {
        found.push(
            Diagnostic::error(
                format!("message {} differs from the inherited one", m.name.text),
                m.name.span,
                "another direction, other arguments or other conditions",
            )
            .label(before.name.span, "inherited from here")
            .help("say it as it is in the base, leave it out, or choose another name"),
        );
    }
}

fn same_types(a: &[Field], b: &[Field]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.ty == b.ty)
}

fn state<'a>(
    s: &'a ast::State,
    member: &ast::Contract,
    states: &mut Vec<&'a ast::State>,
    found: &mut Vec<Diagnostic>,
) {
    if matches!(s.name.text.as_str(), "Imp" | "Exp") {
        let text = format!("no state can be called {}", s.name.text);
        found.push(Diagnostic::error(
            text,
            s.name.span,
            "this is the name of a side",
        ));
    }
    let old = states.iter_mut().find(|o| o.name.text == s.name.text);
    match old {
        Some(old) if member.states.iter().any(|o| std::ptr::eq(o, *old)) => {
            found.push(twice(&format!("state {}", s.name.text), &s.name, &old.name));
        }
        Some(old) if s.overrides => *old = s,
        Some(old) => found.push(
            Diagnostic::error(
                format!("state {} is inherited", s.name.text),
                s.name.span,
                "this would replace it",
            )
            .label(old.name.span, "inherited from here")
            .help(format!(
                "say `override state {}` if that is meant",
                s.name.text
            )),
        ),
        None if s.overrides => {
            let error = Diagnostic::error(
                format!("there is no state {} to override", s.name.text),
                s.name.span,
                "nothing of this name is inherited",
            );
            let known = suggestion(&s.name.text, states.iter().map(|o| o.name.text.as_str()));
            found.push(match known {
                Some(help) => error.help(help),
                None => error.help("leave out `override`"),
            });
            states.push(s);
        }
        None => states.push(s),
    }
}

/// `C.Imp:closed` holds only where C has that state.
fn check_endpoints(model: &Model, found: &mut Vec<Diagnostic>) {
    for c in &model.contracts {
        for m in &c.messages {
            for a in &m.arguments {
                let Type::Endpoint {
                    contract, state, ..
                } = &a.ty
                else {
                    continue;
                };
                let missing = || {
                    let of = model.contract(contract);
                    of.is_some_and(|o| o.state(state).is_none())
                };
                if state == CLOSED && missing() {
                    found.push(Diagnostic::error(
                        format!("contract {contract} never gets to `closed`"),
                        m.span,
                        format!(
                            "argument {} of this message is an endpoint in that state",
                            a.name
                        ),
                    ));
                }
            }
        }
    }
}

/// Messages that are never sent and states that are never reached, in contracts that nothing
/// derives from.
fn warn_unused(items: &[&Item], model: &Model, found: &mut Vec<Diagnostic>) {
    let bases = model.contracts.iter().flat_map(|d| &d.bases);
    let bases: HashSet<&str> = bases.map(|b| b.name.as_str()).collect();
    for item in items {
        let Item::Contract(written) = item else {
            continue;
        };
        let Some(c) = model.contract(&written.name.text) else {
            continue;
        };
        if bases.contains(c.name.as_str()) {
            continue;
        }
        let reachable = c.reachable();
        let live = c.states.iter().zip(&reachable).filter(|(_, r)| **r);
        let live: HashMap<&str, &State> = live.map(|(s, _)| (s.name.as_str(), s)).collect();
        let said = live.values().flat_map(|s| &s.transitions);
        let said: HashSet<&str> = said.map(|t| c.messages[t.message].name.as_str()).collect();
        for m in &written.messages {
            if !said.contains(m.name.text.as_str()) {
                let text = format!("message {} can never be sent", m.name.text);
                let label = "no state that can be reached mentions it";
                found.push(Diagnostic::warning(text, m.name.span, label));
            }
        }
        for s in &written.states {
            if !live.contains_key(s.name.text.as_str()) {
                let text = format!("state {} is never reached", s.name.text);
                found.push(Diagnostic::warning(text, s.name.span, "nothing leads here"));
            }
        }
    }
}
