//! Requests that are, requests that are none, and that cutting changes nothing.

use super::*;
use alloc::format;
use alloc::string::String;
use proptest::prelude::*;

/// All that comes of bytes that are fed in pieces; the content of each body in one.
fn all<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Event>, Option<Fault>) {
    let mut requests = Requests::new(1 << 16);
    let mut events: Vec<Event> = Vec::new();
    for piece in pieces {
        requests.feed(piece);
        loop {
            match requests.event() {
                Ok(None) => break,
                Ok(Some(Event::Content(more))) => match events.last_mut() {
                    Some(Event::Content(content)) => content.extend(more),
                    _ => events.push(Event::Content(more)),
                },
                Ok(Some(event)) => events.push(event),
                Err(fault) => return (events, Some(fault)),
            }
        }
    }
    (events, None)
}

fn status(text: &str) -> u16 {
    let (events, fault) = all([text.as_bytes()]);
    fault.map_or_else(|| if events.is_empty() { 0 } else { 200 }, |f| f.status)
}

#[test]
fn a_request_is_found_with_its_body() {
    let text =
        "POST /a?b HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabcGET / HTTP/1.0\r\n\r\n";
    let (events, fault) = all([text.as_bytes()]);
    assert_eq!(fault, None);
    let [
        Event::Head(first),
        Event::Content(body),
        Event::End,
        Event::Head(second),
        Event::End,
    ] = events.as_slice()
    else {
        panic!("{events:?}");
    };
    assert_eq!(
        (first.method.as_str(), first.target.as_str()),
        ("POST", "/a?b")
    );
    assert_eq!(body, b"abc");
    assert!(first.keep_alive && first.modern && !second.keep_alive && !second.modern);
}

#[test]
fn chunks_are_joined() {
    let head = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\r\n";
    let text = format!("{head}3 \t;a ; b\r\nabc\r\n0A;x=\"y\"\r\n0123456789\r\n0\r\nX: y\r\n\r\n");
    let (events, fault) = all([text.as_bytes()]);
    assert_eq!(fault, None);
    assert_eq!(
        events.get(1),
        Some(&Event::Content(b"abc0123456789".into()))
    );
    assert_eq!(events.get(2), Some(&Event::End));
    for (body, wanted) in [
        ("g\r\n", 400),
        ("\r\n", 400),
        (";\r\n", 400),
        ("3\nabc", 400),
        ("3\r\nabcd\r\n", 400),
        ("3\r\nabc\n", 400),
        ("-1\r\n", 400),
        ("0x3\r\n", 400),
        ("3 \r\n", 400),
        ("3 3\r\n", 400),
        (" 3\r\n", 400),
        ("3 x\r\n", 400),
        ("11111111111111111\r\n", 400),
        ("ffffffffffffffff\r\n", 413),
        ("10001\r\n", 413),
        ("0\r\nX: y\n\r\n", 400),
        ("0\r\n\n", 400),
    ] {
        assert_eq!(status(&format!("{head}{body}")), wanted, "{body:?}");
    }
    let long = format!("{head}1;{}\r\n", "x".repeat(400));
    assert_eq!(status(&long), 400);
    let trailers = format!("{head}0\r\n{}\r\n", "X: y\r\n".repeat(1000));
    assert_eq!(status(&trailers), 431);
}

