//! Tests of the adapter's code for requests of HTTP: programs that can send some have it, others have none.

use super::joined;
use wasmparser as wp;

/// An adapter that goes on with requests; `resource-drop` is what the other program imports.
const ADAPTER: &str = r#"(module
    (import "program" "run" (func $run (result i32)))
    (import "program" "go_on" (func $go_on))
    (memory 1)
    (func (export "sip_main") (result i32) (call $go_on) (call $run))
    (func (export "program#go-on"))
    (func (export "wasi:http/types#[constructor]fields") (result i32) (i32.const 0))
    (func (export "wasi:http/types#[constructor]outgoing-request") (param i32) (result i32) (i32.const 0))
    (func (export "wasi:http/outgoing-handler#handle") (param i32 i32 i32 i32))
    (@custom "singularity.manifest" "{\"name\": \"adapter\", \"memory\": 1, \"abi\": 1}")
)"#;

/// The functions that the last one of a module calls: the stub `go_on`, as it is made last.
fn called_by_last(wasm: &[u8]) -> Vec<u32> {
    let bodies = wp::Parser::new(0).parse_all(wasm).filter_map(|p| match p {
        Ok(wp::Payload::CodeSectionEntry(body)) => Some(body),
        _ => None,
    });
    let last = bodies.last().expect("a function");
    let operators = last.get_operators_reader().unwrap().into_iter();
    let calls = operators.filter_map(|op| match op.unwrap() {
        wp::Operator::Call { function_index } => Some(function_index),
        _ => None,
    });
    calls.collect()
}

#[test]
fn only_who_can_send_requests_has_the_code_for_them() {
    let sends = include_str!("../../../../tests/ordinary/asks.wat");
    assert_eq!(called_by_last(&joined(sends, ADAPTER).unwrap()).len(), 1);
    let module = r#"(module (memory (export "memory") 1) (func (export "_start")))"#;
    assert!(called_by_last(&joined(module, ADAPTER).unwrap()).is_empty());
}
