//! Modules as large as the limits allow: each is compiled, or refused for a limit with a name, in
//! time and memory that go with its length.
//!
//! Time is that of the processor, so that other work on the machine does not count, and its bounds
//! are several times what it takes: they tell what is proportional to a module's length from what
//! goes with its square. The compiler is that of users: inside its own crate, tests have Cranelift
//! check its intermediate code, too, which takes longer.

use sing_compiler::{Error, ErrorKind, Options, Stats, Unreached, Work};
use sing_image::limits::{self, Limit};
use std::fmt::Write as _;
use std::time::Duration;

/// A manifest without privileges.
const PLAIN: &str = r#"{"name":"test","abi":1}"#;

/// A main function that does nothing.
const MAIN: &str = r#"(func (export "sip_main") (result i32) i32.const 0)"#;

/// A module with these fields.
fn sip(fields: &str) -> Vec<u8> {
    let manifest = PLAIN.replace('"', "\\\"");
    let text = format!("(module {fields}\n(@custom \"singularity.manifest\" \"{manifest}\"))");
    match wat::parse_str(&text) {
        Ok(bytes) => bytes,
        Err(e) => panic!("the test's module does not parse: {e}"),
    }
}

/// The time that this thread has had a processor; none where Linux does not say it.
fn processor_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let ns = text.split_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(ns))
}

/// Does something that may take so many seconds.
fn within<T>(seconds: u64, what: &str, work: impl FnOnce() -> T) -> T {
    let start = processor_time();
    let done = work();
    if let (Some(start), Some(end)) = (start, processor_time()) {
        let took = end.saturating_sub(start);
        println!("{what}: {took:?}");
        // Unoptimised, all of it takes many times as long.
        let bounded = took < Duration::from_secs(seconds) || cfg!(debug_assertions);
        assert!(bounded, "{what}: {took:?}");
    }
    done
}

/// Functions that nothing calls are compiled, too.
fn options() -> Options {
    Options {
        unreached: Unreached::Kept,
        ..Options::default()
    }
}

/// Compiles a module, on this thread.
fn compile(wasm: &[u8]) -> sing_compiler::Result<Stats> {
    let work = Work {
        threads: Some(1),
        ..Work::default()
    };
    let made = sing_compiler::compile_by(wasm, &options(), &work);
    made.map(|made| made.stats)
}

fn compiled(seconds: u64, what: &str, wasm: &[u8]) -> Stats {
    match within(seconds, what, || compile(wasm)) {
        Ok(stats) => stats,
        Err(e) => panic!("{what}: {e}"),
    }
}

/// Verifier and compiler refuse a module, for this limit.
fn refused(seconds: u64, what: &str, wasm: &[u8], limit: Limit) {
    let options = options();
    let check = |e: Option<Error>| {
        let e = e.unwrap_or_else(|| panic!("{what}: accepted"));
        assert_eq!(e.kind, ErrorKind::TooLarge, "{what}: {e}");
        let text = e.to_string();
        let named = text.contains(limit.what) && text.contains(limit.way_out);
        assert!(named, "{what}: {text}");
    };
    check(within(seconds, what, || {
        sing_compiler::verify(wasm, &options).err()
    }));
    check(within(seconds, what, || compile(wasm).err()));
}

fn leb(mut n: usize, out: &mut Vec<u8>) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

/// A section, by its number.
fn section(id: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![id];
    leb(content.len(), &mut out);
    [&out, content].concat()
}

/// A module with so many functions of type `() -> i32`, each with this body, the first of which is
/// `sip_main`. Larger ones than a text can be made of.
fn functions(count: usize, body: &[u8]) -> Vec<u8> {
    let counted = |each: &[u8]| {
        let mut out = Vec::with_capacity(count * each.len() + 5);
        leb(count, &mut out);
        out.extend(each.repeat(count));
        out
    };
    let mut code = Vec::new();
    // Without locals, and with the end.
    leb(body.len() + 2, &mut code);
    code.push(0);
    code.extend(body);
    code.push(0x0b);
    let mut custom = vec![20];
    custom.extend(b"singularity.manifest");
    custom.extend(PLAIN.bytes());
    [
        b"\0asm\x01\0\0\0".to_vec(),
        section(1, &[1, 0x60, 0, 1, 0x7f]),
        section(3, &counted(&[0])),
        section(7, b"\x01\x08sip_main\0\0"),
        section(10, &counted(&code)),
        section(0, &custom),
    ]
    .concat()
}

