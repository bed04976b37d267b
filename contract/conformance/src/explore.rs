//! Looks at every situation that can come about, breadth first: the way to each is a shortest one.
//!
//! Situations lie packed in one array, found again by a table of their hashes; a situation is known
//! by its number. The steps between situations are kept too, for the findings about all runs.

use crate::ast::Order;
use crate::cells::Layout;
use crate::step::{Event, EventKind, Fault, Rules, Visitor};
use crate::system::System;
use hashbrown::{DefaultHashBuilder, HashTable};
use sing_image::manifest::Side;
use std::collections::HashSet;
use std::hash::BuildHasher;

/// Nothing can happen in this situation.
const QUIET: u8 = 1;
/// Something is wrong in this situation.
const FAULTY: u8 = 2;

/// The label of a step: the process that takes it, and the channels on which it says something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mark {
    /// The process.
    pub process: usize,
    /// The channels on which it speaks.
    pub speaks: Speaks,
}

/// On which channels a step sends or closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Speaks {
    /// On none.
    Nowhere,
    /// On this one.
    On(usize),
    /// On several of the process's.
    Widely,
}

/// A step on the way to a situation.
#[derive(Clone, Debug)]
pub struct Taken {
    /// Whose.
    pub process: usize,
    /// The node at which it is then, for a process with a behaviour.
    pub to: Option<usize>,
    /// The visible events of the step; none if nobody sees it.
    pub events: Vec<Event>,
}

/// The situations of a system and the steps between them, as far as they were explored.
pub struct Exploration<'a> {
    /// The system.
    pub system: &'a System,
    /// Layout of the situations.
    pub layout: Layout,
    /// Packed situations.
    store: Vec<u64>,
    /// The one from which each was reached first.
    parents: Vec<u32>,
    flags: Vec<u8>,
    /// The first step of each situation; one more than there are expanded situations.
    pub(crate) offsets: Vec<usize>,
    /// The situations that the steps lead to.
    pub(crate) targets: Vec<u32>,
    /// Their marks, as indices into `marks`.
    pub(crate) labels: Vec<u16>,
    /// Marks.
    pub(crate) marks: Vec<Mark>,
    /// Each fault with the first situation in which it comes about.
    pub faults: Vec<(u32, Fault)>,
    /// For each channel, receiving side (by `Side::index`) and message: the first situation after
    /// it was sent.
    sent: Vec<[Vec<Option<u32>>; 2]>,
    /// Whether it was ever received.
    received: Vec<[Vec<bool>; 2]>,
    /// For each process, node and edge: whether it was taken.
    taken: Vec<Vec<Vec<bool>>>,
    /// Whether every situation has been looked at.
    pub complete: bool,
    /// Steps to the situation that is farthest from the start.
    pub depth: usize,
}

/// Explores a system, up to so many situations.
#[must_use]
pub fn explore(system: &System, limit: usize) -> Exploration<'_> {
    let mut rules = Rules::new(system);
    let words = rules.layout.words();
    let mut search = Search {
        known: HashTable::new(),
        hasher: DefaultHashBuilder::default(),
        words,
        packed: vec![0; words],
        limit: limit.clamp(1, u32::MAX as usize - 1),
        now: 0,
        marks: vec![Vec::new(); system.processes.len()],
        faults: HashSet::new(),
        moved: false,
        faulty: false,
        found: Exploration {
            system,
            layout: rules.layout.clone(),
            store: Vec::new(),
            parents: Vec::new(),
            flags: Vec::new(),
            offsets: vec![0],
            targets: Vec::new(),
            labels: Vec::new(),
            marks: Vec::new(),
            faults: Vec::new(),
            sent: for_messages(system, None),
            received: for_messages(system, false),
            taken: (0..system.processes.len())
                .map(|p| {
                    let nodes = system.machine(p).into_iter().flat_map(|m| &m.nodes);
                    nodes.map(|n| vec![false; n.edges.len()]).collect()
                })
                .collect(),
            complete: true,
            depth: 0,
        },
    };
    let mut row = rules.layout.start(system);
    search.insert(&row);
    let mut level_end = 1;
    while search.now < search.found.parents.len() && search.found.complete {
        if search.now == level_end {
            search.found.depth += 1;
            level_end = search.found.parents.len();
        }
        search.found.row(search.now as u32, &mut row);
        search.expand(&mut rules, &row);
        search.now += 1;
    }
    search.found
}

