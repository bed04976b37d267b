//! An installed image made ready: what all SIPs of it share.
//!
//! Invariants:
//! - Everything here is computed once; making an [`crate::Instance`] copies and never decides.
//! - Function records of a sealed image stand here: its code reaches its own context by the caller's.

use crate::check::{self, Spaces};
use alloc::boxed::Box;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::mem::offset_of;
use core::ops::Range;
use sing_abi::trap::Trap;
use sing_abi::{WASM_PAGE, ctx, names};
use sing_image::Error;
use sing_image::meta::{ConstExpr, ExportKind, Linkage, Meta, SegmentMode, TableType, ValType};

/// What a `funcref` points to.
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

/// The most elements that all tables of a sealed image may start with, and that each may grow to.
pub(crate) const MAX_TABLE: u32 = 1 << 17;

/// Zero bytes in the initial memory that are worth a run of their own to leave out.
const GAP: usize = 128;

/// Initial contents of a table.
pub(crate) struct InitialTable {
    pub(crate) ty: TableType,
    pub(crate) elements: Box<[u64]>,
}

/// An installed image.
pub struct Template {
    meta: Meta,
    code: Range<u64>,
    pub(crate) spaces: Spaces,
    pub(crate) sealed: SealedParts,
}

/// What a sealed image's instances start from. Empty for an open one, whose parts come from its imports.
#[derive(Default)]
pub(crate) struct SealedParts {
    pub(crate) funcs: Box<[FuncRecord]>,
    /// The context record as it starts, but for what differs from thread to thread.
    pub(crate) context: Box<[u64]>,
    /// Byte offset of the shadow stack pointer's cell in the context record.
    pub(crate) stack_pointer: Option<u32>,
    pub(crate) tables: Box<[InitialTable]>,
    /// Items of each passive element segment; of the others, nothing.
    pub(crate) elements: Box<[Box<[u64]>]>,
    /// What is not zero in the initial memory, in order.
    pub(crate) runs: Box<[(u32, Box<[u8]>)]>,
    /// Why no instance can be made: an active segment that does not fit.
    pub(crate) fails: Option<Trap>,
}

impl Template {
    /// Checks an image whose code has been loaded at `code_base`, and makes it ready.
    ///
    /// # Errors
    /// Where the image's tables contradict each other or the code's length.
    pub fn new(meta: Meta, code_base: u64, code_len: u64) -> Result<Arc<Template>, Error> {
        let code_end = code_base.checked_add(code_len);
        let code =
            code_base..code_end.ok_or_else(|| Error::new("image: code of impossible length"))?;
        let spaces = Spaces::new(&meta);
        check::image(&meta, &spaces, code_len)?;
        let mut t = Template {
            meta,
            code,
            spaces,
            sealed: SealedParts::default(),
        };
        if t.meta.linkage == Linkage::Sealed {
            // The records must have their address before references to them can be made.
            t.sealed.funcs = t.func_records(|_| 0, |ty| t.meta.canonical[ty as usize]);
            t.seal()?;
        }
        Ok(Arc::new(t))
    }

    /// What the compiler recorded of the module.
    #[must_use]
    pub fn meta(&self) -> &Meta {
        &self.meta
    }

    /// Where its code lies.
    #[must_use]
    pub fn code(&self) -> Range<u64> {
        self.code.clone()
    }

    /// Address of `sip_main`.
    #[must_use]
    pub fn main(&self) -> Option<u64> {
        self.exported(names::EXPORT_MAIN)
    }

    /// Address of `sip_thread`.
    #[must_use]
    pub fn thread_entry(&self) -> Option<u64> {
        self.exported(names::EXPORT_THREAD)
    }

    /// Address of the start function.
    #[must_use]
    pub fn start(&self) -> Option<u64> {
        self.func_code(self.meta.start?)
    }

    /// Bytes of linear memory at the start.
    #[must_use]
    pub fn memory_min(&self) -> u64 {
        self.meta.memory.map_or(0, |m| u64::from(m.min) * WASM_PAGE)
    }

