//! Modules joined and looked at: every index space, what cannot be joined, and what is said of it.

mod refused;

use sing_merge::{Error, Kind, Options, WasmFeatures, kind, merge};
use wasmparser as wp;

/// An adapter with something in every index space, so that all numbers behind it move.
const ADAPTER: &str = r#"(module
    (type $unused (func (param f32 f32)))
    (import "program" "start" (func $start))
    (import "sing_v1" "process_exit" (func $exit (param i32)))
    (import "program" "read" (func $read (param i32 i32 i32)))
    (import "sing_v1" "debug_print" (func $print (param i32 i32) (result i32)))
    (import "program" "size" (func $size (result i64)))
    (import "program" "write" (func $write (param i32 i32 i32)))
    (memory (export "memory") 1)
    (table $t 2 funcref)
    (global $g (mut i32) (i32.const 7))
    (global $h i32 (i32.const 16))
    (tag $oops (param i32))
    (elem (table $t) (i32.const 0) func $first $second)
    (elem declare func $write)
    (data (i32.const 64) "adapter")
    (data $quiet "passive")
    (start $first)
    (export "no_alloc:first" (func $first))
    (func $first (global.set $g (i32.add (global.get $g) (global.get $h))))
    (func $second
        (memory.init $quiet (i32.const 0) (i32.const 0) (i32.const 7))
        (data.drop $quiet)
        (drop (ref.func $write)))
    (func (export "sip_main") (result i32)
        (call_indirect $t (i32.const 0))
        (call $start)
        (try_table (throw $oops (i32.const 1)))
        (i32.wrap_i64 (call $size)))
    (func (export "fd_write") (param i32 i32 i32 i32) (result i32)
        (call $read (i32.const 0) (local.get 1) (i32.const 8))
        (drop (call $print (i32.load (i32.const 0)) (i32.load offset=4 (i32.const 0))))
        (call $write (local.get 3) (i32.const 4) (i32.const 4))
        (i32.const 0))
    (func (export "proc_exit") (param i32) (call $exit (local.get 0)))
    (func (export "clock_time_get") (param i32 i64 i32) (result i32) (i32.const 0))
    (@custom "singularity.manifest" "{\"name\": \"adapter\", \"memory\": 1, \"abi\": 1}")
    (@custom "singularity.contracts" "none")
)"#;

const PROGRAM: &str = r#"(module
    (type $unused (func (param i64)))
    (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
    (import "wasi_snapshot_preview1" "fd_write" (func $print (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 2 3)
    (table $t 1 funcref)
    (global $g (mut i64) (i64.const 1))
    (tag $oops)
    (elem (table $t) (i32.const 0) func $helper)
    (data (i32.const 8) "hello")
    (data $quiet "more")
    (start $helper)
    (func $helper
        (memory.init $quiet (i32.const 0) (i32.const 0) (i32.const 4))
        (global.set $g (i64.add (global.get $g) (i64.const 1))))
    (func $main (export "_start")
        (call_indirect $t (i32.const 0))
        (try_table (throw $oops))
        (drop (call $print (i32.const 1) (i32.const 0) (i32.const 1) (i32.const 4)))
        (call $exit (i32.load offset=8 (i32.const 0))))
    (@custom "target_features" "program's")
)"#;

fn features() -> WasmFeatures {
    WasmFeatures::WASM2
        | WasmFeatures::MULTI_MEMORY
        | WasmFeatures::EXCEPTIONS
        | WasmFeatures::FUNCTION_REFERENCES
        | WasmFeatures::MEMORY64
        | WasmFeatures::THREADS
        | WasmFeatures::CUSTOM_PAGE_SIZES
}

fn options() -> Options<'static> {
    Options {
        features: features(),
        name: None,
        memory: None,
    }
}

fn wasm(text: &str) -> Vec<u8> {
    wat::parse_str(text).unwrap()
}

/// Joins two texts; the result is valid.
fn joined(program: &str, adapter: &str) -> Result<Vec<u8>, Error> {
    let merged = merge(&wasm(program), &wasm(adapter), &options())?;
    let mut validator = wp::Validator::new_with_features(features());
    validator
        .validate_all(&merged)
        .expect("the merged module is valid");
    Ok(merged)
}

fn refusal(program: &str, adapter: &str) -> String {
    joined(program, adapter)
        .expect_err("is refused")
        .to_string()
}

fn payloads(wasm: &[u8]) -> Vec<wp::Payload<'_>> {
    wp::Parser::new(0)
        .parse_all(wasm)
        .map(Result::unwrap)
        .collect()
}

