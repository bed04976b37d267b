//! A display with a keyboard, for a program of the host: one Unix socket, to which the machine
//! connects.
//!
//! What the program sends are the bytes of the keyboard ([`isa_keyboard`]): scan codes of set 1.
//! What it gets is the screen, as a sequence of pictures of the same length, [`PICTURE`] bytes:
//!
//! | bytes | |
//! |---|---|
//! | 0, 1 | columns, rows: 80, 25 |
//! | 2, 3 | the cursor's cell, the low byte first; 0xffff: there is none |
//! | 4 | the keyboard's lights: 1 for Scroll Lock, 2 for Num Lock, 4 for Caps Lock |
//! | 5 to 7 | 0 |
//! | from 8 | the cells, row by row: the character in code page 437, its colours |
//!
//! A picture comes when something has changed, but no oftener than every [`PAUSE`]. A program that
//! reads slowly misses pictures, and one that does not read at all delays nobody: one thread waits
//! for it to write, another one to read.

use super::isa_keyboard::Keyboard;
use super::isa_screen::{CELLS, COLUMNS, ROWS, Screen};
use crate::signals;
use crate::thread::quiet_thread;
use std::ffi::OsString;
use std::fmt;
use std::io::{self, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Stack of a thread.
const STACK: usize = 64 << 10;
/// Between two pictures, at least.
const PAUSE: Duration = Duration::from_millis(15);
/// Bytes of a picture before the cells, and of all of it.
const HEAD: usize = 8;
const PICTURE: usize = HEAD + CELLS;
/// The cursor's cell if there is none.
const NO_CURSOR: u16 = u16::MAX;

/// The far end of a display: a Unix socket at which a program listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DisplaySocket(PathBuf);

impl DisplaySocket {
    /// Reads `unix:PATH`.
    #[must_use]
    pub fn named(text: OsString) -> Option<DisplaySocket> {
        let path = text.as_bytes().strip_prefix(b"unix:")?;
        if path.is_empty() {
            return None;
        }
        Some(DisplaySocket(OsString::from_vec(path.to_vec()).into()))
    }
}

/// The reason for which there is no display.
#[derive(Debug)]
pub struct DisplayError {
    socket: DisplaySocket,
    error: io::Error,
}

impl fmt::Display for DisplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "--display unix:{}: {}; the machine connects to a socket at which a program listens",
            self.socket.0.display(),
            self.error
        )
    }
}

impl std::error::Error for DisplayError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

/// Whether something has changed since the last picture.
#[derive(Default)]
pub(super) struct Changes {
    changed: Mutex<bool>,
    noted: Condvar,
}

impl Changes {
    /// Something has changed.
    pub(super) fn note(&self) {
        let mut changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
        if !*changed {
            *changed = true;
            self.noted.notify_one();
        }
    }

    /// Waits until something has.
    fn wait(&self) {
        let changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
        let mut changed = self
            .noted
            .wait_while(changed, |changed| !*changed)
            .unwrap_or_else(PoisonError::into_inner);
        *changed = false;
    }
}

/// Connects the models of the keyboard, with its line, and of the screen with the far end.
pub(super) fn start(
    line: u32,
    socket: &DisplaySocket,
) -> Result<(Arc<Keyboard>, Arc<Screen>), DisplayError> {
    let failed = |error| DisplayError {
        socket: socket.clone(),
        error,
    };
    let far = UnixStream::connect(&socket.0).map_err(failed)?;
    let from = far.try_clone().map_err(failed)?;
    let changes = Arc::new(Changes::default());
    let keyboard = Arc::new(Keyboard::new(line, Arc::clone(&changes)));
    let screen = Arc::new(Screen::new(Arc::clone(&changes)));
    // The screen is seen before anything has changed.
    changes.note();
    let keys = Arc::clone(&keyboard);
    quiet_thread("keys in", STACK, move |kernel| {
        read_keys(from, &keys, || kernel.signal(signals::DEVICE));
    })
    .map_err(failed)?;
    let shown = (Arc::clone(&keyboard), Arc::clone(&screen));
    quiet_thread("pictures out", STACK, move |_| {
        write_pictures(far, &changes, &shown.0, &shown.1);
    })
    .map_err(failed)?;
    Ok((keyboard, screen))
}

