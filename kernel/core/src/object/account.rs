//! Accounts: who pays for memory.
//!
//! Memory that the kernel allocates on behalf of a SIP is charged to the SIP's account before it is
//! allocated, and discharged when it is freed. An account belongs to one SIP and outlives it while
//! anything is charged to it: messages left in queues, channels that others still use, the accounts
//! of processes that it has made.
//!
//! Accounts form a tree, as their SIPs do. A charge to a child counts against the limits of all its
//! ancestors, whether those still run or not; so no process exceeds its budget by creating others,
//! not even short-lived ones. The root is the machine's memory, less the kernel's own part.
//!
//! If memory is short, a rule decides who is granted the rest ([`shares`]).
//!
//! To avoid charging all ancestors each time, an account takes *stock* from its parent in chunks,
//! and returns a surplus. It keeps as much stock as it has needed at once, within bounds: so a
//! block that moves back and forth between two SIPs, or a process that is created again and again,
//! costs the ancestors nothing. If a limit refuses a chunk, the exact amount is requested; before
//! that is refused, the stock of the children of all accounts on the way is collected.
//!
//! Invariants:
//! - `taken` is the sum of the stock, the charges to the account itself, and its children's
//!   `taken`.
//! - `taken` never exceeds `limit`. A received allocation for which the SIP has no room stays on
//!   the account that paid before ([`Account::move_to`]); how much a SIP may hold in this way is
//!   bounded.
//! - The root's `taken` is its `limit`: stock only moves, and is never created.
//! - A record is freed when no SIP and no account refers to it and nothing is charged to it.

mod shares;
mod stock;
mod sweep;

pub(crate) use sweep::sweep;

use crate::ground::log::Voice;
use crate::ground::machine;
use crate::ground::trusted::variables;
use crate::ground::work::Work;
use crate::object::exheap::{self, DeferredFrees};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use sing_abi::PAGE;
use sing_arch::link::{Link, Linked, List, Node};
use sing_arch::lock::{Counter, SpinLock};
use sing_arch::slab::Slab;

/// Bytes of stock that an account takes beyond its present need, and the least that it keeps.
const CHUNK: u64 = 16 << 10;
/// The most bytes of stock that an account keeps because it has needed as much at once. An account
/// that is closing returns its charges in portions of this size.
const KEPT_MOST: u64 = 2 << 20;
/// The greatest depth of an account below the root.
const MAX_DEPTH: u32 = 255;
/// Depth of the account that heads a family, for the log's limits: depth 1 is what the system
/// starts with, a shell for one; depth 2 is what that starts, each with all its descendants.
const FAMILY_DEPTH: u32 = 2;
/// The kernel's own part of the machine's memory is one in so many.
const KERNEL_PART: u64 = 16;

/// A reserve of one part in so many of a SIP's limit, at most `RESERVE_MOST` bytes, is not used up
/// by messages that it receives: only its own requests may use it.
const RESERVE_PART: u64 = 4;
const RESERVE_MOST: u64 = 4 << 20;
/// A SIP that holds this many bytes at the cost of others receives no more unless it can pay for
/// it.
const BORROWED_MOST: u64 = 1 << 20;

/// The memory budget of one SIP, and what is charged against it.
#[derive(Default)]
pub(crate) struct Account {
    /// Bytes that can be charged without asking the parent.
    stock: AtomicU64,
    /// The stock beyond which [`Account::give_stock`] is called ([`Account::set_high`]).
    high: AtomicU64,
    /// The part of the stock that belongs to the reserve ([`Account::reserve`]): received
    /// allocations must not use it.
    spared: AtomicU64,
    /// The stock that it keeps when it returns a surplus: a chunk, or as much as it has needed at
    /// once.
    kept: AtomicU64,
    /// Bytes that it has taken from its parent.
    taken: AtomicU64,
    /// The most that `taken` may be.
    limit: AtomicU64,
    /// Bytes of exchange-heap allocations charged to it.
    pub(crate) exchange: AtomicU64,
    /// Bytes of exchange-heap allocations that its SIP holds and other accounts are charged for.
    borrowed: AtomicU64,
    parent: Link<Account>,
    node: Node<Account>,
    index: AtomicU32,
    depth: AtomicU32,
    /// References: its SIP, its children, allocations that its SIP borrows, and [`WITH_DEFERRED`].
    references: AtomicU32,
    /// Whether its SIP has ended.
    closed: AtomicBool,
    /// Whether it was refused a charge.
    refused: AtomicBool,
    children: SpinLock<Children>,
    /// Bytes available to it and its descendants beyond what they have been charged, as of the last
    /// survey ([`shares`]).
    room: AtomicU64,
    /// During a survey: the child on the path to the account that asks.
    via: Link<Account>,
    /// Allocations that its SIP has given up and that are not freed yet.
    pub(crate) deferred: SpinLock<DeferredFrees>,
    /// The log limits of its family, if it is the head of one.
    voice: Voice,
    /// Its place in [`WITH_DEFERRED`].
    deferred_node: Node<Account, WithDeferred>,
    /// How often it was visited to return stock.
    #[cfg(test)]
    steps: AtomicU64,
}

