//! What the contracts promise of names: paths, links, renames, listings, and for readers.

use crate::basic::{all, fault};
use crate::checks::{Check, Test};
use crate::stage::Stage;
use sing_sdk::contracts::{FileFault, FileKind};
use sing_sdk::fs::{Directory, File, Options};
use sing_sdk::prelude::*;

pub const ALL: &[Test] = &[
    ("names", names),
    ("paths stay below", paths),
    ("symbolic links", links),
    ("renames", renames),
    ("links with a slash", links_with_a_slash),
    ("listings", listings),
    ("for reading only", to_read),
];

fn names() -> Check {
    let mut stage = Stage::new(8)?;
    let mut root = stage.root()?;
    root.make_directory("a")?;
    root.make_directory("a/b")?;
    drop(root.open_with("a/b/file", Options::create_new())?);
    let mut inner = root.open_directory("a/b")?;
    let at = stage.at.clone();
    let long = "n".repeat(255);
    drop(root.open_with(&long, Options::create())?);
    let holds = [
        fault(root.make_directory("a")) == Some(FileFault::Exists),
        fault(root.make_directory("x/y")) == Some(FileFault::NotFound),
        fault(root.make_directory("a/b/file/x")) == Some(FileFault::NotDirectory),
        fault(root.open_with("a/b/file", Options::create_new())) == Some(FileFault::Exists),
        fault(root.open_file("a/b/none")) == Some(FileFault::NotFound),
        fault(root.open_file("a")) == Some(FileFault::IsDirectory),
        fault(root.open_file("a/b/file/")) == Some(FileFault::NotDirectory),
        fault(root.open_directory("a/b/file")) == Some(FileFault::NotDirectory),
        fault(root.open_with(&"n".repeat(256), Options::create())) == Some(FileFault::BadName),
        fault(root.open_file(&"x/".repeat(3000))) == Some(FileFault::BadName),
        fault(root.remove_directory("a/b")) == Some(FileFault::NotEmpty),
        fault(root.remove("a/b")) == Some(FileFault::IsDirectory),
        fault(root.remove_directory("a/b/file")) == Some(FileFault::NotDirectory),
        inner.attributes("file")?.kind == FileKind::File,
        inner.open_directory("")?.attributes("file")?.bytes == 0,
        fault(File::open(&mut stage.names, &format!("{at}/a"))) == Some(FileFault::IsDirectory),
        fault(File::open(&mut stage.names, &format!("{at}/a/b/file/x")))
            == Some(FileFault::NotDirectory),
        File::open(&mut stage.names, &format!("{at}/a/b/file")).is_ok(),
    ];
    root.remove("a/b/file")?;
    root.remove_directory("a/b")?;
    // An open directory that has been removed is empty, and nothing can be made in it.
    let gone = inner.list().next().is_none()
        && fault(inner.open_with("x", Options::create())) == Some(FileFault::NotFound);
    root.remove_directory("a")?;
    all(&[
        all(&holds)?,
        gone,
        fault(root.attributes("a")) == Some(FileFault::NotFound),
    ])
}

fn paths() -> Check {
    let mut stage = Stage::new(8)?;
    let mut root = stage.root()?;
    root.make_directory("a")?;
    root.make_directory("a/b")?;
    drop(root.open_with("secret", Options::create())?);
    drop(root.open_with("a/mine", Options::create())?);
    root.make_link("a/out", "../secret")?;
    root.make_link("a/absolute", "/boot/notes.txt")?;
    root.make_link("a/down", "b/../mine")?;
    let mut jail = root.open_directory("a")?;
    let out = Some(FileFault::Outside);
    all(&[
        fault(jail.open_file("../secret")) == out,
        fault(jail.open_file("b/../../secret")) == out,
        fault(jail.open_file("..")) == out,
        fault(jail.open_file("/secret")) == out,
        fault(jail.open_file("out")) == out,
        fault(jail.open_file("absolute")) == out,
        fault(jail.open_with("../new", Options::create())) == out,
        fault(jail.rename("mine", "../mine")) == out,
        fault(jail.make_link("../l", "x")) == out,
        jail.open_file("./b/.././mine").is_ok(),
        jail.open_file("down").is_ok(),
        // From further up, the same link leads to a place below.
        root.open_file("a/out").is_ok(),
    ])
}

