//! The tree of registered paths, and where links lead.

use super::*;
use alloc::format;
use alloc::string::ToString;
use alloc::vec;

type Numbers = Tree<i32, i32>;

fn register(tree: &mut Numbers, path: &str, number: i32) {
    tree.register(path, Node::Provider(number));
}

fn names(tree: &Numbers, at: &str) -> Vec<String> {
    let describe = |_: &i32| Some("");
    let found = Own { tree, describe }.list(at, None, 100);
    let show = |e: Entry| {
        e.name
            + if e.kind == sing_sdk::contracts::NameKind::Directory {
                "/"
            } else {
                ""
            }
    };
    found.unwrap_or_default().into_iter().map(show).collect()
}

#[test]
fn the_longest_prefix_answers() {
    let mut tree = Numbers::default();
    register(&mut tree, "/boot", 1);
    register(&mut tree, "/svc/clock", 2);
    register(&mut tree, "/boot/deep/er", 3);
    assert!(!tree.is_free("/boot", |_| true) && !tree.is_free("/", |_| true));
    assert_eq!(tree.resolve("/boot"), Place::Provider(&1, 5));
    assert_eq!(tree.resolve("/boot/deep/e"), Place::Provider(&1, 5));
    assert_eq!(tree.resolve("/boot/deep/er/x"), Place::Provider(&3, 13));
    assert_eq!(tree.resolve("/bootleg"), Place::Nowhere);
    assert_eq!(tree.resolve("/svc"), Place::Here);
    assert_eq!(tree.resolve("/"), Place::Here);
    // A name is what is registered there itself, also with more of its holder's below.
    assert_eq!(names(&tree, "/"), ["boot", "svc/"]);
    assert_eq!(names(&tree, "/svc"), ["clock"]);
    assert_eq!(tree.deregister("/svc/clock"), Some(Node::Provider(2)));
    assert_eq!(tree.resolve("/svc"), Place::Nowhere);
    assert_eq!(Numbers::default().resolve("/"), Place::Here);
}

#[test]
fn what_answers_is_what_a_look_at_each_prefix_finds() {
    let parts = ["a", "b", "a-", "a."];
    let path = |n: usize| -> String {
        let deep = 1 + n % 4;
        let part = |i: usize| parts[n / 4 / parts.len().pow(i as u32) % parts.len()];
        (0..deep).map(|i| format!("/{}", part(i))).collect()
    };
    for seed in 0..200 {
        let mut tree = Numbers::default();
        let mut all: BTreeMap<String, i32> = BTreeMap::new();
        for i in 0..seed % 23 {
            let path = path((seed * 31 + i * 97) as usize);
            register(&mut tree, &path, i);
            all.insert(path, i);
        }
        for n in 0..1024 {
            let path = path(n);
            let ends = (1..=path.len()).rev();
            let mut prefixes =
                ends.filter(|end| matches!(path.as_bytes().get(*end), None | Some(b'/')));
            let first = prefixes.find_map(|end| Some((end, all.get(&path[..end])?)));
            let wanted = first.map(|(end, provider)| Place::Provider(provider, end));
            let here = all.keys().any(|at| path::below(at, &path).is_some());
            let nobody = if here { Place::Here } else { Place::Nowhere };
            assert_eq!(tree.resolve(&path), wanted.unwrap_or(nobody), "{path}");
        }
        // Lists are those of the paths, in the order of a walk; what is registered itself is no
        // directory, also with more below.
        for n in 0..64 {
            let directory = path(n);
            let wanted = path::list(all.keys().map(String::as_str), &directory);
            let itself = |name: String| match name.strip_suffix('/') {
                Some(name) if all.contains_key(&path::join(&directory, name)) => name.into(),
                _ => name,
            };
            let wanted: Vec<String> = wanted.into_iter().flatten().map(itself).collect();
            assert_eq!(names(&tree, &directory), wanted, "{directory}");
        }
    }
}

