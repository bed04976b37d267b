//! A helper name server of this program's own: a tree with a large directory and links.

use crate::{Check, Test, connected, found, is};
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::provider::{Link, Provider, Tree};
use sing_sdk::thread::{self, JoinHandle};
use sing_sdk::walk::{Directories, Entry};

pub const ALL: &[Test] = &[
    ("a large directory in bounded memory", large),
    ("links of a helper", links),
    ("a loop through two name servers", circle),
    ("a helper is no place to register", read_only),
];

/// How many names the large directory has.
const LARGE: usize = 100_000;

/// `/big` with many names, `/d/x`, and links: `/up` to `d` beside it, `/out` out of the tree,
/// `/back` to a link of the root.
struct Shelf;

const LINKS: [(&str, &str); 4] = [
    ("back", "/shelf-back"),
    ("dd", "up"),
    ("out", "/boot/notes.txt"),
    ("up", "d"),
];

impl Directories for Shelf {
    fn list(&mut self, at: &str, after: Option<&str>, most: usize) -> Result<Vec<Entry>, Refusal> {
        let behind = |entry: &Entry| after.is_none_or(|after| entry.name.as_str() > after);
        let all: Vec<Entry> = match at {
            "/big" => {
                let first = after.map_or(Ok(0), str::parse).map_or(0, |n: usize| n + 1);
                let first = if after.is_none() { 0 } else { first };
                let numbers = first..(first + most).min(LARGE);
                return Ok(numbers
                    .map(|n| Entry::service(&format!("{n:05}"), ""))
                    .collect());
            }
            "/" => {
                let links = LINKS.map(|(name, target)| Entry::link(name, target));
                let [back, dd, out, up] = links;
                vec![
                    back,
                    Entry::directory("big"),
                    Entry::directory("d"),
                    dd,
                    out,
                    up,
                ]
            }
            "/d" => vec![Entry::service("x", "ClockContract")],
            _ if self.link(at).is_some() => return Err(Refusal::IsLink),
            _ => return Err(Refusal::NotFound),
        };
        Ok(all.into_iter().filter(behind).take(most).collect())
    }
}

impl Tree<()> for Shelf {
    fn bind(&mut self, path: &str) -> Result<(), Refusal> {
        match path {
            "/d/x" => Ok(()),
            _ if self.link(path).is_some() => Err(Refusal::IsLink),
            _ => Err(Refusal::NotFound),
        }
    }

    fn link(&mut self, path: &str) -> Option<Link> {
        let name = path[1..].split('/').next()?;
        let (_, target) = LINKS.iter().find(|(link, _)| *link == name)?;
        let target = (*target).into();
        Some(Link {
            used: name.len() + 1,
            target,
        })
    }
}

/// Serves the tree in a thread until the registration ends.
fn serve(path: &'static str) -> Result<(Names, JoinHandle<()>), Error> {
    let mut names = connected()?;
    let begin = ClockContract::Exp::send_success;
    let mut shelf = Provider::register_tree(&mut names, path, begin)?;
    let served = thread::spawn(move || {
        let mut tree = Shelf;
        loop {
            switch_receive! {
                case shelf.clients[key].GetUtc() as client => {
                    shelf.clients.put(key, client.send_utc(7));
                }
                case shelf.clients[_].ChannelClosed() => {}
                case &shelf.lookup => {
                    if shelf.answer_names(&mut tree).is_err() {
                        return;
                    }
                }
            }
        }
    })?;
    Ok((names, served))
}

fn ask(names: &mut Names, path: &str) -> Result<u64, Error> {
    let (imp, exp) = ClockContract::new_channel()?;
    names.bind(path, exp)?;
    Ok(imp.recv_success()?.call_get_utc().utc()?.0)
}

/// Its names would take more memory than the program has.
fn large() -> Check {
    let (mut holder, served) = serve("/shelf")?;
    let mut n = connected()?;
    let mut next = 0;
    for found in n.search("/shelf/big/*")? {
        if found?.name() != format!("{next:05}") {
            return Ok(false);
        }
        next += 1;
    }
    let some = is(
        found(&mut n, "/shelf/big/0123[45]"),
        Ok("/shelf/big/01234 /shelf/big/01235".into()),
    );
    let all = is(n.search("/shel[f]/*/*[5]")?.count(), LARGE / 10);
    holder.deregister("/shelf")?;
    served.join()?;
    Ok(is(next, LARGE) & some & all)
}

fn links() -> Check {
    let (mut holder, served) = serve("/shelf")?;
    let mut n = connected()?;
    let ok = is(ask(&mut n, "/shelf/d/x"), Ok(7))
        & is(ask(&mut n, "/shelf/up/x"), Ok(7))
        & is(ask(&mut n, "/shelf/dd/x"), Ok(7))
        & n.open("/shelf/out").is_ok()
        & is(ask(&mut n, "/shelf/none"), Err(Error::NotFound))
        & is(found(&mut n, "/shelf/up/*"), Ok("/shelf/up/x".into()))
        & is(n.read_link("/shelf/out"), Ok("/boot/notes.txt".into()))
        & is(
            found(&mut n, "/shelf/*"),
            Ok("/shelf/back /shelf/big /shelf/d /shelf/dd /shelf/out /shelf/up".into()),
        );
    holder.deregister("/shelf")?;
    served.join()?;
    Ok(ok)
}

fn circle() -> Check {
    let (mut holder, served) = serve("/shelf")?;
    let mut n = connected()?;
    n.link("/shelf-back", "/shelf/back")?;
    let looped = Error::Refused(Refusal::Loop);
    let ok = is(ask(&mut n, "/shelf/back/x"), Err(looped))
        & is(n.find("/shelf-back/x/*").err(), Some(looped))
        & is(ask(&mut n, "/shelf/d/x"), Ok(7));
    // Where the link leads elsewhere, the same path goes on.
    n.deregister("/shelf-back")?;
    n.link("/shelf-back", "/shelf/d")?;
    let ok = ok & is(ask(&mut n, "/shelf/back/x"), Ok(7));
    holder.deregister("/shelf")?;
    served.join()?;
    Ok(ok)
}

fn read_only() -> Check {
    let (mut holder, served) = serve("/shelf")?;
    let mut n = connected()?;
    let ok = is(n.register("/shelf/new").err(), Some(Error::Held))
        & is(n.link("/shelf/new", "/boot").err(), Some(Error::Held))
        & is(n.deregister("/shelf/d").err(), Some(Error::NotFound))
        & is(n.notify("/shelf/d/*").err(), Some(Error::NotFound))
        // The holder of the mount may lay something over it.
        & holder.link("/shelf/over", "/boot/notes.txt").is_ok()
        & n.open("/shelf/over").is_ok();
    holder.deregister("/shelf")?;
    served.join()?;
    Ok(ok)
}
