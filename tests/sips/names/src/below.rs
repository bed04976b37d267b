//! A name server below the root, itself the same program: what is done through the root happens
//! there.

use crate::{Check, checks, connected, found, is, soon};
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::process::Child;
use sing_sdk::provider::Provider;
use sing_sdk::thread;

/// Mounts a name server at a path, and makes the checks with it.
pub fn run(at: &str) -> Result<i32, Error> {
    let mut n = connected()?;
    let child = Child::of("nameserver")
        .args(["nameserver", "--mount", at])
        .endpoint("names", n.connect()?)
        .start()?;
    if !soon(|| n.find(at).is_ok()) {
        return Ok(1);
    }
    type Step = fn(&str) -> Check;
    let all: [(&str, Step); 7] = [
        ("a service registered below", service),
        ("who holds what below", held),
        ("what ends with its client", ends),
        ("watchers below", watchers),
        ("watchers from above", from_above),
        ("links below", links),
        ("a mount below a mount", nested),
    ];
    let all = all.map(|(name, step)| (name, move || step(at)));
    let failed = checks::run("names", all);
    // What was below it ends with it.
    child.stop(0)?;
    Ok(if soon(|| n.find(at).is_err()) {
        failed
    } else {
        1
    })
}

fn ask(names: &mut Names, path: &str) -> Result<u64, Error> {
    let (imp, exp) = ClockContract::new_channel()?;
    names.bind(path, exp)?;
    Ok(imp.recv_success()?.call_get_utc().utc()?.0)
}

/// Answers one client of the clock at a path, and then ends.
fn serve_one(names: &mut Names, path: &str) -> Result<thread::JoinHandle<()>, Error> {
    let begin = ClockContract::Exp::send_success;
    let mut clock = Provider::register(names, path, begin)?;
    thread::spawn(move || {
        loop {
            switch_receive! {
                case clock.clients[key].GetUtc() as client => {
                    clock.clients.put(key, client.send_utc(42));
                }
                case clock.clients[_].ChannelClosed() => return,
                case &clock.lookup => {
                    if clock.answer(|path| (path == "/").then_some(())).is_err() {
                        return;
                    }
                }
            }
        }
    })
}

fn service(at: &str) -> Check {
    let (mut holder, mut n) = (connected()?, connected()?);
    let path = format!("{at}/dir/clock");
    let served = serve_one(&mut holder, &path)?;
    let listed = is(
        found(&mut n, &format!("{at}/**")),
        Ok(format!("{at}/dir {path}")),
    ) & is(found(&mut n, "/*/dir/cl*"), Ok(path.clone()))
        & is(n.find(&path)?[0].detail.as_str(), "ClockContract");
    let asked = is(ask(&mut n, &path), Ok(42));
    served.join()?;
    // The name server below learns of the closed channel in its turn.
    Ok(listed & asked & soon(|| n.find(&path) == Err(Error::NotFound)))
}

fn held(at: &str) -> Check {
    let (mut n, mut other) = (connected()?, connected()?);
    let path = format!("{at}/held");
    let lookup = n.register(&path)?;
    let ok = is(other.register(&path).err(), Some(Error::Held))
        & is(other.deregister(&path), Err(Error::NotFound))
        & is(n.deregister(&path), Ok(()))
        & is(n.deregister(&path), Err(Error::NotFound));
    let closed = matches!(lookup.recv(), NamespaceContract::exp::Ready::Closed);
    let _mine = other.register(&path)?;
    Ok(ok & closed)
}

fn ends(at: &str) -> Check {
    let (mut n, mut other) = (connected()?, connected()?);
    let kept = other.register(&format!("{at}/ends/a"))?;
    other.link(&format!("{at}/ends/b"), "a")?;
    let there = is(n.list(&format!("{at}/ends"))?.len(), 2);
    drop(other);
    let gone = soon(|| n.list(&format!("{at}/ends")) == Err(Error::NotFound));
    drop(kept);
    Ok(there & gone)
}

fn watchers(at: &str) -> Check {
    let (mut n, mut other) = (connected()?, connected()?);
    let told = n.notify(&format!("{at}/w/*"))?;
    other.link(&format!("{at}/elsewhere"), "/")?;
    other.link(&format!("{at}/w/x"), "/")?;
    let told = told.recv_changed()?.send_ack();
    drop(other);
    drop(told.recv_changed()?);
    Ok(true)
}

