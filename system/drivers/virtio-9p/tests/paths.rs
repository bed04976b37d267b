//! Paths below a directory, with an honest server.

mod common;

use common::{Node, honest, kind_at, lying, tidy, wish};
use sing_p9::Request;
use sing_sdk::contracts::{FileFault, FileKind};
use std::cell::RefCell;
use std::rc::Rc;
use virtio_9p::{ROOT, Session};

#[test]
fn paths_lead_through_links_and_never_out() {
    use FileFault::{Loop, NotDirectory, NotFound, Outside};
    use FileKind::{Directory, File, Link};
    let mut s = honest();
    for (path, follow, expected) in [
        ("", true, Ok(Directory)),
        (".", true, Ok(Directory)),
        ("file", true, Ok(File)),
        ("./file", true, Ok(File)),
        ("a/b/leaf", true, Ok(File)),
        ("a//b/./leaf", true, Ok(File)),
        ("door/leaf", true, Ok(File)),
        ("door", true, Ok(Directory)),
        ("door", false, Ok(Link)),
        ("door/", false, Ok(Directory)),
        ("a/back", true, Ok(File)),
        ("a/b/../back", true, Ok(File)),
        ("a/b/../../file", true, Ok(File)),
        // Up from where the link has led to.
        ("door/../back", true, Ok(File)),
        ("door/..", true, Ok(Directory)),
        ("a/..", true, Ok(Directory)),
        ("..", true, Err(Outside)),
        ("a/../..", true, Err(Outside)),
        ("a/../../file", true, Err(Outside)),
        ("/file", true, Err(Outside)),
        ("out", true, Err(Outside)),
        ("out", false, Ok(Link)),
        ("a/far", true, Err(Outside)),
        ("absolute", true, Err(Outside)),
        ("absolute/x", true, Err(Outside)),
        ("round", true, Err(Loop)),
        ("round", false, Ok(Link)),
        ("must", true, Err(NotDirectory)),
        ("file/", true, Err(NotDirectory)),
        ("file/x", true, Err(NotDirectory)),
        ("file/..", true, Err(NotDirectory)),
        ("a/b/leaf/x/y", true, Err(NotDirectory)),
        ("none", true, Err(NotFound)),
        ("none/x", true, Err(NotFound)),
        ("a/none/../b", true, Err(NotFound)),
    ] {
        assert_eq!(kind_at(&mut s, path, follow), expected, "{path} {follow}");
        tidy(&mut s);
    }
    let long = "x".repeat(256);
    assert_eq!(kind_at(&mut s, &long, true), Err(FileFault::BadName));
    let deep = "a/../".repeat(4000) + "file";
    assert_eq!(kind_at(&mut s, &deep, true), Err(Loop));
    tidy(&mut s);
}

#[test]
fn a_holder_of_a_directory_does_not_get_above_it() {
    let mut s = honest();
    let a = s.open_at(ROOT, "a", wish(false, true)).unwrap().fid;
    for (path, expected) in [
        ("b/leaf", Ok(FileKind::File)),
        ("b/..", Ok(FileKind::Directory)),
        ("..", Err(FileFault::Outside)),
        ("../file", Err(FileFault::Outside)),
        // The link leads out of this directory, if not out of the whole.
        ("back", Err(FileFault::Outside)),
    ] {
        let found = s.attributes_at(a, path, true).map(|of| of.kind);
        assert_eq!(found, expected, "{path}");
    }
    s.clunk(a);
    tidy(&mut s);
}

#[test]
fn parts_that_are_no_names_are_not_asked_for() {
    let mut s = honest();
    let nodes = &mut s.transport().nodes;
    let mut link = |at: &str, target: String| {
        nodes.insert(at.into(), Node::Link(target.leak()));
    };
    // Each text is short enough; what is left of the way has all of their parts.
    link("/l1", format!("l2/{}", "A".repeat(4000)));
    link("/l2", format!("a/{}", "C".repeat(4000)));
    link("/nul", "a/b\0/leaf".into());
    let path = format!("l1/{}/c", "B".repeat(3990));
    for path in [&path, "nul", "nul/c"] {
        let found = kind_at(&mut s, path, true);
        assert_eq!(found, Err(FileFault::BadName), "{:.9}", path);
        assert!(!s.is_lost());
        tidy(&mut s);
    }
    assert_eq!(kind_at(&mut s, "a/b/leaf", true), Ok(FileKind::File));
}

