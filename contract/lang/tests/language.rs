//! The language beyond the contracts of the papers.

use sing_contract::{Severity, compile, format, load, parse};
use sing_image::contract::{ContractTable, Word};
use sing_image::manifest::Side;

fn table(source: &str) -> ContractTable {
    match compile(source) {
        Ok(tables) => tables.into_iter().next_back().unwrap(),
        Err(errors) => panic!(
            "{}",
            errors.iter().map(ToString::to_string).collect::<String>()
        ),
    }
}

/// Follows messages from the initial state (`A?`: importing side sends); the state's name.
fn follow(table: &ContractTable, messages: &str) -> Option<String> {
    let mut state = 0;
    for step in messages.split_whitespace() {
        let (name, side) = match step.strip_suffix('?') {
            Some(name) => (name, Side::Imp),
            None => (step.strip_suffix('!')?, Side::Exp),
        };
        state = table.step(state, table.message(name)?, side)?;
    }
    Some(table.states[usize::from(state)].clone())
}

#[test]
fn sequences_choices_and_nesting() {
    let t = table(
        "contract C {
           in message A(); in message B(); out message X(); out message Y(); out message Z();
           state S: A? -> (X! -> B? or Y!) -> Z! -> (B? -> S or A? -> X! -> T);
           state T: one { A? -> one { X! -> S; Y! -> closed; }; B? -> closed }
         }",
    );
    assert_eq!(t.states[..3], ["S", "T", "closed"]);
    for (path, end) in [
        ("A? X! B? Z! B?", Some("S")),
        ("A? Y! Z! A? X!", Some("T")),
        ("A? Y! Z! A? X! A? X!", Some("S")),
        ("A? Y! Z! A? X! B?", Some("closed")),
        ("A? Y! Z! A? X! A? Y!", Some("closed")),
        ("A? X! Z!", None),
        ("A? Z!", None),
        ("B?", None),
        ("A! ", None),
    ] {
        assert_eq!(follow(&t, path).as_deref(), end, "{path}");
    }
    assert_eq!(t.queue, [2, 2], "{:?}", t.states);
}

#[test]
fn nested_states_are_states_of_the_contract() {
    let t = table(
        "contract C {
           in message Open(); in message Read(); in message Close(); out message Data(); out message Bye();
           state Idle: one {
             Open? -> Opened;
             state Opened: one {
               Read? -> Data! -> Opened;
               Close? -> Bye! -> Idle;
             }
           }
         }",
    );
    assert_eq!(t.states, ["Idle", "Opened", "Opened'Read", "Opened'Close"]);
    assert_eq!(
        follow(&t, "Open? Read? Data! Close? Bye!").as_deref(),
        Some("Idle")
    );
}

#[test]
fn keywords_can_be_names_of_arguments() {
    let t = table(
        "rep struct P { int one; int state; }
         contract C {
           in message M(byte[] in message, byte[] in ExHeap one, P or, int requires)
             requires or.one > 0 requires requires > 1;
           state S: M? -> closed;
         }",
    );
    let names: Vec<&str> = t.messages[0]
        .arguments
        .iter()
        .map(|a| a.name.as_str())
        .collect();
    assert_eq!(names, ["message", "one", "or", "requires"]);
}

#[test]
fn a_state_without_transitions_is_the_end() {
    for body in ["state E;", "state E: ;", "state E: one { }"] {
        let t = table(&format!(
            "contract C {{ in message A(); state S: A? -> E; {body} }}"
        ));
        assert_eq!(follow(&t, "A?").as_deref(), Some("E"));
        assert_eq!(follow(&t, "A? A?"), None);
    }
}

#[test]
fn messages_without_direction_go_both_ways() {
    let t = table(
        "contract C { message Ball(); state Here: Ball? -> There; state There: Ball! -> Here; }",
    );
    assert_eq!(follow(&t, "Ball? Ball! Ball?").as_deref(), Some("There"));
    assert_eq!(follow(&t, "Ball? Ball?"), None);
}

#[test]
fn queues_count_what_can_be_under_way() {
    for (states, queue) in [
        ("state S: A? -> A? -> A? -> X! -> S;", [1, 3]),
        ("state S: A? -> X! -> S;", [1, 1]),
        ("state S: A? -> closed;", [0, 1]),
        ("state S: X! -> X! -> A? -> X! -> X! -> X! -> S;", [5, 1]),
        (
            "state S: (A? or B? -> A?) -> (X! -> X! or Y!) -> S;",
            [2, 2],
        ),
    ] {
        let t = table(&format!(
            "contract C {{ in message A(); in message B(); out message X(); out message Y(); {states} }}"
        ));
        assert_eq!(t.queue, queue, "{states}");
    }
}

