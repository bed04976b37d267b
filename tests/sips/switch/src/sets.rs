//! Sets of endpoints.

use crate::{C1, Check, Echo, Mover, Test};
use core::time::Duration;
use sing_sdk::prelude::*;
use sing_sdk::set::WaitSet;
use sing_sdk::time::Timeout;

pub const ALL: &[Test] = &[
    ("a set", a_set),
    ("keys stay", keys_stay),
    ("served in turn", served_in_turn),
    ("in turn beside others", in_turn_beside_others),
    ("512 idle", many_idle),
    ("ready while out", ready_while_out),
    ("moved away while in", moved_away),
    ("from set to set", from_set_to_set),
    ("endpoints of any state", any_state),
    ("thousands come and go", thousands),
];

type Server = Echo::Exp<Echo::Start>;
type Client = Echo::Imp<Echo::Start>;

fn filled(count: usize) -> Result<(EndpointSet<Server>, Vec<Client>), Error> {
    let mut set = EndpointSet::new()?;
    let mut clients = Vec::new();
    for _ in 0..count {
        let (imp, exp) = Echo::new_channel()?;
        set.insert(exp)?;
        clients.push(imp);
    }
    Ok((set, clients))
}

/// Serves until no client is left; returns how many were served, how many said good-bye, and how
/// many closed.
fn serve(set: &mut EndpointSet<Server>) -> (usize, usize, usize) {
    let mut counts = (0, 0, 0);
    while !set.is_empty() {
        switch_receive! {
            case set[key].Say(x) as server => {
                counts.0 += 1;
                set.put(key, server.send_said(x));
            }
            case set[key].Bye() as _ => {
                counts.1 += 1;
                set.forget(key);
            }
            case set[_].ChannelClosed() => counts.2 += 1,
        }
    }
    counts
}

fn a_set() -> Check {
    let (mut set, clients) = filled(5)?;
    for (n, client) in clients.into_iter().enumerate() {
        match n {
            0 => drop(client.send_bye()),
            1 => drop(client),
            _ => drop(client.send_say(1)),
        }
    }
    Ok(serve(&mut set) == (3, 1, 4) && set.is_empty())
}

fn keys_stay() -> Check {
    let (mut set, _clients) = filled(4)?;
    let Some(taken) = set.take(2) else {
        return Ok(false);
    };
    let while_out = (
        set.len(),
        set.keys().collect::<Vec<_>>(),
        set.get(2).is_none(),
    );
    // The key is not given to others meanwhile.
    let (imp, exp) = Echo::new_channel()?;
    let new = set.insert(exp)?;
    set.put(2, taken);
    let removed = set.remove(2).is_some() && set.remove(2).is_none() && set.take(2).is_none();
    let (_imp, exp) = Echo::new_channel()?;
    let again = set.insert(exp)?;
    drop(imp);
    Ok(
        while_out == (3, vec![0, 1, 3], true)
            && new == 4
            && removed
            && again == 2
            && !set.forget(0),
    )
}

/// Eight clients that always have a message: each is served once in eight rounds.
fn served_in_turn() -> Check {
    let (mut set, clients) = filled(8)?;
    let mut waiting: Vec<_> = clients.into_iter().map(|c| c.send_say(0)).collect();
    let mut served = [0; 8];
    for _ in 0..8 * 50 {
        switch_receive! {
            case set[key].Say(x) as server => {
                served[key] += 1;
                set.put(key, server.send_said(x));
                let (_, client) = waiting.remove(key).recv_said()?;
                waiting.insert(key, client.send_say(0));
            }
            case set[_].Bye() as _ => return Ok(false),
            case set[_].ChannelClosed() => return Ok(false),
        }
    }
    Ok(served == [50; 8])
}

/// Beside an endpoint that always has a message, all of the set are served.
fn in_turn_beside_others() -> Check {
    let (mut set, clients) = filled(3)?;
    let mut waiting: Vec<_> = clients.into_iter().map(|c| c.send_say(0)).collect();
    let (a, b) = C1::new_channel()?;
    let mut a = a.send_request(1);
    let mut b = b.recv_request()?.1.send_reply(0);
    let (mut served, mut other) = ([0; 3], 0);
    for _ in 0..120 {
        switch_receive! {
            case set[key].Say(x) as server => {
                served[key] += 1;
                set.put(key, server.send_said(x));
                let (_, client) = waiting.remove(key).recv_said()?;
                waiting.insert(key, client.send_say(0));
            }
            case set[_].Bye() as _ => return Ok(false),
            case set[_].ChannelClosed() => return Ok(false),
            case a.Reply(_) as next => {
                other += 1;
                a = next.send_request(1);
                b = b.recv_request()?.1.send_reply(0);
            }
            case a.Error() as _ => return Ok(false),
            case a.ChannelClosed() => return Ok(false),
        }
    }
    Ok(other >= 30 && served.iter().all(|n| *n >= 15))
}

