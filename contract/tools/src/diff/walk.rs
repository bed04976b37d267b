//! Walks two machines together: an importing side that follows one table, an exporting side that
//! follows another.

use super::differences::{self, arguments, conditions};
use sing_image::contract::{ContractTable, Message};
use sing_image::manifest::Side;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The most pairs of states that are visited: the product of the most states of two contracts.
pub const MOST_PAIRS: usize = sing_image::contract::MAX_STATES * sing_image::contract::MAX_STATES;

/// Something that a side cannot go on with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Break {
    /// The side that breaks: it gets what it does not expect, or waits for what does not come.
    pub side: Side,
    /// The state in which it is, by its own version.
    pub state: String,
    /// The reason.
    pub reason: String,
    /// The messages that lead there from the beginning, the shortest way.
    pub way: Vec<String>,
}

/// A state of the importing side, and one of the exporting side.
type Pair = (u16, u16);

/// What breaks between an importing side of one table and an exporting side of another. A reason is
/// told once, at the end of a shortest way to it.
pub fn breaks(imp: &ContractTable, exp: &ContractTable) -> Vec<Break> {
    let peers = |of: &ContractTable, to: &ContractTable| -> Vec<Option<u16>> {
        of.messages.iter().map(|m| to.message(&m.name)).collect()
    };
    let mut walk = Walk {
        tables: [imp, exp],
        peers: [peers(imp, exp), peers(exp, imp)],
        types: differences::changed_types(imp, exp),
        from: BTreeMap::from([((0, 0), None)]),
        todo: VecDeque::from([(0, 0)]),
        found: Vec::new(),
        told: BTreeSet::new(),
    };
    while let Some(pair) = walk.todo.pop_front() {
        for sender in [Side::Imp, Side::Exp] {
            walk.sends(pair, sender);
        }
        walk.waits(pair);
    }
    walk.found
}

struct Walk<'a> {
    /// By the side that follows it.
    tables: [&'a ContractTable; 2],
    /// By side and message, the message of the same name in the other table.
    peers: [Vec<Option<u16>>; 2],
    types: Vec<&'a str>,
    /// The pairs that were reached, each with the one before and the message between them.
    from: BTreeMap<Pair, Option<(Pair, String)>>,
    todo: VecDeque<Pair>,
    found: Vec<Break>,
    told: BTreeSet<(usize, String, String)>,
}

impl Walk<'_> {
    fn state(&self, pair: Pair, side: Side) -> (&ContractTable, u16) {
        match side {
            Side::Imp => (self.tables[0], pair.0),
            Side::Exp => (self.tables[1], pair.1),
        }
    }

    /// Whether `sender` may send something, as `side` has it.
    fn may(&self, pair: Pair, side: Side, sender: Side) -> bool {
        let (table, state) = self.state(pair, side);
        (0..table.messages.len()).any(|m| table.step(state, m as u16, sender).is_some())
    }

    /// Follows all messages that a side may send.
    fn sends(&mut self, pair: Pair, sender: Side) {
        let receiver = sender.peer();
        let (sending, at) = self.state(pair, sender);
        let (receiving, waiting) = self.state(pair, receiver);
        let mut breaks = Vec::new();
        let mut reached = Vec::new();
        for (i, message) in sending.messages.iter().enumerate() {
            let Some(next) = sending.step(at, i as u16, sender) else {
                continue;
            };
            let name = &message.name;
            let who = differences::name(sender);
            let tag = self.peers[sender.index()][i];
            let expected = tag.and_then(|tag| {
                let after = receiving.step(waiting, tag, sender)?;
                Some((&receiving.messages[usize::from(tag)], after))
            });
            let Some((other, after)) = expected else {
                let why = match tag {
                    Some(_) => "which is not expected there",
                    None => "a message that it does not know",
                };
                breaks.push(format!("{who} may send {name}, {why}"));
                continue;
            };
            if let Some(why) = self.misread(message, other) {
                breaks.push(format!("{who} may send {name} {why}"));
                continue;
            }
            let mark = if sender == Side::Imp { '?' } else { '!' };
            let pair = match sender {
                Side::Imp => (next, after),
                Side::Exp => (after, next),
            };
            reached.push((pair, format!("{name}{mark}")));
        }
        for reason in breaks {
            self.tell(pair, receiver, reason);
        }
        for (next, message) in reached {
            if self.from.len() < MOST_PAIRS && !self.from.contains_key(&next) {
                self.from.insert(next, Some((pair, message)));
                self.todo.push_back(next);
            }
        }
    }

    /// How the receiver's version of a message differs from the sender's, if it would be misread.
    fn misread(&self, sent: &Message, expected: &Message) -> Option<String> {
        let types = |message: &Message| -> Vec<String> {
            message.arguments.iter().map(|a| a.ty.clone()).collect()
        };
        if sent.words != expected.words || types(sent) != types(expected) {
            let (sent, expected) = (arguments(sent), arguments(expected));
            return Some(format!("with {sent}, where {expected} is expected"));
        }
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let mut words = types(sent).into_iter().flat_map(|ty| {
            let words = ty.split(|c| !is_name(c));
            words.map(str::to_owned).collect::<Vec<_>>()
        });
        if let Some(ty) = words.find(|word| self.types.contains(&word.as_str())) {
            return Some(format!("with another {ty} than is expected"));
        }
        let promised = conditions(sent);
        let required = conditions(expected).into_iter();
        let mut broken = required.filter(|c| !promised.contains(c));
        broken
            .next()
            .map(|c| format!("without the promise that {c}"))
    }

    /// A side that waits for what does not come.
    fn waits(&mut self, pair: Pair) {
        for side in [Side::Imp, Side::Exp] {
            let waits = self.may(pair, side, side.peer()) && !self.may(pair, side, side);
            let comes = self.may(pair, side.peer(), side.peer());
            // A client may leave a conversation at its end; who serves owes an answer.
            let other_waits = self.may(pair, side.peer(), side);
            if waits && !comes && (other_waits || side == Side::Imp) {
                let other = differences::name(side.peer());
                let does = if other_waits {
                    "waits, too"
                } else {
                    "sends nothing more"
                };
                self.tell(
                    pair,
                    side,
                    format!("it waits for a message, and {other} {does}"),
                );
            }
        }
    }

    fn tell(&mut self, pair: Pair, side: Side, reason: String) {
        let (table, state) = self.state(pair, side);
        let state = table.states.get(usize::from(state));
        let state = state.cloned().unwrap_or_default();
        let new = self
            .told
            .insert((side.index(), state.clone(), reason.clone()));
        if !new {
            return;
        }
        let mut way = Vec::new();
        let mut at = pair;
        while let Some(Some((before, message))) = self.from.get(&at) {
            way.push(message.clone());
            at = *before;
        }
        way.reverse();
        self.found.push(Break {
            side,
            state,
            reason,
            way,
        });
    }
}
