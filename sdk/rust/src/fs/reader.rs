//! Reading a file that stays as it is, also if its server ends meanwhile.

use super::File;
use crate::contracts::FileAttributes;
use crate::names::Names;
use crate::rt::Vector;
use crate::{Error, client, time};
use alloc::string::String;
use core::time::Duration;

/// A file that is read by its path. If its server ends, it is opened again, and reading goes on where
/// it was, if it is the same file still and has not been changed since it was opened first: reading
/// can be repeated. What was answered before and what comes then are of one content.
///
/// A program that writes opens its files again itself: it knows what it had not synced.
#[derive(Debug)]
pub struct Reader {
    path: String,
    file: File,
    known: FileAttributes,
}

/// How long a server that has ended may take to come back.
const RETURN: Duration = Duration::from_secs(5);
/// Between two looks for it.
const WAIT: Duration = Duration::from_millis(20);

/// Opens a file and asks for its attributes.
fn open(names: &mut Names, path: &str) -> Result<(File, FileAttributes), Error> {
    client::reach(names, path, |names, path| {
        let mut file = File::bind(names, path)?;
        let known = file.attributes()?;
        Ok((file, known))
    })
}

/// Whether both are of the same file with the same content: what changes the content changes the
/// time of it. (Names and other attributes may differ.)
fn unchanged(a: &FileAttributes, b: &FileAttributes) -> bool {
    let of = |x: &FileAttributes| (x.id, x.created, x.kind, x.bytes, x.modified);
    of(a) == of(b)
}

impl Reader {
    /// Opens the file at a path of the name space.
    ///
    /// # Errors
    /// As [`Names::open`]; as its server says it, if its attributes cannot be read.
    pub fn open(names: &mut Names, path: &str) -> Result<Reader, Error> {
        let (file, known) = open(names, path)?;
        Ok(Reader {
            path: path.into(),
            file,
            known,
        })
    }

    /// A block with the bytes from `offset` on, at most `max` of them; `None` at the end. Waits for
    /// the server to come back at most five seconds.
    ///
    /// # Errors
    /// As [`File::read_part`]; [`Error::Closed`] if the server has gone and does not come back, or the
    /// file is not the one that it was.
    pub fn read_block(
        &mut self,
        names: &mut Names,
        offset: u64,
        max: usize,
    ) -> Result<Option<Vector<u8>>, Error> {
        let mut until = None;
        loop {
            match self.file.read_block(offset, max) {
                Err(Error::Closed) => {}
                other => return other,
            }
            let until = *until.get_or_insert_with(|| time::uptime() + RETURN);
            self.file = self.again(names, until)?;
        }
    }

    /// Opens the file again.
    fn again(&self, names: &mut Names, until: Duration) -> Result<File, Error> {
        while time::uptime() < until {
            match open(names, &self.path) {
                Ok((file, known)) if unchanged(&known, &self.known) => return Ok(file),
                // A mount point comes back a little later than its names.
                Err(Error::Closed | Error::NotFound) => time::sleep(WAIT),
                _ => break,
            }
        }
        Err(Error::Closed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contracts::FileKind;

    #[test]
    fn another_file_or_content_is_not_taken_for_the_same() {
        let known = FileAttributes {
            id: 1,
            kind: FileKind::File,
            links: 1,
            bytes: 100,
            allocated: 4096,
            accessed: 5,
            modified: 6,
            changed: 7,
            created: 4,
        };
        let with = |change: fn(&mut FileAttributes)| {
            let mut other = FileAttributes { ..known };
            change(&mut other);
            unchanged(&known, &other)
        };
        assert!(with(|a| (a.links, a.changed, a.accessed) = (2, 9, 9)));
        assert!(!with(|a| a.id = 2));
        assert!(!with(|a| a.created = 5));
        assert!(!with(|a| a.bytes = 101));
        assert!(!with(|a| a.modified = 8));
        assert!(!with(|a| a.kind = FileKind::Directory));
    }
}
