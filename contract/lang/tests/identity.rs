//! Which contract a contract is: what it and all that it refers to mean, and nothing else.

use proptest::prelude::*;
use sing_contract::compile;
use sing_image::contract::{ContractTable, Hash, Word, check, identities};
use std::collections::{BTreeMap, BTreeSet};

fn tables(texts: &[String]) -> Vec<ContractTable> {
    let source = texts.join("\n");
    compile(&source).unwrap_or_else(|e| panic!("{source}\n{}", e[0]))
}

fn known(texts: &[String]) -> BTreeMap<String, Hash> {
    let tables = tables(texts);
    let identities = check(&tables).unwrap();
    tables.into_iter().map(|t| t.name).zip(identities).collect()
}

/// How the contracts of a system refer to each other.
#[derive(Clone, Debug)]
struct System {
    /// For each, what its messages carry endpoints of.
    carries: Vec<Vec<usize>>,
    /// For each, an earlier one that it derives from.
    base: Vec<Option<usize>>,
    /// For each, whether there is a permission of it.
    narrowed: Vec<bool>,
}

impl System {
    /// The texts, one for each declaration; contract `changed` has one message more.
    fn texts(&self, changed: Option<usize>) -> Vec<String> {
        let mut texts = Vec::new();
        for (i, to) in self.carries.iter().enumerate() {
            let base = self.base[i].map_or(String::new(), |b| format!(": C{b}"));
            let mut text = format!("contract C{i} {base} {{ in message Ask{i}(); ");
            // In these states the importing side sends: endpoints can travel in circles.
            for t in to {
                text += &format!("in message Give{i}To{t}(C{t}.Imp:Own{t} end); ");
            }
            if changed == Some(i) {
                text += "in message More(); ";
            }
            text += &format!(
                "out message Done{i}(); state Own{i}: one {{ Ask{i}? -> Done{i}! -> Own{i}; "
            );
            for t in to {
                text += &format!("Give{i}To{t}? -> Done{i}! -> Own{i}; ");
            }
            if changed == Some(i) {
                text += &format!("More? -> Done{i}! -> Own{i}; ");
            }
            texts.push(text + "} }");
            if self.narrowed[i] {
                texts.push(format!("contract N{i} narrows C{i}.Imp {{ Ask{i}; }}"));
            }
        }
        texts
    }

    /// All that `from` refers to, at any depth, itself included.
    fn reached(&self, from: usize) -> BTreeSet<usize> {
        let mut seen = BTreeSet::new();
        let mut todo = vec![from];
        while let Some(i) = todo.pop() {
            if seen.insert(i) {
                todo.extend(self.carries[i].iter().copied().chain(self.base[i]));
            }
        }
        seen
    }
}

