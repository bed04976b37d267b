//! No text makes the language panic or run on and on: prefixes, mutations, random texts, hostile
//! shapes.

use proptest::prelude::*;
use sing_contract::{Severity, compile, format, load, parse};

const SEED: &str = r#"
// Everything that there is.
enum Colour : byte { Red, Green = 5, Blue = 0x7 }
rep struct Point { int x; long y; Colour c; }
public contract Base { out message Success(); state Start: Success! -> Bound; state Bound: one { } }
rep struct Tree { Point at; char[] in ExHeap name; Tree*? in ExHeap left; Tree[]? in ExHeap others; }
contract Less narrows Rich.Imp { Open; Ball; }
/// Documented.
public contract Rich : Base {
  in message Open(char[] in ExHeap path, Base.Exp:Start exp) requires true && !(1 > 2);
  in message Plant(Tree* in ExHeap tree, Less.Imp:Ready less);
  in message Move(Point[] in points, Point* in ExHeap single, Colour c, double d) requires c == Colour.Red || d <= -1;
  out message Ok(); out message No(Base.Exp:Start exp); message Ball(u8 a);
  override state Start: Success! -> Ready;
  state Ready: one {
    Open? -> (Ok! or No!) -> Ready;
    Move? -> one { Ok! -> Ready; No! -> Ball? -> (Ball! or Ok!) -> Ready; };
    state Inner: Ball? -> closed;
    Plant? -> Ok! -> Ready;
    Ball? -> Ball! -> Inner
  }
}
"#;

/// Does everything with a text that can be done with one.
fn exercise(text: &str) {
    if let Err(errors) = compile(text) {
        // Errors come first, and what else was noticed after them.
        assert!(
            errors
                .first()
                .is_some_and(|e| e.severity == Severity::Error)
        );
        for e in &errors {
            let kind = ["error: ", "warning: "]
                .iter()
                .any(|k| e.to_string().starts_with(k));
            assert!(!e.message.is_empty() && kind);
        }
    }
    if let Ok(file) = parse(text) {
        let formatted = format::file(&file, true);
        assert!(parse(&formatted).is_ok(), "{text}\n---\n{formatted}");
    }
    if let Ok(contracts) = load(text) {
        for table in contracts.tables() {
            table.check().unwrap();
        }
        assert_eq!(compile(&contracts.text()).unwrap(), contracts.tables());
    }
}

#[test]
fn the_seed_is_sound() {
    if let Err(errors) = compile(SEED) {
        panic!("{}", errors[0]);
    }
}

#[test]
fn every_prefix() {
    for (i, _) in SEED.char_indices() {
        exercise(&SEED[..i]);
    }
}

#[test]
fn every_single_token_left_out_or_doubled() {
    let words: Vec<&str> = SEED
        .split_inclusive(|c: char| !c.is_alphanumeric())
        .collect();
    for i in 0..words.len() {
        exercise(&[&words[..i], &words[i + 1..]].concat().concat());
        exercise(&[&words[..=i], &words[i..]].concat().concat());
    }
}

