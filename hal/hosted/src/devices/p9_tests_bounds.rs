//! The 9P server, asked for too much, and for what is no request.

use super::p9::{MOST, Server};
use super::p9_ahead as ahead;
use super::p9_files::Root;
use super::p9_shares::{FIDS, MOST_DESCRIPTORS, fids, more_fids, share};
use super::p9_tests::{Host, SECRET, Said};
use sing_p9::{Change, NO_TAG, REMOVE_DIRECTORY, Request, VERSION, errno, open};
use std::fs;
use std::os::unix::fs::symlink;

#[test]
fn fids_are_bounded_and_come_back() {
    let mut host = Host::new(true);
    let mut refused = 0;
    for new in 1..2000 {
        match host.walk(0, new, &["file"]) {
            Said::Qids(_) => {}
            said => {
                assert_eq!(said, Said::Error(errno::ENFILE));
                refused += 1;
            }
        }
    }
    // The root's is one of them.
    assert_eq!(refused, 2000 - FIDS);
    let taken = host.walk(0, 1, &["file"]);
    assert_eq!(taken, Said::Error(errno::EINVAL));
    // A new session has none of them.
    host.begin();
    assert_eq!(host.read(&["file"]), Said::Bytes(b"content".to_vec()));
    for fid in [1, 77, u32::MAX] {
        let unknown = host.ask(&Request::Clunk { fid });
        assert_eq!(unknown, Said::Error(errno::EBADF));
    }
}

#[test]
fn a_process_with_many_descriptors_has_more_fids() {
    // Linux's usual number is shared as ever; beside others that want some, a larger one gives each more.
    assert_eq!([1, 4].map(|all| fids(1024, all)), [640, 160]);
    assert_eq!([1, 4].map(|all| fids(4096, all)), [1280, 928]);
    assert_eq!([1, 4].map(|all| fids(u64::MAX, all)), [1280, 1280]);
    assert_eq!(fids(256, 1), 0);
    let mut host = Host::new(true);
    host.server = Server::new(Root::open(&host.inside(""), true).unwrap(), more_fids(1));
    host.begin();
    let more = (1..2000).take_while(|new| matches!(host.walk(0, *new, &[]), Said::Qids(_)));
    assert!(1 + more.count() >= FIDS);
}

#[test]
fn no_directory_takes_the_descriptors_of_another() {
    let directories = 8;
    // Each keeps its own while the next takes as many as it gets.
    let mut hosts: Vec<Host> = Vec::new();
    for _ in 0..3 {
        let mut host = Host::new(true);
        host.server = Server::new(
            Root::open(&host.inside(""), true).unwrap(),
            share(directories),
        );
        host.begin();
        let more = (1..2000).take_while(|new| matches!(host.walk(0, *new, &[]), Said::Qids(_)));
        // The root's is one of them.
        assert_eq!(1 + more.count(), MOST_DESCRIPTORS / directories);
        hosts.push(host);
    }
}

#[test]
fn counts_and_places_are_bounded() {
    let mut host = Host::new(false);
    host.walk(0, 1, &["file"]);
    host.open(1, open::READ_WRITE);
    let mut read = |offset, count| {
        host.ask(&Request::Read {
            fid: 1,
            offset,
            count,
        })
    };
    assert_eq!(read(0, u32::MAX), Said::Bytes(b"content".to_vec()));
    assert_eq!(read(u64::MAX, u32::MAX), Said::Bytes(Vec::new()));
    assert_eq!(read(i64::MAX as u64, 9), Said::Bytes(Vec::new()));
    let (fid, offset, data) = (1, u64::MAX, &b"x"[..]);
    let far = host.ask(&Request::Write { fid, offset, data });
    assert_eq!(far, Said::Error(errno::EFBIG));
    for change in [
        Change {
            size: Some(u64::MAX),
            ..Change::default()
        },
        Change {
            accessed: Some((u64::MAX, 0)),
            ..Change::default()
        },
        // Linux's numbers for "now" and "not at all".
        Change {
            modified: Some((0, (1 << 30) - 1)),
            ..Change::default()
        },
        Change {
            others: 1,
            ..Change::default()
        },
    ] {
        let said = host.ask(&Request::SetAttributes { fid, change });
        assert!(matches!(said, Said::Error(_)), "{change:?}");
    }
    host.walk(0, 2, &[]);
    host.open(2, open::READ);
    let (fid, offset, count) = (2, u64::MAX, 4096);
    let behind = host.ask(&Request::ReadDirectory { fid, offset, count });
    assert_eq!(behind, Said::Bytes(Vec::new()));
    for offset in [u64::MAX, i64::MAX as u64, 12345] {
        let (fid, count) = (2, u32::MAX);
        // Whatever Linux says of such a place.
        host.ask(&Request::ReadDirectory { fid, offset, count });
    }
    // An answer has no more than there is room for.
    let (mut message, mut answer) = (Vec::new(), Vec::new());
    for room in 0..300 {
        Request::GetAttributes { fid: 1 }.encode(1, &mut message);
        host.server.serve(&message, room, &mut answer);
        assert!(answer.len() <= room);
        let (fid, offset, count) = (1, 0, u32::MAX);
        Request::Read { fid, offset, count }.encode(1, &mut message);
        host.server.serve(&message, room, &mut answer);
        assert!(answer.len() <= room);
    }
}

