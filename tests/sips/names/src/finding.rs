//! Path specifications in Find and Notify.

use crate::{Check, Test, connected, found, is};
use sing_sdk::names::Names;
use sing_sdk::prelude::*;

pub const ALL: &[Test] = &[
    ("patterns", patterns),
    ("across a mount", across),
    ("what a name is", kinds),
    ("refusals", refusals),
    ("deep and long paths", deep),
    ("many names in pieces", pieces),
    ("changes between pieces", changes),
    ("watchers of patterns", watchers),
];

type Lookup = NamespaceContract::Exp<NamespaceContract::Ready>;

/// Registers services that nobody serves.
fn register(names: &mut Names, paths: &[&str]) -> Result<Vec<Lookup>, Error> {
    let paths = paths.iter();
    paths
        .map(|p| names.register_as(p, "ClockContract"))
        .collect()
}

fn patterns() -> Check {
    let mut n = connected()?;
    let all = [
        "/t/a/x",
        "/t/a/y",
        "/t/a-b",
        "/t/b/x",
        "/t/b/deep/er/x",
        "/t/[1]",
    ];
    let _kept = register(&mut n, &all)?;
    let mut ok = true;
    for (spec, wanted) in [
        ("/t/*", "/t/[1] /t/a /t/a-b /t/b"),
        ("/t/*/x", "/t/a/x /t/b/x"),
        ("/t/?", "/t/a /t/b"),
        ("/t/[a-b]/[!x]", "/t/a/y"),
        ("/t/**/x", "/t/a/x /t/b/deep/er/x /t/b/x"),
        ("/t/b/**", "/t/b/deep /t/b/deep/er /t/b/deep/er/x /t/b/x"),
        ("/t/[[]1]", "/t/[1]"),
        ("/t/a/x", "/t/a/x"),
        ("/t/a", "/t/a"),
        ("/t/*/none", ""),
        ("/*/b/**/er/*", "/t/b/deep/er/x"),
        ("/", "/"),
    ] {
        ok &= is(found(&mut n, spec), Ok(wanted.into()));
    }
    Ok(ok)
}

fn across() -> Check {
    let mut n = connected()?;
    Ok(
        is(found(&mut n, "/boot/bin/l[s]"), Ok("/boot/bin/ls".into()))
        & is(found(&mut n, "/*/bin/l[s]"), Ok("/boot/bin/ls".into()))
        & is(found(&mut n, "/b*/*.txt"), found(&mut n, "/boot/*.txt"))
        & is(found(&mut n, "/**/ls"), Ok("/boot/bin/ls".into()))
        & is(
            n.find("/boot/**").map(|all| all.len()),
            Ok(n.list("/boot")?.len() + n.list("/boot/bin")?.len()),
        )
        // The walk goes on behind the mount.
        & {
            let _kept = register(&mut n, &["/zz/ls"])?;
            is(found(&mut n, "/**/ls"), Ok("/boot/bin/ls /zz/ls".into()))
        },
    )
}

fn kinds() -> Check {
    let mut n = connected()?;
    let _kept = register(&mut n, &["/kinds/clock"])?;
    n.link("/kinds/time", "clock")?;
    let _mount = n.register("/kinds/mount")?;
    let show = |f: &sing_sdk::names::Found| format!("{} {:?} {}", f.name(), f.kind, f.detail);
    let all: Vec<String> = n.list("/kinds")?.iter().map(show).collect();
    let file: Vec<String> = n.find("/boot/notes.txt")?.iter().map(show).collect();
    Ok(is(
        &all[..],
        &[
            "clock Service ClockContract".into(),
            "mount Directory ".into(),
            "time Link clock".into(),
        ],
    ) & is(&file[..], &["notes.txt Service FileContract".into()]))
}

fn refusals() -> Check {
    let mut n = connected()?;
    let refused = |n: &mut Names, spec: &str| found(n, spec).err();
    let reason = |reason| Some(Error::Refused(reason));
    let many = "/*".repeat(64);
    let long = format!("/{}", "?".repeat(256));
    Ok(is(refused(&mut n, "/nowhere/*"), Some(Error::NotFound))
        & is(refused(&mut n, "/boot/none"), Some(Error::NotFound))
        & is(refused(&mut n, "/boot/none/*"), Some(Error::NotFound))
        & is(
            refused(&mut n, "/boot/notes.txt/*"),
            reason(Refusal::NotADirectory),
        )
        & is(refused(&mut n, "boot"), reason(Refusal::BadPath))
        & is(refused(&mut n, "/boot/../*"), reason(Refusal::BadPath))
        & is(refused(&mut n, &many), reason(Refusal::TooLong))
        & is(refused(&mut n, &long), reason(Refusal::TooLong))
        & is(n.notify("relative").err(), reason(Refusal::BadPath))
        & is(n.notify(&many).err(), reason(Refusal::TooLong))
        & is(n.deregister("/boot").err(), Some(Error::Held))
        & is(n.deregister("/none").err(), Some(Error::NotFound))
        & is(n.link("/x", "").err(), reason(Refusal::BadPath))
        & is(n.link("/x", "a\nb").err(), reason(Refusal::BadPath)))
}

/// The longest path there can be, and the deepest; one byte more is refused.
fn deep() -> Check {
    let mut n = connected()?;
    let long = format!("/{}", "x".repeat(4095));
    let deep = "/a".repeat(2048);
    let kept = register(&mut n, &[&long, &deep])?;
    let all = is(n.find("/a/**")?.len(), 2047)
        & is(found(&mut n, &long), Ok(long.clone()))
        & is(found(&mut n, "/xx*"), Ok(long.clone()));
    let longer = n.register(&format!("{long}x")).err();
    drop(kept);
    Ok(all & is(longer, Some(Error::Refused(Refusal::TooLong))))
}

fn pieces() -> Check {
    let mut n = connected()?;
    // Links cost least.
    let most = (0..).find(|i| n.link(&format!("/many/{i:04}"), "/boot").is_err());
    let most = most.unwrap_or(0);
    let all = n.list("/many")?;
    let sorted = all.is_sorted_by(|a, b| a.path < b.path);
    Ok(is(all.len(), most) & sorted & (most > 100))
}

/// Names that stay are found once, whatever else comes and goes meanwhile.
fn changes() -> Check {
    let (mut n, mut other) = (connected()?, connected()?);
    for i in 0..120 {
        n.link(&format!("/stay/{i:03}"), &"x".repeat(300))?;
    }
    let mut seen = Vec::new();
    for (i, found) in n.search("/stay/*")?.enumerate() {
        let found = found?;
        if !found.name().contains('-') {
            seen.push(found.path);
        }
        let (made, gone) = (
            format!("/stay/{i:03}-"),
            format!("/stay/{:03}-", i.wrapping_sub(1)),
        );
        other.link(&made, "/x")?;
        let _ = other.deregister(&gone);
    }
    let count = seen.len();
    seen.dedup();
    Ok(is((count, seen.len()), (120, 120)))
}

fn watchers() -> Check {
    let (mut n, mut other) = (connected()?, connected()?);
    let told = n.notify("/w/*/x")?;
    let _not = other.register("/w/a/y")?;
    let _not = other.register("/w/x")?;
    let quiet = !told.is_ready();
    let lookup = other.register("/w/b/x")?;
    let told = told.recv_changed()?.send_ack();
    drop(lookup);
    let told = told.recv_changed()?.send_ack();
    other.link("/w/c/x", "/boot")?;
    let told = told.recv_changed()?.send_ack();
    other.deregister("/w/c/x")?;
    drop(told.recv_changed()?);
    Ok(quiet)
}
