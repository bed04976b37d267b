//! A second opinion: a simulator that knows nothing of the checker's rules walks through mutants of the sound systems at
//! random. Where it comes upon a fault, the checker must have found some; what the checker finds, it must be able to
//! walk to.

use sing_conformance::machine::{Act, Machine, What};
use sing_conformance::step::{Event, EventKind};
use sing_conformance::system::{Body, System};
use sing_conformance::{Kind, check, load_file};
use sing_image::manifest::Side;
use std::collections::VecDeque;
use std::path::Path;

/// A small generator of numbers that only look random.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n.max(1) as u64) as usize
    }
}

/// One end of a channel.
#[derive(Clone, PartialEq, Debug)]
struct End {
    /// `None` when closed.
    state: Option<u16>,
    /// What lies before it.
    inbox: VecDeque<u16>,
}

/// Where a system is.
#[derive(Clone, PartialEq, Debug)]
struct Place {
    nodes: Vec<usize>,
    /// For each process and endpoint name the channel spoken with.
    partners: Vec<Vec<Option<usize>>>,
    ends: Vec<[End; 2]>,
}

/// A move: who, what is seen of it, where it leads.
type Move = (usize, Vec<Event>, Place);

#[derive(Default)]
struct Look {
    moves: Vec<Move>,
    breach: bool,
    unexpected: bool,
}

fn start(system: &System) -> Place {
    let end = |given: bool| End {
        state: given.then_some(0),
        inbox: VecDeque::new(),
    };
    Place {
        nodes: vec![0; system.processes.len()],
        partners: system
            .processes
            .iter()
            .map(|p| match &p.body {
                Body::Machine(m) => vec![None; m.endpoints.len()],
                Body::Any { .. } => Vec::new(),
            })
            .collect(),
        ends: system
            .channels
            .iter()
            .map(|c| [end(c.ends[0].is_some()), end(c.ends[1].is_some())])
            .collect(),
    }
}

fn event(channel: usize, side: Side, kind: EventKind) -> Event {
    Event {
        channel,
        side,
        kind,
    }
}

/// Sends; `false` where the contract forbids it.
fn send(
    system: &System,
    place: &mut Place,
    events: &mut Vec<Event>,
    channel: usize,
    side: Side,
    message: u16,
) -> bool {
    let Some(state) = place.ends[channel][side.index()].state else {
        return false;
    };
    let Some(next) = system.contract(channel).step(state, message, side) else {
        return false;
    };
    place.ends[channel][side.index()].state = Some(next);
    if system.holder(channel, side.peer()).is_some() {
        place.ends[channel][side.peer().index()]
            .inbox
            .push_back(message);
    }
    events.push(event(channel, side, EventKind::Sent(message)));
    true
}

fn close(place: &mut Place, events: &mut Vec<Event>, channel: usize, side: Side) {
    if place.ends[channel][side.index()].state.take().is_some() {
        events.push(event(channel, side, EventKind::Closed));
    }
}

/// Receives what is wanted, where it is there.
fn receive(
    system: &System,
    place: &mut Place,
    events: &mut Vec<Event>,
    channel: usize,
    side: Side,
    what: What,
) -> bool {
    let peer_open = place.ends[channel][side.peer().index()].state.is_some();
    let end = &mut place.ends[channel][side.index()];
    let Some(state) = end.state else { return false };
    match what {
        What::Message(m) if end.inbox.front() == Some(&m) => {
            end.inbox.pop_front();
            end.state = system.contract(channel).step(state, m, side.peer());
            events.push(event(channel, side, EventKind::Received(m)));
            true
        }
        What::Closed if end.inbox.is_empty() && !peer_open => {
            end.state = None;
            place.ends[channel][side.peer().index()].inbox.clear();
            events.push(event(channel, side, EventKind::Heard));
            true
        }
        _ => false,
    }
}

fn arrive(place: &mut Place, events: &mut Vec<Event>, p: usize, machine: &Machine, target: usize) {
    place.nodes[p] = target;
    if machine.nodes[target].named {
        place.partners[p].fill(None);
    }
    if machine.nodes[target].end {
        for e in &machine.endpoints {
            for &c in &e.channels {
                close(place, events, c, e.side);
            }
        }
    }
}

/// Channels that a name stands for now.
fn meant(place: &Place, machine: &Machine, p: usize, endpoint: usize) -> Vec<usize> {
    match place.partners[p][endpoint] {
        Some(channel) => vec![channel],
        None => machine.endpoints[endpoint].channels.clone(),
    }
}

