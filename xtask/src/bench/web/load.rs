//! The load: clients of HTTP, each with a thread and a connection, that ask as fast as they are
//! answered. Every answer is looked at: its status and its length must be right.

use super::mix::{self, Random};
use anyhow::{Result, bail, ensure};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::{Duration, Instant};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// The most bytes of a line of a head, and the most lines.
const LINE: u64 = 8 << 10;
const LINES: usize = 64;

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Files.
    Static,
    /// Pages by the program below this path, of the files' sizes.
    Dynamic(&'static str),
    /// Both, in the benchmark's proportions.
    Mix(&'static str),
}

/// A load.
#[derive(Clone, Debug)]
pub struct Load {
    /// The server's port.
    pub port: u16,
    pub kind: Kind,
    /// Connections at a time.
    pub clients: u32,
    /// Whether connections are kept for further requests.
    pub keep: bool,
    /// Directories of files.
    pub directories: u32,
    pub time: Duration,
    /// The most requests of a client.
    pub most: u32,
    pub seed: u64,
    /// The processor of the clients.
    pub core: Option<usize>,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    pub seconds: f64,
    /// Seconds of the server's processes, if they have been looked at.
    pub spent: f64,
    /// The time of each request in microseconds, sorted.
    pub times: Vec<f64>,
    /// Bytes of all bodies.
    pub bytes: u64,
    /// Requests that were not answered as they should be, and why the first was not.
    pub failed: u32,
    pub why: Option<String>,
}

impl Outcome {
    /// Answers a second.
    pub fn rate(&self) -> f64 {
        self.times.len() as f64 / self.seconds.max(1e-9)
    }
}

/// A request: what to send, and how many bytes its answer has.
struct Ask {
    text: Vec<u8>,
    bytes: usize,
}

impl Load {
    fn ask(&self, random: &mut Random) -> Ask {
        let wanted = mix::draw(random, self.directories);
        let program = match self.kind {
            Kind::Static => None,
            Kind::Dynamic(path) => Some(path),
            Kind::Mix(path) => (random.below(100) >= mix::STATIC).then_some(path),
        };
        let (path, bytes) = (wanted.path(), wanted.bytes());
        let end = if self.keep {
            ""
        } else {
            "Connection: close\r\n"
        };
        let rest = format!(" HTTP/1.1\r\nHost: 127.0.0.1\r\n{end}");
        let text = match program {
            None => format!("GET /{path}{rest}\r\n").into_bytes(),
            Some(program) if random.below(100) < mix::FORMS => {
                let length = mix::FORM.len();
                let head = format!(
                    "POST {program}/page?bytes={bytes}{rest}Content-Length: {length}\r\n\r\n"
                );
                [head.as_bytes(), mix::FORM].concat()
            }
            Some(program) => format!("GET {program}/page?bytes={bytes}{rest}\r\n").into_bytes(),
        };
        Ask { text, bytes }
    }

    /// Runs it.
    pub fn run(&self) -> Outcome {
        let begun = Instant::now();
        let client = |number: u32| {
            if let Some(core) = self.core {
                // Without its own processor the measurement is worse, and still one.
                let _ = pin(core);
            }
            self.client(number, begun + self.time)
        };
        let outcomes: Vec<Outcome> = std::thread::scope(|scope| {
            let clients: Vec<_> = (0..self.clients)
                .map(|number| scope.spawn(move || client(number)))
                .collect();
            let ended = clients.into_iter().map(|client| client.join());
            ended
                .map(|ended| ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        });
        let mut all = Outcome {
            seconds: begun.elapsed().as_secs_f64(),
            ..Outcome::default()
        };
        for outcome in outcomes {
            all.times.extend(outcome.times);
            all.bytes += outcome.bytes;
            all.failed += outcome.failed;
            all.why = all.why.or(outcome.why);
        }
        all.times.sort_by(f64::total_cmp);
        all
    }

    /// One client.
    fn client(&self, number: u32, end: Instant) -> Outcome {
        let mut random = Random(self.seed ^ u64::from(number) << 32);
        let mut outcome = Outcome::default();
        let mut kept = None;
        let mut buffer = vec![0; 64 << 10];
        for _ in 0..self.most {
            let since = Instant::now();
            if since >= end {
                break;
            }
            let ask = self.ask(&mut random);
            match self.request(&ask, &mut kept, &mut buffer) {
                Ok(()) => {
                    outcome.times.push(since.elapsed().as_secs_f64() * 1e6);
                    outcome.bytes += ask.bytes as u64;
                }
                Err(why) => {
                    outcome.failed += 1;
                    outcome.why.get_or_insert_with(|| format!("{why:#}"));
                    kept = None;
                }
            }
        }
        outcome
    }

    fn request(
        &self,
        ask: &Ask,
        kept: &mut Option<BufReader<TcpStream>>,
        buffer: &mut [u8],
    ) -> Result<()> {
        let mut reader = match kept.take() {
            Some(reader) => reader,
            None => {
                let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_write_timeout(Some(PATIENCE))?;
                BufReader::with_capacity(64 << 10, stream)
            }
        };
        reader.get_mut().write_all(&ask.text)?;
        let (status, bytes) = answer(&mut reader, buffer)?;
        ensure!(
            status == 200 && bytes == ask.bytes,
            "the answer to {:?} is {status} with {bytes} bytes, not 200 with {}",
            String::from_utf8_lossy(&ask.text),
            ask.bytes
        );
        if self.keep {
            *kept = Some(reader);
        } else {
            ensure!(reader.read(buffer)? == 0, "the connection goes on");
        }
        Ok(())
    }
}

/// The processors of servers and of clients; none if there is but one.
pub fn cores() -> [Option<usize>; 2] {
    let two = std::thread::available_parallelism().is_ok_and(|count| count.get() >= 2);
    let set = sched_getaffinity(None).ok().filter(|_| two);
    let Some(set) = set else {
        complain!("servers and clients share a processor");
        return [None; 2];
    };
    let mut may = (0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core));
    [may.next(), may.next()]
}

/// Keeps this thread, and what it starts, on a processor.
pub fn pin(core: usize) -> Result<()> {
    let mut set = CpuSet::new();
    set.set(core);
    Ok(sched_setaffinity(None, &set)?)
}

/// Reads an answer: its status and the bytes of its body.
pub fn answer(reader: &mut impl BufRead, buffer: &mut [u8]) -> Result<(u16, usize)> {
    let mut line = String::new();
    let mut status = 0;
    let (mut length, mut chunked) = (None, false);
    for number in 0..LINES {
        next_line(reader, &mut line)?;
        let text = line.trim_end();
        if number == 0 {
            status = text
                .strip_prefix("HTTP/1.1 ")
                .and_then(|text| text.get(..3)?.parse().ok())
                .unwrap_or(0);
            ensure!(status > 0, "the answer begins with {text:?}");
            continue;
        }
        let Some((name, value)) = text.split_once(':') else {
            break;
        };
        if name.eq_ignore_ascii_case("content-length") {
            length = Some(value.trim().parse::<usize>()?);
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            chunked = value.trim() == "chunked";
        }
    }
    ensure!(line.trim_end().is_empty(), "the head has no end");
    if let (Some(length), false) = (length, chunked) {
        pass(reader, length, buffer)?;
        return Ok((status, length));
    }
    ensure!(chunked, "the answer's body has no end");
    let mut bytes = 0;
    loop {
        next_line(reader, &mut line)?;
        let size = usize::from_str_radix(line.trim_end(), 16)?;
        pass(reader, size, buffer)?;
        next_line(reader, &mut line)?;
        ensure!(line == "\r\n", "a chunk ends with {line:?}");
        if size == 0 {
            return Ok((status, bytes));
        }
        bytes += size;
    }
}

fn next_line(reader: &mut impl BufRead, line: &mut String) -> Result<()> {
    line.clear();
    reader.take(LINE).read_line(line)?;
    if !line.ends_with('\n') {
        bail!("the answer ends within its head: {line:?}");
    }
    Ok(())
}

fn pass(reader: &mut impl BufRead, mut left: usize, buffer: &mut [u8]) -> Result<()> {
    while left > 0 {
        let room = left.min(buffer.len());
        let count = reader.read(&mut buffer[..room])?;
        ensure!(count > 0, "{left} bytes of the body are missing");
        left -= count;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<(u16, usize)> {
        answer(&mut text.as_bytes(), &mut [0; 7]).ok()
    }

    #[test]
    fn answers_are_read_to_their_end() {
        let length = "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n123456789";
        assert_eq!(read(length), Some((200, 9)));
        assert_eq!(read(&length[..length.len() - 1]), None);
        let chunks = "HTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\na\r\n\
                      0123456789\r\n0\r\n\r\n";
        assert_eq!(read(chunks), Some((404, 13)));
        assert_eq!(read(&chunks[..chunks.len() - 2]), None);
        assert_eq!(read("HTTP/1.1 200 OK\r\n\r\n"), None);
        assert_eq!(read("nonsense\r\n\r\n"), None);
    }
}
