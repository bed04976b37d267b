//! Pieces of data, and who uses them, in small modules.

use super::*;
use crate::tests::processor_time;
use std::time::Duration;

fn uses(text: &str) -> Uses {
    let wasm = wat::parse_str(text).unwrap();
    Uses::of(&wasm, &Graph::of(&wasm).unwrap()).unwrap()
}

/// The pieces of a module: memory, address, length.
fn pieces(uses: &Uses) -> Vec<(Option<u32>, u64, u64)> {
    let pieces = uses.pieces.iter();
    pieces.map(|p| (p.memory, p.at, p.bytes)).collect()
}

/// The pieces that function 0 names in a memory with 100 bytes at 1000, by their addresses.
fn named(body: &str) -> Vec<u64> {
    let hundred = "x".repeat(100);
    let uses = uses(&format!(
        "(module (memory 1) (data (i32.const 1000) \"{hundred}\") (func {body})
            (global $table i32 (i32.const 1040)) (global $sp (mut i32) (i32.const 1020)))"
    ));
    let named = uses.of[0].iter();
    named.map(|p| uses.pieces[*p as usize].at).collect()
}

#[test]
fn constants_that_become_addresses_are_found() {
    for (body, found) in [
        ("(drop (i32.load (i32.const 1016)))", &[1016][..]),
        ("(drop (i32.load offset=1000 (i32.const 16)))", &[1016]),
        ("(drop (i32.load offset=1000 (i32.const 0)))", &[1000]),
        (
            "(i32.store offset=1012 (i32.const 0) (i32.const 1001))",
            &[1001, 1012],
        ),
        (
            "(local i32) (drop (i32.load8_u offset=1032 (local.get 0)))",
            &[1032],
        ),
        (
            "(local i32) (drop (i32.load8_u (i32.add (local.get 0) (i32.const 1032))))",
            &[1032],
        ),
        ("(drop (i32.load (global.get $table)))", &[1040]),
        ("(drop (v128.load (i32.const 1048)))", &[1048]),
        (
            "(drop (i32.atomic.rmw.add (i32.const 1008) (i32.const 5)))",
            &[1008],
        ),
        (
            "(local v128) (drop (v128.load8_lane offset=1000 3 (i32.const 24) (local.get 0)))",
            &[1000],
        ),
        (
            "(memory.copy (i32.const 0) (i32.const 1099) (i32.const 4))",
            &[1099],
        ),
        // Outside, or something else.
        ("(drop (i32.load (i32.const 999)))", &[]),
        ("(drop (i32.load (i32.const 1100)))", &[]),
        (
            "(local i32) (drop (i32.and (local.get 0) (i32.const 1023)))",
            &[],
        ),
        (
            "(local i32) (drop (i32.mul (local.get 0) (i32.const 1000)))",
            &[],
        ),
        (
            "(global.set $sp (i32.sub (global.get $sp) (i32.const 1024)))",
            &[],
        ),
        (
            "(global.set $sp (i32.add (global.get $sp) (i32.const 1024)))",
            &[],
        ),
        ("(drop (i64.load (i32.const 8)))", &[]),
    ] {
        assert_eq!(named(body), found, "{body}");
    }
}

#[test]
fn pieces_end_where_the_next_begin_and_are_all_of_the_data() {
    let of = uses(
        "(module (memory 1) (data (i32.const 64) \"0123456789\") (data (i32.const 74) \"abcdef\")
            (data (i32.const 100) \"far\") (data \"passive\")
            (func (drop (i32.load (i32.const 66)))) (func (drop (i32.load (i32.const 76))))
            (func (memory.init 3 (i32.const 0) (i32.const 0) (i32.const 7))))",
    );
    assert_eq!(
        pieces(&of),
        [
            (Some(0), 64, 2),
            (Some(0), 66, 8),
            (Some(0), 74, 2),
            (Some(0), 76, 4),
            (Some(0), 100, 3),
            (None, 3, 7),
        ]
    );
    assert_eq!(of.of, [vec![1], vec![3], vec![5]]);
    use Reached as R;
    let found = of.reached(|func| func != 1);
    assert_eq!(found, [R::Not, R::Named, R::Not, R::Idle, R::Not, R::Named]);
}

#[test]
fn words_lead_from_piece_to_piece() {
    // At 16 a word that points to 24, where one points to 28, where there is a text; another
    // piece points to the first and is named by nobody, and one by a function that cannot run.
    let of = uses(
        "(module (memory 1) (data (i32.const 16) \"\\18\\00\\00\\00abcd\\1c\\00\\00\\00text\")
            (data (i32.const 64) \"\\10\\00\\00\\00\") (data (i32.const 80) \"\\54\\00\\00\\00beyo\")
            (func (drop (i32.load (i32.const 16)))) (func (drop (i32.load (i32.const 80)))))",
    );
    let leads: Vec<_> = of
        .pieces
        .iter()
        .map(|p| (p.at, p.leads_to.clone()))
        .collect();
    let expected: [(u64, &[u32]); 6] = [
        (16, &[1]),
        (24, &[2]),
        (28, &[]),
        (64, &[0]),
        (80, &[5]),
        (84, &[]),
    ];
    assert!(
        leads.iter().map(|(at, to)| (*at, &to[..])).eq(expected),
        "{leads:?}"
    );
    use Reached as R;
    let found = of.reached(|func| func == 0);
    assert_eq!(
        found,
        [R::Named, R::Pointed, R::Pointed, R::Not, R::Idle, R::Idle]
    );
}