#[test]
fn nobody_registers_above_or_below_another() {
    let mut tree = Numbers::default();
    let mut register = |path: &str, owner| {
        let free = tree.is_free(path, |p| *p == Node::Provider(owner));
        if free {
            tree.register(path, Node::Provider(owner));
        }
        free
    };
    assert!(register("/boot", 1) && register("/svc/clock", 2));
    for path in ["/boot/notes.txt", "/boot/bin/ls", "/svc", "/svc/clock/utc"] {
        assert!(!register(path, 3), "{path}");
    }
    assert!(register("/bootleg", 3) && register("/svc/clock2", 3) && register("/svc/a", 3));
    assert!(register("/boot/notes.txt", 1) && register("/svc/clock/utc", 2));
    assert!(!register("/svc/clock/utc/x", 3) && !register("/svc", 2));
}

#[test]
fn nothing_is_below_a_link() {
    let mut tree = Numbers::default();
    register(&mut tree, "/a/b", 1);
    let mine = |_: &Node<i32, i32>| true;
    assert!(!tree.is_free_leaf("/a", mine) && !tree.is_free_leaf("/a/b", mine));
    assert!(tree.is_free_leaf("/a/c", mine));
    tree.register("/a/c", Node::Link(7, "/x".into()));
    assert!(!tree.is_free("/a/c/d", mine) && !tree.is_free_leaf("/a/c/d", mine));
    assert_eq!(tree.resolve("/a/c/d"), Place::Link(&7, 4, "/x"));
    assert_eq!(tree.resolve("/a/cd"), Place::Nowhere);
}

#[test]
fn where_links_lead() {
    let follow = |path: &str, used, target| follow(path, used, target);
    assert_eq!(follow("/dev/disk", 9, "/hw/d0").unwrap(), "/hw/d0");
    assert_eq!(follow("/dev/disk/x/y", 9, "/hw/d0").unwrap(), "/hw/d0/x/y");
    assert_eq!(follow("/dev/disk/x", 9, "../hw").unwrap(), "/hw/x");
    assert_eq!(follow("/dev/disk/x", 9, "tape").unwrap(), "/dev/tape/x");
    assert_eq!(follow("/disk/x", 5, "../../..").unwrap(), "/x");
    assert_eq!(follow("/disk", 5, "/").unwrap(), "/");
    // What a server says of a link may be anything.
    for used in [0, 3, 6, 99] {
        assert_eq!(
            follow("/disk/x", used, "/y"),
            Err(Refusal::NotFound),
            "{used}"
        );
    }
    assert_eq!(follow("/é/x", 2, "/y"), Err(Refusal::NotFound));
    assert_eq!(follow("/disk", 5, "/a\nb"), Err(Refusal::BadPath));
    assert_eq!(
        follow("/disk", 5, &"/a".repeat(4096)),
        Err(Refusal::TooLong)
    );
}

#[test]
fn the_walk_says_what_a_name_is() {
    let mut tree = Numbers::default();
    register(&mut tree, "/mount", 1);
    register(&mut tree, "/svc/clock", 2);
    tree.register("/svc/time", Node::Link(2, "clock".into()));
    let describe = |n: &i32| (*n != 1).then_some("ClockContract");
    let mut own = Own {
        tree: &tree,
        describe,
    };
    let kinds = |found: Vec<Entry>| -> Vec<String> {
        let show = |e: Entry| format!("{} {:?} {} {}", e.name, e.kind, e.detail, e.foreign);
        found.into_iter().map(show).collect()
    };
    assert_eq!(
        kinds(own.list("/", None, 9).unwrap()),
        vec![
            "mount Directory  true".to_string(),
            "svc Directory  false".into()
        ]
    );
    assert_eq!(
        kinds(own.list("/svc", None, 9).unwrap()),
        ["clock Service ClockContract false", "time Link clock false"]
    );
    assert_eq!(own.list("/svc", Some("clock"), 9).unwrap().len(), 1);
    assert_eq!(own.list("/nowhere", None, 9), Err(Refusal::NotFound));
    assert_eq!(own.entry("/svc", "time").unwrap().unwrap().detail, "clock");
    assert_eq!(own.entry("/svc", "none"), Ok(None));
}

#[test]
fn numbers_begin_anew_and_pass_over_those_that_are_taken() {
    assert_eq!(next_number(0, |_| false), 1);
    assert_eq!(next_number(NUMBERS - 1, |n| n < 5), 5);
}
