//! Contracts that the kernel knows, each once, by its identity.

use alloc::boxed::Box;
use alloc::vec::Vec;
use sing_arch::lock::SpinLock;
use sing_image::contract::{ContractTable, Hash, NONE, Word};
use sing_image::manifest::Side;

/// A contract, ready to be stepped.
#[derive(Debug)]
pub(crate) struct Contract {
    /// Its number, from 1.
    pub(crate) id: u32,
    /// The table it was made of.
    pub(crate) table: ContractTable,
    hash: Hash,
    /// `steps[row + message * 2 + sender]`, with a row for each state.
    steps: Vec<Step>,
    /// Number of messages.
    messages: u32,
    /// Words of the longest message.
    pub(crate) max_words: usize,
}

/// What follows when a side sends a message in a state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// Row of the following state, or [`REFUSED`].
    pub(crate) next: u32,
    /// The message's words.
    pub(crate) words: u8,
    /// Whether all of them are scalars.
    pub(crate) plain: bool,
    /// Whether a send has nothing to do but to pass them on: they are scalars, and nothing must hold of them.
    pub(crate) fast: bool,
}

/// No state: the message is not allowed.
const REFUSED: u32 = u32::MAX;

impl Contract {
    /// What follows when `sender` sends `message` in the state of `row`.
    #[inline(always)]
    pub(crate) fn step(&self, row: u32, message: u32, sender: Side) -> Option<Step> {
        if message >= self.messages {
            return None;
        }
        let step = self
            .steps
            .get((row + message * 2) as usize + sender.index())?;
        (step.next != REFUSED).then_some(*step)
    }

    /// The state of a row.
    fn state(&self, row: u32) -> u16 {
        (row / (self.messages * 2).max(1)) as u16
    }

    /// Name of the state of a row.
    pub(crate) fn state_name(&self, row: u32) -> &str {
        let state = usize::from(self.state(row));
        self.table.states.get(state).map_or("?", |s| s)
    }

    /// Whether an endpoint of this contract, in the state of a row, can stand where one of `wanted` in state `asked` is asked
    /// for; in any where `None`. One that is `used` as one of a base already may have come where none could begin.
    pub(crate) fn stands_for(
        &self,
        wanted: &Contract,
        side: Side,
        row: u32,
        asked: Option<u16>,
        used: bool,
    ) -> bool {
        let state = self.state(row);
        if core::ptr::eq(self, wanted) {
            return asked.is_none_or(|asked| asked == state);
        }
        let (own, other) = (&self.hash, &wanted.hash);
        let (table, wanted) = (&self.table, &wanted.table);
        match asked {
            Some(asked) if !used => table.stands_for(own, wanted, other, side, (state, asked)),
            _ => table.used_as(own, wanted, other, side, (state, asked)),
        }
    }
}

static KNOWN: SpinLock<Vec<&'static Contract>> = SpinLock::new(Vec::new());

/// All contracts, by number.
pub(crate) fn all() -> Vec<&'static Contract> {
    KNOWN.lock().clone()
}

/// The contract of a table, which has been checked, as has been which contract it is.
pub(crate) fn intern(table: &ContractTable, hash: Hash) -> &'static Contract {
    let mut known = KNOWN.lock();
    if let Some(c) = known.iter().find(|c| c.hash == hash) {
        return c;
    }
    let messages = table.messages.len() as u32;
    let steps = table
        .next
        .iter()
        .enumerate()
        .map(|(i, &next)| {
            let message = &table.messages[i / 2 % table.messages.len()];
            let words = &message.words;
            let plain = words.iter().all(|w| *w == Word::Scalar);
            Step {
                next: if next == NONE {
                    REFUSED
                } else {
                    u32::from(next) * messages * 2
                },
                words: words.len() as u8,
                plain,
                fast: plain && message.conditions.is_empty(),
            }
        })
        .collect();
    let max_words = table.max_words();
    let contract: &'static Contract = Box::leak(Box::new(Contract {
        id: known.len() as u32 + 1,
        table: table.clone(),
        hash,
        steps,
        messages,
        max_words,
    }));
    known.push(contract);
    contract
}
