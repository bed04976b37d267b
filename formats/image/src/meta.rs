//! The tables that the run-time needs beside the code of a compiled module.

mod read;
mod traps;

pub use read::Reader;
pub(crate) use read::check_layout;
pub use traps::Traps;

use crate::Error;
use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;
use serde::{Deserialize, Serialize};

/// How compiled code keeps inside its linear memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MemoryMode {
    /// 4 GiB and a guard are reserved; the code tests nothing.
    #[default]
    Guard,
    /// The code tests every access against the memory's length.
    Explicit,
}

/// Whether the code keeps the program within what is its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Checks {
    /// It does, with the guard pages that [`MemoryMode::Guard`] asks for.
    #[default]
    All,
    /// It does not: tests of bounds, of signatures and of the stack were left out, to measure what they
    /// cost. The kernel loads such an image only where it was started for measuring.
    None,
}

/// Whether the code can be linked with other modules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Linkage {
    /// A SIP: one closed module, which imports nothing but kernel entries and contracts.
    #[default]
    Sealed,
    /// Memories, tables, globals and functions may be imported from other modules of the same SIP,
    /// as the WebAssembly test suite needs. The kernel does not load such images.
    Open,
}

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

/// A compiled function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Func {
    /// Index of its type.
    pub ty: u32,
    /// Offset of its first instruction in the code.
    pub offset: u32,
    /// Bytes of code.
    pub size: u32,
    /// The function's name in the module, or `function N`.
    pub name: Cow<'static, str>,
}

/// A constant expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ConstExpr {
    /// A number, as its bits.
    Bits(u64),
    /// The value of a global with a lower index.
    Global(u32),
    /// A reference to a function.
    RefFunc(u32),
    /// A null reference.
    Null,
    /// A vector: its 16 bytes start there in the image's data.
    Vector(u32),
    /// `Open` only: the value that these [`Meta::steps`] compute.
    Computed {
        /// The first step.
        from: u32,
        /// Number of steps.
        len: u32,
    },
}

/// A step of a computed constant expression, which works on a stack of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ConstStep {
    /// Pushes a value.
    Push(ConstExpr),
    /// Adds two 32-bit integers.
    Add32,
    /// Subtracts the topmost 32-bit integer from the one below it.
    Sub32,
    /// Multiplies two 32-bit integers.
    Mul32,
    /// Adds two 64-bit integers.
    Add64,
    /// Subtracts the topmost 64-bit integer from the one below it.
    Sub64,
    /// Multiplies two 64-bit integers.
    Mul64,
}

impl ConstStep {
    /// Returns the result of an operation on two integers, as its bits; `None` for a push.
    #[must_use]
    pub fn apply(self, a: u64, b: u64) -> Option<u64> {
        let (low_a, low_b) = (a as u32, b as u32);
        Some(match self {
            ConstStep::Push(_) => return None,
            ConstStep::Add32 => low_a.wrapping_add(low_b).into(),
            ConstStep::Sub32 => low_a.wrapping_sub(low_b).into(),
            ConstStep::Mul32 => low_a.wrapping_mul(low_b).into(),
            ConstStep::Add64 => a.wrapping_add(b),
            ConstStep::Sub64 => a.wrapping_sub(b),
            ConstStep::Mul64 => a.wrapping_mul(b),
        })
    }
}

/// The destination of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SegmentMode {
    /// Into this memory or table, at this offset, at instantiation.
    Active {
        /// Index of the memory or table.
        target: u32,
        /// The offset.
        offset: ConstExpr,
    },
    /// Nowhere, until an `init` instruction copies from it.
    Passive,
    /// Nowhere: it only declares that functions are referred to.
    Declared,
}

/// A data segment. Its bytes stand in the image's data, outside the meta.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Data {
    /// Destination. In a sealed image, active segments are `Declared` and empty: [`Meta::initial`]
    /// has their bytes.
    pub mode: SegmentMode,
    /// Offset of its bytes in the image's data.
    pub from: u32,
    /// Number of bytes.
    pub len: u32,
}

/// A piece of a sealed image's initial memory that is not zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Destination address in linear memory.
    pub at: u32,
    /// Offset of its bytes in the image's data.
    pub from: u32,
    /// Number of bytes; never 0.
    pub len: u32,
}

impl Run {
    /// Returns the address behind the run.
    #[must_use]
    pub fn end(&self) -> u64 {
        u64::from(self.at) + u64::from(self.len)
    }
}

/// An element segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Element {
    /// Destination.
    pub mode: SegmentMode,
    /// The references in the segment.
    pub items: Vec<ConstExpr>,
}

/// The compiler's layout of the variable part of the context record: byte offsets from its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CtxLayout {
    /// Bytes of the whole record.
    pub size: u32,
    /// One cell of `ctx::GLOBAL_CELL` bytes for each global; an imported one holds the address of
    /// its cell.
    pub globals: u32,
    /// One `u64` for each table: the address of its record.
    pub tables: u32,
    /// One cell of `ctx::MEMORY_CELL` bytes for each memory but the first.
    pub memories: u32,
    /// `Open` only: `{u64 code, u64 context}` for each imported function.
    pub func_imports: u32,
    /// `Open` only: `u32` for each type: its canonical number in the SIP.
    pub signatures: u32,
    /// `Open` only: the address of the list of images that exceptions go through, then `{u64
    /// context, u64 index}` for each imported tag, each in 16 bytes.
    pub tag_imports: u32,
}

/// The version of the layout of [`Meta`], which precedes it, and of the manifest. It counts up when
/// either changes: an image of another version is then told from a broken one. The first byte of images without
/// such a number is the version of the ABI, 1.
pub const LAYOUT: u32 = 3;