/// A module whose last function is there so many times.
fn repeated(wasm: &[u8], count: usize) -> Vec<u8> {
    /// The section of functions' types, and that of their code.
    const PARTS: [u8; 2] = [3, 10];
    let number = |at: &mut usize| {
        let (mut number, mut shift) = (0, 0);
        loop {
            let byte = wasm[*at];
            *at += 1;
            number |= usize::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                return number;
            }
        }
    };
    let mut made = wasm[..8].to_vec();
    let mut at = 8;
    while at < wasm.len() {
        let id = wasm[at];
        at += 1;
        let end = number(&mut at) + at;
        if !PARTS.contains(&id) {
            made.extend(section(id, &wasm[at..end]));
            at = end;
            continue;
        }
        let functions = number(&mut at);
        let (first, mut last) = (at, at);
        for _ in 0..functions {
            last = at;
            let length = number(&mut at);
            // A type is one number, and code has as many bytes as it says.
            at += if id == 10 { length } else { 0 };
        }
        let mut content = Vec::new();
        leb(functions + count - 1, &mut content);
        content.extend(&wasm[first..last]);
        content.extend(wasm[last..end].repeat(count));
        made.extend(section(id, &content));
    }
    made
}

#[test]
fn functions_with_very_many_locals() {
    let with = |locals: usize, body: &str| {
        let declared = "i64 ".repeat(locals);
        sip(&format!(
            "{MAIN} (func (param i32) (local {declared}) {body})"
        ))
    };
    let most = limits::FUNCTION_LOCALS;
    // The parameter is one of them.
    let locals = most.most as usize - 1;
    compiled(20, "50,000 locals", &with(locals, ""));
    let uses: String = (1..=locals)
        .map(|i| format!("local.get {i} i64.const {i} i64.add local.set {i} "))
        .collect();
    compiled(20, "50,000 locals in use", &with(locals, &uses));
    // Those that live around a loop cost more than in proportion.
    let uses: String = (1..=5000)
        .map(|i| format!("local.get {i} i64.const {i} i64.add local.set {i} "))
        .collect();
    let looped = format!("loop {uses} local.get 0 br_if 0 end");
    compiled(20, "5,000 locals in a loop", &with(5000, &looped));
    let uses: String = (1..=locals)
        .map(|i| format!("local.get {i} i64.const {i} i64.add local.set {i} "))
        .collect();
    let looped = format!("loop {uses} local.get 0 br_if 0 end");
    refused(
        20,
        "50,000 locals in a loop",
        &with(locals, &looped),
        limits::LOCALS_IN_LOOPS,
    );
    refused(5, "one local more", &with(locals + 1, ""), most);
    refused(5, "100,000 locals", &with(100_000, &uses), most);
    // In a few bytes.
    let huge = [1, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x7e, 0x0b];
    let mut wasm = functions(1, &[0x41, 0]);
    let body = wasm.windows(5).position(|w| w == [4, 0, 0x41, 0, 0x0b]);
    let at = body.expect("the body");
    wasm.splice(at..at + 5, [&[8][..], &huge].concat());
    let code = at - 2;
    assert_eq!(wasm[code], 6);
    wasm[code] += 4;
    refused(5, "4,294,967,295 locals", &wasm, most);
}

#[test]
fn functions_longer_than_the_limit() {
    let limit = limits::FUNCTION_BYTES;
    // Nothing but `nop`, and the value that is answered.
    let with = |bytes: usize| {
        let mut body = vec![1; bytes - 4];
        body.extend([0x41, 0]);
        functions(1, &body)
    };
    let most = limit.most as usize;
    let e = within(20, "the longest function", || {
        sing_compiler::verify(&with(most), &options()).err()
    });
    // It has too many instructions to be compiled, whatever they are.
    let e = e.expect("too many values");
    let values = limits::FUNCTION_VALUES.what;
    assert!(e.to_string().contains(values), "{e}");
    refused(20, "a byte more", &with(most + 1), limit);
}

