//! Loading, on a machine that only counts the code that it is given.

use super::*;
use crate::ground::trusted::tests::{ARENA, small, system};
use alloc::vec;
use core::sync::atomic::Ordering::Relaxed;
use object::write::Object;
use object::{Architecture, BinaryFormat, Endianness, SectionKind};
use sing_image::contract::{Argument, ContractTable, Direction, Message, NONE, Word};
use sing_image::elf;
use sing_image::lines::{Lines, Row};
use sing_image::meta::*;
use sing_image::system::{SystemImage, SystemManifest};

/// Makes an image with a main function and this much code; `change` modifies its meta.
fn image(code: usize, change: impl FnOnce(&mut Meta)) -> Vec<u8> {
    image_with(code, &[], vec![], change)
}

/// Makes such an image with contracts, and start-up endpoints of these.
fn image_with(
    code: usize,
    contracts: &[ContractTable],
    endpoints: Vec<StartupEndpoint>,
    change: impl FnOnce(&mut Meta),
) -> Vec<u8> {
    let main = FuncType {
        params: vec![],
        results: vec![ValType::I32],
    };
    let mut meta = Meta {
        abi_version: sing_abi::ABI_VERSION,
        memory_mode: MemoryMode::Guard,
        linkage: Linkage::Sealed,
        kernel_memory: 0,
        cpu_features: vec!["known".into()],
        layout: CtxLayout {
            size: 1024,
            globals: 512,
            tables: 512,
            memories: 512,
            func_imports: 512,
            signatures: 512,
            tag_imports: 512,
        },
        types: vec![main],
        canonical: vec![0],
        imports: vec![],
        funcs: vec![Func {
            ty: 0,
            offset: 0,
            size: 16,
            name: "main".into(),
        }],
        memory: Some(Limits { min: 1, max: None }.into()),
        tables: vec![],
        globals: vec![],
        exports: vec![Export {
            name: "sip_main".into(),
            kind: ExportKind::Func(0),
        }],
        start: None,
        elements: vec![],
        data: vec![],
        ..Meta::default()
    };
    change(&mut meta);
    let manifest = Manifest {
        name: "test".into(),
        abi: sing_abi::ABI_VERSION,
        endpoints,
        ..Manifest::default()
    };
    let lines = Lines {
        texts: vec!["main.rs".into()],
        rows: vec![Row {
            offset: 3,
            file: 1,
            line: 7,
            call: 0,
        }],
        ..Lines::default()
    };
    let mut object = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    for (name, kind, bytes) in [
        (".text", SectionKind::Text, vec![0xcc; code]),
        (elf::DATA, SectionKind::Other, vec![]),
        (elf::META, SectionKind::Other, meta.encode()),
        (
            elf::MANIFEST,
            SectionKind::Other,
            postcard::to_allocvec(&manifest).unwrap(),
        ),
        (
            elf::CONTRACTS,
            SectionKind::Other,
            postcard::to_allocvec(contracts).unwrap(),
        ),
        (elf::LINES, SectionKind::Other, lines.encode()),
    ] {
        let section = object.add_section(vec![], name.into(), kind);
        object.append_section_data(section, &bytes, 16);
    }
    object.write().unwrap()
}

/// Looks for an image until there is an answer; returns it, and the number of looks before it.
fn answer(name: &str) -> (Result<bool, String>, u32) {
    let mut looks = 0;
    loop {
        match look(name) {
            Ok(Found::NotYet) => looks += 1,
            Ok(Found::Image(image)) => {
                assert_eq!(image.name, name);
                return (Ok(true), looks);
            }
            Ok(Found::None) => return (Ok(false), looks),
            Err(e) => return (Err(format!("{e}")), looks),
        }
    }
}

/// Makes contracts with this many states of sixteen messages, in the reverse order of their names.
fn contracts(count: usize, states: usize) -> Vec<ContractTable> {
    let message = |i| Message {
        name: format!("M{i}"),
        direction: Direction::In,
        arguments: vec![],
        words: vec![],
        conditions: vec![],
    };
    let table = |i| ContractTable {
        name: format!("C{:03}", count - 1 - i),
        bases: vec![],
        narrows: None,
        messages: (0..16).map(message).collect(),
        types: vec![],
        states: (0..states).map(|i| format!("S{i}")).collect(),
        next: vec![NONE; 2 * 16 * states],
        queue: [1; 2],
    };
    (0..count).map(table).collect()
}

