//! State machines from sequences and choices.
//!
//! Named states come first, in order; then `closed`, where it is used; then the anonymous ones
//! between the steps of sequences, each named after the state it comes from and the message that
//! leads to it: `Start'Request`.

use super::suggestion;
use crate::ast::{self, Direction, Name, Sequence, Side, Span, Step};
use crate::diagnostic::{Diagnostic, MOST_KEPT};
use crate::model::{CLOSED, Message, State, Transition};
use sing_image::contract::MAX_STATES;
use std::collections::{HashMap, HashSet};

/// Past this length, the name of an anonymous state is that of its named ancestor and a number.
const LONG_NAME: usize = 60;

pub(super) fn build(
    contract: &ast::Contract,
    declared: &[&ast::State],
    messages: &[Message],
    found: &mut Vec<Diagnostic>,
) -> Option<Vec<State>> {
    let errors = found.len();
    let mut states: Vec<State> = declared
        .iter()
        .map(|s| State {
            docs: s.docs.clone(),
            name: s.name.text.clone(),
            transitions: Vec::new(),
            span: s.name.span,
        })
        .collect();
    if declared.iter().any(|s| s.body.iter().any(mentions_closed)) {
        let span = contract.name.span;
        let name = CLOSED.to_string();
        states.push(State {
            docs: Vec::new(),
            name,
            transitions: Vec::new(),
            span,
        });
    }
    let index = states
        .iter()
        .enumerate()
        .map(|(i, s)| (s.name.clone(), i))
        .collect();
    let tags = messages
        .iter()
        .enumerate()
        .map(|(i, m)| (m.name.as_str(), i))
        .collect();
    let names = states.iter().map(|s| s.name.clone()).collect();
    let named = states.len();
    let mut builder = Builder {
        contract,
        states,
        index,
        names,
        messages,
        tags,
        expected: Vec::new(),
        most_found: errors + MOST_KEPT,
        found,
    };
    for (i, state) in declared.iter().enumerate() {
        builder.alternatives(i, &state.body, None);
    }
    let Builder {
        states,
        expected,
        found,
        ..
    } = builder;
    if states.len() > MAX_STATES {
        let text = format!(
            "contract {} has more than {MAX_STATES} states",
            contract.name.text
        );
        found.push(
            Diagnostic::error(text, contract.name.span, "counted with those between steps")
                .help("split it into several contracts"),
        );
    }
    if found.len() == errors {
        let targets: HashSet<usize> = states
            .iter()
            .flat_map(|s| s.transitions.iter().map(|t| t.target))
            .collect();
        for (state, span) in expected.into_iter().filter(|e| !targets.contains(&e.0)) {
            debug_assert!(state >= named);
            found.push(
                Diagnostic::error("this step is never reached", span, "nothing leads here")
                    .note("every alternative before it says itself which state follows"),
            );
        }
    }
    (found.len() == errors).then_some(states)
}

fn mentions_closed(sequence: &Sequence) -> bool {
    sequence.steps.iter().any(|step| match step {
        Step::State(name) => name.text == CLOSED,
        Step::Choice(all, _) => all.iter().any(mentions_closed),
        Step::Message { .. } => false,
    })
}

struct Builder<'a> {
    contract: &'a ast::Contract,
    states: Vec<State>,
    index: HashMap<String, usize>,
    names: HashSet<String>,
    messages: &'a [Message],
    tags: HashMap<&'a str, usize>,
    /// Anonymous states after a choice, with the step that stands there: something must lead to
    /// them.
    expected: Vec<(usize, Span)>,
    /// The number of findings after which nobody needs to know more.
    most_found: usize,
    found: &'a mut Vec<Diagnostic>,
}

