//! The 9P server, asked by drivers that mean harm; beside it, somebody who changes the files.

use super::p9::{MOST, Server};
use super::p9_files::Root;
use super::p9_shares::share;
use sing_p9::{Change, Entries, Qid, REMOVE_DIRECTORY, Reply, Request, VERSION, errno, open};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::thread;

/// What lies beside the directory, and must never be seen.
pub(super) const SECRET: &[u8] = b"not for the system";

/// A directory `inside` that is served, and a file `secret` beside it.
pub(super) struct Host {
    pub(super) above: PathBuf,
    pub(super) server: Server,
    /// How many requests were made.
    asked: u32,
}

impl Drop for Host {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.above);
    }
}

/// An answer without borrows.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Said {
    Error(u32),
    Qids(Vec<Qid>),
    Bytes(Vec<u8>),
    Size(u64),
    Count(u32),
    Done,
}

impl Host {
    pub(super) fn new(read_only: bool) -> Host {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "sing-dir-{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, SeqCst)
        );
        let above = std::env::temp_dir().join(name);
        let inside = above.join("inside");
        fs::create_dir_all(inside.join("sub/deep")).unwrap();
        fs::write(above.join("secret"), SECRET).unwrap();
        fs::write(inside.join("file"), b"content").unwrap();
        fs::write(inside.join("sub/deep/leaf"), b"leaf").unwrap();
        let root = Root::open(&inside, read_only).unwrap();
        let mut host = Host {
            above,
            server: Server::new(root, share(1)),
            asked: 0,
        };
        host.begin();
        host
    }

    pub(super) fn inside(&self, path: &str) -> PathBuf {
        self.above.join("inside").join(path)
    }

    pub(super) fn begin(&mut self) {
        let (most, version) = (MOST, VERSION);
        assert_eq!(self.ask(&Request::Version { most, version }), Said::Done);
        let root = self.ask(&Request::Attach { fid: 0 });
        assert!(matches!(root, Said::Qids(q) if q[0].is_directory()));
    }

    /// Every other request may be served at once.
    pub(super) fn ask(&mut self, request: &Request) -> Said {
        self.asked += 1;
        let at_once = match self.asked % 2 {
            0 => self.ask_at_once(request),
            _ => None,
        };
        at_once.unwrap_or_else(|| self.ask_patiently(request))
    }

    /// The answer, if there is one without waiting.
    fn ask_at_once(&mut self, request: &Request) -> Option<Said> {
        let (mut message, mut answer) = (Vec::new(), Vec::new());
        request.encode(3, &mut message);
        let room = 1 << 20;
        let is_served = self.server.serve_at_once(&message, room, &mut answer);
        is_served.then(|| Host::said(&answer))
    }

    fn ask_patiently(&mut self, request: &Request) -> Said {
        let (mut message, mut answer) = (Vec::new(), Vec::new());
        request.encode(3, &mut message);
        self.server.serve(&message, 1 << 20, &mut answer);
        Host::said(&answer)
    }

    fn said(answer: &[u8]) -> Said {
        assert_eq!(sing_p9::head(answer).unwrap().0, answer.len());
        match Reply::decode(answer).unwrap().1 {
            Reply::Error(reason) => Said::Error(reason),
            Reply::Walk(qids) => Said::Qids(qids),
            Reply::Attach(q) | Reply::Open(q) | Reply::Create(q) => Said::Qids(vec![q]),
            Reply::Symlink(q) | Reply::MakeDirectory(q) => Said::Qids(vec![q]),
            Reply::ReadLink(b) | Reply::Directory(b) | Reply::Read(b) => Said::Bytes(b.to_vec()),
            Reply::Attributes(a) => Said::Size(a.size),
            Reply::Write(count) => Said::Count(count),
            Reply::Version { .. } | Reply::Done(_) => Said::Done,
        }
    }

    pub(super) fn walk(&mut self, fid: u32, new: u32, names: &[&str]) -> Said {
        let names = names.iter().map(|n| n.as_bytes()).collect();
        self.ask(&Request::Walk { fid, new, names })
    }

    pub(super) fn open(&mut self, fid: u32, flags: u32) -> Said {
        self.ask(&Request::Open { fid, flags })
    }

    pub(super) fn clunk(&mut self, fid: u32) {
        self.ask(&Request::Clunk { fid });
    }

    /// Walks to a path and reads the file there.
    pub(super) fn read(&mut self, names: &[&str]) -> Said {
        self.clunk(9);
        match self.walk(0, 9, names) {
            Said::Qids(qids) if qids.len() == names.len() => {}
            Said::Qids(_) => return Said::Error(errno::ENOENT),
            refused => return refused,
        }
        match self.open(9, open::READ) {
            Said::Qids(_) => self.ask(&Request::Read {
                fid: 9,
                offset: 0,
                count: 4096,
            }),
            refused => refused,
        }
    }
}

