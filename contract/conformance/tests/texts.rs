//! Texts that are no systems: each is refused with a reason that names the thing, and none makes
//! the parser panic.

use sing_conformance::load;
use std::path::Path;

const CONTRACT: &str = "contract C { in message Ask(); out message Answer(); state Start: Ask? -> Answer! -> Start; }\n";

fn refused(rest: &str) -> String {
    let text = format!("{CONTRACT}{rest}");
    match load("x", &text, Path::new("")) {
        Ok(_) => panic!("accepted: {rest}"),
        Err(found) => found.iter().map(|d| d.to_string() + "\n").collect(),
    }
}

#[test]
fn mistakes_are_named() {
    let server = "process q: any; channel C: p.s -> q.c;";
    for (text, part) in [
        ("", "there is no process"),
        ("process p { }", "expected `state`"),
        ("process p;", "expected `{` or `:`"),
        ("process p: B;", "there is no behavior B"),
        (
            "process p: any; process p: any;",
            "process p is declared twice",
        ),
        (
            "behavior B { state S; } behavior B { state S; } process p: B;",
            "behavior B is declared twice",
        ),
        (
            "process p { state S: s.Ask! -> end; }",
            "the process has no endpoint s",
        ),
        (
            "process p: any; channel D: p.s -> p.c;",
            "there is no contract D",
        ),
        (
            "process p: any; channel C: p.s -> r.c;",
            "there is no process r",
        ),
        ("nonsense", "expected `import`, a contract"),
        ("import \"none.contract\"; process p: any;", "none.contract"),
    ] {
        assert!(refused(text).contains(part), "{text}:\n{}", refused(text));
    }
    for (states, part) in [
        ("state S: s.Ask! -> T;", "there is no state T"),
        ("state S: s.Ask!;", "it is not said what follows"),
        ("state S: s.Aks! -> S;", "C has no message Aks"),
        ("state S: s.Ask? -> S;", "the other way round"),
        ("state S: Ask! -> S;", "said on no endpoint"),
        ("state S: S -> s.Ask!;", "a sequence goes on behind its end"),
        (
            "state S: s.Answer? && s.Answer? -> S;",
            "stands twice in a pattern",
        ),
        (
            "state S: s.Ask! -> S; state S: s.Ask! -> S;",
            "state S is declared twice",
        ),
        (
            "state S: s.Ask! -> S; state T: s.Ask! -> S;",
            "nothing leads to state T",
        ),
        ("state S: one { };", "a choice of nothing"),
        ("state S: one { s.Ask! -> S;", "expected `state`"),
        ("state S s.Ask! -> S;", "expected `;`"),
        ("state S: § -> S;", "has no meaning"),
    ] {
        let text = format!("process p {{ {states} }} {server}");
        assert!(refused(&text).contains(part), "{text}:\n{}", refused(&text));
    }
    let many: String = (0..5000).map(|i| format!("process p{i}: any;\n")).collect();
    assert!(refused(&many).contains("4096 of each may be"));
    let deep = format!(
        "process p {{ state S: {} s.Ask! {} -> S; }} {server}",
        "(".repeat(500),
        ")".repeat(500)
    );
    assert!(refused(&deep).contains("nested too deeply"));
}

const SERVER: &str = "process q: any; channel C: p.s -> q.c;";

#[test]
fn long_sequences_take_no_stack() {
    let ends = [
        ("skip->", "S;", true),
        ("(s.Ask! or skip)->", "S;", true),
        ("s.Ask!->", "skip;", false),
    ];
    for (step, end, fits) in ends {
        let of = |count: usize| {
            let text = format!(
                "{CONTRACT}process p {{ state S: {}{end} }} {SERVER}",
                step.repeat(count)
            );
            load("x", &text, Path::new(""))
        };
        assert_eq!(of(1000).is_ok(), fits, "{step}");
        let errors = of(80_000).unwrap_err();
        let more = "more than 4096 places";
        assert!(
            errors.iter().any(|e| e.message.contains(more)),
            "{}",
            errors[0]
        );
        assert_eq!(errors.len(), 1);
    }
    let states: String = (0..50_000)
        .map(|i| format!("state S{i}:skip->S{i};"))
        .collect();
    assert!(
        refused(&format!("process p {{ {states} }} {SERVER}")).contains("more than 4096 places")
    );
}

#[test]
fn a_long_sequence_over_many_endpoints_is_soon_understood() {
    let channels: String = (0..300)
        .map(|i| format!("channel C: p.s{i} -> q.c{i};"))
        .collect();
    let steps: String = (0..3900)
        .map(|i| format!("s{}.Ask! -> ", i % 300))
        .collect();
    let text = format!("{CONTRACT}process p {{ state S: {steps} S; }} process q: any; {channels}");
    let start = std::time::Instant::now();
    assert!(load("x", &text, Path::new("")).is_ok());
    assert!(start.elapsed() < std::time::Duration::from_secs(30));
}

#[test]
fn errors_are_as_many_as_anybody_reads() {
    for one in [
        |i: usize| format!("state S{i}:skip->U{i};"),
        |i: usize| format!("state S{i}:skip->S{i};"),
        |i: usize| format!("state S:skip->S{i};"),
        |i: usize| format!("state S{i}:x{i}.Ask!->S{i};"),
    ] {
        let states: String = (0..4000).map(one).collect();
        let text = refused(&format!("process p {{ {states} }} {SERVER}"));
        assert!(text.contains("further findings are not shown"), "{text}");
        assert_eq!(text.matches("error: ").count(), 50);
        assert!(text.len() < 100_000, "{} bytes", text.len());
    }
}

/// Any cut and any lost character of a good text is refused or accepted, without a panic.
#[test]
fn any_text_is_answered() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/conformance/sound/nameserver.system");
    let text = std::fs::read_to_string(path).unwrap();
    for cut in 0..text.len() {
        let _ = load("x", &text[..cut], Path::new(""));
        let _ = load(
            "x",
            &(text[..cut].to_owned() + &text[cut + 1..]),
            Path::new(""),
        );
    }
}
