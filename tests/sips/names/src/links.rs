//! Symbolic links in the root name server.

use crate::{Check, Test, connected, found, is};
use core::time::Duration;
use sing_sdk::names::Names;
use sing_sdk::prelude::*;

pub const ALL: &[Test] = &[
    ("links lead", lead),
    ("chains and loops", chains),
    ("who may make one where", held),
    ("a link ends with its channel", ends),
    ("registering through a link", through),
    ("a link is found and not followed", walked),
];

fn opens(names: &mut Names, path: &str) -> bool {
    names.open(path).is_ok()
}

fn lead() -> Check {
    let mut n = connected()?;
    n.link("/dev/notes", "/boot/notes.txt")?;
    n.link("/dev/programs", "../boot/bin")?;
    n.link("/dev/self", "notes")?;
    n.link("/everything", "/")?;
    Ok(opens(&mut n, "/dev/notes")
        & opens(&mut n, "/dev/self")
        & opens(&mut n, "/dev/programs/ls")
        & opens(&mut n, "/everything/dev/self")
        & is(
            found(&mut n, "/dev/programs/l[s]"),
            Ok("/dev/programs/ls".into()),
        )
        & is(n.list("/dev/programs")?.len(), n.list("/boot/bin")?.len())
        & is(n.read_link("/dev/programs"), Ok("../boot/bin".into()))
        & is(n.read_link("/boot/notes.txt"), Err(Error::BadArgument))
        & is(n.open("/dev/notes/x").err(), Some(Error::NotFound)))
}

fn chains() -> Check {
    let mut n = connected()?;
    n.link("/chain/0", "/boot/notes.txt")?;
    for i in 1..17 {
        n.link(&format!("/chain/{i}"), &format!("{}", i - 1))?;
    }
    n.link("/round/a", "/round/b")?;
    n.link("/round/b", "a")?;
    n.link("/self", "/self/x")?;
    let looped = Some(Error::Refused(Refusal::Loop));
    // One that gets longer with each turn is at its end before that.
    n.link("/grow", &format!("/grow{}", "/x".repeat(1000)))?;
    let long = Some(Error::Refused(Refusal::TooLong));
    Ok(opens(&mut n, "/chain/15")
        & is(n.open("/chain/16").err(), looped)
        & is(n.open("/round/a").err(), looped)
        & is(n.find("/round/a/*").err(), looped)
        & is(n.register("/round/a/x").err(), looped)
        & is(n.notify("/round/a/*").err(), looped)
        & is(n.open("/self").err(), looped)
        & is(n.open("/grow").err(), long))
}

fn held() -> Check {
    let (mut n, mut other) = (connected()?, connected()?);
    let _kept = n.register("/held/service")?;
    n.link("/held/link", "/boot")?;
    let refused = Some(Error::Held);
    Ok(is(other.link("/held", "/boot").err(), refused)
        & is(other.link("/held/link", "/boot").err(), refused)
        & is(other.register("/held/link").err(), refused)
        & is(other.deregister("/held/link").err(), refused)
        & is(other.link("/boot", "/held").err(), refused)
        & is(other.link("/boot/bin/ls", "/held").err(), refused)
        & is(other.link("/", "/held").err(), refused)
        // Its own: a link is a leaf.
        & is(n.link("/held", "/boot").err(), refused)
        & is(n.link("/held/link/x", "/boot").err(), refused)
        & is(n.deregister("/held/link"), Ok(()))
        & is(n.link("/held/link", "/elsewhere"), Ok(())))
}

fn ends() -> Check {
    let (mut n, mut other) = (connected()?, connected()?);
    other.link("/ends/here", "/boot")?;
    let there = n.list("/ends")?.len() == 1;
    drop(other);
    Ok(there & crate::soon(|| n.list("/ends") == Err(Error::NotFound)))
}

fn through() -> Check {
    let mut n = connected()?;
    n.link("/pub", "/real/place")?;
    let lookup = n.register_as("/pub/clock", "ClockContract")?;
    n.link("/pub/link", "clock")?;
    let there = is(
        found(&mut n, "/real/place/*"),
        Ok("/real/place/clock /real/place/link".into()),
    );
    let gone = is(n.deregister("/pub/clock"), Ok(()));
    drop(lookup);
    Ok(there & gone & is(found(&mut n, "/pub/*"), Ok("/pub/link".into())))
}

fn walked() -> Check {
    let mut n = connected()?;
    n.link("/walk/up", "/walk")?;
    let _kept = n.register_as("/walk/x", "ClockContract")?;
    Ok(is(found(&mut n, "/walk/**"), Ok("/walk/up /walk/x".into()))
        & is(
            found(&mut n, "/walk/up/up/*"),
            Ok("/walk/up/up/up /walk/up/up/x".into()),
        ))
}

/// Makes a link and keeps it for some time.
pub fn keep(path: &str, target: &str, time: Duration) -> Result<i32, Error> {
    let mut n = connected()?;
    n.link(path, target)?;
    sing_sdk::thread::sleep(time);
    Ok(0)
}