fn many_idle() -> Check {
    let (mut set, mut clients) = filled(512)?;
    for n in [0, 511, 256, 511] {
        let client = clients.remove(n).send_say(n as i32);
        switch_receive! {
            case set[key].Say(x) as server => {
                if key != n || x != n as i32 {
                    return Ok(false);
                }
                set.put(key, server.send_said(x));
            }
            case set[_].Bye() as _ => return Ok(false),
            case set[_].ChannelClosed() => return Ok(false),
            timeout Duration::from_secs(5) => return Ok(false),
        }
        clients.insert(n, client.recv_said()?.1);
    }
    let idle = switch_receive! {
        case set[_].Say(_) as _ => false,
        case set[_].Bye() as _ => false,
        case set[_].ChannelClosed() => false,
        timeout Duration::from_millis(2) => true,
    };
    Ok(idle)
}

/// Messages that come while an endpoint is out are found when it is back, and do not make the
/// others wait.
fn ready_while_out() -> Check {
    let (mut set, mut clients) = filled(2)?;
    let (Some(out), Some(second), Some(first)) = (set.take(0), clients.pop(), clients.pop()) else {
        return Ok(false);
    };
    let _first = first.send_say(1);
    let nothing = switch_receive! {
        case set[_].Say(_) as _ => false,
        case set[_].Bye() as _ => false,
        case set[_].ChannelClosed() => false,
        timeout Duration::from_millis(2) => true,
    };
    let _second = second.send_say(2);
    let mut order = Vec::new();
    let mut out = Some(out);
    for _ in 0..2 {
        switch_receive! {
            case set[key].Say(x) as server => {
                order.push(x);
                set.put(key, server.send_said(x));
            }
            case set[_].Bye() as _ => return Ok(false),
            case set[_].ChannelClosed() => return Ok(false),
        }
        if let Some(endpoint) = out.take() {
            set.put(0, endpoint);
        }
    }
    Ok(nothing && order == [2, 1])
}

/// An endpoint that is sent away leaves the set; its key goes to another, and no message of the old
/// one comes under it.
fn moved_away() -> Check {
    let (mut set, clients) = filled(1)?;
    let Some(endpoint) = set.take(0) else {
        return Ok(false);
    };
    let (imp, exp) = Mover::new_channel()?;
    drop(imp.send_move(endpoint, Vector::from_bytes(b"x")?));
    set.forget(0);
    let (other, new) = Echo::new_channel()?;
    let key = set.insert(new)?;
    let moved: Vec<_> = clients.into_iter().map(|c| c.send_say(1)).collect();
    let _other = other.send_say(2);
    let got = switch_receive! {
        case set[_].Say(x) as _ => x,
        case set[_].Bye() as _ => 0,
        case set[_].ChannelClosed() => 0,
    };
    let (endpoint, _, _) = exp.recv_move()?;
    let arrived = endpoint.recv_matches(1);
    drop(moved);
    Ok(key == 0 && got == 2 && arrived)
}

trait Said {
    fn recv_matches(self, x: i32) -> bool;
}

impl Said for Server {
    fn recv_matches(self, x: i32) -> bool {
        matches!(self.recv(), Echo::exp::Start::Say(y, _) if x == y)
    }
}

/// An endpoint that is used in another set must be released by the first.
fn from_set_to_set() -> Check {
    let (mut first, _clients) = filled(1)?;
    let mut second: EndpointSet<Server> = EndpointSet::new()?;
    let Some(endpoint) = first.take(0) else {
        return Ok(false);
    };
    let Err(refused) = second.insert(endpoint) else {
        return Ok(false);
    };
    let right = refused.error == Error::BadState;
    let endpoint = refused.content;
    let released = first.release(0, &endpoint) && !first.release(0, &endpoint);
    second.insert(endpoint)?;
    Ok(right && released && second.len() == 1 && first.is_empty())
}

/// The kernel's set watches endpoints whatever their type and state, also while they change it.
fn any_state() -> Check {
    let set = WaitSet::new()?;
    let (a, b) = C1::new_channel()?;
    let (imp, exp) = Echo::new_channel()?;
    set.add(&b, 7)?;
    set.add(&imp, 9)?;
    let a = a.send_request(1);
    let seven = set.wait(Timeout::FOREVER)? == 7;
    let (_, b) = b.recv_request()?;
    let none = set.wait(Timeout::NONE) == Err(Error::Timeout);
    drop(exp);
    let nine = set.wait(Timeout::FOREVER)? == 9;
    let gone = set.remove(&imp) && !set.remove(&imp);
    let b = b.send_reply(1);
    drop(a);
    Ok(seven && none && nine && gone && set.wait(Timeout::FOREVER)? == 7 && set.remove(&b))
}

fn thousands() -> Check {
    let mut set: EndpointSet<Server> = EndpointSet::new()?;
    let mut largest = 0;
    for round in 0..5_000 {
        let (imp, exp) = Echo::new_channel()?;
        largest = largest.max(set.insert(exp)?);
        if round % 2 == 0 {
            drop(imp.send_bye());
        } else {
            drop(imp);
        }
        if set.len() == 3 {
            serve(&mut set);
        }
    }
    Ok(largest == 2)
}

/// Waits for an empty set: the program is ended with a message.
pub fn wait_for_nobody() {
    if let Ok(mut set) = EndpointSet::<Server>::new() {
        switch_receive! {
            case set[_].Say(_) as _ => {}
            case set[_].Bye() as _ => {}
            case set[_].ChannelClosed() => {}
        }
    }
}
