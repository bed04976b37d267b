//! Files on a disk in memory.

use crate::checks::{Check, Test};
use crate::program::{OUT, Program};
use crate::stage::Stage;
use sing_sdk::prelude::*;
use wasi_core::Wasi;
use wasi_core::abi::{fdflags, filetype, oflags, rights};
use wasi_core::errno::Errno;

pub const ALL: &[Test] = &[
    ("bytes of a file", bytes),
    ("ways to open and errors", opening),
    ("directories and names", names),
    ("links", links),
    ("listings", listings),
    ("a directory for reading", read_only),
    ("a full disk", full),
];

/// All that must hold, with the number of the first that does not.
pub fn all(holds: &[bool]) -> Check {
    if let Some(wrong) = holds.iter().position(|h| !h) {
        println!("wasitest: number {wrong} of {} does not hold", holds.len());
    }
    Ok(holds.iter().all(|h| *h))
}

/// A program with a disk.
fn program() -> Result<(Program, Stage), Error> {
    let mut stage = Stage::new(8)?;
    let root = stage.root()?;
    let (program, _) = Program::new(crate::stage::connected()?, Some(root))?;
    Ok((program, stage))
}

fn bytes() -> Check {
    let (mut p, _stage) = program()?;
    let text: Vec<u8> = (0..200_000_u32).map(|i| (i % 251) as u8).collect();
    let file = p.open("f", oflags::CREAT).unwrap_or(0);
    let written = p.write(file, &text);
    let whole = p.read_at(file, 300_000, 0);
    let part = p.read_at(file, 10, 199_995);
    let far = p.0.fd_seek(file, 1 << 33, 0, OUT);
    let behind = p.write(file, b"behind");
    let size = p.stat("f", 0);
    let hole = p.read_at(file, 3, 1 << 32);
    let cut = p.0.fd_filestat_set_size(file, 5);
    let grown = p.0.fd_allocate(file, 0, 7);
    let rest = p.read_at(file, 99, 0);
    let append = p.open_as("f", 0, rights::ALL, fdflags::APPEND | fdflags::SYNC);
    let append = append.unwrap_or(0);
    let appended = p.write(append, b"end");
    let place = p.0.fd_tell(append, OUT).map(|()| p.u64(OUT));
    let times =
        p.0.fd_filestat_set_times(file, 1_000_000_000, 2_000_000_000, 5);
    let told = p.0.fd_filestat_get(file, OUT);
    let told = told.map(|()| (p.u64(OUT + 40), p.u64(OUT + 48)));
    all(&[
        file == 4,
        written == Ok(200_000),
        whole.as_deref() == Ok(&text[..]),
        part.as_deref() == Ok(&text[199_995..]),
        far.is_ok() && behind == Ok(6),
        size == Ok((filetype::REGULAR_FILE, 1, (1 << 33) + 6)),
        hole.as_deref() == Ok(&[0; 3]),
        cut.is_ok() && grown.is_ok(),
        rest.as_deref() == Ok(&[0, 1, 2, 3, 4, 0, 0]),
        appended == Ok(3) && place == Ok(10),
        times.is_ok() && told == Ok((1_000_000_000, 2_000_000_000)),
        p.0.fd_sync(file).is_ok() && p.0.fd_datasync(3).is_ok(),
        p.0.fd_close(file).is_ok() && p.read(file, 1) == Err(Errno::Badf),
    ])
}