/// The role of the node by which an account is in [`WITH_DEFERRED`].
struct WithDeferred;

#[derive(Default)]
struct Children {
    list: List<Account>,
    count: u32,
}

impl Linked for Account {
    fn node(&self) -> &Node<Account> {
        &self.node
    }
}

impl Linked<WithDeferred> for Account {
    fn node(&self) -> &Node<Account, WithDeferred> {
        &self.deferred_node
    }
}

variables! { forget:
    static ACCOUNTS: Slab<Account> = Slab::new();
    static ROOT: Link<Account> = Link::new();
    /// Accounts with deferred frees that no SIP will do: the idle context does them.
    static WITH_DEFERRED: SpinLock<List<Account, WithDeferred>> = SpinLock::new(List::new());
}

/// What an account's record costs its parent, in bytes.
const COST: u64 = Slab::<Account>::RECORD;

/// The number of accounts, without the root.
pub(crate) fn live() -> u32 {
    ACCOUNTS.live().saturating_sub(1)
}

/// The root of all accounts. `None` if memory for its record was short.
pub(crate) fn root() -> Option<&'static Account> {
    if let Some(root) = ROOT.get() {
        return Some(root);
    }
    let bytes = machine::hal().total_pages() * PAGE;
    let root = Account::make_root(bytes - bytes / KERNEL_PART)?;
    ROOT.set(Some(root));
    Some(root)
}

/// Why an account was not made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Memory, or the parent's budget, is spent.
    NoRoom,
    /// The parent has [`MAX_DEPTH`] ancestors already.
    TooDeep,
}

