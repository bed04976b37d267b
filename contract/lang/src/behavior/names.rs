//! The names in a behaviour that need no contract to be looked up: its states, and the endpoints of
//! its process.

use super::ast::{Behavior, Name, Sequence, Step};
use crate::diagnostic::Diagnostic;
use std::collections::HashMap;

/// The pattern that fires when the other side has closed and nothing is left to receive.
pub const CHANNEL_CLOSED: &str = "ChannelClosed";
/// The pattern that fires when no endpoint of that name is open any more.
pub const ALL_CLOSED: &str = "AllClosed";

/// The faults of names, for everybody who looks them up.
pub mod faults {
    use super::{Diagnostic, Name};
    use crate::source::Span;

    /// The most names that a help lists.
    pub const MOST_LISTED: usize = 20;

    fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
        let names: Vec<&str> = names.take(MOST_LISTED).collect();
        names.join(", ")
    }

    /// A second state of one name.
    #[must_use]
    pub fn state_twice(name: &Name, first: Span) -> Diagnostic {
        let text = format!("state {} is declared twice", name.text);
        Diagnostic::error(text, name.span, "declared again").label(first, "first declared here")
    }

    /// A step to a state that is not there.
    #[must_use]
    pub fn no_state<'a>(name: &Name, known: impl Iterator<Item = &'a str>) -> Diagnostic {
        let text = format!("there is no state {}", name.text);
        let help = format!("its states are {}", listed(known));
        Diagnostic::error(text, name.span, "not declared").help(help)
    }

    /// An endpoint that the process does not have. `label` says why not.
    #[must_use]
    pub fn no_endpoint<'a>(
        name: &Name,
        label: &str,
        known: impl Iterator<Item = &'a str>,
    ) -> Diagnostic {
        let text = format!("the process has no endpoint {}", name.text);
        let error = Diagnostic::error(text, name.span, label);
        match listed(known) {
            known if known.is_empty() => error,
            known => error.help(format!("it has {known}")),
        }
    }
}

/// A message that a behaviour names, with its endpoint.
#[derive(Clone, Copy, Debug)]
pub struct Said<'a> {
    /// The endpoint.
    pub endpoint: &'a Name,
    /// The message.
    pub message: &'a Name,
    /// Whether the process sends it, and does not receive it.
    pub sends: bool,
}

/// The messages that a behaviour names, in order.
#[must_use]
pub fn said(behavior: &Behavior) -> Vec<Said<'_>> {
    let mut all = Vec::new();
    for step in steps(behavior) {
        match step {
            Step::Send {
                endpoint, message, ..
            } => all.push(Said {
                endpoint,
                message,
                sends: true,
            }),
            Step::Receive(parts) => all.extend(
                parts
                    .iter()
                    .filter(|(_, message)| !matches!(&*message.text, CHANNEL_CLOSED | ALL_CLOSED))
                    .map(|(endpoint, message)| Said {
                        endpoint,
                        message,
                        sends: false,
                    }),
            ),
            _ => {}
        }
    }
    all
}

/// Looks up the states of a behaviour and the endpoints that it names, of a process that has these.
pub fn check(behavior: &Behavior, endpoints: &[&str], errors: &mut Vec<Diagnostic>) {
    let mut states = HashMap::new();
    for state in &behavior.states {
        if let Some(first) = states.insert(state.name.text.as_str(), state.name.span) {
            errors.push(faults::state_twice(&state.name, first));
        }
    }
    let endpoint = |name: &Name| {
        let known = endpoints.iter().copied();
        let missing = !endpoints.contains(&name.text.as_str());
        missing.then(|| faults::no_endpoint(name, "not declared among `endpoints`", known))
    };
    for step in steps(behavior) {
        match step {
            Step::State(name) if !states.contains_key(name.text.as_str()) => {
                let known = behavior.states.iter().map(|s| s.name.text.as_str());
                errors.push(faults::no_state(name, known));
            }
            Step::Send { endpoint: name, .. } | Step::Close(name) => errors.extend(endpoint(name)),
            Step::Receive(parts) => errors.extend(parts.iter().filter_map(|(e, _)| endpoint(e))),
            Step::State(_) | Step::Skip(_) | Step::End(_) | Step::Choice(..) => {}
        }
    }
}

/// All steps, those within choices behind them. The parser bounds how deep choices nest.
fn steps(behavior: &Behavior) -> Vec<&Step> {
    fn within<'a>(sequences: &'a [Sequence], all: &mut Vec<&'a Step>) {
        for step in sequences.iter().flat_map(|s| &s.steps) {
            all.push(step);
            if let Step::Choice(inner, _) = step {
                within(inner, all);
            }
        }
    }
    let mut all = Vec::new();
    for state in &behavior.states {
        within(&state.body, &mut all);
    }
    all
}
