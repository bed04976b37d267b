//! The table of register windows that in-line accesses to devices read.
//!
//! Its entries have the layout of the exchange heap's ([`crate::xheap`]), and the check begins the
//! same way: `e = base + (handle & mask) * ENTRY_SIZE; e.key == handle`, then `offset + size <=
//! e.len` for a load or `e.wlen` for a store, and the address must be a multiple of the size. An
//! access that fails the check is no error yet: it is made by `io_read` or `io_write`, which also
//! serve ports, devices that are modelled, and handles that have no entry here.
//!
//! Unlike a thread's table of allocations, this one is shared by the threads of a SIP, any of which
//! may give a window back at any time. The key is therefore read first and anew by each access, and
//! an entry that has once described a window describes no other one: only its key changes. So an
//! access never combines the address of one window with the length of another. An access that
//! passed the check just before another thread gave the window back finds its addresses unmapped: the
//! device gets no other holder, for whom they would be mapped again, before this SIP has ended.
//! Entry 0 is never used, as 0 is the key of an entry without a handle.

/// Number of entries of a SIP's table, if its manifest declares registers; a power of two.
pub const ENTRIES: usize = 32;