/// Whether Linux serves files in the directory of temporary ones from its memory.
fn is_quick(host: &Host) -> bool {
    Root::open(&host.inside(""), false).unwrap().is_quick()
}

#[test]
fn what_linux_has_in_memory_is_served_at_once() {
    let mut host = Host::new(false);
    if !is_quick(&host) {
        return;
    }
    let names = |names: &[&'static str]| names.iter().map(|n| n.as_bytes()).collect::<Vec<_>>();
    let walk = |new, names| Request::Walk { fid: 0, new, names };
    // Each twice: first by who may wait, so that Linux has it in memory then.
    for (fid, flags) in [(1, open::READ), (2, open::READ_WRITE)] {
        let ask = |host: &mut Host, fid, request: &dyn Fn(u32) -> Request<'static>| {
            let patiently = host.ask_patiently(&request(fid + 10));
            let at_once = host.ask_at_once(&request(fid));
            assert_eq!(at_once, Some(patiently));
        };
        ask(&mut host, fid, &|fid| walk(fid, names(&["file"])));
        ask(&mut host, fid, &|fid| Request::GetAttributes { fid });
        ask(&mut host, fid, &|fid| Request::Open { fid, flags });
        let (offset, count) = (0, 4096);
        ask(&mut host, fid, &|fid| Request::Read { fid, offset, count });
        ask(&mut host, fid, &|fid| Request::Clunk { fid });
    }
    host.ask_patiently(&walk(3, names(&["sub", "deep", "leaf"])));
    let deep = host.ask_at_once(&walk(4, names(&["sub", "deep", "leaf"])));
    assert!(matches!(deep, Some(Said::Qids(qids)) if qids.len() == 3));
    let none = Said::Error(errno::ENOENT);
    assert_eq!(host.ask_patiently(&walk(5, names(&["none"]))), none);
    assert_eq!(host.ask_at_once(&walk(5, names(&["none"]))), Some(none));
}

#[test]
fn the_end_of_a_listing_is_told_once_without_asking_linux() {
    let mut host = Host::new(false);
    host.walk(0, 1, &[]);
    host.open(1, open::READ);
    let list = |offset, count| Request::ReadDirectory {
        fid: 1,
        offset,
        count,
    };
    // How many entries, and the place behind the last one.
    let listed = |said: Said| {
        let Said::Bytes(bytes) = said else {
            panic!("{said:?}")
        };
        let all: Vec<_> = Entries::of(&bytes)
            .map(|entry| entry.unwrap().next)
            .collect();
        (all.len(), all.last().copied())
    };
    // There is room for some of the entries: this is not the end.
    let (count, middle) = listed(host.ask_patiently(&list(0, 64)));
    assert_eq!(count, 2);
    let middle = middle.unwrap();
    assert!(host.ask_at_once(&list(middle, 4096)).is_none());
    let (count, end) = listed(host.ask_patiently(&list(middle, 4096)));
    assert_eq!(count, 2);
    let end = end.unwrap();
    assert!(host.ask_at_once(&list(middle, 4096)).is_none());
    let nothing = Some(Said::Bytes(Vec::new()));
    assert_eq!(host.ask_at_once(&list(end, 4096)), nothing);
    // The next time, Linux is asked; and a listing from the start has what has come since.
    assert!(host.ask_at_once(&list(end, 4096)).is_none());
    fs::write(host.inside("later"), b"").unwrap();
    assert!(host.ask_at_once(&list(0, 4096)).is_none());
    assert_eq!(listed(host.ask_patiently(&list(0, 4096))).0, 5);
    // Another listing forgets where the last one ended.
    assert_eq!(listed(host.ask_patiently(&list(0, 64))).0, 2);
    assert!(host.ask_at_once(&list(end, 4096)).is_none());
}