#[test]
fn every_type_has_its_words() {
    let t = table(
        "enum Colour : byte { Red, Green = 5, Blue }
         rep struct Point { int x; int y; }
         rep struct Line { Point from; Point to; Colour colour; }
         rep struct Parcel { byte[] in ExHeap data; C.Exp:T back; int count; }
         contract C {
           in message Scalars(bool a, byte b, sbyte c, short d, ushort e, int f, uint g, long h, ulong i,
             char j, float k, double l);
           in message Aliases(u8 a, i8 b, u16 c, i16 d, u32 e, i32 f, u64 g, i64 h, f32 i, f64 j);
           in message Structs(Line line, Parcel parcel);
           in message Heap(byte[] in ExHeap a, Point[] in b, Colour* in ExHeap c, Line* in d);
           in message Ends(C.Imp a, C.Imp:T b);
           state S: one { Scalars? -> T; Aliases? -> T; Structs? -> T; Heap? -> T; Ends? -> T; }
           state T;
         }",
    );
    assert_eq!(t.messages[0].words, vec![Word::Scalar; 12]);
    assert_eq!(t.messages[1].words, vec![Word::Scalar; 10]);
    let end = |side, state: &str| Word::Endpoint {
        contract: "C".into(),
        side,
        state: Some(state.into()),
    };
    let mut structs = vec![Word::Scalar; 5];
    structs.extend([Word::Block, end(Side::Exp, "T"), Word::Scalar]);
    assert_eq!(t.messages[2].words, structs);
    assert_eq!(t.messages[3].words, vec![Word::Block; 4]);
    assert_eq!(
        t.messages[4].words,
        [end(Side::Imp, "S"), end(Side::Imp, "T")]
    );
}

#[test]
fn what_may_be_absent_has_a_word_that_says_so() {
    let source = "
        enum Colour : byte { Red = 1, Green }
        rep struct Point { int x; long? y; Colour? colour; }
        rep struct Around { byte? a; bool b; Point? at; short? c; Empty? nothing; }
        rep struct Empty { }
        contract C {
          in message Values(int? a, Colour? b, Point? c, Empty? d);
          in message Block(Around* in ExHeap around, Point[]? in ExHeap points);
          state S: one { Values? -> T; Block? -> T; }
          state T;
        }";
    let source = source.replace(", Point[]? in ExHeap points", "");
    let t = table(&source);
    assert_eq!(t.messages[0].words, vec![Word::Scalar; 2 + 2 + 6 + 1]);
    assert_eq!(t.messages[1].words, [Word::Block]);
    let types: Vec<&str> = t.messages[0].arguments.iter().map(|a| &*a.ty).collect();
    assert_eq!(types, ["int?", "Colour?", "Point?", "Empty?"]);
    let model = load(&source).unwrap().model;
    let of = |name: &str| {
        let s = model.structure(name).unwrap();
        (s.layout.size, s.layout.align, s.offsets.clone())
    };
    // As C lays out `struct { bool has_value; T value; }`.
    assert_eq!(of("Point"), (32, 8, vec![0, 8, 24]));
    assert_eq!(of("Around"), (56, 8, vec![0, 2, 8, 48, 52]));
}

#[test]
fn a_block_that_may_be_absent_has_a_word_of_its_own_kind() {
    let t = table(
        "rep struct Node { int x; Node*? in ExHeap next; byte[] in ExHeap data; }
         contract C {
           in message M(byte[]? in ExHeap a, char[]? in ExHeap b, int*? in ExHeap c, Node[]? in ExHeap d, byte[] in ExHeap e);
           in message N(Node node);
           state S: (M? or N?) -> T;
           state T;
         }",
    );
    let (block, tree) = (Word::OptionalBlock, Word::OptionalTree);
    assert_eq!(
        t.messages[0].words,
        [
            block.clone(),
            block.clone(),
            block,
            tree.clone(),
            Word::Block
        ]
    );
    assert_eq!(t.messages[1].words, [Word::Scalar, tree, Word::Block]);
    t.check().unwrap();
}