#[test]
fn a_fid_that_the_server_still_has_is_not_used_again() {
    let mut s = honest();
    // The server says if a fid that it has is to stand for something else.
    s.transport().clunks = false;
    for _ in 0..5 {
        assert_eq!(kind_at(&mut s, "a/b/leaf", true), Ok(FileKind::File));
    }
    assert!(s.transport().fids.len() > 5);
    // It is told when there is memory again.
    s.transport().clunks = true;
    assert_eq!(kind_at(&mut s, "file", true), Ok(FileKind::File));
    tidy(&mut s);
}

#[test]
fn a_directory_is_written_down_for_who_may_change_it() {
    let mut s = honest();
    for (write, expected) in [(true, Ok(())), (false, Err(FileFault::ReadOnly))] {
        let open = s.open_at(ROOT, "a", wish(false, write)).unwrap();
        let before = s.transport().asked;
        assert_eq!(s.sync_of(open, true), expected);
        assert_eq!(s.transport().asked > before, write);
        s.clunk(open.fid);
        tidy(&mut s);
    }
}

/// As on Linux: what is made, removed or renamed is a name, and that of a link is no directory's, though there
/// is a slash behind it.
#[test]
fn a_link_with_a_slash_is_no_name_of_what_it_leads_to() {
    use FileFault::{Exists, IsDirectory, NotDirectory, NotFound};
    type Server = common::Server;
    let done = Rc::new(RefCell::new(Vec::new()));
    let said = Rc::clone(&done);
    let mut s = lying(move |request, _| {
        let names: &[&[u8]] = match request {
            Request::Rename { name, new, .. } => &[name, new],
            Request::Unlink { name, .. } | Request::MakeDirectory { name, .. } => &[name],
            _ => return,
        };
        let names = names
            .iter()
            .map(|name| String::from_utf8_lossy(name).into_owned());
        said.borrow_mut().push(names.collect::<Vec<_>>().join(" "));
    });
    for (name, target) in [("/ldir", "a/b"), ("/lfile", "file"), ("/nowhere", "none")] {
        s.transport().nodes.insert(name.into(), Node::Link(target));
    }
    type Change = fn(&mut Session<Server>, &str) -> Result<(), FileFault>;
    let changes: [(&str, Change); 5] = [
        ("move a", |s, path| s.rename_at(ROOT, "a", path)),
        ("move file", |s, path| s.rename_at(ROOT, "file", path)),
        ("move to new", |s, path| s.rename_at(ROOT, path, "new")),
        ("remove", |s, path| s.remove_at(ROOT, path)),
        ("remove directory", |s, path| {
            s.remove_directory_at(ROOT, path)
        }),
    ];
    for (what, change) in changes {
        for path in ["ldir/", "ldir//", "lfile/", "nowhere/", "round/", "file/"] {
            assert_eq!(change(&mut s, path), Err(NotDirectory), "{what} {path}");
            tidy(&mut s);
        }
    }
    let making: [(&str, Change); 3] = [
        ("directory", |s, path| s.make_directory_at(ROOT, path)),
        ("link", |s, path| s.make_link_at(ROOT, path, "x")),
        ("name", |s, path| s.link_at(ROOT, "file", path)),
    ];
    for (what, make) in making {
        for path in ["ldir/", "nowhere/", "round/", "a/", "file/"] {
            assert_eq!(make(&mut s, path), Err(Exists), "{what} {path}");
            tidy(&mut s);
        }
    }
    assert_eq!(s.rename_at(ROOT, "none", "ldir/"), Err(NotFound));
    assert_eq!(s.link_at(ROOT, "ldir/", "new"), Err(IsDirectory));
    assert_eq!(*done.borrow(), Vec::<String>::new());
    // The link itself, and what lies behind it.
    for (from, to) in [("ldir", "new"), ("a", "ldir/new/"), ("ldir/leaf", "leaf")] {
        assert_eq!(s.rename_at(ROOT, from, to), Ok(()), "{from} {to}");
        tidy(&mut s);
    }
    assert_eq!(*done.borrow(), ["ldir new", "a new", "leaf leaf"]);
}