#[test]
fn what_may_wait_is_not_served_at_once_and_changes_nothing() {
    let mut host = Host::new(false);
    host.walk(0, 1, &["file"]);
    host.walk(0, 2, &["sub"]);
    let change = Change {
        size: Some(1),
        ..Change::default()
    };
    let (fid, name) = (0, &b"new"[..]);
    let flags = open::READ_WRITE | open::CREATE | open::EXCLUSIVE;
    let (from, to, mode) = (0, 0, 0o700);
    let data = &b"!"[..];
    for request in [
        Request::Open {
            fid: 1,
            flags: open::READ_WRITE | open::TRUNCATE,
        },
        Request::Open {
            fid: 2,
            flags: open::READ,
        },
        Request::Create {
            fid,
            name,
            flags,
            mode,
        },
        Request::MakeDirectory { fid, name, mode },
        Request::Symlink {
            fid,
            name,
            target: name,
        },
        Request::SetAttributes { fid: 1, change },
        Request::Rename {
            from,
            name: b"file",
            to,
            new: name,
        },
        Request::Unlink {
            fid,
            name: b"file",
            flags: 0,
        },
        Request::Write {
            fid: 1,
            offset: 0,
            data,
        },
        Request::Sync { fid: 1 },
        Request::Clunk { fid: 77 },
        Request::Walk {
            fid: 0,
            new: 3,
            names: vec![b".."],
        },
        // It ends a session.
        Request::Version {
            most: MOST,
            version: VERSION,
        },
    ] {
        assert_eq!(host.ask_at_once(&request), None, "{request:?}");
    }
    assert_eq!(fs::read(host.inside("file")).unwrap(), b"content");
    assert_eq!(fs::read_dir(host.inside("")).unwrap().count(), 2);

    // Linux may write to the disk when these are closed.
    host.open(1, open::READ_WRITE);
    let (fid, offset) = (1, 0);
    let wrote = host.ask(&Request::Write { fid, offset, data });
    assert_eq!(wrote, Said::Count(1));
    host.walk(0, 3, &["sub", "deep", "leaf"]);
    fs::remove_file(host.inside("sub/deep/leaf")).unwrap();
    for fid in [1, 3] {
        assert_eq!(host.ask_at_once(&Request::Clunk { fid }), None);
        assert_eq!(host.ask_patiently(&Request::Clunk { fid }), Said::Done);
    }
}

#[test]
fn files_are_read_written_and_listed() {
    let mut host = Host::new(false);
    assert_eq!(host.read(&["file"]), Said::Bytes(b"content".to_vec()));
    assert_eq!(
        host.read(&["sub", "deep", "leaf"]),
        Said::Bytes(b"leaf".to_vec())
    );
    host.walk(0, 1, &["file"]);
    host.open(1, open::READ_WRITE);
    let (fid, offset, data) = (1, 3, &b"!!"[..]);
    let wrote = host.ask(&Request::Write { fid, offset, data });
    assert_eq!(wrote, Said::Count(2));
    assert_eq!(fs::read(host.inside("file")).unwrap(), b"con!!nt");
    // What the host changes meanwhile is seen.
    fs::write(host.inside("file"), b"changed").unwrap();
    assert_eq!(host.read(&["file"]), Said::Bytes(b"changed".to_vec()));

    host.walk(0, 2, &[]);
    let (name, flags, mode) = (&b"new"[..], open::CREATE | open::EXCLUSIVE | 2, 0o640);
    let create = |fid| Request::Create {
        fid,
        name,
        flags,
        mode,
    };
    assert!(matches!(host.ask(&create(2)), Said::Qids(_)));
    let made = fs::metadata(host.inside("new")).unwrap();
    assert_eq!(made.permissions().mode() & 0o137, 0);
    assert_eq!(host.ask(&create(0)), Said::Error(errno::EEXIST));

    host.walk(0, 3, &[]);
    host.open(3, open::READ | open::DIRECTORY);
    let (mut names, mut offset) = (Vec::new(), 0);
    loop {
        // So little that it comes in pieces.
        let (fid, count) = (3, 64);
        let Said::Bytes(bytes) = host.ask(&Request::ReadDirectory { fid, offset, count }) else {
            panic!("not listed")
        };
        if bytes.is_empty() {
            break;
        }
        for entry in Entries::of(&bytes) {
            let entry = entry.unwrap();
            names.push(String::from_utf8(entry.name.to_vec()).unwrap());
            offset = entry.next;
        }
    }
    names.sort();
    assert_eq!(names, [".", "..", "file", "new", "sub"]);
}

