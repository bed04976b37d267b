//! Directories and paths in them.

use super::*;
use crate::abi::filetype;
use std::format;

#[test]
fn preopens() {
    let mut world = world();
    world.wasi.fd_prestat_get(3, OUT).unwrap();
    assert_eq!((world.u32(OUT), world.u32(OUT + 4)), (0, 1));
    world.wasi.fd_prestat_dir_name(3, DATA, 1).unwrap();
    assert_eq!(world.get(DATA, 2), b"/\0");
    assert_eq!(
        world.wasi.fd_prestat_dir_name(3, DATA, 0),
        Err(Errno::Nametoolong)
    );
    world.make_directory("d");
    let fd = world.open("d", oflags::DIRECTORY).unwrap();
    for fd in [0, fd, 99] {
        assert_eq!(world.wasi.fd_prestat_get(fd, OUT), Err(Errno::Badf));
        assert_eq!(
            world.wasi.fd_prestat_dir_name(fd, DATA, 9),
            Err(Errno::Badf)
        );
    }
}

#[test]
fn paths_that_are_none() {
    let mut world = world();
    world.make_directory("d");
    world.file("f", b"");
    let long = "x/".repeat(2049);
    let part = "x".repeat(256);
    for (path, errno) in [
        ("", Errno::Noent),
        ("/", Errno::Perm),
        ("/f", Errno::Perm),
        ("..", Errno::Perm),
        ("../f", Errno::Perm),
        ("d/../../f", Errno::Perm),
        ("f\0", Errno::Inval),
        ("f/x", Errno::Notdir),
        ("f/", Errno::Notdir),
        ("no/f", Errno::Noent),
        ("no", Errno::Noent),
        (&long, Errno::Nametoolong),
        (&part, Errno::Nametoolong),
    ] {
        assert_eq!(world.open_as(3, path, 0, 0, 0), Err(errno), "{path}");
        assert_eq!(world.stat(path, 1), Err(errno), "{path}");
    }
    assert!(world.open("d/../f", 0).is_ok());
    assert!(world.open("./d/.././f", 0).is_ok());
    let (path, len) = world.put(PATH, b"\xff");
    let made = world.wasi.path_create_directory(3, path, len);
    assert_eq!(made, Err(Errno::Ilseq));
    let end = MEMORY as u32;
    assert_eq!(
        world.wasi.path_unlink_file(3, end - 1, 2),
        Err(Errno::Fault)
    );
    assert_eq!(
        world.wasi.path_unlink_file(3, 0, u32::MAX),
        Err(Errno::Fault)
    );
}

#[test]
fn ways_to_open() {
    let mut world = world();
    world.make_directory("d");
    world.file("f", b"text");
    let (creat, excl) = (oflags::CREAT, oflags::EXCL);
    let (trunc, directory) = (oflags::TRUNC, oflags::DIRECTORY);
    for (path, how, errno) in [
        ("f", creat | excl, Errno::Exist),
        ("d", creat | excl, Errno::Exist),
        ("f", directory, Errno::Notdir),
        ("d", 0, Errno::Isdir),
        ("d", creat, Errno::Isdir),
        ("d", directory | creat, Errno::Inval),
        ("d", directory | trunc, Errno::Inval),
        ("f", 16, Errno::Inval),
        ("no", directory, Errno::Noent),
        ("no", trunc, Errno::Noent),
    ] {
        assert_eq!(world.open(path, how), Err(errno), "{path} {how}");
    }
    // For reading, a directory opens as one without being called one.
    let fd = world
        .open_as(3, "d", 0, RIGHTS & !rights::FD_WRITE, 0)
        .unwrap();
    assert_eq!(world.read(fd, 1), Err(Errno::Isdir));
    assert_eq!(world.write(fd, b"x"), Err(Errno::Badf));
    assert_eq!(world.seek(fd, 0, 0), Err(Errno::Badf));
    let both = world.open_as(3, "d", directory, RIGHTS, 0);
    assert_eq!(both, Err(Errno::Isdir));
    let fd = world.open("f", trunc).unwrap();
    assert_eq!(world.read_at(fd, 9, 0).unwrap(), b"");
    assert!(world.open("g", creat | excl).is_ok());
    let unknown = world.open_as(3, "g", 0, RIGHTS, 1 << 5);
    assert_eq!(unknown, Err(Errno::Inval));
    // More bits of rights than there are mean nothing.
    assert!(world.open_as(3, "g", 0, u64::MAX, 0).is_ok());
}

