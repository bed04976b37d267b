//! Texts that would take stack, memory or time without bound: each is refused, soon, and with the
//! limit's name.

use sing_contract::{Diagnostic, compile, format, load};
use std::time::Duration;

/// The errors of a text, which come soon.
fn errors(text: &str) -> Vec<Diagnostic> {
    match soon(text, || compile(text)) {
        Ok(_) => panic!("accepted"),
        Err(errors) => errors,
    }
}

/// How long this thread has had a processor: however busy the machine is, no work takes longer by this.
fn processor_time() -> Duration {
    let accounted = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    let nanoseconds = accounted.split_whitespace().next().unwrap();
    Duration::from_nanos(nanoseconds.parse().unwrap())
}

/// Does something with a text, and says how long that took where it was long.
fn soon<T>(text: &str, work: impl FnOnce() -> T) -> T {
    let start = processor_time();
    let result = work();
    let taken = processor_time() - start;
    let bytes = text.len();
    assert!(
        taken < Duration::from_secs(30),
        "{taken:?} for {bytes} bytes"
    );
    result
}

/// Whether one of the errors has these words.
fn named(errors: &[Diagnostic], words: &str) {
    let all: Vec<&str> = errors.iter().map(|e| e.message.as_str()).collect();
    assert!(all.iter().any(|m| m.contains(words)), "{all:#?}");
}

fn each(count: usize, one: impl Fn(usize) -> String) -> String {
    (0..count).map(one).collect()
}

/// A contract with so many messages, and so many states in which each of them may come.
fn large(messages: usize, states: usize) -> String {
    let all = each(messages, |i| format!("in message a{i}();"));
    let next = each(messages, |i| format!("a{i}?->S0;"));
    let states = each(states, |i| format!("state S{}:one{{{next}}}", i + 1));
    format!("contract B{{{all}out message r();state S0:r!->S1;{states}}}")
}

#[test]
fn structs_in_blocks_of_each_other() {
    let chain = each(50_000, |i| {
        format!("rep struct A{i}{{A{}* in ExHeap x;}}", i + 1)
    });
    let text = format!("{chain}rep struct A50000{{int x;}}");
    named(&errors(&text), "rep structs");
    // As many as may be are looked at.
    let most = each(511, |i| {
        format!("rep struct A{i}{{A{}* in ExHeap x;}}", i + 1)
    });
    let holds = format!("{most}rep struct A511{{int x;}}");
    assert!(compile(&holds).is_ok());
    let circle = format!("{most}rep struct A511{{A0* in ExHeap x;}}");
    named(&errors(&circle), "contains itself");
}

#[test]
fn a_condition_that_is_deep_by_all_its_operators_together() {
    let mut deep = "a".to_string();
    for _ in 0..46 {
        let ops = ["*a", "+a", "==a", "&&a", "||a"].map(|op| op.repeat(47));
        deep = format!("({deep}{})", ops.concat());
    }
    let text = format!("contract C{{in message M(int a) requires {deep};state S:M?->closed;}}");
    named(&errors(&text), "this condition is too long");
    named(
        &format::source("c", &text).unwrap_err(),
        "this condition is too long",
    );
    // A long one that may be.
    let sum = ["a*a"; 40].join("+");
    let text =
        format!("contract C{{in message M(int a) requires {sum}>0&&{sum}<9;state S:M?->closed;}}");
    named(&errors(&text), "too large to be judged");
    let half = ["a*a"; 20].join("+");
    let text = format!(
        "contract C{{in message M(int a) requires {half}>0&&{half}<9;state S:M?->closed;}}"
    );
    assert!(compile(&text).is_ok());
}

