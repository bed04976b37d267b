//! Contract tables: the form of a contract in which the kernel steps it, message by message.
//!
//! Made by `sing-contract` from source text. The kernel never parses text; it loads tables, checks
//! them ([`ContractTable::check`]) and refuses inconsistent ones.

mod condition;
mod identity;
mod read;

pub use condition::{
    Condition, MAX_CONDITIONS, MAX_RANGES, MAX_STEPS, MAX_VALUES, Read, Step, Test,
};
pub use identity::{Named, identify, identities};
pub use read::{Entry, Familiar, Find, ROOM, Reader, check};

use crate::Error;
use crate::manifest::Side;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// Value of [`ContractTable::next`] for no transition.
pub const NONE: u16 = u16::MAX;
/// The most messages in a contract.
pub const MAX_MESSAGES: usize = 255;
/// The most states in a contract.
pub const MAX_STATES: usize = 1024;
/// The most contracts that one derives from, and that a permission narrows.
pub const MAX_BASES: usize = 256;
/// The most messages that may be under way to one side.
pub const MAX_QUEUE: u16 = 64;

/// Direction of a message, from the exporter's point of view ([O] 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Direction {
    /// From importer to exporter.
    In,
    /// From exporter to importer.
    Out,
    /// Either way.
    Both,
}

/// One word of a message's arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Word {
    /// A number, as its bits.
    Scalar,
    /// The handle of an exchange-heap allocation without parts; sending moves the allocation.
    Block,
    /// The handle of an endpoint; sending moves the endpoint.
    Endpoint {
        /// Name of the endpoint's contract.
        contract: String,
        /// The endpoint's side.
        side: Side,
        /// Name of the state the endpoint must be in; any if `None`.
        state: Option<String>,
    },
    /// As `Block`, but the allocation may have parts: its type says that blocks lie in it.
    Tree,
    /// As `Block`, or 0 for none.
    OptionalBlock,
    /// As `Tree`, or 0 for none.
    OptionalTree,
}

impl Word {
    /// Whether it is the handle of an allocation.
    #[must_use]
    pub fn is_block(&self) -> bool {
        matches!(
            self,
            Word::Block | Word::Tree | Word::OptionalBlock | Word::OptionalTree
        )
    }

    /// Whether it may be 0, for no allocation.
    #[must_use]
    pub fn is_optional(&self) -> bool {
        matches!(self, Word::OptionalBlock | Word::OptionalTree)
    }

    /// Whether its allocation may have parts.
    #[must_use]
    pub fn may_have_parts(&self) -> bool {
        matches!(self, Word::Tree | Word::OptionalTree)
    }

    /// Returns the contract of the endpoint in this word, if the word is one.
    #[must_use]
    pub fn contract(&self) -> Option<&str> {
        match self {
            Word::Endpoint { contract, .. } => Some(contract),
            _ => None,
        }
    }
}

/// An argument as declared, for people and for bindings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Argument {
    /// The argument's name.
    pub name: String,
    /// The argument's type as written.
    pub ty: String,
}

/// A message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// The message's name.
    pub name: String,
    /// The message's direction.
    pub direction: Direction,
    /// The message's arguments, as declared.
    pub arguments: Vec<Argument>,
    /// The message's words; at most `sing_abi::MAX_MESSAGE_WORDS`.
    pub words: Vec<Word>,
    /// Conditions that the words must satisfy; a sender of other words breaks the contract.
    pub conditions: Vec<Condition>,
}

/// Identity of a contract: a hash of its table and of all that it refers to ([`identities`]).
pub type Hash = [u8; 32];

/// A contract that another derives from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Base {
    /// The base's name.
    pub name: String,
    /// The base's identity.
    pub hash: Hash,
    /// The states in which an endpoint of the derived contract simulates one of the base. For each
    /// side (by `Side::index`), the pairs of a state of the derived contract and one of the base,
    /// ascending, such that a holder who knows only the base can use the endpoint: every send that
    /// the base allows is allowed there and from there on, no message arrives that the base does
    /// not announce, and a holder that waits has a peer that can go on.
    ///
    /// Programs do not state these pairs: the installer computes them from the contracts' text in
    /// the module.
    pub stands: [Vec<(u16, u16)>; 2],
}

