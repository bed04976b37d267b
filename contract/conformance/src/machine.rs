//! Behaviours with every name looked up: nodes, and what the process can do in each.
//!
//! A named state is a node; so is every place inside a sequence. Where alternatives begin alike,
//! the node has an edge for each: what then happens is open until it happens, as in any choice.

mod hold;

use crate::ast;
use crate::source::MOST_ERRORS;
use sing_contract::behavior::{ALL_CLOSED, CHANNEL_CLOSED, faults};
use sing_contract::{Diagnostic, Span};
use sing_image::contract::ContractTable;
use sing_image::manifest::Side;
use std::collections::HashMap;

/// The most nodes of a behaviour.
const MAX_NODES: usize = 4096;

/// A behaviour.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The process's endpoints.
    pub endpoints: Vec<Endpoint>,
    /// The first one is where it begins.
    pub nodes: Vec<Node>,
}

/// An endpoint, or several of one name.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Its name.
    pub name: String,
    /// Index of its contract.
    pub contract: usize,
    /// Its side.
    pub side: Side,
    /// The channels that lead there; one, unless any number may.
    pub channels: Vec<usize>,
}

/// A place in a behaviour.
#[derive(Clone, Debug)]
pub struct Node {
    /// The state's name; inside a sequence followed by `'` and what was done last.
    pub name: String,
    /// Whether it is a named state, where endpoints of one name are all alike again.
    pub named: bool,
    /// Whether the process may stay there for ever.
    pub rest: bool,
    /// The named state whose sequence it is in; itself, where it is one.
    pub origin: usize,
    /// How conversations are served that begin in its state.
    pub order: ast::Order,
    /// Endpoints that the sequence has used already and still needs.
    pub held: Vec<usize>,
    /// Whether the process has ended.
    pub end: bool,
    /// The place at which it is written.
    pub span: Span,
    /// The steps that lead on.
    pub edges: Vec<Edge>,
}

impl Node {
    /// Whether the process can only wait there.
    #[must_use]
    pub fn only_receives(&self) -> bool {
        !self.end && self.edges.iter().all(|e| matches!(e.act, Act::Receive(_)))
    }
}

/// Something that may happen.
#[derive(Clone, Debug)]
pub struct Edge {
    /// What.
    pub act: Act,
    /// Index of the node that follows.
    pub target: usize,
    /// The place at which it is written.
    pub span: Span,
}

/// The act of a process in a step.
#[derive(Clone, Debug)]
pub enum Act {
    /// Sends.
    Send {
        /// Index of the endpoint.
        endpoint: usize,
        /// Index of the message.
        message: u16,
        /// Whether on all endpoints of that name.
        all: bool,
    },
    /// Receives all of these at once.
    Receive(Vec<Part>),
    /// Closes an endpoint.
    Close(usize),
    /// Does something that nobody sees.
    Skip,
}

/// Part of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Index of the endpoint.
    pub endpoint: usize,
    /// The event that it brings.
    pub what: What,
}

/// The event that an endpoint brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// This message.
    Message(u16),
    /// The news that the other side has closed.
    Closed,
    /// Nothing any more, as all of that name are closed.
    AllClosed,
}

/// Looks up the names of a behaviour.
pub(crate) fn lower(
    behavior: &ast::Behavior,
    endpoints: Vec<Endpoint>,
    contracts: &[ContractTable],
    errors: &mut Vec<Diagnostic>,
) -> Machine {
    let before = errors.len();
    let mut states = HashMap::new();
    let mut nodes = Vec::new();
    if let Some(one) = behavior.states.get(MAX_NODES) {
        errors.push(too_many(one.name.span));
        return Machine { endpoints, nodes };
    }
    for state in &behavior.states {
        let name = &state.name;
        if let Some(first) = states.insert(name.text.as_str(), nodes.len()) {
            let first: &Node = &nodes[first];
            errors.push(faults::state_twice(name, first.span));
        }
        nodes.push(Node {
            name: name.text.clone(),
            named: true,
            rest: state.rest,
            origin: nodes.len(),
            order: state.order,
            held: Vec::new(),
            end: state.body.is_empty(),
            span: name.span,
            edges: Vec::new(),
        });
    }
    let mut lowering = Lowering {
        states,
        machine: Machine { endpoints, nodes },
        contracts,
        end: None,
        full: false,
        errors,
    };
    for (i, state) in behavior.states.iter().enumerate() {
        for sequence in &state.body {
            lowering.sequence(i, &sequence.steps, None);
        }
    }
    let sound = lowering.errors.len() == before;
    if sound {
        lowering.unreached();
    }
    let mut machine = lowering.machine;
    if sound {
        machine.hold();
    }
    machine
}

fn too_many(span: Span) -> Diagnostic {
    let text = format!("this behavior has more than {MAX_NODES} places");
    Diagnostic::error(text, span, "here").help("divide the process into several")
}

