//! What Notify promises below a mount point: who is told of which changes of names, and at whose
//! cost.

use crate::basic::all;
use crate::checks::{Check, Test};
use crate::stage::{Stage, connected};
use core::time::Duration;
use sing_sdk::fs::Options;
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::time::{sleep, uptime};

pub const ALL: &[Test] = &[
    ("watchers of directories", watchers),
    ("watchers are bounded", bounded),
];

/// More watchers than a file system has for one program.
const MANY: usize = 200;

struct Told(Option<NotifyContract::Exp<NotifyContract::Start>>);

impl Told {
    fn of(names: &mut Names, spec: &str) -> Result<Told, Error> {
        names.notify(spec).map(|told| Told(Some(told)))
    }

    /// Whether nothing has come. The file system tells before it answers the request.
    fn is_quiet(&self) -> bool {
        self.0.as_ref().is_some_and(|told| !told.is_ready())
    }

    /// Whether a change is told; the next one is, too.
    fn hears(&mut self) -> Result<bool, Error> {
        let until = uptime() + Duration::from_secs(5);
        while self.is_quiet() && uptime() < until {
            sleep(Duration::from_millis(1));
        }
        let Some(told) = self.0.take() else {
            return Ok(false);
        };
        if !told.is_ready() {
            self.0 = Some(told);
            return Ok(false);
        }
        self.0 = Some(told.recv_changed()?.send_ack());
        // The file system has the answer when it serves somebody else.
        sleep(Duration::from_millis(5));
        Ok(true)
    }
}

fn watchers() -> Check {
    let mut stage = Stage::new(8)?;
    let mut root = stage.root()?;
    let at = stage.at.clone();
    let mut names = connected()?;
    let mut docs = Told::of(&mut names, &format!("{at}/docs/*"))?;
    let mut texts = Told::of(&mut names, &format!("{at}/docs/*.txt"))?;
    let mut every = Told::of(&mut names, &format!("{at}/**"))?;
    let mut holds = vec![docs.is_quiet() && texts.is_quiet() && every.is_quiet()];
    // The directory comes.
    root.make_directory("docs")?;
    holds.push(docs.hears()? && texts.hears()? && every.hears()?);
    let mut file = root.open_with("docs/a.txt", Options::create())?;
    holds.push(docs.hears()? && texts.hears()? && every.hears()?);
    // No name comes or goes.
    file.write_at(0, b"text")?;
    drop(root.open_with("docs/a.txt", Options::create())?);
    holds.push(docs.is_quiet() && texts.is_quiet() && every.is_quiet());
    root.link("docs/a.txt", "docs/b")?;
    holds.push(docs.hears()? && texts.is_quiet() && every.hears()?);
    root.rename("docs/a.txt", "docs/c")?;
    holds.push(docs.hears()? && texts.hears()? && every.hears()?);
    root.remove("docs/b")?;
    holds.push(docs.hears()? && texts.is_quiet() && every.hears()?);
    // Elsewhere, and below a name that matches.
    root.make_directory("docs/sub")?;
    holds.push(docs.hears()? && every.hears()?);
    root.make_link("soft", "docs")?;
    holds.push(docs.is_quiet() && texts.is_quiet() && every.hears()?);
    root.make_directory("docs/sub/deep")?;
    holds.push(docs.hears()? && every.hears()?);
    root.remove_directory("docs/sub/deep")?;
    holds.push(docs.hears()? && every.hears()?);
    // A refused change is none.
    holds.push(root.make_directory("docs").is_err() && docs.is_quiet() && every.is_quiet());
    // The directory goes, and what happens in it is elsewhere; another takes its place.
    root.rename("docs", "old")?;
    holds.push(docs.hears()? && every.hears()?);
    root.make_directory("old/x")?;
    holds.push(docs.is_quiet() && every.hears()?);
    root.make_directory("docs")?;
    holds.push(docs.hears()? && every.hears()?);
    // One message for the first, and one for all others before that is answered.
    for name in ["1", "2", "3"] {
        root.make_directory(&format!("docs/{name}"))?;
    }
    holds.push(docs.hears()? && docs.hears()? && docs.is_quiet());
    // A watched directory can be unmounted, and that ends the watch.
    drop((file, root));
    holds.push(stage.control.unmount(&at, false)? == Ok(()));
    holds.push(docs.hears() == Err(Error::Closed));
    all(&holds)
}

fn bounded() -> Check {
    let mut stage = Stage::new(8)?;
    let mut root = stage.root()?;
    let mut names = connected()?;
    let spec = format!("{}/*", stage.at);
    let mut kept = Vec::new();
    let refused = loop {
        match Told::of(&mut names, &spec) {
            Ok(told) if kept.len() < MANY => kept.push(told),
            other => break other.err(),
        }
    };
    // The file system serves on, and all are told.
    root.make_directory("a")?;
    let mut told = 0;
    for watcher in &mut kept {
        told += usize::from(!watcher.is_quiet());
    }
    let (had, some) = (kept.len(), kept.len() > 2);
    kept.clear();
    // Their room is there again as soon as their ends are seen.
    let until = uptime() + Duration::from_secs(5);
    while Told::of(&mut names, &spec).is_err() && uptime() < until {
        sleep(Duration::from_millis(2));
    }
    all(&[
        refused == Some(Error::NoResources),
        some && told == had,
        Told::of(&mut names, &spec).is_ok(),
    ])
}
