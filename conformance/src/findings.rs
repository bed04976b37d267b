//! What is wrong with a system: one finding for each cause, with a shortest run that leads there.

use crate::ast::Span;
use crate::cells;
use crate::explore::{Exploration, Speaks, Taken, explore};
use crate::graph::Backwards;
use crate::machine::{Act, Node, What};
use crate::step::{Fault, Rules};
use crate::system::{Body, System};
use sing_contract::Diagnostic;
use sing_image::manifest::Side;
use std::collections::{BTreeMap, BTreeSet};

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
    /// What kind.
    pub kind: Kind,
    /// The sentence.
    pub message: String,
    /// Where it is written, and what to say there.
    pub place: Option<(Span, String)>,
    /// Further facts.
    pub notes: Vec<String>,
    /// The way out.
    pub help: &'static str,
    /// Whom it concerns: processes with their states.
    pub who: Vec<(String, String)>,
    /// A shortest run that leads there.
    pub run: Vec<Taken>,
    /// What is the matter at its end: process and words.
    pub last: Vec<(usize, String)>,
}

/// What a check found out.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What is wrong; those with the shortest runs first.
    pub findings: Vec<Finding>,
    /// What is worth knowing.
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
    // What is about all runs can be said only where all are known.
    if exploration.complete {
        finder.runs(explained);
    }
    let mut findings = finder.findings;
    findings.sort_by_key(|(at, f)| (*at, f.kind));
    Outcome {
        notes: notes(&exploration),
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

/// What never happens, although a behaviour has it.
fn notes(exploration: &Exploration<'_>) -> Vec<String> {
    let system = exploration.system;
    let mut notes = system.notes.clone();
    for (p, process) in system.processes.iter().enumerate() {
        let Some(machine) = system.machine(p).filter(|_| exploration.complete) else {
            continue;
        };
        for (n, node) in machine.nodes.iter().enumerate() {
            let untaken = |e: &usize| !exploration.was_taken(p, n, *e);
            // Where nothing of a node happens, what leads to it has been named.
            if (0..node.edges.len()).all(|e| untaken(&e)) {
                continue;
            }
            // To be ready for a close that does not come is no oversight.
            let acts = (0..node.edges.len())
                .filter(untaken)
                .map(|e| &node.edges[e].act)
                .filter(|act| !is_precaution(act));
            let acts: Vec<String> = acts.map(|a| self::act(system, p, a)).collect();
            if !acts.is_empty() {
                let (process, state, acts) = (&process.name, &node.name, acts.join(", "));
                notes.push(format!("{process} in state {state} never comes to {acts}"));
            }
        }
    }
    notes
}

/// Whether an act is about nothing but closed channels.
fn is_precaution(act: &Act) -> bool {
    match act {
        Act::Receive(parts) => parts.iter().all(|p| !matches!(p.what, What::Message(_))),
        _ => false,
    }
}

/// What a behaviour does, as it is written.
fn act(system: &System, process: usize, act: &Act) -> String {
    let Some(machine) = system.machine(process) else {
        return String::new();
    };
    let endpoint = |i: usize| &machine.endpoints[i];
    let message = |i: usize, m: u16| {
        let messages = &system.contracts[endpoint(i).contract].messages;
        messages[usize::from(m)].name.clone()
    };
    match act {
        Act::Send {
            endpoint: i,
            message: m,
            all,
        } => {
            let all = if *all { "all " } else { "" };
            format!("`{all}{}.{}!`", endpoint(*i).name, message(*i, *m))
        }
        Act::Receive(parts) => {
            let parts: Vec<String> = parts
                .iter()
                .map(|p| {
                    let what = match p.what {
                        What::Message(m) => message(p.endpoint, m),
                        What::Closed => crate::machine::CHANNEL_CLOSED.into(),
                        What::AllClosed => crate::machine::ALL_CLOSED.into(),
                    };
                    format!("{}.{what}?", endpoint(p.endpoint).name)
                })
                .collect();
            format!("`{}`", parts.join(" && "))
        }
        Act::Close(i) => format!("`close {}`", endpoint(*i).name),
        Act::Skip => "what follows `skip`".into(),
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

    fn fault(&mut self, at: u32, fault: Fault) {
        let row = self.exploration.situation(at);
        let run = self.exploration.trace(at);
        let system = self.system;
        let finding = match fault {
            Fault::Breach {
                process,
                node,
                channel,
                state,
                message,
                edge,
            } => {
                let Some(n) = self.node(process, node) else {
                    return;
                };
                let name = system.message(channel, message);
                let side = self.side_of(process, channel);
                let state = system.state(channel, state);
                let contract = &system.contract(channel).name;
                let end = system.end_name(channel, side);
                Finding {
                    kind: Kind::Breach,
                    message: if state == "closed" {
                        format!(
                            "{} sends {name} on {end}, which it has closed",
                            self.process(process)
                        )
                    } else {
                        format!(
                            "{} sends {name} where {contract} does not allow it",
                            self.process(process)
                        )
                    },
                    place: Some((n.edges[edge].span, format!("sent in state {}", n.name))),
                    notes: vec![format!(
                        "{end} is in state {state}; {}",
                        self.allowed(channel, side, state)
                    )],
                    help: "the kernel ends a process that does this",
                    who: vec![(self.process(process).into(), n.name.clone())],
                    run,
                    last: vec![(process, format!("may not send {name}"))],
                }
            }
            Fault::Unspecified {
                process,
                node,
                channel,
                message,
            } => {
                let Some(n) = self.node(process, node) else {
                    return;
                };
                let name = system.message(channel, message);
                let end = system.end_name(channel, self.side_of(process, channel));
                Finding {
                    kind: Kind::Unspecified,
                    message: format!(
                        "{} can get {name} in state {}, which it does not expect there",
                        self.process(process),
                        n.name
                    ),
                    place: Some((n.span, format!("no case for {name} on {end}"))),
                    notes: Vec::new(),
                    help: "who listens at an endpoint takes whatever the contract lets come there: add the case",
                    who: vec![(self.process(process).into(), n.name.clone())],
                    run,
                    last: vec![(process, format!("has no case for {name}"))],
                }
            }
            Fault::Cut {
                process,
                node,
                channel,
            } => {
                let Some(n) = self.node(process, node) else {
                    return;
                };
                let side = self.side_of(process, channel);
                let end = system.end_name(channel, side);
                let closed = |side| self.rules.is_closed(&row, channel, side);
                let several = system
                    .machine(process)
                    .and_then(|m| m.endpoints.iter().find(|e| e.channels.contains(&channel)))
                    .filter(|e| e.channels.len() > 1);
                let (end, why, help) = match (several, closed(side), closed(side.peer())) {
                    (Some(e), true, _) => (
                        format!("{}.{}", self.process(process), e.name),
                        "all of which are closed",
                        "add a case for it: `endpoint.AllClosed?`",
                    ),
                    (_, true, false) => (
                        end,
                        "which it has closed itself",
                        "receive before closing, or stop waiting",
                    ),
                    (_, true, true) => (end, "which is closed", "say what follows the close"),
                    _ => (
                        end,
                        "which the other side has closed",
                        "add a case for it: `endpoint.ChannelClosed?`",
                    ),
                };
                Finding {
                    kind: Kind::Cut,
                    message: format!(
                        "{} waits in state {} for ever at {end}, {why}",
                        self.process(process),
                        n.name
                    ),
                    place: Some((n.span, "nothing comes any more".into())),
                    notes: Vec::new(),
                    help,
                    who: vec![(self.process(process).into(), n.name.clone())],
                    run,
                    last: vec![(process, "waits for ever".into())],
                }
            }
            Fault::Lost {
                channel,
                side,
                message,
            } => self.unreceived(
                channel,
                side,
                message,
                &row,
                run,
                "both sides have closed the channel",
            ),
            Fault::Table { channel, message } => Finding {
                kind: Kind::Unspecified,
                message: format!(
                    "{} of {} comes where the contract's table has no place for it",
                    system.message(channel, message),
                    system.contract(channel).name
                ),
                place: None,
                notes: Vec::new(),
                help: "compile the contract anew: its table contradicts itself",
                who: vec![(system.contract(channel).name.clone(), String::new())],
                run,
                last: Vec::new(),
            },
        };
        self.add(at, finding);
    }

    /// The side of a channel that a process holds; the importing one, where it holds both.
    fn side_of(&self, process: usize, channel: usize) -> Side {
        if self.system.holder(channel, Side::Imp) == Some(process) {
            Side::Imp
        } else {
            Side::Exp
        }
    }

    /// What a side may do in a state of a contract, in words.
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
                .filter(|(_, m)| table.step(s, *m, sender).is_some())
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
        let node = self.rules.node(process, row);
        let node = node.and_then(|n| self.node(process, n));
        node.is_some_and(|n| !n.end && !n.rest)
    }

    /// Situations in which nothing can happen any more.
    fn quiet(&mut self, explained: &mut [bool]) {
        for at in 0..self.exploration.expanded() as u32 {
            if !self.exploration.is_quiet(at) || self.exploration.is_faulty(at) {
                continue;
            }
            let row = self.exploration.situation(at);
            let all = 0..self.system.processes.len();
            let waiting: Vec<usize> = all.filter(|&p| self.waits(p, &row)).collect();
            let open = self.open_ends(&row);
            if !waiting.is_empty() || !open.is_empty() {
                explained[at as usize] = true;
                let finding = self.deadlock(Kind::Deadlock, at, &row, &waiting, &open);
                self.add(at, finding);
                continue;
            }
            for channel in 0..self.system.channels.len() {
                for side in [Side::Imp, Side::Exp] {
                    let known = self.system.holder(channel, side);
                    if known.and_then(|p| self.system.machine(p)).is_none() {
                        continue;
                    }
                    let layout = &self.exploration.layout.channels[channel];
                    if let Some(message) = cells::head(&row, layout, side) {
                        explained[at as usize] = true;
                        let run = self.exploration.trace(at);
                        let why = "nothing can happen any more, and it lies in the queue";
                        let finding = self.unreceived(channel, side, message, &row, run, why);
                        self.add(at, finding);
                    }
                }
            }
        }
    }

    /// Channels between processes of which nothing is known, and at which both wait.
    fn open_ends(&self, row: &[u16]) -> Vec<usize> {
        (0..self.system.channels.len())
            .filter(|&c| {
                [Side::Imp, Side::Exp].iter().all(|&side| {
                    let holder = self.system.holder(c, side);
                    let any = holder
                        .is_some_and(|p| matches!(self.system.processes[p].body, Body::Any { .. }));
                    any && !self.rules.is_closed(row, c, side)
                })
            })
            .collect()
    }

    /// What a process waits for, and of whom.
    fn waits_for(&self, process: usize, row: &[u16]) -> Vec<(String, Option<usize>)> {
        let Some(machine) = self.system.machine(process) else {
            return Vec::new();
        };
        let Some(node) = self.rules.node(process, row) else {
            return Vec::new();
        };
        let mut all = Vec::new();
        for edge in &machine.nodes[node].edges {
            let Act::Receive(parts) = &edge.act else {
                continue;
            };
            for part in parts {
                let endpoint = &machine.endpoints[part.endpoint];
                for &c in self.rules.instances(process, part.endpoint, row, machine) {
                    let layout = &self.exploration.layout.channels[c];
                    let peer = self.system.holder(c, endpoint.side.peer());
                    let name = peer.map_or("nobody", |p| self.process(p));
                    match part.what {
                        What::Message(m) if cells::head(row, layout, endpoint.side) != Some(m) => {
                            let text = format!("{} from {name}", self.system.message(c, m));
                            all.push((text, peer));
                        }
                        What::Closed => {
                            all.push((format!("{name} to close {}", endpoint.name), peer));
                        }
                        _ => {}
                    }
                }
            }
        }
        all
    }

    /// Processes that wait for each other: who for whom, as a circle where there is one.
    fn circle(&self, waiting: &[usize], row: &[u16]) -> Option<Vec<usize>> {
        for &start in waiting {
            let mut path = vec![start];
            let mut at = start;
            while let Some(next) = self
                .waits_for(at, row)
                .into_iter()
                .filter_map(|(_, p)| p)
                .find(|p| waiting.contains(p))
            {
                if let Some(i) = path.iter().position(|&p| p == next) {
                    return Some(path.split_off(i));
                }
                path.push(next);
                at = next;
            }
        }
        None
    }

    fn deadlock(
        &self,
        kind: Kind,
        at: u32,
        row: &[u16],
        waiting: &[usize],
        open: &[usize],
    ) -> Finding {
        let system = self.system;
        let mut notes = Vec::new();
        let circle = self.circle(waiting, row);
        let chosen = circle.clone().unwrap_or_else(|| waiting.to_vec());
        let names: Vec<&str> = chosen.iter().map(|&p| self.process(p)).collect();
        let mut last = Vec::new();
        for &p in waiting {
            let (name, state) = self.who(p, row);
            let mut wanted: Vec<String> = Vec::new();
            for (text, _) in self.waits_for(p, row) {
                if !wanted.contains(&text) {
                    wanted.push(text);
                }
            }
            let wanted = if wanted.is_empty() {
                "something that cannot come".into()
            } else {
                wanted.join(" or ")
            };
            notes.push(format!("{name} waits in state {state} for {wanted}"));
            last.push((p, format!("waits ({state})")));
        }
        for &c in open {
            let (imp, exp) = (Side::Imp, Side::Exp);
            notes.push(format!(
                "{} waits in state {}, {} in state {}",
                system.end_name(c, imp),
                system.state(c, self.rules.state(row, c, imp)),
                system.end_name(c, exp),
                system.state(c, self.rules.state(row, c, exp)),
            ));
        }
        if let Some(circle) = &circle
            && circle.len() > 1
        {
            let mut names: Vec<&str> = circle.iter().map(|&p| self.process(p)).collect();
            names.push(names[0]);
            notes.push(format!("the circle: {}", names.join(" waits for ")));
        }
        let message = match (kind, &circle, names.as_slice()) {
            (Kind::Stuck, _, [one]) => format!(
                "{one} stays in state {} for ever, while others go on",
                self.who(chosen[0], row).1
            ),
            (Kind::Stuck, ..) => {
                format!("{} wait for ever, while others go on", listed(&names))
            }
            (_, Some(_), [_, _, ..]) => format!("{} wait for each other", listed(&names)),
            (_, _, []) => "both sides of a channel wait for each other".into(),
            (_, _, [one]) => format!("{one} waits for ever"),
            (_, _, all) => format!("{} wait for ever", listed(all)),
        };
        let place = chosen.first().and_then(|&p| {
            let node = self.rules.node(p, row)?;
            let n = self.node(p, node)?;
            Some((n.span, format!("{} waits here", self.process(p))))
        });
        Finding {
            kind,
            message,
            place,
            notes,
            help: "let one of them speak first, or mark the state `rest` where staying there is what is meant",
            who: waiting.iter().map(|&p| self.who(p, row)).collect(),
            run: self.exploration.trace(at),
            last,
        }
    }

    /// What is about all runs: who never moves again, and what is never received.
    fn runs(&mut self, explained: Vec<bool>) {
        let back = Backwards::new(self.exploration);
        let mut explained = back.leading_to(explained);
        let mut stuck = vec![false; explained.len()];
        let mut reported = BTreeSet::new();
        let processes: Vec<usize> = (0..self.system.processes.len())
            .filter(|&p| self.system.machine(p).is_some())
            .collect();
        let alive: Vec<Vec<bool>> = processes
            .iter()
            .map(|&p| back.leading_to_step(|mark| mark.process == p))
            .collect();
        // For each process and state the situation in which most others are stuck too: they belong together.
        let mut worst: BTreeMap<(usize, usize), (usize, Vec<usize>)> = BTreeMap::new();
        for at in 0..explained.len() {
            if explained[at] || alive.iter().all(|a| a[at]) {
                continue;
            }
            let row = self.exploration.situation(at as u32);
            let dead = processes.iter().zip(&alive).filter(|(_, a)| !a[at]);
            let all: Vec<usize> = dead
                .map(|(&p, _)| p)
                .filter(|&p| self.waits(p, &row))
                .collect();
            for &p in &all {
                stuck[at] = true;
                let node = self.rules.node(p, &row).unwrap_or(0);
                let known = worst.get(&(p, node));
                if known.is_none_or(|(_, known)| known.len() < all.len()) {
                    worst.insert((p, node), (at, all.clone()));
                }
            }
        }
        for (key, (at, all)) in worst {
            let row = self.exploration.situation(at as u32);
            if reported.contains(&key) {
                continue;
            }
            for &p in &all {
                reported.insert((p, self.rules.node(p, &row).unwrap_or(0)));
            }
            let finding = self.deadlock(Kind::Stuck, at as u32, &row, &all, &[]);
            self.add(at as u32, finding);
        }
        if stuck.contains(&true) {
            for (explained, stuck) in explained.iter_mut().zip(&stuck) {
                *explained |= stuck;
            }
            explained = back.leading_to(explained);
        }
        for channel in 0..self.system.channels.len() {
            self.owed(&back, channel, &mut explained);
        }
        for (channel, side, message, at) in self.exploration.never_received() {
            // What is said to nobody is meant for nobody.
            if explained[at as usize] || self.system.holder(channel, side).is_none() {
                continue;
            }
            let row = self.exploration.situation(at);
            let run = self.exploration.trace(at);
            let why = "it is sent, but in no run is it ever received";
            let finding = self.unreceived(channel, side, message, &row, run, why);
            self.add(at, finding);
        }
    }

    /// Channels on which the exporting side has something to say, the client waits, and it is never said.
    fn owed(&mut self, back: &Backwards<'_>, channel: usize, explained: &mut Vec<bool>) {
        let system = self.system;
        let (Some(client), Some(server)) = (
            system.holder(channel, Side::Imp),
            system.holder(channel, Side::Exp),
        ) else {
            return;
        };
        if system.machine(server).is_none() {
            return;
        }
        let table = system.contract(channel);
        let sends = |state: u16, side| {
            (0..table.messages.len()).any(|m| table.step(state, m as u16, side).is_some())
        };
        let alive = back.leading_to_step(|mark| {
            mark.process == server
                && match mark.speaks {
                    Speaks::On(c) => c == channel,
                    Speaks::Widely => true,
                    Speaks::Nowhere => false,
                }
        });
        let mut found = Vec::new();
        for at in 0..explained.len() {
            if alive[at] || explained[at] {
                continue;
            }
            let row = self.exploration.situation(at as u32);
            let [imp, exp] = [Side::Imp, Side::Exp].map(|s| self.rules.state(&row, channel, s));
            let layout = &self.exploration.layout.channels[channel];
            let owed = imp == exp
                && imp != layout.closed
                && sends(imp, Side::Exp)
                && !sends(imp, Side::Imp)
                && [Side::Imp, Side::Exp]
                    .iter()
                    .all(|&s| cells::head(&row, layout, s).is_none());
            let resting = self.rules.node(server, &row);
            let resting = resting
                .and_then(|n| self.node(server, n))
                .is_some_and(|n| n.rest);
            if !owed || resting || !self.listens(client, channel, &row) {
                continue;
            }
            found.push(at);
            let state = system.state(channel, imp);
            let (name, at_node) = self.who(server, &row);
            let place = self.rules.node(server, &row).and_then(|n| {
                let span = self.node(server, n)?.span;
                Some((span, format!("{name} is here, and goes on without it")))
            });
            let client_end = system.end_name(channel, Side::Imp);
            let words = self
                .allowed(channel, Side::Exp, state)
                .replace("it may send ", "");
            let finding = Finding {
                kind: Kind::Stuck,
                message: format!(
                    "{name} never leaves state {state} of {}: {} waits for {words}",
                    table.name,
                    client_end.split('.').next().unwrap_or(&client_end),
                ),
                place,
                notes: Vec::new(),
                help: "answer on every way, or close the channel",
                who: vec![(name, at_node)],
                run: self.exploration.trace(at as u32),
                last: vec![(client, "waits for ever".into())],
            };
            self.add(at as u32, finding);
        }
        for at in found {
            explained[at] = true;
        }
    }

    /// Whether a process waits for what comes on a channel.
    fn listens(&self, process: usize, channel: usize, row: &[u16]) -> bool {
        let Some(machine) = self.system.machine(process) else {
            return true;
        };
        let Some(node) = self.rules.node(process, row) else {
            return true;
        };
        machine.nodes[node].edges.iter().any(|e| match &e.act {
            Act::Receive(parts) => parts.iter().any(|p| {
                self.rules
                    .instances(process, p.endpoint, row, machine)
                    .contains(&channel)
            }),
            _ => false,
        })
    }
}
