//! Permissions ([O] 5.5.3), and where an endpoint of a derived contract stands for one of its base.

use proptest::prelude::*;
use sing_contract::{Severity, compile, format, load, parse};
use sing_image::contract::{ContractTable, Hash, NONE, check};
use sing_image::manifest::Side;

const TWO: &str = "
contract C {
  in message Read(); in message Write(int x); in message Close(); out message Done();
  state Start: one { Read? -> Done! -> Start; Write? -> Done! -> Start; Close? -> Done! -> closed; }
}
/// Looks, and touches nothing.
public contract Reader narrows C.Imp { Read; Close; }
contract Closer narrows Reader.Imp { Close; }
contract Deaf narrows C.Exp { }
";

fn identity(all: &[ContractTable], name: &str) -> Hash {
    let at = all.iter().position(|t| t.name == name).unwrap();
    check(all).unwrap()[at]
}

fn tables(source: &str) -> Vec<ContractTable> {
    match compile(source) {
        Ok(tables) => tables,
        Err(errors) => panic!("{}", errors[0]),
    }
}

/// Checks that `n` is `c` without some of what `side` may send, and returns what that is.
fn taken(c: &ContractTable, n: &ContractTable, side: Side) -> Vec<String> {
    n.check().unwrap();
    assert_eq!(n.messages, c.messages);
    assert_eq!(n.states, c.states);
    assert_eq!(n.queue, c.queue);
    let mut taken = Vec::new();
    for (i, (&old, &new)) in c.next.iter().zip(&n.next).enumerate() {
        if old != new {
            assert_eq!((new, i % 2), (NONE, side.index()));
            taken.push(c.messages[i / 2 % c.messages.len()].name.clone());
        }
    }
    taken.sort();
    taken.dedup();
    taken
}

#[test]
fn a_permission_is_the_contract_with_fewer_sends() {
    let all = tables(TWO);
    let hash = |t: &ContractTable| identity(&all, &t.name);
    let [c, reader, closer, deaf] = &all[..] else {
        panic!()
    };
    assert_eq!(taken(c, reader, Side::Imp), ["Write"]);
    assert_eq!(taken(c, closer, Side::Imp), ["Read", "Write"]);
    assert_eq!(taken(c, deaf, Side::Exp), ["Done"]);
    let of = |t: &ContractTable| t.narrows.clone().unwrap().of;
    assert_eq!(of(reader), [("C".into(), hash(c))]);
    assert_eq!(
        of(closer),
        [("Reader".into(), hash(reader)), ("C".into(), hash(c))]
    );
    assert_ne!(hash(reader), hash(closer));
    for (own, wanted, side, stands) in [
        (c, reader, Side::Imp, true),
        (c, closer, Side::Imp, true),
        (reader, closer, Side::Imp, true),
        (closer, reader, Side::Imp, false),
        (reader, c, Side::Imp, false),
        (c, reader, Side::Exp, false),
        (c, deaf, Side::Exp, true),
        (c, deaf, Side::Imp, false),
    ] {
        let found = own.stands_for(&hash(own), wanted, &hash(wanted), side, (0, 0));
        assert_eq!(found, stands, "{} for {}", own.name, wanted.name);
    }
}

#[test]
fn permissions_may_come_before_what_they_narrow() {
    let source = "contract P narrows N.Imp { } contract N narrows C.Imp { M; }
        contract C { in message M(); in message L(); out message O(N.Imp:S e); state S: one { M? -> O! -> S; L? -> S2; }
          state S2: O! -> S; }";
    let all = tables(source);
    let names: Vec<&str> = all.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(names, ["P", "N", "C"], "in order of the text");
    assert_eq!(taken(&all[2], &all[0], Side::Imp), ["L", "M"]);
}

#[test]
fn a_permission_of_a_derived_contract_and_derived_endpoints_for_one_of_the_base() {
    let all = tables(
        "contract B { in message M(); in message L(); out message O(); state S: one { M? -> O! -> S; L? -> O! -> S; } }
         contract D : B { in message X(); override state S: one { M? -> O! -> S; L? -> O! -> S; X? -> O! -> S; } }
         contract N narrows B.Imp { M; }
         contract ND narrows D.Imp { X; }",
    );
    let hash = |t: &ContractTable| identity(&all, &t.name);
    let [b, d, n, nd] = &all[..] else { panic!() };
    let stands = |own: &ContractTable, wanted: &ContractTable| {
        own.stands_for(&hash(own), wanted, &hash(wanted), Side::Imp, (0, 0))
    };
    assert!(stands(d, b) && stands(d, n) && stands(d, nd));
    assert!(!stands(b, nd) && !stands(nd, b) && !stands(nd, n));
}