fn machine_moves(system: &System, place: &Place, p: usize, machine: &Machine, look: &mut Look) {
    let node = &machine.nodes[place.nodes[p]];
    for edge in &node.edges {
        match &edge.act {
            Act::Skip => {
                let (mut next, mut events) = (place.clone(), Vec::new());
                arrive(&mut next, &mut events, p, machine, edge.target);
                look.moves.push((p, events, next));
            }
            Act::Close(endpoint) => {
                let (mut next, mut events) = (place.clone(), Vec::new());
                for c in meant(place, machine, p, *endpoint) {
                    close(&mut next, &mut events, c, machine.endpoints[*endpoint].side);
                }
                arrive(&mut next, &mut events, p, machine, edge.target);
                look.moves.push((p, events, next));
            }
            Act::Send {
                endpoint,
                message,
                all,
            } => {
                let side = machine.endpoints[*endpoint].side;
                let channels = meant(place, machine, p, *endpoint);
                if *all {
                    let (mut next, mut events) = (place.clone(), Vec::new());
                    let sent = channels
                        .iter()
                        .all(|&c| send(system, &mut next, &mut events, c, side, *message));
                    look.breach |= !sent;
                    if sent {
                        arrive(&mut next, &mut events, p, machine, edge.target);
                        look.moves.push((p, events, next));
                    }
                    continue;
                }
                for &c in &channels {
                    let (mut next, mut events) = (place.clone(), Vec::new());
                    if send(system, &mut next, &mut events, c, side, *message) {
                        if machine.endpoints[*endpoint].channels.len() > 1 {
                            next.partners[p][*endpoint] = Some(c);
                        }
                        arrive(&mut next, &mut events, p, machine, edge.target);
                        look.moves.push((p, events, next));
                    } else {
                        look.breach |= channels.len() == 1;
                    }
                }
            }
            Act::Receive(parts) => {
                let mut ways = vec![(place.clone(), Vec::new())];
                for part in parts {
                    let e = &machine.endpoints[part.endpoint];
                    let mut further = Vec::new();
                    for (way, events) in ways {
                        if part.what == What::AllClosed {
                            let closed = |c: &usize| place.ends[*c][e.side.index()].state.is_none();
                            if e.channels.iter().all(closed) {
                                further.push((way, events));
                            }
                            continue;
                        }
                        for c in meant(place, machine, p, part.endpoint) {
                            let (mut next, mut events) = (way.clone(), events.clone());
                            if receive(system, &mut next, &mut events, c, e.side, part.what) {
                                if e.channels.len() > 1 {
                                    next.partners[p][part.endpoint] = Some(c);
                                }
                                further.push((next, events));
                            }
                        }
                    }
                    ways = further;
                }
                for (mut next, mut events) in ways {
                    arrive(&mut next, &mut events, p, machine, edge.target);
                    look.moves.push((p, events, next));
                }
                // Whatever lies first where the process listens must have a case.
                for part in parts {
                    let e = &machine.endpoints[part.endpoint];
                    for c in meant(place, machine, p, part.endpoint) {
                        let end = &place.ends[c][e.side.index()];
                        let Some(first) = end.inbox.front().filter(|_| end.state.is_some()) else {
                            continue;
                        };
                        let case = node.edges.iter().any(|other| match &other.act {
                            Act::Receive(all) => all.iter().any(|q| {
                                q.endpoint == part.endpoint && q.what == What::Message(*first)
                            }),
                            _ => false,
                        });
                        look.unexpected |= !case;
                    }
                }
            }
        }
    }
}

fn look(system: &System, place: &Place) -> Look {
    let mut look = Look::default();
    for (p, process) in system.processes.iter().enumerate() {
        match &process.body {
            Body::Machine(machine) => machine_moves(system, place, p, machine, &mut look),
            Body::Any { ends, closing } => {
                for &(c, side) in ends {
                    let Some(state) = place.ends[c][side.index()].state else {
                        continue;
                    };
                    let table = system.contract(c);
                    let mut last = true;
                    for m in 0..table.messages.len() as u16 {
                        last &= table.step(state, m, Side::Imp).is_none()
                            && table.step(state, m, Side::Exp).is_none();
                        let mut all = vec![What::Message(m)];
                        if m == 0 {
                            all.push(What::Closed);
                        }
                        for what in all {
                            let (mut next, mut events) = (place.clone(), Vec::new());
                            if receive(system, &mut next, &mut events, c, side, what) {
                                look.moves.push((p, events, next));
                            }
                        }
                        let (mut next, mut events) = (place.clone(), Vec::new());
                        if send(system, &mut next, &mut events, c, side, m) {
                            look.moves.push((p, events, next));
                        }
                    }
                    let end = &place.ends[c][side.index()];
                    let news =
                        !end.inbox.is_empty() || place.ends[c][side.peer().index()].state.is_none();
                    if *closing || (last && !news) {
                        let (mut next, mut events) = (place.clone(), Vec::new());
                        close(&mut next, &mut events, c, side);
                        look.moves.push((p, events, next));
                    }
                }
            }
        }
    }
    look
}