#[test]
fn a_segment_with_a_name_of_its_own_is_one_piece() {
    let text = "(module (memory 1) (data $NAME (i32.const 16) \"01234567\") (data $.rodata (i32.const 24) \"89abcdef\")
        (func (drop (i32.load8_u (i32.const 20)))) (func (drop (i32.load8_u (i32.const 28)))))";
    let of = uses(&text.replace("NAME", "table"));
    assert_eq!(
        pieces(&of),
        [(Some(0), 16, 8), (Some(0), 24, 4), (Some(0), 28, 4)]
    );
    assert_eq!(of.pieces[0].name.as_deref(), Some("table"));
    assert_eq!(of.of, [[0], [2]]);
    // That of a linker, for all that is alike.
    let of = uses(&text.replace("NAME", ".data"));
    assert_eq!(of.pieces.len(), 4);
    assert_eq!(of.segments[0].as_deref(), Some(".data"));
    assert!(of.pieces.iter().all(|piece| piece.name.is_none()));
}

#[test]
fn segments_over_each_other_are_counted_once() {
    let of = uses(
        "(module (memory 1) (data (i32.const 16) \"01234567\") (data (i32.const 20) \"abcdefgh\")
            (data (i32.const 18) \"x\") (data (i32.const 40) \"\"))",
    );
    assert_eq!(pieces(&of).iter().map(|p| p.2).sum::<u64>(), 12);
    let end = u64::from(u32::MAX);
    let last = uses(&format!(
        "(module (memory 65536) (data (i32.const {end}) \"z\"))"
    ));
    assert_eq!(pieces(&last), [(Some(0), end, 1)]);
}

#[test]
fn constants_count_in_the_memories_that_a_function_accesses() {
    let of = uses(
        "(module (memory $a 1) (memory $b i64 1)
            (data (memory $a) (i32.const 16) \"0123\") (data (memory $b) (i64.const 16) \"0123\")
            (func (drop (i32.load $a (i32.const 16))) (drop (i32.const 16)))
            (func (local i64) (drop (i32.load $b (i64.add (local.get 0) (i64.const 16)))))
            (func (param i32)) (func (call 2 (i32.const 16))))",
    );
    assert_eq!(of.of, [vec![0], vec![1], vec![], vec![0, 1]]);
}

#[test]
fn what_is_known_is_one_piece_however_few_segments_fill_it() {
    let known = [
        Extent {
            start: (0, 10),
            end: 40,
            name: Some("a".into()),
        },
        Extent {
            start: (0, 60),
            end: 70,
            name: Some("empty".into()),
        },
    ];
    let placed: [(Place, usize, &[u8]); 4] = [
        ((0, 12), 0, b"aa"),
        ((0, 20), 1, b"bbb"),
        ((0, 38), 2, b"cccc"),
        ((0, 80), 3, b"d"),
    ];
    let areas = joined(&placed);
    let mut cuts: Vec<Place> = areas.iter().map(|area| area.start).collect();
    cuts.extend(known.iter().flat_map(|k| [k.start, (0, k.end)]));
    cuts.sort_unstable();
    let mut uses = Uses::default();
    uses.cut(&areas, &known, &cuts);
    assert_eq!(
        pieces(&uses),
        [(Some(0), 12, 7), (Some(0), 40, 2), (Some(0), 80, 1)]
    );
    for (at, piece) in [
        (10, Some(0)),
        (21, Some(0)),
        (39, Some(0)),
        (41, Some(1)),
        (65, None),
        (80, Some(2)),
    ] {
        assert_eq!(uses.at(&known, (0, at)), piece, "{at}");
    }
}

#[test]
fn what_there_are_very_many_of_takes_no_time() {
    const MANY: usize = 100_000;
    let loads = "(drop (i32.load 0 (i32.const 0))) (drop (i32.load 1 (i32.const 0)))";
    let drops: String = (0..MANY).map(|n| format!("(data.drop {n})")).collect();
    for (what, text) in [
        (
            "accesses of two memories in turns",
            format!(
                "(memory 1) (memory 1) (data (i32.const 0) \"x\") (func {})",
                loads.repeat(MANY)
            ),
        ),
        (
            "passive segments",
            format!("(memory 1) {} (func {drops})", "(data \"\")".repeat(MANY)),
        ),
    ] {
        let wasm = wat::parse_str(format!("(module {text})")).unwrap();
        let graph = Graph::of(&wasm).unwrap();
        let (uses, took) = processor_time(|| Uses::of(&wasm, &graph));
        assert!(uses.is_ok(), "{what}");
        assert!(took < Duration::from_secs(20), "{what}: {took:?}");
    }
}
