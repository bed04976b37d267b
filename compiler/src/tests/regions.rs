//! Regions without allocation: what is refused, by which way, and what is not.

use super::hostile::refused;
use super::{ECHO, ECHOING, MAIN, compile, sip, sip_with};
use crate::ErrorKind;

/// A module with a region `r`, whose function has this body, beside these fields.
fn region(body: &str, beside: &str) -> Vec<u8> {
    sip(&format!(
        "(import \"sing_v1\" \"xh_alloc\" (func $block (param i32 i32) (result i32)))
        (import \"sing_v1\" \"mutex_create\" (func $mutex (param i32) (result i32)))
        (import \"sing_v1\" \"yield\" (func $yield)) (memory 1) {beside}
        (func $region (export \"no_alloc:r\") {body}) {MAIN}"
    ))
}

fn broken(body: &str, beside: &str, way: &str) {
    let parts = ["export \"no_alloc:r\"", "allocate nothing", way];
    refused(&region(body, beside), ErrorKind::Region, &parts);
}

#[test]
fn the_way_that_breaks_a_region_is_named_function_by_function() {
    broken(
        "(call $a)",
        "(func $a (call $b)) (func $b (drop (call $block (i32.const 8) (i32.const 0))))",
        "region calls a calls b calls xh_alloc of \"sing_v1\"",
    );
    broken(
        "(drop (memory.grow (i32.const 1)))",
        "",
        "allocate: region, which runs memory.grow",
    );
    broken(
        "(call $grow)",
        "(table $t 1 2 funcref)
         (func $grow (drop (table.grow $t (ref.null func) (i32.const 1))))",
        "region calls grow, which runs table.grow",
    );
    broken(
        "(drop (call $mutex (i32.const 0)))",
        "",
        "region calls mutex_create",
    );
    // The shorter of two ways.
    broken(
        "(call $a) (drop (call $mutex (i32.const 0)))",
        "(func $a (drop (memory.grow (i32.const 1))))",
        "region calls mutex_create",
    );
}

#[test]
fn calls_by_tables_and_references_and_tail_calls_count() {
    let grows = "(func $grows (drop (memory.grow (i32.const 1))))";
    broken(
        "(call_indirect (i32.const 0))",
        &format!("(table 1 funcref) (elem (i32.const 0) func $grows) {grows}"),
        "region calls any function () -> () that a table or a reference holds calls grows, which",
    );
    broken(
        "(call_ref $t (ref.func $grows))",
        &format!("(type $t (func)) (elem declare func $grows) {grows}"),
        "reference holds calls grows",
    );
    broken("(return_call $grows)", grows, "region calls grows, which");
}

#[test]
fn what_is_declared_to_allocate_does() {
    broken(
        "(call $arena)",
        "(func $arena (export \"alloc:arena\"))",
        "allocate: region calls arena;",
    );
    let channel = sip_with(
        ECHOING,
        ECHO,
        &format!(
            "(import \"contract:Echo\" \"new\" (func $new (param i32) (result i32))) (memory 1)
            (func $region (export \"no_alloc:r\") (drop (call $new (i32.const 0)))) {MAIN}"
        ),
    );
    let way = ["region calls new of \"contract:Echo\""];
    refused(&channel, ErrorKind::Region, &way);
}

#[test]
fn one_broken_region_of_several_is_enough() {
    let beside = "(func $other (export \"no_alloc:other\") (drop (memory.grow (i32.const 1))))";
    let parts = ["export \"no_alloc:other\"", "other, which runs memory.grow"];
    refused(&region("(call $yield)", beside), ErrorKind::Region, &parts);
}

#[test]
fn what_allocates_elsewhere_breaks_no_region() {
    let elsewhere = "(func $grows (drop (memory.grow (i32.const 1)))) (func (call $grows))
        (table 1 funcref) (elem (i32.const 0) func $grows)";
    // Another type than that of the function in the table.
    compile(&region(
        "(call $yield) (drop (call_indirect (result i32) (i32.const 0)))",
        elsewhere,
    ));
}

/// A panic ends the process, so what it allocates on the way is nobody's any more.
#[test]
fn a_call_that_unreachable_follows_does_not_count_unless_exceptions_are_caught() {
    let panic = "(func $panic (drop (memory.grow (i32.const 1))) unreachable)";
    let body = "(if (i32.eqz (memory.size)) (then (call $panic) unreachable))";
    compile(&region(body, panic));
    let caught = format!("{panic} (func (try_table (catch_all 0) (call $region)))");
    broken(body, &caught, "region calls panic, which runs memory.grow");
    broken("(call $panic)", panic, "region calls panic");
}

#[test]
fn only_functions_allocate_or_do_not() {
    for name in ["no_alloc:m", "alloc:m"] {
        let wasm = sip(&format!("(memory (export \"{name}\") 1) {MAIN}"));
        refused(&wasm, ErrorKind::Export, &[name, "must be a function"]);
    }
}

#[test]
fn a_long_way_is_cut_in_the_middle() {
    let chain: String = (0..200)
        .map(|n| format!("(func $f{n} (call $f{}))", n + 1))
        .collect();
    let beside = format!("{chain} (func $f200 (drop (memory.grow (i32.const 1))))");
    broken(
        "(call $f0)",
        &beside,
        "calls f14 calls (170 more) calls f185",
    );
}
