//! Tests with instances made from hand-written metas. No code runs here; the tests look at the data
//! that code would reach.

mod open;
mod sealed;

use crate::{Context, ContextParams, Instance, Kernel, Template};
use alloc::borrow::Cow;
use alloc::string::ToString;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use sing_abi::{ABI_VERSION, ctx};
use sing_image::meta::*;

/// A meta with this layout and nothing else.
pub(crate) fn meta(linkage: Linkage) -> Meta {
    Meta {
        abi_version: ABI_VERSION,
        memory_mode: MemoryMode::Explicit,
        checks: Checks::All,
        linkage,
        kernel_memory: 0,
        cpu_features: vec![],
        layout: CtxLayout {
            size: 1024,
            globals: 128,
            tables: 512,
            memories: 576,
            func_imports: 640,
            signatures: 896,
            tag_imports: 960,
        },
        types: vec![],
        canonical: vec![],
        imports: vec![],
        funcs: vec![],
        memory: None,
        further: vec![],
        tables: vec![],
        table_values: vec![],
        globals: vec![],
        exports: vec![],
        start: None,
        elements: vec![],
        data: vec![],
        initial: vec![],
        further_initial: vec![],
        traps: Traps::default(),
        max_frame: 0,
        catching: None,
        trampolines: vec![],
        steps: vec![],
        tags: vec![],
    }
}

/// Makes a template whose code is never called.
pub(crate) fn template_at(meta: Meta, base: u64) -> Result<Arc<Template>, sing_image::Error> {
    // SAFETY: no code runs in these tests.
    unsafe { Template::new(meta, Cow::Borrowed(DATA), base, 4096) }
}

/// Makes a context whose code is never called.
pub(crate) fn context(instance: &Instance, params: &ContextParams) -> Context {
    // SAFETY: no code runs in these tests.
    unsafe { Context::new(instance, params, &Kernel) }.unwrap()
}

pub(crate) fn func_type(params: &[ValType], results: &[ValType]) -> FuncType {
    FuncType {
        params: params.to_vec(),
        results: results.to_vec(),
    }
}

pub(crate) fn func(ty: u32, offset: u32) -> Func {
    Func {
        ty,
        offset,
        size: 16,
        name: "f".into(),
    }
}

pub(crate) fn import(name: &str, kind: ImportKind) -> Import {
    Import {
        module: "m".to_string(),
        name: name.to_string(),
        kind,
    }
}

pub(crate) fn export(name: &str, kind: ExportKind) -> Export {
    Export {
        name: name.to_string(),
        kind,
    }
}

/// The data of the tests' images.
pub(crate) const DATA: &[u8] = b"passiveheLLo\x01abcxy";

/// Makes a segment with some of [`DATA`].
pub(crate) fn segment(mode: SegmentMode, bytes: &[u8]) -> Data {
    let from = DATA
        .windows(bytes.len().max(1))
        .position(|w| bytes.is_empty() || w == bytes);
    Data {
        mode,
        from: from.unwrap() as u32,
        len: bytes.len() as u32,
    }
}

pub(crate) fn active(offset: u64, bytes: &[u8]) -> Data {
    let mode = SegmentMode::Active {
        target: 0,
        offset: ConstExpr::Bits(offset),
    };
    segment(mode, bytes)
}

/// Makes a run of initial memory with some of [`DATA`].
pub(crate) fn run(at: u32, bytes: &[u8]) -> Run {
    let Data { from, len, .. } = segment(SegmentMode::Passive, bytes);
    Run { at, from, len }
}

pub(crate) fn funcref_table(min: u64, max: Option<u64>) -> TableType {
    TableType {
        element: ValType::FuncRef,
        limits: Limits { min, max },
        index64: false,
    }
}

/// Reads a `u64` of a context record, as compiled code would.
pub(crate) fn word(record: u64, at: i32) -> u64 {
    // SAFETY: the tests pass addresses of live records and offsets inside them.
    unsafe { ((record as i64 + i64::from(at)) as *const u64).read() }
}

/// Returns element `i` of the table whose record stands at `at` in a context record.
pub(crate) fn element(record: u64, at: i32, i: u64) -> u64 {
    let table = word(record, at);
    let len = word(table, ctx::TABLE_DEF_LEN) as u32;
    assert!(i < u64::from(len));
    word(word(table, ctx::TABLE_DEF_BASE), i as i32 * 8)
}

/// A linear memory and its record, as a kernel would keep them.
pub(crate) struct TestMemory {
    #[allow(dead_code, reason = "owns the bytes")]
    bytes: Vec<u8>,
    record: Vec<u64>,
}

impl TestMemory {
    pub(crate) fn new(pages: usize) -> TestMemory {
        let mut bytes = vec![0; pages * 65_536];
        let record = vec![bytes.as_mut_ptr() as u64, bytes.len() as u64];
        TestMemory { bytes, record }
    }

    pub(crate) fn base(&self) -> u64 {
        self.record[0]
    }

    pub(crate) fn record(&self) -> u64 {
        self.record.as_ptr() as u64
    }

    pub(crate) fn byte(&self, at: usize) -> u8 {
        // SAFETY: the tests stay inside the memory, which this owns.
        unsafe { (self.base() as *const u8).add(at).read() }
    }
}
