//! Random frames for the network of a hosted system, and random answers to its questions for names.
//!
//! The other side of the card's link is the machine that `tests/hosts-peer` plays. Between them stands
//! this program: it passes on what they say, and beside it sends the system frames of its own: those
//! that went by with bytes changed, cut, joined and turned around, of Ethernet, ARP, IPv4, IPv6, TCP,
//! UDP, ICMP, DHCP and DNS, most of them with their sums put right again. Each frame for the system
//! comes behind changed copies of itself, so that a changed answer of DNS comes before the right one.
//!
//! Meanwhile the system asks for names, and reaches itself. In the end its network must be the process
//! that it was, have answered, have no more memory than before, and reach the other side again. Who
//! changes a lease may give the link any address, as any DHCP server may: those are given another
//! number, so that they are read and not taken.

use super::Request;
use crate::build;
use crate::image::{self, Programs};
use crate::machine::{Acceleration, Kernel, Machine};
use crate::network::{Network, free_address};
use crate::project::Project;
use crate::system::session::Session;
use crate::test::systems::launch;
use anyhow::{Context, Result};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::OwnedFd;
use std::process::Command;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The default length of a run, in seconds.
const TIME: u64 = 60;
/// How long a boot may take, and the end, and each round more than it should.
const PATIENCE: Duration = Duration::from_secs(180);
/// Questions a second.
const ROUNDS: u64 = 3;
/// Frames that are remembered, and the most that are sent in one step.
const KEPT: usize = 64;
const BURST: usize = 64;
const LONGEST: usize = 1514;
/// Pages that the network may have more at the end than after a third of the time.
const MORE_PAGES: u64 = 256;
/// Where the peer is, and its card.
const PEER: [u8; 4] = [10, 0, 0, 1];
const GUEST: [u8; 4] = [10, 0, 0, 2];
const MAC: [u8; 6] = [0x52, 0x54, 0, 1, 2, 3];

/// The result of a run.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Frames that were passed on, and those that were made.
    pub passed: u64,
    pub made: u64,
    /// The findings.
    pub findings: Vec<String>,
}

/// What the one between them does.
const PASS: u8 = 0;
const ATTACK: u8 = 1;
const HEAL: u8 = 2;
const END: u8 = 3;

/// The sum of the Internet's protocols over bytes, beginning with a part of it.
fn sum(bytes: &[u8], begun: u32) -> u16 {
    let word = |w: &[u8]| u32::from(w[0]) << 8 | w.get(1).map_or(0, |b| u32::from(*b));
    let mut all = begun + bytes.chunks(2).map(word).sum::<u32>();
    while all >> 16 != 0 {
        all = (all & 0xffff) + (all >> 16);
    }
    !(all as u16)
}

/// Puts right the sums of a frame, as far as it has any.
pub fn mend(frame: &mut [u8]) {
    let Some(kind) = frame.get(12..14).map(|k| [k[0], k[1]]) else {
        return;
    };
    let (protocol, addresses, start, end) = match kind {
        [8, 0] if frame.len() >= 34 => {
            let head = usize::from(frame[14] & 15) * 4;
            if head < 20 || frame.len() < 14 + head {
                return;
            }
            frame[24..26].fill(0);
            let own = sum(&frame[14..14 + head], 0);
            frame[24..26].copy_from_slice(&own.to_be_bytes());
            let whole = usize::from(u16::from_be_bytes([frame[16], frame[17]]));
            (frame[23], 26..34, 14 + head, 14 + whole)
        }
        [0x86, 0xdd] if frame.len() >= 54 => {
            let whole = usize::from(u16::from_be_bytes([frame[18], frame[19]]));
            (frame[20], 22..54, 54, 54 + whole)
        }
        _ => return,
    };
    let end = end.clamp(start, frame.len());
    let pseudo = u32::from(!sum(&frame[addresses], 0)) + u32::from(protocol) + (end - start) as u32;
    let (at, pseudo) = match protocol {
        1 => (2, 0),
        6 => (16, pseudo),
        17 => (6, pseudo),
        58 => (2, pseudo),
        _ => return,
    };
    if start + at + 2 <= end {
        frame[start + at..start + at + 2].fill(0);
        let own = sum(&frame[start..end], pseudo);
        frame[start + at..start + at + 2].copy_from_slice(&own.to_be_bytes());
    }
}

/// Swaps two parts of the same length.
fn swap(frame: &mut [u8], one: usize, other: usize, length: usize) {
    if frame.len() >= other + length {
        (0..length).for_each(|at| frame.swap(one + at, other + at));
    }
}

/// Has a frame go the other way: the system's own become what it might be answered.
fn turn(frame: &mut [u8]) {
    swap(frame, 0, 6, 6);
    match frame.get(12..14) {
        Some([8, 0]) => {
            swap(frame, 26, 30, 4);
            swap(frame, 34, 36, 2);
        }
        Some([0x86, 0xdd]) => {
            swap(frame, 22, 38, 16);
            swap(frame, 54, 56, 2);
        }
        Some([8, 6]) => swap(frame, 22, 32, 10),
        _ => {}
    }
}