/// All tables of a compiled module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// Version of the ABI that the code was compiled for.
    pub abi_version: u32,
    /// How the code keeps inside its memory.
    pub memory_mode: MemoryMode,
    /// Whether it tests what it does.
    pub checks: Checks,
    /// Whether it can be linked.
    pub linkage: Linkage,
    /// The memory that addresses in kernel calls and messages refer to, by its index; 0 where there
    /// is none. `Open`: always the first.
    pub kernel_memory: u32,
    /// Processor features that the code uses, by their names in `cpuid` (lower case), sorted.
    pub cpu_features: Vec<String>,
    /// Layout of the context record.
    pub layout: CtxLayout,
    /// Types.
    pub types: Vec<FuncType>,
    /// Canonical number of each type in this image; `Open` images may lack them.
    pub canonical: Vec<u32>,
    /// Imports, in order.
    pub imports: Vec<Import>,
    /// Defined functions, in the order of their code; the first has the index after the last
    /// imported one.
    pub funcs: Vec<Func>,
    /// The first memory that it defines.
    pub memory: Option<MemoryType>,
    /// The others that it defines. Accesses to memories but the first are tested in both modes.
    pub further: Vec<MemoryType>,
    /// Defined tables.
    pub tables: Vec<TableType>,
    /// The initial value of the elements of those defined tables that have one, by the tables'
    /// places in ascending order; those of the others are null.
    pub table_values: Vec<(u32, ConstExpr)>,
    /// Defined globals.
    pub globals: Vec<(GlobalType, ConstExpr)>,
    /// Exports.
    pub exports: Vec<Export>,
    /// Function that runs first.
    pub start: Option<u32>,
    /// Element segments.
    pub elements: Vec<Element>,
    /// Data segments.
    pub data: Vec<Data>,
    /// `Sealed` only: the first memory's initial contents, as the active data segments leave them,
    /// in ascending order, without overlaps.
    pub initial: Vec<Run>,
    /// The same of the others: each run with its memory's place in `further`, in ascending order.
    pub further_initial: Vec<(u32, Run)>,
    /// Instructions that can trap: offset in the code and `Trap` code, sorted by offset.
    pub traps: Traps,
    /// The largest stack frame of a function, in bytes.
    pub max_frame: u32,
    /// `Open` only: the offset in the code of the table by which exceptions find who catches them,
    /// if it has one.
    pub catching: Option<u32>,
    /// `Open` only: for each exported function, its index and the offset of a trampoline `extern
    /// "sysv64" fn(context, *mut u128)` that takes its arguments from an array of 128-bit cells and
    /// puts its results there.
    pub trampolines: Vec<(u32, u32)>,
    /// `Open` only: the steps of computed constant expressions, which depend on imported globals.
    /// Those of a sealed image are computed when it is compiled.
    pub steps: Vec<ConstStep>,
    /// `Open` only: the type of each defined tag.
    pub tags: Vec<u32>,
}

impl Meta {
    /// Reads what [`Meta::encode`] wrote, all at once.
    ///
    /// # Errors
    /// As for [`Reader::step`].
    pub fn decode(bytes: &[u8]) -> Result<Meta, Error> {
        let mut reader = Reader::new(bytes);
        while !reader.step().map_err(Error::from)? {}
        Ok(reader.finish())
    }

    /// Returns the encoding that an image holds.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        postcard::to_allocvec(&(LAYOUT, self)).unwrap_or_default()
    }

    /// Returns the export of this name.
    #[must_use]
    pub fn export(&self, name: &str) -> Option<ExportKind> {
        self.exports.iter().find(|e| e.name == name).map(|e| e.kind)
    }

    /// Returns the number of imported functions.
    #[must_use]
    pub fn imported_funcs(&self) -> u32 {
        let n = self
            .imports
            .iter()
            .filter(|i| matches!(i.kind, ImportKind::Func(_)))
            .count();
        n as u32
    }

    /// The function whose code holds this offset, where the functions lie in their order, as the
    /// compiler puts them.
    #[must_use]
    pub fn func_at(&self, offset: u32) -> Option<&Func> {
        // A report of a crash asks for many, and a module may have very many.
        let behind = self.funcs.partition_point(|f| f.offset <= offset);
        let f = &self.funcs[behind.checked_sub(1)?];
        (offset.checked_sub(f.offset)? < f.size).then_some(f)
    }

    /// Tests that the functions lie one behind the other in a code of so many bytes.
    ///
    /// # Errors
    /// Names the first that does not.
    pub fn check_funcs(&self, code_len: u64) -> Result<(), Error> {
        self.check_some_funcs(0..self.funcs.len(), code_len)
    }

    /// Tests the same of functions with these numbers, which those before them have passed.
    ///
    /// # Errors
    /// Names the first that does not lie so.
    ///
    /// # Panics
    /// If there are no functions with these numbers.
    pub fn check_some_funcs(&self, some: Range<usize>, code_len: u64) -> Result<(), Error> {
        let before = some.start.checked_sub(1).map(|before| &self.funcs[before]);
        let mut end = before.map_or(0, |f| u64::from(f.offset) + u64::from(f.size));
        for f in &self.funcs[some] {
            let start = u64::from(f.offset);
            let place = match start + u64::from(f.size) {
                _ if start < end => "before the end of the one before it",
                after if after > code_len => "outside the code",
                after => {
                    end = after;
                    continue;
                }
            };
            let text = format!(
                "image: function {} lies {place}; install the program again",
                f.name
            );
            return Err(Error::new(text));
        }
        Ok(())
    }

    /// Returns the code of the trap at this offset.
    #[must_use]
    pub fn trap_at(&self, offset: u32) -> Option<u8> {
        self.traps.at(offset)
    }
}
