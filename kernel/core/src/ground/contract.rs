//! Contracts known to the kernel, one record for each identity.

use crate::ground::trusted::{Ended, Kept, variables};
use alloc::borrow::Cow;
use alloc::vec::Vec;
use sing_arch::lock::SpinLock;
use sing_image::contract::{ContractTable, Entry, Familiar, Hash, NONE, ROOM, Word};
use sing_image::manifest::Side;

/// A contract in the form in which the kernel steps it.
#[derive(Debug)]
pub(crate) struct Contract {
    /// The contract's number, from 1.
    pub(crate) id: u32,
    /// The table the contract was made from.
    pub(crate) table: ContractTable,
    /// The bytes of that table in the first image that had it, and their hash.
    bytes: &'static [u8],
    own: Hash,
    hash: Hash,
    /// `steps[row + message * 2 + sender]`, with a row for each state.
    steps: Vec<Step>,
    /// `steps` for messages on the fast path (without conditions, of scalars and at most one
    /// block): the following row, and above it the [`Load`]; [`OTHER`] for all others.
    fast: Vec<u64>,
    /// Number of messages.
    messages: u32,
    /// Words of the longest message.
    pub(crate) max_words: usize,
}

/// The effect of a message in a state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// Row of the following state, or [`REFUSED`].
    pub(crate) next: u32,
    /// Number of words of the message.
    pub(crate) words: u8,
    /// Whether all of them are scalars.
    pub(crate) plain: bool,
    /// Whether a send need only copy the words: they are scalars without conditions.
    pub(crate) fast: bool,
}

/// The contents of a message on the fast path: the number of words, which of them is a block, and
/// whether that may have parts. A message of scalars alone equals their number, so that one
/// comparison tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Load(u32);

/// Bit position of the block's word in a load, counted from 1 (0: no block).
const BLOCK: u32 = 8;
/// The bit that says that the block may have parts.
const TREE: u32 = 1 << 16;

impl Load {
    /// One scalar.
    pub(crate) const WORD: Load = Load(1);

    /// Returns the load of a message; `None` if it has more than scalars and one block that is always
    /// there.
    fn of(words: &[Word]) -> Option<Load> {
        let blocks = words.iter().filter(|w| w.is_block()).count();
        let other = |w: &Word| matches!(w, Word::Endpoint { .. }) || w.is_optional();
        if blocks > 1 || words.iter().any(other) {
            return None;
        }
        let block = words.iter().position(Word::is_block);
        let block = block.map_or(0, |i| i as u32 + 1);
        let tree = if words.contains(&Word::Tree) { TREE } else { 0 };
        Some(Load(tree | block << BLOCK | words.len() as u32))
    }

    /// Returns the number of words.
    #[inline(always)]
    pub(crate) fn words(self) -> usize {
        (self.0 & 0xff) as usize
    }

    /// Returns which of the words is a block.
    #[inline(always)]
    pub(crate) fn block(self) -> Option<usize> {
        let place = self.0 >> BLOCK & 0xff;
        place.checked_sub(1).map(|i| i as usize)
    }

    /// Returns whether its block may have parts.
    #[inline(always)]
    pub(crate) fn takes_parts(self) -> bool {
        self.0 & TREE != 0
    }
}

/// Row of no state: the message is not allowed.
const REFUSED: u32 = u32::MAX;
/// Value of `fast` for a step that is not on the fast path.
const OTHER: u64 = u64::MAX;

impl Contract {
    /// Returns the step when `sender` sends `message` in the state of `row`; `None` if that is not
    /// allowed.
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

    /// Returns the following row and the load if the step is on the fast path.
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

    /// Whether this is its identity.
    pub(crate) fn is(&self, identity: &Hash) -> bool {
        self.hash == *identity
    }

    /// Returns the state of a row.
    fn state(&self, row: u32) -> u16 {
        (row / (self.messages * 2).max(1)) as u16
    }

    /// Returns the row of the state of this name.
    pub(crate) fn row(&self, state: &str) -> Option<u32> {
        let state = self.table.state(state)?;
        Some(u32::from(state) * self.messages * 2)
    }