fn links() -> Check {
    let mut stage = Stage::new(8)?;
    let mut root = stage.root()?;
    root.open_with("file", Options::create())?
        .write_at(0, b"x")?;
    root.make_link("soft", "file")?;
    root.make_link("circle", "circle")?;
    root.make_link("nowhere", "nothing/there")?;
    root.make_link("later", "made")?;
    root.make_link("dot", ".")?;
    root.link("file", "hard")?;
    let soft = root.attributes_of_link("soft")?;
    let hard = root.attributes("hard")?;
    let holds = [
        root.read_link("soft")? == "file",
        (soft.kind, soft.bytes) == (FileKind::Link, 4),
        root.attributes("soft")?.id == hard.id && hard.links == 2,
        fault(root.read_link("file")) == Some(FileFault::BadRequest),
        fault(root.open_file("circle")) == Some(FileFault::Loop),
        fault(root.open_file("nowhere")) == Some(FileFault::NotFound),
        fault(root.open_with("soft", Options::read().no_follow())) == Some(FileFault::Loop),
        fault(root.open_with("soft", Options::create_new())) == Some(FileFault::Exists),
        root.attributes("dot")?.kind == FileKind::Directory && root.attributes("./dot/.").is_ok(),
        root.attributes("dot/file")?.id == hard.id,
        fault(root.attributes("soft/.")) == Some(FileFault::NotDirectory),
        root.open_with("later", Options::create()).is_ok() && root.attributes("made").is_ok(),
        fault(root.make_link("empty", "")) == Some(FileFault::BadName),
        fault(root.link("none", "x")) == Some(FileFault::NotFound),
        fault(root.link("file", "soft")) == Some(FileFault::Exists),
    ];
    root.remove("file")?;
    let left = root.attributes("hard")?.links;
    all(&[
        all(&holds)?,
        left == 1,
        fault(root.attributes("soft")) == Some(FileFault::NotFound),
    ])
}

fn renames() -> Check {
    let mut stage = Stage::new(8)?;
    let mut root = stage.root()?;
    for name in ["d", "d/e", "empty", "full", "full/x"] {
        root.make_directory(name)?;
    }
    root.open_with("one", Options::create())?
        .write_at(0, b"one")?;
    root.open_with("two", Options::create())?
        .write_at(0, b"two")?;
    root.rename("one", "two")?;
    root.rename("two", "d/e/three")?;
    let holds = [
        root.open_file("d/e/three")?.read_to_end()? == b"one",
        fault(root.attributes("one")) == Some(FileFault::NotFound),
        fault(root.rename("d", "d/e/d")) == Some(FileFault::Loop),
        fault(root.rename("d", "full")) == Some(FileFault::NotEmpty),
        fault(root.rename("d/e/three", "empty")) == Some(FileFault::IsDirectory),
        fault(root.rename("empty", "d/e/three")) == Some(FileFault::NotDirectory),
        fault(root.rename("none", "x")) == Some(FileFault::NotFound),
        root.rename("d", "empty").is_ok(),
        root.rename("empty/e/three", "empty/e/three").is_ok(),
        root.attributes("empty/e/three")?.bytes == 3,
    ];
    all(&holds)
}

/// What is made, removed or renamed is a name, and that of a link is no directory's.
fn links_with_a_slash() -> Check {
    let mut stage = Stage::new(8)?;
    let mut root = stage.root()?;
    for name in ["d", "empty"] {
        root.make_directory(name)?;
    }
    drop(root.open_with("file", Options::create())?);
    for (name, target) in [("to", "empty"), ("nowhere", "none"), ("round", "round")] {
        root.make_link(name, target)?;
    }
    let (no, there) = (Some(FileFault::NotDirectory), Some(FileFault::Exists));
    let mut holds = Vec::new();
    for path in ["to/", "nowhere/", "round//", "file/"] {
        holds.extend([
            fault(root.rename("d", path)) == no,
            fault(root.rename("file", path)) == no,
            fault(root.rename(path, "new")) == no,
            fault(root.remove(path)) == no,
            fault(root.remove_directory(path)) == no,
            fault(root.make_directory(path)) == there,
            fault(root.make_link(path, "x")) == there,
            fault(root.link("file", path)) == there,
        ]);
    }
    holds.extend([
        fault(root.rename("none", "to/")) == Some(FileFault::NotFound),
        fault(root.make_link("made/", "x")) == Some(FileFault::NotFound),
        fault(root.link("to/", "new")) == Some(FileFault::IsDirectory),
        root.rename("d/", "to/d/").is_ok() && root.attributes("empty/d").is_ok(),
        root.attributes("to/")?.kind == FileKind::Directory,
        root.rename("to", "new").is_ok() && root.read_link("new")? == "empty",
    ]);
    all(&holds)
}

