//! Tests of the client's side: the requests that it sends, and the answers that it reads, in whatever pieces they come.

use sing_http::answer::{Answer, CODING, FIELDS, HEAD, Heads, INTERIM};
use sing_http::body::{LINE, Next, TRAILERS};
use sing_http::request::{Length, Request, before_chunk, last_chunk, server};
use sing_http::{Fault, Field};

/// An answer that was read: its status, its fields, its content and its trailers.
type Whole = (u16, Vec<Field>, Vec<u8>, Vec<Field>);

/// Reads an answer that comes in these pieces, and then the end of the connection.
fn read<'a>(method: &str, pieces: impl Iterator<Item = &'a [u8]>) -> Result<Whole, Fault> {
    let mut heads = Heads::new(method);
    let mut answer: Option<Answer> = None;
    let mut content = Vec::new();
    for mut piece in pieces {
        while !piece.is_empty() {
            let used = match &mut answer {
                None => {
                    let (used, found) = heads.feed(piece)?;
                    answer = found;
                    used
                }
                Some(answer) => match answer.body.next() {
                    Next::Content(most) => {
                        let count = most.min(piece.len() as u64) as usize;
                        content.extend(&piece[..count]);
                        answer.body.take(count as u64);
                        count
                    }
                    Next::Frame => answer.body.feed(piece)?,
                    Next::End => piece.len(),
                },
            };
            piece = &piece[used..];
        }
    }
    let mut answer = answer.ok_or(Fault::Cut)?;
    answer.body.close()?;
    let trailers = answer.body.take_trailers();
    Ok((answer.status, answer.fields, content, trailers))
}

/// The same of a text: at once, byte by byte, and in two pieces wherever it is cut.
fn of(text: &str) -> Result<Whole, Fault> {
    let bytes = text.as_bytes();
    let whole = read("GET", std::iter::once(bytes));
    assert_eq!(read("GET", bytes.chunks(1)), whole, "{text:?}");
    for cut in 0..bytes.len() {
        let (first, second) = bytes.split_at(cut);
        assert_eq!(
            read("GET", [first, second].into_iter()),
            whole,
            "{text:?} at {cut}"
        );
    }
    whole
}

fn content(text: &str) -> Result<String, Fault> {
    of(text).map(|(_, _, content, _)| String::from_utf8(content).unwrap())
}

#[test]
fn bodies_end_as_their_heads_say() {
    for (head, body, wanted) in [
        ("Content-Length: 5", "hello, more", "hello"),
        ("Content-Length: 0", "hello", ""),
        ("Content-Length: 2\r\ncontent-length: 2", "hello", "he"),
        ("X: y", "hello, all of it", "hello, all of it"),
        (
            "Transfer-Encoding: chunked",
            "5\r\nhello\r\n2 \r\n, \r\nA;x=y\r\n0123456789\r\n0\r\n\r\n",
            "hello, 0123456789",
        ),
        ("Transfer-Encoding: CHUNKED", "0\r\n\r\n", ""),
    ] {
        let text = format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{body}");
        assert_eq!(content(&text).as_deref(), Ok(wanted), "{text:?}");
    }
    assert_eq!(
        content("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n").as_deref(),
        Ok("")
    );
    assert_eq!(content("HTTP/1.0 200\r\n\r\nold").as_deref(), Ok("old"));
    let text = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    let (_, fields, content, _) = read("HEAD", std::iter::once(&text[..])).unwrap();
    assert_eq!((fields.len(), content.len()), (1, 0));
}

#[test]
fn what_comes_before_and_behind_is_told_apart() {
    let text = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 404 Not Found\r\n\
                X-A:  b \r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nX-Sum: 9\r\nX-Other: \r\n\r\n";
    let (status, fields, content, trailers) = of(text).unwrap();
    let field = |name: &str, value: &str| (name.as_bytes().to_vec(), value.as_bytes().to_vec());
    assert_eq!(status, 404);
    assert_eq!(
        fields,
        [field("x-a", "b"), field("transfer-encoding", "chunked")]
    );
    assert_eq!(content, b"abc");
    assert_eq!(trailers, [field("x-sum", "9"), field("x-other", "")]);
}