fn opening() -> Check {
    let (mut p, _stage) = program()?;
    let made = p.on("d", Wasi::path_create_directory);
    let file = p.open("d/f", oflags::CREAT).unwrap_or(0);
    let cut = p.write(file, b"text").and(p.open("d/f", oflags::TRUNC));
    let read = rights::ALL & !rights::FD_WRITE;
    let directory = p.open_as("d", 0, read, 0).unwrap_or(0);
    let (creat, excl) = (oflags::CREAT, oflags::EXCL);
    all(&[
        made.is_ok() && cut.is_ok(),
        p.stat("d/f", 0) == Ok((filetype::REGULAR_FILE, 1, 0)),
        p.open("d/f", creat | excl) == Err(Errno::Exist),
        p.open("d", creat | excl) == Err(Errno::Exist),
        p.open("d/f", oflags::DIRECTORY) == Err(Errno::Notdir),
        p.open("d", 0) == Err(Errno::Isdir),
        p.open("no", 0) == Err(Errno::Noent),
        p.open("d/f/x", 0) == Err(Errno::Notdir),
        p.open("d/f/", 0) == Err(Errno::Notdir),
        p.open("../x", 0) == Err(Errno::Perm),
        p.open("d/../../x", creat) == Err(Errno::Perm),
        p.open("/d/f", 0) == Err(Errno::Perm),
        p.open(&"x".repeat(256), creat) == Err(Errno::Nametoolong),
        p.open("d/./../d/f", 0).is_ok(),
        directory > 4 && p.read(directory, 1) == Err(Errno::Isdir),
        p.stat(".", 0).map(|s| s.0) == Ok(filetype::DIRECTORY),
    ])
}

fn names() -> Check {
    let (mut p, _stage) = program()?;
    let made = ["a", "b"].map(|name| p.on(name, Wasi::path_create_directory));
    let again = p.on("a", Wasi::path_create_directory);
    let file = p.open("a/f", oflags::CREAT).unwrap_or(0);
    let written = p.write(file, b"text");
    let dirs = ["a", "b"].map(|name| p.open(name, oflags::DIRECTORY).unwrap_or(0));
    let [a, b] = dirs;
    let rename = |p: &mut Program, from: (u32, &str), to: (u32, &str)| {
        let (path, len, other, other_len) = p.two(from.1, to.1);
        p.0.path_rename(from.0, path, len, to.0, other, other_len)
    };
    let within = rename(&mut p, (3, "a/f"), (3, "a/g"));
    let across = rename(&mut p, (a, "g"), (b, "h"));
    let into = rename(&mut p, (3, "a"), (3, "a/x"));
    let out = rename(&mut p, (b, "../b/h"), (a, "x"));
    let there = p.stat("b/h", 0);
    let moved = rename(&mut p, (3, "b"), (3, "c"));
    let other = p.on("b", Wasi::path_create_directory);
    let lost = rename(&mut p, (b, "h"), (a, "x"));
    let full = p.on("c", Wasi::path_remove_directory);
    let gone = p.on("c/h", Wasi::path_unlink_file);
    all(&[
        made == [Ok(()); 2] && again == Err(Errno::Exist),
        written == Ok(4),
        within.is_ok() && across.is_ok(),
        into == Err(Errno::Loop) || into == Err(Errno::Inval),
        out == Err(Errno::Perm),
        there == Ok((filetype::REGULAR_FILE, 1, 4)),
        moved.is_ok() && other.is_ok() && lost == Err(Errno::Xdev),
        full == Err(Errno::Notempty) && gone.is_ok(),
        p.on("c", Wasi::path_unlink_file) == Err(Errno::Isdir),
        p.on("c", Wasi::path_remove_directory).is_ok(),
        p.on("c", Wasi::path_remove_directory) == Err(Errno::Noent),
        p.on(".", Wasi::path_remove_directory) == Err(Errno::Inval),
        // What is open is there as before.
        p.read_at(file, 9, 0).as_deref() == Ok(b"text"),
    ])
}

