//! What is mounted at the root of a name space, with a name server of our own, whose system we are.

use crate::{Check, Test, found, is};
use core::ops::{Deref, DerefMut};
use core::time::Duration;
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::process::{Child, stop};
use sing_sdk::thread;
use sing_sdk::time::uptime;

pub const ALL: &[Test] = &[
    ("listings past a mount that never answers", silent),
    ("many directories beside a mount that never answers", beside),
    ("changes below the mount", changes),
    ("who may be mounted", trusted),
    ("who may be mounted with a successor", succeeded),
    ("a mount that ends and comes back", back),
    ("what a mount was asked that ends and comes back", under_way),
    ("what the mount itself wants", itself),
];

type Lookup = NamespaceContract::Exp<NamespaceContract::Ready>;

/// A name server that ends with its last client, and the channel that it has from the start.
struct Private {
    names: Names,
    // Dropped behind the channel.
    _server: Ending,
}

impl Deref for Private {
    type Target = Names;

    fn deref(&self) -> &Names {
        &self.names
    }
}

impl DerefMut for Private {
    fn deref_mut(&mut self) -> &mut Names {
        &mut self.names
    }
}

/// Is paid from this program's budget, which has no room for the next one beside it: when this has been
/// dropped, it has ended.
struct Ending(Child);

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.join_within(Duration::from_secs(5).into());
    }
}

fn private() -> Result<Private, Error> {
    let (imp, exp) = NamespaceContract::new_channel()?;
    let server = Child::of("nameserver")
        .args(["nameserver"])
        .endpoint("clients", exp)
        .start()?;
    server.detach()?;
    Ok(Private {
        names: Names::new(imp)?,
        _server: Ending(server),
    })
}

/// Answers a Find with one name.
fn answer(mount: Lookup, name: &str) -> Result<Lookup, Error> {
    let NamespaceContract::exp::Ready::Find(_, _, _, next) = mount.recv() else {
        return Err(Error::NotFound);
    };
    send_name(next, name)
}

fn send_name(
    asked: NamespaceContract::Exp<NamespaceContract::Finding>,
    name: &str,
) -> Result<Lookup, Error> {
    let results = Vector::from_slice(&[FindResponse {
        kind: NameKind::Service,
        path: name.len() as u32,
        detail: 0,
    }])?;
    let end = || Text::new("");
    Ok(asked.send_ack_find(1, results, Text::new(name)?, end()?, end()?))
}

/// Who lists the root gets the name server's own names after a while, and the late answer is not
/// taken for one to the next request.
fn silent() -> Check {
    let mut own = private()?;
    let mount = own.register("/")?;
    let _zone = own.register_as("/zone", "ClockContract")?;
    let mut other = Names::new(own.connect()?)?;
    let mut third = Names::new(own.connect()?)?;
    let start = uptime();
    let first = thread::spawn(move || found(&mut other, "/*"))?;
    thread::sleep(Duration::from_millis(1500));
    let asked = thread::spawn(move || found(&mut third, "/*"))?;
    let listed = is(first.join()?, Ok("/zone".into()));
    let took = uptime().saturating_sub(start);
    let soon = (Duration::from_secs(1)..Duration::from_secs(8)).contains(&took);
    // The second request is in the queue still.
    let mount = answer(mount, "late")?;
    let _mount = answer(mount, "mine")?;
    let answered = is(asked.join()?, Ok("/mine /zone".into()));
    Ok(listed & soon & answered)
}

/// Who lists all directories of the name server waits for a silent mount once, not for each.
fn beside() -> Check {
    let mut own = private()?;
    let _mount = own.register("/")?;
    let mut kept = Vec::new();
    for number in 0..12 {
        kept.push(own.register_as(&format!("/d{number:02}/zone"), "ClockContract")?);
    }
    let mut other = Names::new(own.connect()?)?;
    let start = uptime();
    let listed = found(&mut other, "/**").map(|all| all.split(' ').count());
    let took = uptime().saturating_sub(start);
    let once = (Duration::from_secs(1)..Duration::from_secs(8)).contains(&took);
    if !once {
        println!("names: {took:?} for 12 directories");
    }
    Ok(is(listed, Ok(24)) & once)
}

/// Who watches a directory of the mount is told of its changes there, and of its end.
fn changes() -> Check {
    let mut own = private()?;
    let mount = own.register("/")?;
    let mut other = Names::new(own.connect()?)?;
    let mut told = other.notify("/docs")?;
    let NamespaceContract::exp::Ready::Notify(_, _, reports, next) = mount.recv() else {
        return Ok(false);
    };
    let mount = next.send_ack_notify();
    let _reports = reports.send_changed();
    let mut good = crate::soon(|| told.is_ready());
    if good {
        told = told.recv_changed()?.send_ack();
    }
    drop(mount);
    good &= crate::soon(|| told.is_ready());
    Ok(good)
}

