//! Every numeric instruction on a grid of edge cases, against this machine's own arithmetic.
//!
//! A compiler treats operands differently by their origin, and comparisons by their use. So each
//! instruction appears with its operands in locals, as constants on either side or both, and from
//! memory; each comparison as a value, negated, and as the condition of `if`, `select` and `br_if`.

#[path = "../common/mod.rs"]
mod common;
mod floats;
mod integers;
mod memory;
mod script;

use common::{Scripts, run};
use script::Script;

fn check(name: &str, fill: impl FnOnce(&mut Script)) {
    let mut script = Script::default();
    fill(&mut script);
    let scripts = Scripts::new(&format!("numerics-{name}"));
    for (i, text) in script.texts().iter().enumerate() {
        scripts.write(&format!("{i:03}.wast"), text);
    }
    run(&[scripts.path()]).expect_passes();
}

#[test]
fn integers_of_32_bits() {
    check("i32", integers::i32);
}

#[test]
fn integers_of_64_bits() {
    check("i64", integers::i64);
}

#[test]
fn floats_of_32_bits() {
    check("f32", floats::f32);
}

#[test]
fn floats_of_64_bits() {
    check("f64", floats::f64);
}

#[test]
fn conversions() {
    check("conversions", |s| {
        integers::conversions(s);
        floats::conversions(s);
    });
}

#[test]
fn loads_and_stores() {
    check("memory", memory::all);
}
