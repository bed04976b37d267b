//! Random connections to the web server of a hosted system: requests whose answers are known, and
//! broken ones behind them, in random pieces.
//!
//! A connection is always answered or closed, in time; what is known is answered so, to the byte:
//! files and parts of them, pages, echoes of bodies in all framings, several requests at once. In
//! the end the server has failed at nothing, and the kernel's records are in order. The reading of
//! requests and conditions is fuzzed by itself, too (`system/services/web/tests/fuzz.rs`).

use super::Request;
use crate::cargo;
use crate::host_dir::HostDirectory;
use crate::image::{self, Programs};
use crate::machine::{Acceleration, Kernel, Machine};
use crate::network::Network;
use crate::project::Project;
use crate::system::session::Session;
use crate::test::systems::launch;
use crate::test::tcp::{free_port, tell};
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// The default length of a run, in seconds.
const TIME: u64 = 60;
/// How long a boot may take, and the end.
const PATIENCE: Duration = Duration::from_secs(120);
/// How long a connection may take: the server's own times are shorter.
const ANSWER: Duration = Duration::from_secs(30);
/// Connections at a time: fewer than one address may have.
const CLIENTS: u64 = 6;
/// Findings after which a run gives up.
const ENOUGH: usize = 3;
/// The file, of which the bytes are these over and over.
const FILE: &str = "/f.bin";
const FILE_BYTES: usize = 150_000;
const CYCLE: usize = 251;

/// The result of a run.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Connections.
    pub connections: u64,
    /// Answers that were as they should be, by what was asked.
    pub answers: BTreeMap<&'static str, u64>,
    /// The findings.
    pub findings: Vec<String>,
}

/// Random numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, most: usize) -> usize {
        (self.next() % most.max(1) as u64) as usize
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }
}

/// A request, and its answer.
struct Known {
    what: &'static str,
    bytes: Vec<u8>,
    status: u16,
    /// `None`: the body is not looked at.
    body: Option<Vec<u8>>,
    /// Whether the answer has no body, whatever its head says.
    bodiless: bool,
}

fn file(from: usize, to: usize) -> Vec<u8> {
    (from..to).map(|at| (at % CYCLE) as u8).collect()
}

/// A request with a body, framed in some way.
fn framed(random: &mut Random, method: &str, target: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("{method} {target} HTTP/1.1\r\nHost: a\r\n").into_bytes();
    if random.below(8) == 0 {
        bytes.extend(b"Expect: 100-continue\r\n");
    }
    if random.below(2) == 0 {
        bytes.extend(format!("Content-Length: {}\r\n\r\n", body.len()).bytes());
        bytes.extend(body);
        return bytes;
    }
    bytes.extend(b"Transfer-Encoding: chunked\r\n\r\n");
    let mut rest = body;
    while !rest.is_empty() {
        let (piece, behind) = rest.split_at(1 + random.below(rest.len()));
        bytes.extend(format!("{:x}\r\n", piece.len()).bytes());
        bytes.extend(piece);
        bytes.extend(b"\r\n");
        rest = behind;
    }
    bytes.extend(b"0\r\n\r\n");
    bytes
}

fn known(random: &mut Random) -> Known {
    let good = |what, bytes, body| Known {
        what,
        bytes,
        status: 200,
        body: Some(body),
        bodiless: false,
    };
    let get = |target: &str, headers: &str| {
        format!("GET {target} HTTP/1.1\r\nHost: a\r\n{headers}\r\n").into_bytes()
    };
    let most = [20, 3_000, 200_000][random.below(3)];
    let mut len = random.below(most);
    match random.below(8) {
        0 => good("file", get(FILE, ""), file(0, FILE_BYTES)),
        1 => {
            let from = random.below(FILE_BYTES);
            let to = from + random.below(FILE_BYTES);
            let bytes = get(FILE, &format!("Range: bytes={from}-{to}\r\n"));
            Known {
                status: 206,
                ..good("part", bytes, file(from, (to + 1).min(FILE_BYTES)))
            }
        }
        2 => Known {
            status: 416,
            body: None,
            ..good("part beyond", get(FILE, "Range: bytes=150000-\r\n"), vec![])
        },
        3 => {
            let (header, status) = [("If-None-Match", 304), ("If-Match", 200)][random.below(2)];
            Known {
                status,
                bodiless: status == 304,
                body: (status == 200).then(|| file(0, FILE_BYTES)),
                ..good("condition", get(FILE, &format!("{header}: *\r\n")), vec![])
            }
        }
        4 => Known {
            bodiless: true,
            body: None,
            ..good("HEAD", get(FILE, ""), vec![])
        }
        .replaced(),
        5 => {
            let page = (0..len).map(|at| b'a' + (at % 26) as u8).collect();
            good("page", get(&format!("/try/page?bytes={len}"), ""), page)
        }
        6 => {
            let body = random.bytes(len);
            let bytes = framed(random, "POST", "/try/echo", &body);
            good("echo", bytes, body)
        }
        _ => {
            len = len.min(60_000);
            let body = random.bytes(len);
            let bytes = framed(random, "PUT", "/try/count", &body);
            good("count", bytes, format!("PUT {len}\n").into_bytes())
        }
    }
}

