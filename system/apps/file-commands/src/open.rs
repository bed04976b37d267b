//! From a path to an open directory of the file system that holds it.

use crate::failure::Failure;
use crate::place::Place;
use alloc::string::String;
use sing_sdk::Error;
use sing_sdk::contracts::{FileAttributes, FileFault};
use sing_sdk::fs::Directory;
use sing_sdk::names::Names;

/// An open directory with its place, and a path in it.
pub struct Opened {
    /// The directory.
    pub directory: Directory,
    /// Its place.
    pub place: Place,
    /// The path in it of what is meant; empty for itself.
    pub path: String,
}

impl Opened {
    /// Whether there is something, and what: links followed.
    ///
    /// # Errors
    /// As the file system says.
    pub fn attributes(&mut self) -> Result<FileAttributes, Error> {
        self.directory.attributes(&self.path)
    }
}

/// Whether a path is in a file system. Of one that is mounted at the root of the name space, the
/// names that the name server has itself are not.
fn holds(directory: &mut Directory, place: &Place, path: &str) -> bool {
    let first = path.split('/').next().unwrap_or_default();
    let outside = Err(Error::File(FileFault::Outside));
    place.name().is_some() || first.is_empty() || directory.attributes_of_link(first) != outside
}

/// Opens the deepest directory that is `from` or above it.
fn deepest(names: &mut Names, from: Place) -> Result<Option<(Directory, Place)>, Failure> {
    let mut at = Some(from);
    while let Some(place) = at {
        match Directory::open(names, place.path()) {
            Ok(directory) => return Ok(Some((directory, place))),
            // Looking further up would not help.
            Err(error @ (Error::NoResources | Error::Closed)) => {
                return Err(Failure::of(place.path())(error));
            }
            // The name server does not say why; the directory above does, if there is one.
            Err(_) => at = place.above(),
        }
    }
    Ok(None)
}

fn no_file_system(place: &Place) -> Failure {
    Failure::because(
        place.path(),
        "no file system is there; `mount DISK PLACE` mounts one",
    )
}

/// Opens the directory that holds what is at a place, or the nearest one above: there, the file
/// system says what is wrong with the rest.
///
/// # Errors
/// No file system holds the place, or it cannot be reached.
pub fn above(names: &mut Names, place: &Place) -> Result<Opened, Failure> {
    let mut reason = no_file_system(place);
    if let Some(from) = place.above()
        && let Some(found) = deepest(names, from)?
    {
        match held(found, place) {
            Err(failure) => reason = failure,
            opened => return opened,
        }
    }
    Err(match Directory::open(names, place.path()) {
        Ok(_) => Failure::because(
            place.path(),
            "is where a file system is mounted, and stays; name what is in it",
        ),
        Err(_) => reason,
    })
}

/// The same, or the directory itself if the place is one.
///
/// # Errors
/// No file system holds the place, or it cannot be reached.
pub fn at(names: &mut Names, place: &Place) -> Result<Opened, Failure> {
    let found = deepest(names, place.clone())?.ok_or_else(|| no_file_system(place))?;
    held(found, place)
}

/// A place in a directory above it, if the file system there holds it.
fn held((mut directory, at): (Directory, Place), place: &Place) -> Result<Opened, Failure> {
    let path = place.from(&at).unwrap_or_default();
    if !holds(&mut directory, &at, path) {
        return Err(match path.contains('/') {
            true => no_file_system(place),
            false => Failure::because(
                place.path(),
                "belongs to the name server, not to a file system",
            ),
        });
    }
    Ok(Opened {
        directory,
        path: path.into(),
        place: at,
    })
}

/// Opens a directory above two places, and says their paths in it; `None` if they are on two file
/// systems.
///
/// # Errors
/// The file system cannot be reached.
pub fn above_both(
    names: &mut Names,
    a: &Place,
    b: &Place,
) -> Result<Option<(Directory, String, String)>, Failure> {
    let mut common = a.common(b);
    if &common == a || &common == b {
        let Some(above) = common.above() else {
            return Ok(None);
        };
        common = above;
    }
    let Some((mut directory, at)) = deepest(names, common)? else {
        return Ok(None);
    };
    let path = |of: &Place| String::from(of.from(&at).unwrap_or_default());
    let (a, b) = (path(a), path(b));
    let both = [&a, &b].iter().all(|path| holds(&mut directory, &at, path));
    Ok(both.then_some((directory, a, b)))
}

/// Where something of this name goes if a person says `to`: into the directory that is there, or
/// to that place itself.
///
/// # Errors
/// No file system holds the place, or it cannot be reached.
pub fn destination(names: &mut Names, to: &Place, name: Option<&str>) -> Result<Place, Failure> {
    match (is_directory(names, to)?, name) {
        (true, Some(name)) => Ok(to.below(name)),
        (true, None) => Err(Failure::because(to.path(), "is a directory")),
        (false, _) => Ok(to.clone()),
    }
}

/// Whether a directory is at this place.
///
/// # Errors
/// No file system holds the place, or it cannot be reached.
pub fn is_directory(names: &mut Names, place: &Place) -> Result<bool, Failure> {
    let mut opened = match at(names, place) {
        Ok(opened) => opened,
        // A service may be a file.
        Err(failure) => return names.open(place.path()).map(|_| false).map_err(|_| failure),
    };
    match opened.attributes() {
        Ok(attributes) => Ok(crate::tree::is_directory(&attributes)),
        // The command says what is wrong, when it uses the place.
        Err(Error::File(_) | Error::NotFound) => Ok(false),
        Err(error) => Err(Failure::of(place.path())(error)),
    }
}
