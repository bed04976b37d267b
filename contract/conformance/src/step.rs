//! The steps that lead from one situation to others, and the faults of a situation.
//!
//! Each step is one process's own: channels are asynchronous, so nobody needs another to move. A
//! process that comes to its end closes its endpoints in the same step; as a closed channel keeps
//! what lies in it, whatever the others could do before the close they can do after it.

mod faults;
mod talks;

pub use faults::Fault;

use crate::cells::{self, Layout};
use crate::machine::{Act, Edge, Machine, Part, What};
use crate::system::{Body, System};
use sing_image::manifest::Side;

/// An event at one end of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// The channel.
    pub channel: usize,
    /// The side to which it happens.
    pub side: Side,
    /// What.
    pub kind: EventKind,
}

/// Kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// It sends a message.
    Sent(u16),
    /// It receives a message.
    Received(u16),
    /// It hears that the other side has closed.
    Heard,
    /// It closes.
    Closed,
}

/// The receiver of a situation's steps and faults.
pub trait Visitor {
    /// This process can take this step, which leads to this row. `edge` is the node of its
    /// behaviour and the edge there.
    fn step(&mut self, process: usize, edge: Option<(usize, usize)>, events: &[Event], row: &[u16]);
    /// This is wrong.
    fn fault(&mut self, fault: Fault);
}

/// The rules, for one system.
pub struct Rules<'a> {
    /// The system.
    pub system: &'a System,
    /// Its layout.
    pub layout: Layout,
    /// Rows and events that are used again and again.
    scratch: Vec<u16>,
    events: Vec<Event>,
    chosen: Vec<(usize, usize)>,
    /// Which conversation of a process takes the step: 0 is none of them, but the process by
    /// itself.
    talk: usize,
    /// Endpoints that the step at hand begins to speak with: name and channel.
    bindings: Vec<(usize, usize)>,
}