/// The instructions of a function, counted among those that the module defines.
fn code(wasm: &[u8], function: usize) -> Vec<String> {
    let payloads = payloads(wasm);
    let mut bodies = payloads.iter().filter_map(|p| match p {
        wp::Payload::CodeSectionEntry(body) => Some(body),
        _ => None,
    });
    let body = bodies.nth(function).unwrap();
    let ops = body.get_operators_reader().unwrap();
    ops.into_iter()
        .map(|op| format!("{:?}", op.unwrap()))
        .collect()
}

fn has(code: &[String], op: &str) {
    assert!(code.iter().any(|o| o == op), "no {op} in {code:#?}");
}

#[test]
fn every_index_space_is_renumbered() {
    let merged = joined(PROGRAM, ADAPTER).unwrap();
    // Functions: 0 and 1 are the kernel's, 2 and 3 the program's, 4 to 9 the adapter's, then stubs.
    let main = code(&merged, 1);
    has(&main, "CallIndirect { type_index: 3, table_index: 0 }");
    has(&main, "Throw { tag_index: 0 }");
    has(&main, "Call { function_index: 7 }");
    has(&main, "Call { function_index: 8 }");
    has(&code(&merged, 0), "MemoryInit { data_index: 1, mem: 0 }");
    has(&code(&merged, 0), "GlobalSet { global_index: 0 }");
    has(&code(&merged, 2), "GlobalSet { global_index: 1 }");
    has(&code(&merged, 2), "GlobalGet { global_index: 2 }");
    let second = code(&merged, 3);
    has(&second, "MemoryInit { data_index: 3, mem: 1 }");
    has(&second, "DataDrop { data_index: 3 }");
    has(&second, "RefFunc { function_index: 11 }");
    let entry = code(&merged, 4);
    assert!(entry[1].contains("table_index: 1"), "{entry:?}");
    has(&entry, "Call { function_index: 13 }");
    has(&entry, "Throw { tag_index: 1 }");
    has(&entry, "Call { function_index: 12 }");
    let write = code(&merged, 5);
    has(&write, "Call { function_index: 10 }");
    has(&write, "Call { function_index: 1 }");
    assert!(
        write
            .iter()
            .any(|o| o.starts_with("I32Load") && o.contains("Memory(1)")),
        "{write:?}"
    );
    // The stubs.
    has(&code(&merged, 8), "MemoryCopy { dst_mem: 1, src_mem: 0 }");
    has(&code(&merged, 9), "MemoryCopy { dst_mem: 0, src_mem: 1 }");
    has(&code(&merged, 10), "MemorySize { mem: 0 }");
    // The program's start function, then its entry.
    assert_eq!(
        code(&merged, 11)[..2],
        ["Call { function_index: 2 }", "Call { function_index: 3 }",]
    );
}

#[test]
fn functions_that_only_an_export_declares_can_be_referred_to() {
    let program = r#"(module
        (memory 1)
        (func $f (export "f"))
        (func (export "_start") (drop (ref.func $f))))"#;
    joined(program, ADAPTER).unwrap();
}

#[test]
fn the_adapter_gives_imports_exports_start_and_sections() {
    let merged = joined(PROGRAM, ADAPTER).unwrap();
    let (mut imports, mut exports, mut customs, mut start) = (vec![], vec![], vec![], None);
    let mut segments = vec![];
    for payload in payloads(&merged) {
        match payload {
            wp::Payload::ImportSection(s) => {
                imports.extend(s.into_imports().map(|i| i.unwrap().name.to_string()));
            }
            wp::Payload::ExportSection(s) => {
                exports.extend(s.into_iter().map(|e| e.unwrap().name.to_string()));
            }
            wp::Payload::StartSection { func, .. } => start = Some(func),
            wp::Payload::DataSection(s) => {
                segments.extend(s.into_iter().map(|d| d.unwrap().data.to_vec()));
            }
            wp::Payload::CustomSection(c) => {
                customs.push((c.name().to_string(), c.data().to_vec()))
            }
            _ => {}
        }
    }
    assert_eq!(imports, ["process_exit", "debug_print"]);
    // The adapter's functions for programs are called, or left out when the merged module is compiled.
    assert_eq!(exports, ["memory", "no_alloc:first", "sip_main"]);
    assert_eq!(start, Some(4));
    assert_eq!(segments, [&b"hello"[..], b"more", b"adapter", b"passive"]);
    let names: Vec<&str> = customs.iter().map(|c| c.0.as_str()).collect();
    assert_eq!(
        names,
        [
            "singularity.manifest",
            "singularity.contracts",
            "singularity.memory",
            "name",
        ]
    );
    assert_eq!(customs[2].1, [1]);
}

