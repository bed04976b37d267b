//! An ordinary program that calls the functions of WASI preview 1 with drawn arguments, for the fuzzer of that
//! border: `border SEED STEPS [wild]`. It has one directory, descriptor 3. What each call has given is a line of
//! standard output; the same lines come of every host that does the same.
//!
//! Where it is wild, flags are none, and addresses lie at the end of its memory, where a page is kept for that, or behind
//! it: hosts may end a program for that, and wasmtime does. All others lie in a buffer of its own: no call can write over
//! what the program itself needs.

#[path = "border/drawn.rs"]
mod drawn;
#[path = "border/random.rs"]
mod random;
#[path = "border/wasi.rs"]
mod wasi;

use random::Random;
use std::arch::wasm32::memory_grow;
use std::fmt::Write as _;
use wasi::*;

const PAGE: u32 = 64 << 10;
/// Where results go in the buffer, where lists do, and where the data of lists.
const RESULT: u32 = 0;
const LISTS: u32 = 256;
const DATA: u32 = 16 << 10;
/// Descriptors beside those that were opened.
const OTHERS: [u32; 8] = [3, 3, 3, 4, 5, 9, 1000, u32::MAX];
const NAMES: [&[u8]; 22] = [
    b"a", b"b", b"c", b"a", b"b", b"file", b"dir", b"inner", b"deep", b"link", b"dirlink", b"out",
    b"abs", b"loop", b"..", b"..", b".", b"", b"nul\0x", b"\xff\xfe", b"secret", b"up",
];

struct Border {
    random: Random,
    wild: bool,
    buffer: &'static mut [u8],
    at: u32,
    /// Descriptors that were opened, and perhaps closed.
    opened: Vec<u32>,
    said: String,
}

impl Border {
    /// One call; a line of it.
    fn step(&mut self, number: u32) {
        self.buffer[..LISTS as usize].fill(0);
        let _ = write!(self.said, "{number}");
        let which = self.random.below(52);
        let (errno, what) = self.call(which);
        let _ = writeln!(self.said, " = {errno} {what}");
    }

    fn name(&mut self, name: &str, fd: u32) {
        let _ = write!(self.said, " {name} {}", fd as i32);
    }