#[test]
fn what_is_for_reading_only() {
    let mut world = world();
    world.make_directory("d");
    world.file("f", b"text");
    world.files.borrow_mut().read_only = true;
    let read = RIGHTS & !rights::FD_WRITE;
    assert_eq!(world.open("f", 0), Err(Errno::Rofs));
    assert_eq!(world.open("new", oflags::CREAT), Err(Errno::Rofs));
    let made = world.open_as(3, "new", oflags::CREAT, read, 0);
    assert_eq!(made, Err(Errno::Rofs));
    let fd = world.open_as(3, "f", oflags::CREAT, read, 0).unwrap();
    assert_eq!(world.read(fd, 9).unwrap(), b"text");
    assert_eq!(
        world.wasi.fd_filestat_set_times(fd, 1, 1, 1),
        Err(Errno::Rofs)
    );
    assert_eq!(world.wasi.fd_sync(fd), Ok(()));
    let cut = world.open_as(3, "f", oflags::TRUNC, read, 0);
    assert_eq!(cut, Err(Errno::Rofs));
    assert!(world.open("d", oflags::DIRECTORY).is_ok());
}

#[test]
fn symbolic_links() {
    let mut world = world();
    world.make_directory("d");
    let f = world.file("d/f", b"text");
    world.make_link("l", "d/f").unwrap();
    world.make_link("out", "d/../../x").unwrap();
    world.make_link("round", "round").unwrap();
    assert_eq!(world.make_link("abs", "/x"), Err(Errno::Perm));
    assert_eq!(world.make_link("empty", ""), Err(Errno::Noent));
    assert_eq!(world.make_link("l", "x"), Err(Errno::Exist));
    let fd = world.open("l", 0).unwrap();
    assert_eq!(world.read(fd, 9).unwrap(), b"text");
    assert_eq!(world.open("out", 0), Err(Errno::Perm));
    assert_eq!(world.open("round", 0), Err(Errno::Loop));
    let (path, len) = world.put(PATH, b"l");
    let open = world
        .wasi
        .path_open(3, 0, path, len, 0, RIGHTS, RIGHTS, 0, OUT);
    assert_eq!(open, Err(Errno::Loop));
    let flags = world.wasi.path_filestat_get(3, 2, path, len, OUT);
    assert_eq!(flags, Err(Errno::Inval));
    // Attributes of what it points to, and its own.
    world.wasi.fd_filestat_get(f, OUT).unwrap();
    let id = world.u64(OUT + 8);
    assert_eq!(world.stat("l", 1), Ok((id, filetype::REGULAR_FILE, 1, 4)));
    let own = world.stat("l", 0).unwrap();
    assert_eq!((own.1, own.3), (filetype::SYMBOLIC_LINK, 3));
    // Its text, cut to the room that there is.
    for (room, text) in [(99, &b"d/f"[..]), (2, b"d/"), (0, b"")] {
        let (path, len) = world.put(PATH, b"l");
        world
            .wasi
            .path_readlink(3, path, len, DATA, room, OUT)
            .unwrap();
        let count = world.u32(OUT) as usize;
        assert_eq!(world.get(DATA, count), text);
    }
    for (path, errno) in [(&b"d/."[..], Errno::Exist), (b"none/.", Errno::Noent)] {
        let (target, target_len) = world.put(DATA, b"d");
        let (path, len) = world.put(PATH, path);
        let made = world.wasi.path_symlink(target, target_len, 3, path, len);
        assert_eq!(made, Err(errno));
    }
    // Nor is one moved, or something put in its place.
    for (from, to, errno) in [
        (&b"d/."[..], &b"e"[..], Errno::Busy),
        (b"d", b"d/.", Errno::Busy),
        (b"none/.", b"e", Errno::Noent),
    ] {
        let (from, from_len) = world.put(DATA, from);
        let (to, to_len) = world.put(PATH, to);
        let moved = world.wasi.path_rename(3, from, from_len, 3, to, to_len);
        assert_eq!(moved, Err(errno));
    }
    let (path, len) = world.put(PATH, b"d/f");
    let no_link = world.wasi.path_readlink(3, path, len, DATA, 9, OUT);
    assert_eq!(no_link, Err(Errno::Inval));
}

