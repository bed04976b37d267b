//! Moving: a new name in the same file system, else a copy and the removal of the original.

use crate::copy::{At, How, copy};
use crate::failure::{Failure, Reason};
use crate::open::{self, above, above_both};
use crate::place::Place;
use crate::remove::remove_all;
use crate::tree::{Tree, is_directory, is_link};
use alloc::format;
use sing_sdk::Error;
use sing_sdk::contracts::FileFault;
use sing_sdk::names::Names;

/// Copies what is at one place to another.
///
/// # Errors
/// The path at which something could not be read or written, and the reason.
pub fn copy_to(names: &mut Names, from: &Place, to: &Place, how: How) -> Result<(), Failure> {
    let mut source = open::above(names, from)?;
    let mut target = open::above(names, to)?;
    let from = At {
        tree: &mut source.directory,
        path: &source.path,
        root: source.place.path(),
    };
    let to = At {
        tree: &mut target.directory,
        path: &target.path,
        root: target.place.path(),
    };
    copy(from, to, how)
}

/// Removes what is at a place: a file, a link, a directory with all below it.
///
/// # Errors
/// The path that could not be removed, and the reason.
pub fn remove_at(names: &mut Names, place: &Place) -> Result<(), Failure> {
    let mut opened = above(names, place)?;
    let path = opened.path.as_str();
    let of = Tree::attributes(&mut opened.directory, path).map_err(Failure::of(place.path()))?;
    if is_directory(&of) {
        return remove_all(&mut opened.directory, path).map_err(|mut failure| {
            failure.path = opened.place.below(&failure.path).path().into();
            failure
        });
    }
    let removed = opened.directory.remove(path);
    removed.map_err(Failure::of(place.path()))
}

/// Moves what is at one place to another, and replaces what is there.
///
/// # Errors
/// The path at which something could not be done, and the reason.
pub fn move_to(names: &mut Names, from: &Place, to: &Place) -> Result<(), Failure> {
    if from == to {
        return Err(Failure::because(to.path(), "has that name already"));
    }
    if to.from(from).is_some() {
        let text = format!("cannot be moved into itself, to {to}");
        return Err(Failure::because(from.path(), text));
    }
    if let Some((mut directory, a, b)) = above_both(names, from, to)? {
        let renamed = directory.rename(&a, &b);
        return renamed.map_err(|error| Failure {
            path: format!("{from} to {to}"),
            reason: Reason::Error(error),
        });
    }
    // To another file system. A directory does not replace one there.
    let mut target = above(names, to)?;
    let there = Tree::attributes(&mut target.directory, &target.path);
    let mut source = above(names, from)?;
    let of = Tree::attributes(&mut source.directory, &source.path);
    let of = of.map_err(Failure::of(from.path()))?;
    match there {
        Err(Error::NotFound) => {}
        // A link itself is replaced, not what it leads to.
        Ok(there) if is_link(&there) || is_link(&of) && !is_directory(&there) => {
            let removed = target.directory.remove(&target.path);
            removed.map_err(Failure::of(to.path()))?;
        }
        Ok(there) if !is_directory(&there) && !is_directory(&of) => {}
        Ok(_) => return Err(Failure::of(to.path())(FileFault::Exists.into())),
        Err(error) => return Err(Failure::of(to.path())(error)),
    }
    drop((target, source));
    copy_to(names, from, to, How { times: true })?;
    remove_at(names, from).map_err(|failure| {
        let text = format!("{}; its copy is at {to}", failure.reason);
        Failure::because(failure.path, text)
    })
}
