//! Switches over endpoints in variables.

use crate::{C1, Check, Echo, Test};
use core::time::Duration;
use sing_sdk::prelude::*;
use sing_sdk::sync::{AutoEvent, ManualEvent, wait};
use sing_sdk::time::{Timeout, uptime};

pub const ALL: &[Test] = &[
    ("one endpoint", one_endpoint),
    ("two endpoints", two_endpoints),
    ("both in any order", both_in_any_order),
    ("the first that fires", the_first_that_fires),
    ("what is not named stays", what_is_not_named_stays),
    ("closed in every position", closed_in_every_position),
    ("closed together", closed_together),
    ("time-outs", timeouts),
    ("deadlines", deadlines),
    ("events", events),
    ("an event that is passed over", event_passed_over),
    ("control flow", control_flow),
    ("nested", nested),
    ("every case gets its turn", every_case_gets_its_turn),
    ("arrays", arrays),
    ("arrays in turn", arrays_in_turn),
];

type Asking = C1::Imp<C1::Start_Request>;
type Asked = C1::Exp<C1::Start_Request>;

/// Both sides of a channel on which a request has been sent and received.
fn asked(x: i32) -> Result<(Asking, Asked), Error> {
    let (imp, exp) = C1::new_channel()?;
    let imp = imp.send_request(x);
    let (_, exp) = exp.recv_request()?;
    Ok((imp, exp))
}

/// The output of the papers' first example.
fn first_example(a: Asking) -> String {
    switch_receive! {
        case a.Reply(x) as _ => format!("Reply {x}"),
        case a.Error() as _ => "Error".into(),
        case a.ChannelClosed() => "closed".into(),
    }
}

fn one_endpoint() -> Check {
    let (a, peer) = asked(1)?;
    let _peer = peer.send_reply(7);
    let reply = first_example(a);
    let (a, peer) = asked(1)?;
    let _peer = peer.send_error();
    let error = first_example(a);
    let (a, peer) = asked(1)?;
    drop(peer);
    Ok(reply == "Reply 7" && error == "Error" && first_example(a) == "closed")
}

/// The papers' second example.
fn second_example(a: Asking, b: Asking) -> String {
    switch_receive! {
        case a.Reply(x) as _ && b.Reply(y) as _ => format!("Both replies {x} and {y}"),
        case a.Error() as _ => "Error reply on a".into(),
        case b.Error() as _ => "Error reply on b".into(),
        case a.ChannelClosed() => "Channel a is closed".into(),
        else wait
    }
}

fn two_endpoints() -> Check {
    let pair = || Ok::<_, Error>((asked(1)?, asked(1)?));
    let ((a, pa), (b, pb)) = pair()?;
    let (_pa, _pb) = (pa.send_reply(3), pb.send_reply(4));
    let both = second_example(a, b);
    let ((a, pa), (b, pb)) = pair()?;
    let (_pa, _pb) = (pa.send_reply(3), pb.send_error());
    let on_b = second_example(a, b);
    let ((a, pa), (b, _pb)) = pair()?;
    let _pa = pa.send_error();
    let on_a = second_example(a, b);
    let ((a, pa), (b, pb)) = pair()?;
    drop(pa);
    let _pb = pb.send_reply(1);
    let closed = second_example(a, b);
    Ok(both == "Both replies 3 and 4"
        && on_b == "Error reply on b"
        && on_a == "Error reply on a"
        && closed == "Channel a is closed")
}

/// A conjunction waits for the second message when the first has come, and is woken by it.
fn both_in_any_order() -> Check {
    for swapped in [false, true] {
        let ((a, pa), (b, pb)) = (asked(1)?, asked(1)?);
        let (first, second) = if swapped { (pb, pa) } else { (pa, pb) };
        let first = first.send_reply(1);
        let late = sing_sdk::thread::spawn(move || {
            sing_sdk::thread::sleep(Duration::from_millis(5));
            (first, second.send_reply(2))
        })?;
        if !second_example(a, b).starts_with("Both replies") {
            return Ok(false);
        }
        drop(late.join()?);
    }
    Ok(true)
}

