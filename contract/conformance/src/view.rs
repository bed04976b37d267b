//! The operations of a process at an end of a channel that it knows by another contract than the
//! channel's own.
//!
//! It may hold a permission, which has fewer messages, or an endpoint of a base, which knows
//! nothing of what the derived contract adds; and a module that does not import a send cannot send
//! it. The channel itself goes on as its own contract says: both contracts are walked together, and
//! what the holder's allows in the states that come about in a state of the channel is what it can
//! do there.

use sing_image::contract::ContractTable;
use sing_image::manifest::Side;
use std::collections::HashSet;

/// The operations that one end of a channel has for its holder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    messages: usize,
    /// For each state of the channel and message: whether the holder can send it there.
    sends: Vec<bool>,
    /// For each state of the channel: whether the holder's contract can have come to its end there.
    ends: Vec<bool>,
}

impl View {
    /// The operations at this side of a channel of a holder that knows it as one of `held`.
    #[must_use]
    pub fn of(channel: &ContractTable, held: &ContractTable, side: Side) -> View {
        let mut view = View::none(channel);
        let mut todo = vec![(0u16, 0u16)];
        let mut seen = HashSet::new();
        while let Some((own, known)) = todo.pop() {
            if !seen.insert((own, known)) {
                continue;
            }
            let mut over = true;
            for (m, message) in (0u16..).zip(&held.messages) {
                for sender in [Side::Imp, Side::Exp] {
                    let Some(then) = held.step(known, m, sender) else {
                        continue;
                    };
                    over = false;
                    let Some(m) = channel.message(&message.name) else {
                        continue;
                    };
                    let Some(next) = channel.step(own, m, sender) else {
                        continue;
                    };
                    if sender == side {
                        view.sends[usize::from(own) * view.messages + usize::from(m)] = true;
                    }
                    todo.push((next, then));
                }
            }
            view.ends[usize::from(own)] |= over;
        }
        view
    }

    /// Everything that the channel's own contract lets this side send.
    #[must_use]
    pub fn whole(channel: &ContractTable, side: Side) -> View {
        let mut view = View::none(channel);
        for state in 0..channel.states.len() {
            for m in 0..view.messages {
                view.sends[state * view.messages + m] =
                    channel.step(state as u16, m as u16, side).is_some();
            }
        }
        view
    }

    fn none(channel: &ContractTable) -> View {
        let (states, messages) = (channel.states.len(), channel.messages.len());
        View {
            messages,
            sends: vec![false; states * messages],
            ends: vec![false; states],
        }
    }

    /// Leaves only sends of messages that are wanted.
    #[must_use]
    pub fn only(mut self, channel: &ContractTable, wanted: impl Fn(&str) -> bool) -> View {
        for row in self.sends.chunks_mut(self.messages.max(1)) {
            for (may, message) in row.iter_mut().zip(&channel.messages) {
                *may &= wanted(&message.name);
            }
        }
        self
    }

    /// Whether the holder can send this message in this state.
    #[must_use]
    pub fn sends(&self, state: u16, message: u16) -> bool {
        let at = usize::from(state) * self.messages + usize::from(message);
        self.sends.get(at).copied().unwrap_or(false)
    }

    /// Whether nothing may be left to do for the holder in this state.
    #[must_use]
    pub fn ends(&self, state: u16) -> bool {
        self.ends.get(usize::from(state)).copied().unwrap_or(false)
    }
}
