//! Things that instances of open images share, and errors of linking.

use crate::{NoRoom, Table};
use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;
use sing_abi::ctx;
use sing_image::meta::MemoryType;

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

/// A tag of exceptions of an instance in a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    pub(super) instance: usize,
    /// Its index in the module that defines it.
    pub(super) index: u32,
}

/// A linear memory that the kernel made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    pub(super) record: u64,
    pub(super) ty: MemoryType,
}

impl Memory {
    /// Returns the memory with this record; `ty` is what it was made as.
    ///
    /// # Safety
    /// The record (`ctx::MEM_DEF_BASE`, `ctx::MEM_DEF_LEN`) and the memory stay there for as long
    /// as a store that gets the memory is used.
    #[must_use]
    pub unsafe fn new(record: u64, ty: MemoryType) -> Memory {
        Memory { record, ty }
    }

    /// Returns the address of the memory's record.
    #[must_use]
    pub fn record(&self) -> u64 {
        self.record
    }

    /// Returns the address of byte 0.
    #[must_use]
    pub fn base(&self) -> u64 {
        // SAFETY: `new`'s caller has vouched for the record.
        unsafe { ((self.record + ctx::MEM_DEF_BASE as u64) as *const u64).read_volatile() }
    }

    /// Returns the memory's length in bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        // SAFETY: `new`'s caller has vouched for the record.
        unsafe { ((self.record + ctx::MEM_DEF_LEN as u64) as *const u64).read_volatile() }
    }

    /// Whether the memory has no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A thing that a module exports and another may import.
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
    /// A tag.
    Tag(Tag),
}

/// The reason for which modules cannot be linked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkError {
    /// The image was compiled to be sealed.
    Sealed,
    /// There are fewer or more imports than the module asks for, or its memory was not given.
    Missing,
    /// Memory is short.
    NoRoom,
    /// The thing given for an import is of another kind or type.
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
