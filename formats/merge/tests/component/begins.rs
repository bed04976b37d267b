//! What a component begins with and what makes room, by its type and by whose it is, and names that are too
//! long: all are refused in a component of one module as in one of several.

use super::*;

const REALLOC: &str = "(param i32 i32 i32 i32) (result i32)";

/// The component with a second function of the shim, of a type, in whose slot fix-ups put one of the program's
/// functions, of a type.
fn with_slot(component: &str, ty: &str, function: &str, its: &str) -> String {
    let arguments = "(local.get 0) (local.get 1) (local.get 2) (local.get 3)";
    let arguments = if ty.is_empty() { "" } else { arguments };
    let export = "(export \"$imports\" (table $table))";
    component
        .replace("(table (export \"$imports\") 1 1 funcref)", "(table (export \"$imports\") 2 2 funcref)")
        .replace(
            "(func (export \"0\") (param i32)",
            &format!(
                "(type $u (func {ty})) (func (export \"1\") {ty} (call_indirect (type $u) {arguments} (i32.const 1)))
                (func (export \"0\") (param i32)"
            ),
        )
        .replace(
            "(import \"\" \"$imports\" (table 1 1 funcref))",
            &format!("(import \"\" \"1\" (func {its})) (import \"\" \"$imports\" (table 2 2 funcref))"),
        )
        .replace("(elem (i32.const 0) func 0)", "(elem (i32.const 0) func 0 1)")
        .replace(
            "(alias core export $s \"0\" (core func $late))",
            "(alias core export $s \"0\" (core func $late)) (alias core export $s \"1\" (core func $slot))",
        )
        .replace(
            "(core instance $fixes",
            &format!("(alias core export $m \"{function}\" (core func $given)) (core instance $fixes"),
        )
        .replace(export, &format!("(export \"1\" (func $given)) {export}"))
}

/// Where a call through the shim's table would trap, nothing is called.
#[test]
fn what_starts_and_what_makes_room_has_the_type_of_one() {
    let start = |component: &str, function: &str, its: &str| {
        with_start(&with_slot(component, "", function, its), "$slot")
    };
    let room = |component: &str, function: &str, its: &str| {
        with_slot(component, REALLOC, function, its)
            .replace("(realloc $realloc)", "(realloc $slot)")
    };
    for component in [COMPONENT, &with_library()] {
        joined(&start(component, "_initialize", ""), ADAPTER).unwrap();
        let said = refusal(&start(component, "cabi_realloc", REALLOC));
        let why = "starts with a function that has parameters or results";
        assert!(said.contains(why), "{said}");
        joined(&room(component, "cabi_realloc", REALLOC), ADAPTER).unwrap();
        let said = refusal(&room(component, "_initialize", ""));
        let why = "is called with a function that makes room of another type";
        assert!(said.contains(why), "{said}");
    }
}

/// A start that leads nowhere is not left out.
#[test]
fn a_start_that_fixups_pass_on_is_refused() {
    for component in [COMPONENT, &with_library()] {
        let passed = component
            .replace(
                "(import \"\" \"$imports\" (table 1 1 funcref))\n        (elem",
                "(import \"m\" \"_initialize\" (func $i)) (import \"\" \"$imports\" (table 1 1 funcref))
                (export \"init\" (func $i)) (elem",
            )
            .replace(
                "(core instance (instantiate $fix (with \"\" (instance $fixes))))",
                "(core instance $f (instantiate $fix (with \"\" (instance $fixes)) (with \"m\" (instance $m))))
                (alias core export $f \"init\" (core func $init))",
            );
        let said = refusal(&with_start(&passed, "$init"));
        let why = "s with a function that is not its program's own";
        assert!(said.contains(why), "{said}");
    }
}

/// A name is there once more for each import that has it.
#[test]
fn names_that_are_too_long_are_refused() {
    for component in [COMPONENT, &with_library()] {
        let name = |bytes: usize| {
            component.replace("\"get-arguments\"", &format!("\"{}\"", "a".repeat(bytes)))
        };
        let said = refusal(&name(4000));
        assert!(!said.contains("has a name of more than"), "{said}");
        let said = refusal(&name(5000));
        assert!(
            said.contains("has a name of more than 4096 bytes") && said.len() < 1000,
            "{said}"
        );
    }
}
