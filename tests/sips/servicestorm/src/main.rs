//! Broken and hostile services, and services that are killed again and again: whatever they do, the
//! manager goes on, what it says is true, and clients of restarted services get their answers.
//!
//! `servicestorm` makes the checks; `servicestorm restarts N` restarts one service so often and
//! compares the manager's memory; `servicestorm kills N` kills services at random while clients use
//! them; `servicestorm wards N` kills the name server and the console. Run as `servicestorm client`,
//! it is such a client.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

#[path = "../../clients.rs"]
mod clients;
mod services;
#[path = "../../storm.rs"]
mod storm;
mod wards;

use clients::Clients;
use core::time::Duration;
use services::{Manager, bind, wait_for};
use sing_sdk::inspect;
use sing_sdk::prelude::*;
use sing_sdk::process::stop;
use sing_sdk::system;
use sing_sdk::time;
use storm::{Draw, left_behind, settled, verdict};

sing_sdk::manifest! {
    name: "servicestorm",
    description: "attacks the service manager",
    privileges: [create, inspect, control],
    endpoints: {
        until: optional PipeContract.Exp:Start,
        stdout: optional PipeContract.Imp:Start,
        names: NamespaceContract.Imp:Start,
    },
    memory: 64 MiB,
}

sing_sdk::choices! {
    /// What to do.
    What: "checks" Checks, "restarts" Restarts, "kills" Kills, "wards" Wards, "client" Client
}

sing_sdk::arguments! {
    /// What to do.
    what: default What = What::Checks, "WHAT";
    /// How often.
    times: default u32 = 100, "TIMES";
}

type Check = Result<bool, Error>;