impl Account {
    fn make_root(limit: u64) -> Option<&'static Account> {
        let root = Self::make(limit)?;
        root.stock.store(limit, Relaxed);
        root.taken.store(limit, Relaxed);
        root.high.store(u64::MAX, Relaxed);
        Some(root)
    }

    fn make(limit: u64) -> Option<&'static Account> {
        let (index, account) = ACCOUNTS.take()?;
        account.index.store(index, Relaxed);
        account.limit.store(limit, Relaxed);
        account.stock.store(0, Relaxed);
        account.taken.store(0, Relaxed);
        account.high.store(2 * CHUNK, Relaxed);
        account.kept.store(CHUNK, Relaxed);
        account.spared.store(0, Relaxed);
        account.exchange.store(0, Relaxed);
        account.borrowed.store(0, Relaxed);
        account.parent.set(None);
        account.depth.store(0, Relaxed);
        account.references.store(1, Relaxed);
        account.closed.store(false, Relaxed);
        account.refused.store(false, Relaxed);
        account.voice.clear();
        Some(account)
    }

    /// A new account below this one, for a SIP. The SIP calls [`Account::close`] when it ends and
    /// [`Account::release`] when its exit status is no longer needed.
    pub(crate) fn open(&'static self, limit: u64) -> Result<&'static Account, Refused> {
        let depth = self.depth.load(Relaxed) + 1;
        if depth > MAX_DEPTH {
            return Err(Refused::TooDeep);
        }
        if !self.charge(COST) {
            return Err(Refused::NoRoom);
        }
        let Some(account) = Self::make(limit) else {
            self.discharge(COST);
            return Err(Refused::NoRoom);
        };
        account.depth.store(depth, Relaxed);
        account.parent.set(Some(self));
        self.references.add(1);
        let mut children = self.children.lock();
        children.list.push(account);
        children.count += 1;
        Ok(account)
    }

    /// The log limits of its family: all processes descended from one that an initial process has
    /// started.
    pub(crate) fn voice(&self) -> &Voice {
        let mut at = self;
        while at.depth.load(Relaxed) > FAMILY_DEPTH
            && let Some(above) = at.parent.get()
        {
            at = above;
        }
        &at.voice
    }

    /// Bytes charged to it and its descendants, their stocks included.
    pub(crate) fn charged(&self) -> u64 {
        self.taken.load(Relaxed) - self.stock.load(Relaxed)
    }

    /// The effective limit: the least of its own and its ancestors' limits.
    pub(crate) fn limit(&self) -> u64 {
        let mut least = self.limit.load(Relaxed);
        let mut above = self.parent.get();
        while let Some(account) = above {
            least = least.min(account.limit.load(Relaxed));
            above = account.parent.get();
        }
        least
    }

    /// Whether it was refused a charge since it was made, or since this was forgotten.
    pub(crate) fn was_refused(&self) -> bool {
        self.refused.load(Relaxed)
    }

    pub(crate) fn forget_refusals(&self) {
        self.refused.store(false, Relaxed);
    }

    /// Whether its SIP has ended.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Relaxed)
    }

    /// Charges `bytes`. False, without a charge, if its own or an ancestor's limit has no room.
    #[inline(always)]
    pub(crate) fn charge(&'static self, bytes: u64) -> bool {
        let room = self.has_room(bytes);
        if room {
            self.stock.sub(bytes);
        }
        room
    }

    /// Whether `bytes` can be charged. If so, charges of `bytes` in total succeed until something
    /// else is charged.
    #[inline(always)]
    pub(crate) fn has_room(&'static self, bytes: u64) -> bool {
        bytes <= self.stock.load(Relaxed) || self.take_stock(bytes)
    }

    /// Moves a charge of `bytes` to another account, in constant time if one is the other's parent
    /// or both have the same parent. False, with nothing changed, if the other has no room beside
    /// its reserve.
    #[inline(always)]
    pub(crate) fn move_to(&'static self, other: &'static Account, bytes: u64) -> bool {
        if self.moves_at_once(other, bytes) {
            self.stock.add(bytes);
            other.stock.sub(bytes);
            true
        } else {
            self.move_far(other, bytes)
        }
    }

    /// Whether the stocks alone allow such a move.
    #[inline(always)]
    fn moves_at_once(&self, other: &Account, bytes: u64) -> bool {
        other.stock.load(Relaxed) >= bytes + other.spared.load(Relaxed)
            && self.stock.load(Relaxed) + bytes <= self.high.load(Relaxed)
    }

    #[inline(never)]
    fn move_far(&'static self, other: &'static Account, bytes: u64) -> bool {
        let (above, others) = (self.parent.get(), other.parent.get());
        let is = |a: Option<&'static Account>, b| a.is_some_and(|a| core::ptr::eq(a, b));
        if core::ptr::eq(self, other) {
            return true;
        }
        let below = is(others, self);
        let beside = others.is_some_and(|o| is(above, o));
        // A child's charge already counts in its parent's `taken`.
        if !is(above, other) {
            let rest = other.limit.load(Relaxed) - other.taken.load(Relaxed);
            let near = (below || beside) && bytes > other.stock.load(Relaxed) && bytes <= rest;
            // A second move of this size fills the receiver's stock if memory is plentiful. Later
            // moves to and fro then change the two stocks alone.
            let again = bytes <= other.kept.load(Relaxed)
                && !machine::is_short()
                && other.has_ample_room(bytes);
            let near = near && !again;
            if !near {
                let moved = other.receives(bytes);
                if moved {
                    other.stock.sub(bytes);
                    self.discharge(bytes);
                }
                return moved;
            }
            if !other.keeps_reserve(bytes) {
                return false;
            }
            other.taken.add(bytes);
            other.keep(bytes);
        }
        // `self` no longer takes these bytes from its parent: `other`, or the common parent, does.
        if !below {
            self.taken.sub(bytes);
            self.set_high();
            if self.is_closed() {
                self.give_stock();
            }
        }
        true
    }

    /// Whether its SIP can receive an allocation that costs `bytes`, and pay for it. If so, the
    /// next charges of `bytes` in total succeed.
    pub(crate) fn receives(&'static self, bytes: u64) -> bool {
        self.keeps_reserve(bytes) && self.has_room(bytes)
    }

    /// Whether its reserve would stay intact if it were charged `bytes`: messages from others must
    /// not exhaust the memory that its SIP needs to go on.
    pub(crate) fn keeps_reserve(&self, bytes: u64) -> bool {
        let rest = self.limit.load(Relaxed).saturating_sub(self.charged());
        rest >= bytes.saturating_add(self.reserve())
    }

    fn reserve(&self) -> u64 {
        (self.limit.load(Relaxed) / RESERVE_PART).min(RESERVE_MOST)
    }

    /// Whether its SIP may hold more allocations at the cost of others.
    #[inline(always)]
    pub(crate) fn may_borrow(&self) -> bool {
        self.borrowed.load(Relaxed) < BORROWED_MOST
    }

    /// Its SIP now holds `bytes` more that other accounts pay for.
    pub(crate) fn borrow(&self, bytes: u64) {
        self.hold();
        self.borrowed.add(bytes);
    }

    /// Its SIP has given up borrowed allocations of `bytes`, or pays for them now.
    pub(crate) fn no_longer_borrow(&'static self, bytes: u64) {
        self.borrowed.sub(bytes);
        self.release();
    }

    /// Removes a charge of `bytes`, and returns stock to the parent if that is too much now.
    #[inline(always)]
    pub(crate) fn discharge(&'static self, bytes: u64) {
        let stock = self.stock.add(bytes) + bytes;
        if stock > self.high.load(Relaxed) {
            self.give_stock();
        }
    }

    /// Adds a reference.
    pub(crate) fn hold(&self) {
        self.references.add(1);
    }

    /// Removes a reference; the last one to a closed account frees its record.
    pub(crate) fn release(&'static self) {
        self.references.sub(1);
        if self.is_closed() {
            self.give_stock();
        }
    }

    /// Its SIP begins to end: returns stock in large portions from now on.
    pub(crate) fn begin_to_close(&self) {
        self.kept.store(KEPT_MOST, Relaxed);
        self.set_most();
    }

    /// Its SIP has ended: nothing new is charged to it from now on. Its stock goes back with the
    /// remaining charges, at the latest when it is released.
    pub(crate) fn close(&'static self) {
        self.closed.store(true, Relaxed);
        self.kept.store(CHUNK, Relaxed);
        self.set_most();
        // In most cases the SIP's end has done the deferred frees.
        if self.deferred_node.is_linked() && self.deferred.lock().is_empty() {
            WITH_DEFERRED.lock().remove(self);
            self.release();
        }
    }

    /// Removes a charge of `bytes` and a reference from an account that is closed.
    pub(crate) fn settle(&'static self, bytes: u64) {
        self.stock.add(bytes);
        self.release();
    }

    /// Leaves its deferred frees to the idle context, as its SIP may not get to them
    /// ([`step_deferred`]).
    pub(crate) fn queue_deferred(&'static self) {
        if !self.deferred_node.is_linked() {
            self.hold();
            WITH_DEFERRED.lock().push(self);
        }
    }
}

/// Whether the idle context has deferred frees to do.
pub(crate) fn has_deferred() -> bool {
    !WITH_DEFERRED.lock().is_empty()
}

/// Does some deferred frees of the queued accounts, which take turns. False if there are none.
pub(crate) fn step_deferred() -> bool {
    let Some(account) = WITH_DEFERRED.lock().pop() else {
        return false;
    };
    if exheap::free_deferred(account, &mut Work::step()) {
        WITH_DEFERRED.lock().push(account);
    } else {
        account.release();
    }
    true
}

/// Memory of the kernel's heap.
impl sing_runtime::Payer for Account {
    fn charge(&'static self, bytes: u64) -> bool {
        machine::heap_grants(bytes) && Account::charge(self, bytes)
    }

    fn discharge(&'static self, bytes: u64) {
        Account::discharge(self, bytes);
    }
}

/// A root of its own, for a test.
#[cfg(test)]
pub(crate) fn root_of(limit: u64) -> &'static Account {
    Account::make_root(limit).unwrap()
}

#[cfg(test)]
mod tests;
