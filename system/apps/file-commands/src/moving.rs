//! Moving: a new name in the same file system, else a copy and the removal of the original.

use crate::copy::{At, How, copy};
use crate::failure::{Failure, Reason};
use crate::open::{self, Opened, above, above_both};
use crate::place::Place;
use crate::remove::remove_all;
use crate::tree::{Tree, is_directory, is_link, same};
use alloc::format;
use core::time::Duration;
use sing_sdk::contracts::{FileAttributes, FileFault};
use sing_sdk::names::Names;
use sing_sdk::{Error, time};

/// How often a copy is begun again after a service ended in the middle of it.
const ATTEMPTS: u32 = 16;
/// How long a service that has ended may take to come back.
const RETURN: Duration = Duration::from_secs(5);
/// The wait before a service that has ended is looked for: it is started again in 10 ms.
const WAIT: Duration = Duration::from_millis(20);

/// Copies what is at one place to another. When this returns without a failure, the whole copy is
/// safe from an end of its file system, and from a power cut.
///
/// A service that ends in the middle comes back, and all is copied once more then: what it had made
/// may be lost with it. So all of a copy is made over channels of one server, which is asked for a
/// sync over one of them at the end.
///
/// # Errors
/// The path at which something could not be read or written, and the reason.
pub fn copy_to(names: &mut Names, from: &Place, to: &Place, how: How) -> Result<(), Failure> {
    let (mut into, mut until) = (None, None);
    let mut ends = 0;
    loop {
        let failure = match opened(names, from, to, &mut into) {
            Ok((source, target)) => match copy_between(source, target, to, how) {
                Err(failure) if failure.is_closed() => failure,
                done => return done,
            },
            // A mount point comes back a little later than the name server says that it has gone.
            Err(failure) if failure.is_closed() || until.is_some() => failure,
            failed => return failed.map(drop),
        };
        if failure.is_closed() {
            ends += 1;
            until = Some(time::uptime() + RETURN);
        }
        if ends >= ATTEMPTS || until.is_none_or(|until| time::uptime() > until) {
            return Err(failure);
        }
        time::sleep(WAIT);
    }
}

/// Opens the directories for a copy. The one that it goes into is the same each time: while the
/// file system is away, what is below its mount point may be seen there.
fn opened(
    names: &mut Names,
    from: &Place,
    to: &Place,
    into: &mut Option<FileAttributes>,
) -> Result<(Opened, Opened), Failure> {
    let source = open::above(names, from)?;
    let mut target = open::above(names, to)?;
    let found = target.directory.attributes("");
    let found = found.map_err(Failure::of(target.place.path()))?;
    if !same(into.get_or_insert(found), &found) {
        let text = "is not the directory that it was when the copy began";
        return Err(Failure::because(target.place.path(), text));
    }
    Ok((source, target))
}

fn copy_between(
    mut source: Opened,
    mut target: Opened,
    to: &Place,
    how: How,
) -> Result<(), Failure> {
    let from = At {
        tree: &mut source.directory,
        path: &source.path,
        root: source.place.path(),
    };
    let into = At {
        tree: &mut target.directory,
        path: &target.path,
        root: target.place.path(),
    };
    copy(from, into, how)?;
    target.directory.sync().map_err(Failure::of(to.path()))
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
