//! Who pays for an instance, and large parts that are made in pieces.

use super::*;

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

/// Steps until the image has been checked, or the reason why it is refused.
fn steps(m: &Meta) -> Result<usize, String> {
    let mut preparation = Preparation::new(m.clone(), DATA.into(), 4096);
    let mut steps = 0;
    loop {
        match preparation.step() {
            Ok(true) => return Ok(steps),
            Ok(false) => steps += 1,
            Err(e) => return Err(sing_image::Error::from(e).message),
        }
    }
}

#[test]
fn long_lists_are_checked_in_pieces_to_their_last_item() {
    const MANY: usize = 40_000;
    /// Pieces beyond the first of a list of so many.
    const MORE: usize = 2;
    type Change = fn(&mut Meta);
    // What makes a list long, in how many parts of the work that is visited, and what breaks its last
    // item.
    let cases: [(&str, Change, usize, &str, Change); 9] = [
        (
            "functions, index space, types, places and records",
            |m| {
                let last = func(2, 96);
                m.funcs.extend(vec![Func { size: 0, ..last }; MANY]);
            },
            4,
            "lies outside the code",
            |m| m.funcs.last_mut().unwrap().offset = 4097,
        ),
        (
            "types of functions",
            |m| {
                let last = func(2, 96);
                m.funcs.extend(vec![Func { size: 0, ..last }; MANY]);
            },
            4,
            "function 40003 has no type",
            |m| m.funcs.last_mut().unwrap().ty = 3,
        ),
        (
            "globals, index space and values",
            |m| {
                let last = m.globals[0];
                m.globals.extend(vec![last; MANY]);
                m.layout.globals = m.layout.size.next_multiple_of(16);
                m.layout.size = m.layout.globals + 16 * m.globals.len() as u32;
            },
            2,
            "global 40002 has no proper value",
            |m| m.globals.last_mut().unwrap().1 = ConstExpr::Null,
        ),
        (
            "exports",
            |m| {
                m.exports
                    .extend(vec![export("x", ExportKind::Func(1)); MANY])
            },
            1,
            "names nothing",
            |m| m.exports.last_mut().unwrap().kind = ExportKind::Func(4),
        ),
        (
            "data segments, bytes and places",
            |m| {
                let last = segment(SegmentMode::Passive, b"");
                m.data.extend(vec![last; MANY]);
            },
            2,
            "data segment 40001 lies outside",
            |m| m.data.last_mut().unwrap().from = u32::MAX,
        ),
        (
            "runs of the first memory, bytes and places",
            |m| {
                m.initial = (0..MANY as u32)
                    .map(|at| Run { at, ..run(0, &[1]) })
                    .collect();
            },
            2,
            "run 39999 of the initial memory",
            |m| m.initial.last_mut().unwrap().at -= 1,
        ),
        (
            "runs of further memories, bytes and places",
            |m| {
                m.further = vec![Limits { min: 1, max: None }.into()];
                m.layout.memories = m.layout.size;
                m.layout.size += ctx::MEMORY_CELL as u32;
                m.further_initial = (0..MANY as u32)
                    .map(|at| (0, Run { at, ..run(0, &[1]) }))
                    .collect();
            },
            2,
            "run 39999 of further initial memories",
            |m| m.further_initial.last_mut().unwrap().1.at -= 1,
        ),
        (
            "trampolines",
            |m| m.trampolines = vec![(1, 0); MANY],
            1,
            "the trampoline of function 4",
            |m| m.trampolines.last_mut().unwrap().0 = 4,
        ),
        (
            "items of an element segment, values and references",
            |m| m.elements[1].items = vec![ConstExpr::RefFunc(1); MANY],
            2,
            "element segment 1 has no proper value",
            |m| *m.elements[1].items.last_mut().unwrap() = ConstExpr::RefFunc(4),
        ),
    ];
    let few = steps(&sample()).unwrap();
    for (what, lengthen, parts, said, damage) in cases {
        let mut m = sample();
        lengthen(&mut m);
        assert_eq!(steps(&m), Ok(few + parts * MORE), "{what}");
        damage(&mut m);
        let refused = steps(&m).unwrap_err();
        assert!(refused.contains(said), "{what}: {refused}");
    }
}

#[test]
fn sums_over_pieces_are_compared_with_the_limits() {
    use sing_image::limits;
    let mut m = sample();
    let halves = (limits::ELEMENT_ITEMS.most / 2 + 1) as usize;
    let one = Element {
        mode: SegmentMode::Passive,
        items: vec![ConstExpr::Null; halves],
    };
    let none = Element {
        mode: SegmentMode::Passive,
        items: vec![],
    };
    // In different pieces.
    m.elements = vec![none; 20_000];
    m.elements[0] = one.clone();
    m.elements[19_999] = one;
    assert!(steps(&m).unwrap_err().contains("items in all element"));
    let mut m = sample();
    let half = Run {
        at: 0,
        from: 0,
        len: (limits::DATA_BYTES.most / 2 + 1) as u32,
    };
    m.initial = vec![half];
    assert!(!steps(&m).unwrap_err().contains("bytes in all data"));
    m.further_initial = vec![(0, half)];
    assert!(steps(&m).unwrap_err().contains("bytes in all data"));
    let mut m = sample();
    m.funcs[1].size = limits::FUNCTION_CODE_BYTES.most as u32 + 1;
    let said = steps(&m).unwrap_err();
    assert!(
        said.contains("bytes of machine code of one function"),
        "{said}"
    );
}

#[test]
fn where_the_code_lies_is_told_to_the_records_in_pieces_and_anew_for_another_place() {
    const MANY: u32 = 40_000;
    let mut m = sample();
    m.funcs = (0..MANY).map(|i| func(2, i / 16)).collect();
    m.funcs.iter_mut().for_each(|f| f.size = 0);
    (m.funcs[0].ty, m.funcs[1].ty) = (0, 1);
    let prepared = || {
        let mut preparation = Preparation::new(m.clone(), DATA.into(), 4096);
        while !preparation.step().unwrap() {}
        preparation
    };
    // Some records know another place already, or all, or none.
    for before in [0, 1, 2, 5] {
        let mut preparation = prepared();
        for _ in 0..before {
            preparation.locate(3 * BASE);
        }
        let pieces = (1..).find(|_| preparation.locate(BASE)).unwrap();
        assert_eq!(pieces, 3);
        assert!(preparation.locate(BASE));
        let t = finished(preparation);
        let places = t.sealed.funcs.iter().zip(0..);
        assert!(places.clone().all(|(f, i)| f.code == BASE + i / 16));
        assert_eq!(places.count(), MANY as usize);
    }
}
