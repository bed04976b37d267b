//! What `FileChangesContract` promises: whoever watches knows of each change before anybody can have heard of
//! it by an answer, and of nothing else.

use crate::basic::all;
use crate::checks::{Check, Test};
use crate::stage::Stage;
use core::time::Duration;
use sing_sdk::fs::{Changes, Directory, KEEP, Moment, Options};
use sing_sdk::prelude::*;
use sing_sdk::time::{sleep, uptime};

pub const ALL: &[Test] = &[
    ("changes are told before they are answered", told),
    ("watchers of changes are bounded", bounded),
    ("a watched file system can be unmounted", unmounted),
];

/// More channels than a file system has for one program.
const MANY: usize = 200;

/// Has it watch; the moment, which must come.
fn watch(changes: &mut Changes) -> Result<Moment, Error> {
    let until = uptime() + Duration::from_secs(5);
    while uptime() < until {
        if let Some(moment) = changes.moment() {
            return Ok(moment);
        }
        changes.watch();
        sleep(Duration::from_micros(100));
    }
    Err(Error::Timeout)
}

/// What is done, and whether it changes anything.
type Step = (&'static str, bool, fn(&mut Directory) -> Result<(), Error>);

fn write(root: &mut Directory, path: &str, offset: u64, bytes: &[u8]) -> Result<(), Error> {
    let mut file = root.open_with(path, Options::create())?;
    file.write_at(offset, bytes)
}

const STEPS: &[Step] = &[
    ("make a directory", true, |d| d.make_directory("docs")),
    ("look at it", false, |d| d.attributes("docs").map(drop)),
    ("make a file", true, |d| {
        d.open_with("docs/a", Options::create()).map(drop)
    }),
    ("open it", false, |d| {
        d.open_with("docs/a", Options::create()).map(drop)
    }),
    ("write to it", true, |d| write(d, "docs/a", 0, &[1; 10_000])),
    ("read it", false, |d| {
        d.open_file("docs/a")?.read_to_end().map(drop)
    }),
    ("write what is in memory", true, |d| {
        write(d, "docs/a", 5, b"x")
    }),
    ("append to it", true, |d| {
        d.open_with("docs/a", Options::write())?.append(b"more")
    }),
    ("make it shorter", true, |d| {
        d.open_with("docs/a", Options::write())?.set_size(100)
    }),
    ("throw its content away", true, |d| {
        d.open_with("docs/a", Options::write().truncate()).map(drop)
    }),
    ("set its times", true, |d| d.set_times("docs/a", 7, KEEP)),
    ("give it another name", true, |d| d.link("docs/a", "docs/b")),
    ("rename it", true, |d| d.rename("docs/a", "docs/c")),
    ("make a link", true, |d| d.make_link("soft", "docs")),
    ("read the link", false, |d| d.read_link("soft").map(drop)),
    ("list it", false, |d| {
        let mut docs = d.open_directory("docs")?;
        docs.list().try_for_each(|entry| entry.map(drop))
    }),
    ("rename a directory above it", true, |d| {
        d.rename("docs", "old")
    }),
    ("remove a name", true, |d| d.remove("old/b")),
    ("remove the last", true, |d| d.remove("old/c")),
    ("remove the directory", true, |d| d.remove_directory("old")),
    ("be refused", false, |d| match d.remove("nothing") {
        Err(Error::NotFound) => Ok(()),
        other => other,
    }),
    ("have it written down", false, Directory::sync),
];

fn told() -> Check {
    let mut stage = Stage::new(8)?;
    let mut root = stage.root()?;
    let mut changes = root.changes()?;
    // By another connection, as by another program.
    let mut other = stage.root()?;
    if root.changes()?.of() != changes.of() {
        println!("filetest: the same directory has two names");
        return Ok(false);
    }
    for (what, changed, step) in STEPS {
        let before = watch(&mut changes)?;
        step(&mut other)?;
        let after = changes.moment();
        let good = match changed {
            true => after.is_none(),
            false => after == Some(before),
        };
        if !good {
            println!("filetest: {what}: {before:?}, then {after:?}");
            return Ok(false);
        }
    }
    // A directory below is another one.
    root.make_directory("docs")?;
    let below = root.open_directory("docs")?.changes()?;
    all(&[below.of() != changes.of(), below.of().0 == changes.of().0])
}

fn bounded() -> Check {
    let mut stage = Stage::new(8)?;
    let mut root = stage.root()?;
    let mut kept = Vec::new();
    let refused = loop {
        match root.changes() {
            Ok(changes) if kept.len() < MANY => kept.push(changes),
            other => break other.err(),
        }
    };
    for changes in &mut kept {
        watch(changes)?;
    }
    // The file system serves on, and all are told.
    root.make_directory("a")?;
    let told = kept.iter_mut().filter_map(Changes::moment).count() == 0;
    let count = kept.len();
    // Their room is there again as soon as their ends are seen, watched or not.
    for changes in kept.iter_mut().step_by(2) {
        watch(changes)?;
    }
    kept.clear();
    let until = uptime() + Duration::from_secs(5);
    while kept.len() < count && uptime() < until {
        match root.changes() {
            Ok(changes) => kept.push(changes),
            Err(_) => sleep(Duration::from_millis(2)),
        }
    }
    all(&[
        refused == Some(Error::NoResources),
        count > 2 && told,
        kept.len() == count,
    ])
}

fn unmounted() -> Check {
    let mut stage = Stage::new(8)?;
    let at = stage.at.clone();
    let mut root = stage.root()?;
    let mut changes = root.changes()?;
    watch(&mut changes)?;
    drop(root);
    let done = stage.control.unmount(&at, false)? == Ok(());
    all(&[done, changes.moment().is_none(), changes.is_gone()])
}