/// Two texts of which neither says a circle: in each, an endpoint of the derived contract that it
/// knows would hold one of the other's base. So these do not pass for the bases while they travel.
#[test]
fn no_endpoint_comes_with_a_derived_one_that_its_base_knows_nothing_of() {
    const BASES: &str = "
        contract B1 { out message O1(); state S: O1! -> T; state T; }
        contract B2 { out message O2(); state S: O2! -> T; state T; }";
    for (derived, base, argument) in [("D1", "B1", "B2"), ("D2", "B2", "B1")] {
        let over = |body: &str| {
            let number = &base[1..];
            let all = tables(&format!(
                "{BASES} contract {derived} : {base} {{ out message M({argument}.Imp:S e); out message Tell(); in message Ask();
                 override state S: O{number}! -> R; {body} }}"
            ));
            let derived = all.into_iter().find(|t| t.name == derived).unwrap();
            let start = derived.state("S").unwrap();
            derived.bases[0]
                .stands
                .clone()
                .map(|s| s.contains(&(start, 0)))
        };
        assert_eq!(over("state R: M! -> closed;"), [false, true]);
        assert_eq!(over("state R: Tell! -> M! -> closed;"), [false, true]);
        // Not before its holder says something, which one who knows the base never does.
        assert_eq!(
            over("state R: Tell! -> Ask? -> M! -> closed;"),
            [true, true]
        );
        assert_eq!(over("state R: Tell! -> closed;"), [true, true]);
    }
}

#[test]
fn formatting_keeps_permissions_and_their_documentation() {
    let text = format::file(&parse(TWO).unwrap(), true);
    assert!(
        text.contains("/// Looks, and touches nothing.\npublic contract Reader narrows C.Imp {\n  Read;\n  Close;\n}"),
        "{text}"
    );
    assert_eq!(compile(&text), compile(TWO));
}

#[test]
fn taking_nothing_away_is_warned_of() {
    let loaded = load(&format!(
        "{TWO} contract All narrows Reader.Imp {{ Close; Read }}"
    ))
    .unwrap();
    let [warning] = &loaded.warnings[..] else {
        panic!("{:?}", loaded.warnings)
    };
    assert_eq!(warning.severity, Severity::Warning);
    assert_eq!(warning.message, "permission All takes nothing away");
}

#[test]
fn narrows_is_a_name_elsewhere() {
    tables("contract narrows { in message narrows(int narrows); state S: narrows? -> closed; }");
}

/// The states in which an endpoint of `d` stands for one of `b` in the state of the same name.
fn shared(all: &[ContractTable], b: &ContractTable, d: &ContractTable, side: Side) -> Vec<u16> {
    let (of, wanted) = (identity(all, &d.name), identity(all, &b.name));
    let own = 0..d.states.len() as u16;
    own.filter(|&own| {
        let asked = b.state(&d.states[usize::from(own)]);
        asked.is_some_and(|asked| {
            b.states[usize::from(asked)].find('\'').is_none()
                && d.stands_for(&of, b, &wanted, side, (own, asked))
        })
    })
    .collect()
}

/// Where an endpoint of the second contract stands for one of the first.
fn stands(source: &str) -> [Vec<String>; 2] {
    let all = tables(source);
    let d = &all[1];
    [Side::Imp, Side::Exp].map(|side| {
        let states = shared(&all, &all[0], d, side).into_iter();
        states.map(|s| d.states[usize::from(s)].clone()).collect()
    })
}

