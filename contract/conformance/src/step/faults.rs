//! The faults of a situation, whatever happens next.

use super::{Rules, Visitor};
use crate::cells;
use crate::machine::{Act, Machine, Node, What};
use sing_image::manifest::Side;

/// Something that goes wrong in a situation, whatever happens next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// A process sends what the endpoint's state does not allow.
    Breach {
        /// The process.
        process: usize,
        /// Its node.
        node: usize,
        /// The channel.
        channel: usize,
        /// The contract's state, as the process's side has seen it.
        state: u16,
        /// The message.
        message: u16,
        /// Index of the edge.
        edge: usize,
    },
    /// A message is first in a queue at which the process listens, and it has no case for it.
    Unspecified {
        /// The process.
        process: usize,
        /// Its node.
        node: usize,
        /// The channel.
        channel: usize,
        /// The message.
        message: u16,
    },
    /// A process waits where nothing can come any more, as channels are closed.
    Cut {
        /// The process.
        process: usize,
        /// Its node.
        node: usize,
        /// A channel of which it waits.
        channel: usize,
    },
    /// Both sides have closed, and a message lies there that neither got to know of.
    Lost {
        /// The channel.
        channel: usize,
        /// The side that should have received it.
        side: Side,
        /// The message.
        message: u16,
    },
    /// A message has no place or is not expected, though the contract's table says that cannot be.
    Table {
        /// The channel.
        channel: usize,
        /// The message.
        message: u16,
    },
}

impl Rules<'_> {
    /// The fault of the place at which a process waits.
    pub(super) fn wrong(
        &self,
        p: usize,
        machine: &Machine,
        n: usize,
        node: &Node,
        row: &[u16],
        visitor: &mut impl Visitor,
    ) {
        let patterns = || {
            node.edges.iter().filter_map(|e| match &e.act {
                Act::Receive(parts) => Some(parts),
                _ => None,
            })
        };
        // A process that listens at an endpoint takes any message there. A name of several means those
        // in whose states a message that is waited for can come.
        let mut unspecified = false;
        let held = |endpoint| self.is_held(p, self.talk, endpoint, row, machine);
        for part in patterns().flatten().filter(|part| !held(part.endpoint)) {
            let side = machine.endpoints[part.endpoint].side;
            for &channel in self
                .instances(p, self.talk, part.endpoint, row, machine)
                .iter()
            {
                if self.is_closed(row, channel, side) {
                    continue;
                }
                let mut waited_for = patterns().flatten().filter_map(|other| match other.what {
                    What::Message(m) if other.endpoint == part.endpoint => Some(m),
                    _ => None,
                });
                // One of many that is in another state is not meant.
                let free = machine.endpoints[part.endpoint].channels.len() > 1
                    && self
                        .partner(p, self.talk, part.endpoint, row, machine)
                        .is_none();
                let state = self.state(row, channel, side);
                let table = self.system.contract(channel);
                let can_come = |m| table.step(state, m, side.peer()).is_some();
                if free && waited_for.clone().next().is_some() && !waited_for.any(can_come) {
                    continue;
                }
                let Some(message) = cells::head(row, &self.layout.channels[channel], side) else {
                    continue;
                };
                let known = patterns().flatten().any(|other| {
                    other.endpoint == part.endpoint && other.what == What::Message(message)
                });
                if !known {
                    unspecified = true;
                    visitor.fault(Fault::Unspecified {
                        process: p,
                        node: n,
                        channel,
                        message,
                    });
                }
            }
        }
        if unspecified || node.end || !node.only_receives() {
            return;
        }
        let mut cut = None;
        for parts in patterns() {
            let never = parts.iter().find_map(|part| {
                let side = machine.endpoints[part.endpoint].side;
                if part.what == What::AllClosed {
                    return None;
                }
                let all = self.instances(p, self.talk, part.endpoint, row, machine);
                let several = machine.endpoints[part.endpoint].channels.len();
                let partner = self.partner(p, self.talk, part.endpoint, row, machine);
                let bound = partner.is_some();
                // Endpoints that other conversations have in use may still bring something
                // afterwards.
                if held(part.endpoint) || (!bound && all.len() < several) {
                    return None;
                }
                all.iter()
                    .all(|&c| self.ready(row, c, side, part.what).is_none())
                    .then(|| all.first().copied().unwrap_or(usize::MAX))
            });
            match never {
                Some(channel) => cut = cut.or(Some(channel)),
                // This one may still come; that all are closed comes about by the others.
                None if parts.iter().all(|p| p.what == What::AllClosed) => {
                    let closed = parts.iter().all(|part| {
                        let endpoint = &machine.endpoints[part.endpoint];
                        let mut all = endpoint.channels.iter();
                        all.all(|&c| self.is_closed(row, c, endpoint.side))
                    });
                    if closed {
                        return;
                    }
                }
                None => return,
            }
        }
        if let Some(channel) = cut {
            visitor.fault(Fault::Cut {
                process: p,
                node: n,
                channel,
            });
        }
    }

    /// Messages in a channel that both sides have closed.
    pub(super) fn lost(&self, channel: usize, row: &[u16], visitor: &mut impl Visitor) {
        for side in [Side::Imp, Side::Exp] {
            if !self.is_closed(row, channel, side) || !self.is_closed(row, channel, side.peer()) {
                continue;
            }
            // A process of which nothing is known may go when it likes.
            let known = |side| {
                let holder = self.system.holder(channel, side);
                holder.is_some_and(|p| self.system.machine(p).is_some())
            };
            let head = cells::head(row, &self.layout.channels[channel], side);
            if let (Some(message), true) = (head, known(side)) {
                visitor.fault(Fault::Lost {
                    channel,
                    side,
                    message,
                });
            }
        }
    }
}