#[test]
fn making_and_removing() {
    let mut world = world();
    world.make_directory("d");
    let fd = world.file("d/f", b"text");
    let mut on = |path: &str, what: fn(&mut Wasi<Fake>, u32, u32, u32) -> Result| {
        let (path, len) = world.put(PATH, path.as_bytes());
        what(&mut world.wasi, 3, path, len)
    };
    assert_eq!(on("d", Wasi::path_create_directory), Err(Errno::Exist));
    assert_eq!(on("d/e/", Wasi::path_create_directory), Ok(()));
    // What ends with a directory's name for itself is there, or nothing is.
    for end in [".", "./", ".//"] {
        let (there, none) = (format!("d/e/{end}"), format!("d/g/{end}"));
        assert_eq!(on(&there, Wasi::path_create_directory), Err(Errno::Exist));
        assert_eq!(on(&none, Wasi::path_create_directory), Err(Errno::Noent));
        assert_eq!(on(&there, Wasi::path_remove_directory), Err(Errno::Inval));
        assert_eq!(on(&none, Wasi::path_remove_directory), Err(Errno::Noent));
    }
    assert_eq!(on("d", Wasi::path_unlink_file), Err(Errno::Isdir));
    assert_eq!(on("d", Wasi::path_remove_directory), Err(Errno::Notempty));
    assert_eq!(on("d/f", Wasi::path_remove_directory), Err(Errno::Notdir));
    assert_eq!(on("d/e", Wasi::path_remove_directory), Ok(()));
    assert_eq!(on("d/f", Wasi::path_unlink_file), Ok(()));
    assert_eq!(on("d/f", Wasi::path_unlink_file), Err(Errno::Noent));
    assert_eq!(on("d", Wasi::path_remove_directory), Ok(()));
    // What is open is there as before.
    assert_eq!(world.read_at(fd, 9, 0).unwrap(), b"text");
}

fn rename(world: &mut World, from: (u32, &str), to: (u32, &str)) -> Result {
    let (path, len) = world.put(PATH, from.1.as_bytes());
    let (other, other_len) = world.put(OTHER, to.1.as_bytes());
    world
        .wasi
        .path_rename(from.0, path, len, to.0, other, other_len)
}

#[test]
fn no_directory_is_moved_below_itself() {
    let mut world = world();
    world.make_directory("d");
    world.make_directory("d/e");
    assert_eq!(rename(&mut world, (3, "d"), (3, "d/f")), Err(Errno::Inval));
    assert_eq!(
        rename(&mut world, (3, "d"), (3, "d/e/f")),
        Err(Errno::Inval)
    );
    // Links in a circle are another thing.
    world.make_link("a", "b").unwrap();
    world.make_link("b", "a").unwrap();
    assert_eq!(rename(&mut world, (3, "d"), (3, "a/f")), Err(Errno::Loop));
    assert_eq!(rename(&mut world, (3, "a/f"), (3, "f")), Err(Errno::Loop));
}

