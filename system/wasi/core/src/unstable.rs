//! `wasi_unstable`, the version before preview 1, as programs of 2019 import it. Its functions are preview
//! 1's but for the four here: their records and one number differ.

use crate::Wasi;
use crate::abi::Layout;
use crate::errno::{Errno, Result};
use crate::host::Host;
use crate::poll::Form;
use crate::stat::Stat;

impl Stat {
    /// Its record: a count of links has 32 bits.
    fn unstable(&self) -> Layout<56> {
        let layout = Layout::new()
            .with(0, self.device.to_le_bytes())
            .with(16, [self.filetype]);
        let Some(a) = &self.attributes else {
            return layout;
        };
        let links = u32::try_from(a.links).unwrap_or(u32::MAX);
        layout
            .with(8, a.id.to_le_bytes())
            .with(20, links.to_le_bytes())
            .with(24, a.bytes.to_le_bytes())
            .with(32, a.accessed.to_le_bytes())
            .with(40, a.modified.to_le_bytes())
            .with(48, a.changed.to_le_bytes())
    }
}

impl<H: Host> Wasi<H> {
    /// `fd_seek`: 0 counts from the place, 1 from the end, 2 from the beginning.
    ///
    /// # Errors
    /// As [`Wasi::fd_seek`].
    pub fn unstable_fd_seek(&mut self, fd: u32, delta: i64, whence: u32, out: u32) -> Result {
        let whence = match whence {
            0 => 1,
            1 => 2,
            2 => 0,
            _ => return Err(Errno::Inval),
        };
        self.fd_seek(fd, delta, whence, out)
    }

    /// `fd_filestat_get`.
    ///
    /// # Errors
    /// As [`Wasi::fd_filestat_get`].
    pub fn unstable_fd_filestat_get(&mut self, fd: u32, out: u32) -> Result {
        self.check(out, 56)?;
        let stat = self.stat_of(fd)?;
        self.store(out, &stat.unstable().0)
    }

    /// `path_filestat_get`.
    ///
    /// # Errors
    /// As [`Wasi::path_filestat_get`].
    pub fn unstable_path_filestat_get(
        &mut self,
        fd: u32,
        flags: u32,
        path: u32,
        len: u32,
        out: u32,
    ) -> Result {
        self.tell_stat_at(fd, flags, (path, len), out, Stat::unstable)
    }

    /// `poll_oneoff`.
    ///
    /// # Errors
    /// As [`Wasi::poll_oneoff`].
    pub fn unstable_poll_oneoff(&mut self, list: u32, events: u32, count: u32, out: u32) -> Result {
        self.poll(Form::Unstable, list, events, count, out)
    }
}
