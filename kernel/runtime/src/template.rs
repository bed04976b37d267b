//! Templates: installed images made ready, with everything that their SIPs share.
//!
//! Invariants:
//! - Everything here is computed once; making an [`crate::Instance`] only copies.
//! - A sealed image has one set of function records, held here: its code uses the caller's context
//!   as its own.

use crate::check::{self, Checked, Progress, Spaces};
use crate::seal::{self, Sealing};
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::format;
use alloc::sync::Arc;
use core::mem::offset_of;
use core::ops::Range;
use sing_abi::entry::{CYCLES_PER_SECOND_INLINE, ENTRIES};
use sing_abi::{GUARD, PAGE, ctx, names};
use sing_image::limits;
use sing_image::meta::{
    Data, Element, ExportKind, GlobalType, Linkage, MemoryMode, MemoryType, Meta, Run, TableType,
};
use sing_image::{Error, Failure};

/// The target of a `funcref`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct FuncRecord {
    /// Code address.
    pub code: u64,
    /// Context of the instance that it belongs to (open linkage only).
    pub context: u64,
    /// Canonical signature.
    pub signature: u32,
}

const _: () = {
    assert!(offset_of!(FuncRecord, code) == ctx::FUNC_CODE as usize);
    assert!(offset_of!(FuncRecord, context) == ctx::FUNC_CTX as usize);
    assert!(offset_of!(FuncRecord, signature) == ctx::FUNC_SIG as usize);
    assert!(size_of::<FuncRecord>() == ctx::FUNC_SIZE as usize);
};

/// Initial contents of a table.
pub(crate) struct InitialTable {
    pub(crate) ty: TableType,
    pub(crate) elements: Box<[u64]>,
}

/// Returns the cost of a memory of this length: that of whole pages of the machine.
#[must_use]
pub fn memory_cost(len: u64) -> u64 {
    len.next_multiple_of(PAGE)
}

/// An installed image.
pub struct Template {
    pub(crate) meta: Meta,
    /// The bytes of data segments.
    data: Cow<'static, [u8]>,
    code: Range<u64>,
    pub(crate) spaces: Spaces,
    pub(crate) sealed: SealedParts,
    /// Addresses of `sip_main` and of `sip_thread`: each process and each thread asks for them.
    entries: [Option<u64>; 2],
    /// Whether the code reads the counter's rate from the context record: each thread asks.
    reads_rate: bool,
}

/// The initial state of a sealed image's instances. Empty for an open image, whose state comes from
/// its imports.
#[derive(Default)]
pub(crate) struct SealedParts {
    pub(crate) funcs: Box<[FuncRecord]>,
    /// The initial context record, without the fields that differ from thread to thread.
    pub(crate) context: Box<[u64]>,
    /// What globals start with, until the tables are made that refer to them.
    pub(crate) globals: Box<[u128]>,
    /// Byte offset of the shadow stack pointer's cell in the context record.
    pub(crate) stack_pointer: Option<u32>,
    pub(crate) tables: Box<[InitialTable]>,
    /// Items of each passive element segment; empty for other segments.
    pub(crate) elements: Box<[Box<[u64]>]>,
    /// Whether there are passive data segments, and whether there are passive element segments.
    pub(crate) passive: (bool, bool),
}

/// An image that is being made ready, in steps of bounded cost. Its code need not be loaded before
/// all is checked.
pub struct Preparation {
    template: Template,
    code_len: u64,
    step: usize,
    /// How far the check of this step has come.
    progress: Progress,
    sealing: Sealing,
    /// Where the code lies, as the first so many records of functions say.
    located: (u64, usize),
}

impl Preparation {
    /// Begins with the tables beside the code, the bytes of data segments, and the length of the
    /// code.
    #[must_use]
    pub fn new(meta: Meta, data: Cow<'static, [u8]>, code_len: u64) -> Preparation {
        let inline = ENTRIES[CYCLES_PER_SECOND_INLINE].name;
        let reads_rate = meta.imports.iter().any(|import| import.name == inline);
        Preparation {
            template: Template {
                meta,
                data,
                code: 0..code_len,
                spaces: Spaces::default(),
                sealed: SealedParts::default(),
                entries: [None; 2],
                reads_rate,
            },
            code_len,
            step: 0,
            progress: Progress::default(),
            sealing: Sealing::default(),
            located: (0, 0),
        }
    }