    fn call(&mut self, which: u32) -> (u32, String) {
        let none = String::new;
        match which {
            0..12 => {
                let fd = self.directory();
                self.name("path_open", fd);
                let (at, len) = self.path(DATA);
                let follow = self.flags(&[0, 1, 1, 1], &[2, u32::MAX]);
                let how = self.flags(&[0, 0, 1, 1, 1, 2, 5, 8, 9, 3, 12, 13], &[16, 0xffff]);
                // wasmtime looks at no rights.
                let rights = match self.wild(2) {
                    true => self.random.of(&[2, 64, 66, 0x1fff_ffff, 0, u64::MAX]),
                    false => 0x1fff_ffff,
                };
                let flags = self.flags(&[0, 0, 0, 0, 1, 4, 5], &[2, 8, 16, 18, 31, 32, 0xffff]);
                let to = self.to();
                let _ = write!(self.said, " ({follow} {how} {rights:x} {flags})");
                // SAFETY: where it writes is of no use to anybody else.
                let errno =
                    unsafe { path_open(fd, follow, at, len, how, rights, rights, flags, to) };
                let fd = self.u32_at(to, 0);
                if errno == 0 && self.is_mine(to) {
                    self.opened.push(fd);
                }
                (errno, format!("{fd}"))
            }
            12..14 => {
                let fd = self.fd();
                self.name("fd_close", fd);
                // The directory that everything is in stays.
                let fd = if fd == 3 { 77 } else { fd };
                // SAFETY: no memory is named.
                (unsafe { fd_close(fd) }, none())
            }
            14..18 => {
                let fd = self.fd();
                self.name("fd_read", fd);
                self.fill();
                let ((list, count), to) = (self.list(), self.to());
                // SAFETY: as above.
                let errno = unsafe { fd_read(fd, list, count, to) };
                (errno, format!("{} {}", self.u32_at(to, 0), self.has_read()))
            }
            18..20 => {
                let (fd, offset) = (self.fd(), self.offset());
                self.name("fd_pread", fd);
                self.fill();
                let ((list, count), to) = (self.list(), self.to());
                let _ = write!(self.said, " ({offset})");
                // SAFETY: as above.
                let errno = unsafe { fd_pread(fd, list, count, offset, to) };
                (errno, format!("{} {}", self.u32_at(to, 0), self.has_read()))
            }
            20..24 => {
                let fd = self.fd();
                self.name("fd_write", fd);
                self.fill();
                let ((list, count), to) = (self.list(), self.to());
                let first = u32::from_le_bytes(self.read(LISTS + 4));
                // SAFETY: as above.
                let known = unsafe { fd_fdstat_get(fd, self.at + 128) };
                // Nothing that is appended moves wasmtime to the end, and Linux nowhere.
                let appends = known == 0 && self.buffer[130] & 1 != 0;
                if !self.wild && appends && (count == 0 || first == 0) {
                    return (0, none());
                }
                // SAFETY: as above.
                let errno = unsafe { fd_write(fd, list, count, to) };
                (errno, format!("{}", self.u32_at(to, 0)))
            }
            24..26 => {
                let (fd, offset) = (self.fd(), self.offset());
                self.name("fd_pwrite", fd);
                self.fill();
                let ((list, count), to) = (self.list(), self.to());
                // A file of no size that a disk could have is no test of this border.
                let offset = match offset > 1 << 62 {
                    true if self.wild => offset | 1 << 63,
                    true => 20_000,
                    false => offset,
                };
                let _ = write!(self.said, " ({offset})");
                // SAFETY: as above.
                let known = unsafe { fd_fdstat_get(fd, self.at + 128) };
                // Where that writes which appends is the host's: Linux at the end, POSIX at the offset.
                if !self.wild && known == 0 && self.buffer[130] & 1 != 0 {
                    return (0, none());
                }
                // SAFETY: as above.
                let errno = unsafe { fd_pwrite(fd, list, count, offset, to) };
                (errno, format!("{}", self.u32_at(to, 0)))
            }
            26..28 => {
                let (fd, offset) = (self.fd(), self.offset());
                self.name("fd_seek", fd);
                let whence = self.flags(&[0, 0, 1, 2], &[3, 255]);
                // Beyond all places wasmtime comes round.
                let offset = match whence {
                    1 | 2 if !self.wild => offset % 30_000,
                    _ => offset,
                };
                let to = self.to();
                let _ = write!(self.said, " ({} {whence})", offset as i64);
                // SAFETY: as above.
                let errno = unsafe { fd_seek(fd, offset as i64, whence, to) };
                (errno, format!("{}", self.u64_at(to, 0)))
            }
            28 => {
                let (fd, to) = (self.fd(), self.to());
                self.name("fd_tell", fd);
                // SAFETY: as above.
                let errno = unsafe { fd_tell(fd, to) };
                (errno, format!("{}", self.u64_at(to, 0)))
            }
            29 => {
                let (fd, to) = (self.fd(), self.to());
                self.name("fd_fdstat_get", fd);
                // SAFETY: as above.
                let errno = unsafe { fd_fdstat_get(fd, to) };
                let word = self.u32_at(to, 0);
                (errno, format!("kind {} flags {}", word & 0xff, word >> 16))
            }
            30 => {
                let fd = self.fd();
                self.name("fd_fdstat_set_flags", fd);
                let flags = self.flags(&[0, 1, 4, 5], &[32, 0xffff]);
                let _ = write!(self.said, " ({flags})");
                // SAFETY: as above.
                let known = unsafe { fd_fdstat_get(fd, self.at + 128) };
                // wasmtime sets none of a directory's, Linux does.
                if !self.wild && known == 0 && self.buffer[128] == 3 {
                    return (0, none());
                }
                // SAFETY: as above.
                (unsafe { fd_fdstat_set_flags(fd, flags) }, none())
            }
            31..33 => {
                let (fd, to) = (self.fd(), self.to());
                self.name("fd_filestat_get", fd);
                // SAFETY: as above.
                (unsafe { fd_filestat_get(fd, to) }, self.stat(to))
            }
            33 => {
                let fd = self.fd();
                self.name("fd_filestat_set_size", fd);
                let size = match self.offset() {
                    size if size > 1 << 62 => size | 1 << 63,
                    size => size,
                };
                let _ = write!(self.said, " ({size})");
                // SAFETY: as above.
                (unsafe { fd_filestat_set_size(fd, size) }, none())
            }
            34 => {
                let fd = self.fd();
                let (access, modified, flags) = self.times();
                self.name("fd_filestat_set_times", fd);
                let _ = write!(self.said, " ({flags})");
                // SAFETY: as above.
                (unsafe { fd_filestat_set_times(fd, access, modified, flags) }, none())
            }
            35 => {
                let fd = self.fd();
                let (offset, len) = (self.offset(), self.offset());
                match self.random.below(5) {
                    0 => {
                        self.name("fd_advise", fd);
                        let advice = self.flags(&[0, 1, 2, 3, 4, 5], &[6, 255]);
                        let _ = write!(self.said, " ({offset} {len} {advice})");
                        // SAFETY: as above.
                        (unsafe { fd_advise(fd, offset, len, advice) }, none())
                    }
                    // wasmtime allocates nothing.
                    1 if self.wild => {
                        self.name("fd_allocate", fd);
                        // SAFETY: as above.
                        (unsafe { fd_allocate(fd, offset, len) }, none())
                    }
                    2 => {
                        self.name("fd_sync", fd);
                        // SAFETY: as above.
                        (unsafe { fd_sync(fd) }, none())
                    }
                    3 => {
                        self.name("fd_datasync", fd);
                        // SAFETY: as above.
                        (unsafe { fd_datasync(fd) }, none())
                    }
                    _ => {
                        let (from, to) = (fd, self.fd());
                        // Neither is the directory.
                        let [from, to] = [from, to].map(|fd| if fd == 3 { 78 } else { fd });
                        self.name("fd_renumber", from);
                        let _ = write!(self.said, " {}", to as i32);
                        // SAFETY: as above.
                        (unsafe { fd_renumber(from, to) }, none())
                    }
                }
            }
            36 => {
                let (fd, to) = (self.fd(), self.to());
                self.name("fd_prestat", fd);
                let len = self.random.of(&[0, 1, 5, 4, 100]);
                // SAFETY: as above.
                let first = unsafe { fd_prestat_get(fd, to) };
                let size = self.u32_at(to, 4);
                // SAFETY: as above.
                let second = unsafe { fd_prestat_dir_name(fd, self.at + DATA, len) };
                (first, format!("{size}, {len} {second}"))
            }
            37 => {
                let (fd, to) = (self.fd(), self.to());
                self.name("fd_readdir", fd);
                let len = self.random.of(&[0, 1, 24, 40_000, 40_000, 40_000]);
                // What no listing has given is a place of the host's own.
                let cookie = match self.wild(3) {
                    true => self.random.of(&[u64::MAX, 1 << 40, 3]),
                    false => self.random.of(&[0, 0, 1, 2]),
                };
                let at = if self.wild(20) { self.edge() } else { self.at + DATA };
                let _ = write!(self.said, " ({len} {cookie})");
                // SAFETY: as above.
                let errno = unsafe { fd_readdir(fd, at, len, cookie, to) };
                (errno, format!("{}", self.u32_at(to, 0)))
            }
            38..40 => {
                let fd = self.directory();
                self.name("path_create_directory", fd);
                let (at, len) = self.path(DATA);
                // SAFETY: as above.
                (unsafe { path_create_directory(fd, at, len) }, none())
            }
            40..42 => {
                let fd = self.directory();
                self.name("path_filestat_get", fd);
                let ((at, len), to) = (self.path(DATA), self.to());
                let flags = self.flags(&[0, 1, 1], &[2]);
                let _ = write!(self.said, " ({flags})");
                // SAFETY: as above.
                let errno = unsafe { path_filestat_get(fd, flags, at, len, to) };
                (errno, self.stat(to))
            }
            42 => {
                let fd = self.directory();
                self.name("path_filestat_set_times", fd);
                let (at, len) = self.path(DATA);
                let flags = self.random.of(&[0, 1, 1]);
                let (access, modified, which) = self.times();
                let _ = write!(self.said, " ({flags} {which})");
                // SAFETY: as above.
                let errno = unsafe {
                    path_filestat_set_times(fd, flags, at, len, access, modified, which)
                };
                (errno, none())
            }
            43 => {
                let fd = self.directory();
                self.name("path_link", fd);
                let (at, len) = self.path(DATA);
                let new = self.directory();
                let (new_at, new_len) = self.path(DATA + (16 << 10));
                let flags = self.flags(&[0, 0, 0, 1], &[2]);
                let _ = write!(self.said, " ({flags} {})", new as i32);
                // SAFETY: as above.
                (unsafe { path_link(fd, flags, at, len, new, new_at, new_len) }, none())
            }
            44 => {
                let fd = self.directory();
                self.name("path_readlink", fd);
                let ((at, len), to) = (self.path(DATA), self.to());
                let room = self.random.of(&[0, 1, 5, 4000, 4000]);
                let buffer = self.at + DATA + (16 << 10);
                let _ = write!(self.said, " ({room})");
                // SAFETY: as above.
                let errno = unsafe { path_readlink(fd, at, len, buffer, room, to) };
                let used = if errno == 0 { self.u32_at(to, 0).min(60) } else { 0 };
                let text = &self.buffer[(DATA + (16 << 10)) as usize..][..used as usize];
                (errno, String::from_utf8_lossy(text).escape_debug().to_string())
            }
            45 => {
                let fd = self.directory();
                self.name("path_remove_directory", fd);
                let (at, len) = self.path(DATA);
                // SAFETY: as above.
                (unsafe { path_remove_directory(fd, at, len) }, none())
            }
            46..48 => {
                let fd = self.directory();
                self.name("path_rename", fd);
                let (at, len) = self.path(DATA);
                let new = self.directory();
                let (new_at, new_len) = self.path(DATA + (16 << 10));
                let _ = write!(self.said, " ({})", new as i32);
                // SAFETY: as above.
                (unsafe { path_rename(fd, at, len, new, new_at, new_len) }, none())
            }
            48 => {
                let (target, target_len) = self.path(DATA);
                let fd = self.directory();
                self.name("path_symlink", fd);
                let (at, len) = self.path(DATA + (16 << 10));
                // SAFETY: as above.
                (unsafe { path_symlink(target, target_len, fd, at, len) }, none())
            }
            49..51 => {
                let fd = self.directory();
                self.name("path_unlink_file", fd);
                let (at, len) = self.path(DATA);
                // SAFETY: as above.
                (unsafe { path_unlink_file(fd, at, len) }, none())
            }
            _ => self.rest(),
        }
    }