/// What is refused, and with which status: each line is a way in which requests were smuggled past
/// some server, or a limit.
#[test]
fn what_could_be_understood_in_two_ways_is_refused() {
    let get = "GET / HTTP/1.1\r\n";
    let many = "A: b\r\n".repeat(65);
    let long = "x".repeat(9000);
    for (text, wanted) in [
        (format!("{get}Host: x\r\n\r\n"), 200),
        (format!("\r\n\r\n{get}Host: x\r\n\r\n"), 200),
        ("GET / HTTP/1.0\r\n\r\n".into(), 200),
        (format!("{get}Host:\r\n\r\n"), 200),
        ("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n".into(), 200),
        ("GET http://x/y HTTP/1.1\r\nHost: x\r\n\r\n".into(), 200),
        (format!("{get}\r\n"), 400),
        (format!("{get}Host: x\r\nHost: x\r\n\r\n"), 400),
        (format!("{get}Host: x/y\r\n\r\n"), 400),
        (format!("{get}Host: x y\r\n\r\n"), 400),
        (format!("{get}Host : x\r\n\r\n"), 400),
        (format!("{get}Host: x\n\r\n"), 400),
        (format!("{get}Host: x\n\n"), 400),
        (format!("{get}Host: x\r\n\n"), 400),
        ("GET / HTTP/1.1\nHost: x\n\n".into(), 400),
        (format!("{get}Host: x\r\nA: b\rC: d\r\n\r\n"), 400),
        (format!("{get}Host: x\r\nA: b\r\n c\r\n\r\n"), 400),
        (format!("{get} Host: x\r\n\r\n"), 400),
        (format!("{get}Host: x\r\nA\r\n\r\n"), 400),
        (format!("{get}Host: x\r\n: b\r\n\r\n"), 400),
        (format!("{get}Host: x\r\nA: \0\r\n\r\n"), 400),
        (format!("{get}Host: x\r\nA\u{e4}: b\r\n\r\n"), 400),
        (
            format!("{get}Host: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"),
            400,
        ),
        (
            format!("{get}Host: x\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n"),
            400,
        ),
        (format!("{get}Host: x\r\nContent-Length: 1, 1\r\n\r\n"), 400),
        (format!("{get}Host: x\r\nContent-Length: +1\r\n\r\n"), 400),
        (format!("{get}Host: x\r\nContent-Length: -1\r\n\r\n"), 400),
        (format!("{get}Host: x\r\nContent-Length: 0x1\r\n\r\n"), 400),
        (format!("{get}Host: x\r\nContent-Length:\r\n\r\n"), 400),
        (
            format!("{get}Host: x\r\nContent-Length: 99999999999999999999\r\n\r\n"),
            413,
        ),
        (
            format!("{get}Host: x\r\nContent-Length: 65537\r\n\r\n"),
            413,
        ),
        (
            format!("{get}Host: x\r\nTransfer-Encoding: gzip\r\n\r\n"),
            400,
        ),
        (
            format!("{get}Host: x\r\nTransfer-Encoding: chunked, gzip\r\n\r\n"),
            400,
        ),
        (
            format!("{get}Host: x\r\nTransfer-Encoding: chunked, chunked\r\n\r\n"),
            400,
        ),
        (
            format!("{get}Host: x\r\nTransfer-Encoding: xchunked\r\n\r\n"),
            400,
        ),
        (
            format!("{get}Host: x\r\nTransfer-Encoding: \"chunked\"\r\n\r\n"),
            400,
        ),
        (
            format!("{get}Host: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"),
            501,
        ),
        (
            format!(
                "{get}Host: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"
            ),
            400,
        ),
        (
            "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n".into(),
            400,
        ),
        ("GET / HTTP/2.0\r\nHost: x\r\n\r\n".into(), 505),
        // A later HTTP/1 is read as HTTP/1.1 (RFC 9110, 2.5).
        ("GET / HTTP/1.2\r\nHost: x\r\n\r\n".into(), 200),
        ("GET / HTTP/1.9\r\n\r\n".into(), 400),
        ("GET / HTTP/1.10\r\nHost: x\r\n\r\n".into(), 400),
        ("GET / HTTP/1.x\r\nHost: x\r\n\r\n".into(), 505),
        ("GET http://x?y HTTP/1.1\r\nHost: x\r\n\r\n".into(), 200),
        ("GET /\r\nHost: x\r\n\r\n".into(), 400),
        ("GET /a b HTTP/1.1\r\nHost: x\r\n\r\n".into(), 400),
        ("GET / http/1.1\r\nHost: x\r\n\r\n".into(), 400),
        ("GET  / HTTP/1.1\r\nHost: x\r\n\r\n".into(), 400),
        ("GET / HTTP/1.1 \r\nHost: x\r\n\r\n".into(), 400),
        ("GET x HTTP/1.1\r\nHost: x\r\n\r\n".into(), 400),
        ("GET http:///y HTTP/1.1\r\nHost: x\r\n\r\n".into(), 400),
        ("GET http://a@b/y HTTP/1.1\r\nHost: x\r\n\r\n".into(), 400),
        ("GET /\u{e4} HTTP/1.1\r\nHost: x\r\n\r\n".into(), 400),
        ("CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n".into(), 501),
        (format!("{get}Host: x\r\nExpect: tea\r\n\r\n"), 417),
        ("\r\n".repeat(8), 400),
        (format!("{get}Host: x\r\n{many}\r\n"), 431),
        (
            format!("{get}Host: x\r\nA: {long}\r\nB: {long}\r\n\r\n"),
            431,
        ),
        (format!("{get}Host: x\r\nA: {long}{long}"), 431),
        (format!("GET /{long} HTTP/1.1\r\nHost: x\r\n\r\n"), 414),
        (format!("GET /{long}"), 414),
        ("\u{16}\u{3}\u{1}\u{2}\0\r\n\r\n".into(), 400),
    ] {
        let shown: String = text.chars().take(120).collect();
        assert_eq!(status(&text), wanted, "{shown:?}");
    }
}