/// Two sets of contracts: of each, `Holder` has the same bytes, and `Held`, which it names, means something
/// else.
fn held_by_one_name() -> [Vec<ContractTable>; 2] {
    let mut tables = contracts(2, 3);
    tables[0].name = "Holder".into();
    tables[1].name = "Held".into();
    tables[0].messages[0].words = vec![Word::Endpoint {
        contract: "Held".into(),
        side: Side::Imp,
        state: None,
    }];
    tables[0].messages[0].arguments = vec![Argument {
        name: "held".into(),
        ty: "Held.Imp".into(),
    }];
    let mut other = tables.clone();
    other[1].queue = [2, 1];
    [tables, other]
}

/// A single test, as there is one registry.
#[test]
fn an_image_is_checked_whole_before_its_code_is_loaded() {
    let _alone = crate::alone();
    let machine = small();
    const LARGE: usize = 3 << 20;
    let broken: [(&str, &str, Vec<u8>); 7] = [
        ("no-elf", "not an ELF file", b"something".to_vec()),
        (
            "outside",
            "outside the code",
            image(4096, |m| m.funcs[0].offset = 4090),
        ),
        ("no-main", "no sip_main", image(64, |m| m.exports.clear())),
        (
            "other-abi",
            "version 9 of the ABI",
            image(64, |m| m.abi_version = 9),
        ),
        (
            "unknown-cpu",
            "a processor with warp",
            image(64, |m| m.cpu_features = vec!["warp".into()]),
        ),
        (
            "unchecked",
            "compiled without checks",
            image(64, |m| m.checks = Checks::None),
        ),
        (
            "open",
            "not sealed",
            image(64, |m| m.linkage = Linkage::Open),
        ),
    ];
    let mut files: Vec<(String, Vec<u8>)> = broken
        .iter()
        .map(|(name, _, file)| (format!("{BIN}{name}"), file.clone()))
        .collect();
    files.push((format!("{BIN}small"), image(4096, |_| {})));
    let unchecked = image(4096, |m| m.checks = Checks::None);
    files.push((format!("{BIN}measured"), unchecked));
    for name in ["large", "left", "last"] {
        files.push((format!("{BIN}{name}"), image(LARGE, |_| {})));
    }
    let large = contracts(40, 200);
    let asked = StartupEndpoint {
        name: "e".into(),
        contract: "C007".into(),
        side: Side::Imp,
        state: Some("S199".into()),
        optional: true,
        many: true,
    };
    for name in ["talker", "twin"] {
        let file = image_with(4096, &large, vec![asked.clone()], |_| {});
        files.push((format!("{BIN}{name}"), file));
    }
    for (name, tables) in ["holder", "other-holder"].iter().zip(held_by_one_name()) {
        let file = image_with(4096, &tables, vec![], |_| {});
        files.push((format!("{BIN}{name}"), file));
    }
    let files: Vec<(String, &[u8])> = files.iter().map(|(n, f)| (n.clone(), &f[..])).collect();
    let archive = SystemImage::encode(&SystemManifest::default(), &files).unwrap();
    set_system(system(Vec::leak(archive)));

    assert_eq!(answer("nobody"), (Ok(false), 0));
    for (name, reason, _) in &broken {
        let (first, _) = answer(name);
        let first = first.unwrap_err();
        assert!(first.contains(reason), "{first}");
        assert_eq!(answer(name), (Err(first), 0), "a second try costs nothing");
    }
    assert_eq!(
        machine.loaded.load(Relaxed),
        0,
        "no code was loaded for these"
    );

    // A load that lacks room loses nothing, and later succeeds.
    let room = machine.room.swap(LARGE as u64 - 1, Relaxed);
    for _ in 0..3 {
        assert!(answer("large").0.unwrap_err().contains("no room"));
        assert_eq!(machine.loaded.load(Relaxed), 0);
    }
    machine.room.store(room, Relaxed);
    let (loaded, looks) = answer("large");
    assert_eq!(loaded, Ok(true));
    assert!(
        looks >= 10,
        "{looks} looks: nobody else could run in between"
    );
    assert_eq!(answer("large"), (Ok(true), 0));
    assert_eq!(machine.loaded.load(Relaxed), LARGE as u64);
    assert!(machine.longest.load(Relaxed) <= 256 << 10);

    // If the room ends in the middle of an image's code, none of it stays, and other loads go on.
    while machine.loaded.load(Relaxed) < LARGE as u64 + (1 << 20) {
        assert!(matches!(look("left"), Ok(Found::NotYet)));
    }
    let room = machine.room.swap(4096, Relaxed);
    assert!(answer("left").0.unwrap_err().contains("no room"));
    assert_eq!(machine.loaded.load(Relaxed), LARGE as u64);
    machine.room.store(4096, Relaxed);
    assert_eq!(answer("small").0, Ok(true));
    assert!(answer("left").0.unwrap_err().contains("no room"));
    machine.room.store(room, Relaxed);
    // So, too, if it is the heap that has no room any more.
    while machine.loaded.load(Relaxed) < LARGE as u64 + (1 << 20) {
        assert!(matches!(look("left"), Ok(Found::NotYet)));
    }
    let heap = machine.heap.swap(LEAST - 1, Relaxed);
    assert!(answer("left").0.unwrap_err().contains("no room"));
    assert_eq!(machine.loaded.load(Relaxed), LARGE as u64 + 4096);
    machine.heap.store(heap, Relaxed);
    const LARGE_AND_SMALL: u64 = LARGE as u64 + 4096;
    assert_eq!(machine.loaded.load(Relaxed), LARGE_AND_SMALL);

    its_sips_say_what_memory_the_next_one_needs();

    // A load of the next image is abandoned in the middle of its code; a request for another one
    // finishes it first.
    while machine.loaded.load(Relaxed) < LARGE_AND_SMALL + (1 << 20) {
        assert!(matches!(look("left"), Ok(Found::NotYet)));
    }
    assert_eq!(answer("last").0, Ok(true));
    assert_eq!(answer("left"), (Ok(true), 0));
    assert_eq!(
        machine.loaded.load(Relaxed),
        2 * LARGE as u64 + LARGE_AND_SMALL
    );
    let at = function_at(ARENA + LARGE_AND_SMALL + 5).unwrap();
    assert_eq!((at.image.name.as_str(), at.function), ("left", "main"));
    let places: Vec<_> = at.places().map(|p| (p.file, p.line)).collect();
    assert_eq!(places, [(Some("main.rs"), 7)]);
    let before = function_at(ARENA + LARGE_AND_SMALL + 2).unwrap();
    assert_eq!((before.function, before.places().count()), ("main", 0));

    // What was refused for want of checks stays so; another one runs where that is what is wanted.
    machine.measures.store(true, Relaxed);
    assert_eq!(answer("measured").0, Ok(true));
    machine.measures.store(false, Relaxed);

    contracts_are_read_in_steps_where_there_is_room(&large);
}

