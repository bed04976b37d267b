//! A server that greets as one of NATS does, and answers in all wrong ways. Each costs the channel of
//! the client that asked, or the connection; behind each, an honest answer comes.

use super::{Images, hear, start};
use crate::test::Run;
use anyhow::{Context, Result, ensure};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

const TIME: Duration = Duration::from_secs(120);
/// Ways to answer wrongly ([`wrong`]).
const WAYS: usize = 14;

/// A request as it has come: where its answer goes, and the contract that it names.
struct Request {
    reply: String,
    contract: String,
}

pub fn play(run: &Run, images: &Images) -> Result<()> {
    let server = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("cannot open a socket")?;
    let port = server.local_addr()?.port();
    thread::spawn(move || {
        // Over all connections: wrong, honest, wrong, ...
        let asked = AtomicUsize::new(0);
        for (number, stream) in server.incoming().flatten().enumerate() {
            if number == 0 {
                flood(stream);
                continue;
            }
            // How a connection ends is the bridge's to say.
            let _ = converse(stream, &asked);
        }
    });
    let mut script = format!(
        "bridge in RemoteContract /far/own lab.own 127.0.0.1:{port} &\n\
         sleep 0.3; remotes again /far/own\n"
    );
    for _ in 0..WAYS {
        script += "remotes gone /far/own; remotes again /far/own\n";
    }
    script += "kill bridge; wait; sweep && echo swept; echo over\n";
    let deadline = Instant::now() + TIME;
    let mut session = start(run, images, &script)?;
    let mut said = String::new();
    hear(&mut session, &mut said, "over")?;
    let (rest, ended) = session.finish(deadline);
    let said = said + &rest;
    for (words, times) in [
        ("gone /far/own: as it should be\n", WAYS),
        ("again /far/own: as it should be\n", WAYS + 1),
        ("swept\n", 1),
    ] {
        let found = said.matches(words).count();
        ensure!(
            found == times,
            "{found} times `{}`, not {times}, {ended:?}\n{said}",
            words.trim()
        );
    }
    Ok(())
}

/// Greets, and then says without end what says nothing, until it is left.
fn flood(mut stream: TcpStream) {
    let greeting = b"INFO {\"server_id\":\"x\",\"headers\":true,\"max_payload\":1048576}\r\n";
    let mut said = stream.write_all(greeting);
    while said.is_ok() {
        said = stream.write_all(&b"+OK\r\n".repeat(1000));
    }
}

/// One connection: the first request of all is answered honestly, then in turns wrongly and honestly.
fn converse(mut stream: TcpStream, asked: &AtomicUsize) -> Result<()> {
    stream.write_all(b"INFO {\"server_id\":\"x\",\"headers\":true,\"max_payload\":1048576}\r\n")?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["PING"] => stream.write_all(b"PONG\r\n")?,
            ["HPUB", _subject, reply, _head, all] => {
                let mut bytes = vec![0; all.parse::<usize>()? + 2];
                reader.read_exact(&mut bytes)?;
                let text = String::from_utf8_lossy(&bytes).into_owned();
                let contract = text
                    .lines()
                    .find_map(|line| line.strip_prefix("Sing-Contract: "))
                    .context("a request without its contract")?;
                ensure!(text.contains("Sing-Message: Call\r\n"), "{text}");
                let request = Request {
                    reply: reply.into(),
                    contract: contract.into(),
                };
                let number = asked.fetch_add(1, Relaxed);
                let bytes = match number % 2 {
                    0 => honest(&request),
                    _ => wrong(number / 2, &request),
                };
                stream.write_all(&bytes)?;
            }
            _ => {}
        }
    }
}

fn message(to: &str, headers: &str, payload: &[u8]) -> Vec<u8> {
    let head = format!("NATS/1.0\r\n{headers}\r\n");
    let all = head.len() + payload.len();
    let mut bytes = format!("HMSG {to} 1 {} {all}\r\n{head}", head.len()).into_bytes();
    bytes.extend_from_slice(payload);
    bytes.extend_from_slice(b"\r\n");
    bytes
}

fn answer(request: &Request, name: &str, payload: &[u8]) -> Vec<u8> {
    let headers = format!(
        "Sing-Contract: {}\r\nSing-Message: {name}\r\n",
        request.contract
    );
    message(&request.reply, &headers, payload)
}

/// What `remotes` waits for.
fn honest(request: &Request) -> Vec<u8> {
    answer(request, "Answer", b"\x03\0\0\0cba")
}

fn wrong(way: usize, request: &Request) -> Vec<u8> {
    let same = format!("Sing-Contract: {}\r\n", request.contract);
    match way % WAYS {
        // A message of the contract that is none here, and one that it has not.
        0 => answer(request, "Call", b"\x03\0\0\0cba"),
        1 => answer(request, "Nonsense", b""),
        // A length beyond the bytes, bytes beyond the length, an empty block, a text that is none.
        2 => answer(request, "Answer", b"\xff\xff\xff\xffcba"),
        3 => answer(request, "Answer", b"\x01\0\0\0cba"),
        4 => answer(request, "Answer", b"\0\0\0\0"),
        5 => answer(request, "Refused", b"\x02\0\0\0\xff\xfe"),
        // Another contract, or another version; no message; no contract.
        6 => message(
            &request.reply,
            "Sing-Contract: RemoteContract/0000\r\nSing-Message: Answer\r\n",
            b"\x03\0\0\0cba",
        ),
        7 => message(&request.reply, &same, b"\x03\0\0\0cba"),
        8 => message(&request.reply, "", b"\x03\0\0\0cba"),
        // The connection is at its end: a message without end, a line without one, what is no line.
        9 => format!("HMSG {} 1 10 4000000000\r\n", request.reply).into_bytes(),
        10 => vec![b'x'; 100_000],
        11 => b"\x00\xff nonsense\r\n".to_vec(),
        // Another client's doing, which costs this answer and not the connection.
        12 => message(&request.reply, &same, &[b'x'; 100_000]),
        _ => format!("HMSG {} 1 4 4\r\nNATS\r\n", request.reply).into_bytes(),
    }
}
