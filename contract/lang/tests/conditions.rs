//! The kernel's checks at a send: the tables' conditions against the language's definition.

use proptest::prelude::*;
use sing_contract::conditions::judged;
use sing_contract::{compile, load};
use sing_image::contract::{
    ContractTable, MAX_CONDITIONS, MAX_RANGES, MAX_STEPS, MAX_VALUES, Read, Step, Test,
};

/// An expression of whole numbers or of truth values, as written.
#[derive(Clone, Debug)]
enum Expr {
    Number(u64),
    Truth(bool),
    Argument(usize),
    Unary(&'static str, Box<Expr>),
    Binary(&'static str, Box<Expr>, Box<Expr>),
}

/// The arguments: type, name, how their words are made values, and whether that is a truth value.
const ARGUMENTS: [(&str, &str); 9] = [
    ("sbyte", "a"),
    ("ushort", "b"),
    ("int", "c"),
    ("ulong", "d"),
    ("long", "e"),
    ("bool", "f"),
    ("Inner", "g"),
    ("short?", "h"),
    ("bool?", "i"),
];

/// The terms by which conditions speak of arguments that may be absent; these stand behind those that are
/// always there.
const PERHAPS: [&str; 4] = ["h.Value", "h.HasValue", "i.Value", "i.HasValue"];

/// The value of an argument in its word; `g.y`, the second word of `g`, is a byte. None if it is
/// absent.
fn value(argument: usize, words: &[u64]) -> Option<i128> {
    Some(match argument {
        0 => (words[0] as i8).into(),
        1 => (words[1] as u16).into(),
        2 => (words[2] as i32).into(),
        3 => words[3].into(),
        4 => (words[4] as i64).into(),
        5 => words[5].into(),
        6 => (words[7] as u8).into(),
        7 if words[8] == 1 => (words[9] as i16).into(),
        8 => words[8].into(),
        9 if words[10] == 1 => words[11].into(),
        10 => words[10].into(),
        _ => return None,
    })
}

impl Expr {
    fn text(&self) -> String {
        match self {
            Expr::Number(n) => n.to_string(),
            Expr::Truth(t) => t.to_string(),
            Expr::Argument(6) => "g.y".into(),
            Expr::Argument(i) if *i > 6 => PERHAPS[*i - 7].into(),
            Expr::Argument(i) => ARGUMENTS[*i].1.into(),
            Expr::Unary(op, a) => format!("{op}({})", a.text()),
            Expr::Binary(op, a, b) => format!("({}) {op} ({})", a.text(), b.text()),
        }
    }

    /// The definition, as the book says it: left to right, nothing that is not needed, no result
    /// without one.
    fn result(&self, words: &[u64]) -> Option<i128> {
        Some(match self {
            Expr::Number(n) => (*n).into(),
            Expr::Truth(t) => i128::from(*t),
            Expr::Argument(i) => value(*i, words)?,
            Expr::Unary("!", a) => i128::from(a.result(words)? == 0),
            Expr::Unary(_, a) => a.result(words)?.checked_neg()?,
            Expr::Binary(op, a, b) => {
                let a = a.result(words)?;
                match (*op, a) {
                    ("&&", 0) => return Some(0),
                    ("||", 1) => return Some(1),
                    _ => {}
                }
                let b = b.result(words)?;
                match *op {
                    "+" => a.checked_add(b)?,
                    "-" => a.checked_sub(b)?,
                    "*" => a.checked_mul(b)?,
                    "/" => a.checked_div(b)?,
                    "%" => a.checked_rem(b)?,
                    "==" => (a == b).into(),
                    "!=" => (a != b).into(),
                    "<" => (a < b).into(),
                    "<=" => (a <= b).into(),
                    ">" => (a > b).into(),
                    ">=" => (a >= b).into(),
                    _ => b,
                }
            }
        })
    }
}

fn boxed(op: &'static str, (a, b): (Expr, Expr)) -> Expr {
    Expr::Binary(op, Box::new(a), Box::new(b))
}

fn number() -> impl Strategy<Value = Expr> {
    let some = prop_oneof![Just(0), Just(1), Just(u64::MAX), 0u64..10, any::<u64>()];
    let leaf = prop_oneof![
        some.prop_map(Expr::Number),
        prop::sample::select(vec![0, 1, 2, 3, 4, 6, 7, 7]).prop_map(Expr::Argument),
    ];
    leaf.prop_recursive(3, 12, 2, |inner| {
        let op = prop::sample::select(vec!["+", "-", "*", "*", "/", "%"]);
        prop_oneof![
            inner.clone().prop_map(|a| Expr::Unary("-", Box::new(a))),
            (op, (inner.clone(), inner)).prop_map(|(op, ab)| boxed(op, ab)),
        ]
    })
}

fn truth() -> impl Strategy<Value = Expr> {
    let compared = prop::sample::select(vec!["==", "!=", "<", "<=", ">", ">="]);
    let leaf = prop_oneof![
        1 => any::<bool>().prop_map(Expr::Truth),
        2 => prop::sample::select(vec![5, 8, 9, 10]).prop_map(Expr::Argument),
        6 => (compared, (number(), number())).prop_map(|(op, ab)| boxed(op, ab)),
    ];
    leaf.prop_recursive(3, 8, 2, |inner| {
        let op = prop::sample::select(vec!["&&", "||", "==", "!="]);
        prop_oneof![
            inner.clone().prop_map(|a| Expr::Unary("!", Box::new(a))),
            (op, (inner.clone(), inner)).prop_map(|(op, ab)| boxed(op, ab)),
        ]
    })
}

fn words() -> impl Strategy<Value = Vec<u64>> {
    let some = prop_oneof![
        Just(0),
        Just(1),
        Just(u64::MAX),
        Just(1 << 63),
        0u64..10,
        any::<u64>()
    ];
    prop::collection::vec(some, 12).prop_map(|mut words| {
        for truth in [5, 8, 10, 11] {
            words[truth] &= 1;
        }
        for there in [8, 10] {
            words[there + 1] *= words[there];
        }
        words
    })
}

fn only(source: &str) -> ContractTable {
    let tables = compile(source).unwrap_or_else(|e| panic!("{source}\n{}", e[0]));
    tables.into_iter().next().unwrap()
}

/// Whether all conditions of the first message hold.
fn holds(table: &ContractTable, words: &[u64]) -> bool {
    table.messages[0].conditions.iter().all(|c| c.holds(words))
}

fn contract(declared: &str, requires: &str) -> String {
    format!("contract C {{ in message M({declared}) {requires}; state S: M? -> closed; }}")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn tables_compute_what_the_language_says(expr in truth(), all in prop::collection::vec(words(), 4)) {
        let declared: Vec<String> = ARGUMENTS.iter().map(|(ty, name)| format!("{ty} {name}")).collect();
        let source = contract(&declared.join(", "), &format!("requires {}", expr.text()));
        let table = only(&format!("rep struct Inner {{ int x; byte y; }} {source}"));
        table.check().unwrap();
        for words in all {
            let expected = expr.result(&words) == Some(1);
            prop_assert_eq!(holds(&table, &words), expected, "{} of {:?}", expr.text(), words);
        }
    }
}

#[test]
fn words_are_values_of_their_types() {
    let of = |declared: &str, words: &[u64]| {
        let source = contract(declared, "");
        let scattered: String = (0..=MAX_RANGES)
            .map(|i| format!("V{i} = {}, ", i * 2))
            .collect();
        holds(
            &only(&format!(
                "{source} enum E : sbyte {{ A = -3, B = -2, C = 5 }} rep struct S {{ E e; bool b; }}
                 rep struct Empty {{ }} enum Many {{ {scattered} }}"
            )),
            words,
        )
    };
    for (declared, good, bad) in [
        ("bool b", vec![0, 1], vec![2, 256, 1 << 63]),
        (
            "char c",
            vec![0, 0xd7ff, 0xe000, 0x10_ffff],
            vec![0xd800, 0xdfff, 0x11_0000, 1 << 32],
        ),
        ("float f", vec![0, 0xffff_ffff], vec![1 << 32]),
        // Bits above the type are ignored, as for every number.
        (
            "E e",
            vec![253, 254, 5, 0x105, u64::MAX - 1],
            vec![0, 252, 255, 6, u64::MAX],
        ),
        ("byte b", vec![0, 255, 256, u64::MAX], vec![]),
        ("double d", vec![0, u64::MAX], vec![]),
        // Too scattered: whoever receives it has to look.
        ("Many m", vec![0, 1], vec![]),
    ] {
        for word in good {
            assert!(of(declared, &[word]), "{declared} {word}");
        }
        for word in bad {
            assert!(!of(declared, &[word]), "{declared} {word}");
        }
    }
    // In their places, behind others, in structs.
    for (words, sound) in [
        ([7, 5, 1, 9], true),
        ([7, 4, 1, 9], false),
        ([7, 5, 2, 9], false),
    ] {
        assert_eq!(
            of("int x, S s, byte[] in ExHeap d", &words),
            sound,
            "{words:?}"
        );
    }
}

/// What is absent is all zeros, and what is there a value: the kernel sees to it, without a
/// condition in the contract.
#[test]
fn values_that_may_be_absent_are_there_or_zeros() {
    let declared = "enum E : sbyte { A = -3, B = 5 } enum Z { None, One }
        rep struct Inner { E e; char? c; } rep struct Empty { }";
    let of = |argument: &str, words: &[u64]| {
        let source = contract(&format!("{argument} a"), "");
        let table = only(&format!("{source} {declared}"));
        table.check().unwrap();
        assert_eq!(table.messages[0].words.len(), words.len());
        holds(&table, words)
    };
    let minus = -3i64 as u64;
    for (argument, words, sound) in [
        ("int?", vec![0, 0], true),
        ("int?", vec![1, 0], true),
        ("int?", vec![1, u64::MAX], true),
        ("int?", vec![0, 1], false),
        ("int?", vec![0, 1 << 40], false),
        ("int?", vec![2, 0], false),
        ("int?", vec![1 << 32, 5], false),
        ("bool?", vec![1, 1], true),
        ("bool?", vec![1, 2], false),
        ("char?", vec![1, 0xd800], false),
        ("float?", vec![1, 1 << 32], false),
        ("double?", vec![0, 1 << 63], false),
        // An enum with a value 0, and one without.
        ("Z?", vec![0, 0], true),
        ("Z?", vec![1, 0], true),
        ("Z?", vec![1, 2], false),
        ("E?", vec![0, 0], true),
        ("E?", vec![1, 0], false),
        ("E?", vec![1, 0x100], false),
        ("E?", vec![1, minus], true),
        ("E?", vec![0, minus], false),
        ("Inner?", vec![0, 0, 0, 0], true),
        ("Inner?", vec![0, minus, 0, 0], false),
        ("Inner?", vec![0, 0, 1, 0], false),
        ("Inner?", vec![0, 0, 0, 7], false),
        ("Inner?", vec![1, 0, 0, 0], false),
        ("Inner?", vec![1, 5, 0, 0], true),
        ("Inner?", vec![1, 5, 1, 65], true),
        ("Inner?", vec![1, 5, 0, 65], false),
        ("Inner?", vec![1, 5, 2, 65], false),
        ("Empty?", vec![0], true),
        ("Empty?", vec![1], true),
        ("Empty?", vec![2], false),
    ] {
        assert_eq!(of(argument, &words), sound, "{argument} {words:?}");
    }
}

/// Parts of what may be absent, at every depth.
#[test]
fn conditions_reach_into_what_may_be_absent() {
    let table = |requires: &str| {
        only(&format!(
            "enum E {{ A = 1, B }} rep struct Inner {{ bool? on; E e; char c; }} {}",
            contract("Inner? a, E? b", &format!("requires {requires}"))
        ))
    };
    let none = [0, 0, 0, 0, 0, 0, 0];
    let all = [1, 1, 1, 2, 65, 1, 2];
    let some = [1, 0, 0, 1, 66, 0, 0];
    for (requires, expected) in [
        ("a.HasValue", [false, true, true]),
        ("!a.HasValue", [true, false, false]),
        ("a.Value.on.HasValue", [false, true, false]),
        ("!a.Value.on.HasValue", [false, false, true]),
        ("a.Value.on.Value", [false, true, false]),
        ("!a.Value.on.Value", [false, false, false]),
        ("a.Value.e == E.B", [false, true, false]),
        ("a.Value.e != E.B", [false, false, true]),
        ("!a.HasValue || a.Value.e == E.B", [true, true, false]),
        ("!b.HasValue || b.Value == a.Value.e", [true, true, true]),
        ("b.HasValue == a.Value.on.HasValue", [false, true, true]),
        ("a.Value.c == a.Value.c", [false, true, true]),
    ] {
        let table = table(requires);
        table.check().unwrap();
        for (words, expected) in [none, all, some].iter().zip(expected) {
            assert_eq!(holds(&table, words), expected, "{requires} of {words:?}");
        }
    }
}

#[test]
fn who_judges_what() {
    let all = |declared: &str, requires: &str| {
        let loaded = load(&contract(declared, requires)).unwrap();
        let judged = judged(&loaded.model.contracts[0].messages[0], &loaded.model);
        (judged.requires.clone(), judged.is_all())
    };
    assert_eq!(
        all("int x, bool b", "requires x > 0, b"),
        (vec![true, true], true)
    );
    assert_eq!(
        all("int x, double d", "requires x > 0, d < 1, x < 9"),
        (vec![true, false, true], false)
    );
    assert_eq!(
        all("int x, float f", "requires x > 0 || f < x"),
        (vec![false], false)
    );
    assert_eq!(all("float f", ""), (vec![], true));
    assert_eq!(
        all(
            "int? x, double? d",
            "requires x.Value > 0, d.HasValue, d.Value < 1"
        ),
        (vec![true, true, false], false)
    );
}

#[test]
fn conditions_are_bounded() {
    // 41 steps each, and one between two.
    let part = format!("(x{})", " + x".repeat(20));
    let long = |n: usize| format!("requires {} > 0", vec![part.as_str(); n].join(" + "));
    let fails = |requires: &str, why: &str| {
        let errors = compile(&contract("int x", requires)).unwrap_err();
        assert!(errors[0].message.contains(why), "{}", errors[0]);
    };
    let most = (MAX_STEPS - 1) / 42;
    only(&contract("int x", &long(most))).check().unwrap();
    fails(&long(most + 1), "too large to be judged");
    let nested = |n: usize| format!("requires {}x{} > 0", "x - (".repeat(n), ")".repeat(n));
    only(&contract("int x", &nested(MAX_VALUES - 1)))
        .check()
        .unwrap();
    fails(&nested(MAX_VALUES), "too large to be judged");
    let many = |n: usize| format!("requires {}", vec!["x > 0"; n].join(", "));
    only(&contract("int x", &many(MAX_CONDITIONS - 12)))
        .check()
        .unwrap();
    fails(&many(MAX_CONDITIONS - 11), "requires at most 52 conditions");
}

#[test]
fn tables_whose_conditions_mean_nothing_are_refused() {
    let sound = only(&contract(
        "int x, bool b, byte[] in ExHeap d",
        "requires x > 0 && b",
    ));
    sound.check().unwrap();
    let refused = |test: Test| {
        let mut table = sound.clone();
        table.messages[0].conditions[0].test = test;
        table.check().unwrap_err();
    };
    let x = Step::Word(0, Read::I32);
    for steps in [
        vec![],
        vec![x],
        vec![Step::Truth(true); 2],
        vec![Step::Add],
        vec![x, Step::Add],
        vec![x, Step::Not],
        vec![Step::Truth(true), Step::Negate],
        vec![x, Step::Truth(true), Step::Equal],
        vec![x, x, Step::And],
        vec![Step::Truth(true), Step::Truth(true), Step::Less],
        // A block, and a word that is not there.
        vec![Step::Word(2, Read::Truth)],
        vec![Step::Word(3, Read::Truth)],
        vec![Step::Word(255, Read::Truth)],
        [vec![Step::Truth(true)], vec![Step::Not; MAX_STEPS]].concat(),
        [
            vec![Step::Truth(true); MAX_VALUES + 1],
            vec![Step::And; MAX_VALUES],
        ]
        .concat(),
    ] {
        refused(Test::Holds(steps));
    }
    for (word, read, ranges) in [
        (0, Read::I32, vec![]),
        (0, Read::Truth, vec![(0, 1)]),
        (0, Read::I32, vec![(1, 0)]),
        (0, Read::I32, vec![(0, 1), (2, 3)]),
        (0, Read::I32, vec![(4, 5), (0, 1)]),
        (0, Read::I32, vec![(0, i128::MAX), (i128::MIN, 0)]),
        (2, Read::I32, vec![(0, 1)]),
        (3, Read::I32, vec![(0, 1)]),
        (
            0,
            Read::I32,
            (0..=MAX_RANGES as i128).map(|i| (i * 2, i * 2)).collect(),
        ),
    ] {
        refused(Test::Within(word, read, ranges));
    }
    let mut table = sound.clone();
    let condition = table.messages[0].conditions[0].clone();
    table.messages[0].conditions = vec![condition; MAX_CONDITIONS + 1];
    table.check().unwrap_err();
}
