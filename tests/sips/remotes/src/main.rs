//! A service that a bridge carries to another machine, and its clients: `remotes serve PATH` answers
//! calls with their bytes in reverse; `remotes ask PATH N` calls so often and compares; `remotes gone
//! PATH` sees that a call is not answered, and the channel closed; `remotes again PATH` calls until it
//! is answered; `remotes clock PATH` asks for the time.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use core::time::Duration;
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::provider::Provider;
use sing_sdk::time::{sleep, uptime, utc};

sing_sdk::contract!("../../../system/apps/bridge/remote.contract", use sing_sdk::contracts::ServiceContract);

sing_sdk::manifest! {
    name: "remotes",
    description: "a service that is used from another machine, and its clients",
    endpoints: {
        stdout: optional PipeContract.Imp:Start,
        stderr: optional PipeContract.Imp:Start,
        names: NamespaceContract.Imp:Start,
    },
    memory: 16 MiB,
}

sing_sdk::arguments! {
    /// What to do: serve, ask, gone, again, clock.
    what: one String "WHAT";
    /// Where the service is.
    path: one String "PATH";
    /// How often.
    times: default u32 = 1, "TIMES";
}

type Remote = RemoteContract::Imp<RemoteContract::Ready>;

/// How long a service may be away.
const PATIENCE: Duration = Duration::from_secs(30);

fn bind(names: &mut Names, path: &str) -> Result<Remote, Error> {
    let (remote, exp) = RemoteContract::new_channel()?;
    names.bind(path, exp)?;
    Ok(remote.recv_success()?)
}

/// The answer to a call; `None` if it was refused.
fn call(remote: Remote, bytes: &[u8]) -> Result<(Option<Vec<u8>>, Remote), Error> {
    use RemoteContract::imp::Ready_Call as Answer;
    match remote.call_call(Vector::from_bytes(bytes)?) {
        Answer::Answer(bytes, next) => Ok((Some(bytes.to_vec()), next)),
        Answer::Refused(_, next) => Ok((None, next)),
        Answer::Closed => Err(Error::Closed),
    }
}

fn reversed(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().rev().copied().collect()
}

/// Refuses what begins with an `r`, and ends at what begins with an `e`.
fn serve(names: &mut Names, path: &str) -> Result<(), Error> {
    let mut calls: Provider<_, _> =
        Provider::register(names, path, RemoteContract::Exp::send_success)?;
    println!("serving");
    loop {
        switch_receive! {
            case calls.clients[key].Call(bytes) as client => {
                let bytes = bytes.to_vec();
                let ready = match bytes.first() {
                    Some(b'r') => client.send_refused(Text::new("as was asked")?),
                    Some(b'e') => return Ok(()),
                    _ => client.send_answer(Vector::from_bytes(&reversed(&bytes))?),
                };
                calls.clients.put(key, ready);
            }
            case calls.clients[_].ChannelClosed() => {}
            case &calls.lookup => {
                if calls.answer(|path| (path == "/").then_some(())).is_err() {
                    calls.come_back(names)?;
                }
            }
        }
    }
}

fn ask(names: &mut Names, path: &str, times: u32) -> Result<bool, Error> {
    let mut remote = bind(names, path)?;
    for at in 0..times {
        // Of many lengths, up to what a bridge carries.
        let len = 1 + (at * 7919) as usize % 60_000;
        let bytes: Vec<u8> = (0..len)
            .map(|i| b'a' + ((i as u32 * 31 + at) % 4) as u8)
            .collect();
        let (answer, next) = call(remote, &bytes)?;
        if answer != Some(reversed(&bytes)) {
            println!("{len} bytes: not the answer");
            return Ok(false);
        }
        remote = next;
    }
    let (refused, remote) = call(remote, b"refuse this")?;
    // More than a bridge carries: that channel is closed, and a new one goes on.
    let closed = call(remote, &vec![b'x'; 100_000]).err() == Some(Error::Closed);
    let next = call(bind(names, path)?, b"abc")?.0;
    Ok(refused.is_none() && closed && next.as_deref() == Some(b"cba"))
}

/// A call that gets no answer, within the bridge's patience.
fn gone(names: &mut Names, path: &str) -> Result<bool, Error> {
    let began = uptime();
    let ended = call(bind(names, path)?, b"abc").err();
    Ok(ended == Some(Error::Closed) && uptime() - began < Duration::from_secs(10))
}

fn again(names: &mut Names, path: &str) -> Result<bool, Error> {
    let end = uptime() + PATIENCE;
    while uptime() < end {
        let answered = bind(names, path).and_then(|remote| call(remote, b"abc"));
        if let Ok((Some(answer), _)) = answered {
            return Ok(answer == b"cba");
        }
        sleep(Duration::from_millis(20));
    }
    Ok(false)
}

fn clock(names: &mut Names, path: &str) -> Result<bool, Error> {
    let (clock, exp) = ClockContract::new_channel()?;
    names.bind(path, exp)?;
    let (there, _) = clock.recv_success()?.call_get_utc().utc()?;
    let here = utc().as_nanos() as u64;
    Ok(there.abs_diff(here) < 10_000_000_000)
}

#[sing_sdk::main]
fn main(Arguments { what, path, times }: Arguments) -> Result<i32, Error> {
    let mut names = Names::new(startup::names().ok_or(Error::NotFound)?)?;
    let good = match what.as_str() {
        "serve" => return serve(&mut names, &path).map(|()| 0),
        "ask" => ask(&mut names, &path, times)?,
        "gone" => gone(&mut names, &path)?,
        "again" => again(&mut names, &path)?,
        "clock" => clock(&mut names, &path)?,
        _ => return Err(Error::BadArgument),
    };
    println!(
        "{what} {path}: {}",
        if good { "as it should be" } else { "not so" }
    );
    Ok(i32::from(!good))
}
