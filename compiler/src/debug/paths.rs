//! Paths of a program's source files as an image keeps them: without the places where one machine
//! keeps its tools and projects, so that they read well, and the same wherever it was compiled.

use sing_image::shown::is_escaped;

/// The longest path that an image keeps, in characters: of a longer one, the end.
const LONGEST: usize = 256;

/// Joins what debug information says of a file, each part relative to the one before it, and
/// shortens it: below the folder in which the compiler ran, it is relative to that.
pub(super) fn of_file(compiled_in: &str, folder: &str, name: &str) -> String {
    let mut path = String::new();
    for part in [compiled_in, folder, name] {
        if is_absolute(part) || path.is_empty() {
            path.clear();
        } else if !part.is_empty() && !path.ends_with(['/', '\\']) {
            path.push('/');
        }
        path.push_str(part);
    }
    let path = without_detours(&path.replace('\\', "/"));
    let compiled_in = compiled_in.replace('\\', "/");
    let printable = shortened(&path, &compiled_in)
        .chars()
        .map(|c| if is_escaped(c) { '\u{fffd}' } else { c });
    let printable: Vec<char> = printable.collect();
    printable[printable.len().saturating_sub(LONGEST)..]
        .iter()
        .collect()
}

/// The path without steps into folders that it leaves again.
fn without_detours(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "." => {}
            ".." if parts.last().is_some_and(|last| !matches!(*last, "" | "..")) => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

fn is_absolute(path: &str) -> bool {
    path.starts_with(['/', '\\']) || path.get(1..3).is_some_and(|c| c == ":/" || c == ":\\")
}

fn shortened<'p>(path: &'p str, compiled_in: &str) -> &'p str {
    let behind = |marker: &str, folders: usize| {
        let rest = &path[path.find(marker)? + marker.len()..];
        let mut rest = rest.splitn(folders + 1, '/').skip(folders);
        rest.next().filter(|rest| !rest.is_empty())
    };
    let below = |folder: &str| {
        let rest = path.strip_prefix(folder.trim_end_matches('/'))?;
        rest.strip_prefix('/').filter(|rest| !rest.is_empty())
    };
    // A crate of a registry, by its name and version; of a repository, by the folder of its copy;
    // the standard library's own.
    let known = behind("/registry/src/", 1)
        .or_else(|| behind("/git/checkouts/", 2))
        .or_else(|| behind("/lib/rustlib/src/rust/", 0))
        .or_else(|| path.starts_with("/rustc/").then(|| behind("/rustc/", 1))?);
    let own = known.or_else(|| below(compiled_in).filter(|_| compiled_in.len() > 1));
    // Anything else of a person's own is named from there.
    let home = || {
        let of_people = ["/home/", "/Users/"].into_iter().find_map(|homes| {
            let rest = path.strip_prefix(homes)?;
            rest.split_once('/').map(|(_, rest)| rest)
        });
        of_people.or_else(|| below("/root"))
    };
    own.or_else(home).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::of_file;

    #[test]
    fn what_is_of_one_machine_only_is_left_out() {
        for (compiled_in, folder, name, short) in [
            ("/home/a/p", "src", "main.rs", "src/main.rs"),
            ("/home/a/p", "", "src/main.rs", "src/main.rs"),
            ("/home/a/p", "/home/a/p/src", "main.rs", "src/main.rs"),
            ("/work/p/", "", "/work/p/b.c", "b.c"),
            ("/work/p", "", "/work/pp/b.c", "/work/pp/b.c"),
            ("/home/a/p", "../q", "c.rs", "q/c.rs"),
            ("/w/p", "./a/../b", "c.rs", "b/c.rs"),
            ("", "../q", "c.rs", "../q/c.rs"),
            ("/w", "", "/home/a/q/src/c.rs", "q/src/c.rs"),
            ("/w", "/root/q", "c.rs", "q/c.rs"),
            (
                "/w",
                "",
                "/rustc/0123ab/library/core/src/lib.rs",
                "library/core/src/lib.rs",
            ),
            (
                "/w",
                "/home/a/.rustup/toolchains/x/lib/rustlib/src/rust/library/alloc/src",
                "vec.rs",
                "library/alloc/src/vec.rs",
            ),
            (
                "/home/a/.cargo/registry/src/index.crates.io-6f17d22bba15001f/serde-1.0.1",
                "src",
                "lib.rs",
                "serde-1.0.1/src/lib.rs",
            ),
            (
                "/x/.cargo/git/checkouts/log-12ab/34cd",
                "src",
                "l.rs",
                "src/l.rs",
            ),
            ("C:\\p", "src", "main.rs", "src/main.rs"),
            ("", "", "", ""),
            ("/", "", "/a.c", "/a.c"),
            ("/home/a/p", "", "a\u{1b}[2Jb", "a\u{fffd}[2Jb"),
        ] {
            assert_eq!(of_file(compiled_in, folder, name), short, "{folder} {name}");
        }
        let long = of_file("", "", &format!("{}/end.rs", "\u{e4}".repeat(1000)));
        assert_eq!(long.chars().count(), 256);
        assert!(long.ends_with("/end.rs"));
    }
}