/// The depth of blocks in each other.
const DEPTH: usize = 50_000;

/// A function with blocks of a kind in each other, and this in the innermost.
fn nested(depth: usize, open: &str, inner: &str, close: &str) -> Vec<u8> {
    let (open, close) = (open.repeat(depth), close.repeat(depth));
    sip(&format!(
        "{MAIN} (tag $t) (func $f) (func (param i32) {open} {inner} {close})"
    ))
}

#[test]
fn blocks_in_each_other_50_000_deep() {
    // To the outermost, and to the innermost.
    let out = "local.get 0 br_if 49999 local.get 0 br_if 0 ";
    for (what, open, close) in [
        ("blocks", "block ", "end "),
        ("ifs", "local.get 0 if ", "end "),
        (
            "ifs with else",
            "local.get 0 if ",
            "else local.get 0 drop end ",
        ),
        ("blocks with branches", "block local.get 0 br_if 0 ", "end "),
        ("blocks that are left", "block ", "br 0 end "),
    ] {
        compiled(20, what, &nested(DEPTH, open, out, close));
    }
}

#[test]
fn loops_in_each_other() {
    let limit = limits::LOOPS_NESTED;
    let most = limit.most as usize;
    let loops = |depth| nested(depth, "loop ", "call $f ", "local.get 0 br_if 0 end ");
    compiled(20, "as many loops as may be", &loops(most));
    for depth in [most + 1, DEPTH] {
        refused(20, "loops", &loops(depth), limit);
    }
    // One after the other there may be any number.
    let row = "loop local.get 0 br_if 0 end ".repeat(DEPTH);
    compiled(20, "loops in a row", &nested(1, "loop ", &row, "end "));
    // Other blocks between them do not count.
    let mixed = nested(most, "loop block block ", "call $f ", "end end end ");
    compiled(20, "loops with blocks", &mixed);
}

#[test]
fn locals_that_very_many_loops_use() {
    let limit = limits::LOCALS_IN_LOOPS;
    // Each loop branches back, and the innermost one uses the locals.
    let with = |locals: usize, depth: usize, uses: &str| {
        let uses: String = (1..=locals)
            .map(|i| uses.replace('$', &i.to_string()))
            .collect();
        let declared = "i32 ".repeat(locals);
        let loops = "loop ".repeat(depth);
        let ends = "local.get 0 br_if 0 end ".repeat(depth);
        sip(&format!(
            "{MAIN} (func (param i32) (local {declared}) {loops} {uses} {ends})"
        ))
    };
    // None of them changes, or each only to its own value, which the search finds out.
    for uses in ["local.get $ drop ", "local.get $ local.set $ "] {
        compiled(20, "locals in loops", &with(180, 1000, uses));
        refused(20, "too many in loops", &with(200, 1000, uses), limit);
        refused(20, "very many in loops", &with(4000, 1000, uses), limit);
    }
    // Loops in a row are no other.
    let row = "loop local.get 1 local.get 2 local.set 1 drop local.get 0 br_if 0 end ".repeat(5000);
    let row = sip(&format!("{MAIN} (func (param i32) (local i32 i32) {row})"));
    compiled(20, "locals in loops in a row", &row);
}

#[test]
fn values_that_are_kept_for_very_long() {
    let limit = limits::VALUES_KEPT;
    // So many locals change once, and all of them are kept for so many instructions of a byte.
    let with = |locals: usize, length: usize, looped: bool| {
        let declared = "i32 ".repeat(locals);
        let changes: String = (1..=locals)
            .map(|i| format!("local.get 0 i32.const {i} i32.add local.set {i} "))
            .collect();
        let long = format!("local.get 0 {}local.set 0 ", "i32.popcnt ".repeat(length));
        let uses: String = (1..=locals)
            .map(|i| format!("local.get {i} i32.xor "))
            .collect();
        let (open, close) = match looped {
            true => ("loop ", "local.get 0 br_if 0 end "),
            false => ("", ""),
        };
        sip(&format!(
            "{MAIN} (func (param i32) (result i32) (local {declared})
             {changes} {open} {long} {close} local.get 0 {uses})"
        ))
    };
    let most = limit.most as usize;
    for looped in [false, true] {
        compiled(
            20,
            "values that are kept",
            &with(2000, most / 2000 - 4000, looped),
        );
        refused(
            20,
            "kept for longer",
            &with(2000, most / 2000, looped),
            limit,
        );
    }
    compiled(20, "a value that is kept for long", &with(1, 300_000, true));
}

