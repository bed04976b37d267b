//! Requests to services, services themselves, and printing.

use crate::{Check, Test};
use core::fmt;
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::provider::Provider;
use sing_sdk::sync::Mutex;

pub const ALL: &[Test] = &[
    ("a request without memory", without_memory),
    ("a provider", provider),
];

/// The channel to the name server with which the program has started.
static NAMES: Mutex<Option<Names>> = Mutex::new(None);

/// A further channel to the name server.
fn connected() -> Result<Names, Error> {
    let mut kept = NAMES.lock();
    let names = match kept.take() {
        Some(names) => names,
        None => Names::new(crate::startup::names().ok_or(Error::NotFound)?)?,
    };
    Names::new(kept.insert(names).connect()?)
}

/// A request for which there is no memory leaves the channel to the name server unchanged.
fn without_memory() -> Check {
    let mut names = connected()?;
    // As much again does not fit the program's budget.
    let path = "x".repeat(5 << 20);
    let refused = [
        names.bind(
            &path,
            sing_sdk::contracts::ServiceContract::new_channel()?.1,
        ),
        names.register(&path).map(drop),
        names.deregister(&path),
        names.notify(&path).map(drop),
    ];
    Ok(refused == [Err(Error::NoResources); 4] && names.list("/").is_ok())
}

/// The provider's path.
const PLACE: &str = "/sdk/clock";

/// A client, in a thread of its own: is served, and refused if it asks for a path that does not
/// exist.
fn client(mut names: Names) -> Check {
    let bind = |names: &mut Names, path: &str| {
        let (imp, exp) = ClockContract::new_channel()?;
        names.bind(path, exp)?;
        Ok::<_, Error>(imp.recv_success()?)
    };
    let below = |path: &str| format!("{PLACE}{path}");
    let first = bind(&mut names, PLACE)?;
    let (time, first) = first.call_get_utc().utc()?;
    let (_other, exp) = FileContract::new_channel()?;
    let other_contract = names.bind(PLACE, exp) == Err(Error::Refused(Refusal::OtherContract));
    let other_path = bind(&mut names, &below("/x")).is_err();
    let (again, second) = bind(&mut names, &below("/y"))?.call_get_utc().utc()?;
    // The provider takes two at a time.
    let too_many = bind(&mut names, PLACE).is_err();
    drop(first);
    let room_again = loop {
        match bind(&mut names, PLACE) {
            Err(Error::NoResources) => sing_sdk::thread::yield_now(),
            other => break other.is_ok(),
        }
    };
    drop(second);
    let found = names.list(PLACE)?;
    let listed = found.len() == 1
        && (found[0].name(), found[0].kind) == ("y", NameKind::Service)
        && found[0].detail == "ClockContract"
        && names.list(&below("/y")) == Err(Error::Refused(Refusal::NotADirectory))
        && names.list(&below("/z")) == Err(Error::NotFound);
    // It is told to end, whether there is room for one more or not.
    let _ = names.bind(&below("/end"), ClockContract::new_channel()?.1);
    Ok((time, again) == (1, 2) && other_contract && other_path && too_many && room_again && listed)
}

/// A service that notes for each client the path by which it came.
fn provider() -> Check {
    let (mut names, other) = (connected()?, connected()?);
    let begin = ClockContract::Exp::send_success;
    let mut clock = Provider::register(&mut names, PLACE, begin)?.at_most(2);
    let client = sing_sdk::thread::spawn(move || client(other))?;
    let mut over = false;
    while !over {
        switch_receive! {
            case clock.clients[key].GetUtc() as client => {
                let number: u64 = clock[key];
                clock.clients.put(key, client.send_utc(number));
            }
            case clock.clients[_].ChannelClosed() => {}
            case &clock.lookup => {
                let bind = |path: &str| match path {
                    "/" => Some(1),
                    "/y" => Some(2),
                    "/end" => {
                        over = true;
                        Some(3)
                    }
                    _ => None,
                };
                let list = |path: &str| (path == "/").then(|| vec!["y".into()]);
                if clock.answer_tree(bind, list).is_err() {
                    return Ok(false);
                }
            }
        }
    }
    drop(clock);
    let served = client.join()??;
    // The name server learns of the closed channel in its turn.
    while names.list("/sdk") != Err(Error::NotFound) {
        sing_sdk::thread::yield_now();
    }
    Ok(served)
}

/// Prints while it is printed.
pub struct Prints;

impl fmt::Display for Prints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        println!("inner");
        f.write_str("done")
    }
}
