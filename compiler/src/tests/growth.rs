//! Modules that ask for far more than they are long: refused by a count, before anything loops over what they have.

use super::{MAIN, compile, sip, sip_with};
use crate::{ErrorKind, Options};
use sing_image::limits;

#[test]
fn too_many_start_up_endpoints_are_counted_before_they_are_looked_at() {
    // None of them is of a contract that is there, and the first has the name of the last: neither is found first.
    let endpoints: Vec<String> = (0..40_000)
        .map(|i| {
            let i = i % 39_999;
            format!(r#"{{"name":"e{i}","contract":"Absent","side":"imp"}}"#)
        })
        .collect();
    let endpoints = endpoints.join(",");
    let manifest = format!(r#"{{"name":"many","abi":1,"endpoints":[{endpoints}]}}"#);
    let e = crate::verify(&sip_with(&manifest, "", MAIN), &Options::default()).unwrap_err();
    assert_eq!(e.kind, ErrorKind::TooLarge, "{e}");
    assert!(
        e.to_string().contains(limits::STARTUP_ENDPOINTS.what),
        "{e}"
    );
}

#[test]
fn too_many_imports_are_counted_before_they_are_looked_up() {
    // The first one is foreign, which a look would find.
    let import = r#"(import "nowhere" "nothing" (func))"#;
    let imports = import.repeat(limits::IMPORTS.most as usize + 1);
    let e = crate::verify(&sip(&format!("{imports} {MAIN}")), &Options::default()).unwrap_err();
    assert_eq!(e.kind, ErrorKind::TooLarge, "{e}");
}

/// A function with so many conditional branches of two bytes, each of which carries a thousand values.
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

#[test]
fn what_branches_carry_counts_for_the_size_of_a_function() {
    compile(&branches(50));
    let e = crate::compile(&branches(20_000), &Options::default()).unwrap_err();
    assert_eq!(e.kind, ErrorKind::TooLarge, "{e}");
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
    if let Err(e) = crate::verify(&module(40), &Options::default()) {
        panic!("{e}");
    }
    let e = crate::verify(&module(48), &Options::default()).unwrap_err();
    assert_eq!(e.kind, ErrorKind::TooLarge, "{e}");
    assert!(
        e.to_string().contains(limits::ONE_CONTRACT_BYTES.what),
        "{e}"
    );
}
