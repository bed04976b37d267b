//! Servers that lie.

mod common;

use common::{Server, honest, kind_at, lying, say, tidy, wish};
use core::time::Duration;
use sing_p9::{Attributes, Entry, NO_TAG, Qid, Reply, Request, VERSION, pack};
use sing_sdk::contracts::{FileFault, Refusal};
use virtio_9p::{ROOT, Session, Wish};

#[test]
fn what_is_for_reading_on_the_host_is_opened_for_reading() {
    let mut s = honest();
    let open = s.open_at(ROOT, "file", wish(true, true)).unwrap();
    assert!(!open.write);
    let (data, read) = s.read_all(open.fid, 2, vec![0; 9], 1..9);
    assert_eq!((data.unwrap(), read), (b"\0ntent\0\0\0".to_vec(), Ok(5)));
    s.clunk(open.fid);
    for (path, file, fault) in [
        ("a", true, FileFault::IsDirectory),
        ("file", false, FileFault::NotDirectory),
        ("none", true, FileFault::NotFound),
    ] {
        let refused = s.open_at(ROOT, path, wish(file, true)).map(|o| o.fid);
        assert_eq!(refused, Err(fault));
    }
    let truncate = Wish {
        truncate: true,
        ..wish(true, true)
    };
    let refused = s.open_at(ROOT, "file", truncate).map(|o| o.fid);
    assert_eq!(refused, Err(FileFault::ReadOnly));
    tidy(&mut s);
}

#[test]
fn a_special_file_of_the_host_is_not_opened() {
    let mut s = lying(|request, out| {
        if let Request::GetAttributes { .. } = request {
            say(
                out,
                &Reply::Attributes(Attributes {
                    mode: 0o010_644,
                    ..Attributes::default()
                }),
            );
        }
    });
    let refused = s.open_at(ROOT, "file", wish(true, false)).map(|o| o.fid);
    assert_eq!(refused, Err(FileFault::NotSupported));
    assert!(s.transport().open.is_empty());
    tidy(&mut s);
}

#[test]
fn a_server_of_another_protocol_is_none() {
    type Lie = fn(&Request, &mut Vec<u8>);
    let versions: [Lie; 6] = [
        |_, out| out.clear(),
        |_, out| out.truncate(3),
        |_, out| Reply::Error(1).encode(NO_TAG, out),
        |_, out| {
            let (most, version) = (8192, &b"9P2000"[..]);
            Reply::Version { most, version }.encode(NO_TAG, out);
        },
        // Less than names need, and more than was offered.
        |_, out| {
            let (most, version) = (100, VERSION);
            Reply::Version { most, version }.encode(NO_TAG, out);
        },
        |_, out| {
            let (most, version) = (u32::MAX, VERSION);
            Reply::Version { most, version }.encode(NO_TAG, out);
        },
    ];
    for lie in versions {
        assert!(Session::begin(Server::new(lie)).is_err());
    }
    let file = |request: &Request, out: &mut Vec<u8>| {
        if let Request::Attach { .. } = request {
            say(out, &Reply::Attach(Qid::default()));
        }
    };
    assert!(Session::begin(Server::new(file)).is_err());
}

#[test]
fn an_answer_that_is_none_ends_the_session() {
    type Lie = fn(&Request, &mut Vec<u8>);
    let lies: [Lie; 9] = [
        |_, out| out.clear(),
        |_, out| out.truncate(6),
        |_, out| out.push(0),
        // Another request's answer, by its tag and by its type.
        |_, out| out[5] = 2,
        |_, out| out[4] = 121,
        |_, out| out[4] = 0,
        // More than was asked for, and nothing where something was.
        |_, out| say(out, &Reply::Walk(vec![Qid::default(); 16])),
        |_, out| say(out, &Reply::Walk(Vec::new())),
        |_, out| say(out, &Reply::Read(&[0; 100])),
    ];
    for (number, lie) in lies.into_iter().enumerate() {
        let mut s = lying(move |request, out| {
            if let Request::Walk { names, .. } = request
                && !names.is_empty()
            {
                lie(request, out);
            }
        });
        let found = kind_at(&mut s, "file", true);
        assert_eq!(found, Err(FileFault::Medium), "{number}");
        assert!(s.is_lost(), "{number}");
        let asked = s.transport().asked;
        assert_eq!(kind_at(&mut s, "a", true), Err(FileFault::Medium));
        assert_eq!(s.transport().asked, asked, "asked again after the end");
    }
}

