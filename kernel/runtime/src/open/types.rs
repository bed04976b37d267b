//! What instances of open images share, and why they cannot be linked.

use crate::{NoRoom, Table};
use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;
use sing_abi::ctx;

/// A function of an instance in a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Func {
    pub(super) instance: usize,
    /// Its index in the module that defines it.
    pub(super) index: u32,
}

/// A global of an instance in a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Global {
    pub(super) instance: usize,
    /// Its index in the module that defines it.
    pub(super) index: u32,
}

/// A linear memory that the kernel made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    pub(super) record: u64,
    pub(super) max: Option<u32>,
}

impl Memory {
    /// The memory behind a record, with the largest size that its type allows, in pages.
    ///
    /// # Safety
    /// The record (`ctx::MEM_DEF_BASE`, `ctx::MEM_DEF_LEN`) stays there for as long as any store is used that
    /// gets the memory, and so does the memory.
    #[must_use]
    pub unsafe fn new(record: u64, max: Option<u32>) -> Memory {
        Memory { record, max }
    }

    /// Address of its record.
    #[must_use]
    pub fn record(&self) -> u64 {
        self.record
    }

    /// Address of byte 0.
    #[must_use]
    pub fn base(&self) -> u64 {
        // SAFETY: `new`'s caller has vouched for the record.
        unsafe { ((self.record + ctx::MEM_DEF_BASE as u64) as *const u64).read_volatile() }
    }

    /// Its length in bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        // SAFETY: `new`'s caller has vouched for the record.
        unsafe { ((self.record + ctx::MEM_DEF_LEN as u64) as *const u64).read_volatile() }
    }

    /// Whether it has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Something that a module exports and another may import.
#[derive(Clone)]
pub enum Extern {
    /// A function.
    Func(Func),
    /// A memory.
    Memory(Memory),
    /// A table.
    Table(Arc<Table>),
    /// A global.
    Global(Global),
}

/// Why modules cannot be linked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkError {
    /// The image was compiled to be sealed.
    Sealed,
    /// There are not as many imports as the module asks for, or its memory was not given.
    Missing,
    /// Memory is short.
    NoRoom,
    /// What was given for an import is of another kind or type.
    Incompatible {
        /// The import's module.
        module: String,
        /// The import's field.
        name: String,
    },
}

pub(super) fn no_room(NoRoom: NoRoom) -> LinkError {
    LinkError::NoRoom
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LinkError::Sealed => {
                f.write_str("a sealed image cannot be linked; compile it as an open one")
            }
            LinkError::Missing => f.write_str("unknown import"),
            LinkError::NoRoom => f.write_str("no memory for an instance"),
            LinkError::Incompatible { module, name } => {
                write!(f, "incompatible import type for {module}.{name}")
            }
        }
    }
}

impl core::error::Error for LinkError {}
