//! Messages survive their encoding, and no bytes break their readers.

use sing_p9::{
    Attributes, Change, Entries, Entry, Qid, Reply, Request, WRITE_HEAD, pack, write_head,
};

const QID: Qid = Qid {
    kind: Qid::DIRECTORY,
    version: 7,
    path: u64::MAX - 1,
};

fn requests() -> Vec<Request<'static>> {
    vec![
        Request::Version {
            most: 8192,
            version: sing_p9::VERSION,
        },
        Request::Attach { fid: 0 },
        Request::Flush { tag: 9 },
        Request::Walk {
            fid: 0,
            new: 1,
            names: vec![b"a", b"\xff\xfe", b""],
        },
        Request::Open { fid: 1, flags: 2 },
        Request::Create {
            fid: 1,
            name: b"new",
            flags: 0o302,
            mode: 0o644,
        },
        Request::Symlink {
            fid: 1,
            name: b"l",
            target: b"../x",
        },
        Request::ReadLink { fid: 3 },
        Request::GetAttributes { fid: 4 },
        Request::SetAttributes {
            fid: 4,
            change: Change {
                size: Some(1 << 40),
                accessed: None,
                modified: Some((5, 6)),
                others: 1,
            },
        },
        Request::ReadDirectory {
            fid: 4,
            offset: u64::MAX,
            count: 4096,
        },
        Request::Sync { fid: 2 },
        Request::Link {
            directory: 1,
            fid: 2,
            name: b"n",
        },
        Request::MakeDirectory {
            fid: 1,
            name: b"d",
            mode: 0o755,
        },
        Request::Rename {
            from: 1,
            name: b"a",
            to: 2,
            new: b"b",
        },
        Request::Unlink {
            fid: 1,
            name: b"a",
            flags: sing_p9::REMOVE_DIRECTORY,
        },
        Request::Read {
            fid: 1,
            offset: 2,
            count: 3,
        },
        Request::Write {
            fid: 1,
            offset: 2,
            data: b"data",
        },
        Request::Clunk { fid: 1 },
    ]
}

fn replies() -> Vec<Reply<'static>> {
    vec![
        Reply::Error(2),
        Reply::Version {
            most: 4096,
            version: b"unknown",
        },
        Reply::Attach(QID),
        Reply::Walk(vec![QID; 16]),
        Reply::Open(QID),
        Reply::Create(QID),
        Reply::Symlink(QID),
        Reply::ReadLink(b"/etc"),
        Reply::Attributes(Attributes {
            qid: QID,
            mode: 0o100_644,
            links: 1,
            size: 2,
            blocks: 3,
            accessed: (4, 5),
            modified: (6, 7),
            changed: (8, 9),
        }),
        Reply::Directory(b"xyz"),
        Reply::MakeDirectory(QID),
        Reply::Read(b""),
        Reply::Write(77),
        Reply::Done(121),
    ]
}

#[test]
fn what_is_encoded_is_decoded_to_the_same() {
    let mut bytes = Vec::new();
    for request in requests() {
        request.encode(5, &mut bytes);
        assert_eq!(Request::decode(&bytes), Ok((5, request)));
    }
    for reply in replies() {
        reply.encode(6, &mut bytes);
        assert_eq!(Reply::decode(&bytes), Ok((6, reply)));
    }
}

#[test]
fn the_head_of_a_write_is_that_of_the_whole_message() {
    let (mut whole, data) = (Vec::new(), [3; 100]);
    let request = Request::Write {
        fid: 8,
        offset: 1 << 33,
        data: &data,
    };
    request.encode(2, &mut whole);
    assert_eq!(write_head(2, 8, 1 << 33, 100), whole[..WRITE_HEAD]);
}

#[test]
fn messages_that_are_cut_or_longer_than_they_say_are_refused() {
    let mut bytes = Vec::new();
    let mut all = Vec::new();
    for request in requests() {
        request.encode(1, &mut bytes);
        all.push(bytes.clone());
    }
    for whole in &all {
        for cut in 0..whole.len() {
            assert!(Request::decode(&whole[..cut]).is_err());
            // The same with a length that says so.
            let mut short = whole[..cut].to_vec();
            if cut >= 4 {
                short[..4].copy_from_slice(&(cut as u32).to_le_bytes());
                assert!(Request::decode(&short).is_err(), "{short:?}");
            }
        }
        let mut long = whole.clone();
        long.push(0);
        assert!(Request::decode(&long).is_err());
        let len = long.len() as u32;
        long[..4].copy_from_slice(&len.to_le_bytes());
        assert!(Request::decode(&long).is_err());
    }
}

#[test]
fn no_bytes_break_the_readers() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let mut samples = Vec::new();
    for request in requests() {
        let mut bytes = Vec::new();
        request.encode(1, &mut bytes);
        samples.push(bytes);
    }
    for reply in replies() {
        let mut bytes = Vec::new();
        reply.encode(1, &mut bytes);
        samples.push(bytes);
    }
    for _ in 0..200_000 {
        let mut bytes = samples[random.usize(..samples.len())].clone();
        for _ in 0..random.usize(..4) {
            let at = random.usize(..bytes.len());
            bytes[at] = random.u8(..);
        }
        if random.bool() {
            bytes.truncate(random.usize(..=bytes.len()));
        }
        // What is decoded at all is decoded from its own encoding to the same.
        if let Ok((tag, request)) = Request::decode(&bytes) {
            let mut again = Vec::new();
            request.encode(tag, &mut again);
            assert_eq!(Request::decode(&again), Ok((tag, request)));
        }
        if let Ok((tag, reply)) = Reply::decode(&bytes) {
            let mut again = Vec::new();
            reply.encode(tag, &mut again);
            assert_eq!(Reply::decode(&again), Ok((tag, reply)));
        }
        assert!(Entries::of(&bytes).count() <= bytes.len());
    }
}

#[test]
fn entries_are_packed_whole() {
    let mut bytes = Vec::new();
    let entry = |name| Entry {
        qid: QID,
        next: 3,
        name,
    };
    assert!(pack(&mut bytes, 60, 8, &entry(b"one")));
    assert!(pack(&mut bytes, 60, 8, &entry(b"two")));
    assert!(!pack(&mut bytes, 60, 8, &entry(b"three")));
    let names: Vec<&[u8]> = Entries::of(&bytes).map(|e| e.unwrap().name).collect();
    assert_eq!(names, [b"one", b"two"]);
    bytes.pop();
    assert!(Entries::of(&bytes).last().unwrap().is_err());
}

#[test]
fn names_are_single_parts_of_paths() {
    for name in [&b"a"[..], b"...", b".a", b"\xff", &[b'x'; 255]] {
        assert!(sing_p9::is_name(name));
    }
    for name in [&b""[..], b".", b"..", b"a/b", b"/", b"a\0", &[b'x'; 256]] {
        assert!(!sing_p9::is_name(name));
    }
}
