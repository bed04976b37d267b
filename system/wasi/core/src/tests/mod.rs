//! The calls, on a host in memory: what they do, and the errors that programs get.

mod component_http;
mod component_requests;
mod component_sockets;
mod component_udp;
mod components;
mod disk;
mod fake;
mod fake_net;
mod files;
mod http_common;
mod paths;
mod sockets;
mod sockets_common;
mod streams;
mod waiting;

use crate::Wasi;
use crate::abi::{oflags, rights};
use crate::errno::{Errno, Result};
use disk::{Directory, Shared};
use fake::{Fake, Sink, Source};
use std::collections::VecDeque;
use std::rc::Rc;
use std::vec;
use std::vec::Vec;

/// The program's memory, and places in it: for a path, another one, a list, results, data.
const MEMORY: usize = 1 << 20;
const PATH: u32 = 0x100;
const OTHER: u32 = 0x2000;
const LIST: u32 = 0x4000;
const OUT: u32 = 0x8000;
const DATA: u32 = 0x10000;

const RIGHTS: u64 = rights::ALL;

/// A program with the standard streams and one directory, which is descriptor 3.
struct World {
    wasi: Wasi<Fake>,
    files: Shared,
    input: Source,
    output: Sink,
}

fn world() -> World {
    let fake = Fake {
        memory: vec![0; MEMORY],
        now: 5000,
        happens: VecDeque::new(),
        comes: None,
        waits: 0,
        asked: 0,
        source: true,
        net: None,
        next_room: 0x40000,
        lies: None,
    };
    let words = |all: &[&str]| all.iter().map(|word| word.as_bytes().to_vec()).collect();
    let (files, input, output) = (disk::files(), Source::default(), Sink::default());
    let mut wasi = Wasi::new(fake, words(&["prog", "", "ä"]), words(&["A=B"]));
    wasi.add_source(input.clone(), false).unwrap();
    wasi.add_sink(output.clone(), true).unwrap();
    wasi.add_sink(Sink::default(), false).unwrap();
    let root = Directory {
        files: Rc::clone(&files),
        id: 0,
    };
    assert_eq!(wasi.add_directory(root, b"/".to_vec()), Ok(3));
    World {
        wasi,
        files,
        input,
        output,
    }
}

impl World {
    fn put(&mut self, at: u32, bytes: &[u8]) -> (u32, u32) {
        self.wasi.host().memory[at as usize..][..bytes.len()].copy_from_slice(bytes);
        (at, bytes.len() as u32)
    }

    fn get(&mut self, at: u32, len: usize) -> Vec<u8> {
        self.wasi.host().memory[at as usize..][..len].to_vec()
    }

    fn u32(&mut self, at: u32) -> u32 {
        u32::from_le_bytes(self.get(at, 4).try_into().unwrap())
    }

    fn u64(&mut self, at: u32) -> u64 {
        u64::from_le_bytes(self.get(at, 8).try_into().unwrap())
    }

    /// A list of buffers.
    fn list(&mut self, buffers: &[(u32, u32)]) -> (u32, u32) {
        for (number, (at, len)) in (0..).zip(buffers) {
            self.put(LIST + number * 8, &at.to_le_bytes());
            self.put(LIST + number * 8 + 4, &len.to_le_bytes());
        }
        (LIST, buffers.len() as u32)
    }

    fn open_as(&mut self, fd: u32, path: &str, how: u16, base: u64, flags: u16) -> Result<u32> {
        let (path, len) = self.put(PATH, path.as_bytes());
        self.wasi.path_open(
            fd,
            1,
            path,
            len,
            how.into(),
            base,
            RIGHTS,
            flags.into(),
            OUT,
        )?;
        Ok(self.u32(OUT))
    }

    fn open(&mut self, path: &str, how: u16) -> Result<u32> {
        // No directory is opened to be written as a file.
        let without = match how & oflags::DIRECTORY {
            0 => 0,
            _ => rights::FD_WRITE,
        };
        self.open_as(3, path, how, RIGHTS & !without, 0)
    }

    /// A file with this in it.
    fn file(&mut self, path: &str, bytes: &[u8]) -> u32 {
        let fd = self.open(path, oflags::CREAT).unwrap();
        assert_eq!(self.write(fd, bytes), Ok(bytes.len() as u32));
        fd
    }

    fn make_directory(&mut self, path: &str) {
        let (path, len) = self.put(PATH, path.as_bytes());
        self.wasi.path_create_directory(3, path, len).unwrap();
    }

    fn make_link(&mut self, path: &str, target: &str) -> Result {
        let (path, len) = self.put(PATH, path.as_bytes());
        let (target, target_len) = self.put(OTHER, target.as_bytes());
        self.wasi.path_symlink(target, target_len, 3, path, len)
    }

    fn write(&mut self, fd: u32, bytes: &[u8]) -> Result<u32> {
        let buffer = self.put(DATA, bytes);
        let (list, count) = self.list(&[buffer]);
        self.wasi.fd_write(fd, list, count, OUT)?;
        Ok(self.u32(OUT))
    }

    fn read(&mut self, fd: u32, len: u32) -> Result<Vec<u8>> {
        let (list, count) = self.list(&[(DATA, len)]);
        self.wasi.fd_read(fd, list, count, OUT)?;
        let count = self.u32(OUT) as usize;
        Ok(self.get(DATA, count))
    }

