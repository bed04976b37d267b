//! The faults of a system: one finding for each cause, with a shortest run that leads there.

mod faults;
mod notes;
mod runs;

use crate::ast::Span;
use crate::explore::{Exploration, Taken, explore};
use crate::machine::{Act, Node};
use crate::step::Rules;
use crate::system::System;
use sing_contract::Diagnostic;
use sing_image::manifest::Side;

/// Kinds of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A process sends what its contract does not allow.
    Breach,
    /// A message comes for which a process that listens has no case.
    Unspecified,
    /// Processes wait, and nobody can move.
    Deadlock,
    /// A process waits at a closed channel.
    Cut,
    /// A message is not received.
    Unreceived,
    /// A process or a channel stays in a state for ever while others go on.
    Stuck,
}

impl Kind {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Breach => "breach",
            Kind::Unspecified => "unspecified",
            Kind::Deadlock => "deadlock",
            Kind::Cut => "cut",
            Kind::Unreceived => "unreceived",
            Kind::Stuck => "stuck",
        }
    }
}

/// A finding.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The kind of finding.
    pub kind: Kind,
    /// The sentence.
    pub message: String,
    /// The place that is at fault, and the label there.
    pub place: Option<(Span, String)>,
    /// Further facts.
    pub notes: Vec<String>,
    /// The way out.
    pub help: &'static str,
    /// Whom it concerns: processes with their states.
    pub who: Vec<(String, String)>,
    /// A shortest run that leads there.
    pub run: Vec<Taken>,
    /// The state of affairs at its end: process and words.
    pub last: Vec<(usize, String)>,
}

/// The result of a check.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The faults; those with the shortest runs first.
    pub findings: Vec<Finding>,
    /// Facts that are no faults, but worth knowing.
    pub notes: Vec<String>,
    /// Situations that were seen.
    pub situations: usize,
    /// Steps from one to another.
    pub steps: usize,
    /// Steps to the farthest of them.
    pub depth: usize,
    /// Bytes that each took.
    pub bytes_each: usize,
    /// Whether these are all that can come about.
    pub complete: bool,
}

/// Checks a system, looking at so many situations at most.
#[must_use]
pub fn check(system: &System, limit: usize) -> Outcome {
    let exploration = explore(system, limit);
    let mut finder = Finder {
        system,
        rules: Rules::new(system),
        exploration: &exploration,
        findings: Vec::new(),
    };
    for &(at, fault) in &exploration.faults {
        finder.fault(at, fault);
    }
    let mut explained: Vec<bool> = (0..exploration.seen() as u32)
        .map(|i| exploration.is_faulty(i))
        .collect();
    finder.quiet(&mut explained);
    // Findings about all runs need a complete exploration.
    if exploration.complete {
        finder.runs(explained);
    }
    let mut findings = finder.findings;
    findings.sort_by_key(|(at, f)| (*at, f.kind));
    Outcome {
        notes: notes::notes(&exploration),
        findings: findings.into_iter().map(|(_, f)| f).collect(),
        situations: exploration.seen(),
        steps: exploration.targets.len(),
        depth: exploration.depth,
        bytes_each: exploration.bytes_each(),
        complete: exploration.complete,
    }
}

impl Finding {
    /// The finding as a diagnostic with its place in the text.
    #[must_use]
    pub fn diagnostic(&self, system: &System) -> Diagnostic {
        let (span, label) = self.place.clone().unwrap_or((
            Span {
                source: u32::MAX,
                ..Span::default()
            },
            String::new(),
        ));
        let mut d = Diagnostic::error(&self.message, span, label).help(self.help);
        d.notes.clone_from(&self.notes);
        d.set_sources(&system.sources);
        d
    }
}

/// `a, b and c`
fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).into(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

struct Finder<'a> {
    system: &'a System,
    rules: Rules<'a>,
    exploration: &'a Exploration<'a>,
    findings: Vec<(u32, Finding)>,
}