/// Returns an image that is loaded.
fn loaded_one(name: &str) -> &'static Installed {
    match look(name) {
        Ok(Found::Image(image)) => image,
        _ => panic!("{name} is not loaded"),
    }
}

fn its_sips_say_what_memory_the_next_one_needs() {
    let image = loaded_one("small");
    assert!(image.needs_little(), "before anything is known");
    image.has_needed_more();
    (1..VOTES).for_each(|_| image.expect(KEEP_LITTLE));
    image.expect(KEEP_LITTLE + 1);
    assert!(!image.needs_little(), "one in five needs more");
    image.expect(KEEP_LITTLE);
    assert!(image.needs_little());
    (0..1000).for_each(|_| image.has_needed_more());
    (1..MOST_VOTES).for_each(|_| image.expect(0));
    assert!(!image.needs_little());
    image.expect(0);
    assert!(image.needs_little(), "it is believed soon");
}

/// Each step that finds too little memory for its bound reports that, and the load goes on when
/// there is more.
fn contracts_are_read_in_steps_where_there_is_room(large: &[ContractTable]) {
    let machine = small();
    let heap = machine.heap.load(Relaxed);
    let (mut refused, mut looks) = (0, 0);
    let image = loop {
        let mut enough = LEAST - 1;
        let looked = loop {
            machine.heap.store(enough, Relaxed);
            let loaded = machine.loaded.load(Relaxed);
            match look("talker") {
                Err(e) => {
                    assert!(matches!(e, Unavailable::NoRoom), "{e}");
                    assert_eq!(loaded, machine.loaded.load(Relaxed));
                    refused += 1;
                }
                Ok(found) => break found,
            }
            // No step may ask for more than this.
            assert!(
                enough < 20 << 20,
                "a step asks for more than {enough} bytes"
            );
            enough *= 2;
        };
        looks += 1;
        match looked {
            Found::NotYet => continue,
            Found::Image(image) => break image,
            Found::None => panic!("it is there"),
        }
    };
    machine.heap.store(heap, Relaxed);
    assert!(refused >= looks && looks > 3 * 40, "{refused} and {looks}");
    assert_eq!(image.contracts.len(), 40);
    for (number, table) in (0..).zip(large) {
        let (found, contract) = image.numbered(&table.name).unwrap();
        assert_eq!((found, &contract.table), (number, table));
        assert_eq!(image.number_of(contract), Some(number));
    }
    assert!(image.contract("C040").is_none() && image.contract("").is_none());
    assert_eq!(image.startup, [Some((32, 199))]);
    // Another image with the same contracts shares their records.
    assert_eq!(answer("twin").0, Ok(true));
    let Ok(Found::Image(twin)) = look("twin") else {
        panic!("it is loaded");
    };
    let pairs = image.contracts.iter().zip(&twin.contracts);
    assert!(pairs.clone().all(|(a, b)| core::ptr::eq(*a, *b)) && pairs.count() == 40);

    // A known table is not read again, and yet another contract where it names another one.
    let [first, other] = ["holder", "other-holder"].map(|name| {
        assert_eq!(answer(name).0, Ok(true));
        loaded_one(name)
    });
    let [tables, _] = held_by_one_name();
    for (image, held) in [(first, [1; 2]), (other, [2, 1])] {
        let holder = image.contract("Holder").unwrap();
        assert_eq!(holder.table, tables[0]);
        assert_eq!(image.contract("Held").unwrap().table.queue, held);
    }
    for name in ["Holder", "Held"] {
        let [a, b] = [first, other].map(|image| image.contract(name).unwrap());
        assert!(a.id != b.id, "{name}");
    }
}