#[test]
fn no_name_leads_out() {
    let mut host = Host::new(false);
    let outside = host.above.join("secret");
    let outside = outside.to_str().unwrap();
    symlink("../secret", host.inside("up")).unwrap();
    symlink(outside, host.inside("absolute")).unwrap();
    symlink("/etc/passwd", host.inside("passwd")).unwrap();
    symlink("..", host.inside("above")).unwrap();
    symlink("/proc/self/root", host.inside("magic")).unwrap();
    let long = "x".repeat(256);
    for names in [
        &[".."][..],
        &["sub", ".."],
        &["sub", "..", "..", "secret"],
        &["."],
        &[""],
        &["../secret"],
        &["sub/../../secret"],
        &["/etc/passwd"],
        &[outside],
        &["sub\0"],
        &[&long],
        &["above", "secret"],
        &["magic", "etc", "passwd"],
        &["up", ""],
    ] {
        match host.walk(0, 5, names) {
            Said::Error(_) => {}
            // As far as plain names lead, and no fid.
            Said::Qids(qids) => assert!(qids.len() < names.len(), "{names:?}"),
            said => panic!("{names:?}: {said:?}"),
        }
        let nothing = host.ask(&Request::GetAttributes { fid: 5 });
        assert_eq!(nothing, Said::Error(errno::EBADF), "{names:?}");
    }
    // A link is a text, and is not opened.
    for (name, target) in [("up", "../secret"), ("passwd", "/etc/passwd")] {
        assert_eq!(host.read(&[name]), Said::Error(errno::ELOOP));
        let text = host.ask(&Request::ReadLink { fid: 9 });
        assert_eq!(text, Said::Bytes(target.as_bytes().to_vec()));
        // Nor cut, nor is what it points to.
        let change = Change {
            size: Some(0),
            modified: Some((1, 0)),
            ..Change::default()
        };
        let cut = host.ask(&Request::SetAttributes { fid: 9, change });
        assert_eq!(cut, Said::Error(errno::ELOOP));
        host.clunk(9);
    }
    // Names are checked wherever there are some.
    host.walk(0, 1, &["file"]);
    for name in [&b".."[..], b"../new", b"a/b", b"", b"."] {
        let target = b"x";
        let (fid, mode, flags) = (0, 0o777, open::CREATE | open::EXCLUSIVE);
        let (directory, from, to) = (0, 0, 0);
        for request in [
            Request::Create {
                fid,
                name,
                flags,
                mode,
            },
            Request::Symlink { fid, name, target },
            Request::MakeDirectory { fid, name, mode },
            Request::Unlink {
                fid,
                name,
                flags: 0,
            },
            Request::Unlink {
                fid,
                name,
                flags: REMOVE_DIRECTORY,
            },
            Request::Link {
                directory,
                fid: 1,
                name,
            },
            Request::Rename {
                from,
                name,
                to,
                new: b"y",
            },
            Request::Rename {
                from,
                name: b"file",
                to,
                new: name,
            },
        ] {
            let said = host.ask(&request);
            assert_eq!(said, Said::Error(errno::EINVAL), "{request:?}");
        }
    }
    assert_eq!(fs::read(outside).unwrap(), SECRET);
    let left: Vec<_> = fs::read_dir(&host.above).unwrap().collect();
    assert_eq!(left.len(), 2);
}

#[test]
fn pipes_devices_and_sockets_are_not_opened() {
    let mut host = Host::new(false);
    let made = std::process::Command::new("mkfifo")
        .arg(host.inside("pipe"))
        .status();
    assert!(made.unwrap().success());
    let _socket = std::os::unix::net::UnixListener::bind(host.inside("socket")).unwrap();
    for name in ["pipe", "socket"] {
        for flags in [open::READ, open::READ_WRITE, open::TRUNCATE] {
            host.walk(0, 4, &[name]);
            // If it were opened, this would wait for ever.
            assert_eq!(host.open(4, flags), Said::Error(errno::EOPNOTSUPP));
            host.clunk(4);
        }
    }
    // A device, as root can make one.
    let device = Root::open(Path::new("/dev"), true).map(|root| Server::new(root, share(1)));
    host.server = device.unwrap();
    host.begin();
    assert_eq!(host.read(&["null"]), Said::Error(errno::EOPNOTSUPP));
}

