//! A component lowered, and what is none.

use super::*;

/// What is read is valid; but nothing here relies on that.
#[test]
fn what_is_not_valid_is_lowered_or_not() {
    let text = r#"(component
        (import "a:b/c@0.2.0" (instance $i (export "f" (func (result string)))))
        (core module $main (import "m" "f" (func (param i32))) (memory (export "memory") 1)
            (func (export "r") (param i32 i32 i32 i32) (result i32) (i32.const 0))
            (func (export "run") (result i32) (i32.const 0)))
        (core module $shim (type $t (func (param i32))) (table (export "$imports") 1 1 funcref)
            (func (export "0") (param i32) (call_indirect (type $t) (local.get 0) (i32.const 0))))
        (core module $fix (import "" "0" (func (param i32))) (import "" "$imports" (table 1 1 funcref))
            (elem (i32.const 0) func 0))
        (core instance $s (instantiate $shim))
        (alias core export $s "0" (core func $late))
        (core instance $a (export "f" (func $late)))
        (core instance $m (instantiate $main (with "m" (instance $a))))
        (alias core export $m "memory" (core memory $memory))
        (alias core export $m "r" (core func $r))
        (alias export $i "f" (func $f))
        (core func $lowered (canon lower (func $f) (memory $memory) (realloc $r)))
        (alias core export $s "$imports" (core table $table))
        (core instance $x (export "0" (func $lowered)) (export "$imports" (table $table)))
        (core instance (instantiate $fix (with "" (instance $x))))
        (alias core export $m "run" (core func $run_))
        (func $run (result (result)) (canon lift (core func $run_)))
        (component $c (import "f" (func (result (result)))) (export "run" (func 0)))
        (instance $r (instantiate $c (with "f" (func $run))))
        (export "wasi:cli/run@0.2.0" (instance $r)))"#;
    let whole = wat::parse_str(text).unwrap();
    let lowered = lower(&whole).unwrap();
    assert_eq!(lowered.reasons, [""; 0]);
    assert_eq!(
        lowered.wanted,
        [Wanted::Interface("a:b/c@0.2.0", "f".into())]
    );
    assert!(lowered.run.is_some() && lowered.realloc.is_some());
    let mut said = std::collections::BTreeSet::new();
    for at in 8..whole.len() {
        for value in [
            0,
            1,
            2,
            5,
            0x7f,
            0xff,
            whole[at] ^ 1,
            whole[at].wrapping_add(1),
        ] {
            let mut changed = whole.clone();
            changed[at] = value;
            if let Ok(lowered) = lower(&changed) {
                said.extend(lowered.reasons);
                said.extend(
                    lowered
                        .wanted
                        .into_iter()
                        .map(|wanted| format!("{wanted:?}")),
                );
            }
        }
        let _ = lower(&whole[..at]);
    }
    assert!(said.len() > 5, "{said:?}");
}
