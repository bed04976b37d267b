//! What can be asked of programs, and what is no request.

use crate::Tally;
use crate::client::{Client, ask, get};
use core::time::Duration;
use sing_sdk::names::Names;
use sing_sdk::prelude::*;
use sing_sdk::thread;
use sing_sdk::time::uptime;

/// The deadline in the manifest of `web-late`, and that of who states none.
const DECLARED: Duration = Duration::from_millis(300);
const USUAL: Duration = Duration::from_secs(5);

/// Requests that are refused, each with its status: the table of the unit tests, over a connection.
const REFUSED: [(&str, u16); 12] = [
    ("GET / HTTP/1.1\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost : x\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: x\n\n", 400),
    ("GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n", 400),
    (
        "POST /hello HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\
         Transfer-Encoding: chunked\r\n\r\n",
        400,
    ),
    (
        "POST /hello HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        501,
    ),
    (
        "POST /hello HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n",
        413,
    ),
    (
        "POST /try/count HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        400,
    ),
    ("GET / HTTP/3.0\r\nHost: x\r\n\r\n", 505),
    (
        "GET /%2e%2e/x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        400,
    ),
    ("nonsense\r\n\r\n", 400),
];

pub fn check(names: &mut Names, port: u16, tally: &mut Tally) -> Result<(), Error> {
    refused(names, port, tally)?;
    programs(names, port, tally)?;
    bodies(names, port, tally)?;
    connections(names, port, tally)?;
    failures(names, port, tally)?;
    stalled(names, port, tally)
}

/// Clients that begin a body, so that a process waits for it, and send nothing more, or a byte now
/// and then: the process is ended long before its deadline, and the next request gets the place.
fn stalled(names: &mut Names, port: u16, tally: &mut Tally) -> Result<(), Error> {
    for drips in [false, true] {
        let mut client = Client::open(names, port)?;
        let head = "POST /long/count HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n";
        client.send(head.as_bytes())?;
        client.send(&[b'a'; 80_000])?;
        let began = uptime();
        while drips && !client.more_within(Duration::from_millis(100)) {
            if uptime().saturating_sub(began) > Duration::from_secs(20)
                || client.send(b"a").is_err()
            {
                break;
            }
        }
        let answer = client.answer(false);
        let soon = uptime().saturating_sub(began) < Duration::from_secs(10);
        let good = answer.status == 408 && answer.whole && soon;
        tally.is("a body that stalls", good, &answer);
        let next = get(names, port, "/long/count")?;
        tally.is("behind one that stalls", next.status == 200, &next);
    }
    // One that sends slowly, but on and on, is waited for.
    let mut client = Client::open(names, port)?;
    client.send(b"POST /long/count HTTP/1.1\r\nHost: x\r\nContent-Length: 116000\r\n\r\n")?;
    client.send(&[b'a'; 80_000])?;
    for _ in 0..12 {
        thread::sleep(Duration::from_millis(300));
        client.send(&[b'a'; 3_000])?;
    }
    let answer = client.answer(false);
    tally.is("a slow body", answer.text() == "POST 116000\n", &answer);
    Ok(())
}

fn refused(names: &mut Names, port: u16, tally: &mut Tally) -> Result<(), Error> {
    for (request, status) in REFUSED {
        let mut client = Client::open(names, port)?;
        client.send(request.as_bytes())?;
        let answer = client.answer(false);
        let over = client.is_over();
        tally.is(
            request,
            answer.status == status && answer.whole && over,
            &answer,
        );
    }
    let long = format!("GET / HTTP/1.1\r\nHost: x\r\n{}\r\n", "A: b\r\n".repeat(65));
    let answer = ask(names, port, long.as_bytes())?;
    tally.is("too many headers", answer.status == 431, &answer);
    let long = format!("GET /{} HTTP/1.1\r\nHost: x\r\n\r\n", "x".repeat(9000));
    let answer = ask(names, port, long.as_bytes())?;
    tally.is("a long target", answer.status == 414, &answer);
    Ok(())
}

