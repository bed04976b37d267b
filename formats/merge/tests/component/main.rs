//! Components lowered and joined: how imports are followed, and what is said of what cannot run.

mod begins;
mod linked;
mod sends;

use sing_merge::{Error, Options, WasmFeatures, merge};
use std::time::Duration;
use wasmparser as wp;

const ADAPTER: &str = r#"(module
    (import "program" "run" (func $run (result i32)))
    (import "program" "realloc" (func $realloc (param i32 i32 i32 i32) (result i32)))
    (import "sing_v1" "process_exit" (func $exit (param i32)))
    (memory 1)
    (func (export "sip_main") (result i32) (call $run))
    (func (export "wasi:cli/environment#get-arguments") (param i32)
        (drop (call $realloc (i32.const 0) (i32.const 0) (i32.const 4) (i32.const 8))))
    (func (export "wasi:cli/exit#exit") (param i32) (call $exit (local.get 0)))
    (func (export "wasi:io/error#[method]error.to-debug-string") (param i32 i32))
    (func (export "resource-drop") (param i32))
    (func (export "fd_close") (param i32) (result i32) (i32.const 0))
    (@custom "singularity.manifest" "{\"name\": \"adapter\", \"memory\": 1, \"abi\": 1}")
)"#;

/// As tools make them: a program, a shim, and fix-ups; names within it mean nothing.
const COMPONENT: &str = r#"(component
    (import "wasi:cli/environment@0.2.3" (instance $env
        (export "get-arguments" (func (result (list string))))))
    (import "wasi:cli/exit@0.2.0" (instance $exit (export "exit" (func (param "status" (result))))))
    (import "wasi:io/error@0.2.6" (instance $error (export "error" (type (sub resource)))))
    (core module $main
        (import "a" "args" (func $args (param i32)))
        (import "b" "bye" (func $exit (param i32)))
        (import "b" "drop" (func $drop (param i32)))
        (memory (export "memory") 1)
        (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 1024))
        (func (export "_initialize") (call $exit (i32.const 7)))
        (func (export "begin") (result i32)
            (call $args (i32.const 16)) (call $drop (i32.const 1)) (i32.const 0)))
    (core module $shim
        (type $t (func (param i32)))
        (table (export "$imports") 1 1 funcref)
        (func (export "0") (param i32) (call_indirect (type $t) (local.get 0) (i32.const 0))))
    (core module $fix
        (import "" "0" (func (param i32)))
        (import "" "$imports" (table 1 1 funcref))
        (elem (i32.const 0) func 0))
    (core instance $s (instantiate $shim))
    (alias core export $s "0" (core func $late))
    (alias export $exit "exit" (func $exit_))
    (core func $exit__ (canon lower (func $exit_)))
    (alias export $error "error" (type $error_))
    (core func $drop (canon resource.drop $error_))
    (core instance $a (export "args" (func $late)))
    (core instance $b (export "bye" (func $exit__)) (export "drop" (func $drop)))
    (core instance $m (instantiate $main (with "a" (instance $a)) (with "b" (instance $b))))
    (alias core export $m "memory" (core memory $memory))
    (alias core export $m "cabi_realloc" (core func $realloc))
    (alias export $env "get-arguments" (func $get))
    (core func $lowered (canon lower (func $get) (memory $memory) (realloc $realloc)))
    (alias core export $s "$imports" (core table $table))
    (core instance $fixes (export "0" (func $lowered)) (export "$imports" (table $table)))
    (core instance (instantiate $fix (with "" (instance $fixes))))
    (alias core export $m "begin" (core func $begin))
    (func $run (result (result)) (canon lift (core func $begin)))
    (instance $r (export "run" (func $run)))
    (export "wasi:cli/run@0.2.0" (instance $r)))"#;

fn features() -> WasmFeatures {
    WasmFeatures::WASM2 | WasmFeatures::MULTI_MEMORY
}

fn joined(program: &str, adapter: &str) -> Result<Vec<u8>, Error> {
    let options = Options {
        features: features(),
        name: None,
        memory: None,
    };
    let wasm = |text: &str| wat::parse_str(text).expect(text);
    let merged = merge(&wasm(program), &wasm(adapter), &options)?;
    let mut validator = wp::Validator::new_with_features(features());
    validator
        .validate_all(&merged)
        .expect("the merged module is valid");
    Ok(merged)
}

