//! A file system on a disk: names, attributes, space and what survives a power cut.
//!
//! Metadata lies in a `redb` database on chunks of the disk, file data in blocks beside it
//! (`docs/src/file-store.md`). The store reads and writes metadata itself, through [`Disk`]. File
//! data moves outside it: [`Store::map`] says where the blocks of a file lie, and
//! [`Store::prepare_write`] and [`Store::written`] place new ones, so that a server can pass blocks
//! between its clients and the disk's driver without a copy. [`Store::read_at`] and
//! [`Store::write_at`] copy, for small pieces and simple users.
//!
//! Operations gather in memory and are seen at once. [`Store::sync`] makes them safe, all together:
//! after a power cut the disk holds the state of the last sync.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod bits;
mod check;
mod copy;
mod data;
mod disk;
mod error;
mod layout;
#[cfg(test)]
mod lies;
mod meta;
mod names;
mod recent;
mod records;
mod region;
mod sizes;
mod space;
mod store;
mod types;

pub use disk::{Disk, DiskFault, SECTOR};
pub use error::Error;
pub use store::Store;
pub use types::*;