    /// Returns the name of a row's state.
    pub(crate) fn state_name(&self, row: u32) -> &str {
        let state = usize::from(self.state(row));
        self.table.states.get(state).map_or("?", |s| s)
    }

    /// Whether an endpoint of this contract, in the state of `row`, is a subtype of one of `wanted`
    /// in state `asked`; in any if `None`. An endpoint that is `used` as one of a base may have
    /// reached states in which none could begin.
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

/// All known contracts, which are kept for ever: each once, however many images name it.
struct Known {
    /// By number, from 1.
    all: Vec<Kept<[Contract; 1]>>,
    /// By identity.
    sorted: Vec<&'static Contract>,
    /// By name. Names are not unique: images may mean different contracts by one.
    named: Vec<&'static Contract>,
}

variables! { restart:
    static KNOWN: SpinLock<Known> = SpinLock::new(Known {
        all: Vec::new(),
        sorted: Vec::new(),
        named: Vec::new(),
    });
}

/// Forgets all contracts, and gives their memory back: the system has ended.
pub(crate) fn forget(ended: &Ended) {
    let all = core::mem::take(&mut KNOWN.lock().all);
    for contract in all {
        ended.reclaim(contract);
    }
    restart(ended);
}

/// Returns a contract, counted from 0 in the order of their numbers; `None` behind the last one.
pub(crate) fn numbered(index: u32) -> Option<&'static Contract> {
    let known = KNOWN.lock();
    known.all.get(index as usize).map(|c| &c.get()[0])
}

/// The most contracts of one name that are compared with a table.
const NAMESAKES: usize = 8;

/// The table of a known contract of this name, with whose bytes these begin: what an image has of a
/// contract that others name, too, is the same most often.
pub(crate) fn familiar(name: &str, bytes: &[u8]) -> Option<Familiar> {
    let known = KNOWN.lock();
    let first = known
        .named
        .partition_point(|c| c.table.name.as_str() < name);
    let namesakes = known.named[first..].iter().take(NAMESAKES);
    let mut namesakes = namesakes.take_while(|c| c.table.name == name);
    let found = namesakes.find(|c| bytes.starts_with(c.bytes))?;
    Some(Familiar {
        table: &found.table,
        bytes: found.bytes,
        own: found.own,
    })
}

/// Returns the most bytes of memory that a contract takes beside its table; with that, where the table
/// is a known contract's.
pub(crate) fn room(read: &Entry<'_>) -> u64 {
    let transition = size_of::<Step>() + size_of::<u64>();
    let copied = match read.table {
        Cow::Borrowed(_) => read.bytes.len() as u64 * ROOM,
        Cow::Owned(_) => 0,
    };
    (read.table.next.len() * transition + size_of::<Contract>()) as u64 + copied
}

/// Removes the last of these tables and returns its contract, making that if it is new. The table
/// and its identity have been checked. Returns `None`, and keeps the table, if there is none or
/// memory is short.
pub(crate) fn intern(tables: &mut Vec<Entry<'static>>, hash: &Hash) -> Option<&'static Contract> {
    let table = &tables.last()?.table;
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
        && known.named.try_reserve(1).is_ok()
        && steps.try_reserve_exact(table.next.len()).is_ok()
        && fast.try_reserve_exact(table.next.len()).is_ok()
        && record.try_reserve_exact(1).is_ok();
    if !room {
        return None;
    }
    let Entry { table, bytes, own } = tables.pop()?;
    // Of a known contract's bytes, but another identity: what it names means something else.
    let table = table.into_owned();
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
        bytes,
        own,
        hash: *hash,
        steps,
        fast,
        messages,
    });
    let Ok(record) = record.into_boxed_slice().try_into() else {
        unreachable!("one was put there");
    };
    let kept: Kept<[Contract; 1]> = Kept::new(record);
    let [contract] = kept.get();
    known.all.push(kept);
    known.sorted.insert(place, contract);
    let name = contract.table.name.as_str();
    let behind = known
        .named
        .partition_point(|c| c.table.name.as_str() <= name);
    known.named.insert(behind, contract);
    Some(contract)
}
