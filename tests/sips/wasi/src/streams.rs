//! Pipes with another thread at their other end, clocks, and random bytes.

use crate::checks::{Check, Test};
use crate::files::all;
use crate::program::{DATA, LIST, OUT, Program};
use core::time::Duration;
use sing_sdk::contracts::PipeContract;
use sing_sdk::io::Writer;
use sing_sdk::prelude::*;
use sing_sdk::{thread, time};
use wasi_core::abi::fdflags;
use wasi_core::errno::{Errno, Result as Answer};

pub const ALL: &[Test] = &[
    ("input in pieces", input),
    ("output in pieces", output),
    ("nobody reads", nobody),
    ("streams that do not wait", not_waiting),
    ("waiting for a clock", clocks),
    ("waiting for input or the time", input_or_time),
    ("waiting for room", room),
    ("random bytes", random),
];

const SOON: Duration = Duration::from_millis(30);

type Output = PipeContract::Exp<PipeContract::Start>;

/// Writes later, from another thread, and gives the pipe back.
fn later(mut pipe: Writer, text: &'static [u8]) -> Result<thread::JoinHandle<Writer>, Error> {
    thread::spawn(move || {
        time::sleep(SOON);
        // A reader that has gone shows in the check.
        let _ = pipe.write(text);
        pipe
    })
}

/// Takes blocks until there are no more; their bytes and how many blocks.
fn take(mut pipe: Output) -> (Vec<u8>, usize) {
    let (mut bytes, mut blocks) = (Vec::new(), 0);
    while let Ok((block, next)) = pipe.recv_write() {
        bytes.extend(block.to_vec());
        blocks += 1;
        pipe = next.send_ack();
    }
    (bytes, blocks)
}

fn subscription(kind: u8, fd: u32, timeout: u64) -> [u8; 48] {
    let mut bytes = [0; 48];
    bytes[0] = kind + 40;
    bytes[8] = kind;
    bytes[16..20].copy_from_slice(&fd.to_le_bytes());
    bytes[24..32].copy_from_slice(&timeout.to_le_bytes());
    bytes
}

/// The names of the events, and the flags of the first.
fn poll(p: &mut Program, all: &[[u8; 48]]) -> Answer<(Vec<u8>, u8)> {
    p.put(LIST, all.as_flattened());
    p.0.poll_oneoff(LIST, DATA, all.len() as u32, OUT)?;
    let count = p.u32(OUT);
    let names = (0..count).map(|n| p.get(DATA + n * 32, 1)[0]).collect();
    Ok((names, p.get(DATA + 24, 1)[0]))
}

fn input() -> Check {
    let (mut p, ends) = Program::new(crate::stage::connected()?, None)?;
    let thread = later(ends.input, b"hello, world")?;
    let first = p.read(0, 5);
    let second = p.read(0, 100);
    let thread = later(thread.join()?, b"more")?;
    let third = p.read(0, 100);
    drop(thread.join()?);
    let end = [p.read(0, 100), p.read(0, 100)];
    all(&[
        first.as_deref() == Ok(b"hello"),
        second.as_deref() == Ok(b", world"),
        third.as_deref() == Ok(b"more"),
        end == [Ok(Vec::new()), Ok(Vec::new())],
    ])
}

fn output() -> Check {
    let (mut p, ends) = Program::new(crate::stage::connected()?, None)?;
    let pipe = ends.output;
    let reader = thread::spawn(move || take(pipe))?;
    let large: Vec<u8> = (0..300_000_u32).map(|i| (i % 253) as u8).collect();
    let written = [p.write(1, b"a line\n"), p.write(1, &large), p.write(1, b"")];
    // The last block is read though the program has ended.
    drop(p);
    let (bytes, blocks) = reader.join()?;
    all(&[
        written == [Ok(7), Ok(300_000), Ok(0)],
        bytes.len() == 300_007 && bytes[7..] == large[..],
        blocks == 6,
    ])
}

fn nobody() -> Check {
    let (mut p, ends) = Program::new(crate::stage::connected()?, None)?;
    drop(ends.output);
    let mut written = [p.write(1, b"x"), p.write(1, b"x")];
    written.sort_by_key(|answer| answer.is_err());
    let poll = poll(&mut p, &[subscription(2, 1, 0)]);
    all(&[
        // The first may go into the channel before it is seen that nobody is there.
        written[1] == Err(Errno::Pipe),
        poll.map(|(names, _)| names) == Ok(vec![42]),
    ])
}