/// Whether somebody waits who must not for ever.
fn somebody_waits(system: &System, place: &Place) -> bool {
    system
        .processes
        .iter()
        .zip(&place.nodes)
        .any(|(p, &n)| match &p.body {
            Body::Machine(m) => !m.nodes[n].end && !m.nodes[n].rest,
            Body::Any { .. } => false,
        })
}

/// What a random walk comes upon.
fn walk(system: &System, random: &mut Random) -> Option<&'static str> {
    let mut place = start(system);
    for _ in 0..300 {
        let mut now = look(system, &place);
        if now.breach {
            return Some("a message that the contract forbids");
        }
        if now.unexpected {
            return Some("a message without a case");
        }
        if now.moves.is_empty() {
            return somebody_waits(system, &place).then_some("nobody can move");
        }
        let i = random.below(now.moves.len());
        place = now.moves.swap_remove(i).2;
    }
    None
}

/// Changes a behaviour: drops a step, swaps two, or drops an alternative.
fn mutate(system: &mut System, random: &mut Random) -> Option<&'static str> {
    let p = random.below(system.processes.len());
    let Body::Machine(machine) = &mut system.processes[p].body else {
        return None;
    };
    let n = random.below(machine.nodes.len());
    if machine.nodes[n].edges.is_empty() {
        return None;
    }
    let e = random.below(machine.nodes[n].edges.len());
    let then = machine.nodes[n].edges[e].target;
    match random.below(3) {
        0 => {
            let follows = machine.nodes[then].edges.first()?.target;
            machine.nodes[n].edges[e].target = follows;
            Some("a step is dropped")
        }
        1 if !machine.nodes[then].named && machine.nodes[then].edges.len() == 1 => {
            let first = machine.nodes[n].edges[e].act.clone();
            let second = std::mem::replace(&mut machine.nodes[then].edges[0].act, first);
            machine.nodes[n].edges[e].act = second;
            Some("two steps are swapped")
        }
        2 if machine.nodes[n].edges.len() > 1 => {
            machine.nodes[n].edges.remove(e);
            Some("an alternative is dropped")
        }
        _ => None,
    }
}

/// Walks the run of each finding, and looks whether what is said of its end is so.
fn replay(system: &System, name: &str) -> usize {
    let outcome = check(system, 20_000);
    for finding in &outcome.findings {
        let mut place = start(system);
        for taken in &finding.run {
            let now = look(system, &place);
            let same = |m: &&Move| m.0 == taken.process && m.1 == taken.events;
            let wanted = now.moves.iter().filter(same);
            // Steps that nobody sees may lead to several nodes; those that follow tell which was meant.
            let places: Vec<&Place> = wanted.map(|m| &m.2).collect();
            let next = places
                .iter()
                .find(|p| taken.to.is_none_or(|to| p.nodes[taken.process] == to));
            let Some(next) = next else {
                panic!("{name}: {}: cannot be walked: {taken:?}", finding.message);
            };
            place = (*next).clone();
        }
        let end = look(system, &place);
        match finding.kind {
            Kind::Deadlock => assert!(
                end.moves.is_empty() && somebody_waits(system, &place),
                "{name}: {}",
                finding.message
            ),
            Kind::Breach => assert!(end.breach, "{name}: {}", finding.message),
            Kind::Unspecified => assert!(end.unexpected, "{name}: {}", finding.message),
            Kind::Cut | Kind::Unreceived | Kind::Stuck => {}
        }
    }
    usize::from(!outcome.findings.is_empty())
}

#[test]
fn checker_and_simulator_agree_on_mutants() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/conformance/sound");
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let (mut mutants, mut faulty) = (0, 0);
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|f| f.unwrap().path())
        .collect();
    files.sort();
    for path in files {
        let sound = load_file(&path).unwrap();
        // Large systems are left to the other tests.
        if check(&sound, 3000).situations >= 3000 {
            continue;
        }
        for _ in 0..40 {
            let mut system = sound.clone();
            let Some(how) = mutate(&mut system, &mut random) else {
                continue;
            };
            let name = format!("{}: {how}", path.display());
            let outcome = check(&system, 20_000);
            mutants += 1;
            faulty += replay(&system, &name);
            for _ in 0..40 {
                let Some(fault) = walk(&system, &mut random) else {
                    continue;
                };
                assert!(
                    !outcome.findings.is_empty(),
                    "{name}: a walk comes upon {fault}, and the checker has found nothing"
                );
            }
        }
    }
    assert!(
        mutants > 300 && faulty > 100 && faulty < mutants,
        "{faulty} of {mutants}"
    );
}