/// A value for each channel, side and message.
fn for_messages<T: Clone>(system: &System, value: T) -> Vec<[Vec<T>; 2]> {
    (0..system.channels.len())
        .map(|c| {
            let all = vec![value.clone(); system.contract(c).messages.len()];
            [all.clone(), all]
        })
        .collect()
}

struct Search<'a> {
    known: HashTable<u32>,
    hasher: DefaultHashBuilder,
    words: usize,
    packed: Vec<u64>,
    limit: usize,
    /// The situation that is looked at.
    now: usize,
    /// The marks of each process, with their numbers.
    marks: Vec<Vec<(Speaks, u16)>>,
    faults: HashSet<Fault>,
    moved: bool,
    faulty: bool,
    found: Exploration<'a>,
}

impl<'a> Search<'a> {
    fn expand(&mut self, rules: &mut Rules<'a>, row: &[u16]) {
        self.moved = false;
        self.faulty = false;
        rules.visit(row, self);
        self.found.offsets.push(self.found.targets.len());
        self.found.flags[self.now] =
            if self.moved { 0 } else { QUIET } | if self.faulty { FAULTY } else { 0 };
    }

    /// The number of a mark, new or known. A process has one for each of its channels, and two
    /// more.
    fn label(&mut self, mark: Mark) -> u16 {
        let known = &mut self.marks[mark.process];
        if let Some((_, label)) = known.iter().find(|(speaks, _)| *speaks == mark.speaks) {
            return *label;
        }
        let label = self.found.marks.len() as u16;
        known.push((mark.speaks, label));
        self.found.marks.push(mark);
        label
    }

    /// The number of a situation, new or known; `None` where there may be no more.
    fn insert(&mut self, row: &[u16]) -> Option<u32> {
        self.found.layout.pack(row, &mut self.packed);
        let (words, hasher, packed) = (self.words, &self.hasher, &self.packed);
        let store = &self.found.store;
        let at = |i: u32| &store[i as usize * words..(i as usize + 1) * words];
        let hash = hasher.hash_one(&packed[..]);
        if let Some(&i) = self.known.find(hash, |&i| at(i) == &packed[..]) {
            return Some(i);
        }
        let number = self.found.parents.len();
        if number >= self.limit {
            self.found.complete = false;
            return None;
        }
        self.known
            .insert_unique(hash, number as u32, |&i| hasher.hash_one(at(i)));
        self.found.store.extend_from_slice(packed);
        self.found.parents.push(self.now as u32);
        self.found.flags.push(0);
        Some(number as u32)
    }
}

impl Visitor for Search<'_> {
    fn step(
        &mut self,
        process: usize,
        edge: Option<(usize, usize)>,
        events: &[Event],
        row: &[u16],
    ) {
        self.moved = true;
        let Some(target) = self.insert(row) else {
            return;
        };
        let mut speaks = Speaks::Nowhere;
        for event in events {
            let receiver = event.side.peer().index();
            match event.kind {
                EventKind::Sent(m) => {
                    let sent = &mut self.found.sent[event.channel][receiver];
                    sent[usize::from(m)].get_or_insert(target);
                }
                EventKind::Received(m) => {
                    let received = &mut self.found.received[event.channel];
                    received[event.side.index()][usize::from(m)] = true;
                    continue;
                }
                EventKind::Heard | EventKind::Closed => {}
            }
            speaks = match speaks {
                Speaks::Nowhere => Speaks::On(event.channel),
                Speaks::On(c) if c == event.channel => speaks,
                _ => Speaks::Widely,
            };
        }
        if let Some((node, edge)) = edge {
            self.found.taken[process][node][edge] = true;
        }
        let label = self.label(Mark { process, speaks });
        self.found.targets.push(target);
        self.found.labels.push(label);
    }

    fn fault(&mut self, fault: Fault) {
        self.faulty = true;
        if self.faults.insert(fault) {
            self.found.faults.push((self.now as u32, fault));
        }
    }
}

