//! The faults that only whole runs show: processes that wait for ever, and messages that are never
//! received.

use super::{Finder, Finding, Kind, listed};
use crate::cells;
use crate::explore::Speaks;
use crate::graph::{leading_to, leading_to_step};
use crate::machine::{Act, What};
use crate::system::Body;
use sing_image::manifest::Side;
use std::collections::{BTreeMap, BTreeSet};

impl Finder<'_> {
    /// Situations in which nothing can happen any more.
    pub(super) fn quiet(&mut self, explained: &mut [bool]) {
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

    /// The things that a process waits for, and the process that each has to come from.
    fn waits_for(&self, process: usize, row: &[u16]) -> Vec<(String, Option<usize>)> {
        let Some(machine) = self.system.machine(process) else {
            return Vec::new();
        };
        let places = self.rules.places(process, row).into_iter();
        let edges = places.flat_map(|(talk, node)| {
            let edges = machine.nodes[node].edges.iter();
            edges.map(move |edge| (talk, edge))
        });
        let mut all = Vec::new();
        for (talk, edge) in edges {
            let Act::Receive(parts) = &edge.act else {
                continue;
            };
            for part in parts {
                let endpoint = &machine.endpoints[part.endpoint];
                let channels = self
                    .rules
                    .instances(process, talk, part.endpoint, row, machine);
                for &c in channels.iter() {
                    let layout = &self.exploration.layout.channels[c];
                    let peer = self.system.holder(c, endpoint.side.peer());
                    let name = peer.map_or("nobody", |p| self.process(p));
                    match part.what {
                        What::Message(m) if cells::head(row, layout, endpoint.side) != Some(m) => {
                            let message = self.system.message(c, m);
                            let text = format!("{}.{message} from {name}", endpoint.name);
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
                    // The same circle is told alike wherever it was entered.
                    let mut circle = path.split_off(i);
                    let first = (0..circle.len()).min_by_key(|&i| circle[i]);
                    circle.rotate_left(first.unwrap_or(0));
                    return Some(circle);
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

    /// The findings about all runs: processes that never move again, messages that are never
    /// received.
    pub(super) fn runs(&mut self, explained: Vec<bool>) {
        let mut explained = leading_to(self.exploration, explained);
        let mut stuck = vec![false; explained.len()];
        let mut reported = BTreeSet::new();
        let processes: Vec<usize> = (0..self.system.processes.len())
            .filter(|&p| self.system.machine(p).is_some())
            .collect();
        let alive: Vec<Vec<bool>> = processes
            .iter()
            .map(|&p| leading_to_step(self.exploration, |mark| mark.process == p))
            .collect();
        // For each process and state the situation in which most others are stuck too: they belong
        // together.
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
            explained = leading_to(self.exploration, explained);
        }
        for channel in 0..self.system.channels.len() {
            self.owed(channel, &mut explained);
        }
        for (channel, side, message, at) in self.exploration.never_received() {
            // No process holds the receiving end, so an unreceived message is no fault.
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

    /// Channels on which the exporting side has something to say, the client waits, and it is never
    /// said.
    fn owed(&mut self, channel: usize, explained: &mut [bool]) {
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
        let alive = leading_to_step(self.exploration, |mark| {
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
}