impl Act {
    /// The endpoints that it is about.
    pub fn endpoints(&self) -> impl Iterator<Item = usize> {
        let (one, parts) = match self {
            Act::Send { endpoint, .. } | Act::Close(endpoint) => (Some(*endpoint), &[][..]),
            Act::Receive(parts) => (None, &parts[..]),
            Act::Skip => (None, &[][..]),
        };
        one.into_iter().chain(parts.iter().map(|p| p.endpoint))
    }
}

struct Lowering<'a> {
    states: HashMap<&'a str, usize>,
    machine: Machine,
    contracts: &'a [ContractTable],
    /// The node that `end` leads to.
    end: Option<usize>,
    /// Whether there are more places than may be.
    full: bool,
    errors: &'a mut Vec<Diagnostic>,
}

impl Lowering<'_> {
    /// Whether to look no further: it is refused already, and nobody needs to know more.
    fn is_over(&self) -> bool {
        self.full || self.errors.len() > MOST_ERRORS
    }

    /// A new place in a sequence, if there may be one more.
    fn node(&mut self, from: usize, after: &str, span: Span) -> Option<usize> {
        if self.machine.nodes.len() >= MAX_NODES {
            self.full = true;
            self.errors.push(too_many(span));
            return None;
        }
        let from = &self.machine.nodes[from];
        let (origin, order) = (from.origin, from.order);
        let state = from.name.split('\'').next().unwrap_or(&from.name);
        self.machine.nodes.push(Node {
            name: format!("{state}'{after}"),
            named: false,
            rest: false,
            origin,
            order,
            held: Vec::new(),
            end: false,
            span,
            edges: Vec::new(),
        });
        Some(self.machine.nodes.len() - 1)
    }

    /// Adds steps that begin at a node; `next` is where they lead where they do not say so
    /// themselves. Recurses into choices, whose depth the parser bounds, and not from step to step.
    fn sequence(&mut self, mut at: usize, steps: &[ast::Step], next: Option<usize>) {
        // Choices with the node that each begins at and the one that follows it.
        let mut choices = Vec::new();
        for (i, step) in steps.iter().enumerate() {
            if self.is_over() {
                return;
            }
            let span = step.span();
            let (act, after) = match step {
                ast::Step::Choice(..) => (None, "choice".into()),
                _ => {
                    if let Some(target) = self.leads_to(step) {
                        // A state where a step would stand: the process goes there by itself.
                        self.edge(at, Act::Skip, target, span);
                        break;
                    }
                    let Some((act, after)) = self.act(step) else {
                        break;
                    };
                    (Some(act), after)
                }
            };
            let (target, goes_on) = match &steps[i + 1..] {
                [] => (next, false),
                [then, rest @ ..] => match self.leads_to(then).filter(|_| rest.is_empty()) {
                    Some(target) => (Some(target), false),
                    None => match self.node(at, &after, then.span()) {
                        Some(node) => (Some(node), true),
                        None => return,
                    },
                },
            };
            match (act, step) {
                (None, ast::Step::Choice(all, _)) => choices.push((at, all, target)),
                (Some(act), _) => match target {
                    Some(target) => self.edge(at, act, target, span),
                    None => self.errors.push(
                        Diagnostic::error("it is not said what follows", span, "after this")
                            .help("go on with `-> STATE`, or `-> end` where the process ends"),
                    ),
                },
                (None, _) => {}
            }
            match target {
                Some(target) if goes_on => at = target,
                _ => break,
            }
        }
        // Later ones first: places are numbered from the end of a sequence.
        for (at, all, follows) in choices.into_iter().rev() {
            for sequence in all {
                self.sequence(at, &sequence.steps, follows);
            }
        }
    }

    fn edge(&mut self, at: usize, act: Act, target: usize, span: Span) {
        self.machine.nodes[at]
            .edges
            .push(Edge { act, target, span });
    }

    /// The node that a step names, where it names one. A state that is not there is reported once.
    fn leads_to(&mut self, step: &ast::Step) -> Option<usize> {
        match step {
            ast::Step::End(span) => Some(*self.end.get_or_insert_with(|| {
                self.machine.nodes.push(Node {
                    name: "end".into(),
                    named: true,
                    rest: false,
                    origin: self.machine.nodes.len(),
                    order: ast::Order::Either,
                    held: Vec::new(),
                    end: true,
                    span: *span,
                    edges: Vec::new(),
                });
                self.machine.nodes.len() - 1
            })),
            ast::Step::State(name) => Some(match self.states.get(name.text.as_str()) {
                Some(&node) => node,
                None => {
                    let known = self.machine.nodes.iter().filter(|n| n.named);
                    let error = faults::no_state(name, known.map(|n| n.name.as_str()));
                    if !self.errors.contains(&error) {
                        self.errors.push(error);
                    }
                    0
                }
            }),
            _ => None,
        }
    }

    /// The act of a step, and the name of the place behind it.
    fn act(&mut self, step: &ast::Step) -> Option<(Act, String)> {
        Some(match step {
            ast::Step::Send {
                all,
                endpoint,
                message,
            } => {
                let i = self.endpoint(endpoint)?;
                let m = self.message(i, message, true)?;
                let act = Act::Send {
                    endpoint: i,
                    message: m,
                    all: *all,
                };
                (act, message.text.clone())
            }
            ast::Step::Receive(parts) => {
                let mut all: Vec<Part> = Vec::new();
                for (endpoint, message) in parts {
                    let i = self.endpoint(endpoint)?;
                    if all.iter().any(|p| p.endpoint == i) {
                        self.errors.push(
                            Diagnostic::error(
                                format!("{} stands twice in a pattern", endpoint.text),
                                endpoint.span,
                                "again",
                            )
                            .help("a pattern takes the first message of each endpoint; take the next one in a step of its own"),
                        );
                        return None;
                    }
                    let what = match message.text.as_str() {
                        CHANNEL_CLOSED => What::Closed,
                        ALL_CLOSED => What::AllClosed,
                        _ => What::Message(self.message(i, message, false)?),
                    };
                    all.push(Part { endpoint: i, what });
                }
                let names: Vec<&str> = parts.iter().map(|p| p.1.text.as_str()).collect();
                (Act::Receive(all), names.join("&"))
            }
            ast::Step::Close(endpoint) => {
                let i = self.endpoint(endpoint)?;
                (Act::Close(i), format!("close_{}", endpoint.text))
            }
            _ => (Act::Skip, "skip".into()),
        })
    }

    fn endpoint(&mut self, name: &ast::Name) -> Option<usize> {
        let all = &self.machine.endpoints;
        let found = all.iter().position(|e| e.name == name.text);
        if found.is_none() {
            let known = all.iter().map(|e| e.name.as_str());
            let error = faults::no_endpoint(name, "no channel leads to it", known);
            self.errors.push(error);
        }
        found
    }

    /// Looks a message up that the endpoint sends, or receives.
    fn message(&mut self, endpoint: usize, name: &ast::Name, sends: bool) -> Option<u16> {
        let endpoint = &self.machine.endpoints[endpoint];
        let table = &self.contracts[endpoint.contract];
        let side = if sends {
            endpoint.side
        } else {
            endpoint.side.peer()
        };
        let said = |side: Side, m: u16| {
            (0..table.states.len()).any(|s| table.step(s as u16, m, side).is_some())
        };
        let error = match table.message(&name.text) {
            Some(m) if said(side, m) => return Some(m),
            Some(m) if said(side.peer(), m) => {
                let (does, other) = if sends {
                    ("receives", "?")
                } else {
                    ("sends", "!")
                };
                Diagnostic::error(
                    format!(
                        "endpoint {} {does} {}, as it is {}.{}",
                        endpoint.name,
                        name.text,
                        table.name,
                        endpoint.side.name()
                    ),
                    name.span,
                    "the other way round",
                )
                .help(format!(
                    "in a behavior the signs are the process's own; write `{}.{}{other}`",
                    endpoint.name, name.text
                ))
            }
            found => {
                let what = if found.is_some() {
                    format!("no state of {} allows message {}", table.name, name.text)
                } else {
                    format!("{} has no message {}", table.name, name.text)
                };
                let known: Vec<&str> = table
                    .messages
                    .iter()
                    .zip(0u16..)
                    .filter(|(_, i)| said(side, *i))
                    .map(|(m, _)| m.name.as_str())
                    .collect();
                let verb = if sends { "send" } else { "receive" };
                let help = format!(
                    "endpoint {} can {verb} {}",
                    endpoint.name,
                    if known.is_empty() {
                        "nothing".into()
                    } else {
                        known.join(", ")
                    }
                );
                Diagnostic::error(what, name.span, "not there").help(help)
            }
        };
        self.errors.push(error);
        None
    }

    /// A state that no step leads to was meant for something.
    fn unreached(&mut self) {
        let nodes = &self.machine.nodes;
        let mut seen = vec![false; nodes.len()];
        let mut todo = vec![0];
        while let Some(n) = todo.pop() {
            if !std::mem::replace(&mut seen[n], true) {
                todo.extend(nodes[n].edges.iter().map(|e| e.target));
            }
        }
        for (node, _) in nodes.iter().zip(&seen).filter(|(n, s)| n.named && !**s) {
            self.errors.push(
                Diagnostic::error(
                    format!("nothing leads to state {}", node.name),
                    node.span,
                    "never reached",
                )
                .help("the first state is where the process begins"),
            );
        }
    }
}
