//! Both sides of the contracts, as programs are meant to write them.
#![deny(unsafe_code)]
use compile_fail::*;
use sing_sdk::rt::{Closed, Text, TypedEndpoint, Vector, Waitable};

pub fn ask(c: C1::Imp<C1::Start>) -> Result<C1::Imp<C1::Start>, Closed> {
    let c = match c.call_request(3) {
        C1::imp::Start_Request::Reply(_, c) | C1::imp::Start_Request::Error(c) => match_again(c)?,
        C1::imp::Start_Request::Closed => return Err(Closed),
    };
    Ok(c)
}

fn match_again(c: C1::Imp<C1::Start>) -> Result<C1::Imp<C1::Start>, Closed> {
    match c.send_request(1).try_recv() {
        Ok(C1::imp::Start_Request::Reply(_, c)) => Ok(c),
        Ok(C1::imp::Start_Request::Error(c)) => Ok(c),
        Ok(C1::imp::Start_Request::Closed) => Err(Closed),
        Err(waiting) => {
            let _ = waiting.handle();
            Err(Closed)
        }
    }
}

pub fn serve(mut c: C1::Exp<C1::Start>) {
    while let C1::exp::Start::Request(x, next) = c.recv() {
        c = if x % 2 == 0 { next.send_reply(x / 2) } else { next.send_error() };
    }
}

pub fn echo(c: Echo::Imp<Echo::Start>) -> Result<i32, Closed> {
    let (first, c) = c.call_say(1).said()?;
    let (second, _c) = c.send_say(2).recv_said()?;
    Ok(first + second)
}

pub fn store(c: Store::Imp<Store::Start>, data: Vector<u8>, name: Text) -> Result<(), sing_sdk::Error> {
    let (imp, exp) = Echo::new_channel()?;
    let c = c.send_put(data, Point { x: 1, y: -1, colour: Colour::Green }).recv_ok()?;
    let c = c.call_name(name).ok()?;
    let end: Store::Imp<Store::Closed> = c.send_serve(exp).recv_ok()?;
    end.close();
    drop(imp);
    Ok(())
}

pub fn serve_store(c: Store::Exp<Store::Start>) -> Option<i32> {
    match c.recv() {
        Store::exp::Start::Put(_data, Point { x, y, colour: Colour::Red }, _c) => Some(x + y),
        Store::exp::Start::Put(..) => None,
        Store::exp::Start::Points(all, _c) => all.get(0).map(|p| p.x),
        Store::exp::Start::Name(_name, c) => {
            c.send_ok().close();
            None
        }
        Store::exp::Start::Serve(service, c) => {
            let (n, service) = service.recv_say().ok()?;
            service.send_said(n).close();
            c.send_ok().close();
            Some(n)
        }
        Store::exp::Start::Closed => None,
    }
}

/// Up is free, down is checked.
pub fn derived(c: Derived::Exp<Derived::Start>) -> bool {
    let base: Base::Exp<Base::Start> = c.into();
    match base.into_endpoint().cast::<Derived::Exp<Derived::Start>>() {
        Ok(derived) => derived.send_success().recv_work().is_ok(),
        Err(_other) => false,
    }
}

fn main() {}
