//! Open files: places, sizes, times, rights.

use super::*;
use crate::abi::{fdflags, fstflags};

const NOTHING: &[u8] = b"";

#[test]
fn a_file_has_a_place() {
    let mut world = world();
    let fd = world.file("f", b"hello, world");
    assert_eq!(world.read(fd, 9).unwrap(), NOTHING);
    assert_eq!(world.seek(fd, 7, 0), Ok(7));
    assert_eq!(world.read(fd, 3).unwrap(), b"wor");
    assert_eq!(world.seek(fd, -2, 1), Ok(8));
    assert_eq!(world.write(fd, b"O"), Ok(1));
    assert_eq!(world.seek(fd, -4, 2), Ok(8));
    assert_eq!(world.read(fd, 99).unwrap(), b"Orld");
    world.wasi.fd_tell(fd, OUT).unwrap();
    assert_eq!(world.u64(OUT), 12);
    // Reads and writes that say where do not move it.
    assert_eq!(world.read_at(fd, 5, 0).unwrap(), b"hello");
    let (list, count) = world.list(&[(DATA + 4, 1)]);
    world.wasi.fd_pwrite(fd, list, count, 14, OUT).unwrap();
    assert_eq!(world.seek(fd, 0, 1), Ok(12));
    assert_eq!(world.read(fd, 99).unwrap(), b"\0\0o");
    // Far beyond the end there is nothing.
    assert_eq!(world.seek(fd, i64::MAX, 0), Ok(i64::MAX as u64));
    assert_eq!(world.read(fd, 1).unwrap(), NOTHING);
}

#[test]
fn places_that_are_none() {
    let mut world = world();
    let fd = world.file("f", b"12345");
    assert_eq!(world.seek(fd, -1, 0), Err(Errno::Inval));
    assert_eq!(world.seek(fd, -6, 1), Err(Errno::Inval));
    assert_eq!(world.seek(fd, -6, 2), Err(Errno::Inval));
    assert_eq!(world.seek(fd, i64::MIN, 2), Err(Errno::Inval));
    assert_eq!(world.seek(fd, i64::MAX, 2), Err(Errno::Inval));
    assert_eq!(world.seek(fd, 0, 3), Err(Errno::Inval));
    assert_eq!(world.seek(fd, 0, 1), Ok(5), "none has moved it");
    assert_eq!(world.read_at(fd, 1, 1 << 63), Err(Errno::Inval));
    assert_eq!(
        world.wasi.fd_seek(fd, 0, 0, MEMORY as u32 - 7),
        Err(Errno::Fault)
    );
    assert_eq!(world.wasi.fd_tell(3, OUT), Err(Errno::Badf));
    assert_eq!(world.seek(77, 0, 0), Err(Errno::Badf));
}

#[test]
fn large_files_go_in_pieces() {
    let mut world = world();
    let large: Vec<u8> = (0..200_000_u32).map(|i| (i % 251) as u8).collect();
    let fd = world.file("f", &large);
    world.seek(fd, 0, 0).unwrap();
    assert_eq!(world.read(fd, 900_000).unwrap(), large);
    // In buffers that lie across the pieces.
    let buffers: Vec<_> = (0..20).map(|i| (DATA + i * 11_000, 10_007)).collect();
    let (list, count) = world.list(&buffers);
    world.wasi.fd_pread(fd, list, count, 100, OUT).unwrap();
    assert_eq!(world.u32(OUT), 199_900);
    let eleventh = world.get(DATA + 10 * 11_000, 10_007);
    assert_eq!(eleventh, large[100_170..][..10_007]);
}

#[test]
fn what_was_written_before_the_disk_was_full_counts() {
    let mut world = world();
    let fd = world.file("f", b"");
    world.files.borrow_mut().room = 70_000;
    let large = vec![1; 200_000];
    assert_eq!(world.write(fd, &large), Ok(70_000));
    assert_eq!(world.seek(fd, 0, 1), Ok(70_000));
    assert_eq!(world.write(fd, &large), Err(Errno::Nospc));
}

