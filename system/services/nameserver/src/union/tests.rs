//! Listings of the root against one walk through all names at once.

use super::*;
use crate::{Node, Own, Place, Tree};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::ToString;
use alloc::vec;

/// Paths as directories: what has something below it is one, everything else a service.
#[derive(Clone, Debug, Default)]
struct Paths(BTreeSet<String>);

impl Directories for Paths {
    fn list(&mut self, at: &str, after: Option<&str>, most: usize) -> Result<Vec<Entry>, Refusal> {
        let mut names: BTreeMap<&str, bool> = BTreeMap::new();
        for rest in self.0.iter().filter_map(|p| path::below(p, at)) {
            let (name, deeper) = match rest[1..].split_once('/') {
                Some((name, _)) => (name, true),
                None => (&rest[1..], false),
            };
            if !name.is_empty() {
                *names.entry(name).or_default() |= deeper;
            }
        }
        if names.is_empty() && at != "/" {
            return Err(Refusal::NotFound);
        }
        let behind = names
            .into_iter()
            .filter(|(name, _)| after.is_none_or(|a| *name > a));
        let entry = |(name, deeper)| match deeper {
            true => Entry::directory(name),
            false => Entry::service(name, ""),
        };
        Ok(behind.map(entry).take(most).collect())
    }
}

/// What pieces of a listing name, all together.
fn all(mut piece: impl FnMut(&str) -> (Piece, End)) -> Vec<String> {
    let (mut names, mut after) = (Vec::new(), String::new());
    for _ in 0..10_000 {
        let (found, end) = piece(&after);
        names.extend(found.paths().map(String::from));
        let (End::More(next) | End::Foreign(next)) = end else {
            return names;
        };
        assert!(
            order(&next, &after).is_gt(),
            "{next} does not come after {after}"
        );
        after = next;
    }
    panic!("the listing does not end");
}

/// A listing by turns, as the name server makes it.
fn listed(own: &Tree<i32, i32>, store: &Paths, text: &str, cut: usize) -> Vec<String> {
    let pattern = Pattern::new(text).unwrap();
    let known = |name: &str| own.resolve(&format!("/{name}")) != Place::Nowhere;
    let describe = |_: &i32| Some("");
    let directories = || Own {
        tree: own,
        describe,
    };
    all(|after| {
        let asked = Asked {
            pattern: &pattern,
            at: "",
            after,
        };
        let walk = Walk {
            directory: "/",
            pattern: &pattern,
            at: "",
            after,
        };
        match asked.turn(known) {
            Turn::Own => walk.piece(&mut directories()).unwrap(),
            Turn::Theirs => walk.piece(&mut store.clone()).unwrap(),
            Turn::Below => asked.below(directories()).unwrap(),
            Turn::Both => {
                let (found, end) = walk.piece(&mut store.clone()).unwrap();
                let theirs = found
                    .paths()
                    .map(|p| (p.into(), NameKind::Service, "".into()));
                let mut theirs: Vec<Theirs> = theirs.collect();
                let mut more = match end {
                    End::Complete => String::new(),
                    End::More(after) | End::Foreign(after) => after,
                };
                // A server may end its pieces wherever it likes.
                if cut > 0 && theirs.len() > cut {
                    theirs.truncate(cut);
                    more = theirs[cut - 1].0.clone();
                }
                piece(asked, &mut directories(), theirs, &more).unwrap()
            }
        }
    })
}

fn tree(paths: &[String]) -> Tree<i32, i32> {
    let mut tree = Tree::default();
    for path in paths {
        tree.register(path, Node::Provider(0));
    }
    tree
}