fn the_first_that_fires() -> Check {
    let ((a, _pa), (b, pb)) = (asked(1)?, asked(1)?);
    let late = sing_sdk::thread::spawn(move || {
        sing_sdk::thread::sleep(Duration::from_millis(5));
        pb.send_reply(9)
    })?;
    let got = switch_receive! {
        case a.Reply(_) as _ => 1,
        case a.Error() as _ => 2,
        case a.ChannelClosed() => 3,
        case b.Reply(y) as _ => y,
        case b.Error() as _ => 4,
        case b.ChannelClosed() => 5,
    };
    drop(late.join()?);
    Ok(got == 9)
}

/// Endpoints that the case does not name keep their state and their messages, also after the
/// switch.
fn what_is_not_named_stays() -> Check {
    let ((mut a, pa), (mut b, pb)) = (asked(1)?, asked(1)?);
    let (mut pa, mut pb) = (pa.send_reply(0), pb.send_reply(0));
    let (mut from_a, mut from_b) = (0, 0);
    for round in 0..20 {
        switch_receive! {
            case a.Reply(_) as next => {
                from_a += 1;
                a = next.send_request(1);
                pa = pa.recv_request()?.1.send_reply(round);
            }
            case b.Reply(_) as next => {
                from_b += 1;
                b = next.send_request(1);
                pb = pb.recv_request()?.1.send_reply(round);
            }
            case a.Error() as _ => return Ok(false),
            case b.Error() as _ => return Ok(false),
            case a.ChannelClosed() => return Ok(false),
            case b.ChannelClosed() => return Ok(false),
        }
    }
    Ok(from_a == 10 && from_b == 10)
}

fn closed_in_every_position() -> Check {
    for closing in 0..3 {
        let all = [asked(1)?, asked(1)?, asked(1)?];
        let [(a, pa), (b, pb), (c, pc)] = all;
        let mut peers = [Some(pa), Some(pb), Some(pc)];
        peers[closing] = None;
        let got = switch_receive! {
            case a.ChannelClosed() => 0,
            case b.ChannelClosed() => 1,
            case c.ChannelClosed() => 2,
            case a.Reply(_) as _ => 3,
            case b.Reply(_) as _ => 3,
            case c.Reply(_) as _ => 3,
            case a.Error() as _ => 4,
            case b.Error() as _ => 4,
            case c.Error() as _ => 4,
        };
        if got != closing {
            return Ok(false);
        }
    }
    // Messages sent before the close come first, and then the close.
    let (a, peer) = asked(1)?;
    drop(peer.send_reply(5));
    let a = switch_receive! {
        case a.Reply(_) => a.send_request(1),
        case a.Error() as _ => return Ok(false),
        case a.ChannelClosed() => return Ok(false),
    };
    Ok(first_example(a) == "closed")
}

fn closed_together() -> Check {
    let ((a, pa), (b, pb)) = (asked(1)?, asked(1)?);
    drop(pa);
    let late = sing_sdk::thread::spawn(move || {
        sing_sdk::thread::sleep(Duration::from_millis(5));
        drop(pb);
    })?;
    let both = switch_receive! {
        case a.ChannelClosed() && b.ChannelClosed() => true,
        else wait
    };
    late.join()?;
    Ok(both)
}

