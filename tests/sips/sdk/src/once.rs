//! The operands of a switch are evaluated once, and released when a case runs.

use crate::{Answerer, Check, Test, answered, asked};
use core::cell::Cell;
use core::time::Duration;
use sing_sdk::prelude::*;
use sing_sdk::sync::{AutoEvent, Mutex, wait};
use sing_sdk::time::Timeout;

pub const ALL: &[Test] = &[
    ("a thing is looked up once", thing_once),
    ("a thing is free in the cases", thing_is_free),
    ("a thing that is made for the switch", made_for_the_switch),
    ("a time-out is looked up once", timeout_once),
    ("a time-out is free in the cases", timeout_is_free),
    ("a set is free in the cases", set_is_free),
];

fn is_set(event: &AutoEvent) -> bool {
    wait(event, Timeout::NONE).is_ok()
}

/// An event that the wait has reset is set again for this event.
fn thing_once() -> Check {
    let (first, pair) = (
        AutoEvent::new(true)?,
        [AutoEvent::new(true)?, AutoEvent::new(false)?],
    );
    let calls = Cell::new(0);
    let next = || {
        calls.set(calls.get() + 1);
        &pair[(calls.get() - 1) % 2]
    };
    let fired = switch_receive! {
        case &first => 1,
        case &*next() => 2,
    };
    let given_back = is_set(&pair[0]) && !is_set(&pair[1]);
    first.set();
    // Also where it comes first.
    let other = switch_receive! {
        case &*next() => 1,
        case &first => 2,
    };
    Ok(fired == 1 && given_back && other == 2 && calls.get() == 2)
}

/// A guard that was held to evaluate an operand is released before a case runs.
fn thing_is_free() -> Check {
    let event = Mutex::new(AutoEvent::new(true)?);
    let fired = switch_receive! {
        case &*event.lock() => event.try_lock().is_some(),
    };
    let mut events = vec![AutoEvent::new(true)?];
    switch_receive! {
        case &events[0] => events.clear(),
    }
    Ok(fired && events.is_empty())
}

fn made_for_the_switch() -> Check {
    let (a, _peer) = answered(1)?;
    let got = switch_receive! {
        case &AutoEvent::new(false)? => 0,
        case a.Answer(x) as _ => x,
        case a.Refuse() as _ => 0,
        case a.ChannelClosed() => 0,
    };
    Ok(got == 1)
}

fn timeout_once() -> Check {
    let calls = Cell::new(0);
    let brief = || {
        calls.set(calls.get() + 1);
        Duration::from_millis(1)
    };
    let stop = AutoEvent::new(false)?;
    let late = switch_receive! {
        case &stop => false,
        timeout brief() => true,
    };
    Ok(late && calls.get() == 1)
}

struct Server {
    clients: EndpointSet<Answerer>,
    patience: Mutex<Duration>,
}

fn timeout_is_free() -> Check {
    let (imp, exp) = asked(2)?;
    let mut server = Server {
        clients: EndpointSet::new()?,
        patience: Mutex::new(Duration::from_secs(1)),
    };
    server.clients.insert(exp)?;
    let served = switch_receive! {
        case server.clients[key].Ask(x) as client => {
            server.clients.put(key, client.send_answer(x));
            server.patience.try_lock().is_some()
        }
        case server.clients[_].ChannelClosed() => false,
        timeout *server.patience.lock() => false,
    };
    drop(imp);
    let gone = switch_receive! {
        case server.clients[_].Ask(_) as _ => false,
        case server.clients[_].ChannelClosed() => server.patience.try_lock().is_some(),
        timeout *server.patience.lock() => false,
    };
    Ok(served && gone)
}

/// A case, and other threads, may use the set freely.
fn set_is_free() -> Check {
    let (imp, exp) = asked(2)?;
    let mut clients = EndpointSet::new()?;
    clients.insert(exp)?;
    let stop = AutoEvent::new(false)?;
    for round in 0..2 {
        switch_receive! {
            case clients[_].Ask(_) as client => clients = {
                let mut others = EndpointSet::new()?;
                clients.remove(0);
                drop(client);
                others.insert(asked(3)?.1)?;
                others
            },
            case clients[_].ChannelClosed() => return Ok(false),
            case &stop => drop(core::mem::replace(&mut clients, EndpointSet::new()?)),
        }
        if round == 0 {
            stop.set();
            clients = EndpointSet::new()?;
        }
    }
    drop(imp);
    Ok(clients.is_empty())
}
