//! Accounts: who pays for memory.
//!
//! Whatever the kernel allocates because of what a SIP does is charged to the SIP's account before it is allocated, and
//! discharged when it is given back. An account belongs to one SIP and outlives it for as long as anything is charged to
//! it: what the SIP has left in queues, channels that others still use, the accounts of processes that it has made.
//!
//! Accounts form a tree, as their SIPs do. What a child has been charged counts against the limits of all its ancestors,
//! whether those still run or not; so nobody gets memory beyond a budget by making processes, nor by making processes that
//! end. The root is the machine's memory, less what the kernel keeps for itself.
//!
//! Where memory is short, a rule says who is granted what is left ([`shares`]).
//!
//! To charge one account and not all above it, each takes *stock* from its parent in chunks, and gives back what it has
//! too much of. What it has needed at once it keeps, within bounds: a block that goes to and fro between two SIPs, or a
//! process that is made anew each time, costs the accounts above nothing. Where a limit refuses a chunk, it is asked for the exact amount, and what the children of the accounts on the
//! way hold in stock is collected first.
//!
//! Invariants:
//! - `taken` is the stock, what is charged to the account itself, and what its children have taken, together.
//! - `taken` never exceeds `limit`: nothing is charged for which there is no room. What a SIP receives and has no room for
//!   stays on the account that it was on ([`Account::move_to`]); how much it may hold so is bounded.
//! - The root's `taken` is its `limit`: stock is never made of nothing.
//! - A record is given back when no SIP and no account names it and nothing is charged to it.

mod shares;
mod stock;
mod sweep;

pub(crate) use sweep::sweep;

use crate::ground::log::Voice;
use crate::ground::machine;
use crate::ground::work::Work;
use crate::object::exheap::{self, Graves};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use sing_abi::PAGE;
use sing_arch::link::{Link, Linked, List, Node};
use sing_arch::lock::{Counter, SpinLock};
use sing_arch::slab::Slab;

/// Stock that an account takes beyond what it needs now, and at least keeps.
const CHUNK: u64 = 16 << 10;
/// Stock that an account keeps at most because it has needed as much at once, if its limit is large; as much is what one
/// that ends gives back at a time.
const KEPT_MOST: u64 = 2 << 20;
/// Accounts on the way from one to the root, at most.
const MAX_DEPTH: u32 = 255;
/// How deep the heads of families are: below the root is what the system begins with, a shell among it, and below that what
/// it starts.
const FAMILY_DEPTH: u32 = 2;
/// What the kernel keeps of the machine's memory for itself: one part in so many.
const KERNEL_PART: u64 = 16;

/// The part of its limit that what a SIP receives leaves to it: one in so many, but no more than this. It takes what it
/// needs itself also from that.
const RESERVE_PART: u64 = 4;
const RESERVE_MOST: u64 = 4 << 20;
/// A SIP that holds so much that others pay for receives no more for which it has no room.
const BORROWED_MOST: u64 = 1 << 20;

/// An account.
#[derive(Default)]
pub(crate) struct Account {
    /// What can be charged without asking the parent.
    stock: AtomicU64,
    /// The stock beyond which something is to be done ([`Account::set_high`]).
    high: AtomicU64,
    /// Stock that is not for what it receives ([`Account::reserve`]).
    spared: AtomicU64,
    /// The stock that it keeps when it gives back: a chunk, or what it has needed at once.
    kept: AtomicU64,
    /// What it has from its parent.
    taken: AtomicU64,
    /// The most that it may take.
    limit: AtomicU64,
    /// Bytes of exchange-heap allocations charged to it.
    pub(crate) exchange: AtomicU64,
    /// Bytes of exchange-heap allocations that its SIP holds and other accounts are charged for.
    borrowed: AtomicU64,
    parent: Link<Account>,
    node: Node<Account>,
    index: AtomicU32,
    depth: AtomicU32,
    /// Its SIP and its children, and one while it waits in [`LEFT`].
    names: AtomicU32,
    /// Whether its SIP has ended.
    closed: AtomicBool,
    children: SpinLock<Children>,
    /// What there is for it and all below it beside what they have been charged, as last surveyed.
    room: AtomicU64,
    /// The child from which it was surveyed last.
    via: Link<Account>,
    /// Allocations that its SIP has given up, not yet given back.
    pub(crate) graves: SpinLock<Graves>,
    /// What the log says of it and of those below it, where it is at the head of a family.
    voice: Voice,
    /// Its place in [`LEFT`].
    left: Node<Account, Left>,
    /// How often it was looked at to give back stock.
    #[cfg(test)]
    steps: AtomicU64,
}