#[test]
fn counts_are_no_more_than_was_asked_for() {
    // A read of more than there is room for, and one whose data the device has not written.
    for claimed in [9, u32::MAX - 11, 8] {
        let mut s = lying(move |request, out| {
            if let Request::Read { .. } = request {
                out.truncate(sing_p9::DATA_HEAD);
                out[7..11].copy_from_slice(&claimed.to_le_bytes());
                out[..4].copy_from_slice(&(claimed.wrapping_add(11)).to_le_bytes());
            }
        });
        let open = s.open_at(ROOT, "file", wish(true, false)).unwrap();
        let (data, read) = s.read_all(open.fid, 0, vec![7; 8], 0..8);
        assert_eq!(read, Err(FileFault::Medium), "{claimed}");
        assert!(data.is_some() && s.is_lost());
    }
    for (claimed, expected) in [(9, Err(FileFault::Medium)), (0, Err(FileFault::NoSpace))] {
        let mut s = lying(move |request, out| {
            if let Request::Write { .. } = request {
                say(out, &Reply::Write(claimed));
            }
        });
        let open = s.open_at(ROOT, "file", wish(true, false)).unwrap();
        let (data, written) = s.write_all(open.fid, 0, vec![7; 8], 0..8);
        assert_eq!(written, expected);
        assert!(data.is_some());
    }
    // Bytes one by one come to an end, too.
    let mut s = lying(|request, out| {
        if let Request::Write { .. } = request {
            say(out, &Reply::Write(1));
        }
    });
    let open = s.open_at(ROOT, "file", wish(true, false)).unwrap();
    let (_, written) = s.write_all(open.fid, 0, vec![7; 4096], 0..4096);
    assert_eq!(written, Ok(512));
    let (_, far) = s.write_all(open.fid, u64::MAX, vec![7; 8], 0..8);
    assert_eq!(far, Err(FileFault::TooLarge));
    let (_, behind) = s.read_all(open.fid, u64::MAX, vec![7; 8], 0..8);
    assert_eq!(behind, Ok(0));
}

/// A server whose directories have these entries, again and again.
fn listing(names: &'static [&'static [u8]], ends: bool) -> Session<Server> {
    lying(move |request, out| {
        if let Request::ReadDirectory { offset, count, .. } = request {
            let mut bytes = Vec::new();
            if !ends || *offset == 0 {
                for (at, name) in names.iter().enumerate() {
                    let entry = Entry {
                        qid: Qid::default(),
                        next: at as u64 + 1,
                        name,
                    };
                    assert!(pack(&mut bytes, *count as usize, 8, &entry));
                }
            }
            say(out, &Reply::Directory(&bytes));
        }
    })
}

/// When listings begin.
const NOW: Duration = Duration::from_secs(5);

#[test]
fn names_that_can_be_none_are_not_shown() {
    let bad: &[&[u8]] = &[
        b".",
        b"..",
        b"",
        b"a/b",
        b"/etc",
        b"x\0",
        b"\xff\xfe",
        b"line\nend",
        b"\x1b[31m",
        b"good",
    ];
    let mut s = listing(bad, true);
    let names = s.names("/", None, 100, NOW).unwrap();
    let names: Vec<&str> = names.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, ["good"]);
    let fid = s.open_to_list(ROOT).unwrap();
    let bytes = s.pack_entries(fid, 0, 4096).unwrap();
    let (entry, len) = sing_sdk::fs::unpack(&bytes).unwrap();
    assert_eq!((entry.name.as_str(), len), ("good", bytes.len()));
    // No room for it.
    assert_eq!(s.pack_entries(fid, 0, 27), Err(FileFault::BadRequest));
    s.clunk(fid);
    tidy(&mut s);
}

#[test]
fn a_listing_that_does_not_end_is_given_up() {
    let mut s = listing(&[b"one", b"two"], false);
    assert_eq!(s.names("/", None, 100, NOW), Err(Refusal::NoResources));
    assert!(s.transport().asked < 2000);
    let mut s = listing(&[b".", b".."], false);
    let fid = s.open_to_list(ROOT).unwrap();
    assert_eq!(s.pack_entries(fid, 0, 4096), Err(FileFault::Medium));
    let cut: &[u8] = &[0; 30];
    let mut s = lying(move |request, out| {
        if let Request::ReadDirectory { .. } = request {
            say(out, &Reply::Directory(&cut[..20]));
        }
    });
    assert_eq!(s.names("/", None, 100, NOW), Err(Refusal::NotFound));
    // More than was asked for.
    let mut s = lying(|request, out| {
        if let Request::ReadDirectory { .. } = request {
            say(out, &Reply::Directory(&[0; 20 << 10]));
        }
    });
    assert_eq!(s.names("/", None, 100, NOW), Err(Refusal::NotFound));
    assert!(s.is_lost());
}

#[test]
fn names_come_in_order_and_in_pieces() {
    let names: &[&[u8]] = &[b"d", b"b", b"a", b"e", b"c", b"b.x"];
    let mut s = listing(names, true);
    let (mut all, mut after) = (Vec::new(), None);
    let mut asked = Vec::new();
    loop {
        let piece = s.names("/", after.as_deref(), 2, NOW).unwrap();
        asked.push(s.transport().asked);
        let Some(last) = piece.last() else { break };
        after = Some(last.name.clone());
        all.extend(piece.into_iter().map(|entry| entry.name));
    }
    assert_eq!(all, ["a", "b", "b.x", "c", "d", "e"]);
    // Without those that began the session.
    let whole = asked[0] - 2;
    // The directory is read once: after that, the server is asked only where the path leads.
    let more: Vec<usize> = asked.windows(2).map(|two| two[1] - two[0]).collect();
    assert!(more.iter().all(|more| *more < whole), "{asked:?}");
    // After a while it is read anew.
    let before = s.transport().asked;
    s.names("/", Some("a"), 2, NOW + Duration::from_secs(2))
        .unwrap();
    assert!(s.transport().asked - before >= whole);
    tidy(&mut s);
}

