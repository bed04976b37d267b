//! A program that is none: its memory, and calls with what lies there.

use alloc::rc::Rc;
use core::cell::RefCell;
use sing_sdk::contracts::PipeContract;
use sing_sdk::fs::Directory;
use sing_sdk::io::{Reader, Writer};
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use wasi_core::Wasi;
use wasi_core::abi::{oflags, rights};
use wasi_core::chance;
use wasi_core::errno::Result;
use wasi_core::sing::{Memory, Sing, Sink};

/// Places in the memory: a path, another one, a list, results, data.
const PATH: u32 = 0x100;
const OTHER: u32 = 0x2000;
pub const LIST: u32 = 0x4000;
pub const OUT: u32 = 0x8000;
pub const DATA: u32 = 0x1_0000;
const SIZE: usize = 512 << 10;

pub struct Bytes(pub Vec<u8>);

impl Memory for Bytes {
    fn size(&self) -> u64 {
        self.0.len() as u64
    }
    fn read(&self, from: u32, out: &mut [u8]) {
        out.copy_from_slice(&self.0[from as usize..][..out.len()]);
    }
    fn write(&mut self, to: u32, bytes: &[u8]) {
        self.0[to as usize..][..bytes.len()].copy_from_slice(bytes);
    }
}

pub struct Program(pub Wasi<Sing<Bytes>>);

/// The other ends of a program's standard input and output.
pub struct Ends {
    pub input: Writer,
    pub output: PipeContract::Exp<PipeContract::Start>,
}

impl Program {
    /// With pipes, and a directory as descriptor 3.
    pub fn new(
        names: Names,
        root: Option<Directory>,
    ) -> core::result::Result<(Program, Ends), Error> {
        let (input, stdin) = PipeContract::new_channel()?;
        let (stdout, output) = PipeContract::new_channel()?;
        let memory = Bytes(vec![0; SIZE]);
        let mut wasi = Wasi::new(
            Sing::new(memory, Some(chance::named(Rc::new(RefCell::new(names))))),
            Vec::new(),
            Vec::new(),
        );
        let full = |_| Error::NoResources;
        wasi.add_source(Reader::new(stdin), false).map_err(full)?;
        wasi.add_sink(Sink::Pipe(Writer::new(stdout)), false)
            .map_err(full)?;
        wasi.add_sink(Sink::Log(Box::new(sing_sdk::io::DebugLog::new())), false)
            .map_err(full)?;
        if let Some(root) = root {
            wasi.add_directory(root, b"/".to_vec()).map_err(full)?;
        }
        let input = Writer::new(input);
        Ok((Program(wasi), Ends { input, output }))
    }

    fn memory(&mut self) -> &mut Vec<u8> {
        &mut self.0.host().memory.0
    }

    pub fn put(&mut self, at: u32, bytes: &[u8]) -> (u32, u32) {
        self.memory()[at as usize..][..bytes.len()].copy_from_slice(bytes);
        (at, bytes.len() as u32)
    }

    pub fn get(&mut self, at: u32, len: usize) -> Vec<u8> {
        self.memory()[at as usize..][..len].to_vec()
    }

    pub fn u32(&mut self, at: u32) -> u32 {
        let mut bytes = [0; 4];
        bytes.copy_from_slice(&self.get(at, 4));
        u32::from_le_bytes(bytes)
    }

    pub fn u64(&mut self, at: u32) -> u64 {
        u64::from(self.u32(at)) | u64::from(self.u32(at + 4)) << 32
    }

    pub fn open_as(&mut self, path: &str, how: u16, base: u64, flags: u16) -> Result<u32> {
        let (path, len) = self.put(PATH, path.as_bytes());
        let (how, flags) = (how.into(), flags.into());
        let all = rights::ALL;
        self.0
            .path_open(3, 1, path, len, how, base, all, flags, OUT)?;
        Ok(self.u32(OUT))
    }

    pub fn open(&mut self, path: &str, how: u16) -> Result<u32> {
        // No directory is opened to be written as a file.
        let without = match how & oflags::DIRECTORY {
            0 => 0,
            _ => rights::FD_WRITE,
        };
        self.open_as(path, how, rights::ALL & !without, 0)
    }

    fn buffer(&mut self, at: u32, len: u32) {
        self.put(LIST, &at.to_le_bytes());
        self.put(LIST + 4, &len.to_le_bytes());
    }

    pub fn write(&mut self, fd: u32, bytes: &[u8]) -> Result<u32> {
        let (at, len) = self.put(DATA, bytes);
        self.buffer(at, len);
        self.0.fd_write(fd, LIST, 1, OUT)?;
        Ok(self.u32(OUT))
    }

    pub fn read(&mut self, fd: u32, len: u32) -> Result<Vec<u8>> {
        self.buffer(DATA, len);
        self.0.fd_read(fd, LIST, 1, OUT)?;
        let count = self.u32(OUT) as usize;
        Ok(self.get(DATA, count))
    }

    pub fn read_at(&mut self, fd: u32, len: u32, offset: u64) -> Result<Vec<u8>> {
        self.buffer(DATA, len);
        self.0.fd_pread(fd, LIST, 1, offset, OUT)?;
        let count = self.u32(OUT) as usize;
        Ok(self.get(DATA, count))
    }

    /// Kind, names and bytes of what a path stands for.
    pub fn stat(&mut self, path: &str, flags: u32) -> Result<(u8, u64, u64)> {
        let (path, len) = self.put(PATH, path.as_bytes());
        self.0.path_filestat_get(3, flags, path, len, OUT)?;
        let kind = self.get(OUT + 16, 1)[0];
        Ok((kind, self.u64(OUT + 24), self.u64(OUT + 32)))
    }

    /// Does something with a path below the directory.
    pub fn on(
        &mut self,
        path: &str,
        what: fn(&mut Wasi<Sing<Bytes>>, u32, u32, u32) -> Result,
    ) -> Result {
        let (path, len) = self.put(PATH, path.as_bytes());
        what(&mut self.0, 3, path, len)
    }

    /// Two paths in memory, as arguments.
    pub fn two(&mut self, first: &str, second: &str) -> (u32, u32, u32, u32) {
        let (a, a_len) = self.put(PATH, first.as_bytes());
        let (b, b_len) = self.put(OTHER, second.as_bytes());
        (a, a_len, b, b_len)
    }

    /// How many names a directory has, read with a buffer of this length.
    pub fn count(&mut self, fd: u32, room: u32) -> Result<usize> {
        let (mut count, mut cookie) = (0, 0);
        loop {
            self.0.fd_readdir(fd, DATA, room, cookie, OUT)?;
            let used = self.u32(OUT);
            let mut at = 0;
            while at + 24 <= used {
                let len = self.u32(DATA + at + 16);
                if at + 24 + len > used {
                    break;
                }
                cookie = self.u64(DATA + at);
                at += 24 + len;
                count += 1;
            }
            if used < room || at == 0 {
                return Ok(count);
            }
        }
    }
}