impl Exploration<'_> {
    /// Situations that have been seen.
    #[must_use]
    pub fn seen(&self) -> usize {
        self.parents.len()
    }

    /// Situations of which it is known what follows.
    #[must_use]
    pub fn expanded(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The situations that steps from this one lead to.
    pub(crate) fn follow(&self, situation: usize) -> impl Iterator<Item = usize> {
        let range = self.offsets[situation]..self.offsets[situation + 1];
        self.targets[range].iter().map(|&t| t as usize)
    }

    /// Bytes that a situation takes, with all that is kept of it.
    #[must_use]
    pub fn bytes_each(&self) -> usize {
        let size = |n: usize, each: usize| n * each;
        // The table of hashes is at most seven eighths full, with a control byte beside each
        // number.
        let table = size(self.seen().next_power_of_two(), 5);
        let all = size(self.store.len(), 8)
            + size(self.parents.len(), 5)
            + size(self.offsets.len(), 8)
            + size(self.targets.len(), 6)
            + table;
        all / self.seen().max(1)
    }

    /// Unpacks a situation.
    pub fn row(&self, situation: u32, row: &mut [u16]) {
        let words = self.layout.words();
        let i = situation as usize * words;
        self.layout.unpack(&self.store[i..i + words], row);
    }

    /// A situation's row.
    #[must_use]
    pub fn situation(&self, situation: u32) -> Vec<u16> {
        let mut row = vec![0; self.layout.cells()];
        self.row(situation, &mut row);
        row
    }

    /// Whether nothing can happen any more.
    #[must_use]
    pub fn is_quiet(&self, situation: u32) -> bool {
        self.flags[situation as usize] & QUIET != 0
    }

    /// Whether something is wrong in it.
    #[must_use]
    pub fn is_faulty(&self, situation: u32) -> bool {
        self.flags[situation as usize] & FAULTY != 0
    }

    /// The messages that are sent but never received: channel, receiving side, message, and a
    /// situation in which one has just been sent. In order.
    #[must_use]
    pub fn never_received(&self) -> Vec<(usize, Side, u16, u32)> {
        let mut all = Vec::new();
        for (channel, (sent, received)) in self.sent.iter().zip(&self.received).enumerate() {
            for side in [Side::Imp, Side::Exp] {
                let (sent, received) = (&sent[side.index()], &received[side.index()]);
                for (message, (at, received)) in (0u16..).zip(sent.iter().zip(received)) {
                    if let (Some(at), false) = (at, received) {
                        all.push((channel, side, message, *at));
                    }
                }
            }
        }
        all.sort_by_key(|(c, s, m, at)| (*at, *c, s.index(), *m));
        all
    }

    /// Whether a process came to wait in a conversation, where it does not say whether it serves
    /// others meanwhile.
    #[must_use]
    pub fn was_left_open(&self, process: usize) -> bool {
        let Some(machine) = self.system.machine(process) else {
            return false;
        };
        let open = |target: usize| {
            let node = &machine.nodes[target];
            !node.named && node.order == Order::Either && node.only_receives()
        };
        self.layout.only[process].is_some()
            && machine.nodes.iter().enumerate().any(|(n, node)| {
                let mut edges = node.edges.iter().enumerate();
                edges.any(|(e, edge)| open(edge.target) && self.taken[process][n][e])
            })
    }

    /// Whether an edge of a behaviour was ever taken.
    #[must_use]
    pub fn was_taken(&self, process: usize, node: usize, edge: usize) -> bool {
        self.taken[process][node][edge]
    }

    /// A shortest run that leads to a situation.
    #[must_use]
    pub fn trace(&self, situation: u32) -> Vec<Taken> {
        let mut path = vec![situation];
        let mut at = situation;
        while at != 0 {
            at = self.parents[at as usize];
            path.push(at);
        }
        path.reverse();
        let mut rules = Rules::new(self.system);
        path.windows(2)
            .filter_map(|pair| {
                let row = self.situation(pair[0]);
                let mut finder = Finder {
                    wanted: self.situation(pair[1]),
                    system: self.system,
                    found: None,
                };
                rules.visit(&row, &mut finder);
                finder.found
            })
            .collect()
    }
}

/// Looks for the step that leads from one row to another.
struct Finder<'a> {
    wanted: Vec<u16>,
    system: &'a System,
    found: Option<Taken>,
}

impl Visitor for Finder<'_> {
    fn step(
        &mut self,
        process: usize,
        edge: Option<(usize, usize)>,
        events: &[Event],
        row: &[u16],
    ) {
        if self.found.is_none() && row == self.wanted {
            let machine = self.system.machine(process);
            let to = edge.and_then(|(n, e)| Some(machine?.nodes[n].edges[e].target));
            self.found = Some(Taken {
                process,
                to,
                events: events.to_vec(),
            });
        }
    }

    fn fault(&mut self, _: Fault) {}
}
