//! A collector of spans for tests, good or bad, at a port of this machine.

use super::otlp::{self, Span};
use anyhow::{Context, Result, bail, ensure};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// How it behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// It takes spans.
    Good = 0,
    /// It never answers.
    Silent = 1,
    /// It answers a byte at a time.
    Slow = 2,
    /// Its answer has no end.
    Babbling = 3,
    /// Its answer's head has no end.
    Endless = 4,
    /// Its answer is none.
    Nonsense = 5,
    /// It ends the connection within the request.
    Closing = 6,
    /// It has no room.
    Busy = 7,
    /// It rejects all spans.
    Rejecting = 8,
}

pub const BAD: [Manner; 8] = [
    Manner::Silent,
    Manner::Slow,
    Manner::Babbling,
    Manner::Endless,
    Manner::Nonsense,
    Manner::Closing,
    Manner::Busy,
    Manner::Rejecting,
];

/// What it does, and what it has got.
#[derive(Default)]
struct Shared {
    manner: AtomicU8,
    /// Connections by how they were treated.
    served: [AtomicUsize; 9],
    spans: Mutex<Vec<Span>>,
    faults: Mutex<Vec<String>>,
}

pub struct Collector(Arc<Shared>);

impl Collector {
    pub fn start(port: u16) -> Result<Collector> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let shared = Arc::new(Shared::default());
        let of = Arc::clone(&shared);
        // It ends with this process: tests have one each.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let of = Arc::clone(&of);
                thread::spawn(move || of.serve(&stream));
            }
        });
        Ok(Collector(shared))
    }

    pub fn behave(&self, manner: Manner) {
        self.0.manner.store(manner as u8, Ordering::Relaxed);
    }

    /// Waits until it has behaved so.
    pub fn wait_for(&self, manner: Manner, end: Instant) -> Result<()> {
        while self.0.served[manner as usize].load(Ordering::Relaxed) == 0 {
            ensure!(Instant::now() < end, "nobody has asked it");
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Waits until it has got a span; all so far.
    pub fn wait(&self, wanted: impl Fn(&Span) -> bool, end: Instant) -> Result<Vec<Span>> {
        loop {
            let spans = self.0.spans.lock().map(|s| s.clone()).unwrap_or_default();
            let faults = self.0.faults.lock().map(|f| f.clone()).unwrap_or_default();
            ensure!(faults.is_empty(), "{faults:?}");
            if spans.iter().any(&wanted) {
                return Ok(spans);
            }
            if Instant::now() > end {
                bail!("the collector has not got the span, but {spans:#?}");
            }
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Shared {
    fn serve(&self, stream: &TcpStream) {
        let manner = self.manner.load(Ordering::Relaxed);
        self.served[usize::from(manner)].fetch_add(1, Ordering::Relaxed);
        let is = |of: Manner| manner == of as u8;
        let _ = stream.set_read_timeout(Some(Duration::from_secs(20)));
        if is(Manner::Closing) {
            let _ = (&mut &*stream).read(&mut [0; 10]);
            return;
        }
        if is(Manner::Silent) {
            // To the other side's end, or a while.
            let _ = stream.take(u64::MAX).read_to_end(&mut Vec::new());
            return;
        }
        match request(stream) {
            Ok(spans) if is(Manner::Good) => {
                if let Ok(mut all) = self.spans.lock() {
                    all.extend(spans);
                }
            }
            Ok(_) => {}
            Err(fault) => {
                if let Ok(mut faults) = self.faults.lock() {
                    faults.push(format!("{fault:#}"));
                }
            }
        }
        let _ = answer(stream, manner);
    }
}

fn answer(mut stream: &TcpStream, manner: u8) -> Result<()> {
    let is = |of: Manner| manner == of as u8;
    if is(Manner::Slow) {
        for byte in b"HTTP/1.1 200 OK\r\n".iter().cycle().take(100) {
            stream.write_all(&[*byte])?;
            thread::sleep(Duration::from_millis(200));
        }
    } else if is(Manner::Babbling) {
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
        loop {
            stream.write_all(&[b'x'; 65536])?;
        }
    } else if is(Manner::Endless) {
        stream.write_all(b"HTTP/1.1 200 OK\r\n")?;
        loop {
            stream.write_all(&b"A: b\r\n".repeat(10_000))?;
        }
    } else if is(Manner::Nonsense) {
        stream.write_all(b"\x00\xff\r\n\r\n\x1b[31m<script>")?;
    } else if is(Manner::Busy) {
        stream.write_all(b"HTTP/1.1 503 \x1b[31mno\r\nContent-Length: 0\r\n\r\n")?;
    } else {
        let body = match is(Manner::Rejecting) {
            true => "{\"partialSuccess\":{\"rejectedSpans\":\"999\"}}",
            false => "{\"partialSuccess\":{}}",
        };
        let length = body.len();
        write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        )?;
    }
    Ok(())
}

/// Reads a request; its spans.
fn request(stream: &TcpStream) -> Result<Vec<Span>> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    ensure!(line == "POST /v1/traces HTTP/1.1\r\n", "{line:?}");
    let (mut length, mut is_json) = (None, false);
    while line != "\r\n" {
        line.clear();
        ensure!(reader.read_line(&mut line)? > 0, "the head has no end");
        let lower = line.to_ascii_lowercase();
        is_json |= lower == "content-type: application/json\r\n";
        if let Some(value) = lower.strip_prefix("content-length: ") {
            length = Some(value.trim().parse::<usize>()?);
        }
    }
    ensure!(is_json, "the content is not said to be JSON");
    let mut body = vec![0; length.context("no length")?];
    reader.read_exact(&mut body)?;
    otlp::read(&body)
}
