//! Images that are refused, with the reason, and the places that code and memory can have.

use super::*;

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
            "where 786432 are allowed",
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
    let t = finished(preparation);
    assert_eq!((t.main(), t.code()), (Some(BASE), BASE..BASE + 4096));
}