#[test]
fn calls_are_known_by_their_last_bytes() {
    let unknown = Some(Callee::Unknown);
    // call r8; call rax; call [rbx]; call [rbx + 8]; call [r12 + 8]; call [rcx + 0x100]; call [rip
    // + 0x100]
    for call in [
        &[0x41, 0xff, 0xd0][..],
        &[0xff, 0xd0],
        &[0xff, 0x13],
        &[0xff, 0x53, 8],
        &[0x41, 0xff, 0x54, 0x24, 8],
        &[0xff, 0x91, 0, 1, 0, 0],
        &[0xff, 0x15, 0, 1, 0, 0],
    ] {
        assert_eq!(callee(call), unknown, "{call:x?}");
        assert_eq!(callee(&[&[0x90; 9], call].concat()), unknown);
    }
    assert_eq!(callee(&[0xe8, 2, 1, 0, 0]), Some(Callee::Known(0x102)));
    let back = callee(&[0xe8, 0xfe, 0xff, 0xff, 0xff]);
    assert_eq!(back, Some(Callee::Known(u64::MAX - 1)));
    // jmp rax; mov rax, rax; nothing
    for other in [&[0xff, 0xe0][..], &[0x48, 0x89, 0xc0], &[], &[0xd0]] {
        assert_eq!(callee(other), None, "{other:x?}");
    }
}

#[test]
fn frames_have_the_size_that_the_first_instructions_say() {
    // push rbp; mov rbp, rsp; mov r10, [rdi + 18h]; add r10, 20h; cmp r10, rsp; ja
    let test = [
        0x55, 0x48, 0x89, 0xe5, 0x4c, 0x8b, 0x57, 0x18, 0x49, 0x83, 0xc2, 0x20, 0x4c, 0x3b, 0xd4,
        0x0f, 0x87, 0x2f, 0, 0, 0,
    ];
    let with = |rest: &[u8]| frame_size(&[&test[..], rest, &[0x90; 100]].concat());
    assert_eq!(with(&[0x48, 0x83, 0xec, 0x10]), 0x10);
    assert_eq!(with(&[0x48, 0x81, 0xec, 0xd0, 1, 0, 0]), 0x1d0);
    assert_eq!(with(&[0x4c, 0x8b, 0x07]), 0);
    assert_eq!(frame_size(&[0x55, 0xc3]), 0);
}

#[test]
fn an_image_with_very_many_references_is_not_looked_through() {
    let segment = |items| Element {
        mode: SegmentMode::Passive,
        items: vec![ConstExpr::RefFunc(0); items],
    };
    assert!(are_few(&[], ASKED) && !are_few(&[], ASKED + 1));
    assert!(are_few(&[segment(ASKED - 1), segment(1)], 0));
    assert!(!are_few(&[segment(ASKED), segment(1)], 0));
    assert!(!are_few(&[segment(1)], ASKED));
    // Segments count also if they are empty.
    assert!(!are_few(&vec![segment(0); ASKED + 1], 0));
}