#[test]
fn between_two_directories() {
    let mut world = world();
    world.make_directory("a");
    world.make_directory("b");
    world.file("a/f", b"text");
    let a = world.open("a", oflags::DIRECTORY).unwrap();
    let b = world.open("b", oflags::DIRECTORY).unwrap();
    assert_eq!(rename(&mut world, (a, "f"), (a, "g")), Ok(()));
    assert_eq!(rename(&mut world, (a, "g"), (b, "h")), Ok(()));
    assert!(world.stat("b/h", 0).is_ok() && world.stat("a/g", 0).is_err());
    assert_eq!(rename(&mut world, (b, "h"), (3, "i")), Ok(()));
    assert!(world.stat("i", 0).is_ok());
    assert_eq!(rename(&mut world, (3, "no"), (b, "h")), Err(Errno::Noent));
    // Neither directory is left, though the preopen is above both.
    assert_eq!(rename(&mut world, (b, "../i"), (a, "x")), Err(Errno::Perm));
    assert_eq!(
        rename(&mut world, (3, "i"), (a, "../b/x")),
        Err(Errno::Perm)
    );
    // A further name.
    let (path, len) = world.put(PATH, b"i");
    let (other, other_len) = world.put(OTHER, b"j");
    let followed = world.wasi.path_link(3, 1, path, len, a, other, other_len);
    assert_eq!(followed, Err(Errno::Inval));
    world
        .wasi
        .path_link(3, 0, path, len, a, other, other_len)
        .unwrap();
    assert_eq!(world.stat("a/j", 0).unwrap().2, 2);
    // A directory has one name only.
    let (path, len) = world.put(PATH, b"b");
    let linked = world.wasi.path_link(3, 0, path, len, a, other, other_len);
    assert_eq!(linked, Err(Errno::Perm));
    // A directory that was moved is not mistaken for another in its place.
    assert_eq!(rename(&mut world, (3, "a"), (3, "moved")), Ok(()));
    world.make_directory("a");
    world.file("a/j", b"another");
    assert_eq!(rename(&mut world, (a, "j"), (3, "k")), Err(Errno::Xdev));
    assert_eq!(rename(&mut world, (a, "j"), (a, "k")), Ok(()));
    assert!(world.stat("moved/k", 0).is_ok() && world.stat("a/j", 0).is_ok());
}

#[test]
fn between_two_preopens() {
    let mut world = world();
    world.file("f", b"text");
    let other = Directory {
        files: disk::files(),
        id: 0,
    };
    let fd = world.wasi.add_directory(other, b"other".to_vec()).unwrap();
    assert_eq!(rename(&mut world, (3, "f"), (fd, "f")), Err(Errno::Xdev));
    world.wasi.fd_filestat_get(3, OUT).unwrap();
    let device = world.u64(OUT);
    world.wasi.fd_filestat_get(fd, OUT).unwrap();
    assert_ne!(world.u64(OUT), device);
    // Without the preopen, there is nobody to ask.
    world.make_directory("d");
    let d = world.open("d", oflags::DIRECTORY).unwrap();
    let e = world.open("d", oflags::DIRECTORY).unwrap();
    world.wasi.fd_close(3).unwrap();
    assert_eq!(rename(&mut world, (d, "x"), (e, "y")), Err(Errno::Xdev));
}

#[test]
fn listings_go_on_from_any_entry() {
    let mut world = world();
    for number in 0..40 {
        world.file(&std::format!("file {number:02}"), b"");
        world.wasi.fd_close(4).unwrap();
    }
    world.make_link("link", "x").unwrap();
    world.make_directory("z");
    let all = world.names(3, 8192).unwrap();
    assert_eq!(all.len(), 44);
    assert_eq!(all[0], (b".".to_vec(), filetype::DIRECTORY));
    assert_eq!(all[1], (b"..".to_vec(), filetype::DIRECTORY));
    assert_eq!(all[2], (b"file 00".to_vec(), filetype::REGULAR_FILE));
    assert_eq!(all[42], (b"link".to_vec(), filetype::SYMBOLIC_LINK));
    for room in [31, 32, 33, 55, 100, 256] {
        assert_eq!(world.names(3, room).unwrap(), all, "{room}");
    }
    // A buffer is filled to its last byte, in the midst of an entry, and not beyond.
    world.put(DATA, &[0xee; 200]);
    world.wasi.fd_readdir(3, DATA, 60, 0, OUT).unwrap();
    assert_eq!(world.u32(OUT), 60);
    assert_eq!(world.get(DATA + 60, 3), [0xee; 3]);
    world.wasi.fd_readdir(3, DATA, 0, 0, OUT).unwrap();
    assert_eq!(world.u32(OUT), 0);
    // Any number is a cookie; of one that was never given, what comes is whole.
    world.wasi.fd_readdir(3, DATA, 60, u64::MAX, OUT).unwrap();
    assert_eq!(world.u32(OUT), 0);
    let end = MEMORY as u32;
    assert_eq!(
        world.wasi.fd_readdir(3, end - 9, 10, 0, OUT),
        Err(Errno::Fault)
    );
    assert_eq!(
        world.wasi.fd_readdir(3, 0, u32::MAX, 0, OUT),
        Err(Errno::Fault)
    );
}