#[test]
fn appending_and_syncing() {
    let mut world = world();
    world.file("f", b"one");
    let flags = fdflags::APPEND | fdflags::SYNC;
    let fd = world.open_as(3, "f", 0, RIGHTS, flags).unwrap();
    assert_eq!(world.write(fd, b" two"), Ok(4));
    assert_eq!(world.seek(fd, 0, 1), Ok(7));
    world.seek(fd, 0, 0).unwrap();
    assert_eq!(world.write(fd, b" three"), Ok(6));
    assert_eq!(world.files.borrow().synced, 2);
    assert_eq!(world.read_at(fd, 99, 0).unwrap(), b"one two three");
    // Without the flag, at the place again.
    world.wasi.fd_fdstat_set_flags(fd, 0).unwrap();
    world.seek(fd, 0, 0).unwrap();
    assert_eq!(world.write(fd, b"ONE"), Ok(3));
    assert_eq!(world.read_at(fd, 4, 0).unwrap(), b"ONE ");
    assert_eq!(world.files.borrow().synced, 2);
    world.wasi.fd_sync(fd).unwrap();
    world.wasi.fd_datasync(3).unwrap();
    assert_eq!(world.files.borrow().synced, 4);
}

#[test]
fn sizes() {
    let mut world = world();
    let fd = world.file("f", b"12345");
    world.wasi.fd_filestat_set_size(fd, 2).unwrap();
    assert_eq!(world.read_at(fd, 9, 0).unwrap(), b"12");
    world.wasi.fd_allocate(fd, 1, 1).unwrap();
    assert_eq!(world.read_at(fd, 9, 0).unwrap(), b"12");
    world.wasi.fd_allocate(fd, 2, 2).unwrap();
    assert_eq!(world.read_at(fd, 9, 0).unwrap(), b"12\0\0");
    assert_eq!(world.wasi.fd_allocate(fd, 0, 0), Err(Errno::Inval));
    let most = i64::MAX as u64;
    assert_eq!(world.wasi.fd_allocate(fd, most, 1), Err(Errno::Fbig));
    assert_eq!(
        world.wasi.fd_allocate(fd, u64::MAX, u64::MAX),
        Err(Errno::Inval)
    );
    assert_eq!(
        world.wasi.fd_filestat_set_size(fd, most + 1),
        Err(Errno::Inval)
    );
    assert_eq!(world.wasi.fd_filestat_set_size(fd, most), Err(Errno::Fbig));
    assert_eq!(world.wasi.fd_filestat_set_size(3, 0), Err(Errno::Inval));
    assert_eq!(world.wasi.fd_allocate(3, 0, 1), Err(Errno::Badf));
    assert_eq!(world.wasi.fd_advise(fd, 0, 0, 5), Ok(()));
    assert_eq!(world.wasi.fd_advise(fd, 0, 0, 6), Err(Errno::Inval));
    assert_eq!(world.wasi.fd_advise(3, 0, 0, 0), Err(Errno::Badf));
}

#[test]
fn times() {
    let mut world = world();
    let fd = world.file("f", b"");
    let set = |world: &mut World, a, m, flags: u16| {
        world.wasi.fd_filestat_set_times(fd, a, m, flags.into())?;
        world.wasi.fd_filestat_get(fd, OUT)?;
        Ok((world.u64(OUT + 40), world.u64(OUT + 48)))
    };
    let (atim, mtim) = (fstflags::ATIM, fstflags::MTIM);
    let (anow, mnow) = (fstflags::ATIM_NOW, fstflags::MTIM_NOW);
    let now = 1_000_000_005_000;
    assert_eq!(set(&mut world, 11, 12, 0), Ok((3, 4)));
    assert_eq!(set(&mut world, 11, 12, atim), Ok((11, 4)));
    assert_eq!(set(&mut world, 13, 14, mtim), Ok((11, 14)));
    assert_eq!(set(&mut world, 15, 16, anow), Ok((now, 14)));
    assert_eq!(set(&mut world, 17, 18, atim | mnow), Ok((17, now)));
    assert_eq!(set(&mut world, u64::MAX, 0, atim), Ok((u64::MAX - 1, now)));
    for wrong in [atim | anow, mtim | mnow, 16, u16::MAX] {
        assert_eq!(set(&mut world, 1, 1, wrong), Err(Errno::Inval));
    }
    // By its path, and a link's own.
    world.make_link("l", "f").unwrap();
    for (flags, time) in [(1, 21), (0, 22)] {
        let (path, len) = world.put(PATH, b"l");
        let both = u32::from(atim | mtim);
        world
            .wasi
            .path_filestat_set_times(3, flags, path, len, time, time, both)
            .unwrap();
    }
    world.wasi.fd_filestat_get(fd, OUT).unwrap();
    assert_eq!(world.u64(OUT + 40), 21);
    world.stat("l", 0).unwrap();
    assert_eq!(world.u64(OUT + 40), 22);
}