    /// Does a step. Returns true when the image has been checked whole, and only its code is
    /// missing.
    ///
    /// # Errors
    /// If the image's tables contradict each other, the data or the code's length, or exceed a
    /// limit: no further step may follow. Or if memory is short: the step can be tried again.
    pub fn step(&mut self) -> Result<bool, Failure> {
        let t = &mut self.template;
        let checks = check::STEPS.len();
        let parts = match t.meta.linkage {
            Linkage::Sealed => seal::PARTS,
            Linkage::Open => &[],
        };
        let done = if self.step == 0 {
            t.spaces = Spaces::begin(&t.meta)?;
            true
        } else if self.step == 1 {
            t.spaces.extend(&t.meta)
        } else if let Some(check) = check::STEPS.get(self.step - 2) {
            let checked = Checked {
                meta: &t.meta,
                spaces: &t.spaces,
                code_len: self.code_len,
                data_len: t.data.len() as u64,
            };
            check(&checked, &mut self.progress)?
        } else if let Some(part) = parts.get(self.step - 2 - checks) {
            part(&mut self.sealing, t)?
        } else {
            return Ok(true);
        };
        if done {
            self.step += 1;
            self.progress = Progress::default();
        }
        Ok(self.step == 2 + checks + parts.len())
    }

    /// Has a piece of the records of functions say that the code of a checked image lies at
    /// `code_base`; whether all do. Another place begins anew.
    pub fn locate(&mut self, code_base: u64) -> bool {
        let t = &mut self.template;
        if self.located.0 != code_base {
            self.located = (code_base, 0);
        }
        let at = self.located.1;
        let rest = t.sealed.funcs.iter_mut().zip(&t.meta.funcs).skip(at);
        for (record, func) in rest.take(seal::PIECE) {
            record.code = code_base + u64::from(func.offset);
            self.located.1 += 1;
        }
        self.located.1 == t.sealed.funcs.len()
    }

    /// Returns the most bytes of memory that all steps take together, without the message about a
    /// broken image.
    #[must_use]
    pub fn room(&self) -> u64 {
        let meta = &self.template.meta;
        let spaces = (meta.imports.len() + 1 + meta.further.len())
            * (4 + size_of::<MemoryType>() + size_of::<TableType>() + size_of::<GlobalType>());
        let funcs = meta.funcs.len() * (4 + size_of::<FuncRecord>()) + 4 * meta.canonical.len();
        let globals = meta.globals.len() * (16 + size_of::<GlobalType>());
        let items =
            |e: &Element| 8 * e.items.len() + size_of::<Box<[u64]>>() + crate::HEADER as usize;
        let elements: usize = meta.elements.iter().map(items).sum();
        let context = meta.layout.size.min(check::MAX_CONTEXT as u32) as usize;
        let tables = meta
            .tables
            .iter()
            .map(|t| t.limits.min)
            .fold(0, u64::saturating_add);
        let tables = tables.min(limits::TABLE_ELEMENTS.most) * 8 + meta.tables.len() as u64 * 128;
        (spaces + funcs + globals + elements + context) as u64 + tables
    }

    /// Whether the image exports `sip_main`.
    #[must_use]
    pub fn has_main(&self) -> bool {
        // The addresses are known only once the code has its place.
        self.template.exported(names::EXPORT_MAIN).is_some()
    }

