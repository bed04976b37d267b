//! Switches, sets, cells and views, as programs are meant to write them.
#![deny(unsafe_code)]
use compile_fail::*;
use core::time::Duration;
use sing_sdk::prelude::*;
use sing_sdk::sync::AutoEvent;
use sing_sdk::tref::TRef;

/// The papers' first example.
pub fn one(a: C1::Imp<C1::Start_Request>) -> String {
    switch_receive! {
        case a.Reply(x) as _ => format!("Reply {x}"),
        case a.Error() as _ => "Error".into(),
        case a.ChannelClosed() => "closed".into(),
    }
}

/// The papers' second example.
pub fn two(a: C1::Imp<C1::Start_Request>, b: C1::Imp<C1::Start_Request>) -> Option<i32> {
    switch_receive! {
        case a.Reply(x) && b.Reply(y) => {
            drop((a.send_request(1), b.send_request(2)));
            Some(x + y)
        }
        case a.Error() as _ => None,
        case b.Error() as _ => None,
        case a.ChannelClosed() => None,
        else wait
    }
}

/// A condition that the kernel checks at the send needs no case for a sender that breaks it.
pub fn judged(c: C1::Exp<C1::Start>, e: Echo::Exp<Echo::Start>) -> i32 {
    switch_receive! {
        case e.Say(x) as _ && c.Request(y) as _ => x + y,
        else wait
    }
}

pub struct Server {
    clients: EndpointSet<Echo::Exp<Echo::Start>>,
    stop: AutoEvent,
}

impl Server {
    pub fn run(&mut self, mut extra: [Option<Echo::Exp<Echo::Start>>; 4]) -> Result<i32, Error> {
        let mut sum = 0;
        loop {
            sum += switch_receive! {
                case self.clients[key].Say(x) as client => {
                    self.clients.put(key, client.send_said(x));
                    x
                }
                case self.clients[_].ChannelClosed() => continue,
                case extra[key].Say(x) as client => {
                    extra[key] = Some(client.send_said(x));
                    x
                }
                case extra[_].ChannelClosed() => Err(Error::Closed)?,
                case &self.stop => break,
                timeout Duration::from_secs(1) => return Err(Error::Timeout),
            };
        }
        Ok(sum)
    }
}

pub fn known(c: C1::Imp<C1::Start>) -> C1::Imp<C1::Start_Request> {
    const { assert!(C1::may_carry_request(5) && !C1::may_carry_request(-5)) };
    c.send_request_checked(const { C1::checked_request(5) })
}

pub fn held(cell: &TRef<(Vector<u16>, Option<C1::Imp<C1::Start>>)>) -> Result<Option<u16>, Error> {
    let (mut data, endpoint) = cell.acquire()?;
    if let Some((mut low, mut high)) = data.view_mut(..)?.split_at(1) {
        low.set(0, 1);
        high.set(0, 2);
    }
    let first = data.view(1..)?.get(0);
    cell.release((data, endpoint))?;
    Ok(first)
}

fn main() {
    let _ = (one as fn(_) -> _, two as fn(_, _) -> _, Server::run as fn(&mut _, _) -> _);
    let _ = (known as fn(_) -> _, held as fn(&_) -> _);
}