#[test]
fn a_file_without_the_right_is_not_open_for_it() {
    let mut world = world();
    world.file("f", b"12345");
    let all = rights::FILE & !rights::FD_WRITE & !rights::FD_SEEK;
    let fd = world.open_as(3, "f", 0, rights::FD_READ, 0).unwrap();
    world.wasi.fd_fdstat_set_rights(fd, all, 0).unwrap();
    assert_eq!(world.write(fd, b"x"), Err(Errno::Badf));
    assert_eq!(world.wasi.fd_filestat_set_size(fd, 0), Err(Errno::Inval));
    assert_eq!(world.wasi.fd_allocate(fd, 0, 9), Err(Errno::Badf));
    assert_eq!(world.seek(fd, 1, 0), Err(Errno::Notcapable));
    assert_eq!(world.seek(fd, 0, 1), Ok(0));
    assert_eq!(world.read(fd, 9).unwrap(), b"12345");
    // Its times can be set nevertheless.
    assert_eq!(world.wasi.fd_filestat_set_times(fd, 9, 9, 1), Ok(()));
    let fd = world.open_as(3, "f", 0, rights::FD_WRITE, 0).unwrap();
    assert_eq!(world.read(fd, 1), Err(Errno::Badf));
    assert_eq!(world.write(fd, b"x"), Ok(1));
    // Beyond reading and writing, all is granted that the directory passes on.
    assert_eq!(world.wasi.fd_sync(fd), Ok(()));
    assert_eq!(world.wasi.fd_filestat_get(fd, OUT), Ok(()));
    world
        .wasi
        .fd_fdstat_set_rights(fd, rights::FD_WRITE, 0)
        .unwrap();
    assert_eq!(world.wasi.fd_sync(fd), Err(Errno::Notcapable));
    assert_eq!(world.wasi.fd_filestat_get(fd, OUT), Err(Errno::Notcapable));
}

#[test]
fn who_asks_for_no_rights_can_use_a_directory_and_make_files() {
    let mut world = world();
    world.make_directory("d");
    let directory = world.open_as(3, "d", oflags::DIRECTORY, 0, 0).unwrap();
    let made = world.open_as(directory, "f", oflags::CREAT, 0, 0).unwrap();
    assert_eq!(world.wasi.fd_filestat_get(made, OUT), Ok(()));
    assert_eq!(world.seek(made, 1, 0), Ok(1));
    // It is open neither for reading nor for writing.
    assert_eq!(world.read(made, 1), Err(Errno::Badf));
    assert_eq!(world.write(made, b"x"), Err(Errno::Badf));
    let written = world
        .open_as(directory, "f", 0, rights::FD_WRITE, 0)
        .unwrap();
    assert_eq!(world.write(written, b"x"), Ok(1));
}

#[test]
fn rights_are_given_up_and_never_got() {
    let mut world = world();
    let fd = world.file("f", b"");
    world.wasi.fd_fdstat_get(fd, OUT).unwrap();
    assert_eq!(
        (world.get(OUT, 1)[0], world.u64(OUT + 8)),
        (4, rights::FILE)
    );
    assert_eq!(world.u64(OUT + 16), 0);
    assert_eq!(
        world.wasi.fd_fdstat_set_rights(fd, u64::MAX, 0),
        Err(Errno::Notcapable)
    );
    assert_eq!(
        world.wasi.fd_fdstat_set_rights(fd, rights::FD_READ, 0),
        Ok(())
    );
    assert_eq!(world.write(fd, b"x"), Err(Errno::Badf));
    assert_eq!(
        world.wasi.fd_fdstat_set_rights(fd, rights::FD_WRITE, 0),
        Err(Errno::Notcapable)
    );
    // What a directory does not pass on, nothing opened in it has.
    let inheriting = rights::ALL & !rights::FD_WRITE;
    let base = rights::DIRECTORY & !rights::PATH_CREATE_FILE;
    world
        .wasi
        .fd_fdstat_set_rights(3, base, inheriting)
        .unwrap();
    assert_eq!(world.open("f", 0), Err(Errno::Notcapable));
    let read = rights::FD_READ;
    assert!(world.open_as(3, "f", 0, read, 0).is_ok());
    let made = world.open_as(3, "g", oflags::CREAT, read, 0);
    assert_eq!(made, Err(Errno::Notcapable));
    assert_eq!(world.stat("g", 0), Err(Errno::Noent));
}