    /// What has no descriptor, or none that it is for.
    fn rest(&mut self) -> (u32, String) {
        let none = String::new;
        let to = self.to();
        match self.random.below(9) {
            0 => {
                self.name("args", 0);
                // SAFETY: as above.
                let sizes = unsafe { args_sizes_get(to, self.at + 16) };
                // SAFETY: as above.
                (sizes, format!("{}", unsafe { args_get(self.at + LISTS, self.at + DATA) }))
            }
            1 => {
                self.name("environ", 0);
                // SAFETY: as above.
                let sizes = unsafe { environ_sizes_get(to, self.at + 16) };
                let count = self.u32_at(to, 0);
                // SAFETY: as above.
                let got = unsafe { environ_get(self.at + LISTS, self.at + DATA) };
                (sizes, format!("{count} {got}"))
            }
            2 => {
                let clock = self.flags(&[0, 1, 2, 3], &[4, 99, u32::MAX]);
                self.name("clock_time_get", clock);
                // SAFETY: as above.
                (unsafe { clock_time_get(clock, 0, to) }, none())
            }
            3 => {
                let clock = self.flags(&[0, 1, 2, 3], &[4, 99, u32::MAX]);
                self.name("clock_res_get", clock);
                // SAFETY: as above.
                (unsafe { clock_res_get(clock, to) }, none())
            }
            4 => {
                self.name("random_get", 0);
                let at = if self.wild(3) { self.edge() } else { self.at + DATA };
                let len = self.random.of(&[0, 1, 100, 20_000]);
                let _ = write!(self.said, " ({len})");
                // SAFETY: as above.
                (unsafe { random_get(at, len) }, none())
            }
            5 => {
                self.name("sched_yield", 0);
                // SAFETY: as above.
                (unsafe { sched_yield() }, none())
            }
            6 => {
                self.name("poll_oneoff", 0);
                // A clock that is over at once, which is asked for once or never.
                let count = self.random.of(&[0, 1, 1]);
                self.buffer[LISTS as usize..][..48].fill(0);
                let at = if self.wild(4) { self.edge() } else { self.at + LISTS };
                let _ = write!(self.said, " ({count})");
                // SAFETY: as above.
                (unsafe { poll_oneoff(at, self.at + DATA, count, to) }, none())
            }
            7 => {
                let fd = self.fd();
                self.name("sock_accept", fd);
                // SAFETY: as above.
                (unsafe { sock_accept(fd, 0, to) }, none())
            }
            _ => {
                let fd = self.fd();
                self.name("sock", fd);
                let (list, count) = self.list();
                let how = self.flags(&[1, 2, 3], &[0, 4, 255]);
                // SAFETY: as above.
                let received = unsafe { sock_recv(fd, list, count, 0, self.at, self.at + 8) };
                // SAFETY: as above.
                let sent = unsafe { sock_send(fd, list, count, 0, self.at) };
                // SAFETY: as above.
                (unsafe { sock_shutdown(fd, how) }, format!("{received} {sent}"))
            }
        }
    }
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let number = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok());
    let (Some(seed), Some(steps)) = (number(1), number(2)) else {
        panic!("usage: border SEED STEPS [wild]");
    };
    let wild = words.get(3).is_some_and(|word| word == "wild");
    // All memory that it needs, before the page at the end of its memory.
    let said = String::with_capacity(512 << 10);
    let opened = Vec::with_capacity(4096);
    drop(Vec::<u8>::with_capacity(64 << 10));
    let buffer = vec![0; PAGE as usize].leak();
    let at = buffer.as_ptr() as u32;
    assert_ne!(memory_grow(0, 1), usize::MAX, "a page for the edges");
    let mut border = Border {
        random: Random(seed),
        wild,
        buffer,
        at,
        opened,
        said,
    };
    for number in 0..steps as u32 {
        border.step(number);
    }
    print!("{}", border.said);
}