#[test]
fn large_contracts_derived_many_times() {
    let derived = each(4000, |i| format!("contract D{i}:B{{}}"));
    let found = errors(&(large(100, 250) + &derived));
    named(&found, "too large");
    // So are permissions.
    let narrowed = each(4000, |i| format!("contract D{i} narrows B.Imp{{a0;}}"));
    named(&errors(&(large(100, 250) + &narrowed)), "too large");
    // So are documentation and conditions, of which each derived contract has its own.
    let long = "x".repeat(100_000);
    let base = format!("contract B{{\n/// {long}\nin message M();state S:M?->closed;}}");
    named(&errors(&(base + &derived)), "too large");
    let sum = ["a"; 40].join("+");
    let all = each(50, |_| format!("requires {sum}>0 "));
    let messages = each(200, |i| format!("in message M{i}(int a) {all};"));
    let base = format!("contract B{{{messages}state S:M0?->closed;}}");
    named(&errors(&(base + &derived)), "too large");
    // A family of ordinary size may have many members.
    let base = "contract B{in message M();out message R();state S:M?->R!->S;}";
    let soon = soon(base, || compile(&format!("{base}{derived}")));
    assert_eq!(soon.unwrap().len(), 4001);
}

#[test]
fn large_contracts_by_themselves() {
    // A table has a place for each message in each state.
    let one = |c: usize| {
        let messages = each(250, |i| format!("message M{i}();"));
        format!(
            "contract C{c}{{{messages}state S:{}closed;}}",
            "M0?->M1!->".repeat(500)
        )
    };
    named(&errors(&each(200, one)), "too large");
}

#[test]
fn more_declarations_than_may_be() {
    let many = each(5000, |i| {
        format!("contract C{i}{{in message M();state S:M?->closed;}}")
    });
    let found = errors(&many);
    named(&found, "5000 contracts");
    assert_eq!(found.len(), 1, "{found:#?}");
    let both = "contract C{in message M();state S:M?->closed;}".to_string()
        + &each(4096, |i| format!("contract N{i} narrows C.Imp{{M;}}"));
    named(&errors(&both), "4097 contracts");
    // The same one again is none more.
    let most = each(4096, |i| {
        format!("contract C{i}{{in message M();state S:M?->closed;}}")
    });
    let twice = most.clone() + &most;
    assert_eq!(soon(&twice, || compile(&twice)).unwrap().len(), 4096);
    let enums = each(100_000, |i| format!("enum E{i}{{A}}"));
    named(&errors(&enums), "100000 enums");
}

#[test]
fn names_are_short() {
    let text = |name: &str| format!("contract {name}{{in message M();state S:M?->closed;}}");
    assert!(compile(&text(&"x".repeat(255))).is_ok());
    named(&errors(&text(&"x".repeat(256))), "a name of 256 letters");
}

#[test]
fn endpoints_of_many_kinds() {
    // Each lies in the queue of the next.
    let ring = |last: &str| {
        each(2000, |i| {
            let next = match i {
                1999 => last.to_string(),
                _ => format!("C{}", i + 1),
            };
            format!("contract C{i}{{in message M({next}.Exp:S e);state S:M?->closed;}}")
        })
    };
    let holds = ring("E") + "contract E{in message M();state S:M?->closed;}";
    assert!(soon(&holds, || compile(&holds)).is_ok());
    named(&errors(&ring("C0")), "cannot be sent safely");
    // All that can come is asked for in each of many states.
    let states = each(1000, |i| {
        format!(
            "state S{i}:one{{{}}};",
            each(250, |m| format!("M{m}?->S{};", (i + m) % 1000))
        )
    });
    let messages = each(250, |m| {
        let all: Vec<String> = (0..4)
            .map(|k| format!("E.Exp:S{} e{k}", m * 4 + k))
            .collect();
        format!("in message M{m}({});", all.join(","))
    });
    let large = format!("contract E{{{messages}{states}}}");
    named(&errors(&large), "too large");
}

#[test]
fn a_line_of_texts() {
    let text = "\"\"".repeat(1_000_000);
    assert!(!errors(&text).is_empty());
    // Texts that do not end, each on a line of its own, and one on a long line.
    assert!(!errors(&"\"\n".repeat(500_000)).is_empty());
    assert!(!errors(&("x ".repeat(500_000) + "\"")).is_empty());
}

#[test]
fn a_large_declaration_beside_many_that_repeat_its_name() {
    let big = each(20_000, |i| format!("in message M{i}(int a);"));
    let text = format!("contract C{{{big}}}{}", "contract C{}".repeat(30_000));
    named(&errors(&text), "C is declared twice");
}