fn from_above(at: &str) -> Check {
    let (mut n, mut other) = (connected()?, connected()?);
    let told = n.notify("/*/from/above")?;
    other.link(&format!("{at}/from/above"), "/")?;
    let told = told.recv_changed()?.send_ack();
    // The next report is not lost while this one is answered.
    other.deregister(&format!("{at}/from/above"))?;
    drop(told.recv_changed()?);
    Ok(true)
}

fn links(at: &str) -> Check {
    let mut n = connected()?;
    n.link(&format!("{at}/abs"), "/boot/notes.txt")?;
    n.link(&format!("{at}/sub/rel"), "../abs")?;
    n.link(&format!("{at}/loop"), "/loop-below")?;
    n.link("/loop-below", &format!("{at}/loop"))?;
    n.link("/into", &format!("{at}/sub"))?;
    let looped = Some(Error::Refused(Refusal::Loop));
    Ok(n.open(&format!("{at}/abs")).is_ok()
        & n.open(&format!("{at}/sub/rel")).is_ok()
        & n.open("/into/rel").is_ok()
        & is(n.open("/loop-below").err(), looped)
        & is(found(&mut n, "/into/*"), Ok("/into/rel".into()))
        & is(n.read_link(&format!("{at}/sub/rel")), Ok("../abs".into()))
        // A link below, made through a link.
        & n.link("/into/more", "rel").is_ok()
        & n.open(&format!("{at}/sub/more")).is_ok())
}

/// The name server below has a mount of its own, and the walk goes through all of them.
fn nested(at: &str) -> Check {
    let (mut holder, mut n) = (connected()?, connected()?);
    let begin = ClockContract::Exp::send_success;
    let mut clock = Provider::register_tree(&mut holder, &format!("{at}/m"), begin)?;
    let served = thread::spawn(move || {
        let list = |path: &str| (path == "/").then(|| vec!["x".into(), "y".into()]);
        while clock
            .answer_tree(|path| (path == "/x").then_some(()), list)
            .is_ok()
        {}
    })?;
    let _before = n.link(&format!("{at}/a"), "/");
    let _after = n.link(&format!("{at}/z"), "/");
    let all = ["a", "m", "m/x", "m/y", "z"]
        .map(|p| format!("{at}/{p}"))
        .join(" ");
    let ok = is(found(&mut n, &format!("{at}/**")), Ok(all))
        & is(found(&mut n, "/*/m/*"), Ok(format!("{at}/m/x {at}/m/y")))
        & is(found(&mut n, "/**/m/y"), Ok(format!("{at}/m/y")));
    // A client of its own speaks to the name server below directly.
    let (imp, exp) = NamespaceContract::new_channel()?;
    n.bind(at, exp)?;
    let direct = is(Names::new(imp)?.list("/")?.len(), 3);
    holder.deregister(&format!("{at}/m"))?;
    served.join()?;
    Ok(ok & direct)
}

/// Where the service of the chronology is.
const CHRONOLOGY: &str = "/chronology";

/// The client of the chronology.
pub fn client() -> Result<i32, Error> {
    ask(&mut connected()?, CHRONOLOGY)?;
    Ok(0)
}

/// The papers' chronology ([O] 5.3), with this program as the service and `date` as the client: the
/// trace shows its steps.
pub fn chronology() -> Result<i32, Error> {
    let mut names = connected()?;
    let begin = ClockContract::Exp::send_success;
    let mut clock = Provider::register(&mut names, CHRONOLOGY, begin)?;
    let client = Child::of("names")
        .args(["names", "ask"])
        .endpoint("names", names.connect()?)
        .start()?;
    loop {
        switch_receive! {
            case clock.clients[key].GetUtc() as client => {
                clock.clients.put(key, client.send_utc(0));
            }
            case clock.clients[_].ChannelClosed() => return Ok(client.join()?.status()),
            case &clock.lookup => {
                if clock.answer(|path| (path == "/").then_some(())).is_err() {
                    return Ok(1);
                }
            }
        }
    }
}