#[test]
fn what_is_no_answer_is_refused() {
    let coding = |text: &str| Fault::Coding(text.into());
    for (text, fault) in [
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell",
            Fault::Cut,
        ),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n", Fault::Cut),
        ("", Fault::Cut),
        ("HTTP/1.1 100 Continue\r\n\r\n", Fault::Cut),
        ("\r\n\r\n", Fault::Damaged),
        ("HTTP/2 200 OK\r\n\r\n", Fault::Damaged),
        ("SSH-2.0-OpenSSH\r\n\r\n", Fault::Damaged),
        ("HTTP/1.1 20 OK\r\n\r\n", Fault::Damaged),
        ("HTTP/1.1 099 OK\r\n\r\n", Fault::Damaged),
        ("HTTP/1.1 200 OK\r\nno colon\r\n\r\n", Fault::Damaged),
        ("HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n", Fault::Damaged),
        ("HTTP/1.1 200 OK\r\nA: \u{0}\r\n\r\n", Fault::Damaged),
        ("HTTP/1.1 101 Switching Protocols\r\n\r\n", Fault::Upgrade),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
            Fault::Damaged,
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\n",
            Fault::Damaged,
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
            Fault::Damaged,
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
            Fault::Contradiction,
        ),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
            Fault::Contradiction,
        ),
        (
            "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            Fault::Contradiction,
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
            coding("gzip, chunked"),
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
            coding("chunked"),
        ),
    ] {
        assert_eq!(of(text), Err(fault), "{text:?}");
    }
    for (chunks, fault) in [
        ("5\r\nhello\r\n", Fault::Cut),
        ("5\r\nhel", Fault::Cut),
        ("0\r\n", Fault::Cut),
        ("5\r\nhelloX\r\n0\r\n\r\n", Fault::Damaged),
        ("5\r\nhello\n0\r\n\r\n", Fault::Damaged),
        ("\r\n\r\n", Fault::Damaged),
        ("x\r\n\r\n", Fault::Damaged),
        ("-1\r\n\r\n", Fault::Damaged),
        ("5\nhello\r\n0\r\n\r\n", Fault::Damaged),
        ("5;x\nhello\r\n0\r\n\r\n", Fault::Damaged),
        (" 5\r\nhello\r\n0\r\n\r\n", Fault::Damaged),
        ("11112222333344445\r\n\r\n", Fault::Damaged),
        ("0\r\nno colon\r\n\r\n", Fault::Damaged),
    ] {
        let text = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}");
        assert_eq!(of(&text), Err(fault), "{chunks:?}");
    }
}

#[test]
fn what_has_no_end_is_cut_off() {
    let at_once = |text: &str| read("GET", std::iter::once(text.as_bytes())).err();
    let long = format!("HTTP/1.1 200 OK\r\nA: {}", "b".repeat(HEAD));
    assert_eq!(at_once(&long), Some(Fault::HeadTooLong));
    let lines = format!("HTTP/1.1 200 OK\r\n{}\r\n", "A: b\r\n".repeat(FIELDS + 1));
    assert_eq!(at_once(&lines), Some(Fault::HeadTooLong));
    let interim = "HTTP/1.1 100 Continue\r\n\r\n".repeat(INTERIM + 1);
    assert_eq!(at_once(&interim), Some(Fault::NoFinal));
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let extension = format!("{chunked}5;{}", "x".repeat(LINE));
    assert_eq!(at_once(&extension), Some(Fault::Damaged));
    let trailers = format!("{chunked}0\r\n{}", "A: b\r\n".repeat(TRAILERS / 6 + 1));
    assert_eq!(at_once(&trailers), Some(Fault::TrailersTooLong));
}