#[test]
fn many_contracts_of_many_situations() {
    // Either side may be ahead of the other by any number of messages.
    let mut states = String::new();
    let most = 14;
    for (i, j) in (0..most * most).map(|n| (n / most, n % most)) {
        let mut all = Vec::new();
        all.extend((i + 1 < most).then(|| format!("A?->S{}_{j}", i + 1)));
        all.extend((j + 1 < most).then(|| format!("B!->S{i}_{}", j + 1)));
        let body = match all.is_empty() {
            false => format!(":one{{{}}}", all.join(";")),
            true => String::new(),
        };
        states += &format!("state S{i}_{j}{body};");
    }
    let base = format!("contract B{{in message A();out message B();{states}}}");
    assert!(soon(&base, || compile(&base)).is_ok());
    let derived = each(1000, |i| format!("contract D{i}:B{{}}"));
    named(&errors(&(base + &derived)), "too large");
}

#[test]
fn texts_with_an_error_at_each_place() {
    // As many as are shown, and no more than that are kept.
    for text in [
        "§".repeat(500_000),
        "contract ;".repeat(100_000),
        format!("contract C{{{}}}", "in;".repeat(300_000)),
        each(100_000, |i| format!("contract C{{}}enum C{{A{i}}}")),
        each(4000, |i| {
            let all = each(60, |k| format!("in message M{k}(X{k} x);"));
            format!("contract C{i}{{{all}state S:M0?->closed;}}")
        }),
    ] {
        assert_eq!(errors(&text).len(), 50);
    }
    let large = large(200, 1);
    let unknown = each(100_000, |i| format!("x{i};"));
    let found = errors(&format!("{large}contract N narrows B.Imp{{{unknown}}}"));
    named(&found, "100000 messages");
}

#[test]
fn reports_of_long_lines_are_short() {
    let long = format!("/*{}*/", "ä".repeat(500_000));
    let far = format!("contract C{{in message M();state S:M?->S;}}{long}");
    let many = format!("/**/\n{far}{}", "contract C{}".repeat(60));
    let all = errors(&many);
    let shown = soon(&many, || -> String {
        all.iter().map(ToString::to_string).collect()
    });
    assert!(shown.len() < 100_000, "{}", shown.len());
    // The place is the one in the whole line.
    let first = all[0].to_string();
    let column = far.chars().count() + "contract ".len() + 1;
    assert!(first.contains(&format!("contract:2:{column}\n")), "{first}");
    assert!(first.contains("^ declared again"), "{first}");
    // As is one that reaches over all of it.
    let text = format!("contract C{{in message M();state S:M?->(M?->M?{long});}}");
    let shown: String = errors(&text).iter().map(ToString::to_string).collect();
    assert!(shown.contains("no state follows here"), "{shown}");
    assert!(shown.len() < 100_000, "{}", shown.len());
}

#[test]
fn enums_and_fields_as_many_as_may_be() {
    let values = each(1024, |i| format!("V{i},"));
    let enums = each(500, |i| format!("enum E{i}{{{values}}}"));
    assert!(soon(&enums, || load(&enums)).is_ok());
}

/// Each word of a message has the names that lead to it in what the kernel tells of it, and each that may
/// be absent is looked at by all of which it is a part: a small text may ask for very much.
#[test]
fn words_that_are_judged_by_long_names() {
    let name = "x".repeat(255);
    let chain = each(511, |i| format!("rep struct A{}{{A{i} {name};}}", i + 1));
    let first = "rep struct A0{bool? a;bool? b;bool? c;bool? d;}";
    let messages = each(200, |i| format!("in message m{i}(A511 a);"));
    let contracts = each(40, |i| {
        format!("contract C{i}{{{messages}state S:m0?->closed;}}")
    });
    named(
        &errors(&format!("{first}{chain}{contracts}")),
        "too large together",
    );
    // One of them is not too large, and what is told is short.
    let one = format!("{first}{chain}contract C{{in message m(A511 a);state S:m?->closed;}}");
    let tables = compile(&one).unwrap();
    let texts = tables[0].messages.iter().flat_map(|m| &m.conditions);
    let longest = texts.map(|c| c.text.len()).max();
    assert!(longest.is_some_and(|bytes| bytes < 1024), "{longest:?}");
}