fn programs(names: &mut Names, port: u16, tally: &mut Tally) -> Result<(), Error> {
    let first = get(names, port, "/hello?name=Ada+L%2e")?;
    let good =
        first.status == 200 && first.whole && first.text().starts_with("Hello, Ada L., from");
    tally.is("hello", good, &first);
    let second = get(names, port, "/hello?name=Ada+L%2e")?;
    tally.is(
        "a process for each request",
        second.text() != first.text(),
        &second,
    );
    let head = ask(
        names,
        port,
        b"HEAD /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    )?;
    let length = head.header("content-length").is_some();
    tally.is("HEAD", head.status == 200 && length, &head);
    let stream = get(names, port, "/try/stream?bytes=100000")?;
    let chunked = stream.header("transfer-encoding") == Some("chunked");
    tally.is(
        "a stream",
        chunked && stream.whole && stream.body.len() == 100_000,
        &stream,
    );
    let old = ask(
        names,
        port,
        b"GET /try/stream?bytes=100000 HTTP/1.0\r\n\r\n",
    )?;
    let open =
        old.header("transfer-encoding").is_none() && old.header("connection") == Some("close");
    tally.is(
        "a stream to an old client",
        open && old.body.len() == 100_000,
        &old,
    );
    let none = get(names, port, "/try/nothing")?;
    tally.is("a status of the program's own", none.status == 404, &none);
    Ok(())
}

fn bodies(names: &mut Names, port: u16, tally: &mut Tally) -> Result<(), Error> {
    let post = b"POST /try/count HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\
        Connection: close\r\n\r\nabcde";
    let answer = ask(names, port, post)?;
    tally.is("a body", answer.text() == "POST 5\n", &answer);

    // A body in chunks, cut at odd places, while the answer comes back.
    let mut client = Client::open(names, port)?;
    client.send(b"POST /try/echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")?;
    let mut sent = Vec::new();
    for at in 0..40_usize {
        let piece = vec![b'a' + (at % 26) as u8; 1 + at * 97];
        let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
        chunk.extend_from_slice(&piece);
        chunk.extend_from_slice(b"\r\n");
        let middle = chunk.len() / 3;
        client.send(&chunk[..middle])?;
        client.send(&chunk[middle..])?;
        sent.extend_from_slice(&piece);
    }
    client.send(b"0\r\nX: y\r\n\r\n")?;
    let answer = client.answer(false);
    tally.is(
        "an echo in chunks",
        answer.whole && answer.body == sent,
        &answer,
    );

    let mut client = Client::open(names, port)?;
    client.send(
        b"POST /try/count HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n",
    )?;
    let go_on = client.answer(true);
    client.send(b"abc")?;
    let answer = client.answer(false);
    tally.is(
        "100 Continue",
        go_on.status == 100 && answer.text() == "POST 3\n",
        &answer,
    );

    // The program does not read the body; the connection goes on behind it.
    let mut client = Client::open(names, port)?;
    client.send(b"POST /hello HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n01234")?;
    client.send(b"56789GET /hello HTTP/1.1\r\nHost: x\r\n\r\n")?;
    let [first, second] = [client.answer(false), client.answer(false)];
    tally.is(
        "a body that nobody reads",
        first.status == 200 && second.status == 200,
        &second,
    );
    Ok(())
}

fn connections(names: &mut Names, port: u16, tally: &mut Tally) -> Result<(), Error> {
    let mut client = Client::open(names, port)?;
    let request = b"GET /hello HTTP/1.1\r\nHost: x\r\n\r\n";
    for _ in 0..5 {
        client.send(request)?;
        let answer = client.answer(false);
        tally.is("one after the other", answer.status == 200, &answer);
    }
    client.send(&request.repeat(3))?;
    for _ in 0..3 {
        let answer = client.answer(false);
        tally.is("three at once", answer.status == 200, &answer);
    }
    for byte in request {
        client.send(&[*byte])?;
    }
    let answer = client.answer(false);
    tally.is("byte by byte", answer.status == 200, &answer);
    // The client ends its direction and still gets its answer.
    client.send(request)?;
    client.finish();
    let answer = client.answer(false);
    tally.is(
        "half-closed",
        answer.status == 200 && client.is_over(),
        &answer,
    );
    // It ends its direction within a body: the answers before come whole, and one that says why.
    for sent in [3, 70_000] {
        let mut client = Client::open(names, port)?;
        client.send(b"GET /try/stream?bytes=20000 HTTP/1.1\r\nHost: x\r\n\r\n")?;
        client.send(b"POST /try/count HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n")?;
        client.send(&vec![b'a'; sent])?;
        client.finish();
        let before = client.answer(false);
        let good = before.whole && before.body.len() == 20_000;
        tally.is("before a body that is cut", good, &before);
        let answer = client.answer(false);
        let good = answer.status == 400 && answer.whole && client.is_over();
        tally.is("a body that is cut", good, &answer);
    }
    Ok(())
}

fn failures(names: &mut Names, port: u16, tally: &mut Tally) -> Result<(), Error> {
    for (path, status) in [
        ("/try/crash", 500),
        ("/try/memory", 500),
        ("/try/exit", 500),
        ("/try/spin", 504),
        ("/try/lie", 502),
    ] {
        let mut client = Client::open(names, port)?;
        client.send(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes())?;
        let answer = client.answer(false);
        let good = answer.status == status && answer.header("x-request-id").is_some();
        tally.is(path, good && answer.whole, &answer);
        // It has cost one request: the same connection goes on.
        client.send(b"GET /hello HTTP/1.1\r\nHost: x\r\n\r\n")?;
        let next = client.answer(false);
        tally.is("behind it", next.status == 200, &next);
    }
    // Its mount says nothing of its deadline, or more: its manifest's counts.
    for path in ["/late", "/later"] {
        let begin = uptime();
        let answer = get(names, port, path)?;
        let took = uptime() - begin;
        let good = (DECLARED..USUAL).contains(&took) && answer.status == 504;
        tally.is("a deadline of the manifest", good, &answer);
    }
    let half = get(names, port, "/try/half")?;
    let good = half.status == 200 && !half.whole && half.text() == "the first half";
    tally.is("a crash in the middle", good, &half);
    for (path, status) in [
        ("count", 200),
        ("count", 200),
        ("crash", 500),
        ("count", 200),
    ] {
        let answer = get(names, port, &format!("/kept/{path}"))?;
        tally.is("a kept process", answer.status == status, &answer);
    }
    Ok(())
}