/// The most blocks that catch exceptions in each other.
const CATCHING: usize = limits::CATCHING_NESTED.most as usize;

#[test]
fn blocks_that_catch_exceptions_in_each_other() {
    let limit = limits::CATCHING_NESTED;
    for (what, open, inner, close) in [
        ("try_tables", "try_table ", "call $f ", "end "),
        (
            "try_tables that catch all",
            "block try_table (catch_all 0) ",
            "call $f ",
            "end end ",
        ),
        (
            "try_tables that catch a tag",
            "block try_table (catch $t 0) ",
            "call $f ",
            "end end ",
        ),
        (
            "try_tables with calls",
            "block try_table (catch $t 0) call $f ",
            "call $f ",
            "end call $f end call $f ",
        ),
        (
            "blocks of the first encoding",
            "try call $f ",
            "call $f ",
            "catch_all end ",
        ),
        (
            "those in clauses",
            "try call $f catch_all ",
            "call $f ",
            "end ",
        ),
    ] {
        compiled(30, what, &nested(CATCHING, open, inner, close));
        for depth in [CATCHING + 1, DEPTH] {
            refused(10, what, &nested(depth, open, inner, close), limit);
        }
    }
    // One after the other there may be any number.
    let row = "block try_table (catch $t 0) call $f end end ".repeat(20_000);
    compiled(
        20,
        "try_tables in a row",
        &nested(1, "block ", &row, "end "),
    );
    let row = "try call $f catch_all end try call $f delegate 0 ".repeat(10_000);
    compiled(20, "tries in a row", &nested(1, "block ", &row, "end "));
}

#[test]
fn tables_of_100_000_branches() {
    let table = |depth: usize, target: &dyn Fn(usize) -> usize| {
        let mut targets = String::new();
        for i in 0..100_000 {
            write!(targets, "{} ", target(i)).expect("text");
        }
        let (open, close) = ("block ".repeat(depth), "end ".repeat(depth));
        sip(&format!(
            "{MAIN} (func (param i32) {open} local.get 0 br_table {targets} 0 {close})"
        ))
    };
    compiled(20, "one target", &table(1, &|_| 0));
    compiled(20, "1,000 targets", &table(1000, &|i| i % 1000));
    compiled(30, "50,000 targets", &table(50_000, &|i| i * 7 % 50_000));
    // Each of them carries a value, and the function changes as many locals.
    let targets = "0 1 2 ".repeat(33_333);
    let wasm = sip(&format!(
        "{MAIN} (func (param i32) (result i64) (local i64)
            loop $again (result i64)
                local.get 1 i64.const 1 i64.add local.set 1
                block (result i64) block (result i64) block (result i64)
                    local.get 1 local.get 0 br_table {targets} 0
                end end end
                local.get 0 br_if $again
            end)"
    ));
    compiled(20, "targets that carry a value", &wasm);
}

#[test]
fn very_many_functions() {
    let limit = limits::FUNCTIONS;
    let most = functions(limit.most as usize, &[0x41, 0]);
    let verified = within(20, "as many functions as may be", || {
        sing_compiler::verify(&most, &options())
    });
    assert!(verified.is_ok(), "{:?}", verified.err());
    let more = functions(limit.most as usize + 1, &[0x41, 0]);
    refused(5, "too many functions", &more, limit);
}