#[test]
fn what_a_derived_contract_keeps() {
    let base = "contract B { in message M(); out message O(); out message P();
        state S: M? -> O! -> T; state T: M? -> closed; state E; }";
    for (derived, imp, exp) in [
        ("", "S T E closed", "S T E closed"),
        // The importing side can say more: who exports would not expect it.
        (
            "in message N(); override state T: (M? -> closed or N? -> closed);",
            "S T E closed",
            "E closed",
        ),
        // The exporting side can answer more.
        (
            "override state S: M? -> (O! -> T or P! -> closed);",
            "T E closed",
            "S T E closed",
        ),
        // The exporting side answers less.
        (
            "out message Q(); override state S: M? -> Q! -> T;",
            "T E closed",
            "T E closed",
        ),
        // Nothing is left to say in E of B.
        (
            "override state E: M? -> closed;",
            "S T E closed",
            "S T closed",
        ),
        (
            "override state E: O! -> closed;",
            "S T closed",
            "S T E closed",
        ),
        // No answer comes any more: who asked would wait for ever.
        (
            "out message Q(); override state S: M? -> closed;",
            "T E closed",
            "T E closed",
        ),
        // The exporting side need not answer at once, if it is free to.
        (
            "in message N(); override state S: M? -> V; state V: (O! -> W or N? -> O! -> closed);
             state W: (M? -> closed or N? -> closed);",
            "S T E closed",
            "T E closed",
        ),
        // Once the base has ended, the rest does not matter.
        (
            "in message N(); override state T: M? -> U; state U: N? -> closed;",
            "S T closed E",
            "S T closed E",
        ),
        // One may come to where one may not begin.
        (
            "override state E: O! -> closed; override state T: M? -> E;",
            "S T closed",
            "S T E closed",
        ),
    ] {
        let source = format!("{base} contract D : B {{ {derived} }}");
        // If neither is kept, the contract is refused.
        if derived.contains('Q') {
            let errors = compile(&source).unwrap_err();
            assert!(
                errors[0].message.contains("keeps neither side's"),
                "{}",
                errors[0]
            );
            continue;
        }
        let words = |s: &str| s.split(' ').map(String::from).collect::<Vec<_>>();
        let mut found = stands(&source);
        let mut expected = [words(imp), words(exp)];
        for list in found.iter_mut().chain(&mut expected) {
            list.sort();
        }
        assert_eq!(found, expected, "{derived}");
    }
}

/// Used as one of A by way of B, D goes on in a state that has no name in A.
#[test]
fn standing_for_what_a_base_stands_for() {
    let all = tables(
        "contract C : B { override state U: N? -> S2; state S2: M? -> O! -> S2; }
         contract A { in message M(); out message O(); state S: M? -> O! -> S; }
         contract B : A { in message N(); state U: N? -> S; }
         contract P narrows A.Imp { M; }",
    );
    let [c, a, b, p] = &all[..] else { panic!() };
    let used = |side, own: &str, wanted: &ContractTable, asked: &str| {
        let at = (c.state(own).unwrap(), wanted.state(asked));
        c.used_as(
            &identity(&all, &c.name),
            wanted,
            &identity(&all, &wanted.name),
            side,
            at,
        )
    };
    for side in [Side::Imp, Side::Exp] {
        assert!(used(side, "U", b, "U") && used(side, "S2", b, "S"));
        assert!(used(side, "S2", a, "S") && used(side, "S", a, "S"));
        assert!(!used(side, "U", a, "S") && !used(side, "S2", b, "U"));
    }
    assert!(used(Side::Imp, "S2", p, "S") && !used(Side::Exp, "S2", p, "S"));
}

/// A state as generated: who sends, and which of the messages lead where.
type Raw = (bool, Vec<(usize, usize)>);

const MESSAGES: usize = 3;

fn states(most: usize) -> impl Strategy<Value = Vec<Raw>> {
    let edges = prop::collection::vec((0..MESSAGES, 0..most), 0..MESSAGES);
    prop::collection::vec((any::<bool>(), edges), most..=most)
}

/// Even messages are the importing side's.
fn text(states: &[Raw], overrides: &str) -> String {
    let mut text = String::new();
    for (i, (exp, edges)) in states.iter().enumerate() {
        text += &format!("{overrides}state S{i}: one {{");
        let mut seen = Vec::new();
        for (m, to) in edges {
            if !seen.contains(m) {
                seen.push(*m);
                let (side, sign) = if *exp { ("O", '!') } else { ("I", '?') };
                text += &format!(" {side}{m}{sign} -> S{to};");
            }
        }
        text += " }\n";
    }
    text
}

fn messages() -> String {
    (0..MESSAGES)
        .map(|m| format!("in message I{m}(); out message O{m}();\n"))
        .collect()
}