fn system() -> impl Strategy<Value = System> {
    (2usize..7).prop_flat_map(|n| {
        let to = prop::collection::btree_set(0..n, 0..3);
        let carries = prop::collection::vec(to.prop_map(|s| s.into_iter().collect()), n);
        let base =
            prop::collection::vec(prop::option::weighted(0.2, any::<prop::sample::Index>()), n);
        let narrowed = prop::collection::vec(prop::bool::weighted(0.3), n);
        (carries, base, narrowed).prop_map(|(carries, base, narrowed)| {
            let base = base.iter().enumerate();
            let base = base.map(|(i, b)| b.filter(|_| i > 0).map(|b| b.index(i)));
            System {
                carries,
                base: base.collect(),
                narrowed,
            }
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn neither_order_nor_bystanders_matter(
        system in system(),
        order in any::<prop::sample::Index>(),
        root in any::<prop::sample::Index>(),
    ) {
        let texts = system.texts(None);
        let all = known(&texts);
        let different: BTreeSet<&Hash> = all.values().collect();
        prop_assert_eq!(different.len(), all.len());
        let mut turned = texts.clone();
        turned.rotate_left(order.index(texts.len()));
        turned.reverse();
        turned.push("contract Bystander { in message M(C0.Imp:Own0 end); state S: M? -> closed; }".into());
        let again = known(&turned);
        for (name, identity) in &all {
            prop_assert_eq!(Some(identity), again.get(name), "{}", name);
        }
        // Alone with what it refers to, a contract is the same.
        let root = root.index(system.carries.len());
        let reached = system.reached(root);
        let names: BTreeSet<String> = reached.iter().map(|i| format!("C{i}")).collect();
        let mut few = tables(&texts);
        few.retain(|t| names.contains(&t.name));
        let names: Vec<String> = few.iter().map(|t| t.name.clone()).collect();
        for (name, identity) in names.iter().zip(check(&few).unwrap()) {
            prop_assert_eq!(all.get(name), Some(&identity), "{}", name);
        }
        // Without something that it refers to, it cannot be told which it is.
        for left_out in reached.iter().filter(|i| **i != root) {
            let mut less = few.clone();
            less.retain(|t| t.name != format!("C{left_out}"));
            prop_assert!(identities(&less).is_err());
        }
    }

    #[test]
    fn a_change_at_any_depth_shows_and_nowhere_else(system in system(), at in any::<prop::sample::Index>()) {
        let at = at.index(system.carries.len());
        let (before, after) = (known(&system.texts(None)), known(&system.texts(Some(at))));
        for i in 0..system.carries.len() {
            let reaches = system.reached(i).contains(&at);
            for name in [format!("C{i}"), format!("N{i}")] {
                if let Some(identity) = before.get(&name) {
                    prop_assert_eq!(after.get(&name) != Some(identity), reaches, "{} by C{}", name, at);
                }
            }
        }
    }
}

/// In each text one contract is another one than in the others, under the same name. Each is sound;
/// together they are the circle A, B, C that each of them would refuse.
#[test]
fn no_circle_is_put_together_of_texts_without_one() {
    let carries = |name: &str, other: &str| {
        format!(
            "contract {name} {{ out message M{name}({other}.Imp:S e); in message G(); state S: M{name}! -> G? -> S; }}"
        )
    };
    let fake = |name: &str| {
        format!("contract {name} {{ in message F(); out message O(); state S: F? -> O! -> S; }}")
    };
    let real = [carries("A", "B"), carries("B", "C"), carries("C", "A")];
    let circle = compile(&real.join("\n")).unwrap_err();
    assert!(circle[0].to_string().contains("cannot be sent safely"));
    let texts = [0, 1, 2].map(|faked| {
        let mut text = real.clone();
        text[faked] = fake(["A", "B", "C"][faked]);
        known(&text)
    });
    for name in ["A", "B", "C"] {
        let meant: BTreeSet<&Hash> = texts.iter().map(|t| &t[name]).collect();
        assert_eq!(meant.len(), 3, "{name}");
    }
}

/// Types that messages carry have names too.
#[test]
fn a_change_of_a_type_shows_at_any_depth() {
    let texts = |colour: &str, point: &str| {
        known(&[
            format!(
                "enum Colour : byte {{ {colour} }} rep struct Point {{ {point} Colour colour; }}"
            ),
            "rep struct Row { Point[] in ExHeap points; Row*? in ExHeap next; }".into(),
            "contract C { in message M(Row* in ExHeap all); state S: M? -> closed; }".into(),
            "contract D { in message M(C.Imp:S e); state S: M? -> closed; }".into(),
            "contract Other { in message M(int x); state S: M? -> closed; }".into(),
        ])
    };
    let before = texts("Red, Green", "int x;");
    // How a number is written, and what is said about it, changes nothing.
    assert_eq!(
        before,
        texts("Red = 0, /* after red */ Green = 0x1", "int x;")
    );
    for after in [
        texts("Red, Green = 2", "int x;"),
        texts("Green, Red", "int x;"),
        texts("Red, Green, Blue", "int x;"),
        texts("Red, Green", "uint x;"),
        texts("Red, Green", ""),
    ] {
        assert!(before["C"] != after["C"] && before["D"] != after["D"]);
        assert_eq!(before["Other"], after["Other"]);
    }
}

/// A `?` is a part of what a contract means, in an argument and at any depth; one of the same type
/// elsewhere is not.
#[test]
fn what_may_be_absent_shows() {
    let texts = |argument: &str, field: &str, other: &str| {
        known(&[
            format!(
                "enum E {{ A }} rep struct P {{ {field} f; }} rep struct Q {{ P p; {other} o; }}"
            ),
            format!("contract C {{ in message M({argument} x, P p); state S: M? -> closed; }}"),
            "contract D { in message M(C.Imp:S e); state S: M? -> closed; }".into(),
            "contract Other { in message M(E x); state S: M? -> closed; }".into(),
        ])
    };
    let before = texts("int", "E", "E");
    assert_eq!(before, texts("int", "E", "E?"));
    // As words, these are all alike.
    let pair = known(&[
        "rep struct Pair { bool has; int value; } enum E { A } rep struct P { E f; }".into(),
        "contract C { in message M(Pair x, P p); state S: M? -> closed; }".into(),
    ]);
    let block = |ty: &str| texts(&format!("{ty} in ExHeap"), "E", "E");
    assert!(block("byte[]?")["C"] != block("byte[]")["C"]);
    for after in [texts("int?", "E", "E"), texts("int", "E?", "E")] {
        assert!(before["C"] != after["C"] && before["D"] != after["D"]);
        assert!(pair["C"] != after["C"]);
        assert_eq!(before["Other"], after["Other"]);
    }
}

/// A contract's identity does not depend on the version of the compiler that reads it: the contracts of
/// programs that were made before stay the same.
#[test]
fn the_identity_of_a_contract_stays() {
    let known = known(&["
        enum Colour : byte { Red, Green = 5 }
        rep struct Point { int x; Colour colour; }
        rep struct Node { Point at; char[] in ExHeap name; Node*? in ExHeap next; Point[]? in ExHeap all; }
        contract C {
          in message A(int x, Point at, byte[] in ExHeap data) requires x > 0, data.Length >= x, at.colour != Colour.Red;
          out message B(Node* in ExHeap tree, D.Imp:S end, double d, bool b, char c);
          state S: A? -> B! -> S;
        }
        contract D { in message Go(); out message Gone(); state S: Go? -> Gone! -> S; }"
        .to_owned()]);
    let hex = |name: &str| {
        known[name]
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect::<String>()
    };
    assert_eq!(
        [hex("C"), hex("D")],
        [
            "8ae92c6b4862e6eca83c220db104fb7aa797149e778d9fd31dd9677c1e7facca",
            "caf9e508f995660e0f99235c17406471d6f133b355d5dafd9c4a6acd2af0a704"
        ]
    );
}

#[test]
fn what_a_table_claims_of_others_is_held_against_them() {
    let texts = [
        "contract B { in message M(); out message O(); state S: M? -> O! -> S; }".into(),
        "contract D : B { in message X(); override state S: one { M? -> O! -> S; X? -> O! -> S; } }".into(),
        "contract N narrows B.Imp { M; }".into(),
        "contract Carrier { in message Take(D.Imp:S e); state S: Take? -> closed; }".into(),
    ];
    let sound = tables(&texts);
    check(&sound).unwrap();
    let fails = |change: &dyn Fn(&mut Vec<ContractTable>), why: &str| {
        let mut changed = sound.clone();
        change(&mut changed);
        let error = check(&changed).unwrap_err();
        assert!(error.message.contains(why), "{error}");
    };
    fails(
        &|t| t[1].bases[0].hash[5] ^= 1,
        "contract D names B with the identity of another",
    );
    fails(
        &|t| t[2].narrows.as_mut().unwrap().of[0].1[31] ^= 1,
        "contract N names B with the identity of another",
    );
    fails(
        &|t| t[0].states[0] = "T".into(),
        "contract D names B with the identity of another",
    );
    fails(
        &|t| drop(t.remove(0)),
        "contract D refers to B, which is not",
    );
    fails(
        &|t| drop(t.remove(1)),
        "contract Carrier refers to D, which is not",
    );
    fails(&|t| t.push(t[0].clone()), "contract B is there twice");
    fails(
        &|t| {
            let Word::Endpoint { contract, .. } = &mut t[3].messages[0].words[0] else {
                panic!()
            };
            *contract = "E".into();
        },
        "contract Carrier refers to E, which is not",
    );
}
