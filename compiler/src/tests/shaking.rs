//! Functions that nothing can call, and data that nothing names, are left out of an image.

use super::{MAIN, compile, instructions, sip, traps};
use crate::{Compiled, Options};
use iced_x86::Mnemonic;
use sing_abi::trap::Trap;
use sing_image::elf::Image;
use sing_image::meta::{ConstExpr, SegmentMode};

fn shaken(fields: &str) -> Compiled {
    let wasm = sip(fields);
    let compiled = crate::compile(&wasm, &Options::default()).unwrap_or_else(|e| panic!("{e}"));
    // What the file's readers ask of functions holds.
    let file = compiled.to_elf().unwrap();
    let image = Image::decode(&file).unwrap();
    assert_eq!(image.meta, compiled.meta);
    compiled
}

/// Whether each function has code, in order of their indices.
fn have_code(compiled: &Compiled) -> Vec<bool> {
    compiled.meta.funcs.iter().map(|f| f.size > 0).collect()
}

const BIG: &str =
    "(i32.add (i32.mul (local.get 0) (i32.const 77)) (i32.rotl (local.get 0) (i32.const 5)))";

#[test]
fn what_nothing_calls_has_no_code_and_keeps_its_index_and_name() {
    let fields = format!(
        "(func $first (param i32) (result i32) {BIG}) (func $used (param i32) (result i32) {BIG})
        (func $dead (param i32) (result i32) (call $deader (local.get 0)))
        (func $deader (param i32) (result i32) {BIG})
        (func (export \"sip_main\") (result i32) (call $used (i32.const 1)))
        (func $last (param i32) (result i32) {BIG})"
    );
    let compiled = shaken(&fields);
    assert_eq!(
        have_code(&compiled),
        [false, true, false, false, true, false]
    );
    let names: Vec<&str> = compiled.meta.funcs.iter().map(|f| &*f.name).collect();
    assert_eq!(
        names,
        ["first", "used", "dead", "deader", "function 4", "last"]
    );
    assert_eq!((compiled.stats.functions, compiled.stats.left_out), (2, 4));
    let whole = compile(&sip(&fields));
    assert!(compiled.code.len() < whole.code.len());
    assert_eq!(whole.stats.left_out, 0);
    // At each of them is a trap, which no function's code holds.
    for func in compiled.meta.funcs.iter().filter(|f| f.size == 0) {
        let code = &compiled.code[func.offset as usize..];
        assert!(code.starts_with(&[0x0f, 0x0b]), "{}", func.name);
        let trap = compiled.meta.trap_at(func.offset);
        assert_eq!(trap, Some(Trap::Unreachable.code()), "{}", func.name);
        assert_eq!(compiled.meta.func_at(func.offset), None, "{}", func.name);
    }
    // Those that follow each other share one.
    assert_eq!(compiled.meta.funcs[2].offset, compiled.meta.funcs[3].offset);
    for name in ["used", "function 4"] {
        let func = compiled.meta.funcs.iter().find(|f| f.name == name).unwrap();
        let found = compiled.meta.func_at(func.offset + func.size - 1);
        assert_eq!(found, Some(func));
    }
}

#[test]
fn whatever_can_be_called_keeps_its_code() {
    for (what, fields) in [
        ("an export", "(func $f (export \"other\"))".to_string()),
        ("the start", "(func $f) (start $f)".to_string()),
        ("a call", "(func $f) (func (export \"a\") (call $f))".into()),
        (
            "a tail call",
            "(func $f) (func (export \"a\") (return_call $f))".into(),
        ),
        (
            "a table",
            "(table 1 funcref) (elem (i32.const 0) func $f) (func $f)
             (func (export \"a\") (call_indirect (i32.const 0)))"
                .into(),
        ),
        (
            "a table's first value",
            "(func $f) (table 1 funcref (ref.func $f))
             (func (export \"a\") (call_indirect (i32.const 0)))"
                .into(),
        ),
        (
            "a passive segment",
            "(table 1 funcref) (elem $e func $f) (func $f)
             (func (export \"a\") (table.init $e (i32.const 0) (i32.const 0) (i32.const 1))
               (call_indirect (i32.const 0)))"
                .into(),
        ),
        (
            "a reference in code",
            "(type $t (func)) (elem declare func $f) (func $f)
             (func (export \"a\") (call_ref $t (ref.func $f)))"
                .into(),
        ),
        (
            "a reference in a global, put into a table",
            "(table 1 funcref) (func $f) (global $g funcref (ref.func $f))
             (func (export \"a\") (table.set (i32.const 0) (global.get $g))
               (return_call_indirect (i32.const 0)))"
                .into(),
        ),
        (
            "a handler",
            "(tag $t) (func $f) (func (export \"a\")
               (block (try_table (catch $t 0) (throw $t))) (call $f))"
                .into(),
        ),
    ] {
        let compiled = shaken(&format!("{fields} {MAIN}"));
        let f = compiled.meta.funcs.iter().find(|f| f.name == "f").unwrap();
        assert!(f.size > 0, "{what}");
        assert_eq!(compiled.stats.left_out, 0, "{what}");
    }
}

/// An element stays: that it is not null can be seen. What it refers to is only left out where every
/// call through the table is of another type, and stops there.
#[test]
fn entries_that_cannot_be_called_stay_without_code() {
    let compiled = shaken(&format!(
        "(table 2 funcref) (elem (i32.const 0) func $f $g)
        (func $f (param i32) (result i32) {BIG}) (func $g (result i32) (i32.const 1))
        (func (export \"a\") (result i32) (call_indirect (result i32) (i32.const 0))) {MAIN}"
    ));
    assert_eq!(have_code(&compiled), [false, true, true, true]);
    let items = &compiled.meta.elements[0].items;
    assert_eq!(items[..], [ConstExpr::RefFunc(0), ConstExpr::RefFunc(1)]);
    let code = instructions(&compiled, "function 2");
    assert!(code.iter().any(|i| i.mnemonic() == Mnemonic::Cmp));
    assert!(traps(&compiled, "function 2").contains(&Trap::BadSignature));
}

/// An imported function that a table holds is a function of the image's own, which may be left out.
#[test]
fn what_stands_for_an_import_is_left_out_with_it() {
    let fields = |ty: &str| {
        format!(
            "(import \"sing_v1\" \"yield\" (func $yield)) (table 1 funcref)
            (elem (i32.const 0) $yield) (func (export \"a\") (call_indirect {ty} (i32.const 0))) {MAIN}"
        )
    };
    assert_eq!(have_code(&shaken(&fields(""))), [true, true, true]);
    let other = fields("(param i32) (i32.const 0)");
    assert_eq!(have_code(&shaken(&other)), [true, true, false]);
}

#[test]
fn passive_data_that_no_code_names_is_left_out() {
    let used = "(memory.init $b (i32.const 0) (i32.const 0) (i32.const 1))";
    let never = "(memory.init $a (i32.const 0) (i32.const 0) (i32.const 1))";
    let compiled = shaken(&format!(
        "(memory 1) (data $a \"never\") (data $b \"used\") (data $c \"last\") (func {never})
        (func (export \"a\") {used}) {MAIN}"
    ));
    assert_eq!(compiled.data, b"used");
    let modes: Vec<_> = compiled.meta.data.iter().map(|d| (d.mode, d.len)).collect();
    assert_eq!(
        modes,
        [(SegmentMode::Declared, 0), (SegmentMode::Passive, 4)]
    );
}

#[test]
fn an_open_module_keeps_all() {
    let text = "(module (func $f) (memory 1) (data \"abc\"))";
    let options = Options::open(crate::MemoryMode::Guard);
    let compiled = crate::compile(&super::wat(text), &options).unwrap();
    assert!(compiled.meta.funcs[0].size > 0);
    assert_eq!(compiled.data, b"abc");
}

/// What is left out need not be compiled, but is verified all the same.
#[test]
fn what_nothing_calls_is_still_verified() {
    let wasm = sip(&format!("(func $bad (result i32) i64.const 1) {MAIN}"));
    let e = crate::compile(&wasm, &Options::default()).unwrap_err();
    assert!(e.to_string().contains("function 0 (bad)"), "{e}");
}