#[test]
fn functions_keep_their_names_though_both_modules_use_them() {
    let adapter = ADAPTER.replace("(func $second", "(func $main");
    let adapter = adapter.replace("func $first $second", "func $first $main");
    let merged = joined(PROGRAM, &adapter).unwrap();
    let mut names = Vec::new();
    for payload in payloads(&merged) {
        let wp::Payload::CustomSection(custom) = payload else {
            continue;
        };
        let wp::KnownCustom::Name(section) = custom.as_known() else {
            continue;
        };
        for subsection in section {
            let wp::Name::Function(map) = subsection.unwrap() else {
                continue;
            };
            names.extend(
                map.into_iter()
                    .map(|n| n.map(|n| (n.index, n.name.to_string())).unwrap()),
            );
        }
    }
    let expected = [
        (2, "helper"),
        (3, "main"),
        (4, "first"),
        (5, "main"),
        (10, "program.read"),
        (11, "program.write"),
        (12, "program.size"),
        (13, "program.start"),
    ];
    assert_eq!(names, expected.map(|(i, n)| (i, n.to_string())));
}

#[test]
fn the_old_name_of_the_functions_module_is_known() {
    let program = PROGRAM.replace("wasi_snapshot_preview1", "wasi_unstable");
    joined(&program, ADAPTER).unwrap();
    assert_eq!(kind(&wasm(&program)), Kind::Module);
    assert_eq!(kind(&wasm(PROGRAM)), Kind::Module);
    assert_eq!(kind(&wasm(ADAPTER)), Kind::Own);
    assert_eq!(kind(b"no module"), Kind::Own);
    assert_eq!(kind(&wasm("(component)")), Kind::Component);
}

