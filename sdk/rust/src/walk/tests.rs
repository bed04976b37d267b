//! Walks against a model: all paths of a tree that match, in order, whatever the pieces.

use super::*;
use alloc::collections::BTreeMap;
use alloc::format;
use proptest::prelude::*;

/// Files and directories by path; directories are those above.
struct Model(BTreeMap<String, NameKind>);

impl Model {
    fn of(files: &[String]) -> Model {
        let mut all = BTreeMap::new();
        for file in files {
            all.entry(file.clone()).or_insert(NameKind::Service);
            for (end, _) in file.match_indices('/').skip(1) {
                all.insert(file[..end].into(), NameKind::Directory);
            }
        }
        Model(all)
    }

    /// All matching paths in walk order.
    fn matching(&self, spec: &str) -> Vec<String> {
        let (directory, text) = pattern::split(spec).unwrap();
        let pattern = Pattern::new(&text).unwrap();
        let rest = |path: &'_ str| Some(String::from(&path::below(path, &directory)?[1..]));
        let mut all: Vec<String> = self.0.keys().filter_map(|path| rest(path)).collect();
        all.retain(|path| {
            !path.is_empty() && pattern.matches(pattern.follow(pattern.start(), path))
        });
        all.sort_by(|a, b| pattern::order(a, b));
        all
    }

    /// The same in pieces, as a client asks for them.
    fn walked(&mut self, spec: &str) -> Vec<String> {
        let (directory, text) = pattern::split(spec).unwrap();
        let pattern = Pattern::new(&text).unwrap();
        let (mut all, mut after) = (Vec::new(), String::new());
        loop {
            let walk = Walk {
                directory: &directory,
                pattern: &pattern,
                at: "",
                after: &after,
            };
            let Ok((piece, end)) = walk.piece(self) else {
                return all;
            };
            assert!(piece.len() <= NAMES && (piece.len() < 2 || piece.text.len() <= BYTES));
            let mut text = piece.text.as_str();
            for record in &piece.records {
                let (path, rest) = text.split_at(record.path as usize);
                text = &rest[record.detail as usize..];
                all.push(path.into());
            }
            match end {
                End::Complete => return all,
                End::More(next) => {
                    assert!(after.is_empty() || pattern::order(&after, &next).is_lt());
                    after = next;
                }
                End::Foreign(_) => panic!("no directory is another's"),
            }
        }
    }
}

impl Directories for Model {
    fn list(&mut self, at: &str, after: Option<&str>, most: usize) -> Result<Vec<Entry>, Refusal> {
        if at != "/" && self.0.get(at) != Some(&NameKind::Directory) {
            return Err(Refusal::NotFound);
        }
        let below = self.0.iter().filter_map(|(path, kind)| {
            let name = &path::below(path, at)?[1..];
            let entry = match kind {
                NameKind::Directory => Entry::directory(name),
                _ => Entry::service(name, "FileContract"),
            };
            (!name.is_empty() && !name.contains('/')).then_some(entry)
        });
        let mut all: Vec<Entry> = below
            .filter(|e| after.is_none_or(|after| e.name.as_str() > after))
            .collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all.truncate(most);
        Ok(all)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn a_walk_finds_what_matches_in_order(
        files in prop::collection::vec("(/[ab][-.]?){1,4}", 0..40),
        spec in r"(/([ab]|[ab*?]{1,2}|\*\*|a-)){1,4}",
    ) {
        let mut model = Model::of(&files);
        prop_assert_eq!(model.walked(&spec), model.matching(&spec), "{}", spec);
    }
}

#[test]
fn large_directories_come_in_pieces() {
    let files: Vec<String> = (0..3000).map(|i| format!("/big/{i:05}")).collect();
    let mut model = Model::of(&files);
    assert_eq!(model.walked("/big/*").len(), 3000);
    assert_eq!(model.walked("/**").len(), 3001);
    assert_eq!(model.walked("/big/0123?").len(), 10);
}

#[test]
fn a_name_that_stays_is_found_once_whatever_comes_and_goes() {
    let files: Vec<String> = (0..600).map(|i| format!("/d/{i:04}")).collect();
    let mut model = Model::of(&files);
    let pattern = Pattern::new("*").unwrap();
    let (mut after, mut seen) = (String::new(), Vec::new());
    for round in 0.. {
        let walk = Walk {
            directory: "/d",
            pattern: &pattern,
            at: "",
            after: &after,
        };
        let (piece, end) = walk.piece(&mut model).unwrap();
        seen.extend(
            piece
                .text
                .as_bytes()
                .chunks(4 + "FileContract".len())
                .map(|c| c[..4].to_vec()),
        );
        // The name to go on behind is removed, and one before it is made.
        let End::More(next) = end else { break };
        model.0.remove(&format!("/d/{next}"));
        model.0.insert(format!("/d/0000{round}"), NameKind::Service);
        after = next;
    }
    assert_eq!(seen.len(), 600);
    seen.dedup();
    assert_eq!(seen.len(), 600);
}

#[test]
fn a_walk_ends_before_another_servers_directory() {
    struct Mounted;
    impl Directories for Mounted {
        fn list(&mut self, at: &str, after: Option<&str>, _: usize) -> Result<Vec<Entry>, Refusal> {
            let mut mount = Entry::directory("m");
            mount.foreign = true;
            let all = match at {
                "/" => Vec::from([Entry::service("a", ""), mount, Entry::service("z", "")]),
                _ => return Err(Refusal::NotFound),
            };
            let behind = |e: &Entry| after.is_none_or(|after| e.name.as_str() > after);
            Ok(all.into_iter().filter(behind).collect())
        }
    }
    let pattern = Pattern::new("**").unwrap();
    let go = |after| {
        let walk = Walk {
            directory: "/",
            pattern: &pattern,
            at: "",
            after,
        };
        let (piece, end) = walk.piece(&mut Mounted).unwrap();
        (piece.text, end)
    };
    assert_eq!(go(""), ("am".into(), End::More("m".into())));
    assert_eq!(go("m/"), ("z".into(), End::Complete));
    let pattern = Pattern::new("*/x").unwrap();
    let walk = Walk {
        directory: "/",
        pattern: &pattern,
        at: "",
        after: "",
    };
    let (piece, end) = walk.piece(&mut Mounted).unwrap();
    assert!(piece.is_empty());
    assert_eq!(end, End::Foreign("m".into()));
}

#[test]
fn places_are_in_the_order_of_the_walk() {
    let all = ["", "a", "a/b", "a/b/c", "a/b/", "a/c", "a/", "a-b", "b"];
    for (i, one) in all.iter().enumerate() {
        for (j, other) in all.iter().enumerate() {
            assert_eq!(super::order(one, other), i.cmp(&j), "{one} {other}");
        }
    }
}

#[test]
fn names_that_no_path_can_have_are_passed_over() {
    let files = ["/d/a", "/d/b\nc", "/d/d"].map(String::from);
    let mut model = Model::of(&files);
    for spec in ["/d/*", "/**/[ad]"] {
        let found = model.walked(spec);
        let names: Vec<&str> = found.iter().filter_map(|p| p.rsplit('/').next()).collect();
        assert!(
            names.contains(&"a") && names.contains(&"d"),
            "{spec}: {found:?}"
        );
        assert!(
            !names.iter().any(|name| name.contains('\n')),
            "{spec}: {found:?}"
        );
    }
}
