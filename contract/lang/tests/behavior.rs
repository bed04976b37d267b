//! Behaviours, read without their contracts: as `manifest!` does.

use sing_contract::behavior::{read, said};

fn faults(text: &str, endpoints: &[&str]) -> Vec<String> {
    match read("behavior", text, endpoints) {
        Ok(_) => Vec::new(),
        Err(faults) => faults.into_iter().map(|f| f.message).collect(),
    }
}

#[test]
fn a_behavior_is_read_with_its_endpoints() {
    let text = "rest parallel state Start: one {
        c.Ask? && d.More? -> ( c.Answer! or all d.Stop! ) -> Start;
        c.AllClosed? -> close d -> Done;
    }
    state Done;";
    let behavior = read("behavior", text, &["c", "d"]).unwrap();
    let said: Vec<(&str, &str, bool)> = said(&behavior)
        .iter()
        .map(|s| (&*s.endpoint.text, &*s.message.text, s.sends))
        .collect();
    let expected = [
        ("c", "Ask", false),
        ("d", "More", false),
        ("c", "Answer", true),
        ("d", "Stop", true),
    ];
    assert_eq!(said, expected);
}

#[test]
fn names_that_are_not_there_are_found() {
    let text = "state A: c.M! -> B; state A: e.M? -> close f -> end;";
    assert_eq!(
        faults(text, &["c"]),
        [
            "state A is declared twice",
            "there is no state B",
            "the process has no endpoint e",
            "the process has no endpoint f",
        ]
    );
    let shown = read("main.rs", text, &["c"]).unwrap_err()[1].to_string();
    assert!(shown.contains("main.rs:1:18"), "{shown}");
}

#[test]
fn no_text_makes_it_panic() {
    let text = "rest serial state S: one { a.M? && b.N? -> ( skip -> S or close a -> end ); all a.X! -> S; } state T;";
    for end in 0..=text.len() {
        let _ = faults(&text[..end], &["a"]);
        let _ = faults(&text[end..], &["a"]);
    }
    let deep = format!("state S: {}", "( ".repeat(10_000));
    assert!(!faults(&deep, &[]).is_empty());
    for text in ["", "\0", "\"", "state", "state S: a.", "// nothing"] {
        assert!(!faults(text, &[]).is_empty(), "{text:?}");
    }
}