/// The role of the node by which an account stands in [`LEFT`].
struct Left;

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

impl Linked<Left> for Account {
    fn node(&self) -> &Node<Account, Left> {
        &self.left
    }
}

static ACCOUNTS: Slab<Account> = Slab::new();
static ROOT: Link<Account> = Link::new();
/// Accounts whose SIPs have ended and that still have something to give back.
static LEFT: SpinLock<List<Account, Left>> = SpinLock::new(List::new());

/// What an account costs its parent.
const COST: u64 = Slab::<Account>::RECORD;

/// Accounts there are, the root not counted.
pub(crate) fn live() -> u32 {
    ACCOUNTS.live().saturating_sub(1)
}

/// The account that all others are below. `None` where not even its record could be made.
pub(crate) fn root() -> Option<&'static Account> {
    if let Some(root) = ROOT.get() {
        return Some(root);
    }
    let bytes = machine::hal().total_pages() * PAGE;
    let root = Account::make_root(bytes - bytes / KERNEL_PART)?;
    ROOT.set(Some(root));
    Some(root)
}

/// Why there is no account.
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
        account.names.store(1, Relaxed);
        account.closed.store(false, Relaxed);
        account.voice.clear();
        Some(account)
    }

    /// A new account below this one, for a SIP: [`Account::close`] is called when that ends, [`Account::release`] when
    /// nothing asks for its status any more.
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
        self.names.add(1);
        let mut children = self.children.lock();
        children.list.push(account);
        children.count += 1;
        Ok(account)
    }

    /// What the log says of its family: of what somebody whom the system began with has started, with all below it.
    pub(crate) fn voice(&self) -> &Voice {
        let mut at = self;
        while at.depth.load(Relaxed) > FAMILY_DEPTH
            && let Some(above) = at.parent.get()
        {
            at = above;
        }
        &at.voice
    }

    /// Bytes charged to it and to all below it.
    pub(crate) fn charged(&self) -> u64 {
        self.taken.load(Relaxed) - self.stock.load(Relaxed)
    }

    /// The most that may be charged to it: its own limit, or the least of its ancestors'.
    pub(crate) fn limit(&self) -> u64 {
        let mut least = self.limit.load(Relaxed);
        let mut above = self.parent.get();
        while let Some(account) = above {
            least = least.min(account.limit.load(Relaxed));
            above = account.parent.get();
        }
        least
    }

    /// Whether its SIP has ended.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Relaxed)
    }

    /// Charges `bytes`. False, and nothing charged, where its limit or that of one above it has no room.
    #[inline(always)]
    pub(crate) fn charge(&'static self, bytes: u64) -> bool {
        let room = self.has_room(bytes);
        if room {
            self.stock.sub(bytes);
        }
        room
    }

    /// Whether `bytes` can be charged. Where they can, the next charges of no more than that succeed.
    #[inline(always)]
    pub(crate) fn has_room(&'static self, bytes: u64) -> bool {
        bytes <= self.stock.load(Relaxed) || self.take_stock(bytes)
    }

    /// Charges `bytes` to another account instead of this one: as quickly for many bytes as for few where one is below the
    /// other, or both are below the same. False, and nothing has changed, where the other has no room for them beside what
    /// it keeps for itself.
    #[inline(always)]
    pub(crate) fn move_to(&'static self, other: &'static Account, bytes: u64) -> bool {
        let (ours, theirs) = (self.stock.load(Relaxed), other.stock.load(Relaxed));
        if theirs >= bytes + other.spared.load(Relaxed) && ours + bytes <= self.high.load(Relaxed) {
            self.stock.store(ours + bytes, Relaxed);
            // They may be the same.
            other.stock.sub(bytes);
            true
        } else {
            self.move_far(other, bytes)
        }
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
        // What a child had has counted for its parent before.
        if !is(above, other) {
            let rest = other.limit.load(Relaxed) - other.taken.load(Relaxed);
            let near = (below || beside) && bytes > other.stock.load(Relaxed) && bytes <= rest;
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
            other.set_high();
        }
        // What the one had from the account above both, or has it from, is the other's now.
        if !below {
            self.taken.sub(bytes);
            self.set_high();
            if self.is_closed() {
                self.give_stock();
            }
        }
        true
    }

    /// Whether its SIP can receive what costs so much, and pay for it. Where it can, the next charges of no more than that
    /// succeed.
    pub(crate) fn receives(&'static self, bytes: u64) -> bool {
        self.keeps_reserve(bytes) && self.has_room(bytes)
    }

    /// Whether it could be charged so much and still have room for what it keeps for itself: what others send it is not to
    /// keep its SIP from going on.
    fn keeps_reserve(&self, bytes: u64) -> bool {
        let rest = self.limit.load(Relaxed).saturating_sub(self.charged());
        rest >= bytes.saturating_add(self.reserve())
    }

    fn reserve(&self) -> u64 {
        (self.limit.load(Relaxed) / RESERVE_PART).min(RESERVE_MOST)
    }

    /// Whether its SIP may hold more that others pay for.
    #[inline(always)]
    pub(crate) fn may_borrow(&self) -> bool {
        self.borrowed.load(Relaxed) < BORROWED_MOST
    }

    /// Its SIP holds so much more that others pay for.
    pub(crate) fn borrow(&self, bytes: u64) {
        self.hold();
        self.borrowed.add(bytes);
    }

    /// Its SIP has given up, or pays for, what it held so.
    pub(crate) fn no_longer_borrow(&'static self, bytes: u64) {
        self.borrowed.sub(bytes);
        self.release();
    }

    /// Takes `bytes` off.
    #[inline(always)]
    pub(crate) fn discharge(&'static self, bytes: u64) {
        let stock = self.stock.add(bytes) + bytes;
        if stock > self.high.load(Relaxed) {
            self.give_stock();
        }
    }

    /// One more names it.
    pub(crate) fn hold(&self) {
        self.names.add(1);
    }

    /// One fewer names it.
    pub(crate) fn release(&'static self) {
        self.names.sub(1);
        if self.is_closed() {
            self.give_stock();
        }
    }

    /// Its SIP ends: what comes back is given on in large pieces.
    pub(crate) fn begin_to_close(&self) {
        self.kept.store(KEPT_MOST, Relaxed);
        self.set_most();
    }

    /// Its SIP has ended: what is charged to it from here on only gets less. What it has in stock it gives back with the rest,
    /// at the latest when it is released.
    pub(crate) fn close(&'static self) {
        self.closed.store(true, Relaxed);
        self.kept.store(CHUNK, Relaxed);
        self.set_most();
        // What it had to give back has been given back with the SIP, most often.
        if self.left.is_linked() && self.graves.lock().is_empty() {
            LEFT.lock().remove(self);
            self.release();
        }
    }

    /// One fewer names an account that is closed, and takes `bytes` off.
    pub(crate) fn settle(&'static self, bytes: u64) {
        self.stock.add(bytes);
        self.release();
    }

    /// It has something to give back, and its SIP has ended: whoever is idle does it ([`step_left`]).
    pub(crate) fn leave(&'static self) {
        if !self.left.is_linked() {
            self.hold();
            LEFT.lock().push(self);
        }
    }
}

/// Whether an account of an ended SIP has something to give back.
pub(crate) fn has_left() -> bool {
    !LEFT.lock().is_empty()
}

/// Gives back some of what is left on accounts of ended SIPs, which take turns. False where there is nothing.
pub(crate) fn step_left() -> bool {
    let Some(account) = LEFT.lock().pop() else {
        return false;
    };
    if exheap::dig(account, &mut Work::step()) {
        LEFT.lock().push(account);
    } else {
        account.release();
    }
    true
}

impl sing_runtime::Payer for Account {
    fn charge(&'static self, bytes: u64) -> bool {
        Account::charge(self, bytes)
    }

    fn discharge(&'static self, bytes: u64) {
        Account::discharge(self, bytes);
    }
}

#[cfg(test)]
mod tests;