#[test]
fn hostile_shapes() {
    let many = |s: &str, n: usize| s.repeat(n);
    for text in [
        many("(", 100_000),
        many("{", 100_000),
        format!(
            "contract C {{ in message M(); state S: {}",
            many("(", 100_000)
        ),
        format!(
            "contract C {{ in message M(); state S: {}",
            many("one { ", 100_000)
        ),
        format!(
            "contract C {{ in message M(int a) requires {}",
            many("!", 100_000)
        ),
        format!(
            "contract C {{ in message M(int a) requires {}",
            many("(", 100_000)
        ),
        format!(
            "contract C {{ in message M(int a) requires a{}",
            many(" + a", 100_000)
        ),
        format!(
            "contract C {{ in message M(int a) requires a{}",
            many(".b", 100_000)
        ),
        format!(
            "contract C {{ in message M(int a) requires a{}",
            many(" && a", 5_000)
        ),
        format!(
            "contract C {{ in message M(); state S: M?{} -> closed; }}",
            many(" -> M?", 50_000)
        ),
        format!(
            "contract C {{ in message M(); state S: one {{ {} }} }}",
            many("M? -> S;\n", 20_000)
        ),
        (0..2_000)
            .map(|i| format!("contract C{i} : C{} {{ }}\n", i + 1))
            .collect(),
        (0..2_000)
            .map(|i| format!("rep struct S{i} {{ S{0} a; S{0} b; }}\n", i + 1))
            .collect(),
        format!(
            "{} rep struct S500 {{ }}",
            (0..500)
                .map(|i| format!("rep struct S{i} {{ S{0} a; S{0} b; }}\n", i + 1))
                .collect::<String>()
        ),
        // Nothing, nested in ever more ways.
        format!(
            "{} rep struct S60 {{ }} contract C {{ in message M(S0 a, S0* in ExHeap b); state S: M? -> closed; }}",
            (0..60)
                .map(|i| format!("rep struct S{i} {{ S{0} a; S{0} b; }}\n", i + 1))
                .collect::<String>()
        ),
        // Doubled by each generation, were each table made anew.
        format!(
            "contract C0 {{ in message M(); out message O(); state S: M? -> O! -> S; }} {}",
            (1..32)
                .map(|i| format!("contract C{i} : C{} {{ }}\n", i - 1))
                .collect::<String>()
        ),
        // Permissions, one of the other.
        format!(
            "contract N0 {{ in message M(); out message O(); state S: M? -> O! -> S; }} {}",
            (1..60)
                .map(|i| format!("contract N{i} narrows N{}.Imp {{ M; }}\n", i - 1))
                .collect::<String>()
        ),
        // A circle through every struct.
        (0..500)
            .map(|i| {
                format!(
                    "rep struct S{i} {{ S{}* in ExHeap a; int b; }}\n",
                    (i + 1) % 500
                )
            })
            .collect(),
        // Endpoints that could all lie in each other.
        (0..60)
            .map(|i| {
                let all: String = (0..8)
                    .map(|k| format!("in message M{k}(C{}.Exp:S e);", (i + k * 7) % 60))
                    .collect();
                let states: String = (0..8).map(|k| format!("M{k}? -> closed;")).collect();
                format!("contract C{i} {{ {all} state S: one {{ {states} }} }}\n")
            })
            .collect(),
        (0..300)
            .map(|i| format!("enum E{i} {{ A = {i} }}\n"))
            .collect(),
        format!(
            "contract C {{ {} state S: M0? -> closed; }}",
            (0..400)
                .map(|i| format!("in message M{i}();"))
                .collect::<String>()
        ),
    ] {
        exercise(&text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_text(text in ".{0,200}") {
        exercise(&text);
    }

    #[test]
    fn random_words(words in prop::collection::vec(
        prop::sample::select(vec![
            "contract", "C", "D", "{", "}", "(", ")", "in", "out", "message", "M", "N", "state", "S", "T",
            ":", ";", "->", "?", "!", "one", "or", "override", "closed", "int", "byte", "[", "]", "*", "ExHeap",
            ".", "Imp", "Exp", ",", "requires", "x", ">", "0", "enum", "rep", "struct", "=", "import", "\"f\"",
            "///d\n", "//d\n\n", "public", "true", "&&", "-", "'",
        ]), 0..60)) {
        exercise(&words.join(" "));
    }

    #[test]
    fn mutations(cuts in prop::collection::vec((any::<prop::sample::Index>(), 0usize..12, ".{0,3}"), 1..5)) {
        let mut text: Vec<char> = SEED.chars().collect();
        for (at, len, new) in cuts {
            let at = at.index(text.len().max(1)).min(text.len());
            let end = (at + len).min(text.len());
            text.splice(at..end, new.chars());
        }
        exercise(&text.into_iter().collect::<String>());
    }
}

#[test]
fn texts_that_are_wrong_everywhere_take_no_longer() {
    let unknown = |n: usize| {
        let one =
            |i| format!("contract C{i} {{ in message A(Foo{i} x); state S: A? -> closed; }}\n");
        (0..n)
            .map(one)
            .chain(["enum Fop0 { A }".into()])
            .collect::<String>()
    };
    let long = "x".repeat(95);
    let messages: String = (0..250)
        .map(|i| format!("in message {long}{i}();"))
        .collect();
    let states: String = (0..1000)
        .map(|i| format!("state S{i}: {long}y{i}? -> closed;"))
        .collect();
    for text in [
        unknown(4_000),
        format!("contract C {{ {messages} {states} }}"),
    ] {
        let start = std::time::Instant::now();
        let errors = compile(&text).unwrap_err();
        let taken = start.elapsed();
        // The first are still told what was probably meant.
        assert!(errors[0].help.is_some(), "{}", errors[0]);
        assert!(taken < std::time::Duration::from_secs(5), "{taken:?}");
    }
}

#[test]
fn a_byte_order_mark_is_passed_over() {
    for text in [
        "// First.\ncontract C { in message M(); state S: M? -> closed; }\n",
        SEED,
    ] {
        let marked = format!("\u{feff}{text}");
        exercise(&marked);
        assert_eq!(compile(&marked), compile(text));
        assert_eq!(format::source("c", &marked), format::source("c", text));
        let file = |text| format::file(&parse(text).unwrap(), true);
        assert_eq!(file(&marked), file(text));
    }
}
