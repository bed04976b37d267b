//! Removing a directory with all below it.

use crate::failure::{Failure, is};
use crate::tree::{Tree, pop, push};
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use sing_sdk::Error;
use sing_sdk::contracts::{FileFault, FileKind};

/// Nothing to do if it is gone already: somebody else has removed it.
fn gone(outcome: Result<(), Error>) -> Result<(), Error> {
    match outcome {
        Err(Error::NotFound) => Ok(()),
        other => other,
    }
}

/// How often a directory is listed again because something was made in it meanwhile.
const AGAIN: u32 = 100;

/// A directory on the way down.
#[derive(Default)]
struct Level {
    /// Its entries up to this place have been removed.
    from: u64,
    /// How often it has been listed again.
    again: u32,
}

/// Removes the directory at `top`, and all below it; ends at the first failure. Symbolic links are
/// removed, not followed.
///
/// # Errors
/// The path, relative to the tree, that could not be removed, and the reason.
pub fn remove_all<T: Tree>(tree: &mut T, top: &str) -> Result<(), Failure> {
    let mut path = String::from(top);
    let mut levels = vec![Level::default()];
    while let Some(level) = levels.last_mut() {
        let entries = match tree.entries(&path, level.from) {
            // Somebody else has removed the directory since it was listed.
            Err(Error::NotFound) if path != top || level.from > 0 => Vec::new(),
            other => other.map_err(Failure::of(path.as_str()))?,
        };
        if entries.is_empty() {
            match gone(tree.remove_directory(&path)) {
                Err(error) if is(error, FileFault::NotEmpty) && level.again < AGAIN => {
                    level.from = 0;
                    level.again += 1;
                    continue;
                }
                outcome => outcome.map_err(Failure::of(path.as_str()))?,
            }
            levels.pop();
            if !levels.is_empty() {
                pop(&mut path);
            }
            continue;
        }
        for entry in entries {
            level.from = entry.next;
            push(&mut path, &entry.name);
            let outcome = if entry.kind == FileKind::Directory {
                tree.remove_directory(&path)
            } else {
                tree.remove(&path)
            };
            match gone(outcome) {
                Ok(()) => pop(&mut path),
                Err(error) if is(error, FileFault::NotEmpty) => {
                    levels.push(Level::default());
                    break;
                }
                Err(error) => return Err(Failure::of(path.as_str())(error)),
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Model;
    use alloc::format;

    #[test]
    fn a_tree_goes_with_all_below_it_and_nothing_else() {
        let mut tree = Model::default();
        for i in 0..200 {
            tree.file(&format!("a/f{i}"), b"x");
            tree.file(&format!("a/d{}/e/f{i}", i % 7), b"y");
        }
        tree.link("a/out", "../keep");
        tree.file("keep/this", b"z");
        tree.file("ab", b"z");
        remove_all(&mut tree, "a").unwrap();
        assert_eq!(tree.paths(), ["ab", "keep", "keep/this"]);
    }

    #[test]
    fn a_failure_names_the_path() {
        let mut tree = Model::default();
        tree.file("a/b/c", b"x");
        tree.refuse("a/b/c", FileFault::Busy);
        let failure = remove_all(&mut tree, "a").unwrap_err();
        assert_eq!(format!("{failure}"), "a/b/c: in use");
        assert_eq!(tree.paths(), ["a", "a/b", "a/b/c"]);
    }

    #[test]
    fn what_others_do_meanwhile_is_no_failure() {
        // Somebody else removes everything as soon as it has been listed.
        let mut tree = Model::default();
        tree.file("a/b/c", b"x");
        tree.file("a/d", b"x");
        tree.vanishing = true;
        remove_all(&mut tree, "a").unwrap();
        assert!(tree.paths().is_empty());
    }

    #[test]
    fn a_deep_tree_is_no_deep_recursion() {
        let mut tree = Model::default();
        let deep = ["d"; 2000].join("/");
        tree.file(&format!("{deep}/f"), b"x");
        remove_all(&mut tree, "d").unwrap();
        assert!(tree.paths().is_empty());
    }
}