impl Base {
    /// Whether `side`'s endpoint, in this state of the derived contract, simulates one of the base
    /// in state `asked`; in any if `None`.
    fn has(&self, side: Side, state: u16, asked: Option<u16>) -> bool {
        let pairs = &self.stands[side.index()];
        let at = pairs.partition_point(|&p| p < (state, asked.unwrap_or(0)));
        let fits = |p: &(u16, u16)| p.0 == state && asked.is_none_or(|a| a == p.1);
        pairs.get(at).is_some_and(fits)
    }
}

/// Makes a contract a permission ([O] 5.5.3): another contract with fewer messages that one side
/// may send.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Narrowing {
    /// The side whose endpoints are narrowed; there are no others.
    pub side: Side,
    /// The narrowed contracts, nearest first: permissions, and last the contract of the channel
    /// itself. All have the same messages and states.
    pub of: Vec<(String, Hash)>,
}

/// A contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContractTable {
    /// The contract's name.
    pub name: String,
    /// The contracts it derives from, nearest first.
    pub bases: Vec<Base>,
    /// The contracts it narrows, if it is a permission.
    pub narrows: Option<Narrowing>,
    /// Messages; a message's index is its tag.
    pub messages: Vec<Message>,
    /// The enums and rep structs that messages carry, by their names, with their identities: so
    /// that the same name cannot mean another type elsewhere.
    pub types: Vec<(String, Hash)>,
    /// Names of the states; the first is the initial one. Anonymous intermediate ones have a name
    /// with a `'` in it.
    pub states: Vec<String>,
    /// `next[(state * messages + message) * 2 + sender]` (sender: `Side::index`): the following
    /// state, or [`NONE`].
    pub next: Vec<u16>,
    /// The most messages that can be under way to each side (by `Side::index`).
    pub queue: [u16; 2],
}

/// Returns a name that occurs more than once.
fn twice<'a>(mut names: impl Iterator<Item = &'a String>) -> Option<&'a String> {
    let mut seen = BTreeSet::new();
    names.find(|name| !seen.insert(*name))
}

impl ContractTable {
    /// Returns the state that follows when `sender` sends `message` in `state`.
    #[must_use]
    pub fn step(&self, state: u16, message: u16, sender: Side) -> Option<u16> {
        if usize::from(message) >= self.messages.len() {
            return None;
        }
        let i = (usize::from(state) * self.messages.len() + usize::from(message)) * 2;
        self.next
            .get(i + sender.index())
            .copied()
            .filter(|&s| s != NONE)
    }

    /// Returns the index of a message.
    #[must_use]
    pub fn message(&self, name: &str) -> Option<u16> {
        self.messages
            .iter()
            .position(|m| m.name == name)
            .map(|i| i as u16)
    }

    /// Returns the index of a state.
    #[must_use]
    pub fn state(&self, name: &str) -> Option<u16> {
        self.states.iter().position(|s| s == name).map(|i| i as u16)
    }

    /// Whether an endpoint of `side` of this contract, in state `at.0`, is a subtype of one of
    /// `wanted` in state `at.1`: of the same contract, of a base that allows it there, or of a
    /// permission to which it can be narrowed. `own` and `wanted_hash` are the two contracts'
    /// identities.
    #[must_use]
    pub fn stands_for(
        &self,
        own: &Hash,
        wanted: &ContractTable,
        wanted_hash: &Hash,
        side: Side,
        at: (u16, u16),
    ) -> bool {
        // A side that begins in a final state would never receive the messages that come.
        self.used_as(own, wanted, wanted_hash, side, (at.0, Some(at.1)))
            && (!self.hears(side, at.0) || wanted.hears(side, at.1))
    }

    /// Whether an endpoint can be in state `at.0` while it is used as one of `wanted`, in state
    /// `at.1` (any if `None`). Weaker than [`ContractTable::stands_for`]: the holder has reached
    /// this state, and can close.
    #[must_use]
    pub fn used_as(
        &self,
        own: &Hash,
        wanted: &ContractTable,
        wanted_hash: &Hash,
        side: Side,
        (state, asked): (u16, Option<u16>),
    ) -> bool {
        let is_or_derives = |hash: &Hash| {
            if hash == own {
                return asked.is_none_or(|asked| asked == state);
            }
            let bases = self.bases.iter().filter(|b| b.hash == *hash);
            bases.into_iter().any(|b| b.has(side, state, asked))
        };
        is_or_derives(wanted_hash)
            || wanted.narrows.as_ref().is_some_and(|narrowing| {
                narrowing.side == side && narrowing.of.iter().any(|(_, hash)| is_or_derives(hash))
            })
    }

