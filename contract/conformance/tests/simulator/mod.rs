//! The rules once more, written apart from the checker's: where a system is, and what can happen
//! there.

use sing_conformance::ast::Order;
use sing_conformance::machine::{Act, Machine, What};
use sing_conformance::step::{Event, EventKind};
use sing_conformance::system::{Body, System};
use sing_image::manifest::Side;
use std::collections::VecDeque;

/// One end of a channel.
#[derive(Clone, PartialEq, Debug)]
pub struct End {
    /// `None` when closed.
    pub state: Option<u16>,
    /// The messages before it.
    pub inbox: VecDeque<u16>,
}

/// The name of a conversation: the endpoint's name and the channel with which it began.
pub type Name = (usize, usize);

/// A conversation.
#[derive(Clone, PartialEq, Debug)]
pub struct Talk {
    pub name: Name,
    pub node: usize,
    /// All that it speaks with; the name itself is first.
    pub with: Vec<Name>,
}

/// The situation of a system.
#[derive(Clone, PartialEq, Debug)]
pub struct Place {
    pub nodes: Vec<usize>,
    /// For each process the conversations with endpoints that share a name.
    pub talks: Vec<Vec<Talk>>,
    /// Which of them keeps its process from anything else.
    pub only: Vec<Option<Name>>,
    pub ends: Vec<[End; 2]>,
}

/// A move: who, what is seen of it, where it leads.
pub type Move = (usize, Vec<Event>, Place);

#[derive(Default)]
pub struct Look {
    pub moves: Vec<Move>,
    pub breach: bool,
    pub unexpected: bool,
}