/// A check of the manager, with its name.
type Test = (&'static str, fn(&mut Manager) -> Check);

/// Crashes at once for ever: back-off holds, and it is given up.
fn crash(m: &mut Manager) -> Check {
    let start = time::uptime();
    let refused = bind(&mut m.names, "/test/crash").err() == Some(Error::NotFound);
    let gone = wait_for(m, "crash", |s| s.state == ServiceState::Failed)?;
    // 2, 4, 8, 16 and 20 ms.
    let held = time::uptime() - start >= Duration::from_millis(50);
    let told = gone.restarts == 5 && gone.reason.starts_with("crash: ") && gone.process == 0;
    // It can be tried again, and what is then is the same.
    m.start("crash")?;
    let again = wait_for(m, "crash", |s| s.state == ServiceState::Failed)?;
    Ok(refused && held && told && again.restarts == 10)
}

/// Never becomes ready: its clients are refused in the end.
fn mute(m: &mut Manager) -> Check {
    let refused = bind(&mut m.names, "/test/mute").err() == Some(Error::NotFound);
    let s = wait_for(m, "mute", |s| s.state == ServiceState::Ended)?;
    Ok(refused && s.reason == "was not ready for clients within 100ms")
}

/// Serves, and does not answer pings: restarted with the reason.
fn deaf(m: &mut Manager) -> Check {
    drop(bind(&mut m.names, "/test/deaf")?);
    let s = wait_for(m, "deaf", |s| s.restarts >= 2)?;
    let told = s.reason == "did not answer a ping within 100ms";
    m.stop("deaf")?;
    let s = m.status("deaf")?;
    let refused = bind(&mut m.names, "/test/deaf").err() == Some(Error::NotFound);
    Ok(told && refused && s.state == ServiceState::Stopped && s.process == 0)
}

/// Is ready, and does not answer binds: its client finds the channel closed, and is not stuck.
fn silent(m: &mut Manager) -> Check {
    let closed = bind(&mut m.names, "/test/silent").err() == Some(Error::Closed);
    let s = wait_for(m, "silent", |s| s.restarts >= 1)?;
    let told = s.reason == "did not answer a client's bind within 100ms";
    m.stop("silent")?;
    Ok(closed && told)
}

/// Closes its endpoint and goes on.
fn closing(m: &mut Manager) -> Check {
    // It may have closed before or after this client came.
    let refused = bind(&mut m.names, "/test/closing").is_err();
    let s = wait_for(m, "closing", |s| s.state == ServiceState::Ended)?;
    Ok(refused && s.reason == "closed the endpoint of what it serves and went on")
}

/// Makes a crowd, which ends with it.
fn crowd(m: &mut Manager) -> Check {
    let of = |parent: u32| -> Result<usize, Error> {
        let all = inspect::processes()?;
        Ok(all.iter().filter(|p| p.parent == parent).count())
    };
    drop(bind(&mut m.names, "/test/crowd")?);
    let first = m.status("crowd")?;
    let many = of(first.process)?;
    system::stop(first.process, stop::KILLED)?;
    let s = wait_for(m, "crowd", |s| {
        s.state == ServiceState::Up && s.restarts == 1
    })?;
    // Its children end after it, some of them when it is up again.
    let remain = |parent: u32| -> Result<usize, Error> {
        let start = time::uptime();
        while of(parent)? > 0 && time::uptime() - start < Duration::from_secs(5) {
            time::sleep(Duration::from_millis(1));
        }
        of(parent)
    };
    let left = remain(first.process)?;
    m.stop("crowd")?;
    let none = remain(s.process)?;
    let (told, gone) = (s.reason == "killed", left == 0 && none == 0);
    if many <= 10 || !told || !gone {
        println!("crowd: {many}, left {left} and {none}: {}", s.reason);
    }
    Ok(many > 10 && told && gone)
}

/// Exits when it has served one client: starts again with the next.
fn once(m: &mut Manager) -> Check {
    for _ in 0..3 {
        let clock = bind(&mut m.names, "/test/once")?;
        drop(clock.call_get_utc().utc()?);
        let s = wait_for(m, "once", |s| s.state == ServiceState::Waiting)?;
        if s.restarts != 0 || s.reason != "exit 0" {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Crashes now and then: a client that repeats its requests sees nothing of it.
fn flaky(m: &mut Manager) -> Check {
    let mut client = services::client("/test/flaky");
    for _ in 0..50 {
        client.ask(&mut m.names, |clock| clock.call_get_utc().utc())?;
    }
    let s = m.status("flaky")?;
    m.stop("flaky")?;
    Ok(s.restarts > 0)
}

/// Two that bind each other before they are ready: both are ended, and their clients refused.
fn circle(m: &mut Manager) -> Check {
    let refused = bind(&mut m.names, "/test/circle").err() == Some(Error::NotFound);
    let over = |s: &services::Status| s.state == ServiceState::Ended;
    let one = wait_for(m, "circle", over)?;
    let other = wait_for(m, "circle2", over)?;
    Ok(refused && !one.reason.is_empty() && other.reason.contains("not ready"))
}

/// What a service uses starts before it, ends with it if the policy says so, and comes back first.
fn leaning(m: &mut Manager) -> Check {
    let waiting = m.status("base")?.state == ServiceState::Waiting;
    let clock = bind(&mut m.names, "/test/leaning")?;
    let (base, _) = clock.call_get_utc().utc()?;
    let first = m.status("base")?;
    let before = m.status("leaning")?;
    system::stop(first.process, stop::KILLED)?;
    let after = wait_for(m, "leaning", |s| {
        s.state == ServiceState::Up && s.restarts == 1
    })?;
    let clock = bind(&mut m.names, "/test/leaning")?;
    let (now, _) = clock.call_get_utc().utc()?;
    let right = base == u64::from(first.process) && now != base && after.process != before.process;
    m.stop("base")?;
    let pending = m.status("leaning")?;
    m.stop("leaning")?;
    Ok(waiting && right && pending.reason == "stopped because base has ended")
}

/// A service that waits for one which nobody else needs is started by a client, and that first.
fn woken(m: &mut Manager) -> Check {
    m.start("base")?;
    m.start("leaning")?;
    let up = |s: &services::Status| s.state == ServiceState::Up;
    let before = wait_for(m, "leaning", up)?;
    // The second answer is its last: it ends, as it should, and starts when it is needed.
    drop(bind(&mut m.names, "/test/base")?.call_get_utc().utc()?);
    let over = |s: &services::Status| s.state == ServiceState::Waiting;
    wait_for(m, "base", over)?;
    let pending = wait_for(m, "leaning", |s| s.state == ServiceState::Pending)?;
    let clock = bind(&mut m.names, "/test/leaning")?;
    let (base, _) = clock.call_get_utc().utc()?;
    let (first, after) = (m.status("base")?, m.status("leaning")?);
    m.stop("leaning")?;
    m.stop("base")?;
    Ok(pending.process == 0
        && first.state == ServiceState::Up
        && base == u64::from(first.process)
        && after.state == ServiceState::Up
        && after.process != before.process)
}

/// In every state a stop, a start and a restart do what they say, and a name is never free.
fn states(m: &mut Manager) -> Check {
    let mut good = true;
    for name in ["tame", "crash", "mute", "tame2"] {
        for _ in 0..20 {
            let _ = m.start(name);
            let _ = m.restart(name);
            let _ = m.stop(name);
            good &= m.status(name)?.state == ServiceState::Stopped;
            good &= m.stop(name) == Err(Error::BadState);
            let _ = m.restart(name);
            good &= m.names.register(&format!("/test/{name}")).err() == Some(Error::Held);
            let process = m.status(name)?.process;
            if process > 0 {
                // While it is starting, or has just ended.
                let _ = system::stop(process, stop::KILLED);
            }
        }
        m.stop(name)?;
    }
    let none = m.start("none") == Err(Error::NotFound) && m.status("none").is_err();
    m.start("tame")?;
    m.start("tame2")?;
    Ok(good && none)
}

/// What clients send is bounded, and the number of clients of one program.
fn clients(m: &mut Manager) -> Check {
    let long = m.status(&"x".repeat(1 << 20)).is_err() && m.status("").is_err();
    let mut held = Vec::new();
    let refused = loop {
        match services::info(&mut m.names) {
            Ok(info) if held.len() < 1000 => held.push(info),
            Ok(_) => break false,
            Err(e) => break e == Error::NoResources,
        }
    };
    let fair = held.len() >= 8 && held.len() < 100;
    drop(held);
    Ok(long && refused && fair && services::info(&mut m.names).is_ok())
}

/// Restarts a service so often: the manager has no more memory than before.
fn restarts(m: &mut Manager, times: u32) -> Result<i32, Error> {
    let mut client = services::client("/test/tame");
    let mut once = |m: &mut Manager| -> Result<(), Error> {
        let process = client.ask(&mut m.names, |clock| clock.call_get_utc().utc())?;
        system::stop(process as u32, stop::KILLED)
    };
    let manager = || -> Result<(u64, u64, u32), Error> {
        let all = inspect::processes()?;
        let found = all.iter().find(|p| p.name == "manager");
        found
            .map(|p| (p.pages, p.exchange, p.handles))
            .ok_or(Error::NotFound)
    };
    // The manager may not have noted the last end yet when it is asked.
    let settled = |m: &mut Manager, restarts: u32| {
        wait_for(m, "tame", |s| {
            s.restarts >= restarts && s.state == ServiceState::Up
        })
    };
    once(m)?;
    let first = settled(m, 1)?.restarts + 100;
    for _ in 0..100 {
        once(m)?;
    }
    settled(m, first)?;
    let before = manager()?;
    for _ in 0..times {
        once(m)?;
    }
    let s = settled(m, first + times)?;
    let after = manager()?;
    let done = s.restarts - first;
    if before != after {
        println!(
            "servicestorm: pages, exchange, handles of the manager: {before:?} before, {after:?} after"
        );
        return Ok(1);
    }
    println!("servicestorm: {done} restarts, the manager's memory is the same");
    Ok(i32::from(done != times))
}

/// Asks until the driver closes its pipe; fails if a request does.
fn client(m: &mut Manager) -> Result<i32, Error> {
    let until = startup::until().ok_or(Error::NotFound)?;
    let mut one = services::client("/test/tame");
    let mut other = services::client("/test/tame2");
    let mut date = services::client("/clock");
    while !until.is_ready() {
        for client in [&mut one, &mut other, &mut date] {
            client.ask(&mut m.names, |clock| clock.call_get_utc().utc())?;
        }
        time::sleep(Duration::from_micros(200));
    }
    Ok(0)
}

/// Kills services at random moments while clients use them.
fn kills(m: &mut Manager, times: u32) -> Result<i32, Error> {
    const NAMES: [&str; 3] = ["tame", "tame2", "clock"];
    let mut draw = Draw(0x5eed);
    let settle = |m: &mut Manager| -> Result<(), Error> {
        for name in NAMES {
            // The limit of restarts is the clock's own; this begins it anew.
            let _ = m.start(name);
            wait_for(m, name, |s| s.state == ServiceState::Up)?;
        }
        Ok(())
    };
    let mut round = |m: &mut Manager, times: u32| -> Result<(u32, u32), Error> {
        let mut clients = Clients::default();
        for _ in 0..4 {
            clients.start(&mut m.names, &["servicestorm", "client"])?;
        }
        let mut killed = 0;
        while killed < times {
            let name = NAMES[draw.below(3) as usize];
            let s = m.status(name)?;
            if s.process > 0 && system::stop(s.process, stop::KILLED).is_ok() {
                killed += 1;
            }
            if s.state == ServiceState::Failed {
                let _ = m.start(name);
            }
            time::sleep(Duration::from_micros(draw.below(1500)));
        }
        settle(m)?;
        let failed = clients.end()?;
        Ok((killed, failed))
    };
    settle(m)?;
    round(m, 20)?;
    let before = settled()?;
    let (killed, failed) = round(m, times)?;
    let left = left_behind("servicestorm", &before, 0, settled)?;
    Ok(verdict("servicestorm", left, killed, failed, "clients"))
}

#[sing_sdk::main]
fn main(Arguments { what, times }: Arguments) -> Result<i32, Error> {
    let names = startup::names().ok_or(Error::NotFound)?;
    let mut m = Manager::new(names)?;
    match what {
        What::Restarts => restarts(&mut m, times),
        What::Kills => kills(&mut m, times),
        What::Wards => wards::kills(&mut m, times),
        What::Client => client(&mut m),
        What::Checks => {
            let all: [Test; 13] = [
                ("crash", crash),
                ("mute", mute),
                ("deaf", deaf),
                ("silent", silent),
                ("closing", closing),
                ("crowd", crowd),
                ("once", once),
                ("flaky", flaky),
                ("circle", circle),
                ("leaning", leaning),
                ("woken", woken),
                ("states", states),
                ("clients", clients),
            ];
            let mut failed = 0;
            for (name, check) in all {
                let text = match check(&mut m) {
                    Ok(true) => continue,
                    Ok(false) => "wrong".to_string(),
                    Err(error) => error.to_string(),
                };
                println!("servicestorm: {name}: {text}");
                failed += 1;
            }
            println!("servicestorm: {} checks, {failed} failed", all.len());
            Ok(failed)
        }
    }
}