fn timeouts() -> Check {
    let ((mut a, pa), (b, _pb)) = (asked(1)?, asked(1)?);
    let before = uptime();
    let poll = switch_receive! {
        case a.Reply(_) as _ => return Ok(false),
        timeout Duration::ZERO => 2,
        else wait
    };
    // The time passes also while a part of a conjunction has come.
    let (c, pc) = asked(1)?;
    let _pc = pc.send_reply(1);
    let late = switch_receive! {
        case b.Reply(_) as _ && c.Reply(_) as _ => return Ok(false),
        timeout Duration::from_millis(20) => 2,
        else wait
    };
    let waited = uptime().saturating_sub(before) >= Duration::from_millis(20);
    // A message that was only polled is still there.
    let there = matches!(c.recv(), C1::imp::Start_Request::Reply(1, _));
    let _pa = pa.send_reply(8);
    let in_time = switch_receive! {
        case a.Reply(x) as next => {
            a = next.send_request(1);
            x
        }
        case a.Error() as _ => return Ok(false),
        case a.ChannelClosed() => return Ok(false),
        timeout Timeout::FOREVER => 0,
    };
    Ok(poll == 2 && late == 2 && waited && there && in_time == 8 && !a.is_ready())
}

fn deadlines() -> Check {
    let (a, _peer) = asked(1)?;
    let end = uptime() + Duration::from_millis(10);
    let passed = switch_receive! {
        case a.Reply(_) as _ => false,
        case a.Error() as _ => false,
        case a.ChannelClosed() => false,
        deadline end => uptime() >= end,
    };
    Ok(passed)
}

fn events() -> Check {
    let (a, _peer) = asked(1)?;
    let (first, second) = (ManualEvent::new(false)?, AutoEvent::new(true)?);
    let got = switch_receive! {
        case a.Reply(_) as _ => 1,
        case a.Error() as _ => 2,
        case a.ChannelClosed() => 3,
        case &first => 4,
        case &second => 5,
    };
    // The event let one wait through: the switch.
    let spent = wait(&second, Timeout::NONE).is_err();
    Ok(got == 5 && spent)
}

/// Of two events that are set, the one whose case does not fire stays set.
fn event_passed_over() -> Check {
    let (first, second) = (AutoEvent::new(true)?, AutoEvent::new(true)?);
    let mut seen = [0; 2];
    for _ in 0..2 {
        switch_receive! {
            case &first => seen[0] += 1,
            case &second => seen[1] += 1,
        }
    }
    let none = switch_receive! {
        case &first => false,
        case &second => false,
        timeout Duration::ZERO => true,
    };
    Ok(seen == [1, 1] && none)
}

/// Code of cases jumps in its own surroundings, and a switch has a value.
fn control_flow() -> Check {
    let (mut a, peer) = asked(1)?;
    let mut peer = peer.send_reply(0);
    let (mut evens, mut odds) = (0, 0);
    for round in 1.. {
        let (x, next) = switch_receive! {
            case a.Reply(x) as next => (x, next),
            case a.Error() as _ => break,
            case a.ChannelClosed() => Err(Error::Closed)?,
        };
        a = next.send_request(round);
        let (_, answering) = peer.recv_request()?;
        peer = match round {
            10 => answering.send_error(),
            _ => answering.send_reply(round),
        };
        if x % 2 == 0 {
            evens += 1;
            continue;
        }
        odds += 1;
    }
    Ok((evens, odds) == (5, 5))
}

/// A switch in a case of a switch.
fn nested() -> Check {
    let ((a, pa), (b, pb)) = (asked(1)?, asked(1)?);
    let (_pa, _pb) = (pa.send_reply(1), pb.send_reply(2));
    let sum = switch_receive! {
        case a.Reply(x) => {
            let a = a.send_request(1);
            x + switch_receive! {
                case a.Reply(_) as _ => 100,
                case b.Reply(y) as _ => y,
                else wait
            }
        }
        case a.Error() as _ => 0,
        case a.ChannelClosed() => 0,
    };
    Ok(sum == 3)
}