fn read_keys(mut from: impl Read, keyboard: &Keyboard, interrupt: impl Fn()) {
    let mut bytes = [0; 64];
    loop {
        let room = keyboard.room().min(bytes.len());
        match from.read(&mut bytes[..room]) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => break,
            Ok(count) => {
                if keyboard.press(&bytes[..count]) {
                    interrupt();
                }
            }
        }
    }
}

fn write_pictures(mut to: impl Write, changes: &Changes, keyboard: &Keyboard, screen: &Screen) {
    loop {
        changes.wait();
        let picture = picture(keyboard, screen);
        if to.write_all(&picture).is_err() {
            break;
        }
        std::thread::sleep(PAUSE);
    }
}

/// The bytes of a picture. The lights are looked at last: they are no older than the text.
fn picture(keyboard: &Keyboard, screen: &Screen) -> [u8; PICTURE] {
    let seen = screen.picture();
    let mut bytes = [0; PICTURE];
    bytes[..2].copy_from_slice(&[COLUMNS as u8, ROWS as u8]);
    let cursor = seen.cursor.unwrap_or(NO_CURSOR);
    bytes[2..4].copy_from_slice(&cursor.to_le_bytes());
    bytes[4] = keyboard.lights();
    bytes[HEAD..].copy_from_slice(&seen.cells);
    bytes
}

#[cfg(test)]
mod tests {
    use super::super::isa::Platform;
    use super::*;
    use std::os::unix::net::UnixListener;

    /// A line that no other test has.
    const LINE: u32 = 26;

    #[test]
    fn a_display_is_named_by_its_socket() {
        let named = |text: &str| DisplaySocket::named(text.into());
        assert_eq!(named("unix:/a:b"), Some(DisplaySocket("/a:b".into())));
        assert_eq!(named("/a"), None);
        let missing = named("unix:/nowhere/at/all").unwrap();
        let error = start(LINE, &missing).map(drop).unwrap_err().to_string();
        assert!(error.contains("unix:/nowhere/at/all"), "{error}");
    }

    #[test]
    fn pictures_come_when_something_changes_and_keys_wait_for_room() {
        let path = std::env::temp_dir().join(format!("sing-display-{}", std::process::id()));
        let listener = UnixListener::bind(&path).unwrap();
        let socket = DisplaySocket(path.clone());
        let (keyboard, screen) = start(LINE, &socket).unwrap();
        let (mut far, _) = listener.accept().unwrap();
        std::fs::remove_file(&path).unwrap();
        let mut bytes = [0; PICTURE];
        far.read_exact(&mut bytes).unwrap();
        assert_eq!(bytes[..10], [80, 25, 0, 0, 0, 0, 0, 0, b' ', 7]);
        screen.write(0, 0, 2, 0x1e41);
        for byte in [0xed, 4] {
            keyboard.write(0, 0, 1, byte);
        }
        // Whether both are in one picture is a matter of time.
        while (bytes[4], &bytes[8..10]) != (4, &[0x41, 0x1e]) {
            far.read_exact(&mut bytes).unwrap();
        }
        let keys: Vec<u8> = (0..200).collect();
        far.write_all(&keys).unwrap();
        let mut read = Vec::new();
        while read.len() < keys.len() + 2 {
            if keyboard.read(1, 0, 1) & 1 != 0 {
                read.push(keyboard.read(0, 0, 1) as u8);
            }
        }
        assert_eq!(read[2..], keys[..]);
    }

    #[test]
    fn a_far_end_that_has_gone_is_no_fault() {
        let changes = Changes::default();
        let keyboard = Keyboard::new(LINE, Arc::default());
        let screen = Screen::new(Arc::default());
        changes.note();
        let (near, far) = UnixStream::pair().unwrap();
        drop(far);
        read_keys(near.try_clone().unwrap(), &keyboard, || {});
        write_pictures(near, &changes, &keyboard, &screen);
    }
}
