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
