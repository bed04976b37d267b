//! The tables that the run-time needs beside the code of a compiled module.

mod read;

pub use read::Reader;

use crate::Error;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
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
}

/// A function's type.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FuncType {
    /// Parameters.
    pub params: Vec<ValType>,
    /// Results.
    pub results: Vec<ValType>,
}

/// Limits of a memory (in pages of 64 KiB) or table (in elements).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Initial size.
    pub min: u32,
    /// The largest size, if one is declared.
    pub max: Option<u32>,
}

/// A table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableType {
    /// `FuncRef` or `ExternRef`.
    pub element: ValType,
    /// Limits of the number of elements.
    pub limits: Limits,
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
    Memory(Limits),
    /// A table.
    Table(TableType),
    /// A global.
    Global(GlobalType),
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
    pub name: String,
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
    /// `Open` only: `{u64 code, u64 context}` for each imported function.
    pub func_imports: u32,
    /// `Open` only: `u32` for each type: its canonical number in the SIP.
    pub signatures: u32,
}

/// All tables of a compiled module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// Version of the ABI that the code was compiled for.
    pub abi_version: u32,
    /// How the code keeps inside its memory.
    pub memory_mode: MemoryMode,
    /// Whether it can be linked.
    pub linkage: Linkage,
    /// Processor features that the code uses, by their names in `cpuid` (lower case), sorted.
    pub cpu_features: Vec<String>,
    /// Layout of the context record.
    pub layout: CtxLayout,
    /// Types.
    pub types: Vec<FuncType>,
    /// `Sealed` only: canonical number of each type.
    pub canonical: Vec<u32>,
    /// Imports, in order.
    pub imports: Vec<Import>,
    /// Defined functions, in the order of their code; the first has the index after the last imported one.
    pub funcs: Vec<Func>,
    /// Defined memory.
    pub memory: Option<Limits>,
    /// Defined tables.
    pub tables: Vec<TableType>,
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
    /// `Sealed` only: the memory's initial contents, as the active data segments leave them, in
    /// ascending order, without overlaps.
    pub initial: Vec<Run>,
    /// Instructions that can trap: offset in the code and `Trap` code, sorted by offset.
    pub traps: Vec<(u32, u8)>,
    /// The largest stack frame of a function, in bytes.
    pub max_frame: u32,
    /// `Open` only: for each exported function, its index and the offset of a trampoline
    /// `extern "sysv64" fn(context, *mut u128)` that takes its arguments from an array of 128-bit cells and puts
    /// its results there.
    pub trampolines: Vec<(u32, u32)>,
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
        postcard::to_allocvec(self).unwrap_or_default()
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

    /// The function whose code holds this offset, where the functions lie in their order, as the compiler puts them.
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
        let mut end = 0;
        for f in &self.funcs {
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
        let i = self.traps.binary_search_by_key(&offset, |t| t.0).ok()?;
        Some(self.traps[i].1)
    }
}