#[test]
fn a_module_of_50_megabytes_is_verified_in_time_and_a_tenth_of_it_compiled() {
    // Sums, products, differences in bits and rotations of small numbers.
    let mut body = vec![0x41, 7];
    for n in 0..64 {
        body.extend([0x41, n, [0x6a, 0x6c, 0x73, 0x77][n as usize % 4]]);
    }
    // It is dropped but for the last time.
    let body = [&body[..], &[0x1a], &body].concat();
    let (length, bytes) = (body.len() + 4, 50 << 20);
    let large = functions(bytes / length, &body);
    let verified = within(40, "50 MB of functions", || {
        sing_compiler::verify(&large, &options())
    });
    match verified {
        Ok(_) => {}
        Err(e) => panic!("{e}"),
    }
    let tenth = functions(bytes / 10 / length, &body);
    let stats = compiled(60, "5 MB of functions", &tenth);
    assert!(stats.wasm_bytes > 5_000_000, "{}", stats.wasm_bytes);
    // One function may not be so large.
    let one = functions(1, &[&body[..], &[0x1a]].concat().repeat(21_000));
    refused(20, "8 MB in one function", &one, limits::FUNCTION_BYTES);
}

/// Functions that each are just below a limit of one function: what each counts for, and the limit
/// of all of them together.
fn just_below() -> [(&'static str, String, u64, Limit); 5] {
    let locals = |count: usize, each: &str| -> String {
        let all = (1..=count).map(|i| each.replace('$', &i.to_string()));
        all.collect()
    };
    let declared = |count: usize| "i32 ".repeat(count);
    // 720 branches carry 720 locals.
    let changes = locals(720, "local.get $ i32.const 1 i32.add local.set $ ");
    let carrying = format!(
        "(func (param i32) (local {}) loop {changes} {} end)",
        declared(720),
        "local.get 0 br_if 0 ".repeat(720)
    );
    // 1000 loops in each other use 180 locals.
    let looping = format!(
        "(func (param i32) (local {}) {} {} {})",
        declared(180),
        "loop ".repeat(1000),
        locals(180, "local.get $ drop "),
        "local.get 0 br_if 0 end ".repeat(1000)
    );
    // 3500 values wait for 12,000 instructions.
    let keeping = format!(
        "(func (param i32) (result i32) {} local.get 0 {} {})",
        "local.get 0 i32.eqz ".repeat(3500),
        "i32.popcnt ".repeat(12_000),
        "i32.xor ".repeat(3500)
    );
    // 8000 locals, in 4000 blocks twice.
    let blocks = format!(
        "(func (param i32) (local {}) {} {})",
        declared(8000),
        "local.get 0 if end ".repeat(2700),
        locals(8000, "local.get 0 local.set $ ")
    );
    let catching = format!(
        "(func {} call $f {})",
        "block try_table (catch $t 0) ".repeat(CATCHING),
        "end end ".repeat(CATCHING)
    );
    let depth = CATCHING as u64;
    [
        (
            "locals carried",
            carrying,
            480_000,
            limits::ALL_LOCALS_CARRIED,
        ),
        (
            "locals in loops",
            looping,
            32_700_000,
            limits::ALL_LOCALS_IN_LOOPS,
        ),
        ("values kept", keeping, 52_000_000, limits::ALL_VALUES_KEPT),
        (
            "locals and blocks",
            blocks,
            64_000_000,
            limits::ALL_LOCALS_BY_BLOCKS,
        ),
        (
            "blocks that catch",
            catching,
            depth * depth / 2,
            limits::ALL_CATCHING,
        ),
    ]
}

#[test]
fn functions_just_below_a_limit_are_bounded_together() {
    for (what, function, each, limit) in just_below() {
        let one = sip(&format!("(tag $t) (func $f) {MAIN} {function}"));
        compiled(20, what, &repeated(&one, 2));
        let many = limit.most / each + 1;
        refused(80, what, &repeated(&one, many as usize), limit);
    }
}

#[test]
fn as_many_segments_as_may_be_wherever_they_lie() {
    const MANY: usize = 90_000;
    type Place = fn(usize) -> usize;
    let places: [(&str, Place); 4] = [
        ("in order", |i| i * 10),
        ("from the end", |i| (MANY - i) * 10),
        ("over each other", |i| i % 7),
        ("scattered", |i| i * 7919 % MANY * 10),
    ];
    for (what, at) in places {
        let mut fields = String::from("(memory 20) ");
        for i in 0..MANY {
            write!(fields, "(data (i32.const {}) \"abcdefgh\")", at(i)).expect("text");
        }
        compiled(20, what, &sip(&format!("{fields} {MAIN}")));
    }
    for (what, at) in places {
        let mut fields = String::from("(table 200000 funcref) (func $f) ");
        for i in 0..65_000 {
            let at = at(i) % 199_990;
            write!(fields, "(elem (i32.const {at}) func $f $f $f $f)").expect("text");
        }
        compiled(20, what, &sip(&format!("{fields} {MAIN}")));
    }
    let most = limits::ELEMENT_ITEMS.most as usize;
    let items = "$f ".repeat(most);
    let fields = format!("(table {most} funcref) (func $f) (elem (i32.const 0) func {items})");
    compiled(20, "one segment", &sip(&format!("{fields} {MAIN}")));
}

#[test]
fn types_that_refer_to_each_other_65_000_deep() {
    const MANY: usize = 65_000;
    let chain = |recursive: bool| {
        let mut fields = String::from(if recursive { "(rec " } else { "" });
        fields += "(type $t0 (func))";
        for i in 1..MANY {
            let before = i - 1;
            write!(fields, "(type $t{i} (func (param (ref null $t{before}))))").expect("text");
        }
        fields.push_str(if recursive { ")" } else { "" });
        let last = MANY - 1;
        sip(&format!(
            "{fields} (func (param (ref null $t{last})) local.get 0 drop) {MAIN}"
        ))
    };
    compiled(20, "a chain of types", &chain(false));
    // All of them in one group.
    let grouped = chain(true);
    let e = within(20, "a group of types", || compile(&grouped).err());
    let e = e.expect("groups belong to the proposal of garbage collection");
    assert!(e.to_string().contains("`gc`"), "{e}");
}

#[test]
fn what_the_validator_bounds_is_refused_by_name() {
    let i64s = |n: usize| "i64 ".repeat(n);
    let catches = "(catch_all 0) ".repeat(10_001);
    let name = "n".repeat(100_001);
    for (fields, limit) in [
        (
            format!("(type (func (param {})))", i64s(1001)),
            limits::FUNCTION_PARAMS,
        ),
        (
            format!("(type (func (result {})))", i64s(1001)),
            limits::FUNCTION_RESULTS,
        ),
        (format!("(func try_table {catches} end)"), limits::CATCHES),
        (format!("(func (export \"{name}\"))"), limits::STRING_BYTES),
        ("(tag)".repeat(65_537), limits::TAGS),
    ] {
        refused(5, limit.what, &sip(&format!("{fields} {MAIN}")), limit);
    }
}

/// Verifies a module.
fn verified(seconds: u64, what: &str, wasm: &[u8]) -> sing_compiler::Result<()> {
    let verify = || sing_compiler::verify(wasm, &options());
    within(seconds, what, verify).map(|_| ())
}

/// A module with so many regions, all of one function that calls whatever a table holds: so many
/// functions.
fn regions(count: usize, functions: u64) -> Vec<u8> {
    let mut fields = format!("(table {functions} funcref) (elem (i32.const 0) func");
    for i in 0..functions {
        write!(fields, " {i}").expect("text");
    }
    fields.push(')');
    fields += &"(func)".repeat(functions as usize);
    fields += "(func $r (call_indirect (i32.const 0)))";
    for i in 0..count {
        write!(fields, "(export \"no_alloc:{i}\" (func $r))").expect("text");
    }
    sip(&format!("{fields} {MAIN}"))
}

#[test]
fn regions_without_allocation_of_very_many_functions() {
    let limit = limits::REGIONS;
    // All that there may be in tables.
    let functions = limits::TABLE_ELEMENTS.most - 2;
    let most = regions(limit.most as usize, functions);
    verified(20, "as many regions as may be", &most).expect("nothing allocates");
    refused(
        20,
        "a region more",
        &regions(limit.most as usize + 1, 10),
        limit,
    );
    let many = limits::EXPORTS.most as usize - 1;
    refused(20, "65,535 regions", &regions(many, functions), limit);
}

#[test]
fn a_region_that_allocates_in_100_000_functions_or_behind_as_many() {
    const LONG: usize = 100_000;
    for (what, body) in [
        ("each allocates", "(drop (memory.grow (i32.const 1)))"),
        ("the last allocates", ""),
    ] {
        let mut fields = String::from("(memory 1) (export \"no_alloc:0\" (func $f0))");
        for i in 0..LONG {
            write!(fields, "(func $f{i} {body} (call $f{}))", i + 1).expect("text");
        }
        fields += &format!("(func $f{LONG} (drop (memory.grow (i32.const 1))))");
        let e = verified(20, what, &sip(&format!("{fields} {MAIN}"))).err();
        assert_eq!(e.map(|e| e.kind), Some(ErrorKind::Region), "{what}");
    }
}

/// A module of this many types of functions and functions of another, all in a table; the first of
/// so many tables is called into by each of the types, and the others by the last type. With
/// `written`, something is written to each table.
fn calls_by_types(types: usize, tables: usize, written: bool) -> Vec<u8> {
    /// Calls of one function.
    const CALLS: usize = 100;
    let counted = |count: usize, items: &[u8]| {
        let mut out = Vec::new();
        leb(count, &mut out);
        [&out, items].concat()
    };
    // Types of eight parameters each, and at last `() -> ()` and that of `sip_main`.
    let mut described = Vec::new();
    for i in 0..types {
        described.extend([0x60, 8]);
        described.extend((0..8).map(|at| 0x7c + (i >> (2 * at) & 3) as u8));
        described.push(0);
    }
    described.extend([0x60, 0, 0, 0x60, 0, 1, 0x7f]);
    let mut bodies = Vec::new();
    for first in (0..types).step_by(CALLS) {
        let mut body = vec![0];
        for ty in first..types.min(first + CALLS) {
            // `unreachable`, so that all arguments are there.
            body.extend([0x00, 0x11]);
            leb(ty, &mut body);
            body.push(0);
            body.extend([0x41, 0, 0x11]);
            leb(types, &mut body);
            body.push((ty % tables) as u8);
        }
        bodies.push(body);
    }
    if written {
        let set = (0..tables).flat_map(|table| [0x41, 0, 0xd0, 0x70, 0x26, table as u8]);
        bodies.push([0].into_iter().chain(set).collect());
    }
    let held = limits::FUNCTIONS.most as usize - bodies.len() - 1;
    let held = held.min(limits::TABLE_ELEMENTS.most as usize);
    let (mut funcs, mut code, mut items) = (Vec::new(), Vec::new(), Vec::new());
    let (main, all) = (held + bodies.len(), held + bodies.len() + 1);
    for func in 0..all {
        leb(types + usize::from(func == main), &mut funcs);
        let mut body = match bodies.get(func.wrapping_sub(held)) {
            Some(body) => body.clone(),
            None if func == main => vec![0, 0x41, 0],
            None => vec![0],
        };
        body.push(0x0b);
        leb(body.len(), &mut code);
        code.extend(body);
    }
    for func in 0..held {
        leb(func, &mut items);
    }
    let mut table = vec![0x70, 0];
    leb(held, &mut table);
    table.extend([0x70, 0, 0].repeat(tables - 1));
    let mut export = b"\x01\x08sip_main\0".to_vec();
    leb(main, &mut export);
    let mut custom = vec![20];
    custom.extend(b"singularity.manifest");
    custom.extend(PLAIN.bytes());
    [
        b"\0asm\x01\0\0\0".to_vec(),
        section(1, &counted(types + 2, &described)),
        section(3, &counted(all, &funcs)),
        section(4, &counted(tables, &table)),
        section(7, &export),
        section(
            9,
            &[&[1, 0, 0x41, 0, 0x0b][..], &counted(held, &items)].concat(),
        ),
        section(10, &counted(all, &code)),
        section(0, &custom),
    ]
    .concat()
}

#[test]
fn calls_by_65_000_types_into_tables_of_very_many_functions() {
    for (what, tables, written) in [
        ("a table", 1, false),
        ("a table that is written to", 1, true),
        ("64 tables that are written to", 64, true),
    ] {
        let wasm = calls_by_types(65_000, tables, written);
        verified(10, what, &wasm).unwrap_or_else(|e| panic!("{what}: {e}"));
    }
}
