//! Standard output and standard error, whose reader may go at any time, and which may be files on a
//! full disk.
//!
//! A command goes on without a reader, silently, so that its exit status says what it found; that
//! its output is lost for another reason is a failure, said at its end.

use std::io::{self, Write};
use std::sync::Mutex;

/// How standard output was lost.
enum Lost {
    /// The reader has gone: it wants no more.
    Closed,
    /// It cannot be written.
    Failed(io::Error),
}

static LOST: Mutex<Option<Lost>> = Mutex::new(None);

/// Writes to standard output, unless that was lost before.
pub fn print(bytes: impl AsRef<[u8]>) {
    if !is_lost() {
        note(io::stdout().lock().write_all(bytes.as_ref()));
    }
}

/// Writes to standard error. Who closes it, or has it written where there is no room, wants no
/// messages, and there is nobody left to be told.
pub fn complain(text: impl AsRef<str>) {
    let mut to = io::stderr().lock();
    let _ = to.write_all(text.as_ref().as_bytes());
    let _ = to.flush();
}

/// Returns whether further output is in vain.
pub fn is_lost() -> bool {
    LOST.lock().is_ok_and(|lost| lost.is_some())
}

/// Ends the output of a command that would exit with this status. Returns the status to exit with:
/// 1 instead of 0 if output could not be written, which is said.
pub fn finish(command: &str, status: u8) -> u8 {
    if !is_lost() {
        note(io::stdout().flush());
    }
    match LOST.lock().ok().as_deref() {
        Some(Some(Lost::Failed(reason))) => {
            complain(format!(
                "{command}: the output cannot be written: {reason}\n"
            ));
            status.max(1)
        }
        _ => status,
    }
}

fn note(written: io::Result<()>) {
    if let (Err(e), Ok(mut lost)) = (written, LOST.lock()) {
        *lost = Some(if e.kind() == io::ErrorKind::BrokenPipe {
            Lost::Closed
        } else {
            Lost::Failed(e)
        });
    }
}
