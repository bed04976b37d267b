//! Helpers that break their promises: whoever asks for their part gets a refusal or nothing, and
//! all others what they ask for.

use crate::{Check, Test, connected, found, is};
use core::time::Duration;
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::thread;

pub const ALL: &[Test] = &[
    ("one that never answers", never),
    ("searches past one that never answers", late),
    ("requests that one never answers", held),
    ("one that dies in the middle", dies),
    ("results that are none", garbage),
    ("places that lead nowhere", stuck),
    ("links that are none", false_links),
    ("a walk past all of them", past),
];

type Lookup = NamespaceContract::Exp<NamespaceContract::Ready>;
type Asking = NamespaceContract::Imp<NamespaceContract::Ready>;

fn asking() -> Result<Asking, Error> {
    Ok(connected()?.connect()?.recv_success()?)
}

fn others_are_served(n: &mut Names) -> bool {
    n.open("/boot/notes.txt").is_ok() && n.list("/boot/bin").is_ok()
}

fn never() -> Check {
    use NamespaceContract::imp::{Binding, Finding};
    let mut n = connected()?;
    let silent = n.register("/h/silent")?;
    // The root's own directory is listed, whatever is mounted in it.
    let listed = is(found(&mut n, "/h/*"), Ok("/h/silent".into()));
    let (imp, exp) = ClockContract::new_channel()?;
    let bound = asking()?.send_bind(Text::new("/h/silent/x")?, 0, exp.into());
    let walked = asking()?.send_find(Text::new("/h/**")?, Text::new("")?, Text::new("silent")?);
    let served = others_are_served(&mut n);
    // Its end is an answer: the endpoint has gone with it, and the walk goes on.
    drop(silent);
    let bound = matches!(bound.recv(), Binding::AckBind(_)) && imp.recv_success().is_err();
    let Finding::AckFind(0, _, _, _, after, _) = walked.recv() else {
        return Ok(false);
    };
    Ok(listed & served & bound & is(after.get().as_deref(), Some("silent/")))
}

/// A helper that holds its channel open and never answers: a search from above goes past it after a
/// while, and so does the next one.
fn late() -> Check {
    let mut n = connected()?;
    let lookup = n.register("/h/late")?;
    let _behind = n.register_as("/h/zone", "ClockContract")?;
    let mut other = connected()?;
    let mut good = true;
    for _ in 0..2 {
        let start = sing_sdk::time::uptime();
        let found = other.find("/h/**/zone")?;
        let took = sing_sdk::time::uptime().saturating_sub(start);
        good &= found.iter().any(|f| f.path == "/h/zone");
        good &= (Duration::from_secs(1)..Duration::from_secs(8)).contains(&took);
    }
    drop(lookup);
    Ok(good)
}

/// Requests of every kind to helpers that hold their channels open and never answer: each is refused
/// after a while, whether the helper has it or not. What a helper then says is taken for no answer
/// to anything else, and what it registers it is told to take back.
fn held() -> Check {
    use NamespaceContract::exp::Ready;
    let mut n = connected()?;
    let (linking, binding) = (n.register("/h/held")?, n.register("/h/bound")?);
    type Request = fn(&mut Names) -> Option<Error>;
    let requests: [Request; 7] = [
        |n| n.link("/h/held/l", "/boot").err(),
        |n| n.open("/h/bound/x").err(),
        |n| n.open("/h/held/x").err(),
        |n| n.list("/h/held").err(),
        |n| n.notify("/h/held/x/*").err(),
        |n| n.register("/h/held/r").err(),
        |n| n.link("/h/bound/l", "/boot").err(),
    ];
    let start = sing_sdk::time::uptime();
    let mut clients = Vec::new();
    for (number, request) in requests.into_iter().enumerate() {
        let mut names = connected()?;
        clients.push(thread::spawn(move || request(&mut names))?);
        if number == 1 {
            // These two are with the helpers; the others wait for their turns.
            thread::sleep(Duration::from_millis(300));
        }
    }
    let mut good = true;
    for client in clients {
        good &= is(client.join()?, Some(Error::Refused(Refusal::Silent)));
    }
    let took = sing_sdk::time::uptime().saturating_sub(start);
    good &= (Duration::from_secs(8)..Duration::from_secs(20)).contains(&took);
    let Ready::Link(_, _, _, linking) = linking.recv() else {
        return Ok(false);
    };
    let Ready::Deregister(path, _, linking) = linking.send_ack_link().recv() else {
        return Ok(false);
    };
    good &= is(path.get().as_deref(), Some("/l"));
    let _linking = linking.send_ack_deregister();
    let Ready::Bind(_, _, late, binding) = binding.recv() else {
        return Ok(false);
    };
    let mut other = connected()?;
    let asked = thread::spawn(move || other.open("/h/bound/y").err())?;
    let Ready::Bind(_, _, next, binding) = binding.send_nak_bind(Refusal::NotFound, late).recv()
    else {
        return Ok(false);
    };
    let _binding = binding.send_nak_bind(Refusal::OtherContract, next);
    let refused = Some(Error::Refused(Refusal::OtherContract));
    Ok(good & is(asked.join()?, refused) & others_are_served(&mut n))
}

/// Runs requests of a client in a thread, with a helper that closes at the first.
fn dies() -> Check {
    let mut ok = true;
    for what in 0..5 {
        let mut n = connected()?;
        let lookup = n.register("/h/dying")?;
        let mut other = connected()?;
        let client = thread::spawn(move || {
            Ok::<bool, Error>(match what {
                0 => {
                    let (imp, exp) = ClockContract::new_channel()?;
                    other.bind("/h/dying/x", exp).is_ok() && imp.recv_success().is_err()
                }
                1 => is(other.list("/h/dying").err(), Some(Error::NotFound)),
                2 => matches!(
                    other.register("/h/dying/x")?.recv(),
                    NamespaceContract::exp::Ready::Closed
                ),
                3 => other.notify("/h/dying/x/*")?.recv_changed().is_err(),
                _ => is(other.link("/h/dying/x", "y"), Err(Error::NotFound)),
            })
        })?;
        // The request has come; nobody answers it.
        drop(lookup.recv());
        ok &= client.join()??;
        ok &= others_are_served(&mut n);
    }
    Ok(ok)
}

