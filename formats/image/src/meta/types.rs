//! Types of values, functions, memories, tables and globals, and what a module imports and exports
//! by them.
//!
//! Invariant: a type says no more than its module does; whether it may be had here is the
//! verifier's business.

use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// A type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ValType {
    /// 32-bit integer.
    I32,
    /// 64-bit integer.
    I64,
    /// 32-bit float.
    F32,
    /// 64-bit float.
    F64,
    /// Reference to a function.
    FuncRef,
    /// Opaque reference of the host.
    ExternRef,
    /// Vector of 128 bits.
    V128,
    /// Reference to a function, never null.
    NonNullFunc,
    /// Opaque reference of the host, never null.
    NonNullExtern,
    /// Reference to a function of one type.
    Typed {
        /// Index of the type.
        ty: u32,
        /// Whether it can be null.
        nullable: bool,
    },
    /// Reference to an exception.
    ExnRef,
    /// Reference to an exception, never null.
    NonNullExn,
}

impl ValType {
    /// Whether it is a type of references to functions.
    #[must_use]
    pub fn is_function(self) -> bool {
        matches!(
            self,
            ValType::FuncRef | ValType::NonNullFunc | ValType::Typed { .. }
        )
    }

    /// Whether it is a type of references.
    #[must_use]
    pub fn is_reference(self) -> bool {
        self.is_function()
            || self.is_exception()
            || matches!(self, ValType::ExternRef | ValType::NonNullExtern)
    }

    /// Whether it is a type of references to exceptions.
    #[must_use]
    pub fn is_exception(self) -> bool {
        matches!(self, ValType::ExnRef | ValType::NonNullExn)
    }

    /// Whether null is a value of the type.
    #[must_use]
    pub fn has_null(self) -> bool {
        matches!(
            self,
            ValType::FuncRef
                | ValType::ExternRef
                | ValType::ExnRef
                | ValType::Typed { nullable: true, .. }
        )
    }

    /// Returns the type with another number for the type that it refers to, if it does.
    #[must_use]
    pub fn renumbered(self, number: impl Fn(u32) -> u32) -> ValType {
        match self {
            ValType::Typed { ty, nullable } => ValType::Typed {
                ty: number(ty),
                nullable,
            },
            other => other,
        }
    }

    /// Whether every value of the type is one of the other, where equal types have equal numbers.
    #[must_use]
    pub fn is_subtype_of(self, other: ValType) -> bool {
        use ValType::{ExnRef, ExternRef, FuncRef, NonNullExn, NonNullExtern, NonNullFunc, Typed};
        self == other
            || match (self, other) {
                (NonNullFunc | Typed { .. }, FuncRef)
                | (NonNullExtern, ExternRef)
                | (NonNullExn, ExnRef)
                | (
                    Typed {
                        nullable: false, ..
                    },
                    NonNullFunc,
                ) => true,
                (
                    Typed {
                        ty,
                        nullable: false,
                    },
                    Typed {
                        ty: of,
                        nullable: true,
                    },
                ) => ty == of,
                _ => false,
            }
    }
}

/// A function's type.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FuncType {
    /// Parameters.
    pub params: Vec<ValType>,
    /// Results.
    pub results: Vec<ValType>,
}

impl FuncType {
    /// Returns the type with other numbers for the types that it refers to.
    #[must_use]
    pub fn renumbered(&self, number: impl Fn(u32) -> u32) -> FuncType {
        let all = |types: &[ValType]| types.iter().map(|t| t.renumbered(&number)).collect();
        FuncType {
            params: all(&self.params),
            results: all(&self.results),
        }
    }
}

/// Limits of a memory (in its pages) or table (in elements).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Initial size.
    pub min: u64,
    /// The largest size, if one is declared.
    pub max: Option<u64>,
}

/// The most bytes that a memory ever has, whatever it declares.
pub const MAX_MEMORY: u64 = 4 << 30;

/// A memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryType {
    /// Limits of the number of pages.
    pub limits: Limits,
    /// Whether addresses are of 64 bits.
    pub index64: bool,
    /// Binary logarithm of a page's size: 16, or 0.
    pub page_bits: u8,
}

impl From<Limits> for MemoryType {
    fn from(limits: Limits) -> MemoryType {
        MemoryType {
            limits,
            index64: false,
            page_bits: MemoryType::PAGE_BITS,
        }
    }
}

impl MemoryType {
    /// Binary logarithm of the usual page's size.
    pub const PAGE_BITS: u8 = sing_abi::WASM_PAGE.trailing_zeros() as u8;

    /// Whether it has 32-bit addresses and pages of 64 KiB: only such a memory can be guarded.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        !self.index64 && self.page_bits == MemoryType::PAGE_BITS
    }

    /// Returns the size of so many pages in bytes, as far as it can be said.
    #[must_use]
    pub fn bytes(&self, pages: u64) -> u64 {
        pages.saturating_mul(1 << (self.page_bits & 63))
    }

    /// Returns the initial size in bytes.
    #[must_use]
    pub fn min_bytes(&self) -> u64 {
        self.bytes(self.limits.min)
    }

    /// Returns the largest size in bytes.
    #[must_use]
    pub fn max_bytes(&self) -> u64 {
        let max = self.limits.max.map_or(u64::MAX, |max| self.bytes(max));
        max.min(self.most_bytes())
    }

    /// Returns the most bytes that a memory of this type ever has, whatever it declares: programs
    /// see its number of pages as an address, so one of 32 bits cannot have 2^32 pages of a byte.
    #[must_use]
    pub fn most_bytes(&self) -> u64 {
        let pages = if self.index64 {
            u64::MAX
        } else {
            u32::MAX.into()
        };
        self.bytes(pages).min(MAX_MEMORY)
    }
}

/// A table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableType {
    /// A type of references.
    pub element: ValType,
    /// Limits of the number of elements.
    pub limits: Limits,
    /// Whether indices are of 64 bits.
    pub index64: bool,
}

/// A global.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GlobalType {
    /// Type of its value.
    pub value: ValType,
    /// Whether it can be set.
    pub mutable: bool,
}

/// The kind of an import.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ImportKind {
    /// A function of this type (index).
    Func(u32),
    /// A memory.
    Memory(MemoryType),
    /// A table.
    Table(TableType),
    /// A global.
    Global(GlobalType),
    /// A tag of exceptions with this type (index).
    Tag(u32),
}

/// An import.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Import {
    /// The module's name.
    pub module: String,
    /// The field's name.
    pub name: String,
    /// Its kind.
    pub kind: ImportKind,
}

/// The target of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExportKind {
    /// A function, by its index among all functions.
    Func(u32),
    /// A memory.
    Memory(u32),
    /// A table.
    Table(u32),
    /// A global.
    Global(u32),
    /// A tag of exceptions, which sealed images do not export.
    Tag(u32),
}

/// An export.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Export {
    /// Its name.
    pub name: String,
    /// The exported thing.
    pub kind: ExportKind,
}
