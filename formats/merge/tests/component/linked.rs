//! Components of several modules that are linked: what is bound to what, and what is refused.

use super::*;

/// The component with more in it, behind the instance of the program.
fn with(more: &str) -> String {
    let place = "(alias core export $m \"cabi_realloc\"";
    COMPONENT.replace(place, &format!("{more} {place}"))
}

/// The segments of functions of a module: whether each is active, and its functions.
fn segments(wasm: &[u8]) -> Vec<(bool, Vec<u32>)> {
    let mut found = Vec::new();
    for payload in wp::Parser::new(0).parse_all(wasm) {
        let wp::Payload::ElementSection(section) = payload.unwrap() else {
            continue;
        };
        for segment in section {
            let segment = segment.unwrap();
            let wp::ElementItems::Functions(functions) = segment.items else {
                panic!("it has expressions");
            };
            let functions = functions.into_iter().map(Result::unwrap).collect();
            let active = matches!(segment.kind, wp::ElementKind::Active { .. });
            found.push((active, functions));
        }
    }
    found
}

/// Code names the segments of its own module, though others export functions.
#[test]
fn segments_of_functions_are_those_of_their_modules() {
    let mut more = String::from("(core instance $env_ (export \"memory\" (memory $memory)))");
    for (name, functions) in [("one", 2), ("two", 3), ("three", 4)] {
        more += &format!(
            "(core module ${name} (import \"env\" \"memory\" (memory 0)) (table 9 funcref)
                (func $f (export \"f\")) (elem func {})
                (func (table.init 0 (i32.const 0) (i32.const 0) (i32.const {functions})) (elem.drop 0)))
            (core instance (instantiate ${name} (with \"env\" (instance $env_))))",
            "$f ".repeat(functions)
        );
    }
    let linked = joined(&with(&more), ADAPTER).unwrap();
    let segments = segments(&linked);
    let mut lengths = Vec::new();
    for payload in wp::Parser::new(0).parse_all(&linked) {
        let wp::Payload::CodeSectionEntry(body) = payload.unwrap() else {
            continue;
        };
        let mut length = 0;
        for operator in body.get_operators_reader().unwrap() {
            match operator.unwrap() {
                wp::Operator::I32Const { value } => length = value as usize,
                wp::Operator::TableInit { elem_index, .. } => {
                    assert_eq!(segments[elem_index as usize].1.len(), length);
                    lengths.push((elem_index, length));
                }
                wp::Operator::ElemDrop { elem_index } => {
                    assert_eq!(lengths.last(), Some(&(elem_index, length)));
                }
                _ => {}
            }
        }
    }
    assert_eq!(lengths, [(0, 2), (1, 3), (2, 4)]);
}

/// A module twice would be there twice, with all that it has.
#[test]
fn a_module_that_is_instantiated_twice_is_refused() {
    let instance = "(core instance (instantiate $library (with \"env\" (instance $env_))))";
    let twice = with_library().replace(instance, &instance.repeat(2));
    let said = refusal(&twice);
    assert!(
        said.contains("instantiates one module several times"),
        "{said}"
    );
}

/// A terminal obeys nothing in the names of what cannot be linked.
#[test]
fn names_of_imports_that_cannot_be_linked_are_escaped() {
    let hostile = "evil\\1b[2J\\nsing: all is well";
    let said = refusal(&with(&format!(
        "(type $own (resource (rep i32))) (core func $new (canon resource.new $own))
        (core module $library (import \"env\" \"memory\" (memory 0))
            (import \"{hostile}\" \"{hostile}\" (func (param i32) (result i32))))
        (core instance $env_ (export \"memory\" (memory $memory)))
        (core instance $new_ (export \"{hostile}\" (func $new)))
        (core instance (instantiate $library
            (with \"env\" (instance $env_)) (with \"{hostile}\" (instance $new_))))"
    )));
    assert!(said.contains("needs resources of its own"), "{said}");
    assert!(said.contains("evil\\u{1b}[2J\\nsing: all"), "{said}");
    let obeyed = |line: &str| line.contains(char::is_control) || line.starts_with("sing:");
    assert!(!said.lines().any(obeyed), "{said:?}");
}

/// Each function that makes room is looked for where another is needed: there are few.
#[test]
fn functions_that_make_room_are_few() {
    let each =
        |many: usize, text: &dyn Fn(usize) -> String| (0..many).map(text).collect::<String>();
    let rooms = |many: usize| {
        with(&format!(
            "(alias export $env \"get-arguments\" (func $get_)) {}
            (core instance $env_ (export \"memory\" (memory $memory)))
            (core instance $e {})
            (core module $library (import \"env\" \"memory\" (memory 0)) {})
            (core instance (instantiate $library (with \"env\" (instance $env_)) (with \"e\" (instance $e))))",
            each(many, &|i| format!(
                "(alias core export $m \"r{i}\" (core func $r{i}))
                (core func $w{i} (canon lower (func $get_) (memory $memory) (realloc $r{i})))"
            )),
            each(many, &|i| format!("(export \"{i}\" (func $w{i}))")),
            each(many, &|i| format!("(import \"e\" \"{i}\" (func (param i32)))")),
        ))
        .replace(
            "(func (export \"_initialize\")",
            &format!(
                "{} (func (export \"_initialize\")",
                each(many, &|i| format!(
                    "(func (export \"r{i}\") (param i32 i32 i32 i32) (result i32) (i32.const {i}))"
                ))
            ),
        )
    };
    // With the program's own.
    joined(&rooms(63), ADAPTER).unwrap();
    let said = refusal(&rooms(64));
    let why = "is called with one of more than 64 functions that make room";
    assert!(said.contains(why), "{said}");
}

/// Where a call through the shim's table would trap, there is no call to a function of another type.
#[test]
fn functions_of_another_type_are_not_called() {
    let other = with_library()
        .replace(
            "(core instance (instantiate $library",
            "(core instance $l (instantiate $library",
        )
        .replace(
            "(core module $fix\n        (import \"\" \"0\" (func (param i32)))",
            "(core module $fix (import \"\" \"0\" (func))",
        )
        .replace(
            "(core instance $fixes (export \"0\" (func $lowered))",
            "(alias core export $l \"f\" (core func $f))
            (core instance $fixes (export \"0\" (func $f))",
        );
    let said = refusal(&other);
    let why = "a.args: is imported with other parameters or results than it has";
    assert!(said.contains(why), "{said}");
    let same = other
        .replace(
            "(import \"\" \"0\" (func))",
            "(import \"\" \"0\" (func (param i32)))",
        )
        .replace("(func (export \"f\"))", "(func (export \"f\") (param i32))");
    joined(&same, ADAPTER).unwrap();
}

/// What starts a component and what makes room is a module's own, though others pass functions on.
#[test]
fn functions_of_interfaces_that_are_passed_on_neither_start_nor_make_room() {
    let import = "(import \"wasi:io/error@0.2.6\"";
    let more = "(alias export $acme \"begin\" (func $begin_)) (alias export $acme \"room\" (func $room_))
        (core func $begin__ (canon lower (func $begin_))) (core func $room__ (canon lower (func $room_)))
        (core instance $e (export \"begin\" (func $begin__)) (export \"room\" (func $room__)))
        (core module $library (import \"env\" \"memory\" (memory 0))
            (import \"e\" \"begin\" (func $b)) (export \"begin\" (func $b))
            (import \"e\" \"room\" (func $r (param i32 i32 i32 i32) (result i32))) (export \"room\" (func $r)))
        (core instance $env_ (export \"memory\" (memory $memory)))
        (core instance $l (instantiate $library (with \"env\" (instance $env_)) (with \"e\" (instance $e))))
        (alias core export $l \"begin\" (core func $init)) (alias core export $l \"room\" (core func $room))";
    let linked = with(more).replace(
        import,
        &format!(
            "(import \"acme:a/b@1.0.0\" (instance $acme (export \"begin\" (func))
                (export \"room\" (func (param \"a\" u32) (param \"b\" u32) (param \"c\" u32) (param \"d\" u32)
                    (result u32))))) {import}"
        ),
    );
    let said = refusal(&linked);
    assert!(said.contains("this system has no such interface"), "{said}");
    let why = "begins with a function that is not its program's own";
    assert!(!said.contains(why), "{said}");
    let said = refusal(&with_start(&linked, "$init"));
    assert!(said.contains(why), "{said}");
    let said = refusal(&linked.replace("(realloc $realloc)", "(realloc $room)"));
    assert!(
        said.contains("is called with a function that makes room which is no module's own"),
        "{said}"
    );
}

/// Fix-ups fill the table that their segment names, whatever else they are given.
#[test]
fn fixups_fill_the_table_that_they_name() {
    let table = "(table (export \"$imports\") 1 1 funcref) (func (export \"begin\")";
    let component = COMPONENT.replace("(func (export \"begin\")", table);
    let fixups = "(core instance (instantiate $fix (with \"\" (instance $fixes))))";
    let others = component.replace(
        fixups,
        &format!(
            "{fixups}
            (core module $fill (import \"s\" \"0\" (func (param i32))) (import \"s\" \"$imports\" (table 1 1 funcref))
                (import \"\" \"$imports\" (table $t 1 1 funcref)) (elem (table $t) (i32.const 0) func 0))
            (core instance (instantiate $fill (with \"s\" (instance $s)) (with \"\" (instance $m))))"
        ),
    );
    // It imports the shim's table, too, of which nothing is left.
    let said = refusal(&others);
    assert!(
        said.contains("s.$imports: is the table of a module that only passes calls on"),
        "{said}"
    );
    let others = others.replace("(import \"s\" \"$imports\" (table 1 1 funcref))\n", "");
    let linked = joined(&others, ADAPTER).unwrap();
    let arguments = calls(&linked)[2][0];
    assert!(segments(&linked).contains(&(true, vec![arguments])));
    let said = refusal(&component.replace(fixups, &fixups.repeat(2)));
    assert!(
        said.contains("has a shim whose table is filled twice"),
        "{said}"
    );
}

/// No constant is made with a value that is known only when the component runs.
#[test]
fn constants_that_are_not_known_are_refused_by_name() {
    let constant = |ty: &str| {
        with(&format!(
            "(alias core export $m \"g\" (core global $g))
            (core instance $env_ (export \"memory\" (memory $memory)) (export \"g\" (global $g)))
            (core module $library (import \"env\" \"memory\" (memory 0)) (import \"env\" \"g\" (global {ty}))
                (global {ty} (global.get 0)))
            (core instance (instantiate $library (with \"env\" (instance $env_))))"
        ))
        .replace(
            "(func (export \"_initialize\")",
            &format!("(global (export \"g\") {ty} ({ty}.const 7)) (func (export \"_initialize\")"),
        )
    };
    joined(&constant("i32"), ADAPTER).unwrap();
    for ty in ["i64", "f32", "f64"] {
        let said = refusal(&constant(ty));
        let why = "env.g: a segment or global is made with its value, which is not known before";
        assert!(said.contains(why), "{said}");
    }
}

/// Linking takes time in proportion to what there is: imports that lead nowhere, of which the first ones
/// are named, and constants before many modules.
#[test]
fn linking_takes_time_in_proportion() {
    const MANY: usize = 30_000;
    const MODULES: usize = 400;
    let each =
        |many: usize, text: &dyn Fn(usize) -> String| (0..many).map(text).collect::<String>();
    let component = |globals: &str, more: &str| {
        wat::parse_str(format!(
            r#"(component
            (core module $main (memory (export "memory") 1) {globals}
                (func (export "begin") (result i32) (i32.const 0)))
            (core instance $m (instantiate $main))
            (alias core export $m "memory" (core memory $memory))
            (core instance $env (export "memory" (memory $memory)))
            {more}
            (alias core export $m "begin" (core func $begin))
            (func $run (result (result)) (canon lift (core func $begin)))
            (instance $r (export "run" (func $run)))
            (export "wasi:cli/run@0.2.0" (instance $r)))"#
        ))
        .unwrap()
    };
    let builtins = format!(
        r#"(type $own (resource (rep i32))) (core func $new (canon resource.new $own))
        (core module $library (import "env" "memory" (memory 0)) {})
        (core instance $a {})
        (core instance (instantiate $library (with "env" (instance $env)) (with "a" (instance $a))))"#,
        each(MANY, &|i| format!(
            "(import \"a\" \"{i}\" (func (param i32) (result i32)))"
        )),
        each(MANY, &|i| format!("(export \"{i}\" (func $new))")),
    );
    let modules = each(MODULES, &|i| {
        format!(
            "(core module $l{i} (import \"env\" \"memory\" (memory 0)) (func))
            (core instance (instantiate $l{i} (with \"env\" (instance $env))))"
        )
    });
    let globals = "(global i32 (i32.const 1))".repeat(MANY);
    let more = format!(
        "and {} more of its modules' imports cannot be linked",
        MANY - 100
    );
    let all = [
        (component("", &builtins), Some(more)),
        (component(&globals, &modules), None),
    ];
    let adapter = wat::parse_str(ADAPTER).unwrap();
    let options = Options {
        features: features(),
        name: None,
        memory: None,
    };
    for (component, said) in all {
        let start = processor_time();
        let merged = merge(&component, &adapter, &options);
        let end = processor_time();
        match (merged, said) {
            (Ok(_), None) => {}
            (Err(error), Some(said)) => {
                let text = error.to_string();
                assert!(text.contains(&said) && text.lines().count() < 110, "{text}");
            }
            (merged, said) => panic!("{:?} instead of {said:?}", merged.err()),
        }
        if let Some((start, end)) = start.zip(end) {
            let took = end.saturating_sub(start);
            println!("{took:?}");
            assert!(
                took < Duration::from_secs(2) || cfg!(debug_assertions),
                "{took:?}"
            );
        }
    }
}

/// The module between preview 1 and 0.2 of a component, as tools make it, with what its `run` does; and what
/// the program's module is given by it.
fn with_run_between(run: &str) -> String {
    format!(
        r#"(component
        (core module $main (memory (export "memory") 1) (func (export "_start"))
            (func (export "other")))
        (core module $between (import "env" "memory" (memory 0))
            (import "m" "_start" (func $start)) (import "m" "other" (func $other))
            (func $further (call $start)) (func $round (call $round))
            (func (export "run") (result i32) {run} (i32.const 0)))
        (core instance $m (instantiate $main))
        (alias core export $m "memory" (core memory $memory))
        (core instance $env (export "memory" (memory $memory)))
        (core instance $b (instantiate $between (with "env" (instance $env)) (with "m" (instance $m))))
        (alias core export $b "run" (core func $run_))
        (func $run (result (result)) (canon lift (core func $run_)))
        (instance $r (export "run" (func $run)))
        (export "wasi:cli/run@0.2.3" (instance $r)))"#
    )
}

/// A module in the program's memory in which a component begins is an adapter of preview 1 only if it
/// calls the program's `_start` and nothing else of it: what does something else, or more, is not left out.
#[test]
fn what_begins_without_the_programs_start_is_linked() {
    let functions = |run: &str| calls(&joined(&with_run_between(run), ADAPTER).unwrap());
    let left_out = functions("(call $start)");
    assert_eq!(functions("(call $further)"), left_out);
    // The program's two functions, and three of the other module.
    for (run, called) in [
        ("(call $other)", vec![2]),
        ("(call $other) (call $start)", vec![2, 1]),
        ("(call $round)", vec![4]),
        ("", vec![]),
    ] {
        let linked = functions(run);
        assert_eq!(linked.len(), left_out.len() + 3, "{run}");
        assert_eq!(linked[4], called, "{run}");
        assert!(linked[5..].iter().any(|calls| calls.contains(&5)), "{run}");
    }
}

/// A component begins in any of its modules, whether that has to do with the memory or not.
#[test]
fn what_begins_in_a_module_without_a_memory_is_linked() {
    let begins = COMPONENT.replace(
        "(alias core export $m \"begin\" (core func $begin))",
        "(core module $first (import \"m\" \"begin\" (func $b (result i32)))
            (func (export \"go\") (result i32) (call $b)))
        (core instance $f (instantiate $first (with \"m\" (instance $m))))
        (alias core export $f \"go\" (core func $begin))",
    );
    let linked = calls(&joined(&begins, ADAPTER).unwrap());
    // The fourth, behind the program's three, calls the third; and the stub calls it.
    assert_eq!(linked[3], [3]);
    assert!(
        linked[4..].iter().any(|calls| calls.contains(&4)),
        "{linked:?}"
    );
}

/// A module may have a table alone, for others to fill and call.
#[test]
fn a_module_with_a_table_only_is_linked() {
    let linked = joined(
        &with(
            "(core module $only (table (export \"t\") 4 funcref))
            (core instance $o (instantiate $only))
            (alias core export $o \"t\" (core table $t))
            (core instance $env_ (export \"memory\" (memory $memory)) (export \"t\" (table $t)))
            (core module $library (import \"env\" \"memory\" (memory 0)) (import \"env\" \"t\" (table 4 funcref))
                (func $f) (elem (i32.const 1) func $f))
            (core instance (instantiate $library (with \"env\" (instance $env_))))",
        ),
        ADAPTER,
    )
    .unwrap();
    assert!(
        segments(&linked).contains(&(true, vec![4])),
        "{:?}",
        segments(&linked)
    );
}

/// The table of a shim is filled before anything runs, and then is not there: whoever else imports it is told so.
#[test]
fn a_shims_table_that_others_import_is_named() {
    let said = refusal(&with(
        "(alias core export $s \"$imports\" (core table $slots))
        (core instance $env_ (export \"memory\" (memory $memory)) (export \"t\" (table $slots)))
        (core module $library (import \"env\" \"memory\" (memory 0)) (import \"env\" \"t\" (table 1 funcref)))
        (core instance (instantiate $library (with \"env\" (instance $env_))))",
    ));
    let why = "env.t: is the table of a module that only passes calls on, which is left out: link it statically";
    assert!(said.contains(why), "{said}");
}

/// Only what is written as a module is instantiated has to be there before another one starts.
#[test]
fn segments_that_code_writes_may_lie_behind_a_start() {
    let behind = |segments: &str| {
        with_library().replace("(func (export \"f\")))", "(func (export \"f\")) (start 0))").replace(
            "(alias core export $m \"cabi_realloc\"",
            &format!(
                "(core module $behind (import \"env\" \"memory\" (memory 0)) (table 1 funcref) (func $g) {segments})
                (core instance (instantiate $behind (with \"env\" (instance $env_))))
                (alias core export $m \"cabi_realloc\""
            ),
        )
    };
    let later = "(data \"a\") (elem func $g) (elem declare func $g)
        (func (memory.init 0 (i32.const 0) (i32.const 0) (i32.const 1)) (drop (ref.func $g)))";
    joined(&behind(later), ADAPTER).unwrap();
    for now in ["(data (i32.const 0) \"a\")", "(elem (i32.const 0) func $g)"] {
        let said = refusal(&behind(&format!("{later} {now}")));
        let why = "has a module that starts before the data of another one is there";
        assert!(said.contains(why), "{said}");
    }
}