fn refusal(program: &str) -> String {
    joined(program, ADAPTER)
        .expect_err("is refused")
        .to_string()
}

/// The functions that each function of a module calls, of those that it defines.
fn calls(wasm: &[u8]) -> Vec<Vec<u32>> {
    let payloads = wp::Parser::new(0).parse_all(wasm);
    let bodies = payloads.filter_map(|payload| match payload.unwrap() {
        wp::Payload::CodeSectionEntry(body) => Some(body),
        _ => None,
    });
    bodies
        .map(|body| {
            let operators = body.get_operators_reader().unwrap().into_iter();
            let called = operators.filter_map(|operator| match operator.unwrap() {
                wp::Operator::Call { function_index } => Some(function_index),
                _ => None,
            });
            called.collect()
        })
        .collect()
}

#[test]
fn imports_are_followed_through_instances_and_the_shim() {
    let merged = joined(COMPONENT, ADAPTER).unwrap();
    // The kernel's function; the program's three; the adapter's six; read, write, size, start, run, realloc.
    let (program, adapter) = (1, 4);
    let [arguments, exit, drop] = [adapter + 1, adapter + 2, adapter + 4];
    let [_, _, _, _, run, realloc] = [10, 11, 12, 13, 14, 15];
    assert_eq!(
        calls(&merged),
        [
            vec![],
            vec![exit],
            vec![arguments, drop],
            vec![run],
            vec![realloc],
            vec![0],
            vec![],
            vec![],
            vec![],
            vec![],
            vec![],
            vec![],
            vec![program + 2],
            vec![program + 2],
            vec![program],
        ]
    );
}

/// The number of the stub that runs [`COMPONENT`], of the functions that the merged module defines.
const RUN: usize = 13;

/// A module that has a start only, as tools make it.
fn with_start(component: &str, function: &str) -> String {
    let start = format!(
        r#"(core module $starts (import "" "" (func)) (start 0))
        (core instance $begins (export "" (func {function})))
        (core instance (instantiate $starts (with "" (instance $begins))))
        (alias core export $m "begin" (core func $begin))"#
    );
    component.replace(
        "(alias core export $m \"begin\" (core func $begin))",
        &start,
    )
}

/// Fix-ups that start, too.
fn with_start_of_fixups(component: &str, name: &str) -> String {
    component
        .replace(
            "(import \"\" \"$imports\" (table 1 1 funcref))\n        (elem",
            &format!("(import \"m\" \"{name}\" (func $i)) (import \"\" \"$imports\" (table 1 1 funcref)) (start $i) (elem"),
        )
        .replace(
            "(instantiate $fix (with \"\" (instance $fixes)))",
            "(instantiate $fix (with \"\" (instance $fixes)) (with \"m\" (instance $m)))",
        )
}