impl Finder<'_> {
    fn node(&self, process: usize, node: usize) -> Option<&Node> {
        self.system.machine(process).map(|m| &m.nodes[node])
    }

    fn process(&self, process: usize) -> &str {
        &self.system.processes[process].name
    }

    /// A process and the state that it is in.
    fn who(&self, process: usize, row: &[u16]) -> (String, String) {
        let node = self.rules.node(process, row);
        let state = node.and_then(|n| self.node(process, n));
        (
            self.process(process).into(),
            state.map_or(String::new(), |n| n.name.clone()),
        )
    }

    fn add(&mut self, at: u32, finding: Finding) {
        let same = self
            .findings
            .iter()
            .any(|(_, f)| f.kind == finding.kind && f.message == finding.message);
        if !same {
            self.findings.push((at, finding));
        }
    }

    /// The side of a channel that a process holds; the importing one, where it holds both.
    fn side_of(&self, process: usize, channel: usize) -> Side {
        if self.system.holder(channel, Side::Imp) == Some(process) {
            Side::Imp
        } else {
            Side::Exp
        }
    }

    /// The messages that a side may send and receive in a state of a contract, in words.
    fn allowed(&self, channel: usize, side: Side, state: &str) -> String {
        let table = self.system.contract(channel);
        let Some(s) = table.state(state) else {
            return "nothing can be said any more".into();
        };
        let names = |sender: Side| {
            let all: Vec<&str> = table
                .messages
                .iter()
                .zip(0u16..)
                .filter(|(_, m)| self.system.sends(channel, sender, s, *m).is_some())
                .map(|(m, _)| m.name.as_str())
                .collect();
            all.join(" or ")
        };
        match (names(side).as_str(), names(side.peer()).as_str()) {
            ("", "") => "only the close is left".into(),
            ("", comes) => format!("it waits for {comes}"),
            (may, "") => format!("it may send {may}"),
            (may, comes) => format!("it may send {may} and can get {comes}"),
        }
    }

    fn unreceived(
        &self,
        channel: usize,
        side: Side,
        message: u16,
        row: &[u16],
        run: Vec<Taken>,
        why: &str,
    ) -> Finding {
        let system = self.system;
        let name = system.message(channel, message);
        let receiver = system.holder(channel, side);
        let place = receiver.and_then(|p| {
            let node = self.rules.node(p, row)?;
            let span = self.node(p, node)?.span;
            Some((span, format!("{} is here by then", self.process(p))))
        });
        Finding {
            kind: Kind::Unreceived,
            message: format!(
                "nobody receives {name}, sent by {} to {}",
                system.end_name(channel, side.peer()),
                system.end_name(channel, side)
            ),
            place,
            notes: vec![why.into()],
            help: "receive it, or do not send it",
            who: receiver.iter().map(|&p| self.who(p, row)).collect(),
            run,
            last: receiver
                .map(|p| (p, format!("never takes {name}")))
                .into_iter()
                .collect(),
        }
    }

    /// Whether a process waits and must not for ever.
    fn waits(&self, process: usize, row: &[u16]) -> bool {
        let places = self.rules.places(process, row).into_iter();
        let mut nodes = places.filter_map(|(_, n)| self.node(process, n));
        nodes.any(|n| !n.end && !n.rest)
    }

    /// Whether a process waits for what comes on a channel.
    fn listens(&self, process: usize, channel: usize, row: &[u16]) -> bool {
        let Some(machine) = self.system.machine(process) else {
            return true;
        };
        let mut places = self.rules.places(process, row).into_iter();
        places.any(|(talk, node)| {
            machine.nodes[node].edges.iter().any(|e| match &e.act {
                Act::Receive(parts) => parts.iter().any(|p| {
                    let all = self
                        .rules
                        .instances(process, talk, p.endpoint, row, machine);
                    all.contains(&channel)
                }),
                _ => false,
            })
        })
    }
}