pub fn start(system: &System) -> Place {
    let end = |given: bool| End {
        state: given.then_some(0),
        inbox: VecDeque::new(),
    };
    Place {
        nodes: vec![0; system.processes.len()],
        talks: vec![Vec::new(); system.processes.len()],
        only: vec![None; system.processes.len()],
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

/// The part of a process that takes a step, and the edge.
#[derive(Clone, Copy)]
pub struct Step<'a> {
    pub p: usize,
    pub machine: &'a Machine,
    /// The conversation; none where the process itself goes on.
    pub talk: Option<Name>,
    pub node: usize,
    pub target: usize,
}

/// The place that a step leads to which has changed the channels; `with` is the new partner.
fn arrive(
    step: Step<'_>,
    mut place: Place,
    mut events: Vec<Event>,
    with: &[Name],
    look: &mut Look,
) {
    let Step {
        p, machine, target, ..
    } = step;
    let then = &machine.nodes[target];
    let at = place.talks[p]
        .iter()
        .position(|t| Some(t.name) == step.talk);
    let mut talk = at.map(|i| place.talks[p].remove(i));
    if then.named {
        if talk.is_none() || machine.nodes[step.node].origin != target {
            place.nodes[p] = target;
        }
        place.only[p] = None;
        if then.end {
            place.talks[p].clear();
            for e in &machine.endpoints {
                for &c in &e.channels {
                    close(&mut place, &mut events, c, e.side);
                }
            }
        }
        return look.moves.push((p, events, place));
    }
    if talk.is_none() && !with.is_empty() {
        place.nodes[p] = then.origin;
        talk = Some(Talk {
            name: with[0],
            node: 0,
            with: Vec::new(),
        });
    }
    let Some(mut talk) = talk else {
        place.nodes[p] = target;
        return look.moves.push((p, events, place));
    };
    talk.node = target;
    for name in with {
        if talk.with.iter().all(|(e, _)| *e != name.0) {
            talk.with.push(*name);
        }
    }
    let name = talk.name;
    let waits = then.edges.iter().all(|e| matches!(e.act, Act::Receive(_)));
    let blocked = then.edges.iter().any(|e| {
        let mut used = e.act.endpoints();
        used.any(|i| {
            let all = &machine.endpoints[i].channels;
            let others = &place.talks[p];
            let taken = |c: &usize| others.iter().any(|t| t.with.contains(&(i, *c)));
            let own = talk.with.iter().any(|(e, _)| *e == i);
            in_use(others, machine, i) || all.len() > 1 && !own && all.iter().all(taken)
        })
    });
    place.talks[p].push(talk);
    place.talks[p].sort_by_key(|t| t.name);
    for only in [Some(name), None] {
        let fits = match (only, then.order) {
            (Some(_), _) if blocked => false,
            (None, _) if blocked => true,
            (Some(_), Order::Parallel) => !waits,
            (None, Order::Serial) => false,
            (None, _) => waits,
            (Some(_), _) => true,
        };
        if fits {
            let mut place = place.clone();
            place.only[p] = only;
            look.moves.push((p, events.clone(), place));
        }
    }
}

/// Whether one of these conversations has begun to use an endpoint and still needs it.
fn in_use(talks: &[Talk], machine: &Machine, endpoint: usize) -> bool {
    let single = machine.endpoints[endpoint].channels.len() < 2;
    single
        && talks
            .iter()
            .any(|t| machine.nodes[t.node].held.contains(&endpoint))
}

/// The channels that a name stands for: the conversation's own partner, or those without a
/// conversation.
fn meant(place: &Place, step: Step<'_>, endpoint: usize) -> Vec<usize> {
    let talks = &place.talks[step.p];
    let own = talks.iter().find(|t| Some(t.name) == step.talk);
    if let Some((_, channel)) = own.and_then(|t| t.with.iter().find(|(e, _)| *e == endpoint)) {
        return vec![*channel];
    }
    let all = step.machine.endpoints[endpoint].channels.iter();
    let free = |c: &&usize| talks.iter().all(|t| !t.with.contains(&(endpoint, **c)));
    all.filter(free).copied().collect()
}

/// The places that a process continues from.
fn places(place: &Place, p: usize, machine: &Machine) -> Vec<(Option<Name>, usize)> {
    let talks = place.talks[p].iter().map(|t| (Some(t.name), t.node));
    match place.only[p] {
        Some(only) => talks.filter(|(name, _)| *name == Some(only)).collect(),
        None if machine.nodes[place.nodes[p]].named => {
            [(None, place.nodes[p])].into_iter().chain(talks).collect()
        }
        None => vec![(None, place.nodes[p])],
    }
}

fn machine_moves(system: &System, place: &Place, p: usize, machine: &Machine, look: &mut Look) {
    for (talk, n) in places(place, p, machine) {
        moves_from(system, place, (p, talk, n), machine, look);
    }
}

fn moves_from(
    system: &System,
    place: &Place,
    (p, talk, n): (usize, Option<Name>, usize),
    machine: &Machine,
    look: &mut Look,
) {
    let node = &machine.nodes[n];
    let others: Vec<Talk> = {
        let all = place.talks[p].iter();
        all.filter(|t| Some(t.name) != talk).cloned().collect()
    };
    let several = |endpoint: usize| machine.endpoints[endpoint].channels.len() > 1;
    for edge in &node.edges {
        let mut used = edge.act.endpoints();
        let blocked = used.any(|i| in_use(&others, machine, i));
        let step = Step {
            p,
            machine,
            talk,
            node: n,
            target: edge.target,
        };
        match &edge.act {
            _ if blocked && !matches!(edge.act, Act::Receive(_)) => {}
            Act::Skip => arrive(step, place.clone(), Vec::new(), &[], look),
            Act::Close(endpoint) => {
                let (mut next, mut events) = (place.clone(), Vec::new());
                for c in meant(place, step, *endpoint) {
                    close(&mut next, &mut events, c, machine.endpoints[*endpoint].side);
                }
                arrive(step, next, events, &[], look);
            }
            Act::Send {
                endpoint,
                message,
                all,
            } => {
                let side = machine.endpoints[*endpoint].side;
                let channels = meant(place, step, *endpoint);
                let own = place.talks[p].iter().find(|t| Some(t.name) == talk);
                let bound = own.is_some_and(|t| t.with.iter().any(|(e, _)| e == endpoint));
                if *all {
                    let channels = if bound {
                        channels
                    } else {
                        machine.endpoints[*endpoint].channels.clone()
                    };
                    let (mut next, mut events) = (place.clone(), Vec::new());
                    let sent = channels
                        .iter()
                        .all(|&c| send(system, &mut next, &mut events, c, side, *message));
                    look.breach |= !sent;
                    if sent {
                        arrive(step, next, events, &[], look);
                    }
                    continue;
                }
                for &c in &channels {
                    let (mut next, mut events) = (place.clone(), Vec::new());
                    if send(system, &mut next, &mut events, c, side, *message) {
                        let with = [(*endpoint, c)];
                        let with = if several(*endpoint) { &with[..] } else { &[] };
                        arrive(step, next, events, with, look);
                    } else {
                        look.breach |= bound || !several(*endpoint);
                    }
                }
            }
            Act::Receive(parts) => {
                let mut ways = vec![(place.clone(), Vec::new(), Vec::new())];
                if blocked {
                    ways.clear();
                }
                for part in parts {
                    let e = &machine.endpoints[part.endpoint];
                    let mut further = Vec::new();
                    for (way, events, with) in ways {
                        if part.what == What::AllClosed {
                            let closed = |c: &usize| place.ends[*c][e.side.index()].state.is_none();
                            if e.channels.iter().all(closed) {
                                further.push((way, events, with));
                            }
                            continue;
                        }
                        for c in meant(place, step, part.endpoint) {
                            let (mut next, mut events) = (way.clone(), events.clone());
                            let mut with: Vec<Name> = with.clone();
                            if receive(system, &mut next, &mut events, c, e.side, part.what) {
                                if several(part.endpoint) {
                                    with.push((part.endpoint, c));
                                }
                                further.push((next, events, with));
                            }
                        }
                    }
                    ways = further;
                }
                for (next, events, with) in ways {
                    arrive(step, next, events, &with, look);
                }
                // Whatever lies first where the process listens must have a case.
                for part in parts {
                    if in_use(&others, machine, part.endpoint) {
                        continue;
                    }
                    let e = &machine.endpoints[part.endpoint];
                    for c in meant(place, step, part.endpoint) {
                        let end = &place.ends[c][e.side.index()];
                        let Some(first) = end.inbox.front().filter(|_| end.state.is_some()) else {
                            continue;
                        };
                        // Of several without a conversation, those are meant to which one of the
                        // messages waited for can come.
                        let wanted: Vec<u16> = node
                            .edges
                            .iter()
                            .filter_map(|other| match &other.act {
                                Act::Receive(all) => Some(all),
                                _ => None,
                            })
                            .flatten()
                            .filter(|q| q.endpoint == part.endpoint)
                            .filter_map(|q| match q.what {
                                What::Message(m) => Some(m),
                                _ => None,
                            })
                            .collect();
                        let own = place.talks[p].iter().find(|t| Some(t.name) == talk);
                        let bound =
                            own.is_some_and(|t| t.with.iter().any(|(e, _)| *e == part.endpoint));
                        let comes = |m: &u16| {
                            let table = system.contract(c);
                            end.state
                                .is_some_and(|s| table.step(s, *m, e.side.peer()).is_some())
                        };
                        let elsewhere = !wanted.is_empty() && !wanted.iter().any(comes);
                        if several(part.endpoint) && !bound && elsewhere {
                            continue;
                        }
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

pub fn look(system: &System, place: &Place) -> Look {
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
pub fn somebody_waits(system: &System, place: &Place) -> bool {
    system
        .processes
        .iter()
        .enumerate()
        .any(|(p, process)| match &process.body {
            Body::Machine(m) => {
                let mut all = places(place, p, m).into_iter();
                all.any(|(_, n)| !m.nodes[n].end && !m.nodes[n].rest)
            }
            Body::Any { .. } => false,
        })
}
