//! Directories of the host that the process of a call is given.

use crate::Error;
use sing_calls::DIRECTORIES;
use sing_hosted::{Asked, GivenDirectories, GivenDirectory, HostDirectory};
use std::path::Path;

/// The most bytes of a directory's name.
const NAME: usize = 255;

/// What a process may do with a directory and all below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read it. Every change is refused, whatever the permissions of the host's files.
    ReadOnly,
    /// Change it, too.
    Writable,
}

/// A directory for the processes of calls.
#[derive(Clone, Debug)]
pub(crate) struct Directory(pub(crate) HostDirectory);

impl Directory {
    pub(crate) fn new(host: &Path, at: &str, access: Access) -> Directory {
        Directory(HostDirectory {
            path: host.into(),
            at: at.into(),
            read_only: access == Access::ReadOnly,
        })
    }

    /// What the process calls it.
    pub(crate) fn name(&self) -> &str {
        &self.0.at
    }
}

/// Looks whether a process can have these directories.
///
/// # Errors
/// If there are too many, or a name is none.
pub(crate) fn check(program: &str, directories: &[Directory]) -> Result<(), Error> {
    for (i, Directory(directory)) in directories.iter().enumerate() {
        let refused = |reason: String| {
            Err(Error::Directory {
                path: directory.path.clone(),
                reason,
            })
        };
        let at = &directory.at;
        if i == DIRECTORIES {
            return refused(format!(
                "{program} is given {} directories; {DIRECTORIES} are the most",
                directories.len()
            ));
        }
        if at.is_empty() || at.len() > NAME || at.contains('\0') || at.starts_with('-') {
            return refused(format!(
                "{program} cannot have it as {at:?}: a name has 1 to {NAME} bytes, no zero among them, and \
                 begins with no dash"
            ));
        }
        if directories.iter().take(i).any(|other| other.0.at == *at) {
            return refused(format!("{program} has another directory as {at:?}"));
        }
    }
    Ok(())
}

/// What one process is given: directories that are served, and words.
#[derive(Debug, Default)]
pub(crate) struct Given {
    pub(crate) all: GivenDirectories,
    pub(crate) arguments: Vec<u8>,
}

impl Given {
    /// Asks for a process that has this.
    pub(crate) fn with<R>(&self, asked: &Asked<'_>, ask: impl FnOnce(&Asked<'_>) -> R) -> R {
        // Most have nothing.
        if self.arguments.is_empty() {
            return ask(asked);
        }
        let directories: Vec<u64> = self.all.iter().map(GivenDirectory::number).collect();
        ask(&Asked {
            directories: &directories,
            arguments: &self.arguments,
            ..*asked
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(names: &[&str]) -> Result<(), String> {
        let new = |at: &&str| Directory::new("/host".as_ref(), at, Access::ReadOnly);
        let all: Vec<Directory> = names.iter().map(new).collect();
        check("program", &all).map_err(|error| error.to_string())
    }

    #[test]
    fn names_are_taken_or_refused_with_the_reason() {
        assert_eq!(named(&[]), Ok(()));
        assert_eq!(named(&["/", "ab"]), Ok(()));
        let long = "x".repeat(256);
        for (names, why) in [
            (&[""][..], "1 to 255 bytes"),
            (&[&long], "1 to 255 bytes"),
            (&["--help"], "no dash"),
            (&["a\0"], "no zero"),
            (&["a", "b", "a"], "another directory as \"a\""),
            (
                &["1", "2", "3", "4", "5", "6", "7", "8", "9"],
                "8 are the most",
            ),
        ] {
            let error = named(names).unwrap_err();
            assert!(error.contains(why) && error.contains("/host"), "{error}");
        }
    }
}
