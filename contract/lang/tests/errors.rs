//! Wrong texts are refused with the right reason, at the right place, with a way out.

use sing_contract::{Severity, compile};

/// Each: the text, what the report says of it, the words that the primary label marks.
const CASES: &[(&str, &str, &str)] = &[
    // Syntax.
    ("contract", "expected the contract's name, found the end of the text", ""),
    ("contract C {", "expected `}`, found the end of the text", ""),
    ("contract C { message M() state S: M? -> S; }", "expected `;`, found `state`", "state"),
    ("contract C { in message M(int); state S: M? -> S; }", "expected the argument's name", ")"),
    ("contract C { in mesage M(); state S: M? -> S; }", "expected a message or a state", "mesage"),
    ("struct S { int a; }", "expected `contract`, `enum`, `rep struct` or `import`", "struct"),
    ("contract state { in message M(); }", "`state` is a keyword", "state"),
    ("contract C { in message M(byte[] a); }", "does not say where it lives", "byte[]"),
    ("contract C { in message M(byte[] in Heap a); }", "expected `ExHeap`", "Heap"),
    ("contract C { in message M(C.Both:S a); }", "expected `Imp` or `Exp`", "Both"),
    ("contract C { in message M(); state S: M? -> S -> S; }", "nothing can follow a state", "S"),
    ("contract C { in message M() requires 1 +; }", "expected an argument", ";"),
    // Names.
    ("contract C { in message M(nit a); state S: M? -> S; }", "there is a `int`; did you mean", "nit"),
    ("contract C { in message M(uint32 a); state S: M? -> S; }", "it is called `uint` here", "uint32"),
    ("contract C { in message M(int64_t a); state S: M? -> S; }", "it is called `long` here", "int64_t"),
    ("contract C { in message M(UInt16[] in ExHeap a); state S: M? -> S; }", "it is called `ushort` here", "UInt16"),
    ("contract C { in message M(string a); state S: M? -> S; }", "write `char[] in ExHeap`", "string"),
    ("contract C { in message M(D.Imp:S a); }", "there is no contract D", "D"),
    ("contract C { in message M(C a); }", "C is a contract, not a type", "C"),
    ("contract C { in message M(C.Imp:T a); state S: M? -> S; }", "has no state T", "T"),
    ("contract C : D { in message M(); state S: M? -> closed; }", "there is no contract D", "D"),
    ("contract C { in message M(); state S: N? -> closed; }", "has no message N", "N"),
    ("contract C { in message M(); state S: M? -> T; }", "has no state T", "T"),
    ("contract C { in message M(); state S: M? -> M; }", "M is a message; write `M?`", "M"),
    ("contract C { in message M(); in message M(); state S: M? -> closed; }", "twice", "M"),
    ("contract C { in message M(); state S: M? -> closed; state S; }", "twice", "S"),
    ("contract C { in message M(int a, int a); state S: M? -> closed; }", "twice", "a"),
    ("contract C { in message M(); state S: M? -> closed; } contract C { in message N(); state S; }",
     "these two differ", "C"),
    ("enum E { A } enum E { B }", "E is declared twice", "E"),
    ("rep struct int { byte a; }", "int is the name of a scalar type", "int"),
    ("contract C { in message Closed(); state S: Closed? -> closed; }", "called Closed", "Closed"),
    ("contract C { in message ChannelClosed(); state S: ChannelClosed? -> closed; }",
     "called ChannelClosed", "ChannelClosed"),
    ("contract C { in message M(); state Imp: M? -> closed; }", "the name of a side", "Imp"),
    ("import \"x.contract\"; contract C { in message M(); state S: M? -> closed; }",
     "cannot be imported here", "\"x.contract\""),
    ("contract C { in message M(C.Imp:S? a); state S: M? -> closed; }", "an endpoint cannot be absent", "C.Imp:S?"),
    ("contract C { in message M(int?[] in ExHeap a); }", "write `int[]? in ExHeap`", "int?["),
    ("contract C { in message M(int[] in ExHeap? a); }", "`byte[]? in ExHeap`", "?"),
    ("rep struct S { byte?* in ExHeap a; }", "a rep struct with a field `byte?`", "byte?*"),
    // Types.
    ("rep struct S { S? a; }", "contains itself", "S"),
    ("rep struct S { int x; T? a; } rep struct T { S a; }", "contains itself", "S"),
    ("rep struct S { byte[] in ExHeap b; } contract C { in message M(S? a); state S0: M? -> closed; }",
     "S cannot be absent", "S?"),
    ("rep struct S { C.Exp:T e; } rep struct U { S? a; } contract C { in message M(); state T; }",
     "it has a field that owns an endpoint", "S?"),
    ("contract C { in message M(nit? a); state S: M? -> closed; }", "there is a `int`; did you mean", "nit"),
    ("contract C { in message M(int? a, int? b, int? c, int? d, int? e, int? f, int g); state S: M? -> closed; }",
     "13 words", "M"),
    ("contract C { in message M(int? a) requires a > 0; state S: M? -> closed; }", "`!a.HasValue || a.Value …`", "a"),
    ("contract C { in message M(int? a) requires a.Length > 0; state S: M? -> closed; }",
     "`a.Value` is what it is then", "Length"),
    ("contract C { in message M(int a) requires a.HasValue; state S: M? -> closed; }", "int has no field HasValue", "HasValue"),
    ("contract C { in message M(int? a) requires a.Value; state S: M? -> closed; }", "this is no condition", "a.Value"),
    ("contract C { in message M(int? a) requires a.HasValue > 0; state S: M? -> closed; }", "between values of two kinds",
     "a.HasValue > 0"),
    ("enum E { }", "has no values", "E"),
    ("enum E { A = 1, B = 1 }", "are the same number", "B"),
    ("enum E : byte { A = 256 }", "256 does not fit a byte", "A"),
    ("enum E : float { A }", "float cannot hold an enum", "float"),
    ("rep struct S { S a; }", "contains itself", "S"),
    ("rep struct S { T a; } rep struct T { S a; }", "contains itself", "S"),
    ("rep struct S { C.Exp:T a; } contract C { in message M(S[] in ExHeap s); state T; }",
     "cannot lie in a block", "S"),
    ("rep struct S { C.Exp:T a; } rep struct U { int a; S b; } rep struct V { U* in ExHeap u; }
      contract C { in message M(); state T; }", "U cannot lie in a block", "U"),
    ("rep struct S { S* in ExHeap a; }", "let it be absent: `S*? in ExHeap`", "S* in ExHeap"),
    ("rep struct S { int a; T[] in ExHeap t; } rep struct T { S s; }", "contains itself", "T[] in ExHeap"),
    ("rep struct T { S s; } rep struct S { int a; T* in ExHeap t; }", "contains itself", "T* in ExHeap"),
    ("rep struct R { byte[]?! in ExHeap a; }", "does not say where it lives", "byte[]?"),
    ("contract C { in message M(long a, long b, long c, long d, long e, long f, long g, long h, long i,
      long j, long k, long l, long m); state S: M? -> closed; }", "takes 13 words", "M"),
    // Conditions.
    ("contract C { in message M(int a) requires a; state S: M? -> closed; }", "no condition", "a"),
    ("contract C { in message M(int a) requires b > 0; state S: M? -> closed; }", "no argument b", "b"),
    ("contract C { in message M(bool a) requires a > 0; state S: M? -> closed; }", "two kinds", "a > 0"),
    ("contract C { in message M(bool a) requires a < true; state S: M? -> closed; }", "does not apply", "a < true"),
    ("contract C { in message M(byte[] in ExHeap a) requires a > 0; state S: M? -> closed; }", "cannot look into", "a"),
    ("contract C { in message M(byte[] in ExHeap a) requires a.length > 0; state S: M? -> closed; }", "has no field length", "length"),
    ("contract C { in message M(byte[]? in ExHeap a) requires a.Value.Length > 0; state S: M? -> closed; }",
     "has no field Value", "Value"),
    ("contract C { in message M(byte[] in ExHeap a) requires a.HasValue; state S: M? -> closed; }", "has no field HasValue",
     "HasValue"),
    ("contract C { in message M(byte* in ExHeap a) requires a.Length > 0; state S: M? -> closed; }", "has no field Length",
     "Length"),
    ("contract C { in message M(int a) requires a.Length > 0; state S: M? -> closed; }", "has no field Length", "Length"),
    ("contract C { in message M(byte[] in ExHeap a) requires a.Length.Length > 0; state S: M? -> closed; }", "has no field Length", "Length"),
    ("contract C { in message M(byte[] in ExHeap a) requires a.Length == true; state S: M? -> closed; }", "two kinds", "a.Length == true"),
    ("enum E { A } contract C { in message M(E e) requires e == E.B; state S: M? -> closed; }", "no value B", "B"),
    ("rep struct P { int x; } contract C { in message M(P p) requires p.y > 0; state S: M? -> closed; }",
     "P has no field y", "y"),
    // States.
    ("contract C { in message M(); }", "has no states", "C"),
    ("contract C { state S; }", "has no messages", "C"),
    ("contract C { in message M(); state S: M? ; }", "no state follows here", ""),
    ("contract C { in message M(); state S: M! -> closed; }", "goes the other way", "M"),
    ("contract C { out message M(); state S: M? -> closed; }", "write `M!`", "M"),
    ("contract C { in message M(); state S: one { M? -> S; M? -> closed; } }", "twice in one state", "M"),
    ("contract C { in message M(); state S: S; }", "a message must come before", "S"),
    ("contract C { in message M(); state S: M? -> one { }; }", "without alternatives", "one { }"),
    ("contract C { in message M(); out message N(); state S: (M? -> closed) -> N! -> S; }",
     "this step is never reached", "N"),
    // Inheritance.
    ("contract C : C { in message M(); state S: M? -> closed; }", "derives from itself", "C"),
    ("contract A : B { in message M(); state S; } contract B : A { in message M(); state S; }",
     "derives from itself", "A"),
    ("contract A { in message M(); state S: M? -> closed; } contract B : A { state S: M? -> S; }",
     "say `override state S`", "S"),
    ("contract A { in message M(); state S: M? -> closed; } contract B : A { override state T: M? -> S; }",
     "no state T to override", "T"),
    ("contract A { in message M(); state S: M? -> closed; } contract B : A { in message M(int a); }",
     "differs from the inherited one", "M"),
    ("contract A { in message M(); in message N(); out message O(); state S: M? -> O! -> closed; }
      contract B : A { override state S: N? -> O! -> closed; }",
     "state S of contract B keeps neither side's expectations of A", "S"),
    ("contract A { in message M(); in message L(); out message O(); state S: one { M? -> O! -> T; L? -> O! -> U; }
        state T: one { M? -> closed; L? -> closed; } state U: M? -> closed; }
      contract B : A { in message N(); override state T: L? -> closed; override state U: one { M? -> closed; N? -> closed; } }",
     "the importing side after M? O! may send M? in state T of A, but not in state T of B", "B"),
    ("contract A { in message M(); out message O(); state S: M? -> O! -> T; state T; }
      contract B : A { override state T: one { M? -> U; O! -> V; } state U: O! -> closed; state V: M? -> closed; }",
     "the exporting side can get M? in state T of B, which A does not announce", "T"),
    // Each would wait for the other.
    ("contract A { out message M(); state S: M! -> T; state T; }
      contract B : A { in message N(); override state S: N? -> M! -> T; }",
     "the importing side may wait for M! in state S of A, but in state S of B the exporting side sends nothing", "S"),
    ("contract A { in message M(); state S: M? -> T; state T; }
      contract B : A { out message N(); override state S: N! -> M? -> T; }",
     "the exporting side may wait for M? in state S of A, but in state S of B the importing side sends nothing", "S"),
    // So they would where both may send, and have come to different states: Q and R cross.
    ("contract A { in message Q(); out message R(); out message P();
        state S: one { Q? -> T; R! -> C; } state T: R! -> U; state U: P! -> X; state X;
        state C: P! -> F; state F: Q? -> Y; state Y; }
      contract B : A { in message I(); override state C: one { P! -> F; Q? -> Z; } state Z: I? -> V; state V: P! -> closed;
        override state U: one { P! -> X; I? -> V; } override state X: I? -> closed; override state Y: I? -> closed; }",
     "while it is in state U of B, the exporting side can be in state Z, where it sends nothing", "U"),
    ("contract A { in message M(); state S: M? -> closed; } contract N narrows A.Imp { } contract B : N { }",
     "cannot derive from a permission", "N"),
    // Permissions.
    ("contract N narrows C { M; }", "expected `.Imp` or `.Exp`", "{"),
    ("contract N narrows C.Both { M; }", "expected `Imp` or `Exp`", "Both"),
    ("contract N narrows C.Imp { M, N; }", "only names the messages", ","),
    ("contract N narrows C.Imp { M; }", "there is no contract C", "C"),
    ("contract N narrows N.Imp { M; }", "narrows itself", "N"),
    ("contract M narrows N.Imp { } contract N narrows M.Imp { }", "narrows itself", "N"),
    ("contract C { in message M(); state S: M? -> closed; } contract N narrows C.Imp { M; L; }",
     "contract C has no message L", "L"),
    ("contract C { in message Listen(); state S: Listen? -> closed; } contract N narrows C.Imp { Lisden; }",
     "there is a `Listen`; did you mean", "Lisden"),
    ("contract C { in message M(); state S: M? -> closed; } contract N narrows C.Imp { M; M; }",
     "message M is declared twice", "M"),
    ("contract C { in message M(); out message O(); state S: M? -> O! -> S; } contract N narrows C.Imp { O; }",
     "the importing side never sends O", "O"),
    ("contract C { in message M(); in message L(); state S: M? -> closed; } contract N narrows C.Imp { L; }",
     "no state says that it may", "L"),
    ("contract C { in message M(); in message L(); state S: one { M? -> closed; L? -> closed; } }
      contract N narrows C.Imp { M; } contract P narrows N.Imp { L; }", "N has already taken it away", "L"),
    ("contract C { in message M(); out message O(); state S: M? -> O! -> S; }
      contract N narrows C.Imp { M; } contract P narrows N.Exp { O; }", "permission N has no Exp", "Exp"),
    ("contract C { in message M(); state S: M? -> closed; } contract N narrows C.Imp { M; }
      contract D { in message L(N.Exp:S e); state S: L? -> closed; }", "permission N has no Exp", "N.Exp:S"),
    ("contract C { in message M(); state S: M? -> closed; } contract N narrows C.Imp { M; }
      contract D { in message L(N e); state S: L? -> closed; }", "N is a permission, not a type", "N"),
    ("contract C { in message M(); state S: M? -> closed; } contract C narrows C.Imp { M; }", "these two differ", "C"),
    // Transfer.
    ("contract C { in message M(C.Exp:S e); state S: M? -> closed; }",
     "the cycle: C.Exp:S may hold, by M of C, C.Exp:S", "M"),
    ("contract A { in message M(B.Exp e); state S: M? -> closed; }
      contract B { in message N(A.Exp e); state S: N? -> closed; }",
     "B.Exp:S may hold, by N of B, A.Exp:S may hold, by M of A, B.Exp:S", "M"),
    ("contract C { out message R(); out message M(C.Imp:S e); state S: R! -> M! -> closed; }", "cannot be sent safely", "M"),
    ("contract C { message M(C.Imp:S e); state S: one { M? -> A; M! -> A; } state A: one { M? -> closed; M! -> closed; } }",
     "cannot be sent safely", "M"),
    ("rep struct P { C.Exp:S e; } contract C { in message M(P p); state S: M? -> closed; }", "cannot be sent safely", "M"),
    ("contract C { out message O(); state S: O! -> closed; } contract N narrows C.Imp { O; }",
     "there is nothing to narrow", "O"),
    ("contract C { in message A(); out message O(); out message M(N.Imp:S e); state S: O! -> M! -> A? -> closed; }
      contract N narrows C.Imp { }", "the cycle: N.Imp:S may hold, by M of C, N.Imp:S", "M"),
    // Queues.
    ("contract C { in message M(); state S: M? -> S; }", "has no finite queue", "M"),
    ("contract C { in message M(); in message N(); state S: M? -> N? -> S; }",
     "the cycle: S -> M? -> S'M -> N? -> S", "M"),
    ("contract C { in message M(); out message N(); state S: one { M? -> A; N! -> B; } state A; state B; }",
     "can be left with N in state A", "M"),
    ("contract C { in message M(); out message N(); state S: one { M? -> A; N! -> B; } state A: N! -> A2; state A2;
      state B: N! -> B2; state B2: M? -> A2; }", "can be left with", "M"),
    ("contract C { in message M(); out message N(); state S: one { M? -> A; N! -> B; } state A: M? -> N! -> S;
      state B: M? -> S; }", "both sides may send in state S", "M"),
];

#[test]
fn each_is_refused_for_its_reason_at_its_place() {
    let mut wrong = String::new();
    for (source, reason, place) in CASES {
        let Err(errors) = compile(source) else {
            wrong += &format!("{source}\nis accepted\n\n");
            continue;
        };
        let all: String = errors.iter().map(|e| format!("{e}\n\n")).collect();
        let Some(error) = errors.iter().find(|e| e.to_string().contains(reason)) else {
            wrong += &format!("{source}\nshould say {reason:?}, says\n{all}");
            continue;
        };
        assert_eq!(error.severity, Severity::Error);
        let marked = error
            .labels
            .iter()
            .find(|l| l.primary)
            .map(|l| &source[l.span.range()]);
        if marked != Some(*place) {
            wrong += &format!("should mark {place:?}\n{all}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Rings of different lengths meet in ever more pairs of states; some day it is enough.
#[test]
fn contracts_too_large_to_compare_are_refused() {
    let ring = |n: usize| "A? -> O! -> ".repeat(n);
    let source = format!(
        "contract B {{ in message A(); out message O(); state S: {}S; }}
         contract D : B {{ override state S: {}S; }}",
        ring(450),
        ring(451)
    );
    let errors = compile(&source).unwrap_err();
    assert_eq!(errors.len(), 1);
    assert_eq!(
        errors[0].message,
        "contracts D and B are too large to compare"
    );
}

/// The help of each error.
fn helps(source: &str) -> Vec<(String, Option<String>)> {
    let errors = compile(source).unwrap_err();
    errors.into_iter().map(|e| (e.message, e.help)).collect()
}

#[test]
fn what_was_reported_once_is_not_reported_as_missing() {
    let found = helps(
        "rep struct A { B b; } rep struct B { A a; }
         contract C { in message M(A a); in message L(B[] in ExHeap b); state S: (M? or L?) -> closed; }",
    );
    let messages: Vec<&str> = found.iter().map(|f| f.0.as_str()).collect();
    assert_eq!(messages, ["rep struct A contains itself"]);
}

#[test]
fn the_way_out_of_deep_nesting_is_that_of_what_is_nested() {
    let nested = |open: &str, inner: &str, close: &str| {
        format!("{}{inner}{}", open.repeat(100_000), close.repeat(100_000))
    };
    for (condition, state, way) in [
        (
            nested("(", "x", ")"),
            "S: M? -> closed".into(),
            "`requires` clauses",
        ),
        (
            nested("!", "x", ""),
            "S: M? -> closed".into(),
            "`requires` clauses",
        ),
        (
            "x > 0".into(),
            format!("S: {}", nested("(", "M? -> closed", ")")),
            "a state of its own",
        ),
    ] {
        let found = helps(&format!(
            "contract C {{ in message M(int x) requires {condition}; state {state}; }}"
        ));
        assert_eq!(found[0].0, "nested too deeply");
        let help = found[0].1.as_deref().unwrap_or("");
        assert!(help.contains(way), "{help}");
    }
}

#[test]
fn one_run_reports_what_it_can() {
    let errors = compile(
        "contract A { in mesage M(); state S: M? -> S; state T: -> S; in message Ok(); }
         contract B { in message N(nothing x); state S: O? -> closed; }
         enum E { A = }",
    )
    .unwrap_err();
    let lines: Vec<&str> = errors.iter().map(|e| e.message.as_str()).collect();
    assert_eq!(
        lines,
        [
            "expected a message or a state, found `mesage`",
            "expected a message, a state or a choice, found `->`",
            "expected a number, found `}`",
        ]
    );
}

#[test]
fn reports_look_like_rustc() {
    let source = "contract C {\n  in message Ping();\n  state Start: Ping! -> Start;\n}\n";
    let errors = compile(source).unwrap_err();
    let expected = "\
error: message Ping goes the other way
 --> contract:3:16
  |
2 |   in message Ping();
  |              ---- declared `in`
3 |   state Start: Ping! -> Start;
  |                ^^^^ but only the importing side sends it
  |
  = note: contracts are written from the exporting side: `?` is what it receives, `!` what it sends
  = help: write `Ping?`";
    assert_eq!(errors[0].to_string(), expected);
}

/// Both sides' reasons can lead to one place: it is pointed at once.
#[test]
fn a_place_is_labelled_once() {
    let errors = compile(
        "contract L { out message A(); state Start: A! -> Bound; state Bound; }
         contract Dead : L { in message Y(); override state Start: Y? -> A! -> Bound; }",
    )
    .unwrap_err();
    let [error] = &errors[..] else {
        panic!("{errors:?}")
    };
    assert_eq!(error.notes.len(), 2, "{error}");
    assert_eq!(error.labels.len(), 2, "{error}");
}
