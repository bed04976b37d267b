//! Tests of the metadata beside the code, and of the image file.

use super::{ECHO, ECHOING, MAIN, compile, compile_with, open, sip, sip_with, wat};
use crate::{Cpu, Features, MemoryMode, Options};
use sing_abi::ctx;
use sing_image::elf::{Image, Sections};
use sing_image::meta::{ConstExpr, ConstStep, ExportKind, Linkage, SegmentMode, ValType};

/// A module with every kind of section.
fn rich() -> Vec<u8> {
    sip_with(
        ECHOING,
        ECHO,
        r#"
        (import "sing_v1" "yield" (func $yield))
        (import "sing_v1" "self_id" (func $self_id (result i32)))
        (import "contract:Echo" "imp.call.Say" (func $say (param i32 i64 i32) (result i32)))
        (type $two (func (result i32)))
        (memory (export "memory") 1 4)
        (table 4 8 funcref)
        (elem (i32.const 0) $self_id $one $yield)
        (global (mut i32) (i32.const 7))
        (global f64 (f64.const 1.5))
        (data (i32.const 8) "hello")
        (func $one (result i32) i32.const 1 call $yield)
        (func $indirect (param i32) (result i32) local.get 0 call_indirect (type $two))
        (func (export "sip_main") (result i32)
            i32.const 0 call $indirect
            i32.const 1 i64.const 2 i32.const 3 call $say i32.add
            i32.const 16 i32.load offset=4 i32.add)
        "#,
    )
}

#[test]
fn the_same_module_gives_the_same_bytes() {
    for mode in [MemoryMode::Guard, MemoryMode::Explicit] {
        let options = Options::sip(mode);
        let first = compile_with(&rich(), &options).to_elf().unwrap();
        for _ in 0..5 {
            assert!(compile_with(&rich(), &options).to_elf().unwrap() == first);
        }
    }
}

/// The tests of WebAssembly (`tests/wast`) look at every module of the test suite, too.
#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    let functions: String = (0..120)
        .map(|n| {
            format!(
                "(func $f{n} (param i32) (result i32) (i32.load8_u offset={n} (local.get 0))
                    (call $f{} (i32.const {n})) i32.add {})",
                (n * 31 + 7) % 120,
                "i32.const 3 i32.mul ".repeat(n % 13)
            )
        })
        .collect();
    let catches = "(tag $t) (func (export \"c\") (try_table (catch $t 0) (throw $t)))";
    let sealed = [rich(), sip(&format!("(memory 1) {functions} {MAIN}"))];
    let tail_calls = Options {
        tail_calls: true,
        ..Options::open(MemoryMode::Explicit)
    };
    let open = [
        format!("(module (memory 1) {functions} (export \"f\" (func $f3)))"),
        format!("(module {catches})"),
    ];
    let sealed = sealed.map(|wasm| (wasm, Options::default()));
    for (wasm, options) in sealed
        .into_iter()
        .chain(open.map(|text| (wat(&text), tail_calls)))
    {
        let on = |threads| {
            let threads = Some(threads);
            let work = crate::Work {
                threads,
                ..crate::Work::default()
            };
            let compiled = crate::compile_by(&wasm, &options, &work).unwrap();
            (compiled.to_elf().unwrap(), compiled.stats.functions)
        };
        let one = on(1);
        for threads in [0, 2, 8] {
            assert!(on(threads) == one, "{threads} threads");
        }
    }
}

#[test]
fn the_file_holds_what_was_compiled() {
    let compiled = compile(&rich());
    let file = compiled.to_elf().unwrap();
    let image = Image::decode(&file).unwrap();
    assert_eq!(image.code, compiled.code);
    assert_eq!(image.meta, compiled.meta);
    assert_eq!(image.manifest, compiled.manifest);
    assert_eq!(image.contracts, compiled.contracts);
    assert_eq!(image.contracts[0].name, "Echo");
    for cut in (0..file.len()).step_by(7) {
        let _ = Image::decode(&file[..cut]);
    }
}

#[test]
fn contracts_that_the_program_cannot_meet_are_left_out() {
    let contracts = "
        public contract Pipe {
            in message Write(uint a); out message Ack();
            state Start: Write? -> Ack! -> Start;
        }
        public contract Unused { in message Nothing(); state Start: Nothing? -> closed; }
        public contract Names {
            in message Bind(Pipe.Imp:Start where); out message Done();
            state Start: Bind? -> Done! -> Start;
        }
        public contract Started { in message Go(); state Start: Go? -> closed; }";
    let manifest = r#"{"name":"x","abi":1,
        "endpoints":[{"name":"e","contract":"Started","side":"exp"},{"name":"n","contract":"Names","side":"exp"}]}"#;
    let wasm = sip_with(
        manifest,
        contracts,
        r#"(import "contract:Names" "exp.recv" (func $recv (param i32 i32) (result i32)))
        (func (export "sip_main") (result i32) i32.const 1 i32.const 2 call $recv)"#,
    );
    let names: Vec<String> = compile(&wasm)
        .contracts
        .into_iter()
        .map(|c| c.name)
        .collect();
    assert_eq!(names, ["Pipe", "Names", "Started"]);
}

