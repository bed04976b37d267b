//! Contracts that the kernel knows, each once, by the hash of its table.

use alloc::boxed::Box;
use alloc::vec::Vec;
use sing_arch::lock::SpinLock;
use sing_image::contract::{ContractTable, NONE, Word};
use sing_image::manifest::Side;

/// A contract, ready to be stepped.
#[derive(Debug)]
pub(crate) struct Contract {
    /// The table it was made of.
    pub(crate) table: ContractTable,
    hash: [u8; 32],
    messages: Vec<MessageInfo>,
    /// Words of the longest message.
    pub(crate) max_words: usize,
}

/// What a send must know of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MessageInfo {
    /// Its words.
    pub(crate) words: u8,
    /// Whether all of them are scalars.
    pub(crate) plain: bool,
}

impl Contract {
    /// The state after `sender` has sent `message` in `state`.
    #[inline(always)]
    pub(crate) fn step(&self, state: u16, message: u32, sender: Side) -> Option<u16> {
        let n = self.messages.len();
        if message as usize >= n {
            return None;
        }
        let i = (usize::from(state) * n + message as usize) * 2 + sender.index();
        match self.table.next.get(i) {
            Some(&s) if s != NONE => Some(s),
            _ => None,
        }
    }

    /// What a send must know of the message; the index comes from a message that stepped.
    #[inline(always)]
    pub(crate) fn info(&self, message: u32) -> MessageInfo {
        self.messages[message as usize]
    }

    /// Whether an endpoint of this contract may stand where one of `name` is asked for.
    pub(crate) fn is_a(&self, name: &str) -> bool {
        self.table.name == name || self.table.bases.iter().any(|b| b == name)
    }
}

static KNOWN: SpinLock<Vec<&'static Contract>> = SpinLock::new(Vec::new());

/// The contract of a table, which has been checked.
pub(crate) fn intern(table: &ContractTable) -> &'static Contract {
    let hash = table.hash();
    let mut known = KNOWN.lock();
    if let Some(c) = known.iter().find(|c| c.hash == hash) {
        return c;
    }
    let messages: Vec<MessageInfo> = table
        .messages
        .iter()
        .map(|m| MessageInfo {
            words: m.words.len() as u8,
            plain: m.words.iter().all(|w| *w == Word::Scalar),
        })
        .collect();
    let max_words = table.max_words();
    let contract: &'static Contract = Box::leak(Box::new(Contract {
        table: table.clone(),
        hash,
        messages,
        max_words,
    }));
    known.push(contract);
    contract
}