/// Eight channels that always have a message: each is served as often as every other.
fn every_case_gets_its_turn() -> Check {
    const ROUNDS: usize = 100;
    let mut ends = Vec::new();
    let mut peers = Vec::new();
    for _ in 0..4 {
        let (a, peer) = asked(1)?;
        ends.push(a);
        peers.push(peer.send_reply(0));
    }
    let Ok([mut a, mut b, mut c, mut d]) = <[Asking; 4]>::try_from(ends) else {
        return Ok(false);
    };
    let mut served = [0; 4];
    for _ in 0..ROUNDS * 4 {
        let who = switch_receive! {
            case a.Reply(_) as next => {
                a = next.send_request(1);
                0
            }
            case b.Reply(_) as next => {
                b = next.send_request(1);
                1
            }
            case c.Reply(_) as next => {
                c = next.send_request(1);
                2
            }
            case d.Reply(_) as next => {
                d = next.send_request(1);
                3
            }
            else wait
        };
        served[who] += 1;
        let peer = peers.remove(who);
        peers.insert(who, peer.recv_request()?.1.send_reply(0));
    }
    Ok(served == [ROUNDS; 4])
}

type Server = Echo::Exp<Echo::Start>;
type Client = Echo::Imp<Echo::Start_Say>;

/// Channels with a message each.
fn speaking(count: usize) -> Result<(Vec<Client>, Vec<Option<Server>>), Error> {
    let mut clients = Vec::new();
    let mut servers = Vec::new();
    for n in 0..count {
        let (imp, exp) = Echo::new_channel()?;
        clients.push(imp.send_say(n as i32));
        servers.push(Some(exp));
    }
    Ok((clients, servers))
}

/// Arrays and vectors of endpoints; places without an endpoint are skipped.
fn arrays() -> Check {
    let (clients, servers) = speaking(3)?;
    let Ok(mut servers) = <[Option<Server>; 3]>::try_from(servers) else {
        return Ok(false);
    };
    servers[0] = None;
    let (mut clients, mut said, mut closed) = (Some(clients), Vec::new(), Vec::new());
    while servers.iter().any(Option::is_some) {
        switch_receive! {
            case servers[key].Say(x) as server => {
                said.push((key, x));
                servers[key] = Some(server.send_said(x));
                if said.len() == 2 {
                    clients = None;
                }
            }
            case servers[_].Bye() as _ => return Ok(false),
            case servers[key].ChannelClosed() => closed.push(key),
        }
    }
    said.sort_unstable();
    closed.sort_unstable();
    Ok(said == [(1, 1), (2, 2)] && closed == [1, 2] && clients.is_none())
}

/// With an endpoint beside the array, each in its turn.
fn arrays_in_turn() -> Check {
    let (_clients, mut servers) = speaking(8)?;
    let (mut a, peer) = asked(1)?;
    let mut peer = peer.send_reply(0);
    let (mut from_array, mut from_a) = ([0; 8], 0);
    for _ in 0..9 * 50 {
        switch_receive! {
            case servers[key].Say(_) as server => {
                from_array[key] += 1;
                // It has a further message at once.
                let (imp, exp) = Echo::new_channel()?;
                drop((server, imp.send_say(0)));
                servers[key] = Some(exp);
            }
            case servers[key].Bye() as _ => return Ok(key > 8),
            case servers[_].ChannelClosed() => return Ok(false),
            case a.Reply(_) as next => {
                from_a += 1;
                a = next.send_request(1);
                peer = peer.recv_request()?.1.send_reply(0);
            }
            case a.Error() as _ => return Ok(false),
            case a.ChannelClosed() => return Ok(false),
        }
    }
    Ok(from_a >= 10 && from_array.iter().all(|n| *n >= 10))
}

/// Waits for a message that can no longer come: the program is ended with a message.
pub fn wait_for_ever() {
    if let (Ok((a, pa)), Ok((b, pb))) = (asked(1), asked(1)) {
        drop((pa, pb.send_reply(1)));
        second_reply(a, b);
    }
}

fn second_reply(a: Asking, b: Asking) {
    switch_receive! {
        case a.Reply(_) as _ && b.Reply(_) as _ => {}
        else wait
    }
}