#[test]
fn a_listing_by_turns_is_a_walk_through_all_names() {
    let parts = ["a", "b", "c", "a-", "d.txt", "e"];
    let patterns = [
        "*", "**", "a/*", "*/b", "**/d.txt", "?", "[ab]/**", "**/b/*", "*/*", "d.txt", "x", "a",
        "**/a", "[!a]*",
    ];
    for seed in 0..60_usize {
        let path = |n: usize| -> String {
            let deep = 1 + n % 3;
            let part = |i: usize| parts[(n / 3 + seed * 7) / 5_usize.pow(i as u32) % parts.len()];
            (0..deep).map(|i| format!("/{}", part(i))).collect()
        };
        let own: Vec<String> = (0..seed % 6).map(|i| path(i * 37 + seed)).collect();
        // What is registered itself is no directory, also with more below.
        let own: Vec<String> = own
            .iter()
            .filter(|p| !own.iter().any(|q| *p != q && path::below(p, q).is_some()))
            .cloned()
            .collect();
        let store: BTreeSet<String> = (0..seed % 40).map(|i| path(i * 53 + 11)).collect();
        // The name server's names win as a whole.
        let first = |path: &str| top(&path[1..]).to_string();
        let mine: BTreeSet<String> = own.iter().map(|p| first(p)).collect();
        let seen = store.iter().filter(|p| !mine.contains(&first(p)));
        let mut together = Paths(own.iter().chain(seen).cloned().collect());
        for text in patterns {
            let pattern = Pattern::new(text).unwrap();
            let wanted = all(|after| {
                let walk = Walk {
                    directory: "/",
                    pattern: &pattern,
                    at: "",
                    after,
                };
                walk.piece(&mut together).unwrap()
            });
            for cut in [0, 1, 2, 5] {
                let found = listed(&tree(&own), &Paths(store.clone()), text, cut);
                assert_eq!(found, wanted, "{text} of {own:?} and {store:?}, cut {cut}");
            }
        }
    }
}

#[test]
fn a_server_that_says_anything_neither_hides_nor_stops() {
    let own = tree(&["/boot".into(), "/dev/a".into(), "/zoo".into()]);
    let pattern = Pattern::new("*").unwrap();
    let asked = Asked {
        pattern: &pattern,
        at: "",
        after: "",
    };
    let name = |path: &str| (path.to_string(), NameKind::Service, String::new());
    let run = |theirs: Vec<Theirs>, more: &str| {
        let mut own = Own {
            tree: &own,
            describe: |_: &i32| Some(""),
        };
        let (found, end) = piece(asked, &mut own, theirs, more).unwrap();
        (found.paths().map(String::from).collect::<Vec<_>>(), end)
    };
    let only = ["boot", "dev", "zoo"];
    let (names, end) = run(vec![], "");
    assert_eq!(
        (names, end),
        (only.iter().map(|n| n.to_string()).collect(), End::Complete)
    );
    // Not behind where it was asked to go on, no path, twice, the name server's.
    let odd = ["", "../x", "c", "c", "boot", "b", "dev/a", "//"];
    let (names, _) = run(odd.map(name).into(), "..");
    assert_eq!(names, ["boot", "c", "dev", "zoo"]);
    // It has more, and says nothing meanwhile: the listing gets on all the same.
    assert_eq!(run(vec![], "a").1, End::More("a".into()));
    assert_eq!(run(vec![], "boot/x").1, End::More("boot/".into()));
    let (names, end) = run(vec![name("m")], "n");
    assert_eq!((names.len(), end), (3, End::More("n".into())));
}

/// Directories that count how often they are asked.
struct Counted<D>(D, usize);

impl<D: Directories> Directories for Counted<D> {
    fn list(&mut self, at: &str, after: Option<&str>, most: usize) -> Result<Vec<Entry>, Refusal> {
        self.1 += 1;
        self.0.list(at, after, most)
    }
}

#[test]
fn a_piece_has_a_bounded_amount_of_work_behind_it() {
    // The longest names that there are, and a pattern that compares each byte of them often.
    let long = |i: usize| format!("/{i:03}{}", "a".repeat(path::LONGEST - 5)) + ["b", "c"][i % 2];
    let names: Vec<String> = (0..40).map(long).collect();
    let text = format!("*{}b", "a".repeat(250));
    let pattern = Pattern::new(&text).unwrap();
    let own = tree(&names);
    let found = all(|after| {
        let asked = Asked {
            pattern: &pattern,
            at: "",
            after,
        };
        let describe = |_: &i32| Some("");
        let mut own = Counted(
            Own {
                tree: &own,
                describe,
            },
            0,
        );
        let found = piece(asked, &mut own, vec![], "").unwrap();
        assert!(own.1 <= 2, "{} names for one piece", own.1);
        found
    });
    let wanted: Vec<&str> = names.iter().step_by(2).map(|path| &path[1..]).collect();
    assert_eq!(found, wanted);
    // Where a name costs little, a piece has many.
    let short: Vec<String> = (0..250).map(|i| format!("/{i:03}")).collect();
    let pattern = Pattern::new("*").unwrap();
    let asked = Asked {
        pattern: &pattern,
        at: "",
        after: "",
    };
    let mut own = Own {
        tree: &tree(&short),
        describe: |_: &i32| Some(""),
    };
    let (found, end) = piece(asked, &mut own, vec![], "").unwrap();
    assert_eq!((found.len(), end), (250, End::Complete));
}