fn listed(directory: &mut Directory) -> Result<Vec<String>, Error> {
    let mut names: Vec<String> = directory
        .list()
        .map(|e| e.map(|e| e.name))
        .collect::<Result<_, _>>()?;
    names.sort_unstable();
    Ok(names)
}

fn listings() -> Check {
    let mut stage = Stage::new(8)?;
    let mut root = stage.root()?;
    root.make_directory("d")?;
    let mut directory = root.open_directory("d")?;
    let name = |n: usize| format!("a name of some length, number {n:04}");
    for n in 0..1000 {
        drop(directory.open_with(&name(n), Options::create_new())?);
    }
    let every: Vec<String> = (0..1000).map(name).collect();
    let whole = listed(&mut directory)? == every;
    // What stays comes once, whatever goes and comes meanwhile.
    let mut other = root.open_directory("d")?;
    let mut seen = Vec::new();
    for (at, entry) in directory.list().enumerate() {
        seen.push(entry?.name);
        if at % 10 == 0 && at < 500 {
            other.remove(&name(999 - at))?;
            drop(other.open_with(&format!("new {at}"), Options::create())?);
        }
    }
    seen.retain(|n| !n.starts_with("new"));
    let stays = |n: &String| (0..500).step_by(10).all(|at| *n != name(999 - at));
    let all_there = every
        .iter()
        .filter(|n| stays(n))
        .all(|n| seen.iter().filter(|s| *s == n).count() == 1);
    all(&[whole, all_there, listed(&mut root)? == ["d"]])
}

fn to_read() -> Check {
    let mut stage = Stage::new(8)?;
    let mut root = stage.root()?;
    root.make_directory("d")?;
    root.open_with("d/f", Options::create())?
        .write_at(0, b"text")?;
    let mut file = root.open_file("d/f")?;
    let mut further = file.another()?;
    let mut passed = root.open_with("d/f", Options::write())?.another_to_read()?;
    let mut below = root.open_directory_to_read("d")?;
    let no = Some(FileFault::ReadOnly);
    let written_below = below.open_with("f", Options::write())?.write_at(0, b"x");
    let holds = [
        file.read_to_end()? == b"text",
        fault(file.write_at(0, b"x")) == no,
        fault(file.append(b"x")) == no,
        fault(file.set_size(0)) == no,
        fault(file.set_times(1, 1)) == no,
        fault(further.write_at(0, b"x")) == no,
        fault(passed.write_at(0, b"x")) == no && passed.read_to_end()? == b"text",
        fault(written_below) == no,
        fault(below.open_with("g", Options::create())) == no,
        fault(below.open_with("f", Options::write().truncate())) == no,
        fault(below.remove("f")) == no,
        fault(below.rename("f", "g")) == no,
        fault(below.make_directory("x")) == no,
        fault(below.set_times("f", 1, 1)) == no,
        fault(below.open_directory("")?.remove("f")) == no,
    ];
    drop((file, further, passed, below, root));
    // The whole file system for reading.
    let (disk, at) = (stage.disk.clone(), stage.at.clone());
    let unmounted = stage.control.unmount(&at, false)? == Ok(());
    let mounted = stage.control.mount(&disk, &at, true)? == Ok(());
    let mut root = stage.root()?;
    all(&[
        all(&holds)?,
        unmounted && mounted,
        root.open_file("d/f")?.read_to_end()? == b"text",
        fault(root.open_with("d/f", Options::write())?.write_at(0, b"x")) == no,
        fault(root.make_directory("x")) == no,
        root.sync().is_ok(),
        stage.control.mounts()?.contains("\tro\t"),
    ])
}