#[test]
fn links_without_end_and_of_any_text_are_bounded() {
    for target in [&b""[..], b"\xff", &[b'x'; 60_000], b"/", b"..", b"a\0b"] {
        let mut s = lying(move |request, out| {
            if let Request::ReadLink { .. } = request {
                say(out, &Reply::ReadLink(target));
            }
        });
        assert!(kind_at(&mut s, "door", true).is_err());
        tidy(&mut s);
    }
    // Each link has a thousand parts before the next.
    let long = "./".repeat(1000) + "door";
    let mut s = lying(move |request, out| {
        if let Request::ReadLink { .. } = request {
            say(out, &Reply::ReadLink(long.as_bytes()));
        }
    });
    assert_eq!(kind_at(&mut s, "door", true), Err(FileFault::Loop));
    assert!(s.transport().asked < 1000);
    // A directory at first, a link when it is looked at again: what it says of the kind is all that
    // counts, and a way up leads through directories alone.
    let mut walks = 0;
    let mut s = lying(move |request, out| {
        if let Request::Walk { names, .. } = request
            && names.len() == 1
        {
            walks += 1;
            if walks > 2 {
                let kind = Qid::LINK;
                let qid = Qid {
                    kind,
                    ..Qid::default()
                };
                say(out, &Reply::Walk(vec![qid]));
            }
        }
    });
    assert!(kind_at(&mut s, "a/b/../b/../b/../b/leaf", true).is_err());
}

#[test]
fn a_long_way_up_and_down_is_given_up() {
    // Everything is a directory.
    let mut s = lying(|request, out| {
        if let Request::Walk { names, .. } = request {
            let kind = Qid::DIRECTORY;
            let qid = Qid {
                kind,
                ..Qid::default()
            };
            say(out, &Reply::Walk(vec![qid; names.len()]));
        }
    });
    let path = "d/".repeat(1000) + &"../d/".repeat(400);
    assert_eq!(kind_at(&mut s, &path, true), Err(FileFault::Loop));
    // With what gives the fids up.
    assert!(s.transport().asked < 3000);
    assert!(!s.is_lost());
}

#[test]
fn attributes_of_any_size_are_cut_to_what_there_can_be() {
    let mut s = lying(|request, out| {
        if let Request::GetAttributes { .. } = request {
            say(
                out,
                &Reply::Attributes(Attributes {
                    links: u64::MAX,
                    size: u64::MAX,
                    blocks: u64::MAX,
                    modified: (u64::MAX, u64::MAX),
                    ..Attributes::default()
                }),
            );
        }
    });
    let of = s.attributes_at(ROOT, "file", true).unwrap();
    assert_eq!(
        (of.links, of.bytes, of.allocated),
        (u32::MAX, u64::MAX, u64::MAX)
    );
    assert_eq!(of.modified, u64::MAX - 1);
}

#[test]
fn no_answers_break_the_driver() {
    let seed = fastrand::u64(..);
    println!("seed {seed}");
    for round in 0..3000 {
        let mut random = fastrand::Rng::with_seed(seed + round);
        let mut of_the_server = random.fork();
        let begun = Session::begin(Server::new(move |_, out| {
            if of_the_server.u32(..8) == 0 && !out.is_empty() {
                let at = of_the_server.usize(..out.len());
                out[at] = of_the_server.u8(..);
            }
        }));
        let Ok(mut s) = begun else { continue };
        for _ in 0..20 {
            let paths = [
                "a/b/leaf",
                "door/../b",
                "file",
                "a/back",
                "round",
                "none/x",
                "",
            ];
            let path = paths[random.usize(..paths.len())];
            match random.u32(..6) {
                0 => drop(kind_at(&mut s, path, random.bool())),
                1 => {
                    if let Ok(open) = s.open_at(ROOT, path, wish(true, random.bool())) {
                        let (_, read) = s.read_all(open.fid, 0, vec![0; 16], 0..16);
                        assert!(read.is_ok_and(|n| n <= 16) || read.is_err());
                        let (_, written) = s.write_all(open.fid, 0, vec![0; 16], 0..16);
                        assert!(written.is_ok_and(|n| n <= 16) || written.is_err());
                        s.clunk(open.fid);
                    }
                }
                2 => drop(s.names("/a", None, 10, NOW)),
                3 => drop(s.rename_at(ROOT, path, "a/new")),
                4 => drop(s.make_directory_at(ROOT, path)),
                _ => drop(s.remove_at(ROOT, path)),
            }
        }
    }
}