impl<'a> Rules<'a> {
    /// The rules for this system.
    #[must_use]
    pub fn new(system: &'a System) -> Rules<'a> {
        Rules {
            system,
            layout: Layout::new(system),
            scratch: Vec::new(),
            events: Vec::new(),
            chosen: Vec::new(),
            talk: 0,
            bindings: Vec::new(),
        }
    }

    /// Tells of all steps from a situation and of all faults in it.
    pub fn visit(&mut self, row: &[u16], visitor: &mut impl Visitor) {
        let system = self.system;
        for (p, process) in system.processes.iter().enumerate() {
            match &process.body {
                Body::Machine(machine) => {
                    for (talk, node) in self.places(p, row) {
                        self.talk = talk;
                        self.machine(p, machine, node, row, visitor);
                    }
                }
                Body::Any { ends, closing } => {
                    for &(channel, side) in ends {
                        self.any(p, channel, side, *closing, row, visitor);
                    }
                }
            }
        }
        for c in 0..system.channels.len() {
            self.lost(c, row, visitor);
        }
    }

    /// Whether this side has closed.
    #[must_use]
    pub fn is_closed(&self, row: &[u16], channel: usize, side: Side) -> bool {
        let layout = &self.layout.channels[channel];
        row[layout.states[side.index()]] == layout.closed
    }

    /// The state of a side.
    #[must_use]
    pub fn state(&self, row: &[u16], channel: usize, side: Side) -> u16 {
        row[self.layout.channels[channel].states[side.index()]]
    }

    /// Whether this can be received now; `None` where it never will be, as the channel is closed.
    fn ready(&self, row: &[u16], channel: usize, side: Side, what: What) -> Option<bool> {
        if self.is_closed(row, channel, side) {
            return None;
        }
        let layout = &self.layout.channels[channel];
        let head = cells::head(row, layout, side);
        let over = head.is_none() && self.is_closed(row, channel, side.peer());
        match what {
            What::Message(m) if over => (head == Some(m)).then_some(true),
            What::Message(m) => Some(head == Some(m)),
            What::Closed => Some(over),
            What::AllClosed => Some(false),
        }
    }

    fn machine(
        &mut self,
        p: usize,
        machine: &Machine,
        n: usize,
        row: &[u16],
        visitor: &mut impl Visitor,
    ) {
        let node = &machine.nodes[n];
        for (e, edge) in node.edges.iter().enumerate() {
            // An endpoint that another conversation has in use has to be waited for.
            if edge
                .act
                .endpoints()
                .any(|i| self.is_held(p, self.talk, i, row, machine))
            {
                continue;
            }
            match &edge.act {
                Act::Skip => {
                    self.begin(row);
                    self.arrive(p, machine, (n, e), edge, row, visitor);
                }
                Act::Close(endpoint) => {
                    self.begin(row);
                    let all = self
                        .instances(p, self.talk, *endpoint, row, machine)
                        .to_vec();
                    let side = machine.endpoints[*endpoint].side;
                    for channel in all {
                        self.close(channel, side);
                    }
                    self.arrive(p, machine, (n, e), edge, row, visitor);
                }
                Act::Send {
                    endpoint,
                    message,
                    all,
                } => self.send(
                    p,
                    machine,
                    (n, e, edge),
                    (*endpoint, *message, *all),
                    row,
                    visitor,
                ),
                Act::Receive(parts) => {
                    self.chosen.clear();
                    self.receive(p, machine, (n, e, edge), parts, row, visitor);
                }
            }
        }
        self.wrong(p, machine, n, node, row, visitor);
    }

    fn begin(&mut self, row: &[u16]) {
        self.scratch.clear();
        self.scratch.extend_from_slice(row);
        self.events.clear();
        self.bindings.clear();
    }

    fn close(&mut self, channel: usize, side: Side) {
        let layout = &self.layout.channels[channel];
        let cell = &mut self.scratch[layout.states[side.index()]];
        if *cell != layout.closed {
            *cell = layout.closed;
            self.events.push(Event {
                channel,
                side,
                kind: EventKind::Closed,
            });
        }
    }

    fn send(
        &mut self,
        p: usize,
        machine: &Machine,
        (n, e, edge): (usize, usize, &Edge),
        (endpoint, message, all): (usize, u16, bool),
        row: &[u16],
        visitor: &mut impl Visitor,
    ) {
        let side = machine.endpoints[endpoint].side;
        let bound = self.partner(p, self.talk, endpoint, row, machine);
        let single = machine.endpoints[endpoint].channels.len() == 1;
        let breach = |channel, state| Fault::Breach {
            process: p,
            node: n,
            channel,
            state,
            message,
            edge: e,
        };
        if all {
            let channels = bound.map_or(machine.endpoints[endpoint].channels.clone(), |c| vec![c]);
            self.begin(row);
            for &channel in &channels {
                let state = self.state(row, channel, side);
                match self.allowed(row, channel, side, message) {
                    Some(next) => {
                        if !self.put(channel, side, message, next) {
                            return visitor.fault(Fault::Table { channel, message });
                        }
                    }
                    None => return visitor.fault(breach(channel, state)),
                }
            }
            return self.arrive(p, machine, (n, e), edge, row, visitor);
        }
        // If several endpoints of the name qualify, the step takes one that allows it.
        let free = bound.is_none() && !single;
        let channels = self
            .instances(p, self.talk, endpoint, row, machine)
            .to_vec();
        for channel in channels {
            let state = self.state(row, channel, side);
            let Some(next) = self.allowed(row, channel, side, message) else {
                if !free {
                    visitor.fault(breach(channel, state));
                }
                continue;
            };
            self.begin(row);
            if !self.put(channel, side, message, next) {
                visitor.fault(Fault::Table { channel, message });
                continue;
            }
            if !single {
                self.bindings.push((endpoint, channel));
            }
            self.arrive(p, machine, (n, e), edge, row, visitor);
        }
    }

    /// The state that follows when this side sends, where it may.
    fn allowed(&self, row: &[u16], channel: usize, side: Side, message: u16) -> Option<u16> {
        if self.is_closed(row, channel, side) {
            return None;
        }
        let state = self.state(row, channel, side);
        self.system.sends(channel, side, state, message)
    }

    /// Puts a message into the row that is being made; false where it has no place.
    fn put(&mut self, channel: usize, side: Side, message: u16, next: u16) -> bool {
        let layout = &self.layout.channels[channel];
        self.scratch[layout.states[side.index()]] = next;
        self.events.push(Event {
            channel,
            side,
            kind: EventKind::Sent(message),
        });
        // A message to an end that no process holds is gone.
        self.system.holder(channel, side.peer()).is_none()
            || cells::push(&mut self.scratch, layout, side.peer(), message)
    }

    /// Takes a message, or the news of a close, in the row that is being made.
    fn take(&mut self, row: &[u16], channel: usize, side: Side, what: What) -> Result<(), Fault> {
        let layout = &self.layout.channels[channel];
        let cell = layout.states[side.index()];
        let kind = match what {
            What::Message(message) => {
                let table = self.system.contract(channel);
                let next = table.step(row[cell], message, side.peer());
                let Some(next) = next else {
                    return Err(Fault::Table { channel, message });
                };
                self.scratch[cell] = next;
                cells::pop(&mut self.scratch, layout, side);
                EventKind::Received(message)
            }
            What::Closed | What::AllClosed => {
                self.scratch[cell] = layout.closed;
                // A process that hears of the close knows that nobody will read the messages that
                // it sent.
                cells::clear(&mut self.scratch, layout, side.peer());
                EventKind::Heard
            }
        };
        self.events.push(Event {
            channel,
            side,
            kind,
        });
        Ok(())
    }

    /// Tries a pattern, choosing for each part one of the endpoints that its name stands for.
    fn receive(
        &mut self,
        p: usize,
        machine: &Machine,
        (n, e, edge): (usize, usize, &Edge),
        parts: &[Part],
        row: &[u16],
        visitor: &mut impl Visitor,
    ) {
        let Some(part) = parts.get(self.chosen.len()) else {
            return self.fire(p, machine, (n, e, edge), parts, row, visitor);
        };
        let side = machine.endpoints[part.endpoint].side;
        if part.what == What::AllClosed {
            let all = &machine.endpoints[part.endpoint].channels;
            if all.iter().all(|&c| self.is_closed(row, c, side)) {
                self.chosen.push((part.endpoint, usize::MAX));
                self.receive(p, machine, (n, e, edge), parts, row, visitor);
                self.chosen.pop();
            }
            return;
        }
        for channel in self
            .instances(p, self.talk, part.endpoint, row, machine)
            .to_vec()
        {
            if self.ready(row, channel, side, part.what) == Some(true) {
                self.chosen.push((part.endpoint, channel));
                self.receive(p, machine, (n, e, edge), parts, row, visitor);
                self.chosen.pop();
            }
        }
    }

    fn fire(
        &mut self,
        p: usize,
        machine: &Machine,
        (n, e, edge): (usize, usize, &Edge),
        parts: &[Part],
        row: &[u16],
        visitor: &mut impl Visitor,
    ) {
        self.begin(row);
        for (i, part) in parts.iter().enumerate() {
            let (endpoint, channel) = self.chosen[i];
            if channel == usize::MAX {
                continue;
            }
            let side = machine.endpoints[endpoint].side;
            if let Err(fault) = self.take(row, channel, side, part.what) {
                return visitor.fault(fault);
            }
            if machine.endpoints[endpoint].channels.len() > 1 {
                self.bindings.push((endpoint, channel));
            }
        }
        self.arrive(p, machine, (n, e), edge, row, visitor);
    }

    /// An endpoint of which nothing is known but its contract.
    fn any(
        &mut self,
        p: usize,
        channel: usize,
        side: Side,
        closing: bool,
        row: &[u16],
        visitor: &mut impl Visitor,
    ) {
        if self.is_closed(row, channel, side) {
            return;
        }
        let table = self.system.contract(channel);
        let state = self.state(row, channel, side);
        let mut final_state = true;
        for message in 0..table.messages.len() as u16 {
            final_state &= table.step(state, message, side.peer()).is_none();
            if let Some(next) = self.system.sends(channel, side, state, message) {
                final_state = false;
                self.begin(row);
                if self.put(channel, side, message, next) {
                    visitor.step(p, None, &self.events, &self.scratch);
                } else {
                    visitor.fault(Fault::Table { channel, message });
                }
            }
        }
        let head = cells::head(row, &self.layout.channels[channel], side);
        let news = match head {
            Some(message) => Some(What::Message(message)),
            None => self
                .is_closed(row, channel, side.peer())
                .then_some(What::Closed),
        };
        if let Some(what) = news {
            self.begin(row);
            match self.take(row, channel, side, what) {
                Ok(()) => visitor.step(p, None, &self.events, &self.scratch),
                Err(fault) => visitor.fault(fault),
            }
        }
        // One who knows a base may be at its end where the derived contract goes on.
        let over = self
            .system
            .view(channel, side)
            .is_some_and(|v| v.ends(state));
        if closing || over || (final_state && news.is_none()) {
            self.begin(row);
            self.close(channel, side);
            visitor.step(p, None, &self.events, &self.scratch);
        }
    }
}
