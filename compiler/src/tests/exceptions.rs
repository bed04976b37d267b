//! Exceptions: what they add to an image, and what is refused.

use super::code::calls;
use super::{MAIN, compile, instructions, sip};
use crate::{ErrorKind, Options};
use iced_x86::FlowControl;

/// A function that may throw, and one that catches from the first of two calls.
const CATCHING: &str = r#"(tag $t (param i32))
    (func $throws (param i32) (if (local.get 0) (then (throw $t (local.get 0)))))
    (func $catches (param i32) (result i32)
        (block $h (result i32)
            (try_table (catch $t $h) (call $throws (local.get 0)))
            (call $throws (i32.const 0))
            (i32.const 5)))"#;

/// The entries of an image's exception table: offset behind the call, frame, handler.
fn table(code: &[u8]) -> Vec<[u32; 3]> {
    let words: Vec<u32> = code
        .chunks_exact(4)
        .map(|w| u32::from_le_bytes([w[0], w[1], w[2], w[3]]))
        .collect();
    // It begins with its own offset.
    let Some(at) = (0..words.len())
        .step_by(8)
        .find(|&at| words[at] == at as u32 * 4 && at > 0)
    else {
        return Vec::new();
    };
    assert_eq!(words.len() - at - 4, words[at + 1] as usize * 4);
    let entries = words[at + 4..].chunks_exact(4);
    entries.map(|e| [e[0], e[1], e[2]]).collect()
}

#[test]
fn exceptions_cost_nothing_where_there_are_none() {
    let fields = format!("(func $f (param i32) (result i32) local.get 0) {MAIN}");
    let without = compile(&sip(&fields));
    let declared = compile(&sip(&format!("{fields} (tag (param i32 i64))")));
    assert_eq!(without.code, declared.code);
    assert_eq!(without.meta.funcs, declared.meta.funcs);
    assert_eq!(without.meta.layout, declared.meta.layout);
    assert_eq!(table(&without.code), [] as [[u32; 3]; 0]);
    let used = compile(&sip(&format!("{fields} {CATCHING}")));
    assert!(used.meta.layout.size > without.meta.layout.size);
}

#[test]
fn calls_that_may_throw_have_their_places_in_the_table() {
    let compiled = compile(&sip(&format!("{CATCHING} {MAIN}")));
    let table = table(&compiled.code);
    let &[[behind, frame, handler]] = table.as_slice() else {
        panic!("{table:?}");
    };
    let code = instructions(&compiled, "catches");
    assert_eq!(
        calls(&code),
        3,
        "two, and one of the routine that looks further up"
    );
    let call = code.iter().find(|i| i.next_ip() == u64::from(behind));
    let call = call.map(iced_x86::Instruction::flow_control);
    assert_eq!(call, Some(FlowControl::Call));
    let handler = code.iter().position(|i| i.ip() == u64::from(handler));
    assert!(handler.is_some(), "the handler is no instruction of it");
    assert!(frame + 16 <= compiled.meta.max_frame);
    let end = compiled.meta.funcs.iter().map(|f| f.offset + f.size).max();
    assert!(end < Some(compiled.code.len() as u32));
}

#[test]
fn exceptions_have_room_for_the_longest() {
    let size = |params: usize| {
        let tag = format!("(tag $t (param {}))", "i64 ".repeat(params));
        let used = format!("(tag $e) (func (throw $e)) {MAIN}");
        compile(&sip(&format!("{tag} {used}"))).meta.layout.size
    };
    let least = size(0);
    for (params, bytes) in [
        (1, 512 * 32),
        (3, 512 * 64),
        (7, 512 * 128),
        (15, 256 * 256),
        (1000, 16 << 14),
    ] {
        assert!(size(params) >= bytes && size(params) > least, "{params}");
        assert!(size(params) < bytes + least, "{params}");
    }
}

#[test]
fn clauses_that_carry_much_are_counted() {
    let params = "i64 ".repeat(1000);
    let clauses = "(catch $t $h) ".repeat(10_000);
    let fields = format!(
        "(tag $t (param {params})) (type $all (func (result {params})))
        (func (type $all) (block $h (type $all) (try_table {clauses}) (unreachable))) {MAIN}"
    );
    let e = crate::verify(&sip(&fields), &Options::default()).unwrap_err();
    assert_eq!(e.kind, ErrorKind::TooLarge, "{e}");
    assert!(e.to_string().contains("values"), "{e}");
}

#[test]
fn what_cannot_be_had_is_refused_by_name() {
    let cases = [
        (
            r#"(import "env" "t" (tag (param i32)))"#,
            ErrorKind::Import,
            "imports a tag; a SIP shares nothing",
        ),
        (
            "(table 1 exnref)",
            ErrorKind::Unsupported,
            "belong to one thread",
        ),
        (
            r#"(import "sing_v1" "yield" (func (param exnref)))"#,
            ErrorKind::Import,
            "its type is (exnref) -> ()",
        ),
    ];
    for (fields, kind, part) in cases {
        let wasm = sip(&format!("{fields} {MAIN}"));
        let e = crate::verify(&wasm, &Options::default()).expect_err(fields);
        assert_eq!(e.kind, kind, "{fields}: {e}");
        assert!(e.to_string().contains(part), "{fields}: {e}");
    }
}