#[test]
fn what_is_written_without_a_sync_is_bounded() {
    use std::os::unix::fs::MetadataExt;
    let mut host = Host::new(false);
    let data = &vec![7; 256 << 10][..];
    let rounds = ahead::MOST / data.len() as u64;
    let meta = fs::metadata(host.inside("file")).unwrap();
    let which = (meta.dev(), meta.ino());
    for round in 1..=rounds + 1 {
        // Again and again, by a new fid: the same place, so that the disk is not filled.
        let (fid, offset) = (1, round % 4 * data.len() as u64);
        host.walk(0, fid, &["file"]);
        host.open(fid, open::READ_WRITE);
        let wrote = host.ask(&Request::Write { fid, offset, data });
        assert_eq!(wrote, Said::Count(data.len() as u32));
        let expected = round % rounds * data.len() as u64;
        assert_eq!(host.server.ahead().of(which), expected, "{round}");
        host.clunk(fid);
    }
    host.walk(0, 1, &["file"]);
    assert_eq!(host.ask(&Request::Sync { fid: 1 }), Said::Done);
    assert_eq!(host.server.ahead().of(which), 0);
    // A directory, too.
    assert_eq!(host.ask(&Request::Sync { fid: 0 }), Said::Done);
}

#[test]
fn nothing_is_served_before_a_session() {
    let mut host = Host::new(true);
    let (most, version) = (MOST, &b"9P2000"[..]);
    host.ask(&Request::Version { most, version });
    let attach = host.ask(&Request::Attach { fid: 0 });
    assert_eq!(attach, Said::Error(errno::EPROTO));
    let (most, version) = (100, VERSION);
    host.ask(&Request::Version { most, version });
    let attach = host.ask(&Request::Attach { fid: 0 });
    assert_eq!(attach, Said::Error(errno::EPROTO));
}

#[test]
fn no_message_breaks_the_server() {
    let mut host = Host::new(false);
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let names = [
        "file", "sub", "deep", "leaf", "..", ".", "", "up", "a/b", "new",
    ];
    symlink("../secret", host.inside("up")).unwrap();
    let (mut message, mut answer) = (Vec::new(), Vec::new());
    for round in 0..100_000 {
        if round % 1000 == 0 {
            host.begin();
        }
        let fid = random.u32(..6);
        let name = names[random.usize(..names.len())].as_bytes();
        let other = random.u32(..6);
        let offset = if random.bool() {
            random.u64(..20)
        } else {
            random.u64(..)
        };
        let count = if random.bool() {
            random.u32(..99)
        } else {
            random.u32(..)
        };
        let request = match random.u32(..17) {
            0..4 => Request::Walk {
                fid,
                new: other,
                names: vec![name; random.usize(..3)],
            },
            4 => Request::Open {
                fid,
                flags: random.u32(..4),
            },
            5 => Request::Create {
                fid,
                name,
                flags: random.u32(..0o1000),
                mode: random.u32(..),
            },
            6 => Request::Symlink {
                fid,
                name,
                target: b"../secret",
            },
            7 => Request::ReadLink { fid },
            8 => Request::GetAttributes { fid },
            9 => Request::ReadDirectory { fid, offset, count },
            10 => Request::Link {
                directory: other,
                fid,
                name,
            },
            11 => Request::MakeDirectory {
                fid,
                name,
                mode: random.u32(..),
            },
            12 => Request::Rename {
                from: fid,
                name,
                to: other,
                new: names[random.usize(..names.len())].as_bytes(),
            },
            13 => Request::Unlink {
                fid,
                name,
                flags: random.u32(..2) * REMOVE_DIRECTORY,
            },
            14 => Request::Read { fid, offset, count },
            15 => Request::Write {
                fid,
                offset: offset % 4096,
                data: b"data",
            },
            _ => Request::Clunk { fid },
        };
        request.encode(NO_TAG, &mut message);
        if random.u32(..4) == 0 {
            let at = random.usize(..message.len());
            // Not the size of a file: the host's disk is not the matter of this test.
            message[at] = random.u8(..);
        }
        let room = random.usize(..8192);
        host.server.serve(&message, room, &mut answer);
        assert!(answer.len() <= room);
        assert!(!answer.windows(SECRET.len()).any(|part| part == SECRET));
    }
    assert_eq!(fs::read(host.above.join("secret")).unwrap(), SECRET);
    let mut left: Vec<_> = fs::read_dir(&host.above)
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    left.sort();
    assert_eq!(left, ["inside", "secret"]);
}
