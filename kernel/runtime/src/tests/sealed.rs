//! Sealed images: the check of their tables, and the contents of instances.

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
fn a_vector_has_all_of_its_cell_in_each_thread() {
    let mut m = sample();
    m.globals.push((
        GlobalType {
            value: ValType::V128,
            mutable: true,
        },
        ConstExpr::Vector(1),
    ));
    let t = template(m);
    let memory = TestMemory::new(3);
    let i = instance(&t, &memory).unwrap();
    for _ in 0..2 {
        let c = context(&i, &ContextParams::default());
        let cell = c.address() as usize + 128 + 3 * 16;
        let half = |at: usize| u64::from_le_bytes(DATA[at..at + 8].try_into().unwrap());
        let words = [word(cell as u64, 0), word(cell as u64, 8)];
        assert_eq!(words, [half(1), half(9)]);
    }
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

#[test]
fn an_instance_starts_as_the_module_says() {
    let t = template(sample());
    let memory = TestMemory::new(2);
    let i = instance(&t, &memory).unwrap();
    let text: Vec<u8> = (14..23).map(|at| memory.byte(at)).collect();
    assert_eq!(text, b"\0\0heLLo\0\0");
    assert_eq!(
        [
            memory.byte(70_001),
            memory.byte(70_002),
            memory.byte(70_003)
        ],
        [0, 1, 0]
    );
    assert_eq!(i.data_segment(0), b"", "an active segment is dropped");
    assert_eq!(i.data_segment(1), b"passive");
    i.data_drop(1);
    assert_eq!(i.data_segment(1), b"");
    assert_eq!(i.data_segment(99), b"");

    let params = ContextParams {
        kernel_table: 1,
        stack_limit: 2,
        sip_id: 3,
        thread_id: 4,
        kernel_word: 5,
        cycles_per_second: 6,
        stack_pointer: None,
    };
    let c = context(&i, &params);
    let r = c.address();
    assert_eq!(r % ctx::ALIGN as u64, 0);
    assert_eq!(word(r, ctx::KERNEL_TABLE), 1);
    assert_eq!(word(r, ctx::STACK_LIMIT), 2);
    assert_eq!(word(r, ctx::SIP_ID), 3 | 4 << 32);
    assert_eq!(word(r, ctx::MEM_BASE), memory.base());
    assert_eq!(word(word(r, ctx::MEM_DEF), ctx::MEM_DEF_LEN), 2 * 65_536);
    i.set_memory_len(3 * 65_536);
    assert_eq!(word(word(r, ctx::MEM_DEF), ctx::MEM_DEF_LEN), 3 * 65_536);
    assert_eq!((word(r, 128), word(r, 144)), (5, 4096));

    // call_indirect of element 2: the function's code and canonical number, read as compiled code
    // does.
    let f = element(r, 512, 2);
    assert_eq!(f, word(r, 160), "the same function has one record");
    assert_eq!(word(f, ctx::FUNC_CODE), BASE + 32);
    assert_eq!(word(f, ctx::FUNC_SIG) as u32, 8);
    assert_eq!(word(element(r, 512, 1), ctx::FUNC_CODE), BASE);
    assert_eq!((element(r, 512, 0), element(r, 512, 3)), (0, 0));

    let second = context(
        &i,
        &ContextParams {
            stack_pointer: Some(64),
            ..params
        },
    );
    assert_eq!(
        word(second.address(), 144),
        64,
        "a thread has its own shadow stack"
    );
    assert_eq!(word(r, 144), 4096);
    assert_eq!(
        word(second.address(), 512),
        word(r, 512),
        "threads share tables"
    );
}

#[test]
fn a_reference_to_a_context_reads_what_is_there() {
    let t = template(sample());
    let memory = TestMemory::new(2);
    let i = instance(&t, &memory).unwrap();
    let params = ContextParams {
        sip_id: 3,
        thread_id: 4,
        kernel_word: 5,
        ..ContextParams::default()
    };
    let mut c = context(&i, &params);
    // SAFETY: context and instance live until the end of the test.
    let r = unsafe { CtxRef::from_address(c.address()) };
    assert_eq!((r.sip_id(), r.thread_id(), r.kernel_word()), (3, 4, 5));
    assert_eq!(
        (r.memory_base(), r.memory_len()),
        (memory.base(), 2 * 65_536)
    );
    assert_eq!(r.instance().memory_base(), memory.base());
    assert!(Arc::ptr_eq(r.instance().template(), &t));
    let moved = alloc::boxed::Box::new(i);
    assert_eq!(
        r.instance().memory_base(),
        moved.memory_base(),
        "the instance may be moved"
    );
    r.set_tls(9);
    assert_eq!((c.tls(), word(c.address(), ctx::TLS)), (9, 9));

    let key = |r: u64| word(word(r, ctx::XTAB_BASE), sing_abi::xheap::ENTRY_KEY) as u32;
    assert_eq!(
        (word(c.address(), ctx::XTAB_MASK), key(c.address())),
        (0, 0)
    );
    // SAFETY: the block is never accessed.
    let block = unsafe { Block::new(0x1000, 8) };
    assert_eq!(c.insert(1, block, true), None, "no room yet");
    assert!(c.grow_table(&Kernel));
    let handle = c.insert(1, block, true).unwrap();
    assert_eq!(
        (word(c.address(), ctx::XTAB_MASK) as u32, key(c.address())),
        (15, handle)
    );
    // After `pop` from an abandoned table, no handle selects the allocation, and the record says
    // so.
    assert_eq!(c.pop(), Some(1));
    assert_eq!(
        (word(c.address(), ctx::XTAB_MASK), key(c.address())),
        (0, 0)
    );
    assert_eq!((c.remove(handle), c.pop()), (None, None));
}

#[test]
fn code_that_tests_no_access_gets_all_that_it_can_reach() {
    let mut m = sample();
    m.memory_mode = MemoryMode::Guard;
    let guarded = template(m);
    let memory = TestMemory::new(2);
    assert_eq!(guarded.reservation(), (4 << 30) + sing_abi::GUARD);
    let made = instance(&guarded, &memory);
    assert_eq!(
        made.err(),
        Some(Trap::BadArgument),
        "three pages are not enough"
    );
    let tested = template(sample());
    assert_eq!(tested.reservation(), tested.memory_min());
    assert!(instance(&tested, &memory).is_ok());
}

#[test]
fn table_instructions_reach_the_instance_alone() {
    let t = template(sample());
    let memory = TestMemory::new(2);
    let (a, b) = (
        instance(&t, &memory).unwrap(),
        instance(&t, &memory).unwrap(),
    );
    let f = a.ref_func(3).unwrap();
    assert_eq!(
        a.ref_func(0),
        Err(Trap::NullFunction),
        "an imported function has no record"
    );
    assert_eq!(a.ref_func(99), Err(Trap::NullFunction));
    assert_eq!(a.table_init(0, 1, 0, 0, 2), Ok(()));
    assert_eq!(a.table(0).unwrap().get(0), Some(f.bits()));
    assert_eq!(
        a.table_init(0, 0, 0, 0, 1),
        Err(Trap::TableOutOfBounds),
        "active: dropped"
    );
    assert_eq!(
        a.table_init(0, 2, 0, 0, 1),
        Err(Trap::TableOutOfBounds),
        "declared: dropped"
    );
    a.elem_drop(1);
    assert_eq!(a.table_init(0, 1, 0, 0, 1), Err(Trap::TableOutOfBounds));
    assert_eq!(a.table_init(0, 1, 0, 0, 0), Ok(()));
    assert_eq!(a.table_fill(0, 3, f, 1), Ok(()));
    assert_eq!(a.table_copy(0, 0, 1, 2, 2), Ok(()));
    assert_eq!(a.table_grow(0, f, 2), Ok(4));
    assert_eq!(a.table_grow(0, f, u32::MAX), Ok(-1));
    for bad in [1, u32::MAX] {
        assert_eq!(
            a.table_grow(bad, Reference::NULL, 1),
            Err(Trap::TableOutOfBounds)
        );
        assert_eq!(a.table_copy(0, bad, 0, 0, 0), Err(Trap::TableOutOfBounds));
    }
    assert_eq!(
        b.table_init(0, 1, 0, 0, 2),
        Ok(()),
        "another instance has dropped nothing"
    );
    assert_eq!(b.table(0).unwrap().len(), 4);
    assert!(a.bytes() > b.bytes());
}

#[test]
fn several_tables_keep_their_places() {
    let mut m = sample();
    m.tables = vec![
        funcref_table(1, None),
        funcref_table(2, None),
        funcref_table(3, Some(3)),
    ];
    m.elements.clear();
    let t = template(m);
    let memory = TestMemory::new(2);
    let i = instance(&t, &memory).unwrap();
    let c = context(&i, &ContextParams::default());
    for (n, len) in [(0, 1), (1, 2), (2, 3)] {
        assert_eq!(i.table(n).unwrap().len(), len);
        let record = word(c.address(), 512 + n as i32 * 8);
        assert_eq!(word(record, ctx::TABLE_DEF_LEN) as u32, len);
    }
    assert_eq!(i.table_grow(2, Reference::NULL, 1), Ok(-1));
}

#[test]
fn broken_images_are_refused_with_the_reason() {
    let cases: Vec<(&str, String)> = vec![
        ("ABI version 9", refusal(|m| m.abi_version = 9)),
        (
            "no function",
            refusal(|m| {
                m.imports[0].kind = ImportKind::Memory(Limits { min: 0, max: None }.into())
            }),
        ),
        ("canonical numbers", refusal(|m| m.canonical.truncate(2))),
        (
            "sip_main is no function",
            refusal(|m| m.exports[0].kind = ExportKind::Func(2)),
        ),
        (
            "sip_main is no function",
            refusal(|m| m.exports[0].kind = ExportKind::Global(0)),
        ),
        (
            "sip_thread is no function",
            refusal(|m| m.exports[1].kind = ExportKind::Func(0)),
        ),
        ("start function", refusal(|m| m.start = Some(0))),
        ("start function", refusal(|m| m.start = Some(1))),
        ("start function", refusal(|m| m.start = Some(100))),
        ("outside the code", refusal(|m| m.funcs[2].offset = 4090)),
        (
            "outside the code",
            refusal(|m| m.funcs[2] = func(2, u32::MAX)),
        ),
        (
            "before the end of the one before it",
            refusal(|m| m.funcs[2].offset = 40),
        ),
        ("no type", refusal(|m| m.funcs[2].ty = 3)),
        (
            "a trap lies outside",
            refusal(|m| m.traps = [(4096, 1)].into_iter().collect()),
        ),
        (
            "trampoline of function 9",
            refusal(|m| m.trampolines = vec![(9, 0)]),
        ),
        (
            "names nothing",
            refusal(|m| m.exports[2].kind = ExportKind::Global(3)),
        ),
        (
            "names nothing",
            refusal(|m| m.exports.push(export("x", ExportKind::Table(1)))),
        ),
        ("record of 64 bytes", refusal(|m| m.layout.size = 64)),
        ("context record", refusal(|m| m.layout.size = u32::MAX)),
        ("overlap", refusal(|m| m.layout.globals = 64)),
        ("overlap", refusal(|m| m.layout.tables = 160)),
        ("overlap", refusal(|m| m.layout.tables = 1024)),
        ("not aligned", refusal(|m| m.layout.tables = 513)),
        (
            "a memory of 9 pages",
            refusal(|m| {
                m.memory = Some(
                    Limits {
                        min: 9,
                        max: Some(1),
                    }
                    .into(),
                )
            }),
        ),
        (
            "65537 pages",
            refusal(|m| {
                m.memory = Some(
                    Limits {
                        min: 65_537,
                        max: None,
                    }
                    .into(),
                )
            }),
        ),
        (
            "where 65536 are allowed",
            refusal(|m| {
                m.further = vec![
                    Limits {
                        min: 65_535,
                        max: None,
                    }
                    .into(),
                ]
            }),
        ),
        (
            "where 16 are allowed",
            refusal(|m| m.further = vec![Limits { min: 0, max: None }.into(); 16]),
        ),
        (
            "overlap",
            refusal(|m| {
                m.further = vec![Limits { min: 0, max: None }.into(); 2];
                m.layout.memories = m.layout.tables;
            }),
        ),
        ("not aligned", refusal(|m| m.layout.memories = 580)),
        (
            "run 0 of further initial memories",
            refusal(|m| m.further_initial = vec![(0, run(0, b"xy"))]),
        ),
        (
            "run 1 of further initial memories",
            refusal(|m| {
                m.further = vec![Limits { min: 1, max: None }.into(); 2];
                m.further_initial = vec![(1, run(0, b"xy")), (0, run(9, b"xy"))];
            }),
        ),
        (
            "run 1 of further initial memories",
            refusal(|m| {
                m.further = vec![Limits { min: 1, max: None }.into(); 2];
                m.further_initial = vec![(1, run(8, b"xy")), (1, run(9, b"xy"))];
            }),
        ),
        (
            "run 0 of further initial memories",
            refusal(|m| {
                m.further = vec![Limits { min: 1, max: None }.into()];
                m.further_initial = vec![(0, run(65_535, b"xy"))];
            }),
        ),
        (
            "without a first one",
            refusal(|m| {
                m.further = vec![Limits { min: 1, max: None }.into()];
                m.memory = None;
                m.initial.clear();
            }),
        ),
        (
            "kernel calls that mean memory 1",
            refusal(|m| m.kernel_memory = 1),
        ),
        (
            "kernel calls that mean memory 3",
            refusal(|m| {
                m.further = vec![Limits { min: 1, max: None }.into(); 2];
                m.kernel_memory = 3;
            }),
        ),
        (
            "kernel calls that mean memory 4294967295",
            refusal(|m| m.kernel_memory = u32::MAX),
        ),
        (
            "a memory of 2 pages",
            refusal(|m| {
                let mut ty = MemoryType::from(Limits { min: 2, max: None });
                ty.page_bits = 4;
                m.memory = Some(ty);
            }),
        ),
        (
            "a memory of 4294967296 pages",
            refusal(|m| {
                let (min, max) = (1 << 32, None);
                let mut ty = MemoryType::from(Limits { min, max });
                ty.page_bits = 0;
                m.memory = Some(ty);
            }),
        ),
        (
            "table 0 has no proper value",
            refusal(|m| m.tables[0].element = ValType::NonNullFunc),
        ),
        (
            "table 0 has no proper value",
            refusal(|m| m.table_values = vec![(0, ConstExpr::Bits(0x1000))]),
        ),
        (
            "table 0 has no proper value",
            refusal(|m| {
                let (ty, nullable) = (0, true);
                m.tables[0].element = ValType::Typed { ty, nullable };
                m.table_values = vec![(0, ConstExpr::RefFunc(2))];
            }),
        ),
        (
            "out of order",
            refusal(|m| m.table_values = vec![(1, ConstExpr::Null)]),
        ),
        (
            "global 2",
            refusal(|m| {
                let (ty, nullable) = (0, false);
                m.globals[2].0.value = ValType::Typed { ty, nullable };
            }),
        ),
        ("table", refusal(|m| m.tables[0].element = ValType::I64)),
        ("table", refusal(|m| m.tables[0].limits.max = Some(1))),
        (
            "where 262144 are allowed",
            refusal(|m| m.tables[0].limits.min = u64::MAX),
        ),
        (
            "global 2",
            refusal(|m| m.globals[2].1 = ConstExpr::Bits(0xdead_beef)),
        ),
        (
            "global 2",
            refusal(|m| m.globals[2].1 = ConstExpr::RefFunc(4)),
        ),
        (
            "global 2",
            refusal(|m| m.globals[2].1 = ConstExpr::Vector(0)),
        ),
        (
            "global 0",
            refusal(|m| m.globals[0].1 = ConstExpr::Computed { from: 0, len: 1 }),
        ),
        (
            "expressions to compute",
            refusal(|m| m.steps = vec![ConstStep::Push(ConstExpr::Bits(1))]),
        ),
        (
            "global 0",
            refusal(|m| m.globals[0].0.value = ValType::V128),
        ),
        (
            "the vector of global 0 lies outside",
            refusal(|m| {
                m.globals[0].0.value = ValType::V128;
                m.globals[0].1 = ConstExpr::Vector(DATA.len() as u32 - 15);
            }),
        ),
        (
            "global 0",
            refusal(|m| m.globals[0].1 = ConstExpr::Global(0)),
        ),
        (
            "global 0",
            refusal(|m| m.globals[0].1 = ConstExpr::RefFunc(1)),
        ),
        (
            "yield (function 0)",
            refusal(|m| m.globals[2].1 = ConstExpr::RefFunc(0)),
        ),
        (
            "element segment 1",
            refusal(|m| m.elements[1].items[0] = ConstExpr::Bits(1)),
        ),
        (
            "element segment 0",
            refusal(|m| m.elements[0].items[0] = ConstExpr::Global(1)),
        ),
        (
            "data segment 1",
            refusal(|m| m.data[1].mode = SegmentMode::Declared),
        ),
        (
            "data segment 0",
            refusal(|m| m.data[0] = active(16, b"abc")),
        ),
        (
            "data segment 1 lies outside",
            refusal(|m| m.data[1].from = 12),
        ),
        ("run 0", refusal(|m| m.memory = None)),
    ];
    for (i, (expected, message)) in cases.iter().enumerate() {
        assert!(
            message.contains(expected),
            "case {i}: {message:?} does not say {expected:?}"
        );
    }
    assert_eq!(refusal(|_| {}), "accepted");
}

#[test]
fn code_at_the_end_of_the_address_space_is_refused() {
    assert!(template_at(sample(), u64::MAX - 10).is_err());
}

#[test]
fn initial_memory_lies_where_it_can() {
    let runs = |runs: &[Run]| refusal(|m| m.initial = runs.to_vec());
    let run = |at, from, len| Run { at, from, len };
    let data = DATA.len() as u32;
    for wrong in [
        &[run(0, 0, 0)][..],
        &[run(2 * 65_536 - 1, 0, 2)],
        &[run(u32::MAX, 0, 5)],
        &[run(0, data, 1)],
        &[run(0, u32::MAX, u32::MAX)],
        &[run(8, 0, 2), run(9, 0, 2)],
        &[run(8, 0, 2), run(0, 0, 2)],
    ] {
        let said = runs(wrong);
        let named = said.contains("of the initial memory") || said.contains("bytes in all data");
        assert!(named, "{wrong:?}: {said}");
    }
    assert_eq!(
        runs(&[run(0, 0, 2), run(2, 0, 1), run(2 * 65_536 - 1, data - 1, 1)]),
        "accepted"
    );
    let mut open = meta(Linkage::Open);
    open.memory = Some(Limits { min: 2, max: None }.into());
    open.initial = vec![run(0, 0, 1)];
    assert!(template_at(open, BASE).is_err());
}

#[test]
fn an_element_segment_that_does_not_fit_is_refused() {
    let place = |offset| {
        refusal(|m| {
            m.elements[0].mode = SegmentMode::Active {
                target: 0,
                offset: ConstExpr::Bits(offset),
            };
        })
    };
    assert_eq!(place(2), "accepted");
    for offset in [3, 5, u64::from(u32::MAX)] {
        let said = place(offset);
        assert!(said.contains("outside table 0"), "{said}");
    }
}

#[test]
fn nothing_is_checked_twice_nor_left_out_in_steps() {
    let mut preparation = Preparation::new(sample(), DATA.into(), 4096);
    let mut steps = 0;
    while !preparation.step().unwrap() {
        steps += 1;
    }
    assert!(steps > 10, "{steps} steps");
    assert!(preparation.has_main());
    // SAFETY: no code runs in these tests.
    let t = unsafe { preparation.finish(BASE) }.unwrap();
    assert_eq!((t.main(), t.code()), (Some(BASE), BASE..BASE + 4096));
}

#[test]
#[should_panic(expected = "in 0x30000")]
fn a_memory_does_not_outgrow_its_place() {
    let t = template(sample());
    let memory = TestMemory::new(2);
    instance(&t, &memory).unwrap().set_memory_len(4 * 65_536);
}

#[test]
fn a_context_keeps_its_instance() {
    let t = template(sample());
    let memory = TestMemory::new(2);
    let i = instance(&t, &memory).unwrap();
    let c = context(&i, &ContextParams::default());
    let count = Arc::strong_count(&t);
    drop(i);
    assert_eq!(Arc::strong_count(&t), count);
    assert_eq!(c.main().unwrap().code(), BASE);
    drop(c);
    assert_eq!(Arc::strong_count(&t), count - 1);
}

/// Pays until its money is spent.
struct Purse(core::sync::atomic::AtomicU64);

impl crate::Payer for Purse {
    fn charge(&'static self, bytes: u64) -> bool {
        let left = self.0.load(Relaxed).checked_sub(bytes);
        left.inspect(|&left| self.0.store(left, Relaxed)).is_some()
    }

    fn discharge(&'static self, bytes: u64) {
        self.0.fetch_add(bytes, Relaxed);
    }
}

#[test]
fn what_an_instance_and_its_threads_take_is_paid_for() {
    static PURSE: Purse = Purse(core::sync::atomic::AtomicU64::new(0));
    const SIZE: u64 = 1 << 20;
    let mut m = sample();
    // In which a record is aligned.
    const ROOM: u64 = ctx::ALIGN as u64 - 16;
    m.layout.size = SIZE as u32;
    let t = template(m);
    let memory = TestMemory::new(2);
    let mut refused = [0; 3];
    let budgets = (0..4096).step_by(97).chain((0..3 * SIZE).step_by(99_991));
    for budget in budgets {
        PURSE.0.store(budget, Relaxed);
        match paid_instance(&t, &memory, &PURSE) {
            Ok(i) => {
                assert_eq!(PURSE.0.load(Relaxed) + i.bytes(), budget);
                let before = PURSE.0.load(Relaxed);
                // SAFETY: no code runs with the context.
                let context = unsafe { Context::new(&i, &ContextParams::default(), &PURSE) };
                if context.is_err() {
                    assert!(before < SIZE + 100, "refused with {before}");
                    refused[1] += 1;
                }
                let taken = context.as_ref().map_or(0, |_| SIZE);
                assert!(PURSE.0.load(Relaxed) + taken <= before);
                // A table grows as far as the payer pays, by large steps and by small ones.
                for step in [100_000, 1000] {
                    while i.table_grow(0, Reference::NULL, step) != Ok(-1) {}
                }
                refused[2] += 1;
                let elements = u64::from(i.table(0).unwrap().len());
                assert!(elements * 8 <= budget);
                assert_eq!(
                    PURSE.0.load(Relaxed) + i.bytes() + taken / SIZE * (SIZE + ROOM + HEADER),
                    budget
                );
            }
            Err(trap) => {
                assert_eq!(trap, Trap::OutOfMemory);
                refused[0] += 1;
            }
        }
        assert_eq!(PURSE.0.load(Relaxed), budget, "all of it comes back");
    }
    assert!(refused.iter().all(|&n| n > 0), "{refused:?}");
}

#[test]
fn large_parts_are_made_in_pieces_and_whole() {
    const MANY: u32 = 40_000;
    let mut m = sample();
    m.funcs = (0..MANY).map(|i| func(2, i / 16)).collect();
    m.funcs.iter_mut().for_each(|f| f.size = 0);
    (m.funcs[0].ty, m.funcs[1].ty) = (0, 1);
    m.tables = vec![funcref_table(MANY.into(), None)];
    let items: Vec<ConstExpr> = (1..=MANY).map(ConstExpr::RefFunc).collect();
    let active = SegmentMode::Active {
        target: 0,
        offset: ConstExpr::Bits(0),
    };
    let passive = SegmentMode::Passive;
    m.elements = [active, passive]
        .map(|mode| Element {
            mode,
            items: items.clone(),
        })
        .into();
    let empty = Element {
        mode: passive,
        items: vec![],
    };
    m.elements.resize(MANY as usize, empty);
    let few = {
        let mut preparation = Preparation::new(sample(), DATA.into(), 4096);
        (0..).find(|_| preparation.step().unwrap()).unwrap()
    };
    let mut preparation = Preparation::new(m.clone(), DATA.into(), 4096);
    let steps = (0..).find(|_| preparation.step().unwrap()).unwrap();
    // Records, items of two segments, and segments: at most so many in a step.
    assert!(
        steps >= few + 4 * (MANY as usize / 16_384),
        "{steps} steps, {few}"
    );
    let t = template(m);
    let records: Vec<u64> = (1..=MANY).map(|f| t.record(f).unwrap()).collect();
    assert_eq!(t.sealed.funcs.len(), MANY as usize);
    assert!(
        t.sealed
            .funcs
            .iter()
            .zip(0..)
            .all(|(f, i)| f.code == BASE + i / 16)
    );
    assert_eq!(*t.sealed.tables[0].elements, *records);
    assert_eq!(
        (t.sealed.elements[0].len(), &*t.sealed.elements[1]),
        (0, &*records)
    );
    assert_eq!(t.sealed.elements.len(), MANY as usize);
}
