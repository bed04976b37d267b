//! Files that are in no file system, as `/dev/null`: a service is the file, and its name is the name
//! server's.

use crate::copy::{Content, Fill, Half};
use crate::failure::Failure;
use crate::open;
use crate::place::Place;
use sing_sdk::Error;
use sing_sdk::fs::{File, Options};
use sing_sdk::names::Names;

/// Why no file system holds a place, if that is so and no service has just ended.
fn not_held(names: &mut Names, place: &Place) -> Option<Failure> {
    let failure = open::above(names, place).err()?;
    (!failure.is_closed()).then_some(failure)
}

/// The file at a place that no file system holds, if there is one.
pub fn at(names: &mut Names, place: &Place) -> Option<File> {
    not_held(names, place)?;
    let file = names.open(place.path()).ok()?;
    // A file system that was away a moment ago may have come back, and have it.
    not_held(names, place).map(|_| file)
}

/// The file at a place to write to: in the file system that holds it, or alone.
///
/// # Errors
/// As the file system says, or that there is none.
pub fn to_write(names: &mut Names, place: &Place, how: Options) -> Result<File, Failure> {
    match open::above(names, place) {
        Ok(mut opened) => {
            let file = opened.directory.open_with(&opened.path, how);
            file.map_err(Failure::of(place.path()))
        }
        Err(failure) => at(names, place).ok_or(failure),
    }
}

/// Copies a file, if it or the one to which it is copied is alone: whether that is so.
///
/// # Errors
/// The path that could not be read or written, and the reason.
pub fn copy(names: &mut Names, from: &Place, to: &Place) -> Result<bool, Failure> {
    let (source, target) = (at(names, from), at(names, to));
    if source.is_none() && target.is_none() {
        return Ok(false);
    }
    let read = |error: Error| Failure::of(from.path())(error);
    let write = |error: Error| Failure::of(to.path())(error);
    let mut source = match source {
        Some(source) => source,
        None => File::open(names, from.path()).map_err(read)?,
    };
    let mut target = match target {
        Some(target) => target,
        None => to_write(names, to, Options::create())?,
    };
    Content::empty(&mut target).map_err(write)?;
    target.fill(&mut source).map_err(|half| match half {
        Half::Read(error) => read(error),
        Half::Write(error) => write(error),
    })?;
    target.sync().map_err(write)?;
    Ok(true)
}