#[test]
fn a_function_without_a_name_begins_after_the_library_is_initialised() {
    let calls = |text: &str| {
        let merged = joined(text, ADAPTER).unwrap();
        let mut start = code(&merged, 4 + 6 + 3);
        start.retain(|op| op.starts_with("Call {"));
        start
    };
    let program = |start: &str| {
        format!(
            "(module (import \"wasi_snapshot_preview1\" \"proc_exit\" (func (param i32)))
                (memory (export \"memory\") 1)
                (func (export \"\")) (func (export \"{start}\")) (func) (func))"
        )
    };
    // The kernel's functions are 0 and 1.
    let (unnamed, other) = ("Call { function_index: 2 }", "Call { function_index: 3 }");
    assert_eq!(calls(&program("_initialize")), [other, unnamed]);
    assert_eq!(calls(&program("_start")), [unnamed]);
    assert_eq!(calls(&program("helper")), [unnamed]);
    let text = refusal("(module (func (export \"\") (param i32)))", ADAPTER);
    assert!(
        text.contains("its function without a name has parameters"),
        "{text}"
    );
    let text = refusal(
        "(module (func (export \"\")) (func (export \"_initialize\") (param i32)))",
        ADAPTER,
    );
    assert!(
        text.contains("its function _initialize has parameters"),
        "{text}"
    );
}

#[test]
fn functions_that_differ_in_the_version_before_are_the_adapters_for_it() {
    let own = "(func (export \"wasi_unstable#fd_write\") (param i32 i32 i32 i32) (result i32) (i32.const 8))\n    \
               (@custom \"singularity.contracts\" \"none\")";
    let adapter = ADAPTER.replace("(@custom \"singularity.contracts\" \"none\")", own);
    let calls = |program: &str| {
        let merged = joined(program, &adapter).unwrap();
        let mut main = code(&merged, 1);
        main.retain(|op| op.starts_with("Call {"));
        main
    };
    // `fd_write` and `proc_exit`: the second has one function for both versions.
    let [write, exit] = &calls(PROGRAM)[..] else {
        panic!("two calls");
    };
    let program = PROGRAM.replace("wasi_snapshot_preview1", "wasi_unstable");
    let [write_before, exit_before] = &calls(&program)[..] else {
        panic!("two calls");
    };
    assert_eq!(exit, exit_before);
    assert_ne!(write, write_before);
    // By the adapter's own name for it, no version has it.
    for module in ["wasi_snapshot_preview1", "wasi_unstable"] {
        let mixed = PROGRAM.replace(
            "\"wasi_snapshot_preview1\" \"fd_write\"",
            &format!("\"{module}\" \"wasi_unstable#fd_write\""),
        );
        assert_ne!(mixed, PROGRAM);
        let text = refusal(&mixed, &adapter);
        let name = format!("{module}.wasi_unstable#fd_write: there is no such function here");
        assert!(text.contains(&name), "{text}");
    }
}

#[test]
fn letters_of_several_characters_are_shown_as_they_are() {
    let text = refusal(
        "(module (import \"cafe\u{301}\" \"\u{1112}\u{1161}\u{11ab}\" (func)) (func (export \"_start\")))",
        ADAPTER,
    );
    assert!(
        text.contains("cafe\u{301}: a function (\u{1112}\u{1161}\u{11ab})"),
        "{text}"
    );
}

#[test]
fn a_program_without_memory_or_with_one_in_bytes_is_joined() {
    let merged = joined("(module (func (export \"_start\")))", ADAPTER).unwrap();
    let memories: Vec<wp::MemoryType> = payloads(&merged)
        .into_iter()
        .filter_map(|p| match p {
            wp::Payload::MemorySection(s) => Some(s.into_iter().map(Result::unwrap)),
            _ => None,
        })
        .flatten()
        .collect();
    assert_eq!((memories[0].initial, memories[0].maximum), (0, Some(0)));
    assert_eq!(memories[1].initial, 1);
    let program = "(module (memory 5 (pagesize 1)) (func (export \"_initialize\")))";
    let merged = joined(program, ADAPTER).unwrap();
    has(&code(&merged, 1 + 6 + 2), "I64Const { value: 0 }");
}

#[test]
fn the_manifest_gets_the_programs_name_and_budget() {
    let with = Options {
        name: Some("tool \"x\""),
        memory: Some(1 << 30),
        ..options()
    };
    let merged = merge(&wasm(PROGRAM), &wasm(ADAPTER), &with).unwrap();
    let customs = payloads(&merged).into_iter().find_map(|p| match p {
        wp::Payload::CustomSection(c) if c.name() == "singularity.manifest" => {
            Some(serde_json::from_slice::<serde_json::Value>(c.data()).unwrap())
        }
        _ => None,
    });
    let manifest = customs.unwrap();
    assert_eq!(manifest["name"], "tool \"x\"");
    assert_eq!(manifest["memory"], 1 << 30);
    assert_eq!(manifest["abi"], 1);
}

/// The bytes of memory 0 after the segments of a module, and how many segments there are.
fn initial(wasm: &[u8]) -> (Vec<u8>, u32) {
    let (mut memory, mut count) = (vec![0; 1 << 20], 0);
    for payload in payloads(wasm) {
        let wp::Payload::DataSection(section) = payload else {
            continue;
        };
        count = section.count();
        for data in section {
            let data = data.unwrap();
            if let wp::DataKind::Active {
                memory_index: 0,
                offset_expr,
            } = data.kind
                && let Ok(wp::Operator::I32Const { value }) =
                    offset_expr.get_operators_reader().read()
            {
                memory[value as usize..][..data.data.len()].copy_from_slice(data.data);
            }
        }
    }
    (memory, count)
}

#[test]
fn neighbours_among_as_many_data_segments_as_may_be_become_one() {
    const MOST: u32 = 100_000;
    // Where the numbers of the adapter's begin, and how many it has.
    let few = joined("(module (memory 1) (func (export \"_start\")))", ADAPTER).unwrap();
    let of_adapter = initial(&few).1;
    assert!(of_adapter > 0);
    let program = |count: u32, first: &str, apart: u32, more: &str| {
        let mut text = format!("(module (memory 16) (func (export \"_start\") {more}) {first}");
        for number in 0..count {
            text += &format!("(data (i32.const {}) \"abcd\")", 100 + number * apart);
        }
        wasm(&(text + ")"))
    };
    let merged = |program: &[u8]| merge(program, &wasm(ADAPTER), &options()).unwrap();
    let is_valid = |wasm: &[u8]| {
        let mut validator = wp::Validator::new_with_features(features());
        validator.validate_all(wasm).is_ok()
    };
    for (what, first) in [
        ("apart", ""),
        ("over each other", "(data (i32.const 100) \"xxxxxxxxxxx\")"),
        (
            "in a gap",
            "(data (i32.const 105) \"x\") (data (i32.const 90) \"yy\")",
        ),
    ] {
        let others = first.matches("data").count() as u32;
        let full = program(MOST - others, first, 6, "");
        let joint = merged(&full);
        assert!(is_valid(&joint), "{what}");
        let (memory, count) = initial(&joint);
        assert!(memory == initial(&full).0, "{what}: other bytes");
        assert_eq!(count, MOST, "{what}");
    }
    // With room, and where a number of a segment may be somewhere, all stay as they are.
    let with_room = program(MOST - of_adapter, "", 6, "");
    assert_eq!(initial(&merged(&with_room)).1, MOST);
    let named = program(MOST, "", 6, "(data.drop 7)");
    assert_eq!(initial(&merged(&named)).1, MOST + of_adapter);
}