impl Known {
    /// The same, asked with HEAD.
    fn replaced(mut self) -> Known {
        self.bytes.splice(..3, *b"HEAD");
        self
    }
}

/// Changes bytes at random places.
fn broken(random: &mut Random, bytes: &mut Vec<u8>) {
    const PIECES: [&[u8]; 10] = [
        b"\r\n",
        b"\n",
        b":",
        b" ",
        b"\0",
        b"ffffffffffffffff",
        b"Content-Length: 3\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"\r\n\r\n",
        b"Connection: close\r\n",
    ];
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len().min(500));
        match random.below(5) {
            0 => bytes.truncate(at),
            1 if at < bytes.len() => bytes[at] = random.next() as u8,
            2 => drop(bytes.drain(at..(at + random.below(50)).min(bytes.len()))),
            3 => drop(bytes.splice(at..at, vec![b'a'; random.below(30_000)])),
            _ => drop(bytes.splice(at..at, PIECES[random.below(PIECES.len())].iter().copied())),
        }
    }
}

/// A whole answer with another content than it should have.
#[derive(Debug)]
pub struct OtherBody {
    number: usize,
    what: &'static str,
    len: usize,
}

impl std::fmt::Display for OtherBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let OtherBody { number, what, len } = self;
        write!(f, "request {number}, {what}: another body, of {len} bytes")
    }
}

impl std::error::Error for OtherBody {}

/// Reads the next answer from bytes that have come: status and body. One that says only that the
/// body may come is passed over.
fn answer<'a>(bytes: &mut &'a [u8], bodiless: bool) -> Result<(u16, Vec<u8>)> {
    loop {
        let end = bytes.windows(4).position(|w| w == b"\r\n\r\n");
        let (head, rest) = bytes.split_at(end.context("the head has no end")? + 4);
        *bytes = rest;
        let head = std::str::from_utf8(head).context("the head is no text")?;
        let status = head.strip_prefix("HTTP/1.1 ").and_then(|h| h.get(..3));
        let status: u16 = status.context("no status")?.parse().context("no status")?;
        if status == 100 {
            continue;
        }
        let value = |name: &str| {
            let mut lines = head.lines().filter_map(|line| line.split_once(": "));
            let found = lines.find(|(n, _)| n.eq_ignore_ascii_case(name));
            found.map(|(_, value)| value)
        };
        if bodiless {
            return Ok((status, Vec::new()));
        }
        let mut take = |count: usize| -> Result<&'a [u8]> {
            ensure!(count <= bytes.len(), "the body is cut");
            let (taken, rest) = bytes.split_at(count);
            *bytes = rest;
            Ok(taken)
        };
        if let Some(length) = value("content-length") {
            return Ok((status, take(length.parse()?)?.to_vec()));
        }
        ensure!(value("transfer-encoding") == Some("chunked"), "no framing");
        let mut body = Vec::new();
        loop {
            let mut line = Vec::new();
            while !line.ends_with(b"\r\n") {
                line.extend_from_slice(take(1)?);
            }
            let size = std::str::from_utf8(&line)?.trim_end();
            let size = usize::from_str_radix(size, 16).context("a chunk's length")?;
            body.extend_from_slice(take(size)?);
            ensure!(take(2)? == b"\r\n", "a chunk's end");
            if size == 0 {
                return Ok((status, body));
            }
        }
    }
}