/// A frame made of those that went by.
fn made(draw: &mut fastrand::Rng, seen: &[(bool, Vec<u8>)]) -> Vec<u8> {
    let mut random =
        |most: usize| -> Vec<u8> { (0..draw.usize(..=most)).map(|_| draw.u8(..)).collect() };
    let noise = random(80);
    if seen.is_empty() || draw.u8(..20) == 0 {
        let mut frame = [&[0xff; 6][..], &MAC].concat();
        let kinds = [[8, 0], [8, 6], [0x86, 0xdd], [0x81, 0]];
        frame.extend_from_slice(&kinds[draw.usize(..kinds.len())]);
        frame.extend_from_slice(&noise);
        return frame;
    }
    let (outward, mut frame) = seen[draw.usize(..seen.len())].clone();
    if outward {
        turn(&mut frame);
    }
    for _ in 0..draw.usize(1..6) {
        // More often in the heads than behind them.
        let within = [frame.len(), 80][draw.usize(..2)].min(frame.len()).max(1);
        let at = draw.usize(..within);
        match draw.u8(..12) {
            0..=3 => frame[at] ^= 1 << draw.u8(..8),
            4..=6 => frame[at] = [0, 1, 0x7f, 0x80, 0xc0, 0xff][draw.usize(..6)],
            7 => frame[at] = draw.u8(..),
            8 if at >= 14 => frame.truncate(at),
            9 => frame.extend_from_slice(&noise),
            10 => drop(frame.splice(at..at, noise.iter().copied().take(8))),
            _ => {
                let other = &seen[draw.usize(..seen.len())].1;
                let from = at.min(other.len());
                frame.truncate(at.max(14));
                frame.extend_from_slice(&other[from..]);
            }
        }
        if frame.is_empty() {
            frame.push(0);
        }
        frame.truncate(LONGEST);
    }
    // A lease that is read, and not taken.
    if frame.len() > 49 && frame[12..14] == [8, 0] && frame[36..38] == [0, 68] {
        frame[46] ^= 0x55;
    }
    if draw.u8(..4) > 0 {
        mend(&mut frame);
    }
    frame
}

/// A question of the peer's for the system's address, by which the system knows the peer's again.
fn who_has() -> Vec<u8> {
    let mut frame = [
        &[0xff; 6][..],
        &MAC,
        &[8, 6, 0, 1, 8, 0, 6, 4, 0, 1],
        &MAC,
        &PEER,
    ]
    .concat();
    frame.extend_from_slice(&[0; 6]);
    frame.extend_from_slice(&GUEST);
    frame
}

/// Stands between the card and the peer, until the end.
fn between(
    [near, far]: [&UdpSocket; 2],
    [card, peer]: [SocketAddr; 2],
    seed: u64,
    now: &AtomicU8,
) -> (u64, u64) {
    let mut draw = fastrand::Rng::with_seed(seed);
    let mut seen: Vec<(bool, Vec<u8>)> = Vec::new();
    let (mut passed, mut made_so_far, mut healed) = (0, 0, Instant::now());
    let mut room = [0; 2048];
    loop {
        let state = now.load(Relaxed);
        let attack = state == ATTACK;
        for (socket, outward, to) in [(near, true, peer), (far, false, card)] {
            let back = if outward { far } else { near };
            let Ok((length, from)) = socket.recv_from(&mut room) else {
                continue;
            };
            if from != if outward { card } else { peer } {
                continue;
            }
            let frame = room[..length].to_vec();
            if seen.len() == KEPT {
                seen.swap_remove(draw.usize(..KEPT));
            }
            seen.push((outward, frame.clone()));
            if attack && !outward {
                // Of this one alone: what is changed comes before it.
                let own = [(false, frame.clone())];
                for _ in 0..draw.usize(..4) {
                    made_so_far += u64::from(near.send_to(&made(&mut draw, &own), card).is_ok());
                }
            }
            passed += u64::from(back.send_to(&frame, to).is_ok());
        }
        match state {
            ATTACK => {
                for _ in 0..draw.usize(..BURST) {
                    made_so_far += u64::from(near.send_to(&made(&mut draw, &seen), card).is_ok());
                }
            }
            HEAL if healed.elapsed() > Duration::from_millis(100) => {
                healed = Instant::now();
                let _ = near.send_to(&who_has(), card);
            }
            END => return (passed, made_so_far),
            _ => {}
        }
    }
}

/// The pages of the network, each time that `ps` has shown them, and its numbers.
fn networks(output: &str) -> Vec<(u64, u64)> {
    let line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [id, "network", _, _, pages, ..] => Some((id.parse().ok()?, pages.parse().ok()?)),
            _ => None,
        }
    };
    output.lines().filter_map(line).collect()
}