/// The definition, by brute force: says everything that a holder who knows only B may say, lets
/// come everything that D lets come, up to a length within which every pair of states occurs.
fn holds(
    b: &ContractTable,
    d: &ContractTable,
    side: Side,
    at: (u16, u16),
    first: bool,
    left: usize,
) -> bool {
    let all = || 0..d.messages.len() as u16;
    let over = all().all(|m| {
        [Side::Imp, Side::Exp]
            .iter()
            .all(|s| b.step(at.0, m, *s).is_none())
    });
    let comes = all().any(|m| d.step(at.1, m, side.peer()).is_some());
    let waits = all().any(|m| b.step(at.0, m, side.peer()).is_some());
    if over {
        return !(first && comes);
    }
    let heard = !waits || comes;
    left == 0
        || heard
            && all().all(|m| {
                let sends = match (b.step(at.0, m, side), d.step(at.1, m, side)) {
                    (None, _) => true,
                    (Some(b1), Some(d1)) => holds(b, d, side, (b1, d1), false, left - 1),
                    (Some(_), None) => false,
                };
                let gets = match (b.step(at.0, m, side.peer()), d.step(at.1, m, side.peer())) {
                    (_, None) => true,
                    (Some(b1), Some(d1)) => holds(b, d, side, (b1, d1), false, left - 1),
                    (None, Some(_)) => false,
                };
                sends && gets
            })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, max_global_rejects: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn overriding_is_judged_as_defined(base in states(3), derived in states(3), keep in 0usize..4) {
        // Some states stay as they are, else hardly a contract would be sound.
        let overridden: Vec<Raw> = derived.iter().cloned().enumerate()
            .map(|(i, s)| if i == keep { base[i].clone() } else { s }).collect();
        let own = format!("contract B {{ {} {} }}", messages(), text(&base, ""));
        let source = format!("{own} contract D : B {{ {} }}", text(&overridden, "override "));
        // Endless ones are refused for that; what an overriding did shows against the same states
        // standing alone.
        let alone = format!("contract D {{ {} {} }}", messages(), text(&overridden, ""));
        let (Ok(b), Ok(d)) = (compile(&own), compile(&alone)) else {
            return Err(TestCaseError::reject("endless"));
        };
        let (b, d) = (&b[0], &d[0]);
        let expected = |side| -> Vec<u16> {
            (0..3).filter(|&s| holds(b, d, side, (s, s), true, 9)).collect()
        };
        let (imp, exp) = (expected(Side::Imp), expected(Side::Exp));
        match compile(&source) {
            Ok(all) => {
                let found = [Side::Imp, Side::Exp].map(|side| shared(&all, &all[0], &all[1], side));
                prop_assert_eq!(&found, &[imp.clone(), exp.clone()], "{}", source);
                prop_assert!((0..3).all(|s| imp.contains(&s) || exp.contains(&s)), "{}", source);
            }
            Err(errors) => {
                prop_assert!(errors[0].message.contains("keeps neither side's"), "{}", errors[0]);
                prop_assert!((0..3).any(|s| !imp.contains(&s) && !exp.contains(&s)), "{}\n{}", source, errors[0]);
            }
        }
    }

    #[test]
    fn random_narrowings(base in states(4), left in prop::collection::vec(any::<bool>(), MESSAGES), exp in any::<bool>(),
                         choices in prop::collection::vec(any::<u8>(), 30)) {
        let side = if exp { Side::Exp } else { Side::Imp };
        let prefix = if exp { "O" } else { "I" };
        let own = format!("contract C {{ {} {} }}", messages(), text(&base, ""));
        let Ok(c) = compile(&own) else { return Err(TestCaseError::reject("endless")) };
        let c = &c[0];
        // Only what is ever sent can be left.
        let sent = |name: &str| {
            let m = c.message(name).unwrap();
            (0..c.states.len() as u16).any(|s| c.step(s, m, side).is_some())
        };
        let names: Vec<String> = (0..MESSAGES).map(|m| format!("{prefix}{m}")).filter(|n| sent(n)).collect();
        let kept: Vec<&String> = names.iter().zip(&left).filter(|(_, l)| **l).map(|(n, _)| n).collect();
        let list: String = kept.iter().map(|n| format!("{n};")).collect();
        let all = tables(&format!("{own} contract N narrows C.{} {{ {list} }}", side.name()));
        let n = &all[1];
        let gone: Vec<String> = names.iter().filter(|n| !kept.contains(n)).cloned().collect();
        prop_assert_eq!(taken(c, n, side), gone);
        // Whatever the permission allows, the contract allows, and leads to the same state.
        let mut state = 0;
        for choice in choices {
            let acts: Vec<(u16, Side)> = (0..n.messages.len() as u16)
                .flat_map(|m| [(m, Side::Imp), (m, Side::Exp)])
                .filter(|(m, s)| n.step(state, *m, *s).is_some()).collect();
            let Some(&(m, s)) = acts.get(usize::from(choice) % acts.len().max(1)) else { break };
            prop_assert!(s != side || kept.iter().any(|k| **k == n.messages[usize::from(m)].name));
            prop_assert_eq!(n.step(state, m, s), c.step(state, m, s));
            state = n.step(state, m, s).unwrap();
        }
    }
}