fn links() -> Check {
    let (mut p, _stage) = program()?;
    let file = p.open("f", oflags::CREAT).unwrap_or(0);
    let written = p.write(file, b"text");
    let link = |p: &mut Program, text: &str, path: &str| {
        let (target, target_len, path, len) = p.two(text, path);
        p.0.path_symlink(target, target_len, 3, path, len)
    };
    let made = [("f", "l"), ("../x", "out"), ("o", "o"), ("no", "to")];
    let made = made.map(|(text, path)| link(&mut p, text, path).is_ok());
    let absolute = link(&mut p, "/etc", "abs");
    let (path, len, other, other_len) = p.two("f", "g");
    let hard = p.0.path_link(3, 0, path, len, 3, other, other_len);
    let (path, len, ..) = p.two("out", "");
    let text =
        p.0.path_readlink(3, path, len, crate::program::DATA, 3, OUT);
    let text = text.map(|()| p.u32(OUT) as usize);
    let text = text.map(|count| p.get(crate::program::DATA, count));
    let (path, len, ..) = p.two("l", "");
    let all_rights = rights::ALL;
    let not_followed =
        p.0.path_open(3, 0, path, len, 0, all_rights, all_rights, 0, OUT);
    all(&[
        written == Ok(4) && made == [true; 4],
        absolute == Err(Errno::Perm),
        hard.is_ok() && p.stat("g", 0) == Ok((filetype::REGULAR_FILE, 2, 4)),
        text.as_deref() == Ok(b"../"),
        not_followed == Err(Errno::Loop),
        p.stat("l", 1) == Ok((filetype::REGULAR_FILE, 2, 4)),
        p.stat("l", 0) == Ok((filetype::SYMBOLIC_LINK, 1, 1)),
        p.open("out", 0) == Err(Errno::Perm),
        p.open("o", 0) == Err(Errno::Loop),
        p.stat("to", 1) == Err(Errno::Noent),
        p.on("l", Wasi::path_unlink_file).is_ok(),
        p.stat("f", 0) == Ok((filetype::REGULAR_FILE, 2, 4)),
    ])
}

fn listings() -> Check {
    let (mut p, _stage) = program()?;
    for number in 0..150 {
        let made = p.open(&format!("a rather long name {number}"), oflags::CREAT);
        if made.and_then(|fd| p.0.fd_close(fd)).is_err() {
            return Ok(false);
        }
    }
    let counts = [64, 100, 1000, 4096, 65_536].map(|room| p.count(3, room));
    let file = p.open("a rather long name 1", 0).unwrap_or(0);
    all(&[
        counts == [Ok(152); 5],
        p.count(file, 100) == Err(Errno::Notdir),
        p.count(0, 100) == Err(Errno::Notdir),
    ])
}

fn read_only() -> Check {
    let (mut p, mut stage) = program()?;
    let made = p.on("d", Wasi::path_create_directory);
    let file = p.open("d/f", oflags::CREAT).unwrap_or(0);
    let written = p.write(file, b"text");
    let root = stage.root()?.open_directory_to_read("")?;
    let (mut p, _) = Program::new(crate::stage::connected()?, Some(root))?;
    let read = rights::ALL & !rights::FD_WRITE;
    let file = p.open_as("d/f", oflags::CREAT, read, 0).unwrap_or(0);
    all(&[
        made.is_ok() && written == Ok(4),
        p.read(file, 9).as_deref() == Ok(b"text"),
        p.open("d/f", 0) == Err(Errno::Rofs),
        p.open_as("d/f", oflags::TRUNC, read, 0) == Err(Errno::Rofs),
        p.open_as("new", oflags::CREAT, read, 0) == Err(Errno::Rofs),
        p.on("d/f", Wasi::path_unlink_file) == Err(Errno::Rofs),
        p.0.fd_sync(file).is_ok() && p.0.fd_sync(3).is_ok(),
        p.0.fd_filestat_set_times(file, 1, 1, 1) == Err(Errno::Rofs),
        p.open("d", oflags::DIRECTORY).is_ok(),
        p.count(3, 100) == Ok(3),
    ])
}

fn full() -> Check {
    let (mut p, _stage) = program()?;
    let file = p.open("f", oflags::CREAT).unwrap_or(0);
    let piece = vec![1; 300_000];
    let (mut total, mut last) = (0, p.write(file, &piece));
    while let Ok(count) = last {
        total += u64::from(count);
        last = p.write(file, &piece);
    }
    all(&[
        last == Err(Errno::Nospc),
        total > 4 << 20 && p.stat("f", 0).map(|s| s.2) == Ok(total),
    ])
}
