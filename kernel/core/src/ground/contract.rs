//! Contracts that the kernel knows, each once, by its identity.

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
    /// The same for messages of which nothing must hold, and that are scalars and at most one block: the following row,
    /// and above it what goes over; [`OTHER`] for all others.
    fast: Vec<u64>,
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

/// What goes over with a message: how many scalars where it is nothing else, so that one comparison tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Load(u32);

/// Where a load says which word is a block, counted from 1.
const BLOCK: u32 = 8;

impl Load {
    /// One scalar.
    pub(crate) const WORD: Load = Load(1);

    /// `None` where it is not scalars and at most one block.
    fn of(words: &[Word]) -> Option<Load> {
        let is_block = |w: &Word| matches!(w, Word::Block);
        let blocks = words.iter().filter(|w| is_block(w)).count();
        if blocks > 1 || words.iter().any(|w| matches!(w, Word::Endpoint { .. })) {
            return None;
        }
        let block = words.iter().position(is_block).map_or(0, |i| i as u32 + 1);
        Some(Load(block << BLOCK | words.len() as u32))
    }

    /// How many words.
    #[inline(always)]
    pub(crate) fn words(self) -> usize {
        (self.0 & 0xff) as usize
    }

    /// Which of them is a block.
    #[inline(always)]
    pub(crate) fn block(self) -> Option<usize> {
        (self.0 >> BLOCK).checked_sub(1).map(|i| i as usize)
    }
}

/// No state: the message is not allowed.
const REFUSED: u32 = u32::MAX;
/// No step that is fast.
const OTHER: u64 = u64::MAX;

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

    /// The same where a send has nothing to do but to pass the words on, and at most one block: the following row, and what
    /// goes over.
    #[inline(always)]
    pub(crate) fn fast_step(&self, row: u32, message: u32, sender: Side) -> Option<(u32, Load)> {
        if message >= self.messages {
            return None;
        }
        let &step = self
            .fast
            .get((row + message * 2) as usize + sender.index())?;
        (step != OTHER).then_some((step as u32, Load((step >> 32) as u32)))
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

/// The contracts that there are. What images bring stays: each is kept once, however many name it.
struct Known {
    /// By number, from 1 on.
    all: Vec<&'static Contract>,
    /// In the order of their identities.
    sorted: Vec<&'static Contract>,
}

static KNOWN: SpinLock<Known> = SpinLock::new(Known {
    all: Vec::new(),
    sorted: Vec::new(),
});

/// All contracts, by number.
pub(crate) fn all() -> impl Iterator<Item = &'static Contract> {
    (0..).map_while(|i: usize| KNOWN.lock().all.get(i).copied())
}

/// Bytes of memory that a contract of this table takes beside it, at most.
pub(crate) fn room(table: &ContractTable) -> u64 {
    let transition = size_of::<Step>() + size_of::<u64>();
    (table.next.len() * transition + size_of::<Contract>()) as u64
}

/// The contract of the last of these tables, which has been checked, as has been which contract it is. The table is taken out;
/// `None`, and it stays, where there is none or no memory.
pub(crate) fn intern(tables: &mut Vec<ContractTable>, hash: &Hash) -> Option<&'static Contract> {
    let table = tables.last()?;
    let mut known = KNOWN.lock();
    let place = match known.sorted.binary_search_by_key(&hash, |c| &c.hash) {
        Ok(there) => {
            tables.pop();
            return Some(known.sorted[there]);
        }
        Err(place) => place,
    };
    let (mut steps, mut fast, mut record) = (Vec::new(), Vec::new(), Vec::new());
    let room = known.all.try_reserve(1).is_ok()
        && known.sorted.try_reserve(1).is_ok()
        && steps.try_reserve_exact(table.next.len()).is_ok()
        && fast.try_reserve_exact(table.next.len()).is_ok()
        && record.try_reserve_exact(1).is_ok();
    if !room {
        return None;
    }
    let table = tables.pop()?;
    let messages = table.messages.len() as u32;
    for state in table.next.chunks(table.messages.len() * 2) {
        for (message, next) in table.messages.iter().zip(state.chunks(2)) {
            let plain = message.words.iter().all(|w| *w == Word::Scalar);
            let load = Load::of(&message.words).filter(|_| message.conditions.is_empty());
            for &next in next {
                let step = Step {
                    next: match next {
                        NONE => REFUSED,
                        next => u32::from(next) * messages * 2,
                    },
                    words: message.words.len() as u8,
                    plain,
                    fast: plain && message.conditions.is_empty(),
                };
                fast.push(match load {
                    Some(load) if next != NONE => u64::from(load.0) << 32 | u64::from(step.next),
                    _ => OTHER,
                });
                steps.push(step);
            }
        }
    }
    record.push(Contract {
        id: known.all.len() as u32 + 1,
        max_words: table.max_words(),
        table,
        hash: *hash,
        steps,
        fast,
        messages,
    });
    let contract = match record.leak() {
        [contract] => &*contract,
        _ => unreachable!("one was put there"),
    };
    known.all.push(contract);
    known.sorted.insert(place, contract);
    Some(contract)
}