#[test]
fn functions_lie_apart_and_traps_inside_them() {
    let meta = compile(&rich()).meta;
    let mut end = 0;
    for func in &meta.funcs {
        assert!(
            func.offset >= end && func.offset.is_multiple_of(32),
            "{}",
            func.name
        );
        end = func.offset + func.size;
    }
    assert!(!meta.traps.is_empty());
    for (offset, _) in meta.traps.iter() {
        assert!(meta.func_at(offset).is_some(), "trap at {offset:#x}");
    }
    assert!(meta.max_frame >= 16);
}

#[test]
fn names_are_kept_or_made() {
    let meta = compile(&rich()).meta;
    let names: Vec<&str> = meta.funcs.iter().map(|f| &*f.name).collect();
    // An export's name is no function name; thunks have the names of their imports.
    assert_eq!(names, ["one", "indirect", "function 5", "yield", "self_id"]);
}

#[test]
fn references_to_imports_become_references_to_functions() {
    let meta = compile(&rich()).meta;
    // Imports 0 to 2, defined functions 3 to 5, then the thunks of yield (0) and self_id (1).
    let items = [
        ConstExpr::RefFunc(7),
        ConstExpr::RefFunc(3),
        ConstExpr::RefFunc(6),
    ];
    assert_eq!(meta.elements[0].items, items);
    assert_eq!(meta.export("sip_main"), Some(ExportKind::Func(5)));
    let exported = sip(r#"(import "sing_v1" "self_id" (func $id (result i32)))
        (import "sing_v1" "yield" (func $yield)) (start $yield) (export "sip_main" (func $id))"#);
    let meta = compile(&exported).meta;
    assert_eq!(meta.export("sip_main"), Some(ExportKind::Func(2)));
    assert_eq!((meta.start, meta.funcs.len()), (Some(3), 2));
}

#[test]
fn types_are_numbered_once() {
    let wasm = sip(&format!(
        "(type (func)) (type (func (param i32))) (type (func)) (type (func (param i32))) {MAIN}"
    ));
    assert_eq!(compile(&wasm).meta.canonical, [0, 1, 0, 1, 4]);
}

#[test]
fn the_context_record_has_room_for_everything() {
    let layout = compile(&rich()).meta.layout;
    assert_eq!(layout.globals, ctx::VARS as u32);
    assert!(layout.tables >= layout.globals + 2 * ctx::GLOBAL_CELL as u32);
    assert!(layout.size >= layout.tables + 8);
    assert!((layout.size as usize).is_multiple_of(ctx::ALIGN));
    assert_eq!((layout.func_imports, layout.signatures), (0, 0));
    let meta = open(
        r#"(import "a" "f" (func (param f32) (result f32))) (import "a" "t" (table 1 externref))
        (import "a" "m" (memory 1)) (import "a" "g" (global (mut i64)))
        (func (export "g") (result i64) global.get 0) (export "f" (func 0))"#,
    )
    .meta;
    let layout = meta.layout;
    let mut places = [
        layout.globals,
        layout.tables,
        layout.func_imports,
        layout.signatures,
    ];
    assert!(places.is_sorted() && layout.signatures + 4 * 2 <= layout.size);
    places.iter().for_each(|p| assert!(p.is_multiple_of(16)));
    places.sort_unstable();
    assert!(places.windows(2).all(|w| w[0] + 8 <= w[1]));
    // A trampoline for each exported function, the imported one too.
    let exported: Vec<u32> = meta.trampolines.iter().map(|t| t.0).collect();
    assert_eq!(exported, [0, 1]);
}

#[test]
fn options_are_recorded() {
    let wasm = sip(MAIN);
    for mode in [MemoryMode::Guard, MemoryMode::Explicit] {
        let meta = compile_with(&wasm, &Options::sip(mode)).meta;
        assert_eq!((meta.memory_mode, meta.linkage), (mode, Linkage::Sealed));
    }
    for cpu in [Cpu::Baseline, Cpu::V3] {
        let options = Options {
            cpu,
            ..Options::default()
        };
        let meta = compile_with(&wasm, &options).meta;
        assert_eq!(meta.cpu_features, cpu.features());
        assert!(meta.cpu_features.is_sorted());
    }
}

#[test]
fn wasm2_means_wasm2() {
    let atomics = wat("(module (memory 1) (func i32.const 0 i32.atomic.load drop))");
    let options = Options::open(MemoryMode::Guard);
    let e = crate::verify(&atomics, &options).expect_err("threads are not WebAssembly 2.0");
    assert!(e.to_string().contains("threads"), "{e}");
    let sip = Options {
        features: Features::Sip,
        ..options
    };
    assert!(crate::verify(&atomics, &sip).is_ok());
}

#[test]
fn open_modules_may_import_anything() {
    let compiled = open(
        r#"(import "x" "y" (func (param externref) (result funcref)))
        (import "sing_v1" "no such" (func))
        (func (export "go") (result funcref) ref.null extern call 0)"#,
    );
    assert_eq!(compiled.meta.imported_funcs(), 2);
    assert_eq!(compiled.meta.types[0].params, [ValType::ExternRef]);
    assert!(compiled.manifest.name.is_empty());
}

#[test]
fn constant_expressions_are_computed_once() {
    let fields = r#"(memory 1) (table 9 funcref)
        (global i32 (i32.sub (i32.mul (i32.const 65536) (i32.const 65537)) (i32.const 1)))
        (global (mut i64) (i64.add (i64.const -1) (i64.mul (i64.const 3) (i64.const 4))))
        (elem (offset (i32.add (i32.const 3) (i32.const 4))) func $f)
        (data (offset (i32.mul (i32.const 100) (i32.const 3))) "x")
        (func $f (result i32) (global.get 0))"#;
    let sealed = compile(&sip(&format!("{fields} {MAIN}")));
    let values: Vec<ConstExpr> = sealed.meta.globals.iter().map(|g| g.1).collect();
    assert_eq!(values, [ConstExpr::Bits(65_535), ConstExpr::Bits(11)]);
    assert_eq!(sealed.meta.initial[0].at, 300);
    assert_eq!(
        sealed.meta.elements[0].mode,
        SegmentMode::Active {
            target: 0,
            offset: ConstExpr::Bits(7)
        }
    );
    assert_eq!(sealed.meta.steps, []);
    // Those of another module's globals are left to the one who links, in the order of a stack
    // machine.
    let linked = open(
        r#"(import "m" "g" (global i32)) (global i32 (i32.sub (global.get 0) (i32.const 2)))"#,
    );
    assert_eq!(
        linked.meta.globals[0].1,
        ConstExpr::Computed { from: 0, len: 3 }
    );
    assert_eq!(
        linked.meta.steps,
        [
            ConstStep::Push(ConstExpr::Global(0)),
            ConstStep::Push(ConstExpr::Bits(2)),
            ConstStep::Sub32
        ]
    );
}

#[test]
fn constant_expressions_take_time_in_proportion() {
    // Nested to either side, a hundred thousand deep, with a value that is not known.
    let deep = |left: &str, right: &str| {
        let n = 100_000;
        let body = format!("{}global.get 0\n{}", left.repeat(n), right.repeat(n));
        open(&format!(
            r#"(import "m" "g" (global i32)) (global i32 {body})"#
        ))
    };
    let compiled = deep("i32.const 1\n", "i32.add\n");
    assert_eq!(compiled.meta.steps.len(), 200_001);
    let compiled = deep("", "i32.const 1\ni32.add\n");
    assert_eq!(compiled.meta.steps.len(), 200_001);
}

#[test]
fn equal_types_have_equal_numbers_whatever_they_refer_to() {
    let compiled = compile(&sip(&format!(
        r#"(type $a (func (param i32))) (type $b (func (param i32)))
        (type $c (func (param (ref $a)))) (type $d (func (param (ref $b)))) (type $e (func (param (ref null $b))))
        (type $f (func (result i64))) (type $g (func (param (ref $f)))) (type $h (func (param (ref $c))))
        (type $i (func (param (ref $d)))) {MAIN}"#
    )));
    assert_eq!(compiled.meta.canonical[..9], [0, 0, 2, 2, 4, 5, 6, 7, 7]);
}

#[test]
fn tables_start_with_a_value() {
    let compiled = compile(&sip(&format!(
        r#"(import "sing_v1" "yield" (func $yield)) (type $f (func))
        (table 1 funcref) (table 2 (ref $f) (ref.func $yield)) (table 3 externref (ref.null extern)) {MAIN}"#
    )));
    // A function of the module's own stands for the imported one.
    assert_eq!(
        compiled.meta.table_values,
        [(1, ConstExpr::RefFunc(2)), (2, ConstExpr::Null)]
    );
    assert_eq!(
        compiled.meta.tables[1].element,
        ValType::Typed {
            ty: 0,
            nullable: false
        }
    );
}

#[test]
fn the_manifest_of_an_older_image_is_told_from_a_broken_one() {
    let mut elf = compile(&sip(
        "(func (export \"sip_main\") (result i32) i32.const 0)",
    ))
    .to_elf()
    .unwrap();
    assert!(Sections::find(&elf).unwrap().manifest().is_ok());
    let meta = Sections::find(&elf).unwrap().meta.as_ptr().addr() - elf.as_ptr().addr();
    elf[meta] -= 1;
    let told = Sections::find(&elf).unwrap().manifest().unwrap_err();
    assert!(told.message.contains("it is older"), "{told:?}");
}