#[test]
fn only_a_block_whose_content_owns_blocks_is_a_tree() {
    let t = table(
        "rep struct Leaf { int x; }
         rep struct Node { int x; Node*? in ExHeap next; }
         rep struct Named { char[] in ExHeap name; }
         rep struct Around { int x; Named named; }
         contract C {
           in message Flat(byte[] in ExHeap a, char[] in ExHeap b, Leaf[] in ExHeap c,
             Leaf* in ExHeap d, bool* in ExHeap e);
           in message Trees(Node* in ExHeap a, Node[] in ExHeap b, Named* in ExHeap c,
             Around[] in ExHeap d);
           in message Fields(Around around);
           state S: one { Flat? -> T; Trees? -> T; Fields? -> T; }
           state T;
         }",
    );
    assert_eq!(t.messages[0].words, vec![Word::Block; 5]);
    assert_eq!(t.messages[1].words, vec![Word::Tree; 4]);
    // A struct that is an argument itself lies in no block.
    assert_eq!(t.messages[2].words, [Word::Scalar, Word::Block]);
}

#[test]
fn derived_contracts_inherit_through_generations() {
    let source = "
        contract A { in message M(); out message N(); state S: M? -> N! -> S; state Q: M? -> S; }
        contract B : A { in message O(); override state Q: one { M? -> S; O? -> S; } state R: O? -> Q; }
        contract D : B {
          override state S: one { M? -> N! -> T; O? -> closed; }
          state T: one { M? -> N! -> S; O? -> Q; }
        }";
    let tables = compile(source).unwrap();
    let d = &tables[2];
    let bases: Vec<(&str, [String; 2])> = d
        .bases
        .iter()
        .map(|base| {
            let of = tables.iter().find(|t| t.name == base.name).unwrap();
            let named = |side: usize| {
                let names = base.stands[side].iter().map(|&(own, place)| {
                    let (own, place) = (usize::from(own), usize::from(place));
                    format!("{} as {}", d.states[own], of.states[place])
                });
                let names: Vec<String> = names.filter(|n| !n.contains('\'')).collect();
                names.join(", ")
            };
            (base.name.as_str(), [named(0), named(1)])
        })
        .collect();
    // A sender of M knows A or B; a receiver could get O, too. D continues in T where A and B are
    // in S again.
    assert_eq!(
        bases,
        [
            (
                "B",
                ["S as S, Q as Q, R as R, T as S".into(), String::new()]
            ),
            ("A", ["S as S, Q as Q, T as S".into(), String::new()])
        ]
    );
    let names: Vec<&str> = d.messages.iter().map(|m| m.name.as_str()).collect();
    assert_eq!(names, ["M", "N", "O"]);
    assert_eq!(d.states[..5], ["S", "Q", "R", "T", "closed"]);
    assert_eq!(follow(d, "M? N! O? O?").as_deref(), Some("S"));
    assert_eq!(follow(d, "O?").as_deref(), Some("closed"));
    assert_eq!(follow(&tables[0], "M? N! M?").as_deref(), Some("S'M"));
}

#[test]
fn what_is_probably_not_meant_is_warned_of() {
    let loaded = load(
        "contract C {
           in message A(); in message Unused(); state S: A? -> S2; state S2; state Lost: A? -> S;
         }",
    )
    .unwrap();
    let texts: Vec<&str> = loaded.warnings.iter().map(|w| w.message.as_str()).collect();
    assert_eq!(
        texts,
        [
            "message Unused can never be sent",
            "state Lost is never reached"
        ]
    );
    assert!(
        loaded
            .warnings
            .iter()
            .all(|w| w.severity == Severity::Warning)
    );
}

#[test]
fn formatting_keeps_the_meaning() {
    let source = "
        // A pair.
        rep struct P { int a; byte[] in ExHeap b; long? c; }
        enum E : short { X = -3, Y }
        contract B { out message Hello(); state S: Hello! -> closed; }
        // What it is for.
        public contract C : B {
          in message O(E? o, int? n) requires !n.HasValue || n.Value > 0;
          in message A(P p, E e, int n) requires n > 0 && (n < 10 || !(e == E.X)) requires -n * 2 + 1 < 3;
          message M(C.Imp:T c, E[] in ExHeap v);
          override state S: Hello! -> Q;
          state Q: one { A? -> (M! or Hello! -> M?) -> T; M? -> one { Hello! -> S; M! -> closed }; }
          state T: ;
        }";
    let first = parse(source).unwrap();
    let text = format::file(&first, true);
    let again = parse(&text).unwrap_or_else(|e| panic!("{}\n{text}", e[0]));
    assert_eq!(format::file(&again, true), text);
    assert_eq!(compile(source).unwrap(), compile(&text).unwrap());
    assert!(
        text.contains("/// What it is for.\npublic contract C : B {"),
        "{text}"
    );
    assert!(
        text.contains("requires n > 0 && (n < 10 || !(e == E.X)) requires -n * 2 + 1 < 3;"),
        "{text}"
    );
}
