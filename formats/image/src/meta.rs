//! The tables that the run-time needs beside the code of a compiled module.

mod read;
mod segments;
mod traps;
mod types;

pub use read::Reader;
pub(crate) use read::check_layout;
pub use segments::{ConstExpr, ConstStep, Data, Element, Run, SegmentMode};
pub use traps::Traps;
pub use types::{
    Export, ExportKind, FuncType, GlobalType, Import, ImportKind, Limits, MAX_MEMORY, MemoryType,
    TableType, ValType,
};

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
    /// It does not: tests of bounds, of signatures and of the stack were left out, to measure what
    /// they cost. The kernel loads such an image only where it was started for measuring.
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
/// either changes: an image of another version is then told from a broken one. The first byte of
/// images without such a number is the version of the ABI, 1.
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
