//! What an instance begins with, and what its code can reach.

use super::*;

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
