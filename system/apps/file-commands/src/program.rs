//! The frame of these commands: the channel to the name server, and what is said of failures.

use crate::failure::Failure;
use crate::open;
use crate::place::Place;
use alloc::string::String;
use core::time::Duration;
use sing_sdk::names::Names;
use sing_sdk::prelude::NamespaceContract;
use sing_sdk::{eprintln, time};

/// The channel to the name server that the program was started with, if that takes part.
///
/// # Errors
/// The exit code; the reason has been printed.
pub fn names(
    program: &str,
    given: Option<NamespaceContract::Imp<NamespaceContract::Start>>,
) -> Result<Names, i32> {
    given.and_then(|n| Names::new(n).ok()).ok_or_else(|| {
        eprintln!("{program}: no name server");
        1
    })
}

/// Prints a failure; the exit code.
pub fn report(program: &str, outcome: Result<(), Failure>) -> i32 {
    match outcome {
        Ok(()) => 0,
        Err(failure) => {
            eprintln!("{program}: {failure}");
            1
        }
    }
}

/// Does something for each path; a failure is printed, and does not keep the others from being
/// tried. The exit code.
pub fn each(
    program: &str,
    paths: &[String],
    mut with: impl FnMut(&Place) -> Result<(), Failure>,
) -> i32 {
    paths.iter().fold(0, |status, path| {
        let outcome = Place::new(path).and_then(|place| with(&place));
        status | report(program, outcome)
    })
}

/// How often a question is asked of services that end before they answer it.
const ATTEMPTS: u32 = 16;
/// The wait before the next attempt.
const WAIT: Duration = Duration::from_millis(20);

/// Asks something that changes nothing, and asks it again if a service ends meanwhile.
///
/// # Errors
/// The failure, if it is another one, or if services end again and again.
pub fn again<T>(mut ask: impl FnMut() -> Result<T, Failure>) -> Result<T, Failure> {
    for _ in 1..ATTEMPTS {
        match ask() {
            Err(failure) if failure.is_closed() => time::sleep(WAIT),
            answered => return answered,
        }
    }
    ask()
}

/// Does something with each source, the last path saying to where: a directory, or a new name. The
/// exit code, or `None` if that path is missing.
pub fn to_destination(
    program: &str,
    paths: &[String],
    given: Option<NamespaceContract::Imp<NamespaceContract::Start>>,
    mut act: impl FnMut(&mut Names, &Place, &Place) -> Result<(), Failure>,
) -> Option<i32> {
    let (sources, to) = to_last(paths)?;
    let mut names = match names(program, given) {
        Ok(names) => names,
        Err(code) => return Some(code),
    };
    let to = match Place::new(to).and_then(|to| fits(&mut names, to, sources.len())) {
        Ok(to) => to,
        Err(failure) => return Some(report(program, Err(failure))),
    };
    Some(each(program, sources, |from| {
        let to = again(|| open::destination(&mut names, &to, from.name()))?;
        act(&mut names, from, &to)
    }))
}

/// A destination, if so many sources can go there.
fn fits(names: &mut Names, to: Place, sources: usize) -> Result<Place, Failure> {
    if sources > 1 && !again(|| open::is_directory(names, &to))? {
        return Err(Failure::because(to.path(), "is no directory for several"));
    }
    Ok(to)
}

/// The paths before the last, and the last; `None` if there are fewer than two.
#[must_use]
pub fn to_last(paths: &[String]) -> Option<(&[String], &str)> {
    match paths {
        [from @ .., to] if !from.is_empty() => Some((from, to)),
        _ => None,
    }
}
