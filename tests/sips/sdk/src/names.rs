//! Code in a switch sees only the program's own names, whatever names the macro uses.

use crate::{Answerer, Asker, Check, Test, answered, asked};
use core::time::Duration;
use sing_sdk::prelude::*;
use sing_sdk::sync::AutoEvent;

pub const ALL: &[Test] = &[
    ("variables in arms", variables_in_arms),
    ("functions in arms", functions_in_arms),
    ("constants in arms", constants_in_arms),
    ("names of endpoints", names_of_endpoints),
    ("names of sets", names_of_sets),
    ("names of things", names_of_things),
    ("names that arms bind", names_that_arms_bind),
];

/// Makes a variable of each name that a switch might use itself, and checks that all were seen and
/// changed in an arm.
macro_rules! all_are_ours {
    ($($name:ident)*) => {{
        $(let mut $name = 0_i32;)*
        let (a, _peer) = answered(5)?;
        switch_receive! {
            case a.Answer(x) as _ => { $($name += x;)* }
            case a.Refuse() as _ => {}
            case a.ChannelClosed() => {}
            timeout Duration::from_secs(1) => {}
        }
        let seen = [$($name),*];
        let (mut clients, _peers) = asking(1)?;
        let stop = AutoEvent::new(false)?;
        switch_receive! {
            case clients[_].Ask(x) as client => {
                $($name += x;)*
                drop(client);
            }
            case clients[_].ChannelClosed() => {}
            case &stop => {}
        }
        seen == [5; _] && [$($name),*] == [5; _]
    }};
}

fn variables_in_arms() -> Check {
    Ok(all_are_ours! {
        again found case check select patience first key got brought next turn set place group0 key0 place0 thing
        thing0 turn0 timeout deadline wait watch done keys
    })
}

/// Answerers in a set, each with a question.
fn asking(count: i32) -> Result<(EndpointSet<Answerer>, Vec<Asker>), Error> {
    let (mut set, mut askers) = (EndpointSet::new()?, Vec::new());
    for n in 0..count {
        let (imp, exp) = asked(n)?;
        set.insert(exp)?;
        askers.push(imp);
    }
    Ok((set, askers))
}

fn check(x: i32) -> i32 {
    x + 1
}
fn check_0(x: i32) -> i32 {
    x + 2
}
fn check_1(x: i32) -> i32 {
    x + 4
}
fn found(x: i32) -> i32 {
    x + 8
}
fn case(x: i32) -> i32 {
    x + 16
}
fn select(x: i32) -> i32 {
    x + 32
}
fn again(x: i32) -> i32 {
    x + 64
}

/// All of the program's own functions, one after another.
macro_rules! ours {
    ($x:expr) => {
        check(check_0(check_1(found(case(select(again($x)))))))
    };
}

fn functions_in_arms() -> Check {
    let (mut clients, _askers) = asking(2)?;
    let (a, _peer) = answered(1)?;
    let alone = switch_receive! {
        case a.Answer(x) as _ => ours!(x),
        case a.Refuse() as _ => 0,
        case a.ChannelClosed() => 0,
    };
    let of_a_set = switch_receive! {
        case clients[key].Ask(x) as client => {
            clients.put(key, client.send_refuse());
            ours!(x)
        }
        case clients[_].ChannelClosed() => 0,
    };
    let (a, _peer) = answered(2)?;
    let stop = AutoEvent::new(false)?;
    let mut others = [None, Some(asked(4)?)].map(|o| o.map(|(imp, exp)| (drop(imp), exp).1));
    let together = switch_receive! {
        case others[_].Ask(_) as _ => ours!(3),
        case others[_].ChannelClosed() => ours!(3),
        case &stop => 0,
        case a.Answer(x) as _ => ours!(x + 1),
        case a.Refuse() as _ => 0,
        case a.ChannelClosed() => 0,
    };
    let late = switch_receive! {
        case &stop => 0,
        timeout Duration::ZERO => ours!(4),
    };
    Ok([alone, of_a_set, together, late] == [128, 127, 130, 131])
}

/// A switch has state of its own that lasts; its name does not clash with the program's.
const TURN: i32 = 3;
const TURN0: i32 = 4;
const TURN1: i32 = 5;
const E0: i32 = 6;