/// A helper whose thread answers each request as the function says.
fn helper(
    path: &str,
    mut answer: impl FnMut(Lookup) -> Option<Lookup> + Send + 'static,
) -> Result<Names, Error> {
    let mut n = connected()?;
    let mut lookup = n.register(path)?;
    // It ends with the registration.
    drop(thread::spawn(move || {
        while let Some(next) = answer(lookup) {
            lookup = next;
        }
    })?);
    Ok(n)
}

fn text(text: &str) -> Option<Text> {
    Text::new(text).ok()
}

/// Answers a Find with this; nothing else.
fn answer_find(
    lookup: Lookup,
    count: u32,
    (lengths, names): ((u32, u32), &str),
    at: &str,
    after: &str,
) -> Option<Lookup> {
    use NamespaceContract::exp::Ready;
    let kind = NameKind::Service;
    let (path, detail) = lengths;
    let results = Vector::from_slice(&[FindResponse { kind, path, detail }]).ok()?;
    match lookup.recv() {
        Ready::Find(_, _, _, next) => {
            Some(next.send_ack_find(count, results, text(names)?, text(at)?, text(after)?))
        }
        _ => None,
    }
}

fn garbage() -> Check {
    let mut ok = true;
    let broken = Some(Error::BadState);
    for (count, results, at) in [
        (u32::MAX, ((1, 0), "x"), ""),
        (2, ((1, 0), "x"), ""),
        (1, ((1, 1), "x"), ""),
        (1, ((u32::MAX, u32::MAX), "x"), ""),
        (1, ((1, 0), "é"), ""),
        (1, ((1, 0), "x"), "../.."),
        (1, ((1, 0), "x"), "/boot"),
        (1, ((5, 0), "../.."), ""),
    ] {
        let mut n = helper("/h/lies", move |lookup| {
            answer_find(lookup, count, results, at, "")
        })?;
        ok &= is(n.find("/h/lies/*").err(), broken);
        // From above, the root passes over what is no answer.
        let above = n.find("/h/*/x");
        ok &= count == 1 || above.is_ok_and(|found| found.is_empty());
        ok &= others_are_served(&mut n);
    }
    Ok(ok)
}

fn stuck() -> Check {
    let mut ok = true;
    for after in ["x", "../x", "/", "x//"] {
        let one = ((1, 0), "x");
        let mut n = helper("/h/stuck", move |lookup| {
            answer_find(lookup, 1, one, "", after)
        })?;
        // The client finds out, or the root, which goes on behind it.
        ok &= is(n.find("/h/stuck/*").err(), Some(Error::BadState));
        let found = found(&mut n, "/h/*/*")?;
        ok &= is(found.starts_with("/h/stuck/x") && found.len() < 30, true);
    }
    Ok(ok)
}

fn false_links() -> Check {
    use NamespaceContract::exp::Ready;
    let mut ok = true;
    for (used, target, wanted) in [
        (0, "/boot", Error::NotFound),
        (1, "/boot", Error::NotFound),
        (u32::MAX, "/boot", Error::NotFound),
        (2, "\n", Error::Refused(Refusal::BadPath)),
        (2, "/h/false/l", Error::Refused(Refusal::Loop)),
        (2, "l", Error::Refused(Refusal::Loop)),
    ] {
        let mut n = helper("/h/false", move |lookup| {
            Some(match lookup.recv() {
                Ready::Bind(_, _, service, next) => next.send_nak_bind(Refusal::IsLink, service),
                Ready::ReadLink(_, next) => next.send_ack_read_link(used, text(target)?),
                _ => return None,
            })
        })?;
        ok &= is(n.open("/h/false/l").err(), Some(wanted));
    }
    // It says so, and then that there is none.
    let mut n = helper("/h/fickle", |lookup| {
        Some(match lookup.recv() {
            Ready::Bind(_, _, service, next) => next.send_nak_bind(Refusal::IsLink, service),
            Ready::ReadLink(_, next) => next.send_nak_read_link(Refusal::IsLink),
            _ => return None,
        })
    })?;
    Ok(ok & is(n.open("/h/fickle/l").err(), Some(Error::NotFound)))
}

/// What helpers refuse, or answer wrongly, does not end a walk through other parts.
fn past() -> Check {
    use NamespaceContract::exp::Ready;
    let _a = helper("/h/a", |lookup| match lookup.recv() {
        Ready::Find(_, _, _, next) => Some(next.send_nak_find(Refusal::NoResources)),
        _ => None,
    })?;
    let _b = helper("/h/b", |lookup| {
        answer_find(lookup, 0, ((0, 0), ""), "", "")
    })?;
    let mut n = connected()?;
    n.link("/h/c/x", "/boot")?;
    Ok(is(found(&mut n, "/h/*/x"), Ok("/h/c/x".into())))
}

/// Registers, and answers what nobody has asked.
pub fn breach(path: &str) -> Result<i32, Error> {
    let lookup = connected()?.register(path)?;
    sing_sdk::wrong::answer_unasked(lookup);
    Ok(1)
}

/// Registers, and answers nothing until the time is over.
pub fn silent(path: &str, time: Duration) -> Result<i32, Error> {
    let mut names = connected()?;
    let _lookup = names.register(path)?;
    thread::sleep(time);
    Ok(0)
}