    /// Returns the template of a checked image whose code lies at `code_base`: at once, if
    /// [`locate`](Preparation::locate) has said that it is done.
    ///
    /// # Errors
    /// If the code would reach beyond the end of the address space.
    ///
    /// # Safety
    /// The compiler made the code together with the meta and the data; it stays at this address,
    /// executable and unchanged.
    pub unsafe fn finish(mut self, code_base: u64) -> Result<Arc<Template>, Error> {
        let end = code_base.checked_add(self.code_len);
        let end = end.ok_or_else(|| Error::new("image: code of impossible length"))?;
        while !self.locate(code_base) {}
        let mut t = self.template;
        t.code = code_base..end;
        t.entries = [names::EXPORT_MAIN, names::EXPORT_THREAD].map(|name| t.exported(name));
        Ok(Arc::new(t))
    }
}

impl Template {
    /// Checks an image whose code has been loaded at `code_base`, and makes it ready, all at once.
    ///
    /// # Errors
    /// As for [`Preparation::step`] and [`Preparation::finish`].
    ///
    /// # Safety
    /// As for [`Preparation::finish`].
    pub unsafe fn new(
        meta: Meta,
        data: Cow<'static, [u8]>,
        code_base: u64,
        code_len: u64,
    ) -> Result<Arc<Template>, Error> {
        let mut preparation = Preparation::new(meta, data, code_len);
        while !preparation.step().map_err(Error::from)? {}
        // SAFETY: the caller's.
        unsafe { preparation.finish(code_base) }
    }

    /// Returns the tables that the compiler wrote beside the code.
    #[must_use]
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// Returns the addresses of the code.
    #[must_use]
    pub fn code(&self) -> Range<u64> {
        self.code.clone()
    }

    /// Whether it exports `sip_main`.
    #[must_use]
    pub fn has_main(&self) -> bool {
        self.main().is_some()
    }

    /// Whether its code reads the rate of the time-stamp counter from the context record.
    #[must_use]
    pub fn reads_rate(&self) -> bool {
        self.reads_rate
    }

    /// Whether it exports `sip_thread`.
    #[must_use]
    pub fn has_thread_entry(&self) -> bool {
        self.thread_entry().is_some()
    }

    /// Returns the address of `sip_main`.
    #[must_use]
    pub(crate) fn main(&self) -> Option<u64> {
        self.entries[0]
    }

    /// Returns the address of `sip_thread`.
    #[must_use]
    pub(crate) fn thread_entry(&self) -> Option<u64> {
        self.entries[1]
    }

    /// Returns the address of the start function.
    #[must_use]
    pub(crate) fn start(&self) -> Option<u64> {
        self.func_code(self.meta.start?)
    }

    /// Returns the initial length of linear memory in bytes.
    #[must_use]
    pub fn memory_min(&self) -> u64 {
        self.meta.memory.map_or(0, |m| m.min_bytes())
    }

    /// Returns the most bytes of linear memory: the module's declared maximum, at most 4 GiB, or a
    /// byte less if those are pages of a 32-bit memory.
    #[must_use]
    pub fn memory_max(&self) -> u64 {
        self.meta.memory.map_or(0, |m| m.max_bytes())
    }

    /// Returns the memories behind the first.
    #[must_use]
    pub fn further(&self) -> &[MemoryType] {
        &self.meta.further
    }

    /// Returns the index of the memory that addresses in kernel calls refer to.
    #[must_use]
    pub fn kernel_memory(&self) -> u32 {
        self.meta.kernel_memory
    }

    /// Returns a memory by its index.
    #[must_use]
    pub fn memory_type(&self, index: u32) -> Option<&MemoryType> {
        self.spaces.memories.get(index as usize)
    }

    /// Returns the bytes that all memories together cost initially.
    #[must_use]
    pub fn all_memories_cost(&self) -> u64 {
        let further = self.meta.further.iter();
        let further = further.map(|m| memory_cost(m.min_bytes()));
        memory_cost(self.memory_min()) + further.sum::<u64>()
    }

    /// Returns the first run of initial contents in memories behind the first that ends behind this
    /// byte of this one of them, from there on: its place and at most `most` of its bytes. `None`
    /// if only zeros follow.
    #[must_use]
    pub fn further_initial_from(&self, at: (u32, u64), most: u64) -> Option<((u32, u64), &[u8])> {
        let runs = &self.meta.further_initial;
        let index = runs.partition_point(|(memory, run)| (*memory, run.end()) <= at);
        let (memory, run) = runs.get(index)?;
        let start = if *memory == at.0 { at.1 } else { 0 };
        let (start, bytes) = self.part_of(run, start, most);
        Some(((*memory, start), bytes))
    }

