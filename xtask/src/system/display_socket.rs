//! The far end of a hosted machine's display: presses keys, and looks at the pictures that come.

use super::desk::{Desk, Seen, rows};
use anyhow::{Context, Result, bail};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A picture, as the book's chapter on devices describes it: what comes before the cells, and all.
const HEAD: usize = 8;
const COLUMNS: usize = 80;
const ROWS: usize = 25;
const PICTURE: usize = HEAD + COLUMNS * ROWS * 2;
/// The byte of the keyboard's lights.
const LIGHTS: usize = 4;

/// How long the machine may take to connect, and to show its first picture.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(20);

/// Keys by QEMU's names, with their scan codes of set 1.
const KEYS: [(&str, &[u8]); 13] = [
    ("spc", &[0x39]),
    ("ret", &[0x1c]),
    ("tab", &[0x0f]),
    ("minus", &[0x0c]),
    ("semicolon", &[0x27]),
    ("backspace", &[0x0e]),
    ("shift", &[0x2a]),
    ("ctrl", &[0x1d]),
    ("up", &[0xe0, 0x48]),
    ("down", &[0xe0, 0x50]),
    ("left", &[0xe0, 0x4b]),
    ("right", &[0xe0, 0x4d]),
    ("delete", &[0xe0, 0x53]),
];
/// Rows of keys of one character, with the code of the first key.
const CHARACTERS: [(&str, u8); 4] = [
    ("1234567890", 0x02),
    ("qwertyuiop", 0x10),
    ("asdfghjkl", 0x1e),
    ("zxcvbnm", 0x2c),
];
/// The bit of a code that says that the key goes up.
const UP: u8 = 0x80;

/// What a key sends when it goes down; a prefix is the first of two bytes.
fn codes(key: &str) -> Option<Vec<u8>> {
    if let Some((_, codes)) = KEYS.iter().find(|(name, _)| *name == key) {
        return Some(codes.to_vec());
    }
    let place = |&(row, first): &(&str, u8)| Some(vec![first + row.find(key)? as u8]);
    CHARACTERS.iter().filter(|_| key.len() == 1).find_map(place)
}

/// The newest picture; `Err` when there is to be none any more.
type Newest = Arc<Mutex<Result<Option<Seen>, String>>>;

/// The far end of a display.
pub struct DisplaySocket {
    to: UnixStream,
    newest: Newest,
}

impl DisplaySocket {
    /// Waits for the machine to connect at this socket.
    pub fn accept(listener: &UnixListener) -> Result<DisplaySocket> {
        listener.set_nonblocking(true)?;
        let end = Instant::now() + PATIENCE;
        let to = loop {
            match listener.accept() {
                Ok((to, _)) => break to,
                Err(e) if e.kind() == ErrorKind::WouldBlock && Instant::now() < end => {
                    sleep(PAUSE);
                }
                Err(e) => return Err(e).context("the machine does not connect to its display"),
            }
        };
        to.set_nonblocking(false)?;
        let mut from = to.try_clone()?;
        let newest: Newest = Arc::new(Mutex::new(Ok(None)));
        let seen = Arc::clone(&newest);
        std::thread::spawn(move || {
            let mut picture = [0; PICTURE];
            loop {
                let next = match from.read_exact(&mut picture) {
                    Ok(()) => read(&picture).map(Some),
                    Err(error) => Err(format!("the display has ended: {error}")),
                };
                let ends = next.is_err();
                *seen.lock().unwrap_or_else(PoisonError::into_inner) = next;
                if ends {
                    break;
                }
            }
        });
        Ok(DisplaySocket { to, newest })
    }

    /// Listens at this path.
    pub fn listen(path: &Path) -> Result<UnixListener> {
        UnixListener::bind(path).with_context(|| format!("cannot listen at {}", path.display()))
    }
}

/// What a picture shows.
fn read(picture: &[u8; PICTURE]) -> Result<Seen, String> {
    if picture[..2] != [COLUMNS as u8, ROWS as u8] {
        let size = &picture[..2];
        return Err(format!("a screen of {size:?} columns and rows"));
    }
    Ok(Seen {
        rows: rows(&picture[HEAD..], COLUMNS),
        lights: Some(picture[LIGHTS]),
    })
}

impl Desk for DisplaySocket {
    fn press(&mut self, keys: &[&str]) -> Result<()> {
        let mut bytes = Vec::new();
        let mut ups = Vec::new();
        for key in keys {
            let down = codes(key).with_context(|| format!("no code is known for the key {key}"))?;
            bytes.extend(&down);
            ups.push(down);
        }
        for mut up in ups.into_iter().rev() {
            if let Some(code) = up.last_mut() {
                *code |= UP;
            }
            bytes.extend(up);
        }
        self.to.write_all(&bytes).context("cannot press keys")
    }

    fn look(&mut self) -> Result<Seen> {
        let end = Instant::now() + PATIENCE;
        loop {
            let newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
            match &*newest {
                Ok(Some(seen)) => return Ok(seen.clone()),
                Ok(None) if Instant::now() < end => {}
                Ok(None) => bail!("the display has shown nothing"),
                Err(reason) => bail!("{reason}"),
            }
            drop(newest);
            sleep(PAUSE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_their_codes() {
        for (key, wanted) in [
            ("a", &[0x1e][..]),
            ("m", &[0x32]),
            ("0", &[0x0b]),
            ("left", &[0xe0, 0x4b]),
        ] {
            assert_eq!(codes(key).unwrap(), wanted, "{key}");
        }
        assert_eq!(codes("f13"), None);
        assert_eq!(codes("qw"), None);
    }
}
