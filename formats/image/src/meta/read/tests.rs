use super::super::*;
use super::*;
use alloc::string::ToString;
use alloc::vec;

fn sample(items: usize) -> Meta {
    let number = GlobalType {
        value: ValType::I32,
        mutable: true,
    };
    Meta {
        abi_version: 1,
        memory_mode: MemoryMode::Explicit,
        checks: Checks::None,
        linkage: Linkage::Open,
        kernel_memory: 300,
        cpu_features: vec!["avx".into(), "bmi1".into()],
        layout: CtxLayout {
            size: 1,
            globals: 2,
            tables: 3,
            memories: 6,
            func_imports: 4,
            signatures: 5,
            tag_imports: 7,
        },
        types: vec![
            FuncType {
                params: vec![ValType::F64],
                results: vec![]
            };
            3
        ],
        canonical: vec![9, 8, 7],
        imports: vec![Import {
            module: "m".into(),
            name: "n".into(),
            kind: ImportKind::Func(2),
        }],
        funcs: (0..items as u32)
            .map(|i| Func {
                ty: 0,
                offset: i,
                size: 1,
                name: i.to_string().into(),
            })
            .collect(),
        memory: Some(Limits { min: 1, max: None }.into()),
        further: vec![
            Limits {
                min: 2,
                max: Some(3),
            }
            .into(),
        ],
        tables: vec![TableType {
            element: ValType::FuncRef,
            limits: Limits {
                min: 0,
                max: Some(7),
            },
            index64: true,
        }],
        table_values: vec![(0, ConstExpr::RefFunc(1))],
        globals: vec![(number, ConstExpr::Bits(u64::MAX))],
        exports: vec![Export {
            name: "x".into(),
            kind: ExportKind::Table(0),
        }],
        start: Some(4),
        elements: vec![
            Element {
                mode: SegmentMode::Passive,
                items: vec![ConstExpr::Null; items]
            };
            3
        ],
        data: vec![
            Data {
                mode: SegmentMode::Passive,
                from: 1,
                len: 2
            };
            items
        ],
        initial: vec![Run {
            at: 1,
            from: 2,
            len: 3,
        }],
        further_initial: vec![(
            1,
            Run {
                at: 4,
                from: 5,
                len: 6,
            },
        )],
        traps: (0..items as u32).map(|i| (i, 1)).collect(),
        max_frame: 64,
        catching: Some(9),
        trampolines: vec![(1, 2)],
        steps: vec![ConstStep::Push(ConstExpr::Bits(1)), ConstStep::Add64],
        tags: vec![1, 0],
    }
}

#[test]
fn steps_read_what_serde_wrote() {
    for items in [0, 1, STEP as usize, STEP as usize + 1, 5000] {
        let meta = sample(items);
        let bytes = meta.encode();
        let (version, read) = postcard::from_bytes::<(u32, Meta)>(&bytes).unwrap();
        assert_eq!((version, read), (LAYOUT, meta.clone()));
        let mut reader = Reader::new(&bytes);
        let mut steps = 0;
        while !reader.step().unwrap() {
            steps += 1;
        }
        assert_eq!(reader.finish(), meta);
        assert!(steps >= 5 * items / STEP as usize, "{steps} steps");
        // The same in place, without a copy of names and traps.
        let bytes: &'static [u8] = alloc::boxed::Box::leak(bytes.into_boxed_slice());
        let mut reader = Reader::in_place(bytes);
        while !reader.step().unwrap() {}
        let read = reader.finish();
        assert_eq!(read, meta);
        let owned = |func: &Func| matches!(func.name, Cow::Owned(_));
        assert!(!read.funcs.iter().any(owned));
    }
}