    /// Returns the bytes of addresses to reserve for linear memory: all that its code can reach
    /// without a test.
    #[must_use]
    pub fn reservation(&self) -> u64 {
        match self.meta.memory_mode {
            MemoryMode::Guard => (4 << 30) + GUARD,
            MemoryMode::Explicit => self.memory_min(),
        }
    }

    /// Returns the address in linear memory below which all is zero initially.
    #[must_use]
    pub fn data_start(&self) -> u64 {
        self.meta.initial.first().map_or(0, |r| u64::from(r.at))
    }

    /// Returns the address in linear memory from which on all is zero initially. Memory from
    /// [`Template::data_start`] to here must be accessible before an instance is made.
    #[must_use]
    pub fn data_end(&self) -> u64 {
        self.meta.initial.last().map_or(0, Run::end)
    }

    /// Returns a data segment's bytes.
    #[must_use]
    pub fn data(&self, segment: &Data) -> &[u8] {
        self.bytes(segment.from, segment.len)
    }

    /// Returns the first run of initial memory that ends behind `at`, from `at` on: its address and
    /// at most `most` of its bytes. `None` if only zeros follow.
    #[must_use]
    pub fn initial_from(&self, at: u64, most: u64) -> Option<(u64, &[u8])> {
        let index = self.meta.initial.partition_point(|r| r.end() <= at);
        Some(self.part_of(self.meta.initial.get(index)?, at, most))
    }

    /// A run from `at` on, which lies before its end: its address and at most `most` of its bytes.
    fn part_of(&self, run: &Run, at: u64, most: u64) -> (u64, &[u8]) {
        let start = at.max(u64::from(run.at));
        let skip = start - u64::from(run.at);
        let len = (u64::from(run.len) - skip).min(most);
        (start, self.bytes(run.from + skip as u32, len as u32))
    }

    fn bytes(&self, from: u32, len: u32) -> &[u8] {
        let from = from as usize;
        // In bounds, as checked before.
        self.data.get(from..from + len as usize).unwrap_or(&[])
    }

    /// A vector of a constant expression.
    pub(crate) fn vector(&self, from: u32) -> u128 {
        let bytes = self.bytes(from, 16).try_into();
        u128::from_le_bytes(bytes.unwrap_or_default())
    }

    /// Address of a defined function's code.
    pub(crate) fn func_code(&self, index: u32) -> Option<u64> {
        let f = self
            .meta
            .funcs
            .get(index.checked_sub(self.spaces.imported_funcs)? as usize)?;
        Some(self.code.start + u64::from(f.offset))
    }

    fn exported(&self, name: &str) -> Option<u64> {
        match self.meta.export(name)? {
            ExportKind::Func(f) => self.func_code(f),
            _ => None,
        }
    }

    /// The record of the `i`th defined function.
    pub(crate) fn func_record(
        &self,
        i: usize,
        context: u64,
        signature: impl Fn(u32) -> u32,
    ) -> FuncRecord {
        let f = &self.meta.funcs[i];
        FuncRecord {
            code: self.code.start + u64::from(f.offset),
            context,
            signature: signature(f.ty),
        }
    }

    /// Address of a function's record in a sealed image.
    pub(crate) fn record(&self, index: u32) -> Result<u64, Error> {
        let own = index.checked_sub(self.spaces.imported_funcs);
        let record = own.and_then(|i| self.sealed.funcs.get(i as usize));
        record.map(|r| (&raw const *r) as u64).ok_or_else(|| {
            let import = self.meta.imports.get(index as usize);
            let name = import.map_or("", |i| &i.name);
            let message = format!(
                "image: {name} (function {index}) is taken as a reference, but is imported"
            );
            Error::new(message + "; wrap it in a function of the module")
        })
    }
}
