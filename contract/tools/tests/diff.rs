//! Two versions of a contract, and which side a change breaks.

use sing_contract_tools::diff::{Break, Change, Version, diff};
use sing_image::contract::identities;
use sing_image::manifest::Side;

fn version(text: &str) -> Version {
    let tables = sing_contract::compile(text).unwrap_or_else(|found| panic!("{found:?}"));
    let mut version = Version::default();
    for (identity, table) in identities(&tables).unwrap().into_iter().zip(tables) {
        version.add(identity, table).unwrap();
    }
    version
}

const OLD: &str = "
    enum Fault { Full, Gone }
    contract Kv {
      in message Get(uint key);
      in message Put(uint key, ulong value) requires key > 0;
      out message Value(ulong value);
      out message Failed(Fault fault);
      state Ready: one { Get? -> (Value! or Failed!) -> Ready; Put? -> Value! -> Ready; }
    }";

/// The only change between the old version and this one.
fn changed(text: &str) -> (Vec<String>, [Vec<Break>; 2]) {
    let found = diff(&version(OLD), &version(text));
    match found.as_slice() {
        [
            (
                name,
                Change::Changed {
                    differences,
                    meetings: Some(meetings),
                },
            ),
        ] => {
            assert_eq!(name, "Kv");
            (differences.clone(), meetings.clone())
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_same_text_has_no_difference() {
    let other = format!("// With a comment.\n{OLD}");
    assert_eq!(diff(&version(OLD), &version(&other)), []);
}

#[test]
fn a_request_more_breaks_only_the_old_service() {
    let new = OLD
        .replace(
            "in message Get",
            "in message Drop(uint key); in message Get",
        )
        .replace("one {", "one { Drop? -> Value! -> Ready;");
    let (differences, [old_client, new_client]) = changed(&new);
    assert_eq!(
        differences,
        ["message Drop(uint key) is new", "state Ready: Drop? is new",]
    );
    assert_eq!(old_client, []);
    assert_eq!(
        new_client,
        [Break {
            side: Side::Exp,
            state: "Ready".into(),
            reason: "the importing side may send Drop, a message that it does not know".into(),
            way: vec![],
        }]
    );
}

/// A value that may be absent is another type, whichever side is the newer one.
#[test]
fn a_value_that_may_be_absent_breaks_both_sides() {
    let new = OLD.replace("Put(uint key, ulong value)", "Put(uint key, ulong? value)");
    let (differences, [old_client, new_client]) = changed(&new);
    assert_eq!(
        differences,
        ["message Put has the arguments (uint key, ulong? value), before (uint key, ulong value)"]
    );
    let broken = |sent: &str, expected: &str| {
        vec![Break {
            side: Side::Exp,
            state: "Ready".into(),
            reason: format!(
                "the importing side may send Put with (uint key, {sent} value), where (uint key, {expected} value) is expected"
            ),
            way: vec![],
        }]
    };
    assert_eq!(old_client, broken("ulong", "ulong?"));
    assert_eq!(new_client, broken("ulong?", "ulong"));
}

#[test]
fn an_answer_more_breaks_only_the_old_client() {
    let new = OLD.replace("Put? -> Value!", "Put? -> (Value! or Failed!)");
    let (differences, [old_client, new_client]) = changed(&new);
    assert_eq!(differences, ["state Ready'Put: Failed! is new"]);
    assert_eq!(new_client, []);
    assert_eq!(
        old_client,
        [Break {
            side: Side::Imp,
            state: "Ready'Put".into(),
            reason: "the exporting side may send Failed, which is not expected there".into(),
            way: vec!["Put?".into()],
        }]
    );
}

#[test]
fn other_arguments_and_types_break_both() {
    let (differences, [old_client, new_client]) = changed(&OLD.replace("Get(uint", "Get(ulong"));
    assert_eq!(
        differences,
        ["message Get has the arguments (ulong key), before (uint key)"]
    );
    let reason = "the importing side may send Get with (uint key), where (ulong key) is expected";
    assert_eq!(old_client[0].reason, reason);
    assert_eq!(new_client[0].side, Side::Exp);

    // The words are the same; the meaning is not.
    let (differences, [old_client, new_client]) = changed(&OLD.replace("Gone }", "Gone, Odd }"));
    assert_eq!(differences[0], "type Fault has changed");
    for (side, breaks) in [(Side::Imp, old_client), (Side::Imp, new_client)] {
        assert_eq!(breaks[0].side, side);
        assert!(breaks[0].reason.contains("another Fault"), "{breaks:?}");
        assert_eq!(breaks[0].way, ["Get?"]);
    }
}

#[test]
fn a_stronger_condition_breaks_the_old_sender() {
    let (differences, [old_client, new_client]) =
        changed(&OLD.replace("requires key > 0", "requires key > 0, value < 10"));
    assert!(
        differences[0].starts_with("message Put requires"),
        "{differences:?}"
    );
    assert_eq!(new_client, []);
    let reason = "the importing side may send Put without the promise that value < 10";
    assert_eq!(old_client[0].reason, reason);
    assert_eq!(old_client[0].side, Side::Exp);
}

#[test]
fn a_step_more_leaves_both_waiting() {
    let new = OLD.replace("Put? -> Value! -> Ready", "Put? -> Put? -> Value! -> Ready");
    let (_, [old_client, new_client]) = changed(&new);
    let waits = |side| {
        let found = old_client.iter().find(|b| b.side == side);
        found.is_some_and(|b| b.reason.starts_with("it waits") && b.way == ["Put?"])
    };
    assert!(waits(Side::Imp) && waits(Side::Exp), "{old_client:?}");
    assert!(
        new_client.iter().any(|b| b.side == Side::Exp),
        "{new_client:?}"
    );
}

#[test]
fn contracts_come_and_go_and_refer_to_each_other() {
    let with = |more: &str| {
        version(&format!(
            "{OLD} contract Give {{ in message Take(Kv.Imp:Ready kv); state Start: Take? -> closed; }} {more}"
        ))
    };
    let found = diff(&version(OLD), &with(""));
    assert_eq!(found, [("Give".to_owned(), Change::Added)]);
    let found = diff(&with(""), &version(OLD));
    assert_eq!(found, [("Give".to_owned(), Change::Removed)]);

    let changed = OLD.replace("Get(uint", "Get(ulong");
    let other = version(&format!(
        "{changed} contract Give {{ in message Take(Kv.Imp:Ready kv); state Start: Take? -> closed; }}"
    ));
    let found = diff(&with(""), &other);
    assert_eq!(
        found[0],
        ("Give".to_owned(), Change::Refers(vec!["Kv".into()]))
    );
}

#[test]
fn a_permission_is_compared_without_a_channel() {
    let with = |what: &str| {
        version(&format!(
            "{OLD} contract Reader narrows Kv.Imp {{ {what} }}"
        ))
    };
    let found = diff(&with("Get;"), &with("Get; Put;"));
    let [
        (
            name,
            Change::Changed {
                differences,
                meetings: None,
            },
        ),
    ] = found.as_slice()
    else {
        panic!("{found:?}");
    };
    assert_eq!(
        (name.as_str(), differences.as_slice()),
        ("Reader", &["state Ready: Put? is new".to_owned()][..])
    );
}

#[test]
fn two_contracts_of_one_name_are_no_version() {
    let mut all = Version::default();
    for text in [OLD.to_owned(), OLD.replace("Get(uint", "Get(ulong")] {
        let table = sing_contract::compile(&text).unwrap().remove(0);
        let identity = identities(std::slice::from_ref(&table)).unwrap()[0];
        if let Err(message) = all.add(identity, table) {
            assert!(
                message.contains("two contracts by the name Kv"),
                "{message}"
            );
            return;
        }
    }
    panic!("both were taken");
}