#[test]
fn an_image_of_another_layout_is_told_from_a_broken_one() {
    let bytes = sample(3).encode();
    // Images without a version of their layout begin with that of the ABI.
    let older = Meta::decode(&bytes[1..]).unwrap_err().message;
    let part = "version 1, and this reads version 3: it is older; compile its program again";
    assert!(older.contains(part), "{older}");
    let newer = [&[LAYOUT as u8 + 1], &bytes[1..]].concat();
    let newer = Meta::decode(&newer).unwrap_err().message;
    assert!(newer.contains("it is newer"), "{newer}");
}

#[test]
fn the_version_counts_the_layouts() {
    // Some digest of all bytes, whose places and values the layout decides.
    let bytes = sample(3).encode();
    let digest = bytes.iter().fold(0u32, |digest, byte| {
        digest.wrapping_mul(31).wrapping_add(u32::from(*byte))
    });
    let recorded = (LAYOUT, bytes.len(), digest);
    assert_eq!(
        recorded,
        (3, 168, 1_522_232_865),
        "the layout has changed: count `LAYOUT` up, and record the sample anew"
    );
}

#[test]
fn long_items_are_few_in_a_step() {
    let mut meta = sample(1);
    meta.exports = (0..2049)
        .map(|i| Export {
            name: alloc::format!("{i:x>20000}"),
            kind: ExportKind::Table(0),
        })
        .collect();
    let bytes = meta.encode();
    let mut reader = Reader::new(&bytes);
    loop {
        let (before, room) = (reader.rest.len(), reader.room());
        let done = reader.step().unwrap();
        let read = before - reader.rest.len();
        assert!(read <= STEP_BYTES + 20_010, "{read} bytes in one step");
        assert!(
            room >= read as u64 && room < 1 << 20,
            "room for {room} bytes"
        );
        if done {
            break;
        }
    }
    assert_eq!(reader.finish(), meta);
    // A name longer than any that WebAssembly allows.
    meta.exports[7].name = "x".repeat(ITEM_BYTES);
    assert_eq!(Meta::decode(&meta.encode()), Err(broken()));
}

#[test]
fn what_is_cut_off_or_goes_on_is_refused() {
    let bytes = sample(3).encode();
    for cut in 0..bytes.len() {
        assert!(Meta::decode(&bytes[..cut]).is_err(), "{cut}");
    }
    assert!(Meta::decode(&[&bytes[..], &[0]].concat()).is_err());
}

#[test]
fn damage_anywhere_is_no_panic() {
    let bytes = sample(40).encode();
    for at in 0..bytes.len() {
        for value in [0, 1, 0x7f, 0x80, 0xff] {
            let mut damaged = bytes.clone();
            damaged[at] = value;
            let _ = Meta::decode(&damaged);
        }
    }
}

#[test]
fn a_count_alone_allocates_nothing() {
    // Everything before the types, then a count that no file of this size can have.
    let mut bytes = sample(0).encode();
    let head = 1 + 1 + 1 + 1 + 1 + 2 + 1 + 4 + 5 + 7;
    bytes.truncate(head);
    let at_limit = [&bytes[..], &[0x80, 0x80, 0x04]].concat();
    assert_eq!(Meta::decode(&at_limit), Err(broken()));
    let over = [&bytes[..], &[0x81, 0x80, 0x04]].concat();
    let said = Meta::decode(&over).unwrap_err().message;
    assert!(said.contains("65537 types"), "{said}");
}

#[test]
fn unsorted_traps_are_found_across_steps() {
    let mut traps: Vec<_> = (0..2 * STEP_TRAPS as u32).map(|i| (i, 1)).collect();
    let mut meta = sample(1);
    meta.traps = traps.iter().copied().collect();
    assert_eq!(Meta::decode(&meta.encode()).as_ref(), Ok(&meta));
    for at in [1, STEP_TRAPS - 1, STEP_TRAPS, 2 * STEP_TRAPS - 1] {
        traps.swap(at - 1, at);
        meta.traps = traps.iter().copied().collect();
        let said = Meta::decode(&meta.encode()).unwrap_err().message;
        assert!(said.contains("not sorted"), "{said}");
        traps.swap(at - 1, at);
    }
}