fn constants_in_arms() -> Check {
    let (mut clients, _askers) = asking(1)?;
    let of_a_set = switch_receive! {
        case clients[_].Ask(_) as _ => TURN + TURN0 + TURN1 + E0,
        case clients[_].ChannelClosed() => 0,
    };
    let (mut clients, _askers) = asking(1)?;
    let stop = AutoEvent::new(false)?;
    let with_another = switch_receive! {
        case &stop => 0,
        case clients[_].Ask(_) as _ => TURN + TURN0 + TURN1 + E0,
        case clients[_].ChannelClosed() => 0,
        timeout Duration::from_secs(TURN.unsigned_abs().into()) => 0,
    };
    Ok(of_a_set == 18 && with_another == 18)
}

/// Receives from endpoints in variables of these names, alone and two at once.
macro_rules! endpoints {
    ($($name:ident)*) => {
        true $(&& {
            let (($name, _peer), (other, _late)) = (answered(3)?, asked(1)?);
            let one = switch_receive! {
                case $name.Answer(x) as _ => x,
                case $name.Refuse() as _ => 0,
                case $name.ChannelClosed() => 0,
            };
            let ($name, _peer) = answered(4)?;
            let first_of_two = switch_receive! {
                case $name.Answer(x) => {
                    drop($name.send_ask(1));
                    x
                }
                case $name.ChannelClosed() && other.ChannelClosed() => 0,
                else wait
            };
            let ($name, _peer) = answered(5)?;
            let (second, _second_peer) = answered(6)?;
            let both = switch_receive! {
                case $name.Answer(x) && second.Answer(y) => {
                    drop(($name.send_ask(1), second));
                    x + y
                }
                else wait
            };
            (one, first_of_two, both) == (3, 4, 11)
        })*
    };
}

fn names_of_endpoints() -> Check {
    Ok(endpoints! {
        again found case check select patience first key got brought next turn set place timeout wait
    })
}

/// Takes from sets in variables of these names, alone and beside something else.
macro_rules! sets {
    ($($name:ident)*) => {
        true $(&& {
            let (mut $name, _askers) = asking(2)?;
            let one = switch_receive! {
                case $name[key].Ask(_) as client => {
                    $name.put(key, client.send_refuse());
                    $name.len()
                }
                case $name[_].ChannelClosed() => 0,
            };
            let stop = AutoEvent::new(false)?;
            let two = switch_receive! {
                case $name[key].Ask(_) as client => {
                    $name.put(key, client.send_refuse());
                    $name.len()
                }
                case $name[_].ChannelClosed() => 0,
                case &stop => 0,
            };
            one == 2 && two == 2
        })*
    };
}

fn names_of_sets() -> Check {
    Ok(sets! {
        again found case check check_0 check_1 select patience first key got brought next turn set place group0 key0
        place0 wait
    })
}

/// Waits for events in variables of these names.
macro_rules! things {
    ($($name:ident)*) => {
        true $(&& {
            let (other, $name) = (AutoEvent::new(false)?, AutoEvent::new(true)?);
            switch_receive! {
                case &other => false,
                case &$name => sing_sdk::sync::wait(&$name, sing_sdk::time::Timeout::NONE).is_err(),
            }
        })*
    };
}

fn names_of_things() -> Check {
    Ok(things! {
        again found case check select patience first key got brought next turn set place thing thing0 timeout wait
    })
}

/// Arguments, keys and next states have the names that the program gives.
fn names_that_arms_bind() -> Check {
    let (a, _peer) = answered(7)?;
    let one = switch_receive! {
        case a.Answer(got) as again => {
            drop(again.send_ask(got));
            got
        }
        case a.Refuse() as _ => 0,
        case a.ChannelClosed() => 0,
    };
    let (mut clients, _askers) = asking(1)?;
    let stop = AutoEvent::new(false)?;
    let two = switch_receive! {
        case clients[first].Ask(found) as select => {
            clients.put(first, select.send_answer(found));
            clients.len() + first
        }
        case clients[key].ChannelClosed() => key,
        case &stop => 0,
    };
    Ok(one == 7 && two == 1)
}