#[test]
fn what_is_for_reading_is_not_changed() {
    let mut host = Host::new(true);
    let before = fs::metadata(host.inside("file")).unwrap();
    host.walk(0, 1, &["file"]);
    let (name, mode, target) = (&b"n"[..], 0o777, &b"t"[..]);
    let flags = open::CREATE | open::EXCLUSIVE | open::READ_WRITE;
    let (fid, directory, from, to) = (0, 0, 0, 0);
    let change = |size, modified| Request::SetAttributes {
        fid: 1,
        change: Change {
            size,
            modified,
            ..Change::default()
        },
    };
    for request in [
        Request::Open { fid: 1, flags: 1 },
        Request::Open { fid: 1, flags: 2 },
        Request::Open { fid: 1, flags: 3 },
        Request::Open {
            fid: 1,
            flags: open::TRUNCATE,
        },
        Request::Create {
            fid,
            name,
            flags,
            mode,
        },
        Request::Symlink { fid, name, target },
        Request::MakeDirectory { fid, name, mode },
        Request::Link {
            directory,
            fid: 1,
            name,
        },
        Request::Rename {
            from,
            name: b"file",
            to,
            new: name,
        },
        Request::Unlink {
            fid,
            name: b"file",
            flags: 0,
        },
        Request::Unlink {
            fid,
            name: b"sub",
            flags: REMOVE_DIRECTORY,
        },
        change(Some(0), None),
        change(None, Some((1, 0))),
    ] {
        let said = host.ask(&request);
        assert_eq!(said, Said::Error(errno::EROFS), "{request:?}");
    }
    assert_eq!(
        host.open(1, open::READ),
        Said::Qids(vec![qid(&host, "file")])
    );
    let (fid, offset, data) = (1, 0, &b"x"[..]);
    let write = host.ask(&Request::Write { fid, offset, data });
    assert_eq!(write, Said::Error(errno::EBADF));
    assert_eq!(host.ask(&Request::Sync { fid: 1 }), Said::Done);
    let after = fs::metadata(host.inside("file")).unwrap();
    assert_eq!(before.modified().unwrap(), after.modified().unwrap());
    assert_eq!(fs::read_dir(host.inside("")).unwrap().count(), 2);
}

fn qid(host: &Host, path: &str) -> Qid {
    use std::os::unix::fs::MetadataExt;
    let (kind, version) = (0, 0);
    let path = fs::metadata(host.inside(path)).unwrap().ino();
    Qid {
        kind,
        version,
        path,
    }
}

#[test]
fn a_directory_that_becomes_a_link_meanwhile_leads_nowhere() {
    let mut host = Host::new(false);
    let (door, away) = (host.inside("door"), host.inside("away"));
    fs::create_dir(&door).unwrap();
    fs::write(door.join("secret"), b"inside").unwrap();
    let link = host.inside("link");
    symlink("../", &link).unwrap();
    let end = Arc::new(AtomicBool::new(false));
    let stop = Arc::clone(&end);
    // The name `door` is a directory, nothing, a link that leads out, nothing, and so on.
    let swapper = thread::spawn(move || {
        let mut swaps = 0u64;
        while !stop.load(SeqCst) {
            fs::rename(&door, &away).unwrap();
            fs::rename(&link, &door).unwrap();
            fs::rename(&door, &link).unwrap();
            fs::rename(&away, &door).unwrap();
            swaps += 1;
        }
        swaps
    });
    let (mut found, mut nothing) = (0, 0);
    for _ in 0..100_000 {
        match host.read(&["door", "secret"]) {
            Said::Bytes(bytes) => {
                assert_eq!(bytes, b"inside");
                found += 1;
            }
            Said::Error(_) => nothing += 1,
            said => panic!("{said:?}"),
        }
    }
    end.store(true, SeqCst);
    let swaps = swapper.join().unwrap();
    println!("{found} found, {nothing} not, {swaps} swaps");
    assert!(found > 0 && nothing > 0 && swaps > 0);
}

#[test]
fn a_file_that_becomes_a_link_meanwhile_is_not_written_through_it() {
    let mut host = Host::new(false);
    let (file, link) = (host.inside("file"), host.inside("link"));
    let away = host.inside("away");
    symlink("../secret", &link).unwrap();
    let end = Arc::new(AtomicBool::new(false));
    let stop = Arc::clone(&end);
    let swapper = thread::spawn(move || {
        while !stop.load(SeqCst) {
            fs::rename(&file, &away).unwrap();
            fs::rename(&link, &file).unwrap();
            fs::rename(&file, &link).unwrap();
            fs::rename(&away, &file).unwrap();
        }
    });
    let mut written = 0;
    for _ in 0..20_000 {
        host.clunk(1);
        host.walk(0, 1, &["file"]);
        host.open(1, open::READ_WRITE | open::TRUNCATE);
        let (fid, offset, data) = (1, 0, &b"overwritten"[..]);
        if host.ask(&Request::Write { fid, offset, data }) == Said::Count(11) {
            written += 1;
        }
        let change = Change {
            size: Some(1),
            ..Change::default()
        };
        host.ask(&Request::SetAttributes { fid, change });
    }
    end.store(true, SeqCst);
    swapper.join().unwrap();
    assert!(written > 0);
    assert_eq!(fs::read(host.above.join("secret")).unwrap(), SECRET);
}