#[test]
fn no_bytes_are_too_much() {
    let good = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nA: b\r\n\r\n5\r\nhello\r\n0\r\nX: y\r\n\r\n";
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..20_000 {
        let mut bytes = good.to_vec();
        for _ in 0..random.usize(1..6) {
            let at = random.usize(..bytes.len());
            match random.u8(..3) {
                0 => bytes[at] = random.u8(..),
                1 => drop(bytes.remove(at)),
                _ => bytes.insert(at, *random.choice(good).unwrap()),
            }
        }
        let size = random.usize(1..bytes.len());
        let whole = read("GET", std::iter::once(&bytes[..]));
        assert_eq!(read("GET", bytes.chunks(size)), whole);
    }
}

fn request(method: &str, target: &str) -> Request {
    Request {
        method: method.into(),
        target: target.into(),
        host: "a:81".into(),
        fields: vec![(b"x".to_vec(), b"y z".to_vec())],
    }
}

#[test]
fn a_request_says_how_long_it_is() {
    let head = |length| {
        let head = request("GET", "/p?q").head(length).unwrap();
        String::from_utf8(head).unwrap()
    };
    let begin = "GET /p?q HTTP/1.1\r\nhost: a:81\r\nx: y z\r\n";
    let end = "connection: close\r\n\r\n";
    assert_eq!(head(Length::Nothing), format!("{begin}{end}"));
    assert_eq!(head(Length::Said), format!("{begin}{end}"));
    assert_eq!(
        head(Length::Known(7)),
        format!("{begin}content-length: 7\r\n{end}")
    );
    assert_eq!(
        head(Length::Chunked),
        format!("{begin}transfer-encoding: chunked\r\n{end}")
    );
    assert_eq!(before_chunk(0x1f), b"1f\r\n");
    let trailers = [
        (b"a".to_vec(), b"b".to_vec()),
        (b"c".to_vec(), b"d\r\ne: f".to_vec()),
    ];
    assert_eq!(last_chunk(&trailers), b"0\r\na: b\r\n\r\n");
}

#[test]
fn no_part_of_a_request_is_another_line() {
    for (method, target) in [
        ("GET\r\nX: y", "/"),
        ("GET", "/\n"),
        ("GET", "/\r"),
        ("GET", "/\0"),
    ] {
        assert_eq!(
            request(method, target).head(Length::Nothing),
            None,
            "{method:?} {target:?}"
        );
    }
    let mut wrong = request("GET", "/");
    wrong.fields.push((b"a".to_vec(), b"b\r\nc: d".to_vec()));
    assert_eq!(wrong.head(Length::Nothing), None);
}

#[test]
fn servers_are_hosts_with_ports() {
    for (text, wanted) in [
        ("a", Some(("a", 80))),
        ("a:", Some(("a", 80))),
        ("a.b-c_d:8080", Some(("a.b-c_d", 8080))),
        ("10.0.0.1:1", Some(("10.0.0.1", 1))),
        ("[::1]", Some(("::1", 80))),
        ("[::1]:8080", Some(("::1", 8080))),
        ("", None),
        (":80", None),
        ("a:0", None),
        ("a:65536", None),
        ("a:+1", None),
        ("a:b", None),
        ("[::ffff:10.0.0.1]", Some(("::ffff:10.0.0.1", 80))),
        ("[a]", None),
        ("[10.0.0.1]", None),
        ("[::1", None),
        ("[::1]8", None),
        ("user@a", None),
        ("a/b", None),
        ("a b", None),
    ] {
        assert_eq!(server(text, 80), wanted, "{text:?}");
    }
}

#[test]
fn of_a_long_coding_the_beginning_is_told() {
    let long = "x".repeat(HEAD / 2);
    let text = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: {long}\r\n\r\n");
    let read = read("GET", std::iter::once(text.as_bytes()));
    assert_eq!(read, Err(Fault::Coding("x".repeat(CODING))));
}

#[test]
fn a_length_is_said_once() {
    let length = (b"content-length".to_vec(), b"5".to_vec());
    let request = Request {
        method: "POST".into(),
        target: "/".into(),
        host: "a".into(),
        fields: vec![length.clone(), (b"x".to_vec(), b"y".to_vec()), length],
    };
    let head = String::from_utf8(request.head(Length::Said).unwrap()).unwrap();
    let wanted =
        "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\nx: y\r\nconnection: close\r\n\r\n";
    assert_eq!(head, wanted);
}