#[test]
fn descriptors_are_few_and_the_lowest_is_given() {
    let mut world = world();
    world.file("f", b"");
    for fd in 5..crate::DESCRIPTORS as u32 {
        assert_eq!(world.open("f", 0), Ok(fd));
    }
    assert_eq!(world.open("f", 0), Err(Errno::Mfile));
    // Nothing is made or cut off for a descriptor that there is not.
    assert_eq!(world.open("new", oflags::CREAT), Err(Errno::Mfile));
    assert_eq!(world.stat("new", 0), Err(Errno::Noent));
    for fd in [700, 9, 10] {
        world.wasi.fd_close(fd).unwrap();
    }
    assert_eq!([world.open("f", 0), world.open("f", 0)], [Ok(9), Ok(10)]);
}

#[test]
fn renumbering() {
    let mut world = world();
    let (a, b) = (world.file("a", b"A"), world.file("b", b"B"));
    assert_eq!(world.wasi.fd_renumber(a, a), Ok(()));
    world.wasi.fd_renumber(a, b).unwrap();
    assert_eq!(world.read_at(b, 9, 0).unwrap(), b"A");
    assert_eq!(world.read_at(a, 9, 0), Err(Errno::Badf));
    assert_eq!(world.wasi.fd_renumber(a, b), Err(Errno::Badf));
    assert_eq!(world.wasi.fd_renumber(b, a), Err(Errno::Badf));
    assert_eq!(world.wasi.fd_renumber(b, u32::MAX), Err(Errno::Badf));
    assert_eq!(world.read_at(b, 9, 0).unwrap(), b"A");
}

#[test]
fn the_version_before_counts_and_records_otherwise() {
    let mut world = world();
    let fd = world.file("f", b"12345");
    for (delta, whence, place) in [(4, 2, 4), (-1, 0, 3), (-4, 1, 1)] {
        assert_eq!(world.wasi.unstable_fd_seek(fd, delta, whence, OUT), Ok(()));
        assert_eq!(world.u64(OUT), place);
    }
    let unknown = world.wasi.unstable_fd_seek(fd, 0, 3, OUT);
    assert_eq!(unknown, Err(Errno::Inval));
    world.wasi.fd_filestat_get(fd, DATA).unwrap();
    let (ahead, links, behind) = (
        world.get(DATA, 17),
        world.get(DATA + 24, 4),
        world.get(DATA + 32, 32),
    );
    let record = [ahead, vec![0; 3], links, behind].concat();
    world.put(OUT, &[9; 57]);
    world.wasi.unstable_fd_filestat_get(fd, OUT).unwrap();
    assert_eq!(world.get(OUT, 57), [&record[..], &[9]].concat());
    world.put(OUT, &[9; 57]);
    let (path, len) = world.put(PATH, b"f");
    let found = world.wasi.unstable_path_filestat_get(3, 0, path, len, OUT);
    assert_eq!(found, Ok(()));
    assert_eq!(world.get(OUT, 57), [&record[..], &[9]].concat());
    // A stream has its kind alone.
    world.wasi.unstable_fd_filestat_get(1, OUT).unwrap();
    assert_eq!(world.get(OUT + 8, 20)[8], 2);
    let end = MEMORY as u32 - 55;
    assert_eq!(
        world.wasi.unstable_fd_filestat_get(fd, end),
        Err(Errno::Fault)
    );
}
