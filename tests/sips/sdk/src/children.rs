//! Starting children: their endpoints are named, and arguments that they do not understand end
//! them.

use crate::{Check, Test};
use sing_sdk::prelude::*;
use sing_sdk::process::{self, Child, Exit, NotMade, Reason};

pub const ALL: &[Test] = &[
    ("endpoints by name", by_name),
    ("endpoints of a known manifest", known_manifest),
    ("names that the manifest does not declare", undeclared),
    ("endpoints of another contract", mismatched),
    ("refused arguments of children", refused_arguments),
];

/// Asks a child that serves pings.
fn asked(pong: &Child, ping: PingContract::Imp<PingContract::Start>) -> Check {
    let (answer, ping) = ping.send_ping(4).recv_pong()?;
    drop(ping);
    Ok(answer == 8 && pong.join()? == Exit::Code(0))
}

fn by_name() -> Check {
    let (imp, exp) = PingContract::new_channel()?;
    let pong = Child::of("pong")
        .arg("pong")
        .endpoint("ping", exp)
        .start()?;
    let (ask, bench) = BenchContract::new_channel()?;
    let (_first, one) = BenchContract::new_channel()?;
    let (_second, two) = BenchContract::new_channel()?;
    // The order in which they are given matters only among those of one name.
    let peer = Child::of("bench-peer")
        .args(["bench-peer", "set"])
        .endpoint("idle", one)
        .endpoint("bench", bench)
        .endpoint("idle", two)
        .start()?;
    let (word, ask) = ask.send_ping(7).recv_pong()?;
    drop(ask);
    Ok(asked(&pong, imp)? && word == 7 && peer.join()? == Exit::Code(0))
}

fn known_manifest() -> Check {
    let manifest = process::manifest("pong")?;
    for _ in 0..2 {
        let (imp, exp) = PingContract::new_channel()?;
        let pong = Child::of("pong").manifest(&manifest);
        if !asked(&pong.endpoint("ping", exp).start()?, imp)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn refusal(made: Result<Child, NotMade>) -> String {
    made.err().map(|e| e.to_string()).unwrap_or_default()
}

fn undeclared() -> Check {
    let (imp, exp) = PingContract::new_channel()?;
    let pong = Child::of("pong").endpoint("pong", exp).create();
    let said = refusal(pong) == "pong: declares no endpoint `pong`; its manifest declares `ping`";
    // Endpoints given to a child that is not made are closed.
    let closed = imp.send_ping(1).recv_pong().is_err();
    let none = refusal(Child::of("pong").start())
        == "pong: needs the endpoint `ping` (PingContract.Exp:Start), and was given none; a program that starts it must give that";
    let (_one, first) = PingContract::new_channel()?;
    let (_two, second) = PingContract::new_channel()?;
    let twice = Child::of("pong")
        .endpoint("ping", first)
        .endpoint("ping", second);
    let twice = twice.create().map_err(|e| e.reason);
    let name = "ping".into();
    let missing = Child::of("no-such-program").start().map_err(Error::from);
    Ok(said
        && closed
        && none
        && matches!(twice, Err(reason) if reason == Reason::Twice { name })
        && matches!(missing, Err(Error::NotFound)))
}

fn mismatched() -> Check {
    let (imp, _exp) = PingContract::new_channel()?;
    let side = refusal(Child::of("pong").endpoint("ping", imp).create());
    let (_imp, exp) = BenchContract::new_channel()?;
    let contract = refusal(Child::of("pong").endpoint("ping", exp).create());
    Ok(side
        == "pong: declares `ping: PingContract.Exp:Start`, and was given PingContract.Imp:Start"
        && contract
            == "pong: declares `ping: PingContract.Exp:Start`, and was given BenchContract.Exp:Start")
}

/// The programs that cannot be called without endpoints, and so from no prompt.
fn refused_arguments() -> Check {
    let (_ask, ping) = PingContract::new_channel()?;
    let pong = Child::of("pong")
        .args(["pong", "louder"])
        .endpoint("ping", ping)
        .start()?;
    let (_ask, bench) = BenchContract::new_channel()?;
    let peer = Child::of("bench-peer")
        .args(["bench-peer", "shouting"])
        .endpoint("bench", bench)
        .start()?;
    Ok([pong.join()?, peer.join()?] == [Exit::Code(process::status::USAGE); 2])
}
