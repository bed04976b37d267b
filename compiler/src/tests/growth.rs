//! Modules that need far more work than their length suggests: refused by a count, before anything
//! iterates over their contents.

use super::{MAIN, compile, sip, sip_with, whole};
use crate::{Error, ErrorKind};
use sing_image::limits::{self, Limit};

#[test]
fn too_many_start_up_endpoints_are_counted_before_they_are_looked_at() {
    // None has a contract that exists, and the first and the last have the same name: neither fault
    // is found first.
    let endpoints: Vec<String> = (0..40_000)
        .map(|i| {
            let i = i % 39_999;
            format!(r#"{{"name":"e{i}","contract":"Absent","side":"imp"}}"#)
        })
        .collect();
    let endpoints = endpoints.join(",");
    let manifest = format!(r#"{{"name":"many","abi":1,"endpoints":[{endpoints}]}}"#);
    let e = crate::verify(&sip_with(&manifest, "", MAIN), &whole()).unwrap_err();
    assert_eq!(e.kind, ErrorKind::TooLarge, "{e}");
    assert!(
        e.to_string().contains(limits::STARTUP_ENDPOINTS.what),
        "{e}"
    );
}

#[test]
fn too_many_imports_are_counted_before_they_are_looked_up() {
    // The first import is foreign, which checking the imports would find.
    let import = r#"(import "nowhere" "nothing" (func))"#;
    let imports = import.repeat(limits::IMPORTS.most as usize + 1);
    let e = crate::verify(&sip(&format!("{imports} {MAIN}")), &whole()).unwrap_err();
    assert_eq!(e.kind, ErrorKind::TooLarge, "{e}");
}

/// A function with `count` conditional branches of two bytes, each of which carries a thousand
/// values.
fn branches(count: usize) -> Vec<u8> {
    const VALUES: usize = 1000;
    let results = "i64 ".repeat(VALUES);
    let values = "i64.const 7 ".repeat(VALUES);
    let branches = "local.get 0 br_if 0 ".repeat(count);
    let drops = "drop ".repeat(VALUES);
    sip(&format!(
        "{MAIN} (func (param i32) (block (result {results}) {values} {branches}) {drops})"
    ))
}

/// The limit for which a module is refused, by the verifier as by the compiler.
fn refused(wasm: &[u8], limit: Limit) {
    let options = whole();
    let verified = crate::verify(wasm, &options).err();
    let compiled = crate::compile(wasm, &options).err();
    assert_eq!(verified, compiled);
    too_large(verified, limit);
}

fn too_large(e: Option<Error>, limit: Limit) {
    let e = e.expect("a limit is exceeded");
    assert_eq!(e.kind, ErrorKind::TooLarge, "{e}");
    let text = e.to_string();
    assert!(
        text.contains(limit.what) && text.contains(limit.way_out),
        "{text}"
    );
}

#[test]
fn what_branches_carry_counts_for_the_size_of_a_function() {
    compile(&branches(50));
    refused(&branches(200), limits::VALUES_BEYOND);
    refused(&branches(20_000), limits::FUNCTION_VALUES);
}

#[test]
fn what_calls_pass_counts_for_the_size_of_a_function() {
    let calls = |count: usize| {
        let many = "v128 ".repeat(1000);
        let calls = "call $f ".repeat(count);
        sip(&format!(
            "{MAIN} (func $none (result {many}) unreachable) (func $f (param {many}) (result {many}) unreachable)
             (func call $none {calls} unreachable)"
        ))
    };
    compile(&calls(3));
    // A module of 3 KiB.
    refused(&calls(50), limits::VALUES_BEYOND);
    refused(&calls(5000), limits::FUNCTION_VALUES);
    let indirect = "i32.const 0 call_indirect (type $t) ".repeat(60);
    let many = "i32 ".repeat(1000);
    let indirect = format!(
        "{MAIN} (type $t (func (param {many}) (result {many}))) (table 1 funcref)
         (func $none (result {many}) unreachable) (func call $none {indirect} unreachable)"
    );
    refused(&sip(&indirect), limits::VALUES_BEYOND);
}

#[test]
fn many_small_functions_count_together() {
    let many = "i64 ".repeat(1000);
    let calls = "call $f ".repeat(10);
    let one = format!("(func call $none {calls} unreachable)");
    let fields = format!(
        "{MAIN} (func $none (result {many}) unreachable) (func $f (param {many}) (result {many}) unreachable) {}",
        one.repeat(10)
    );
    refused(&sip(&fields), limits::VALUES_BEYOND);
}

#[test]
fn instructions_with_few_operands_are_refused_for_nothing_but_their_number() {
    let verified = |body: &str| {
        let wasm = sip(&format!("{MAIN} (func (param f32 v128) {body})"));
        crate::verify(&wasm, &whole()).map(|_| wasm)
    };
    let lanes = |n: usize| format!("local.get 1 {} drop", "i8x16.popcnt ".repeat(n));
    assert!(verified(&lanes(100_000)).is_ok());
    let e = verified(&lanes(150_000)).err();
    too_large(e, limits::FUNCTION_VALUES);
    // One byte each.
    let conversions = "i64.trunc_f32_u f32.convert_i64_u ".repeat(100_000);
    assert!(verified(&format!("local.get 0 {conversions} drop")).is_ok());
}

#[test]
fn atomic_accesses_that_become_more_than_four_values_a_byte_are_compiled() {
    let loads = "i64.atomic.load offset=4 ".repeat(33_000);
    compile(&sip(&format!(
        "{MAIN} (memory i64 0) (func (param i64) local.get 0 {loads} drop)"
    )));
}

/// A function with so many locals, each changed in a loop with this in it.
fn changing(locals: usize, inner: &str) -> Vec<u8> {
    let declared = "i32 ".repeat(locals);
    let changes: String = (1..=locals)
        .map(|i| format!("local.get {i} i32.const 1 i32.add local.set {i} "))
        .collect();
    sip(&format!(
        "{MAIN} (func (param i32) (local {declared}) loop {changes} {inner} end)"
    ))
}

#[test]
fn locals_that_branches_of_a_loop_carry_count_for_the_size_of_a_function() {
    let branches = |n: usize| "local.get 0 br_if 0 ".repeat(n);
    compile(&changing(100, &branches(100)));
    refused(&changing(760, &branches(760)), limits::LOCALS_CARRIED);
    refused(&changing(1000, &branches(2000)), limits::FUNCTION_VALUES);
    let nested = |locals: usize, depth: usize| {
        let inner = format!(
            "{} local.get 0 br_if 0 {}",
            "loop ".repeat(depth),
            "end ".repeat(depth)
        );
        let declared = "i32 ".repeat(locals);
        let uses: String = (1..=locals)
            .map(|i| format!("local.get {i} i32.eqz local.set {i} "))
            .collect();
        let inner = inner.replacen("local.get 0", &format!("{uses} local.get 0"), 1);
        sip(&format!(
            "{MAIN} (func (param i32) (local {declared}) {inner})"
        ))
    };
    compile(&nested(100, 10));
    refused(&nested(1000, 600), limits::LOCALS_IN_LOOPS);
}

#[test]
fn a_table_of_branches_carries_the_locals_of_a_loop_once() {
    let table = "0 ".repeat(5000);
    compile(&changing(50, &format!("local.get 0 br_table {table}")));
}

#[test]
fn locals_that_a_loop_uses_are_not_looked_for_in_too_many_blocks() {
    let locals = 4000;
    let declared = "i32 ".repeat(locals);
    let joins = "local.get 0 if else end ".repeat(locals);
    let uses: String = (1..=locals)
        .map(|i| format!("local.get {i} drop "))
        .collect();
    let fields = format!(
        "{MAIN} (func (param i32) (local {declared}) {joins} loop {uses} local.get 0 br_if 0 end)"
    );
    refused(&sip(&fields), limits::FUNCTION_VALUES);
}

#[test]
fn locals_and_blocks_are_counted_against_each_other() {
    let with = |locals: usize, blocks: usize| {
        let declared = "i32 ".repeat(locals);
        let joins = "local.get 0 if else end ".repeat(blocks);
        sip(&format!(
            "{MAIN} (func (param i32) (local {declared}) {joins})"
        ))
    };
    assert!(crate::verify(&with(3000, 3000), &whole()).is_ok());
    refused(&with(30_000, 3000), limits::LOCALS_BY_BLOCKS);
}

#[test]
fn a_contract_that_takes_too_long_to_read_is_refused() {
    let messages: String = (0..250).map(|i| format!("in message M{i}();\n")).collect();
    let contract = |states: usize| {
        let states: String = (0..states)
            .map(|i| format!("state S{i}: M0? -> A! -> S{};\n", (i + 1) % states))
            .collect();
        format!("contract Large {{ {messages} out message A(); {states} }}")
    };
    let manifest =
        r#"{"name":"t","abi":1,"endpoints":[{"name":"e","contract":"Large","side":"imp"}]}"#;
    let module = |states| sip_with(manifest, &contract(states), MAIN);
    if let Err(e) = crate::verify(&module(40), &whole()) {
        panic!("{e}");
    }
    let e = crate::verify(&module(48), &whole()).unwrap_err();
    assert_eq!(e.kind, ErrorKind::TooLarge, "{e}");
    assert!(
        e.to_string().contains(limits::ONE_CONTRACT_BYTES.what),
        "{e}"
    );
}

#[test]
fn at_the_border_verifier_and_compiler_agree() {
    // Each becomes several values in the compiler, and counts for one in the verifier.
    let loads = |count: usize| {
        let loads = "i64.load offset=4 ".repeat(count);
        sip(&format!(
            "{MAIN} (memory i64 1) (func (param i64) (result i64) local.get 0 {loads})"
        ))
    };
    let verified = |count: usize| crate::verify(&loads(count), &whole()).map(drop);
    let (mut least, mut most) = (60_000, 200_000);
    assert_eq!(verified(least), Ok(()));
    while most - least > 1000 {
        let middle = least.midpoint(most);
        *(if verified(middle).is_ok() {
            &mut least
        } else {
            &mut most
        }) = middle;
    }
    compile(&loads(least));
    refused(&loads(most), limits::FUNCTION_VALUES);
}

#[test]
fn values_that_wait_are_counted_where_they_are_many_and_long() {
    // So many values wait on the operand stack, or in locals, while so many others are computed.
    let on_stack = |values: usize, others: usize| {
        let made = "local.get 0 i32.eqz ".repeat(values);
        let others = "i32.eqz ".repeat(others);
        let taken = "i32.xor ".repeat(values);
        format!("{MAIN} (func (param i32) (result i32) {made} local.get 0 {others} {taken})")
    };
    let in_locals = |values: usize, others: usize| {
        let declared = "i32 ".repeat(values);
        let made: String = (1..=values)
            .map(|i| format!("local.get 0 i32.eqz local.set {i} "))
            .collect();
        let others = "i32.eqz ".repeat(others);
        let taken: String = (1..=values)
            .map(|i| format!("local.get {i} i32.xor "))
            .collect();
        format!(
            "{MAIN} (func (param i32) (result i32) (local {declared}) {made} local.get 0 {others} \
             {taken})"
        )
    };
    for fields in [on_stack(1000, 70_000), in_locals(1000, 70_000)] {
        refused(&sip(&fields), limits::VALUES_KEPT);
    }
    for fields in [on_stack(1000, 7000), in_locals(1000, 7000)] {
        assert_eq!(crate::verify(&sip(&fields), &whole()).map(drop), Ok(()));
        compile(&sip(&fields));
    }
}