    /// Whether `side` may receive any message in a state.
    fn hears(&self, side: Side, state: u16) -> bool {
        let mut messages = 0..self.messages.len() as u16;
        messages.any(|m| self.step(state, m, side.peer()).is_some())
    }

    /// Returns the words of the longest message that `receiver` can get.
    #[must_use]
    pub fn max_words(&self) -> usize {
        self.messages
            .iter()
            .map(|m| m.words.len())
            .max()
            .unwrap_or(0)
    }

    /// Checks that the table is consistent.
    ///
    /// # Errors
    /// Names the first inconsistency.
    pub fn check(&self) -> Result<(), Error> {
        let fail = |what: String| Err(Error::new(format!("contract {}: {what}", self.name)));
        if self.messages.is_empty() || self.messages.len() > MAX_MESSAGES {
            return fail(format!(
                "{} messages; 1 to {MAX_MESSAGES} may be",
                self.messages.len()
            ));
        }
        if self.states.is_empty() || self.states.len() > MAX_STATES {
            return fail(format!(
                "{} states; 1 to {MAX_STATES} may be",
                self.states.len()
            ));
        }
        if self.next.len() != self.states.len() * self.messages.len() * 2 {
            return fail(format!("its table has {} entries", self.next.len()));
        }
        if self
            .next
            .iter()
            .any(|&s| s != NONE && usize::from(s) >= self.states.len())
        {
            return fail("a transition leads to no state".into());
        }
        for m in &self.messages {
            if m.words.len() > sing_abi::MAX_MESSAGE_WORDS {
                return fail(format!("message {} has {} words", m.name, m.words.len()));
            }
            if m.conditions.len() > MAX_CONDITIONS {
                let count = m.conditions.len();
                return fail(format!("message {} has {count} conditions", m.name));
            }
            for condition in &m.conditions {
                condition
                    .check(m.words.len(), |i| m.words[i] == Word::Scalar)
                    .or_else(|what| fail(format!("message {}: {what}", m.name)))?;
            }
        }
        for (i, chunk) in self.next.chunks_exact(2).enumerate() {
            let m = &self.messages[i % self.messages.len()];
            let bad = match m.direction {
                Direction::In => chunk[Side::Exp.index()] != NONE,
                Direction::Out => chunk[Side::Imp.index()] != NONE,
                Direction::Both => false,
            };
            if bad {
                return fail(format!("message {} goes against its direction", m.name));
            }
        }
        if self.queue.iter().any(|&q| q > MAX_QUEUE) {
            return fail(format!("its queues are longer than {MAX_QUEUE}"));
        }
        if let Some(name) = twice(self.states.iter()) {
            return fail(format!("state {name:?} is there twice"));
        }
        if let Some(name) = twice(self.messages.iter().map(|m| &m.name)) {
            return fail(format!("message {name:?} is there twice"));
        }
        self.check_relations().or_else(fail)
    }

    /// Checks the bases and the narrowed contracts that the table names.
    fn check_relations(&self) -> Result<(), String> {
        if let Some(name) = twice(self.bases.iter().map(|b| &b.name)) {
            return Err(format!("base {name:?} is there twice"));
        }
        let narrowed = self.narrows.as_ref().map_or(0, |n| n.of.len());
        if self.bases.len().max(narrowed) > MAX_BASES {
            return Err(format!(
                "it derives from more than {MAX_BASES} contracts, or narrows more"
            ));
        }
        for base in &self.bases {
            for pairs in &base.stands {
                let ascending = pairs.windows(2).all(|two| two[0] < two[1]);
                // The base's own table says how many states it has; a pair with another state is
                // never looked up.
                let known = pairs.iter().all(|&(own, of)| {
                    usize::from(own) < self.states.len() && usize::from(of) < MAX_STATES
                });
                if !ascending || !known {
                    return Err(format!(
                        "the states in which it simulates its base {:?} are no list of pairs",
                        base.name
                    ));
                }
            }
        }
        if let Some(narrowing) = &self.narrows {
            if narrowing.of.is_empty() {
                return Err("it is a permission that narrows nothing".into());
            }
            if let Some(name) = twice(narrowing.of.iter().map(|(name, _)| name)) {
                return Err(format!("it narrows {name:?} twice"));
            }
            if !self.bases.is_empty() {
                return Err("a permission derives from nothing".into());
            }
        }
        Ok(())
    }
}