/// What is wrong with what the system has said.
fn judge(output: &str, rounds: u64) -> Result<(), String> {
    for word in ["64 bytes from 10.0.0.1: icmp_seq=1 ", "swept\n"] {
        if !output.contains(word) {
            return Err(format!("no `{}`", word.trim()));
        }
    }
    let answered = output
        .matches("64 bytes from 127.0.0.1: icmp_seq=1 ")
        .count() as u64;
    if answered < rounds * 9 / 10 {
        return Err(format!("the network answered {answered} of {rounds} times"));
    }
    let behind = output
        .split_once("== behind")
        .map_or("", |(_, behind)| behind);
    if !behind.contains("64 bytes from 10.0.0.1: icmp_seq=") {
        return Err("behind the attack the other side is not reached".into());
    }
    match networks(output)[..] {
        [(first, before), (last, after)] if first == last => {
            match after.saturating_sub(before) <= MORE_PAGES {
                true => Ok(()),
                false => Err(format!("the network has {after} pages, before {before}")),
            }
        }
        ref all => Err(format!("the network was another: {all:?}")),
    }
}

/// Runs the fuzzer.
pub fn run(project: &Project, request: &Request, say: &mut dyn FnMut(&str)) -> Result<Outcome> {
    let seed = request.seed();
    let time = request.time.unwrap_or(TIME);
    say(&format!("fuzz packets: --seed {seed}"));
    build::host(project, &["sing-hosts-peer"])?;
    let images = image::compile_programs(project, Programs::WithTests, request.memory)?;
    let socket = || UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).context("cannot open a socket");
    let (near, far, own) = (socket()?, socket()?, socket()?);
    for socket in [&near, &far] {
        socket.set_read_timeout(Some(Duration::from_millis(1)))?;
    }
    let (card, peer) = (free_address()?, own.local_addr()?);
    let mut kernel = Kernel::prepare(project, Machine::Hosted, Acceleration::Emulated)?;
    kernel.networks = vec![Network::datagrams(card, near.local_addr()?)];
    let rounds = time * ROUNDS;
    let mut script = String::from("ping 10.0.0.1 1; echo == ready\n");
    for round in 0..rounds {
        script += &format!("dig r{round}.test A; ping localhost 1; sleep 0.3\n");
        if round == rounds / 3 {
            script += "ps\n";
        }
    }
    script += "ps; echo == over; sleep 2; echo == behind\nping 10.0.0.1 3\nping 10.0.0.1 3\n\
               ping 10.0.0.1 3; sweep && echo swept\n";
    let mut session = Session::start(launch(project, &images, &kernel, Some(&script))?)?;
    let mut child = Command::new(project.host_binary("sing-hosts-peer"))
        .arg(far.local_addr()?.to_string())
        .stdin(OwnedFd::from(own))
        .spawn()
        .context("cannot start sing-hosts-peer")?;
    let now = AtomicU8::new(PASS);
    let deadline = Instant::now() + PATIENCE + Duration::from_secs(time * 3);
    let mut said = String::new();
    let (counts, (rest, ended)) = std::thread::scope(|scope| {
        let between = scope.spawn(|| between([&near, &far], [card, peer], seed, &now));
        for (word, then) in [("== ready", ATTACK), ("== over", HEAL)] {
            // A question that nobody answers takes a while: the attack ends before all are asked then.
            let attacked = Instant::now() + Duration::from_secs(time * 3);
            let until = if then == HEAL { attacked } else { deadline };
            while let Ok(line) = session.line(until) {
                said.push_str(&line);
                said.push('\n');
                if line.contains(word) {
                    break;
                }
            }
            now.store(then, Relaxed);
        }
        let rest = session.finish(deadline);
        now.store(END, Relaxed);
        (between.join().expect("a thread of the fuzzer"), rest)
    });
    child.kill().context("cannot end the peer")?;
    child.wait().context("cannot wait for the peer")?;
    let mut outcome = Outcome {
        passed: counts.0,
        made: counts.1,
        findings: Vec::new(),
    };
    let output = said + &rest;
    if let Err(why) = judge(&output, rounds) {
        let finding =
            format!("fuzz packets --seed {seed} --time {time}: {why} ({ended:?})\n{output}");
        outcome.findings.push(finding);
    }
    let pages = networks(&output);
    let (passed, made) = (outcome.passed, outcome.made);
    say(&format!(
        "  {passed} frames passed on, {made} made; the network's pages: {pages:?}"
    ));
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_put_right_again() {
        // An echo's answer, of IPv4.
        let mut frame = [
            &[2; 12][..],
            &[8, 0, 0x45, 0, 0, 28, 0, 0, 0, 0, 64, 1, 9, 9],
        ]
        .concat();
        frame.extend_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2, 0, 0, 7, 7, 1, 2, 3, 4]);
        mend(&mut frame);
        assert_eq!(sum(&frame[14..34], 0), 0);
        assert_eq!(sum(&frame[34..], 0), 0);
    }

    #[test]
    fn a_seed_makes_the_same_frames_and_none_is_too_long() {
        let seen = [(true, who_has()), (false, vec![8; 1514]), (false, vec![0])];
        let all = |seed| {
            let mut draw = fastrand::Rng::with_seed(seed);
            (0..2000)
                .map(|_| made(&mut draw, &seen))
                .collect::<Vec<_>>()
        };
        assert_eq!(all(7), all(7));
        assert_ne!(all(7), all(8));
        assert!(
            all(9)
                .iter()
                .all(|frame| (1..=LONGEST).contains(&frame.len()))
        );
    }
}