/// One connection, all of whose random numbers follow from the seed; what was asked and answered.
pub fn connection(port: u16, seed: u64) -> Result<Vec<&'static str>> {
    let mut random = Random(seed);
    let all: Vec<Known> = (0..random.below(5)).map(|_| known(&mut random)).collect();
    let mut bytes: Vec<u8> = all.iter().flat_map(|known| known.bytes.clone()).collect();
    let good = bytes.len();
    let breaks = random.below(2) == 0;
    if breaks {
        let mut last = known(&mut random).bytes;
        broken(&mut random, &mut last);
        bytes.extend(last);
    }
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).context("cannot connect")?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(ANSWER))?;
    stream.set_write_timeout(Some(ANSWER))?;
    let largest = [1, 40, 3_000, 100_000][random.below(4)];
    // Only the beginning byte by byte: it takes a packet each.
    let fine = if largest == 1 { 700 } else { usize::MAX };
    let mut back = Vec::new();
    let begun = Instant::now();
    let read = std::thread::scope(|scope| {
        let reader = scope.spawn(|| (&stream).read_to_end(&mut back));
        let mut sent = 0;
        while sent < bytes.len() {
            let most = if sent > fine { 50_000 } else { largest };
            let end = (sent + 1 + random.below(most)).min(bytes.len());
            // The server may have ended the connection, but not before what is known.
            if (&stream).write_all(&bytes[sent..end]).is_err() {
                break;
            }
            sent = end;
            if random.below(30) == 0 {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        let _ = stream.shutdown(Shutdown::Write);
        let read = reader.join();
        (sent, read.unwrap_or_else(|p| std::panic::resume_unwind(p)))
    });
    let (sent, read) = read;
    if let Err(error) = read {
        // Who sends what nobody wants may be told so by a reset.
        let reset = error.kind() == std::io::ErrorKind::ConnectionReset && breaks;
        let time = begun.elapsed();
        ensure!(reset, "no end of the connection in {time:?}: {error}");
    }
    ensure!(sent >= good, "the server has taken {sent} of {good} bytes");
    let mut rest = back.as_slice();
    let mut answered = Vec::new();
    for (number, known) in all.iter().enumerate() {
        let what = known.what;
        let (status, body) = answer(&mut rest, known.bodiless)
            .with_context(|| format!("request {number}, {what}: {} bytes left", rest.len()))?;
        ensure!(status == known.status, "request {number}, {what}: {status}");
        if known.body.as_ref().is_some_and(|wanted| *wanted != body) {
            let len = body.len();
            return Err(OtherBody { number, what, len }.into());
        }
        answered.push(what);
    }
    ensure!(breaks || rest.is_empty(), "{} bytes too many", rest.len());
    if breaks {
        ensure!(
            rest.is_empty() || rest.starts_with(b"HTTP/1.1 "),
            "no answer to what is broken, but bytes"
        );
        answered.push("broken");
    }
    Ok(answered)
}

/// A directory of the host with the file that connections ask for; the caller removes it.
pub fn content(project: &Project) -> Result<HostDirectory> {
    let path = project.out().join(format!("fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&path).with_context(|| format!("cannot create {}", path.display()))?;
    crate::files::write(&path.join("f.bin"), file(0, FILE_BYTES))?;
    Ok(HostDirectory {
        path,
        at: "/mnt".into(),
        read_only: true,
    })
}

/// The commands that have the web server answer what connections ask for: a file system on the first
/// disk, with the file and a configuration.
pub fn preparation(port: u16) -> String {
    format!(
        "format --force /dev/disk0 && mount /dev/disk0 /; mkdir /web && cp /mnt{FILE} /web\n\
         echo port {port} > /1; echo mount /try web-try deadline 20s at-once 16 > /2\n\
         echo header 3s > /3; cat /1 /2 /3 > /web.conf\n"
    )
}

/// Fuzzes the server.
pub fn run(project: &Project, request: &Request, say: &mut dyn FnMut(&str)) -> Result<Outcome> {
    let first = request.seed();
    let time = Duration::from_secs(request.time.unwrap_or(TIME));
    let most = request.rounds.unwrap_or(u64::MAX);
    say(&format!("fuzz http: --seed {first}"));
    let mut outcome = Outcome::default();
    if request.rounds.is_none() {
        reading(project, first, time.as_secs().div_ceil(4), &mut outcome)?;
    }
    let images = image::compile_programs(project, Programs::WithTests, request.memory)?;
    let [port, control] = [free_port()?, free_port()?];
    let mut kernel = Kernel::prepare(project, Machine::Hosted, Acceleration::Emulated)?;
    kernel.networks = vec![Network::sockets("host,192.0.2.0/24")];
    let content = content(project)?;
    kernel.directories.push(content.clone());
    let script = format!(
        "{}httpd; echo ready\n\
         echo | nc -l {control}; httpd; sweep && echo swept; httpd stop\n",
        preparation(port)
    );
    let mut session = Session::start(launch(project, &images, &kernel, Some(&script))?)?;
    let deadline = Instant::now() + PATIENCE;
    loop {
        match session.line(deadline) {
            Ok(line) if line.trim_end() == "ready" => break,
            Ok(_) => {}
            Err(why) => bail!("the web server is not ready: {why:?}"),
        }
    }
    let _ = std::fs::remove_dir_all(&content.path);
    let end = Instant::now() + time;
    let mut seed = first;
    while Instant::now() < end && outcome.connections < most && outcome.findings.len() < ENOUGH {
        let count = CLIENTS.min(most - outcome.connections);
        let ended: Vec<_> = std::thread::scope(|scope| {
            let clients: Vec<_> = (seed..seed.wrapping_add(count))
                .map(|seed| scope.spawn(move || (seed, connection(port, seed))))
                .collect();
            let ended = clients.into_iter().map(|client| client.join());
            ended
                .map(|ended| ended.unwrap_or_else(|p| std::panic::resume_unwind(p)))
                .collect()
        });
        for (seed, result) in ended {
            outcome.connections += 1;
            match result {
                Ok(answered) => answered
                    .into_iter()
                    .for_each(|what| *outcome.answers.entry(what).or_default() += 1),
                Err(why) => outcome
                    .findings
                    .push(format!("fuzz http --seed {seed} --rounds 1: {why:#}")),
            }
        }
        seed = seed.wrapping_add(count);
    }
    // It ends in any case.
    let _ = tell(control);
    let (output, ended) = session.finish(Instant::now() + PATIENCE);
    for word in ["failed       0\n", "busy         0\n", "swept\n"] {
        if !output.contains(word) {
            let word = word.trim();
            outcome
                .findings
                .push(format!("in the end no `{word}` ({ended:?}):\n{output}"));
            break;
        }
    }
    say(&format!("  {} connections", outcome.connections));
    for (what, count) in &outcome.answers {
        say(&format!("  {count:>8} {what}"));
    }
    Ok(outcome)
}

/// The reading of requests by itself.
fn reading(project: &Project, seed: u64, seconds: u64, outcome: &mut Outcome) -> Result<()> {
    let line = ["test", "-p", "web", "--test", "fuzz"];
    let mut command = cargo::command(&project.root, &line);
    command.env("SING_FUZZ_SECONDS", seconds.to_string());
    command.env("SING_FUZZ_SEED", seed.to_string());
    let ran = cargo::capture(&mut command, "fuzzing the reading of requests")?;
    if !ran.success {
        outcome
            .findings
            .push(format!("web, seed {seed}:\n{}", ran.output));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_taken_one_after_the_other() {
        let text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc\
                    HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n\
                    HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\nHTTP/1.1 200 OK\r\n\
                    Content-Length: 3\r\n\r\nab";
        let mut rest = text.as_bytes();
        let mut next = |bodiless| answer(&mut rest, bodiless).ok();
        assert_eq!(next(false), Some((200, b"abc".to_vec())));
        assert_eq!(next(false), Some((200, b"ab".to_vec())));
        assert_eq!(next(true), Some((304, Vec::new())));
        assert_eq!(next(false), None);
    }

    #[test]
    fn a_seed_gives_the_same_requests() {
        let draw = |seed| {
            let mut random = Random(seed);
            (0..20)
                .flat_map(|_| known(&mut random).bytes)
                .collect::<Vec<u8>>()
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }
}
