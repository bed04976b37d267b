//! Sealed images: the check of their tables, and the contents of instances.

mod instances;
mod payment;
mod refusals;

use super::*;
use crate::instance::Reference;
use crate::{
    Block, Context, ContextParams, CtxRef, HEADER, Instance, Kernel, Preparation, SipMemory,
    Template, Trap,
};
use alloc::string::String;
use alloc::sync::Arc;
use core::sync::atomic::Ordering::Relaxed;

const BASE: u64 = 0x40_0000;

/// An image with an import, three functions, a table, a memory and globals.
fn sample() -> Meta {
    let mut m = meta(Linkage::Sealed);
    m.types = vec![
        func_type(&[], &[ValType::I32]),
        func_type(&[ValType::I32], &[]),
        func_type(&[], &[]),
    ];
    m.canonical = vec![7, 8, 9];
    m.imports = vec![import("yield", ImportKind::Func(2))];
    m.funcs = vec![func(0, 0), func(1, 32), func(2, 64)];
    m.exports = vec![
        export("sip_main", ExportKind::Func(1)),
        export("sip_thread", ExportKind::Func(2)),
        export("__stack_pointer", ExportKind::Global(1)),
    ];
    m.start = Some(3);
    m.memory = Some(
        Limits {
            min: 2,
            max: Some(4),
        }
        .into(),
    );
    let number = |mutable| GlobalType {
        value: ValType::I32,
        mutable,
    };
    let reference = GlobalType {
        value: ValType::FuncRef,
        mutable: false,
    };
    m.globals = vec![
        (number(false), ConstExpr::Bits(5)),
        (number(true), ConstExpr::Bits(4096)),
        (reference, ConstExpr::RefFunc(2)),
    ];
    m.tables = vec![funcref_table(4, None)];
    m.elements = vec![
        Element {
            mode: SegmentMode::Active {
                target: 0,
                offset: ConstExpr::Bits(1),
            },
            items: vec![ConstExpr::RefFunc(1), ConstExpr::Global(2)],
        },
        Element {
            mode: SegmentMode::Passive,
            items: vec![ConstExpr::RefFunc(3), ConstExpr::Null],
        },
        Element {
            mode: SegmentMode::Declared,
            items: vec![ConstExpr::RefFunc(3)],
        },
    ];
    m.data = vec![
        segment(SegmentMode::Declared, b""),
        segment(SegmentMode::Passive, b"passive"),
    ];
    m.initial = vec![run(16, b"heLLo"), run(70_002, &[1])];
    m
}

fn template(m: Meta) -> Arc<Template> {
    template_at(m, BASE).unwrap()
}

/// The template of a checked image.
fn finished(preparation: Preparation) -> Arc<Template> {
    // SAFETY: no code runs in these tests.
    unsafe { preparation.finish(BASE) }.unwrap()
}

fn refusal(change: impl FnOnce(&mut Meta)) -> String {
    let mut m = sample();
    change(&mut m);
    match template_at(m, BASE) {
        Ok(_) => "accepted".into(),
        Err(e) => e.message,
    }
}

fn instance(t: &Arc<Template>, memory: &TestMemory) -> Result<Instance, Trap> {
    paid_instance(t, memory, &Kernel)
}

fn paid_instance(
    t: &Arc<Template>,
    memory: &TestMemory,
    payer: &'static dyn crate::Payer,
) -> Result<Instance, Trap> {
    // SAFETY: the memory has two pages of zeros and outlives the instance in each test; no test
    // reads behind it after setting a larger length.
    let (instance, window) = unsafe {
        let window = SipMemory::new(memory.base(), 2 * 65_536);
        (
            Instance::new(t, memory.base(), 3 * 65_536, |_| (0, 0), payer)?,
            window,
        )
    };
    let mut at = 0;
    while let Some((start, bytes)) = t.initial_from(at, 3) {
        assert!(start >= at && bytes.len() <= 3);
        window.write(start as u32, bytes)?;
        at = start + bytes.len() as u64;
    }
    assert_eq!(at, t.data_end());
    Ok(instance)
}

#[test]
fn a_template_knows_its_entries_and_sizes() {
    let t = template(sample());
    assert_eq!(t.main(), Some(BASE));
    assert_eq!(t.thread_entry(), Some(BASE + 32));
    assert_eq!(t.start(), Some(BASE + 64));
    assert_eq!((t.memory_min(), t.memory_max()), (2 * 65_536, 4 * 65_536));
    assert_eq!((t.data_start(), t.data_end()), (16, 70_003));
    let mut m = sample();
    m.memory = Some(Limits { min: 2, max: None }.into());
    assert_eq!(template(m).memory_max(), 4 << 30);
    let mut m = sample();
    let mut bytes = MemoryType::from(Limits {
        min: 80_000,
        max: None,
    });
    bytes.page_bits = 0;
    m.memory = Some(bytes);
    assert_eq!(template(m).memory_max(), (4 << 30) - 1);
    assert_eq!(template(meta(Linkage::Sealed)).memory_max(), 0);
}
