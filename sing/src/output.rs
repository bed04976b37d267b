//! Printing to a reader that may have gone (`sing inspect FILE | head` ends quietly), and writing
//! files.
//!
//! A file is written beside its place and renamed: who reads it meanwhile gets the old contents or the new ones, and where
//! the disk is full or the command is ended, the old ones stay.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

/// Prints a line, without control characters: a part of most comes from files whose authors nobody knows, and a terminal would
/// obey them. Without a reader, the program ends.
pub fn line(text: impl AsRef<str>) {
    print(&readable(text.as_ref(), |_| false));
}

/// Prints several lines.
pub fn lines(text: impl AsRef<str>) {
    print(&readable(text.as_ref(), |rest| rest.starts_with('\n')));
}

/// Prints a report that may be in colour.
pub fn report(text: impl AsRef<str>) {
    print(&readable(text.as_ref(), in_report));
}

/// Prints a report, or any message, to standard error.
pub fn complain(text: impl AsRef<str>) {
    eprintln!("{}", readable(text.as_ref(), in_report));
}

fn print(text: &str) {
    let mut out = io::stdout().lock();
    if writeln!(out, "{text}").is_err() {
        std::process::exit(0);
    }
}

/// A text with its control characters replaced, but for those at which what follows is `kept`.
fn readable(text: &str, kept: impl Fn(&str) -> bool) -> String {
    text.char_indices()
        .map(|(at, c)| {
            if c.is_control() && c != '\t' && !kept(&text[at..]) {
                char::REPLACEMENT_CHARACTER
            } else {
                c
            }
        })
        .collect()
}

/// Whether this begins with the end of a line, or a change of colour.
fn in_report(text: &str) -> bool {
    let colour = || {
        let codes = text.strip_prefix("\u{1b}[")?;
        Some(codes.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';'))
    };
    text.starts_with('\n') || colour().is_some_and(|end| end.starts_with('m'))
}

/// Writes a file, unless it has these contents already: then builds that depend on it stay up to
/// date.
pub fn file(path: &Path, text: &str) -> Result<(), String> {
    if sing_contract::read_text(path).is_ok_and(|there| there == text) {
        return Ok(());
    }
    write(path, text.as_bytes())
}

/// Writes a file whole, with the permissions of the one that is there.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    replace(path, bytes).map_err(|e| format!("{}: cannot be written: {e}", path.display()))
}

fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let there = match fs::metadata(path) {
        Ok(there) => Some(there),
        Err(e) if e.kind() == io::ErrorKind::NotFound => None,
        Err(e) => return Err(e),
    };
    if there.as_ref().is_some_and(|t| !t.is_file()) {
        // A device or a pipe, which stays; and a folder, which is refused.
        return fs::write(path, bytes);
    }
    // The file that a link names, not the link.
    let path = match there {
        Some(_) => fs::canonicalize(path)?,
        None => path.to_path_buf(),
    };
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let mut beside = std::ffi::OsString::from(".");
    beside.push(name);
    beside.push(format!(".{}.new", std::process::id()));
    let beside = path.with_file_name(beside);
    let written = || -> io::Result<()> {
        let mut file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .open(&beside)?;
        if let Some(there) = there {
            file.set_permissions(there.permissions())?;
        }
        file.write_all(bytes)?;
        fs::rename(&beside, &path)
    };
    written().inspect_err(|_| {
        let _ = fs::remove_file(&beside);
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    use std::path::PathBuf;

    /// A folder of a test's own, removed with it.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("sing-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Folder(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_reader_keeps_the_old_file_and_the_new_one_has_its_permissions() {
        let folder = Folder::new("replaced");
        let file = folder.0.join("a.img");
        write(&file, b"old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        let mut reader = fs::File::open(&file).unwrap();
        write(&file, b"newer").unwrap();
        let read = io::read_to_string(&mut reader).unwrap();
        assert_eq!(read, "old", "whoever has it open reads one file to its end");
        assert_eq!(fs::read(&file).unwrap(), b"newer");
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o640);
        assert_eq!(
            fs::read_dir(&folder.0).unwrap().count(),
            1,
            "nothing is left beside"
        );
    }

    #[test]
    fn links_stay_and_devices_and_folders_are_not_replaced() {
        let folder = Folder::new("links");
        let (file, link) = (folder.0.join("file"), folder.0.join("link"));
        write(&file, b"old").unwrap();
        std::os::unix::fs::symlink("file", &link).unwrap();
        write(&link, b"new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"new");
        write(Path::new("/dev/null"), b"gone").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        assert!(write(&folder.0, b"").is_err() && folder.0.is_dir());
        assert!(write(&folder.0.join("no/such"), b"").is_err());
    }
}