fn not_waiting() -> Check {
    let (mut p, mut ends) = Program::new(crate::stage::connected()?, None)?;
    let set = [0, 1].map(|fd| p.0.fd_fdstat_set_flags(fd, fdflags::NONBLOCK.into()));
    let nothing = p.read(0, 1);
    ends.input.write(b"x")?;
    let something = p.read(0, 1);
    // What is written waits for its reader all the same, who comes late.
    let pipe = ends.output;
    let reader = thread::spawn(move || {
        time::sleep(SOON);
        take(pipe)
    })?;
    let written = [p.write(1, b"one"), p.write(1, b"two"), p.write(1, b"six")];
    drop(p);
    let (bytes, _) = reader.join()?;
    all(&[
        set == [Ok(()); 2],
        nothing == Err(Errno::Again) && something.as_deref() == Ok(b"x"),
        written == [Ok(3); 3],
        bytes == b"onetwosix",
    ])
}

fn clocks() -> Check {
    let (mut p, _ends) = Program::new(crate::stage::connected()?, None)?;
    let begin = time::uptime();
    let nanos = SOON.as_nanos() as u64;
    let clocks = [subscription(0, 1, nanos * 100), subscription(0, 0, nanos)];
    let relative = poll(&mut p, &clocks);
    let took = time::uptime() - begin;
    let past = p.0.clock_time_get(0, 0, OUT).map(|()| p.u64(OUT));
    let mut absolute = subscription(0, 0, past.unwrap_or(0) + nanos);
    absolute[40] = 1;
    let second = poll(&mut p, &[absolute]);
    let whole = time::uptime() - begin;
    all(&[
        relative.map(|(names, _)| names) == Ok(vec![40]),
        took >= SOON && took < SOON * 50,
        past.is_ok_and(|past| past > 1 << 60),
        second.is_ok() && whole >= SOON * 2,
    ])
}

fn input_or_time() -> Check {
    let (mut p, ends) = Program::new(crate::stage::connected()?, None)?;
    let hour = 3_600_000_000_000;
    let (read, clock) = (subscription(1, 0, 0), subscription(0, 1, hour));
    let soon = subscription(0, 1, 1_000_000);
    let time = poll(&mut p, &[read, soon]);
    let thread = later(ends.input, b"abc")?;
    let came = poll(&mut p, &[read, clock]);
    let left = p.read(0, 1).and_then(|_| poll(&mut p, &[clock, read]));
    let rest = p.read(0, 9);
    let writer = thread.join()?;
    let closing = thread::spawn(move || {
        time::sleep(SOON);
        drop(writer);
    })?;
    // Without a clock it waits for the end of input, too.
    let end = poll(&mut p, &[read]);
    closing.join()?;
    all(&[
        time == Ok((vec![40], 0)),
        came == Ok((vec![41], 0)),
        left == Ok((vec![41], 0)),
        rest.as_deref() == Ok(b"bc"),
        end == Ok((vec![41], 1)),
        p.read(0, 1).as_deref() == Ok(b""),
    ])
}

fn room() -> Check {
    let (mut p, ends) = Program::new(crate::stage::connected()?, None)?;
    let (written, read) = (subscription(2, 1, 0), subscription(1, 0, 0));
    let soon = subscription(0, 1, 1_000_000);
    let first = poll(&mut p, &[read, written]);
    let sent = p.write(1, b"block");
    let full = poll(&mut p, &[read, written, soon]);
    let pipe = ends.output;
    let reader = thread::spawn(move || {
        time::sleep(SOON);
        take(pipe)
    })?;
    let taken = poll(&mut p, &[read, written]);
    drop(p);
    let (bytes, _) = reader.join()?;
    drop(ends.input);
    all(&[
        first == Ok((vec![42], 0)) && sent == Ok(5),
        full == Ok((vec![40], 0)),
        taken == Ok((vec![42], 0)),
        bytes == b"block",
    ])
}

fn random() -> Check {
    let mut names = crate::stage::connected()?;
    let device = names.list("/dev")?;
    let device = device.iter().any(|found| found.name() == "random0");
    let (mut p, _ends) = Program::new(names, None)?;
    let got = p.0.random_get(DATA, 2000);
    let bytes = p.get(DATA, 2000);
    let distinct = (0..=255).filter(|byte| bytes.contains(byte)).count();
    match device {
        true => all(&[got.is_ok(), distinct > 200]),
        false => all(&[got == Err(Errno::Io)]),
    }
}
