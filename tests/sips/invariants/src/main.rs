//! Tries to break the four invariants of sealed processes ([S] 2.1), each attack in a SIP of its
//! own, and prints the result.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use sing_sdk::contracts::{BenchContract, PingContract};
use sing_sdk::process::{Child, Exit};

sing_sdk::manifest! {
    name: "invariants",
    description: "tries to break what a sealed process promises",
    privileges: [create],
    endpoints: { stdout: optional PipeContract.Imp:Start },
}

/// Codes of the traps that attacks end in.
const MEMORY: i32 = 2;
const HANDLE: i32 = 10;
const BLOCK: i32 = 11;
const PROTOCOL: i32 = 13;

/// Which invariant an attack aims at, its name, its value, and the trap it must end in.
const ATTACKS: &[(&str, &str, &str, i32)] = &[
    // State isolation: data of a process is accessed by that process only.
    ("state isolation", "memory", "4294901760", MEMORY),
    ("state isolation", "memory", "2147483648", MEMORY),
    ("state isolation", "pointer", "", MEMORY),
    ("state isolation", "pointer-out", "", MEMORY),
    ("state isolation", "pointer-handles", "", MEMORY),
    ("state isolation", "recv-out", "", MEMORY),
    ("state isolation", "block-load", "65536", HANDLE),
    ("state isolation", "block-load", "65537", HANDLE),
    // Handle 0 selects an empty entry, which has no bytes.
    ("state isolation", "block-load", "0", BLOCK),
    ("state isolation", "block-load", "4294967295", HANDLE),
    ("state isolation", "block-free", "65536", HANDLE),
    ("state isolation", "block-after-send", "", HANDLE),
    ("state isolation", "block-bounds", "", BLOCK),
    ("state isolation", "block-wrap", "", BLOCK),
    ("state isolation", "block-read-only", "", BLOCK),
    ("state isolation", "block-split-bounds", "", BLOCK),
    ("state isolation", "block-copy-bounds", "", BLOCK),
    ("state isolation", "stale-block", "", HANDLE),
    ("state isolation", "stale-block-twice", "", HANDLE),
    // Explicit communication: only over channels that were given.
    ("explicit communication", "send", "65536", HANDLE),
    ("explicit communication", "send", "65537", HANDLE),
    ("explicit communication", "send", "4294967295", HANDLE),
    ("explicit communication", "poll", "65537", HANDLE),
    ("explicit communication", "give-nothing", "65536", HANDLE),
    ("explicit communication", "twice", "", PROTOCOL),
    ("explicit communication", "wrong-side", "", HANDLE),
    ("explicit communication", "wrong-contract", "", HANDLE),
    // Closed API: the kernel's calls act on the caller's own objects only.
    ("closed API", "wait", "65536", HANDLE),
    ("closed API", "wait", "0", HANDLE),
    ("closed API", "dispose", "65540", HANDLE),
    ("closed API", "event", "65536", HANDLE),
    ("closed API", "mutex", "65536", HANDLE),
    ("closed API", "thread", "65536", HANDLE),
    ("closed API", "kind-event", "", HANDLE),
    ("closed API", "kind-mutex", "", HANDLE),
    ("closed API", "kind-thread", "", HANDLE),
    ("closed API", "kind-endpoint", "", HANDLE),
    ("closed API", "kind-block", "", HANDLE),
    ("closed API", "kind-handle", "", HANDLE),
    ("closed API", "stale-event", "", HANDLE),
];

/// Runs one attack; returns how it ended.
fn attack(name: &str, value: &str) -> Result<Exit, Error> {
    let (ping, ping_exp) = PingContract::new_channel()?;
    let (bench, bench_exp) = BenchContract::new_channel()?;
    let child = Child::of("hostile")
        .args(["hostile", name, value])
        .endpoint("ping", ping)
        .endpoint("bench", bench)
        .start()?;
    // The other side answers one question, so that an attack can reach its point.
    let pong = Child::of("pong")
        .arg("pong")
        .endpoint("ping", ping_exp)
        .start()?;
    let exit = child.join()?;
    drop(bench_exp);
    pong.join()?;
    Ok(exit)
}

#[sing_sdk::main]
fn main() -> Result<i32, Error> {
    // Objects that attackers could reach if handles had a meaning elsewhere: this SIP's own.
    let held: Vec<_> = (0..16)
        .map(|_| PingContract::new_channel())
        .collect::<Result<_, _>>()?;
    let mut failed = 0;
    let mut check = |invariant: &str, what: &str, exit: Exit, want: Exit| {
        if exit != want {
            println!("FAILED {invariant}: {what}: {exit}, not {want}");
            failed += 1;
        }
    };
    for &(invariant, name, value, trap) in ATTACKS {
        let what = format!("{name} {value}");
        check(invariant, &what, attack(name, value)?, Exit::Trapped(trap));
    }
    // The contents of an ended SIP's memory and blocks reach no later one.
    for _ in 0..5 {
        check(
            "state isolation",
            "hide",
            attack("hide", "")?,
            Exit::Code(0),
        );
        check(
            "state isolation",
            "behind",
            attack("behind", "")?,
            Exit::Trapped(MEMORY),
        );
        check(
            "state isolation",
            "seek",
            attack("seek", "")?,
            Exit::Code(0),
        );
    }
    // Fixed code: an image that is not installed does not run, under any name.
    for name in [
        "",
        "nothing",
        "../bin/hello",
        "bin/hello",
        "hello\0",
        "script",
    ] {
        if Child::of(name).arg(name).start().is_ok() {
            println!("FAILED fixed code: a process of image {name:?}");
            failed += 1;
        }
    }
    // This SIP's own channels are unchanged.
    for (imp, exp) in held {
        let sent = imp.send_ping(5);
        match exp.recv_ping() {
            Ok((5, _)) => {}
            _ => {
                println!(
                    "FAILED explicit communication: a channel that nobody was given has changed"
                );
                failed += 1;
            }
        }
        drop(sent);
    }
    println!(
        "invariants: {} attacks, {failed} got through",
        ATTACKS.len() + 21
    );
    Ok(i32::from(failed > 0))
}