    /// The most bytes of linear memory: what the module declares, and 4 GiB at most.
    #[must_use]
    pub fn memory_max(&self) -> u64 {
        let pages = self
            .meta
            .memory
            .map_or(0, |m| m.max.unwrap_or(65_536).min(65_536));
        u64::from(pages) * WASM_PAGE
    }

    /// Where the initial data of linear memory starts: below it, all is zero.
    #[must_use]
    pub fn data_start(&self) -> u64 {
        self.sealed.runs.first().map_or(0, |r| u64::from(r.0))
    }

    /// Where it ends: from there on, all is zero. What lies between must be accessible before an
    /// instance is made.
    #[must_use]
    pub fn data_end(&self) -> u64 {
        self.sealed
            .runs
            .last()
            .map_or(0, |r| u64::from(r.0) + r.1.len() as u64)
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

    /// A record for each defined function.
    pub(crate) fn func_records(
        &self,
        context: impl Fn(u32) -> u64,
        signature: impl Fn(u32) -> u32,
    ) -> Box<[FuncRecord]> {
        let record = |(i, f): (usize, &sing_image::meta::Func)| FuncRecord {
            code: self.code.start + u64::from(f.offset),
            context: context(i as u32),
            signature: signature(f.ty),
        };
        self.meta.funcs.iter().enumerate().map(record).collect()
    }

    /// Address of a function's record in a sealed image.
    fn record(&self, index: u32) -> Result<u64, Error> {
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

    fn seal(&mut self) -> Result<(), Error> {
        let mut globals = Vec::with_capacity(self.meta.globals.len());
        for (_, init) in &self.meta.globals {
            let value = self.evaluate(*init, &globals)?;
            globals.push(value);
        }
        self.sealed.context = self.initial_context(&globals);
        self.sealed.stack_pointer = self.stack_pointer();
        self.seal_tables(&globals)?;
        self.seal_memory(&globals)
    }

    fn evaluate(&self, e: ConstExpr, globals: &[u64]) -> Result<u64, Error> {
        match e {
            ConstExpr::Bits(bits) => Ok(bits),
            ConstExpr::Null => Ok(0),
            ConstExpr::RefFunc(f) => self.record(f),
            ConstExpr::Global(g) => {
                let value = globals.get(g as usize).copied();
                value.ok_or_else(|| {
                    Error::new(format!("image: global {g} is used before it is defined"))
                })
            }
        }
    }

    fn initial_context(&self, globals: &[u64]) -> Box<[u64]> {
        let mut words = vec![0; (self.meta.layout.size as usize).div_ceil(8)];
        for (i, value) in globals.iter().enumerate() {
            words[(self.meta.layout.globals as usize + i * ctx::GLOBAL_CELL as usize) / 8] = *value;
        }
        words.into_boxed_slice()
    }

    fn stack_pointer(&self) -> Option<u32> {
        let ExportKind::Global(g) = self.meta.export(names::EXPORT_STACK_POINTER)? else {
            return None;
        };
        let ty = self.spaces.globals.get(g as usize)?;
        let proper = ty.mutable && ty.value == ValType::I32;
        proper.then(|| self.meta.layout.globals + g * ctx::GLOBAL_CELL as u32)
    }

    fn seal_tables(&mut self, globals: &[u64]) -> Result<(), Error> {
        let sizes = self.meta.tables.iter().map(|t| u64::from(t.limits.min));
        let total: u64 = sizes.sum();
        if total > u64::from(MAX_TABLE) {
            let message =
                format!("image: {total} table elements are more than the {MAX_TABLE} allowed");
            return Err(Error::new(message));
        }
        let mut tables: Vec<Vec<u64>> = self
            .meta
            .tables
            .iter()
            .map(|t| vec![0; t.limits.min as usize])
            .collect();
        let mut elements = Vec::with_capacity(self.meta.elements.len());
        for e in &self.meta.elements {
            let mut items = Vec::with_capacity(e.items.len());
            for item in &e.items {
                items.push(self.evaluate(*item, globals)?);
            }
            if let SegmentMode::Active { target, offset } = e.mode {
                let at = self.evaluate(offset, globals)? as u32 as usize;
                match tables[target as usize].get_mut(at..at + items.len()) {
                    Some(place) if self.sealed.fails.is_none() => place.copy_from_slice(&items),
                    Some(_) => {}
                    None => self.sealed.fails = self.sealed.fails.or(Some(Trap::TableOutOfBounds)),
                }
            }
            let keep = e.mode == SegmentMode::Passive;
            elements.push(if keep {
                items.into_boxed_slice()
            } else {
                Box::default()
            });
        }
        self.sealed.elements = elements.into_boxed_slice();
        let initial = |(ty, e): (&TableType, Vec<u64>)| InitialTable {
            ty: *ty,
            elements: e.into_boxed_slice(),
        };
        self.sealed.tables = self.meta.tables.iter().zip(tables).map(initial).collect();
        Ok(())
    }

    fn seal_memory(&mut self, globals: &[u64]) -> Result<(), Error> {
        let mut image = Vec::new();
        for d in &mut self.meta.data {
            let SegmentMode::Active { offset, .. } = d.mode else {
                continue;
            };
            let at = match offset {
                ConstExpr::Bits(bits) => bits as u32,
                ConstExpr::Global(g) => globals.get(g as usize).copied().unwrap_or(0) as u32,
                ConstExpr::RefFunc(_) | ConstExpr::Null => 0,
            };
            let end = u64::from(at) + d.bytes.len() as u64;
            let min = self.meta.memory.map_or(0, |m| u64::from(m.min) * WASM_PAGE);
            if end > min {
                self.sealed.fails = self.sealed.fails.or(Some(Trap::MemoryOutOfBounds));
                continue;
            }
            // Nothing reads an active segment again; the runs keep its bytes.
            image.push((at, core::mem::take(&mut d.bytes)));
        }
        if self.sealed.fails.is_none() {
            self.sealed.runs = runs(&image);
        }
        Ok(())
    }
}

/// Merges segments, later ones over earlier ones, into runs without long stretches of zeros.
fn runs(segments: &[(u32, Vec<u8>)]) -> Box<[(u32, Box<[u8]>)]> {
    let ends = |s: &(u32, Vec<u8>)| (s.0 as usize, s.0 as usize + s.1.len());
    let mut places: Vec<(usize, usize)> =
        segments.iter().map(ends).filter(|(a, b)| a < b).collect();
    places.sort_unstable();
    // What overlaps is laid over each other in a buffer of its own, never larger than its segments.
    let mut clusters: Vec<(usize, usize)> = Vec::new();
    for (start, end) in places {
        match clusters.last_mut() {
            Some(last) if start < last.1 => last.1 = last.1.max(end),
            _ => clusters.push((start, end)),
        }
    }
    let mut out = Vec::new();
    for (start, end) in clusters {
        let mut bytes = vec![0; end - start];
        for s in segments {
            let at = ends(s);
            if start <= at.0 && at.1 <= end {
                bytes[at.0 - start..at.1 - start].copy_from_slice(&s.1);
            }
        }
        split(start as u32, &bytes, &mut out);
    }
    out.into_boxed_slice()
}

/// Cuts out stretches of more than [`GAP`] zeros.
fn split(at: u32, bytes: &[u8], out: &mut Vec<(u32, Box<[u8]>)>) {
    let mut rest = 0;
    while let Some(first) = bytes[rest..].iter().position(|b| *b != 0).map(|p| rest + p) {
        let mut last = first;
        let mut i = first;
        while i < bytes.len() && i - last <= GAP {
            if bytes[i] != 0 {
                last = i;
            }
            i += 1;
        }
        out.push((at + first as u32, bytes[first..=last].into()));
        rest = last + 1;
    }
}