/// What other modules of a component start with, and nothing else, runs before it.
#[test]
fn what_a_component_starts_with_runs_first() {
    let run = |component: &str| calls(&joined(component, ADAPTER).unwrap())[RUN].clone();
    let [exit, initialize, begin] = [6, 2, 3];
    assert_eq!(run(COMPONENT), [begin]);
    let alias =
        "(alias core export $m \"_initialize\" (core func $init))\n(alias core export $m \"begin\"";
    let aliased = COMPONENT.replace("(alias core export $m \"begin\"", alias);
    let one = with_start(&aliased, "$init");
    assert_eq!(run(&one), [initialize, begin]);
    let fixups = with_start_of_fixups(COMPONENT, "_initialize");
    assert_eq!(run(&fixups), [initialize, begin]);
    // Without a shim.
    let plain = COMPONENT.replace("(core func $late))", "(core func $late_))");
    let lowered = "(canon lower (func $get) (memory $memory) (realloc $realloc))";
    let before = "(core func $late (canon lower (func $get)))";
    let plain = plain
        .replace("(result (list string))", "(result u32)")
        .replace("(func $args (param i32))", "(func $args (result i32))")
        .replace("(call $args (i32.const 16))", "(drop (call $args))")
        .replace(lowered, "(canon lower (func $get))");
    let cut = |text: &str, from: &str, to: &str| {
        let (first, rest) = text.split_once(from).expect(from);
        let (_, last) = rest.split_once(to).expect(to);
        format!("{first}{to}{last}")
    };
    let plain = cut(&plain, "(core module $shim", "(core instance $s ");
    let plain = cut(&plain, "(core instance $s ", "(alias export $exit");
    let plain = cut(
        &plain,
        "(alias export $env",
        "(alias core export $m \"begin\"",
    );
    let get =
        format!("(alias export $env \"get-arguments\" (func $get)) {before} (core instance $a (");
    let plain = plain.replace("(core instance $a (", &get);
    let plain = plain.replace("(alias core export $m \"begin\"", alias);
    let adapter = ADAPTER
        .replace(
            "(func (export \"wasi:cli/environment#get-arguments\") (param i32)",
            "(func (export \"wasi:cli/environment#get-arguments\") (result i32)",
        )
        .replace(
            "(i32.const 4) (i32.const 8))))",
            "(i32.const 4) (i32.const 8))) (i32.const 0))",
        );
    let merged = joined(&with_start(&plain, "$init"), &adapter).unwrap();
    assert_eq!(calls(&merged)[RUN], [initialize, begin]);
    // A start of the program's own, and constructors of another name.
    let own = COMPONENT.replace(
        "(memory (export \"memory\") 1)\n        (func (export \"cabi",
        "(memory (export \"memory\") 1) (start $exit0) (func $exit0 (export \"constructors\"))
        (func (export \"cabi",
    );
    let both = with_start_of_fixups(&own, "constructors");
    let [constructors, begin] = [1, 4];
    assert_eq!(run(&both), [constructors, constructors, begin]);
    assert_eq!(run(&own), [constructors, begin]);
    assert_eq!(calls(&joined(COMPONENT, ADAPTER).unwrap())[1], [exit]);
}

/// A start that is not the program's is a reason.
#[test]
fn a_start_that_is_not_the_programs_is_refused() {
    let import = "(import \"wasi:io/error@0.2.6\" (instance $error (export \"error\" (type (sub resource)))))";
    let other = COMPONENT.replace(
        import,
        &format!("{import} (import \"acme:a/b@1.0.0\" (instance $acme (export \"begin\" (func))))"),
    );
    let other = other.replace(
        "(alias core export $m \"begin\"",
        "(alias export $acme \"begin\" (func $acme_)) (core func $init (canon lower (func $acme_)))
        (alias core export $m \"begin\"",
    );
    let said = refusal(&with_start(&other, "$init"));
    assert!(
        said.contains("starts with a function that is not its program's own"),
        "{said}"
    );
}

/// The component with a library in the program's memory.
fn with_library() -> String {
    COMPONENT.replace(
        "(alias core export $m \"cabi_realloc\"",
        "(core module $library (import \"env\" \"memory\" (memory 0)) (func (export \"f\")))
        (core instance $env_ (export \"memory\" (memory $memory)))
        (core instance (instantiate $library (with \"env\" (instance $env_))))
        (alias core export $m \"cabi_realloc\"",
    )
}

/// A library in the program's memory is no adapter of preview 1: both are linked.
#[test]
fn libraries_in_the_programs_memory_are_linked() {
    let alone = calls(&joined(COMPONENT, ADAPTER).unwrap());
    let linked = calls(&joined(&with_library(), ADAPTER).unwrap());
    assert_eq!(linked.len(), alone.len() + 1);
    // The program's `begin` is its third function here as there, and calls the adapter's, one further.
    let further: Vec<u32> = alone[2].iter().map(|function| function + 1).collect();
    assert_eq!(linked[2], further);
    // The adapter's `run` calls it.
    assert!(linked.iter().any(|calls| calls.contains(&3)), "{linked:?}");
    // What begins in one is no program between preview 1 and 0.2.
    let begins = with_library()
        .replace(
            "(func (export \"f\"))",
            "(func (export \"f\") (result i32) (i32.const 0))",
        )
        .replace(
            "(core instance (instantiate $library",
            "(core instance $l (instantiate $library",
        )
        .replace(
            "(alias core export $m \"begin\"",
            "(alias core export $l \"f\"",
        );
    let linked = calls(&joined(&begins, ADAPTER).unwrap());
    assert!(linked.iter().any(|calls| calls.contains(&4)), "{linked:?}");
    // Fix-ups of a table that is no shim's.
    let filled = COMPONENT
        .replace("(func (export \"begin\")", "(table (export \"$imports\") 1 1 funcref) (func (export \"begin\")")
        .replace("(alias core export $s \"$imports\" (core table $table))",
            "(alias core export $s \"$imports\" (core table $table))
            (alias core export $m \"$imports\" (core table $other))
            (core instance $others (export \"0\" (func $lowered)) (export \"$imports\" (table $other)))
            (core instance (instantiate $fix (with \"\" (instance $others))))");
    joined(&filled, ADAPTER).unwrap();
}

/// What a component's own modules do when it is made happens when all of it is there.
#[test]
fn a_library_that_starts_before_others_have_their_data_is_refused() {
    let starts = with_library().replace(
        "(func (export \"f\")))",
        "(func (export \"f\")) (start 0))
        (core module $behind (import \"env\" \"memory\" (memory 0)) (data (i32.const 0) \"a\"))",
    );
    joined(&starts, ADAPTER).unwrap();
    let behind = starts.replace(
        "(alias core export $m \"cabi_realloc\"",
        "(core instance (instantiate $behind (with \"env\" (instance $env_))))
        (alias core export $m \"cabi_realloc\"",
    );
    let said = refusal(&behind);
    assert!(
        said.contains("has a module that starts before the data of another one is there"),
        "{said}"
    );
}

/// The time that this thread has had a processor; none where Linux does not say it.
fn processor_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let ns = text.split_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(ns))
}

/// Many imports take time in proportion to their number, whether they are there or not.
#[test]
fn many_imports_take_bounded_time() {
    const MANY: u32 = 30_000;
    let each = |text: &dyn Fn(u32) -> String| (0..MANY).map(text).collect::<String>();
    let component = |function: &dyn Fn(u32) -> String| {
        format!(
            r#"(component
            (import "wasi:cli/exit@0.2.0" (instance $exit {}))
            (core module $main {} (memory (export "memory") 1)
                (func (export "begin") (result i32) (i32.const 0)))
            (core module $shim (type $t (func (param i32)))
                (table (export "$imports") {MANY} {MANY} funcref) {})
            (core module $fix {} (import "" "$imports" (table {MANY} {MANY} funcref))
                (elem (i32.const 0) func {}))
            (core instance $s (instantiate $shim))
            {}
            (core instance $a {})
            (core instance $m (instantiate $main (with "a" (instance $a))))
            {}
            (alias core export $s "$imports" (core table $table))
            (core instance $x {} (export "$imports" (table $table)))
            (core instance (instantiate $fix (with "" (instance $x))))
            (alias core export $m "begin" (core func $begin))
            (func $run (result (result)) (canon lift (core func $begin)))
            (instance $r (export "run" (func $run)))
            (export "wasi:cli/run@0.2.0" (instance $r)))"#,
            match function(0) == function(1) {
                true => format!(
                    "(export \"{}\" (func (param \"status\" (result))))",
                    function(0)
                ),
                false => each(&|i| format!(
                    "(export \"{}\" (func (param \"status\" (result))))",
                    function(i)
                )),
            },
            each(&|i| format!("(import \"a\" \"{i}\" (func (param i32)))")),
            each(&|i| format!(
                "(func (export \"{i}\") (param i32)
                    (call_indirect (type $t) (local.get 0) (i32.const {i})))"
            )),
            each(&|i| format!("(import \"\" \"{i}\" (func (param i32)))")),
            each(&|i| format!("{i} ")),
            each(&|i| format!("(alias core export $s \"{i}\" (core func $l{i}))")),
            each(&|i| format!("(export \"{i}\" (func $l{i}))")),
            each(&|i| format!(
                "(alias export $exit \"{}\" (func $e{i})) (core func $w{i} (canon lower (func $e{i})))",
                function(i)
            )),
            each(&|i| format!("(export \"{i}\" (func $w{i}))")),
        )
    };
    let adapter = wat::parse_str(ADAPTER).unwrap();
    let options = Options {
        features: features(),
        name: None,
        memory: None,
    };
    let there = wat::parse_str(component(&|_| "exit".into())).unwrap();
    let lacking = wat::parse_str(component(&|i| format!("exit-n{i}"))).unwrap();
    let library = "(core module $library (import \"env\" \"memory\" (memory 0)))
        (alias core export $m \"memory\" (core memory $memory))
        (core instance $env (export \"memory\" (memory $memory)))
        (core instance (instantiate $library (with \"env\" (instance $env))))
        (alias core export $m \"begin\"";
    let linked = |text: String| text.replace("(alias core export $m \"begin\"", library);
    let of_two = wat::parse_str(linked(component(&|_| "exit".into()))).unwrap();
    let lacking_of_two = wat::parse_str(linked(component(&|i| format!("exit-n{i}")))).unwrap();
    let all = [
        (there, true),
        (lacking, false),
        (of_two, true),
        (lacking_of_two, false),
    ];
    for (component, runs) in all {
        let start = processor_time();
        let merged = merge(&component, &adapter, &options);
        let end = processor_time();
        assert_eq!(
            merged.is_ok(),
            runs,
            "{:?}",
            merged
                .err()
                .map(|e| e.to_string().chars().take(200).collect::<String>())
        );
        if let Some((start, end)) = start.zip(end) {
            let took = end.saturating_sub(start);
            println!("{MANY} imports: {took:?}");
            let bounded = took < Duration::from_secs(2) || cfg!(debug_assertions);
            assert!(bounded, "{took:?}");
        }
    }
}

/// Preview 1 by an adapter within the component: it is left out, and its functions are this system's.
#[test]
fn an_adapter_of_preview_1_is_left_out() {
    let component = r#"(component
        (core module $main
            (import "wasi_snapshot_preview1" "fd_close" (func $close (param i32) (result i32)))
            (memory (export "memory") 1)
            (func (export "_start") (drop (call $close (i32.const 3)))))
        (core module $between
            (import "env" "memory" (memory 0))
            (import "__main_module__" "_start" (func $start))
            (func (export "fd_close") (param i32) (result i32) (i32.const 8))
            (func (export "wasi:cli/run@0.2.3#run") (result i32) (call $start) (i32.const 0)))
        (core module $shim
            (type $t (func (param i32) (result i32)))
            (table (export "$imports") 1 1 funcref)
            (func (export "0") (param i32) (result i32)
                (call_indirect (type $t) (local.get 0) (i32.const 0))))
        (core module $fix
            (import "" "0" (func (param i32) (result i32)))
            (import "" "$imports" (table 1 1 funcref))
            (elem (i32.const 0) func 0))
        (core instance $s (instantiate $shim))
        (alias core export $s "0" (core func $late))
        (core instance $wasi (export "fd_close" (func $late)))
        (core instance $m (instantiate $main (with "wasi_snapshot_preview1" (instance $wasi))))
        (alias core export $m "memory" (core memory $memory))
        (core instance $env (export "memory" (memory $memory)))
        (core instance $b (instantiate $between
            (with "env" (instance $env)) (with "__main_module__" (instance $m))))
        (alias core export $b "fd_close" (core func $close))
        (alias core export $s "$imports" (core table $table))
        (core instance $fixes (export "0" (func $close)) (export "$imports" (table $table)))
        (core instance (instantiate $fix (with "" (instance $fixes))))
        (alias core export $b "wasi:cli/run@0.2.3#run" (core func $run_))
        (func $run (result (result)) (canon lift (core func $run_)))
        (instance $r (export "run" (func $run)))
        (export "wasi:cli/run@0.2.3" (instance $r)))"#;
    let merged = joined(component, ADAPTER).unwrap();
    // `_start` calls the adapter's `fd_close`, and `run` calls `_start`.
    assert_eq!(calls(&merged)[0], [7]);
    assert_eq!(calls(&merged)[11], [1]);
}

/// All that a component lacks is said at once.
#[test]
fn what_a_component_lacks_is_named() {
    let unknown = COMPONENT
        .replace("wasi:cli/environment@0.2.3", "acme:db/store@1.2.0")
        .replace("wasi:cli/exit@0.2.0", "wasi:cli/exit@0.3.0")
        .replace("wasi:io/error@0.2.6", "wasi:io/streams@0.2.6")
        .replace("wasi:cli/run@0.2.0", "acme:db/migrate");
    assert_eq!(
        refusal(&unknown),
        "cannot run here, for 2 reasons:\n  \
         imports 2 things that this system does not have:\n    \
         acme:db/store@1.2.0: get-arguments; this system has no such interface\n    \
         wasi:cli/exit@0.3.0: exit; this system has version 0.2 of it\n  \
         exports no wasi:cli/run@0.2, where a program begins; it exports acme:db/migrate"
    );
    let other = COMPONENT.replace("\"get-arguments\"", "\"get-weather\"");
    assert_eq!(
        refusal(&other),
        "imports what this system does not have:\n  \
         wasi:cli/environment@0.2.3: get-weather; the interface here has no such function"
    );
    let typed = COMPONENT
        .replace("(result (list string))", "(result u32)")
        .replace("(func $args (param i32))", "(func $args (result i32))");
    let typed = typed
        .replace("(call $args (i32.const 16))", "(drop (call $args))")
        .replace("(func (param i32)))\n        (table", "(func (result i32)))\n        (table")
        .replace(
            "(func (export \"0\") (param i32) (call_indirect (type $t) (local.get 0) (i32.const 0)))",
            "(func (export \"0\") (result i32) (call_indirect (type $t) (i32.const 0)))",
        )
        .replace("(import \"\" \"0\" (func (param i32)))", "(import \"\" \"0\" (func (result i32)))");
    let said = refusal(&typed);
    assert!(said.contains("is imported as"), "{said}");
}

#[test]
fn features_and_forms_that_are_not_there_are_named_together() {
    let many = COMPONENT
        .replace("(memory (export \"memory\") 1)", "(memory (export \"memory\") 1) (memory 1)")
        .replace(
            "(func (export \"_initialize\")",
            "(type (struct (field i32))) (func (export \"tail\") (param i32) (return_call $exit (local.get 0))) (func (export \"_initialize\")",
        )
        .replace("(memory $memory) (realloc", "string-encoding=utf16 (memory $memory) (realloc");
    let said = refusal(&many);
    for part in [
        "cannot run here, for 4 reasons:",
        "uses garbage collection",
        "uses tail calls",
        "has strings in UTF-16",
        "has 2 memories",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let two = COMPONENT.replace(
        "(core instance $s (instantiate $shim))",
        "(core module $other (memory 1)) (core instance (instantiate $other)) (core instance $s (instantiate $shim))",
    );
    let said = refusal(&two);
    assert!(
        said.contains("has 2 memories in modules that work together"),
        "{said}"
    );
    let composed = "(component (component $c (core module (memory 1))))";
    let said = refusal(composed);
    assert!(said.contains("is composed of 1 component"), "{said}");
    let empty = refusal("(component)");
    assert!(
        empty.contains("has no module in which a program could be"),
        "{empty}"
    );
    let handler = ADAPTER.replace(
        "(import \"program\" \"run\" (func $run (result i32)))",
        "(import \"program\" \"handle\" (func $handle (param i32 i32)))",
    );
    let handler = handler.replace(
        "(call $run)",
        "(call $handle (i32.const 1) (i32.const 2)) (i32.const 0)",
    );
    let said = joined(COMPONENT, &handler).unwrap_err().to_string();
    assert!(said.contains("`sing run` runs it"), "{said}");
}

/// Of a module, too, all reasons come at once.
#[test]
fn a_module_that_cannot_run_says_all_reasons() {
    let said = refusal(
        r#"(module
            (import "env" "jump" (func))
            (import "wasi_snapshot_preview1" "fd_open" (func (param i32)))
            (type (struct))
            (memory i64 1))"#,
    );
    for part in [
        "cannot run here, for",
        "uses garbage collection",
        "uses memories with addresses of 64 bits",
        "imports 2 things",
        "\n    wasi_snapshot_preview1.fd_open: there is no such function here",
        "it is a library",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

/// Whatever the bytes, there is an answer.
#[test]
fn changed_components_are_joined_or_refused() {
    let wasm = |text: &str| wat::parse_str(text).unwrap();
    let adapter = wasm(ADAPTER);
    let options = Options {
        features: features(),
        name: None,
        memory: None,
    };
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    for component in [wasm(COMPONENT), wasm(&with_library())] {
        let mut joined = 0;
        for _ in 0..2_500 {
            let mut changed = component.clone();
            for _ in 0..=random(3) {
                let at = 8 + random(changed.len() - 8);
                match random(3) {
                    0 => changed[at] = random(256) as u8,
                    1 => changed[at] = changed[at].wrapping_add(1),
                    _ => changed.truncate(at.max(9)),
                }
            }
            joined += usize::from(merge(&changed, &adapter, &options).is_ok());
        }
        // A name changed within it means nothing.
        assert!(joined > 2, "{joined} were joined");
    }
}
