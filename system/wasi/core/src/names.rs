//! Paths as programs give them.

use crate::Wasi;
use crate::errno::{Errno, Result};
use crate::host::Host;
use alloc::format;
use alloc::string::String;

/// Bytes of a path, and of a part of it, at most.
const LONGEST: usize = 4096;
const LONGEST_PART: usize = 255;

impl<H: Host> Wasi<H> {
    /// The path at an address. It is relative, and not empty.
    pub(crate) fn path(&mut self, at: u32, len: u32) -> Result<String> {
        let bytes = self.copy(at, len, LONGEST, Errno::Nametoolong)?;
        let path = text(bytes)?;
        match path.as_bytes().first() {
            None => Err(Errno::Noent),
            Some(b'/') => Err(Errno::Perm),
            Some(_) if path.split('/').any(|part| part.len() > LONGEST_PART) => {
                Err(Errno::Nametoolong)
            }
            Some(_) => Ok(path),
        }
    }

    /// The text for a symbolic link. An absolute one is refused: whoever follows it outside of the
    /// program would be led out of the directory by it.
    pub(crate) fn target(&mut self, at: u32, len: u32) -> Result<String> {
        let target = text(self.copy(at, len, LONGEST - 1, Errno::Nametoolong)?)?;
        match target.as_bytes().first() {
            None => Err(Errno::Noent),
            Some(b'/') => Err(Errno::Perm),
            Some(_) => Ok(target),
        }
    }
}

fn text(bytes: alloc::vec::Vec<u8>) -> Result<String> {
    if bytes.contains(&0) {
        return Err(Errno::Inval);
    }
    String::from_utf8(bytes).map_err(|_| Errno::Ilseq)
}

/// A path below a path.
pub(crate) fn join(above: &str, below: &str) -> Result<String> {
    if above.is_empty() {
        return Ok(below.into());
    }
    if above.len() + 1 + below.len() > LONGEST {
        return Err(Errno::Nametoolong);
    }
    Ok(format!("{above}/{below}"))
}

/// Whether a path ends with the name that each directory has for itself, so that it names one that is there already.
pub(crate) fn ends_with_itself(path: &str) -> bool {
    path.trim_end_matches('/').rsplit('/').next() == Some(".")
}

/// The part of a path that must be a directory for its last name to be in it; "" for the directory
/// itself.
pub(crate) fn above(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    path.rsplit_once('/').map_or("", |(above, _)| above)
}