#[test]
fn targets_of_urls_are_paths() {
    for (line, wanted) in [
        ("GET http://x/y?z", "/y?z"),
        ("GET HTTP://x", "/"),
        ("GET http://x?y", "/?y"),
        ("OPTIONS http://x", "*"),
        ("OPTIONS http://x/", "/"),
    ] {
        let (events, _) = all([format!("{line} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()]);
        let [Event::Head(head), ..] = events.as_slice() else {
            panic!("{line}: {events:?}");
        };
        assert_eq!(head.target, wanted, "{line}");
    }
}

#[test]
fn who_asks_for_a_head_alone_is_known_when_it_is_refused() {
    for (text, wanted) in [
        ("HEAD / HTTP/1.1\r\n\r\n", true),
        ("GET / HTTP/1.1\r\n\r\n", false),
        ("HEAD", false),
        ("HEAD / HT", true),
    ] {
        let mut requests = Requests::new(0);
        requests.feed(text.as_bytes());
        let _ = requests.event();
        assert_eq!(requests.wants_no_content(), wanted, "{text:?}");
    }
}

#[test]
fn who_expects_to_be_told_is_known() {
    let text = "POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-Continue\r\nContent-Length: 3\r\n\r\n";
    let (events, _) = all([text.as_bytes()]);
    assert!(matches!(events.as_slice(), [Event::Head(head)] if head.expects));
}

/// Bytes that are nearly requests.
fn nearly() -> impl Strategy<Value = Vec<u8>> {
    let parts = prop::sample::select(alloc::vec![
        "GET / HTTP/1.1\r\n",
        "POST /a HTTP/1.1\r\n",
        "Host: x\r\n",
        "Content-Length: 5\r\n",
        "Transfer-Encoding: chunked\r\n",
        "\r\n",
        "\r",
        "\n",
        "5\r\nabcde\r\n",
        "0\r\n\r\n",
        "abcde",
        "0\r\n",
        "Connection: close\r\n",
        ": ",
        " ",
        "ff\r\n",
        "A: b\r\n",
        "\0",
        "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
    ]);
    let part = prop_oneof![
        9 => parts.prop_map(|p| p.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..20),
        1 => (1..20_000_usize).prop_map(|len| alloc::vec![b'x'; len]),
    ];
    prop::collection::vec(part, 0..12).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn cutting_changes_nothing(
        bytes in nearly(),
        cuts in prop::collection::vec(any::<u16>(), 0..20),
    ) {
        let mut places: Vec<usize> = cuts.iter().map(|c| *c as usize % (bytes.len() + 1)).collect();
        places.sort_unstable();
        places.push(bytes.len());
        let mut from = 0;
        let pieces = places.iter().map(|to| {
            let piece = &bytes[from..*to];
            from = *to;
            piece
        });
        prop_assert_eq!(all(pieces), all([bytes.as_slice()]));
    }

    #[test]
    fn each_byte_by_itself_changes_nothing(bytes in nearly()) {
        prop_assert_eq!(all(bytes.chunks(1)), all([bytes.as_slice()]));
    }

    #[test]
    fn no_bytes_break_it(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let _ = all([bytes.as_slice()]);
    }
}