    fn read_at(&mut self, fd: u32, len: u32, offset: u64) -> Result<Vec<u8>> {
        let (list, count) = self.list(&[(DATA, len)]);
        self.wasi.fd_pread(fd, list, count, offset, OUT)?;
        let count = self.u32(OUT) as usize;
        Ok(self.get(DATA, count))
    }

    fn seek(&mut self, fd: u32, delta: i64, whence: u32) -> Result<u64> {
        self.wasi.fd_seek(fd, delta, whence, OUT)?;
        Ok(self.u64(OUT))
    }

    fn stat(&mut self, path: &str, flags: u32) -> Result<(u64, u8, u64, u64)> {
        let (path, len) = self.put(PATH, path.as_bytes());
        self.wasi.path_filestat_get(3, flags, path, len, OUT)?;
        let kind = self.get(OUT + 16, 1)[0];
        Ok((
            self.u64(OUT + 8),
            kind,
            self.u64(OUT + 24),
            self.u64(OUT + 32),
        ))
    }

    /// All names of a directory, read with a buffer of this length.
    fn names(&mut self, fd: u32, room: u32) -> Result<Vec<(Vec<u8>, u8)>> {
        let (mut names, mut cookie) = (Vec::new(), 0);
        loop {
            self.wasi.fd_readdir(fd, DATA, room, cookie, OUT)?;
            let used = self.u32(OUT);
            let mut at = 0;
            while at + 24 <= used {
                let len = self.u32(DATA + at + 16);
                if at + 24 + len > used {
                    break;
                }
                let name = self.get(DATA + at + 24, len as usize);
                names.push((name, self.get(DATA + at + 20, 1)[0]));
                cookie = self.u64(DATA + at);
                at += 24 + len;
            }
            if used < room {
                return Ok(names);
            }
            assert!(at > 0, "a buffer without room for one entry");
        }
    }
}

#[test]
fn arguments_and_environment() {
    let mut world = world();
    world.wasi.args_sizes_get(OUT, OUT + 4).unwrap();
    assert_eq!((world.u32(OUT), world.u32(OUT + 4)), (3, 5 + 1 + 3));
    world.wasi.args_get(OUT, DATA).unwrap();
    assert_eq!(world.get(DATA, 9), "prog\0\0ä\0".as_bytes());
    let pointers = [0, 4, 8].map(|at| world.u32(OUT + at));
    assert_eq!(pointers, [DATA, DATA + 5, DATA + 6]);
    world.wasi.environ_sizes_get(OUT, OUT + 4).unwrap();
    assert_eq!((world.u32(OUT), world.u32(OUT + 4)), (1, 4));
    world.wasi.environ_get(OUT, DATA).unwrap();
    assert_eq!(world.get(DATA, 4), b"A=B\0");
    // To the last byte, and not one further.
    let end = MEMORY as u32;
    assert_eq!(world.wasi.args_get(OUT, end - 9), Ok(()));
    assert_eq!(world.wasi.args_get(OUT, end - 8), Err(Errno::Fault));
    assert_eq!(world.wasi.args_get(end - 11, DATA), Err(Errno::Fault));
    assert_eq!(world.wasi.args_sizes_get(end - 3, OUT), Err(Errno::Fault));
    assert_eq!(world.wasi.args_sizes_get(OUT, u32::MAX), Err(Errno::Fault));
}

#[test]
fn clocks() {
    let mut world = world();
    world.wasi.clock_time_get(1, 0, OUT).unwrap();
    assert_eq!(world.u64(OUT), 5000);
    world.wasi.clock_time_get(0, 0, OUT).unwrap();
    assert_eq!(world.u64(OUT), 1_000_000_005_000);
    world.wasi.clock_res_get(0, OUT).unwrap();
    assert_eq!(world.u64(OUT), 1);
    for (clock, errno) in [(2, Errno::Badf), (3, Errno::Badf), (4, Errno::Inval)] {
        assert_eq!(world.wasi.clock_time_get(clock, 0, OUT), Err(errno));
        assert_eq!(world.wasi.clock_res_get(clock, OUT), Err(errno));
    }
    let end = MEMORY as u32 - 7;
    assert_eq!(world.wasi.clock_time_get(1, 0, end), Err(Errno::Fault));
}

#[test]
fn random_bytes_are_given_once_and_asked_for_in_pieces() {
    let mut world = world();
    world.wasi.random_get(DATA, 1000).unwrap();
    assert_eq!(world.wasi.host().asked, 4);
    assert!(world.get(DATA, 1000).iter().all(|byte| *byte != 0));
    assert_eq!(world.get(DATA + 1000, 1), [0]);
    world.wasi.random_get(DATA, 24).unwrap();
    assert_eq!(world.wasi.host().asked, 4, "what was left");
    assert_eq!(world.wasi.random_get(MEMORY as u32, 0), Ok(()));
    assert_eq!(world.wasi.random_get(MEMORY as u32, 1), Err(Errno::Fault));
    world.wasi.host().source = false;
    assert_eq!(world.wasi.random_get(DATA, 1), Err(Errno::Io));
}

#[test]
fn what_there_is_not() {
    let mut world = world();
    assert_eq!(world.wasi.proc_raise(6), Err(Errno::Notsup));
    assert_eq!(world.wasi.sched_yield(), Ok(()));
    assert_eq!(crate::errno::number(Ok(())), 0);
    assert_eq!(crate::errno::number(Err(Errno::Notcapable)), 76);
}