impl Builder<'_> {
    fn alternatives(&mut self, state: usize, all: &[Sequence], next: Option<usize>) {
        for sequence in all {
            self.sequence(state, sequence, next);
        }
    }

    /// Adds a sequence to a state; `next` is what follows where it does not say so itself.
    fn sequence(&mut self, mut here: usize, sequence: &Sequence, next: Option<usize>) {
        for (i, step) in sequence.steps.iter().enumerate() {
            if self.states.len() > MAX_STATES || self.found.len() >= self.most_found {
                return;
            }
            let rest = &sequence.steps[i + 1..];
            match step {
                Step::State(name) if i == 0 => {
                    self.found.push(
                        Diagnostic::error(
                            "a message must come before a change of state",
                            name.span,
                            "nothing has happened yet",
                        )
                        .help(format!(
                            "`M? -> {}` changes the state when M arrives",
                            name.text
                        )),
                    );
                    return;
                }
                Step::State(_) => return, // taken as the target of the step before it
                Step::Message { name, sender } => {
                    let target = self.after(here, rest, next, &name.text, sequence);
                    let message = self.message(name, *sender);
                    let (Some(target), Some(message)) = (target, message) else {
                        return;
                    };
                    self.transition(here, message, *sender, target, name);
                    here = target;
                }
                Step::Choice(all, span) => {
                    if all.is_empty() {
                        self.found.push(
                            Diagnostic::error("a choice without alternatives", *span, "empty")
                                .help("where the conversation is over, write `closed`"),
                        );
                        return;
                    }
                    let goes_on = !matches!(rest.first(), None | Some(Step::State(_)));
                    // Alternatives may all end in states of their own.
                    let target = match rest.first() {
                        None => next,
                        Some(_) => self.after(here, rest, next, "then", sequence),
                    };
                    self.alternatives(here, all, target);
                    let Some(target) = target else { return };
                    if goes_on {
                        self.expected.push((target, span_of(&rest[0])));
                    }
                    here = target;
                }
            }
        }
    }

    /// The state after a step: the one that the sequence names next, a new one where it goes on,
    /// else `next`.
    fn after(
        &mut self,
        here: usize,
        rest: &[Step],
        next: Option<usize>,
        what: &str,
        sequence: &Sequence,
    ) -> Option<usize> {
        match rest.first() {
            Some(Step::State(name)) => self.named(name),
            Some(_) => Some(self.anonymous(here, what, sequence.span)),
            None => {
                if next.is_none() {
                    let end = Span {
                        start: sequence.span.end,
                        ..sequence.span
                    };
                    let first = &self.states[0].name;
                    self.found.push(
                        Diagnostic::error("no state follows here", end, "what comes after this?")
                            .label(sequence.span, "this sequence ends without a state")
                            .help(format!(
                                "end it with a state, for example `-> {first}`, or with `-> closed` \
                                 where the conversation is over"
                            )),
                    );
                }
                next
            }
        }
    }

    fn named(&mut self, name: &Name) -> Option<usize> {
        if let Some(&i) = self.index.get(&name.text) {
            return Some(i);
        }
        let error = Diagnostic::error(
            format!(
                "contract {} has no state {}",
                self.contract.name.text, name.text
            ),
            name.span,
            "no such state",
        );
        let help = if self.tags.contains_key(name.text.as_str()) {
            format!(
                "{0} is a message; write `{0}?` where the exporting side receives it, `{0}!` where it sends it",
                name.text
            )
        } else if let Some(help) = suggestion(&name.text, self.index.keys().map(String::as_str)) {
            help
        } else if name.text.eq_ignore_ascii_case(CLOSED) {
            "declare it (`state Closed;`), or write `closed`, which every contract has".into()
        } else {
            format!("declare it: `state {}: …;`", name.text)
        };
        self.found.push(error.help(help));
        None
    }

    fn anonymous(&mut self, here: usize, what: &str, span: Span) -> usize {
        let from = &self.states[here].name;
        let root = from.split('\'').next().unwrap_or_default();
        let wanted = if from.len() > LONG_NAME {
            format!("{root}'{}", self.states.len())
        } else {
            format!("{from}'{what}")
        };
        let mut name = wanted.clone();
        let mut n = 1;
        while !self.names.insert(name.clone()) {
            n += 1;
            name = format!("{wanted}{n}");
        }
        self.states.push(State {
            docs: Vec::new(),
            name,
            transitions: Vec::new(),
            span,
        });
        self.states.len() - 1
    }

    fn message(&mut self, name: &Name, sender: Side) -> Option<usize> {
        let Some(&i) = self.tags.get(name.text.as_str()) else {
            let error = Diagnostic::error(
                format!(
                    "contract {} has no message {}",
                    self.contract.name.text, name.text
                ),
                name.span,
                "no such message",
            );
            let known = suggestion(&name.text, self.tags.keys().copied());
            let direction = if sender == Side::Imp { "in" } else { "out" };
            self.found.push(error.help(
                known.unwrap_or_else(|| {
                    format!("declare it: `{direction} message {}();`", name.text)
                }),
            ));
            return None;
        };
        let message = &self.messages[i];
        let (wrong, side, sign) = match (message.direction, sender) {
            (Direction::In, Side::Exp) => ("in", "importing", '?'),
            (Direction::Out, Side::Imp) => ("out", "exporting", '!'),
            _ => return Some(i),
        };
        self.found.push(
            Diagnostic::error(
                format!("message {} goes the other way", name.text),
                name.span,
                format!("but only the {side} side sends it"),
            )
            .label(message.span, format!("declared `{wrong}`"))
            .note("contracts are written from the exporting side: `?` is what it receives, `!` what it sends")
            .help(format!("write `{}{sign}`", name.text)),
        );
        None
    }

    fn transition(
        &mut self,
        here: usize,
        message: usize,
        sender: Side,
        target: usize,
        name: &Name,
    ) {
        let state = &mut self.states[here];
        let before = state
            .transitions
            .iter()
            .find(|t| t.message == message && t.sender == sender);
        if let Some(before) = before {
            self.found.push(
                Diagnostic::error(
                    format!("message {} twice in one state", name.text),
                    name.span,
                    "what follows would be ambiguous",
                )
                .label(before.span, "it is already expected here")
                .help("let the alternatives begin with it once, and choose after it: `M? -> (A! or B!)`"),
            );
            return;
        }
        state.transitions.push(Transition {
            message,
            sender,
            target,
            span: name.span,
        });
    }
}

fn span_of(step: &Step) -> Span {
    match step {
        Step::Message { name, .. } | Step::State(name) => name.span,
        Step::Choice(_, span) => *span,
    }
}
