//! Memory of clients' blocks, charged to the origins of their clients.
//!
//! A block that has been received is on this process's account, also when it goes back, until its
//! client receives it. Were these blocks bounded by the number of open files alone, one program could
//! fill the budget with them; then the next receive would fail for somebody else, whose channel would
//! be closed.
//!
//! Invariants:
//! - The blocks of all requests of all file systems together, and their answers, have at most [`TOTAL`]
//!   bytes, and each origin has its share of them ([`share`](sing_sdk::share)).
//! - A channel's loan lasts until its next request, which shows that the answer has been received, or
//!   until it is closed.
//! - No answer brings back a block without a loan.

use crate::file::MOST;
use crate::plan::OWN;
use crate::volume::Volume;
use crate::{cache, mounts, volume};
use sing_sdk::contracts::FileFault;
use sing_sdk::prelude::*;
use sing_sdk::share::Shares;
use sing_sdk::sync::Mutex;

/// Bytes for all origins. With the file cache, the metadata of all file systems and one block that
/// each of them has just received, less than what this process may receive.
const TOTAL: usize = 64 << 20;
/// The manifest's memory, without what the kernel keeps from received blocks.
const RECEIVABLE: usize = (160 - 4) << 20;
const _: () = assert!(TOTAL + mounts::MOST * (MOST + volume::CACHE) + cache::BYTES <= RECEIVABLE);
/// A block occupies whole pages.
const PAGE: usize = 4096;
/// What the largest request needs: each origin can make one while there is room.
const LARGEST: usize = MOST + OWN as usize;

static BYTES: Mutex<Shares> = Mutex::new(Shares::new(TOTAL, LARGEST));

/// Bytes that a channel or a request has of its origin's share.
pub struct Loan {
    origin: u32,
    bytes: usize,
}

impl Loan {
    /// `None` if the origin has its share.
    fn take(origin: u32, bytes: usize) -> Option<Loan> {
        let granted = BYTES.lock().take(origin, bytes);
        granted.then_some(Loan { origin, bytes })
    }
}

impl Drop for Loan {
    fn drop(&mut self) {
        BYTES.lock().give_back(self.origin, self.bytes);
    }
}

impl Volume {
    /// Charges a request's block to the origin of its channel. If that has its share, or the block is
    /// too large, it is freed, and the answer is to bring a block of one byte in its place.
    pub fn lend(&mut self, number: u32, block: Vector<u8>) -> (Block, Result<(), FileFault>) {
        let block = block.into_block();
        let bytes = block.len().next_multiple_of(PAGE);
        let fault = match self.loan(number, bytes) {
            _ if block.len() > MOST => FileFault::BadRequest,
            Some(loan) => {
                self.loans.insert(number, loan);
                return (block, Ok(()));
            }
            None => FileFault::NoResources,
        };
        (Block::new(1).unwrap_or(block), Err(fault))
    }

    /// For the run of blocks of this program's own that a request needs if its parts do not fit.
    pub fn lend_run(&self, number: u32, len: usize) -> Option<Loan> {
        let run = len.next_multiple_of(PAGE) + 2 * PAGE;
        self.loan(number, run.min(OWN as usize))
    }

    fn loan(&self, number: u32, bytes: usize) -> Option<Loan> {
        Loan::take(self.slots.origin(number).unwrap_or(u32::MAX), bytes)
    }
}