/// The system itself is, and what a client of its own has started that registers names, as the
/// service manager does; no other program is.
fn trusted() -> Check {
    let mut own = private()?;
    let mut program = Names::new(own.connect()?)?;
    let mut good = is(program.register("/").err(), Some(Error::Held));
    let lookup = own.register_as("/zone", "ClockContract")?;
    let mut service = Names::new(own.connect()?)?;
    // What a service has connected is of the same origin.
    let mut worker = Names::new(service.connect()?)?;
    drop(service);
    let mount = worker.register("/");
    good &= is(mount.is_ok(), true);
    good &= is(own.register("/").err(), Some(Error::Held));
    // Those who were started before are no services.
    good &= is(worker.deregister("/"), Ok(()));
    good &= is(program.register("/").err(), Some(Error::Held));
    good &= is(own.register("/").is_ok(), true);
    drop(lookup);
    Ok(good)
}

/// What the service manager starts between the end of a name server and its own return to the next
/// one is a service as any other; and no other program becomes one.
fn succeeded() -> Check {
    let (imp, exp) = NamespaceContract::new_channel()?;
    let first = Child::of("nameserver")
        .args(["nameserver"])
        .endpoint("clients", exp)
        .start()?;
    first.supervise()?;
    let mut own = Names::new(imp)?;
    let mut program = Names::new(own.connect()?)?;
    let _lookup = own.register_as("/zone", "ClockContract")?;
    first.stop(stop::KILLED)?;
    first.join()?;
    let next = first.renew()?;
    next.start()?;
    let mut service = Names::new(own.connect()?)?;
    let mount = service.register("/");
    let mut good = is(mount.as_ref().err(), None);
    drop(service);
    good &= is(program.register("/").err(), Some(Error::Held));
    // And so with the next one.
    next.stop(stop::KILLED)?;
    next.join()?;
    let last = next.renew()?;
    last.start()?;
    let mut service = Names::new(own.connect()?)?;
    good &= is(service.register("/").err(), None);
    last.stop(stop::KILLED)?;
    last.join()?;
    Ok(good)
}

/// Who asks for a name of a mount that has just ended waits until it is back; if it stays away, the
/// name is not there after a while.
fn back() -> Check {
    use NamespaceContract::exp::Ready;
    let mut own = private()?;
    let mut program = Names::new(own.connect()?)?;
    let mut other = Names::new(own.connect()?)?;
    drop(own.register("/")?);
    let asked = thread::spawn(move || program.open("/file").err())?;
    thread::sleep(Duration::from_millis(300));
    let mount = own.register("/")?;
    let Ready::Bind(path, _, service, mount) = mount.recv() else {
        return Ok(false);
    };
    let mut good = is(path.get().as_deref(), Some("/file"));
    let mount = mount.send_nak_bind(Refusal::OtherContract, service);
    good &= is(asked.join()?, Some(Error::Refused(Refusal::OtherContract)));
    drop(mount);
    let start = uptime();
    good &= is(other.open("/file").err(), Some(Error::NotFound));
    let took = uptime().saturating_sub(start);
    good &= (Duration::from_secs(1)..Duration::from_secs(9)).contains(&took);
    // Taken down on purpose, it is not waited for.
    let _mount = own.register("/")?;
    good &= is(own.deregister("/"), Ok(()));
    let start = uptime();
    good &= is(other.open("/file").err(), Some(Error::NotFound));
    Ok(good & (uptime().saturating_sub(start) < Duration::from_secs(1)))
}

/// Who has asked a mount that ends is answered by the next one, whether the first had got the
/// request or not.
fn under_way() -> Check {
    use NamespaceContract::exp::Ready;
    let mut own = private()?;
    // Whoever is connected after the mount is a service, and is not to wait for it.
    let mut first = Names::new(own.connect()?)?;
    let mut second = Names::new(own.connect()?)?;
    let mut third = Names::new(own.connect()?)?;
    let mount = own.register("/")?;
    let first = thread::spawn(move || found(&mut first, "/file"))?;
    let Ready::Find(_, _, _, asked) = mount.recv() else {
        return Ok(false);
    };
    let second = thread::spawn(move || found(&mut second, "/file"))?;
    let third = thread::spawn(move || third.open("/file").err())?;
    thread::sleep(Duration::from_millis(300));
    drop(asked);
    let mut mount = None;
    if !crate::soon(|| {
        mount = own.register("/").ok();
        mount.is_some()
    }) {
        return Ok(false);
    }
    for _ in 0..3 {
        let Some(next) = mount.take() else {
            return Ok(false);
        };
        if !crate::soon(|| next.is_ready()) {
            println!("names: the mount is not asked again");
            break;
        }
        mount = match next.recv() {
            Ready::Bind(_, _, service, next) => {
                Some(next.send_nak_bind(Refusal::OtherContract, service))
            }
            Ready::Find(_, _, _, next) => Some(send_name(next, "file")?),
            _ => None,
        };
    }
    let mut good = is(first.join()?, Ok("/file".into()));
    good &= is(second.join()?, Ok("/file".into()));
    good &= is(third.join()?, Some(Error::Refused(Refusal::OtherContract)));
    Ok(good)
}

/// A silent mount is not asked for what its own program wants.
fn itself() -> Check {
    let mut own = private()?;
    let _zone = own.register_as("/zone", "ClockContract")?;
    let _mount = own.register("/")?;
    let mut good = is(found(&mut own, "/*"), Ok("/zone".into()));
    good &= is(own.open("/nothing").err(), Some(Error::NotFound));
    good &= is(own.deregister("/"), Ok(()));
    good &= is(own.deregister("/"), Err(Error::NotFound));
    Ok(good)
}
