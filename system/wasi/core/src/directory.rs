//! Listing directories.
//!
//! A cookie is the place from which a listing goes on: 0 begins with `.`, 1 with `..`, and 2 with the
//! directory's own first entry; a place of the directory's server is its number and 2. So a listing
//! goes on in the same place whatever happened to the directory meanwhile, and nothing is kept.

use crate::Wasi;
use crate::abi::{Layout, rights};
use crate::errno::{Errno, Result};
use crate::host::{Directory, Entry, Host, Kind};
use crate::stat::type_of;
use crate::table::{OpenDirectory, Table};
use alloc::string::String;

/// Cookies before those of the directory's server.
const OWN: u64 = 2;

/// A buffer that is filled to its last byte, the last entry cut if it does not fit.
struct Room {
    at: u32,
    len: u32,
    used: u32,
}

impl Room {
    /// Whether there is room for more.
    fn add<H: Host>(&mut self, host: &mut H, entry: &Entry) -> bool {
        let head = Layout::<24>::new()
            .with(0, entry.next.to_le_bytes())
            .with(8, entry.id.to_le_bytes())
            .with(16, (entry.name.len() as u32).to_le_bytes())
            .with(20, [type_of(entry.kind)]);
        for bytes in [&head.0[..], entry.name.as_bytes()] {
            let count = bytes.len().min((self.len - self.used) as usize);
            if count > 0 {
                host.write(self.at + self.used, &bytes[..count]);
                self.used += count as u32;
            }
        }
        self.used < self.len
    }
}

impl<H: Host> Wasi<H> {
    /// `fd_readdir`. A buffer that comes back full may have more behind it.
    ///
    /// # Errors
    /// `Badf`, `Notdir`, `Notcapable`, `Fault`, and the directory's.
    pub fn fd_readdir(&mut self, fd: u32, at: u32, len: u32, cookie: u64, out: u32) -> Result {
        self.check(at, len.into())?;
        self.check(out, 4)?;
        let mut room = Room { at, len, used: 0 };
        list(&mut self.host, &mut self.table, fd, cookie, &mut room)?;
        self.store_u32(out, room.used)
    }
}

fn list<H: Host>(
    host: &mut H,
    table: &mut Table<H>,
    fd: u32,
    cookie: u64,
    room: &mut Room,
) -> Result {
    let OpenDirectory { directory, .. } = table.directory(fd, rights::FD_READDIR)?;
    if room.len == 0 {
        return Ok(());
    }
    for (number, name) in (0..).zip([".", ".."]) {
        if number < cookie {
            continue;
        }
        // What is above a preopen is not known, and of others not told: both are the directory.
        let entry = Entry {
            next: number + 1,
            id: directory.attributes("", true)?.id,
            kind: Kind::Directory,
            name: String::from(name),
        };
        if !room.add(host, &entry) {
            return Ok(());
        }
    }
    directory.list(cookie.saturating_sub(OWN), &mut |mut entry| {
        entry.next = entry.next.checked_add(OWN).ok_or(Errno::Overflow)?;
        Ok(room.add(host, &entry))
    })
}
