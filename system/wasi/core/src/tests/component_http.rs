//! `wasi:http/outgoing-handler`, on a network in memory: what goes to a server, what is made of that which comes from
//! it, and how errors lie in memory.

use super::components::{World, component, get, list, put, trap, word};
use super::fake::{Sink, Source};
use super::sockets_common::{net, networked};
use super::{DATA, OUT};
use crate::component::why::{Case, Why, With};
use crate::net::Code;
use std::boxed::Box;
use std::rc::Rc;
use std::string::{String, ToString};
use std::vec;
use std::vec::Vec;

const SECOND: u64 = 1_000_000_000;

/// The other side of a request's connection.
struct Server {
    source: Source,
    sink: Sink,
}

impl Server {
    /// The connection that is being made is this one.
    fn connected(world: &mut World) -> Server {
        let server = Server {
            source: Source::default(),
            sink: Sink::default(),
        };
        let answer = Some(Ok((server.source.clone(), server.sink.clone())));
        *net(world).connecting.0.borrow_mut() = answer;
        server
    }

    fn sends(&self, text: &str) {
        let block = text.as_bytes().to_vec();
        self.source.0.borrow_mut().0.push_back(block);
    }

    fn ends(&self) {
        self.source.0.borrow_mut().1 = true;
    }

    /// What has come there.
    fn got(&self) -> String {
        String::from_utf8(self.sink.0.borrow().bytes.clone()).unwrap()
    }

    /// Whether the program still has the connection.
    fn is_open(&self) -> bool {
        Rc::strong_count(&self.sink.0) > 1
    }
}

/// A request by these words, `METHOD SCHEME AUTHORITY PATH`, with fields.
fn request(world: &mut World, words: &str, fields: &[(&str, &str)]) -> u32 {
    let all: Vec<&str> = words.split(' ').collect();
    let list = world.new_fields().unwrap();
    for (name, value) in fields {
        let name = put(world, DATA, name.as_bytes());
        let value = put(world, DATA + 0x1000, value.as_bytes());
        world.fields_append(list, name, value, OUT).unwrap();
        assert_eq!(get(world, OUT, 1), [0], "a field");
    }
    let request = world.new_request(list).unwrap();
    let (at, len) = put(world, DATA, all[0].as_bytes());
    assert_eq!(world.outgoing_set_method(request, 9, at, len), Ok(0));
    let scheme = match all[1] {
        "none" => (0, 0),
        "http" => (1, 0),
        "https" => (1, 1),
        _ => (1, 2),
    };
    let (at, len) = put(world, DATA, all[1].as_bytes());
    assert_eq!(world.outgoing_set_scheme(request, scheme, at, len), Ok(0));
    let (at, len) = put(world, DATA, all[2].as_bytes());
    assert_eq!(world.outgoing_set_authority(request, 1, at, len), Ok(0));
    let (at, len) = put(world, DATA, all[3].as_bytes());
    assert_eq!(world.outgoing_set_path(request, 1, at, len), Ok(0));
    request
}

/// The error that lies at a place.
fn why(world: &mut World, at: u32) -> (u8, With) {
    let case = get(world, at, 1)[0];
    let number = |world: &mut World, at| u64::from_le_bytes(get(world, at, 8).try_into().unwrap());
    let with = match (case, get(world, at + 8, 1)[0]) {
        (_, 0) => With::Nothing,
        (1 | 31 | 38, _) => With::Text(String::from_utf8(list(world, at + 12)).unwrap()),
        (17, _) => With::Bytes(number(world, at + 16)),
        _ => With::Size(word(world, at + 12)),
    };
    (case, with)
}

fn is(found: Result<u32, (u8, With)>, case: Case) {
    assert_eq!(found.map_err(|(case, _)| case), Err(case as u8));
}

fn handle(world: &mut World, request: u32) -> Result<u32, (u8, With)> {
    world.outgoing_handle(request, None, OUT).unwrap();
    match get(world, OUT, 1)[0] {
        0 => Ok(word(world, OUT + 8)),
        _ => Err(why(world, OUT + 8)),
    }
}

/// A request that was sent: its future, and the server.
fn sent(world: &mut World, words: &str) -> (u32, Server) {
    let server = Server::connected(world);
    let request = request(world, words, &[]);
    (handle(world, request).unwrap(), server)
}

/// The answer that a future has; `None` if it is not there.
fn answer(world: &mut World, future: u32) -> Option<Result<u32, (u8, With)>> {
    world.future_get(future, OUT).unwrap();
    if get(world, OUT, 1) == [0] {
        return None;
    }
    assert_eq!(get(world, OUT + 8, 1), [0], "it was told before");
    Some(match get(world, OUT + 16, 1)[0] {
        0 => Ok(word(world, OUT + 24)),
        _ => Err(why(world, OUT + 24)),
    })
}

/// Waits for the answer.
fn awaited(world: &mut World, future: u32) -> Result<u32, (u8, With)> {
    let pollable = world.future_subscribe(future).unwrap();
    world.block(pollable).unwrap();
    world.resource_drop(pollable).unwrap();
    answer(world, future).expect("it is ready")
}

/// The body of an answer, and its stream.
fn body(world: &mut World, answer: u32) -> [u32; 2] {
    world.answer_body(answer, OUT).unwrap();
    assert_eq!(get(world, OUT, 1), [0]);
    let body = word(world, OUT + 4);
    world.body_stream(body, OUT).unwrap();
    [body, word(world, OUT + 4)]
}

/// What a stream has now; `None` at its end.
fn read(world: &mut World, stream: u32, waits: bool) -> Result<Option<String>, (u8, With)> {
    world.read(stream, 1000, waits, OUT).unwrap();
    match (get(world, OUT, 1)[0], get(world, OUT + 4, 1)[0]) {
        (0, _) => Ok(Some(String::from_utf8(list(world, OUT + 4)).unwrap())),
        (_, 1) => Ok(None),
        _ => {
            let error = word(world, OUT + 8);
            world.http_error(error, OUT).unwrap();
            assert_eq!(get(world, OUT, 1), [1], "an error of HTTP");
            world.resource_drop(error).unwrap();
            Err(why(world, OUT + 8))
        }
    }
}

/// All of a body, and how it ends.
fn content(world: &mut World, answer: u32) -> (String, Result<(), u8>) {
    let [body, stream] = body(world, answer);
    let mut all = String::new();
    let ended = loop {
        match read(world, stream, true) {
            Ok(Some(more)) => all += &more,
            Ok(None) => break Ok(()),
            Err((case, _)) => break Err(case),
        }
    };
    world.resource_drop(stream).unwrap();
    world.resource_drop(body).unwrap();
    (all, ended)
}

/// The body of a request, and its stream.
fn outgoing(world: &mut World, request: u32) -> [u32; 2] {
    world.outgoing_body(request, OUT).unwrap();
    assert_eq!(get(world, OUT, 1), [0]);
    let body = word(world, OUT + 4);
    world.body_write(body, OUT).unwrap();
    [body, word(world, OUT + 4)]
}

/// Writes as much as there is room for; whether it was taken.
fn write(world: &mut World, stream: u32, text: &[u8]) -> bool {
    world.check_write(stream, OUT).unwrap();
    if get(world, OUT, 1) != [0] {
        return false;
    }
    let (at, len) = put(world, DATA, text);
    world.write(stream, at, len, false, OUT).unwrap();
    get(world, OUT, 1) == [0]
}

fn finish(world: &mut World, [body, stream]: [u32; 2]) -> Result<(), (u8, With)> {
    world.resource_drop(stream).unwrap();
    world.body_end(body, None, OUT).unwrap();
    match get(world, OUT, 1)[0] {
        0 => Ok(()),
        _ => Err(why(world, OUT + 8)),
    }
}

#[test]
fn an_answer_is_read_with_its_fields_and_trailers() {
    let mut world = networked();
    let (future, server) = sent(&mut world, "GET http 10.0.0.1:8080 /a?b");
    assert_eq!(net(&mut world).begun[0].1.to_string(), "10.0.0.1:8080");
    assert_eq!(
        server.got(),
        "GET /a?b HTTP/1.1\r\nhost: 10.0.0.1:8080\r\nconnection: close\r\n\r\n"
    );
    assert_eq!(answer(&mut world, future), None);
    server.sends("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 20");
    assert_eq!(answer(&mut world, future), None);
    server.sends(
        "1 Created\r\nX-A: b\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
    );
    let pollable = world.future_subscribe(future).unwrap();
    assert_eq!(world.ready(pollable), Ok(1));
    world.resource_drop(pollable).unwrap();
    let found = answer(&mut world, future).unwrap().unwrap();
    world.future_get(future, OUT).unwrap();
    assert_eq!(get(&mut world, OUT + 8, 1), [1], "once");
    world.resource_drop(future).unwrap();
    assert_eq!(world.answer_status(found), Ok(201));
    let fields = world.answer_fields(found).unwrap();
    world.fields_entries(fields, OUT).unwrap();
    assert_eq!(word(&mut world, OUT + 4), 1);
    let first = word(&mut world, OUT);
    assert_eq!(list(&mut world, first), b"x-a");
    assert_eq!(list(&mut world, first + 8), b"b");
    let [body, stream] = body(&mut world, found);
    world.answer_body(found, OUT).unwrap();
    assert_eq!(get(&mut world, OUT, 1), [1], "once");
    assert_eq!(read(&mut world, stream, false), Ok(Some("hel".into())));
    assert_eq!(read(&mut world, stream, false), Ok(Some(String::new())));
    server.sends("lo\r\n0\r\nX-Sum: 9\r\nHost: x\r\n");
    let pollable = world.subscribe_input(stream).unwrap();
    world.block(pollable).unwrap();
    world.read(stream, 1, false, OUT).unwrap();
    assert_eq!(list(&mut world, OUT + 4), b"l");
    assert_eq!(read(&mut world, stream, false), Ok(Some("o".into())));
    assert_eq!(world.ready(pollable), Ok(0));
    assert!(server.is_open());
    server.sends("\r\n");
    assert_eq!(read(&mut world, stream, true), Ok(None));
    // All has come: the connection is given back, whatever the program keeps.
    assert!(!server.is_open());
    world.resource_drop(pollable).unwrap();
    world.resource_drop(stream).unwrap();
    let trailers = world.body_finish(body).unwrap();
    let pollable = world.trailers_subscribe(trailers).unwrap();
    world.block(pollable).unwrap();
    world.trailers_get(trailers, OUT).unwrap();
    assert_eq!(
        [0, 8, 16, 24].map(|at| get(&mut world, OUT + at, 1)[0]),
        [1, 0, 0, 1]
    );
    let fields = word(&mut world, OUT + 28);
    world.fields_entries(fields, OUT).unwrap();
    assert_eq!(word(&mut world, OUT + 4), 1);
    world.trailers_get(trailers, OUT).unwrap();
    assert_eq!(get(&mut world, OUT + 8, 1), [1], "once");
}

#[test]
fn a_body_that_is_written_at_once_goes_with_its_length() {
    let mut world = networked();
    for (method, text, length) in [
        ("POST", &b"some text"[..], "content-length: 9\r\n"),
        ("POST", b"", "content-length: 0\r\n"),
        ("GET", b"", ""),
        ("DELETE", b"x", "content-length: 1\r\n"),
    ] {
        let server = Server::connected(&mut world);
        let request = request(&mut world, &std::format!("{method} http [::1] ?q"), &[]);
        let body = outgoing(&mut world, request);
        let future = handle(&mut world, request).unwrap();
        assert!(write(&mut world, body[1], text));
        assert_eq!(server.got(), "", "it may be the beginning of a longer one");
        assert_eq!(finish(&mut world, body), Ok(()));
        let head = std::format!(
            "{method} /?q HTTP/1.1\r\nhost: [::1]\r\n{length}connection: close\r\n\r\n"
        );
        assert_eq!(server.got(), head + core::str::from_utf8(text).unwrap());
        assert_eq!(server.sink.0.borrow().blocks, 1);
        world.resource_drop(future).unwrap();
        assert!(!server.is_open());
    }
}

#[test]
fn any_other_goes_in_chunks() {
    let mut world = networked();
    let server = Server::connected(&mut world);
    let request = request(&mut world, "PUT http a.b /", &[]);
    *net(&mut world).lookup.0.borrow_mut() = Some(Ok(vec!["10.0.0.7".parse().unwrap()]));
    let [body, stream] = outgoing(&mut world, request);
    let future = handle(&mut world, request).unwrap();
    assert_eq!(net(&mut world).asked, ["a.b"]);
    assert!(write(&mut world, stream, b"one"));
    // The program asks for the answer: what it has written is to be on its way.
    assert_eq!(answer(&mut world, future), None);
    let head =
        "PUT / HTTP/1.1\r\nhost: a.b\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n";
    assert_eq!(server.got(), [head, "3\r\none\r\n"].concat());
    server.sink.0.borrow_mut().bytes.clear();
    // A block of its own, which the network does not take yet.
    server.sink.0.borrow_mut().full = true;
    let many = vec![b'x'; 40_000];
    assert!(write(&mut world, stream, &many));
    world.check_write(stream, OUT).unwrap();
    assert_eq!(word(&mut world, OUT + 8), 0, "no room");
    let pollable = world.subscribe_output(stream).unwrap();
    assert_eq!(world.ready(pollable), Ok(0));
    server.sink.0.borrow_mut().full = false;
    assert_eq!(world.ready(pollable), Ok(1));
    world.resource_drop(pollable).unwrap();
    assert!(write(&mut world, stream, b"two"));
    world.flush(stream, true, OUT).unwrap();
    world.resource_drop(stream).unwrap();
    let trailers = world.new_fields().unwrap();
    let field = put(&mut world, DATA, b"x-y");
    world.fields_append(trailers, field, field, OUT).unwrap();
    world.body_end(body, Some(trailers), OUT).unwrap();
    assert_eq!(get(&mut world, OUT, 1), [0]);
    let many = String::from_utf8(many).unwrap();
    let wanted = ["9c40\r\n", &many, "\r\n3\r\ntwo\r\n0\r\nx-y: x-y\r\n\r\n"].concat();
    assert_eq!(server.got(), wanted);
    server.sends("HTTP/1.1 204 No Content\r\n\r\n");
    let found = awaited(&mut world, future).unwrap();
    assert_eq!(content(&mut world, found), (String::new(), Ok(())));
}

#[test]
fn a_length_that_was_said_is_kept_to() {
    let mut world = networked();
    let said = [("content-length", "5")];
    for text in ["hello", "hell", "hello, you"] {
        let server = Server::connected(&mut world);
        let request = request(&mut world, "POST http 10.0.0.1 /", &said);
        let body = outgoing(&mut world, request);
        let future = handle(&mut world, request).unwrap();
        let taken = write(&mut world, body[1], text.as_bytes());
        assert_eq!(taken, text.len() <= 5);
        let finished = finish(&mut world, body);
        let size = |bytes| (17, With::Bytes(bytes));
        match text.len() {
            5 => {
                assert_eq!(finished, Ok(()));
                assert!(server.got().ends_with("\r\n\r\nhello"), "{}", server.got());
                assert!(server.got().contains("content-length: 5\r\n"));
                assert!(!server.got().contains("chunked"));
                continue;
            }
            4 => assert_eq!(finished, Err(size(4))),
            _ => assert_eq!(finished, Ok(())),
        }
        is(awaited(&mut world, future), Case::RequestBodySize);
        assert!(!server.is_open());
    }
    let wrong = [("content-length", "five")];
    let request = request(&mut world, "POST http 10.0.0.1 /", &wrong);
    world.outgoing_body(request, OUT).unwrap();
    assert_eq!(get(&mut world, OUT, 1), [1]);
    is(handle(&mut world, request), Case::ProtocolError);
}

#[test]
fn what_is_no_request_is_refused_at_once() {
    let mut world = networked();
    for (words, case) in [
        ("GET https a /", Case::InternalError),
        ("GET none a /", Case::InternalError),
        ("GET ftp a /", Case::ProtocolError),
        ("CONNECT http a:80 /", Case::RequestMethodInvalid),
        ("GET http user@a /", Case::RequestUriInvalid),
        ("GET http a:0 /", Case::RequestUriInvalid),
        ("GET http  /", Case::RequestUriInvalid),
        ("GET http a a/b", Case::RequestUriInvalid),
        ("GET http a /b#c", Case::RequestUriInvalid),
        ("GET http a *", Case::RequestUriInvalid),
    ] {
        let request = request(&mut world, words, &[]);
        let [body, stream] = outgoing(&mut world, request);
        let refused = handle(&mut world, request);
        if let Err((38, text)) = &refused {
            assert!(matches!(text, With::Text(text) if text.contains("https is not there yet")));
        }
        is(refused, case);
        // Its body goes nowhere, and says so.
        assert!(!write(&mut world, stream, b"x"));
        assert_eq!(finish(&mut world, [body, stream]), Ok(()));
    }
    assert!(net(&mut world).begun.is_empty() && net(&mut world).asked.is_empty());
    let request = request(&mut world, "OPTIONS http 10.0.0.1 *", &[]);
    assert!(handle(&mut world, request).is_ok());
}

#[test]
fn without_leave_nobody_is_asked() {
    let mut world = component().world;
    let request = request(&mut world, "GET http 10.0.0.1 /", &[]);
    is(handle(&mut world, request), Case::RequestDenied);
}

#[test]
fn why_there_is_no_connection_is_told() {
    let mut world = networked();
    for (code, case) in [
        (Code::AccessDenied, Case::RequestDenied),
        (Code::ConnectionRefused, Case::ConnectionRefused),
        (Code::Timeout, Case::ConnectionTimeout),
        (Code::RemoteUnreachable, Case::DestinationIpUnroutable),
        (Code::ConnectionReset, Case::ConnectionTerminated),
        (Code::NewSocketLimit, Case::ConnectionLimitReached),
    ] {
        *net(&mut world).connecting.0.borrow_mut() = Some(Err(code));
        let request = request(&mut world, "GET http 10.0.0.1 /", &[]);
        let future = handle(&mut world, request).unwrap();
        is(awaited(&mut world, future), case);
    }
    for (code, case) in [
        (Code::NameUnresolvable, Case::DnsError),
        (Code::TemporaryResolverFailure, Case::DnsTimeout),
    ] {
        *net(&mut world).lookup.0.borrow_mut() = Some(Err(code));
        let request = request(&mut world, "GET http a.b /", &[]);
        let future = handle(&mut world, request).unwrap();
        let failed = awaited(&mut world, future);
        if case == Case::DnsError {
            let text = With::Text("there is no such name".into());
            assert_eq!(failed, Err((1, text)));
        } else {
            is(failed, case);
        }
    }
    let request = request(&mut world, "GET http 0.0.0.0 /", &[]);
    let future = handle(&mut world, request).unwrap();
    is(awaited(&mut world, future), Case::DestinationIpProhibited);
    net(&mut world).fault = Some(Code::AccessDenied);
    let request = self::request(&mut world, "GET http 10.0.0.1 /", &[]);
    let future = handle(&mut world, request).unwrap();
    is(awaited(&mut world, future), Case::RequestDenied);
}

#[test]
fn each_address_of_a_name_is_tried() {
    let mut world = networked();
    let addresses = ["10.0.0.1", "10.0.0.2"].map(|text| text.parse().unwrap());
    *net(&mut world).lookup.0.borrow_mut() = Some(Ok(addresses.into()));
    *net(&mut world).connecting.0.borrow_mut() = Some(Err(Code::ConnectionRefused));
    let request = request(&mut world, "GET http a.b:81 /", &[]);
    let future = handle(&mut world, request).unwrap();
    assert_eq!(answer(&mut world, future), None);
    let server = Server::connected(&mut world);
    server.sends("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    let found = awaited(&mut world, future).unwrap();
    assert_eq!(content(&mut world, found), ("ok".into(), Ok(())));
    let begun: Vec<String> = net(&mut world)
        .begun
        .iter()
        .map(|b| b.1.to_string())
        .collect();
    assert_eq!(begun, ["10.0.0.1:81", "10.0.0.2:81"]);
}

#[test]
fn what_is_no_answer_is_told() {
    for (text, case) in [
        ("", Case::ConnectionTerminated),
        ("HTTP/1.1 200 OK\r\n", Case::ResponseIncomplete),
        ("HTTP/1.1 100 Continue\r\n\r\n", Case::ResponseIncomplete),
        ("SSH-2.0\r\n\r\n", Case::ProtocolError),
        ("HTTP/1.1 101 Switching\r\n\r\n", Case::UpgradeFailed),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
            Case::ResponseTransferCoding,
        ),
    ] {
        let mut world = networked();
        let (future, server) = sent(&mut world, "GET http 10.0.0.1 /");
        server.sends(text);
        server.ends();
        is(awaited(&mut world, future), case);
        assert!(!server.is_open());
    }
    let mut world = networked();
    let (future, server) = sent(&mut world, "GET http 10.0.0.1 /");
    for _ in 0..70 {
        server.sends(&"x".repeat(1000));
    }
    let (case, size) = awaited(&mut world, future).unwrap_err();
    assert_eq!((case, size), (26, With::Size(65536)));
}

#[test]
fn what_came_before_an_error_is_read() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (rest, case) in [
        ("5\r\nhello\r\nx\r\n", Case::ProtocolError),
        ("5\r\nhello", Case::ResponseIncomplete),
        ("7\r\nhello", Case::ResponseIncomplete),
    ] {
        let mut world = networked();
        let (future, server) = sent(&mut world, "GET http 10.0.0.1 /");
        server.sends(&[chunked, rest].concat());
        server.ends();
        let found = awaited(&mut world, future).unwrap();
        let ended = (String::from("hello"), Err(case as u8));
        assert_eq!(content(&mut world, found), ended, "{rest:?}");
        assert!(!server.is_open());
    }
}

#[test]
fn each_wait_has_an_end() {
    let times = |world: &mut World, words: &str, number| {
        let options = world.new_options().unwrap();
        world.set_time_limit(options, number, Some(SECOND)).unwrap();
        let request = request(world, words, &[]);
        world.outgoing_handle(request, Some(options), OUT).unwrap();
        word(world, OUT + 8)
    };
    let begin = |world: &mut World| world.wasi.host().now;
    for (words, case) in [
        ("GET http a.b /", Case::DnsTimeout),
        ("GET http 10.0.0.1 /", Case::ConnectionTimeout),
    ] {
        let mut world = networked();
        let before = begin(&mut world);
        let future = times(&mut world, words, 0);
        is(awaited(&mut world, future), case);
        assert_eq!(begin(&mut world) - before, SECOND);
    }
    let mut world = networked();
    let server = Server::connected(&mut world);
    let future = times(&mut world, "GET http 10.0.0.1 /", 1);
    server.sends("HTTP/1.1 200 OK\r\n");
    is(awaited(&mut world, future), Case::ConnectionReadTimeout);
    assert!(!server.is_open());
    let server = Server::connected(&mut world);
    let future = times(&mut world, "GET http 10.0.0.1 /", 2);
    server.sends("HTTP/1.1 200 OK\r\n\r\nsome");
    let found = awaited(&mut world, future).unwrap();
    // What the program does not ask for is not waited for.
    world.wasi.host().now += 5 * SECOND;
    let ended = ("some".into(), Err(Case::ConnectionReadTimeout as u8));
    assert_eq!(content(&mut world, found), ended);
    // Without a time of its own, the usual one.
    let before = begin(&mut world);
    let (future, _server) = sent(&mut world, "GET http 10.0.0.1 /");
    is(awaited(&mut world, future), Case::ConnectionReadTimeout);
    assert_eq!(begin(&mut world) - before, 600 * SECOND);
    // A server that does not read.
    let server = Server::connected(&mut world);
    server.sink.0.borrow_mut().full = true;
    let future = times(&mut world, "GET http 10.0.0.1 /", 1);
    is(awaited(&mut world, future), Case::ConnectionWriteTimeout);
}

#[test]
fn what_is_dropped_is_given_back() {
    let mut world = networked();
    let (future, server) = sent(&mut world, "GET http 10.0.0.1 /");
    assert!(server.is_open());
    world.resource_drop(future).unwrap();
    assert!(!server.is_open());
    // A body that is dropped is no shorter body.
    let server = Server::connected(&mut world);
    let first = request(&mut world, "POST http 10.0.0.1 /", &[]);
    let [body, stream] = outgoing(&mut world, first);
    let future = handle(&mut world, first).unwrap();
    assert!(write(&mut world, stream, b"some"));
    assert!(trap(world.body_end(body, None, OUT)).contains("before it has dropped the stream"));
    world.resource_drop(stream).unwrap();
    world.resource_drop(body).unwrap();
    assert_eq!(server.got(), "");
    is(awaited(&mut world, future), Case::ProtocolError);
    assert!(!server.is_open());
    world.resource_drop(future).unwrap();
    // An answer whose body nobody reads.
    let (future, server) = sent(&mut world, "GET http 10.0.0.1 /");
    server.sends("HTTP/1.1 200 OK\r\n\r\nsome");
    let found = awaited(&mut world, future).unwrap();
    world.resource_drop(future).unwrap();
    assert!(server.is_open());
    world.resource_drop(found).unwrap();
    assert!(!server.is_open());
    // A request that was never sent.
    let request = request(&mut world, "POST http 10.0.0.1 /", &[]);
    let [body, stream] = outgoing(&mut world, request);
    world.resource_drop(request).unwrap();
    assert!(!write(&mut world, stream, b"x"));
    assert_eq!(finish(&mut world, [body, stream]), Ok(()));
    assert_eq!(world.wasi.table.open().len(), 4);
}

#[test]
fn who_waits_for_its_own_request_is_told() {
    let mut world = networked();
    let request = request(&mut world, "POST http 10.0.0.1 /", &[]);
    let [_, stream] = outgoing(&mut world, request);
    assert!(write(&mut world, stream, &[b'x'; 40_000]));
    let (at, len) = put(&mut world, DATA, &[b'x'; 40_000]);
    let said = trap(world.write(stream, at, len, true, OUT));
    assert!(said.contains("to send its request"), "{said}");
    let pollable = world.subscribe_output(stream).unwrap();
    assert!(trap(world.block(pollable)).contains("to send its request"));
    // What was written is sent with the request.
    let server = Server::connected(&mut world);
    handle(&mut world, request).unwrap();
    assert!(server.got().ends_with("xxx\r\n"), "{}", server.got().len());
}

#[test]
fn several_go_on_whichever_is_waited_for() {
    let mut world = networked();
    let (first, one) = sent(&mut world, "GET http 10.0.0.1 /");
    let second = request(&mut world, "POST http 10.0.0.2 /", &[]);
    let body = outgoing(&mut world, second);
    // Connected while the first one is waited for.
    *net(&mut world).connecting.0.borrow_mut() = None;
    let second = handle(&mut world, second).unwrap();
    assert!(write(&mut world, body[1], b"two"));
    assert_eq!(finish(&mut world, body), Ok(()));
    let two = Server {
        source: Source::default(),
        sink: Sink::default(),
    };
    let slot = net(&mut world).connecting.0.clone();
    let ends = (two.source.clone(), two.sink.clone());
    net(&mut world).comes.push_back(Box::new(move || {
        *slot.borrow_mut() = Some(Ok(ends));
    }));
    world.wasi.host().happens.push_back(|sources, _| {
        for source in sources {
            let text = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_vec();
            source.0.borrow_mut().0.push_back(text);
        }
    });
    let found = awaited(&mut world, first).unwrap();
    assert!(two.got().ends_with("two"), "{}", two.got());
    assert_eq!(content(&mut world, found), ("ok".into(), Ok(())));
    assert!(!one.is_open());
    let found = awaited(&mut world, second).unwrap();
    assert_eq!(content(&mut world, found), ("ok".into(), Ok(())));
}

#[test]
fn trailers_are_had_without_reading() {
    let mut world = networked();
    let (future, server) = sent(&mut world, "GET http 10.0.0.1 /");
    server.sends("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n3\r\n");
    let found = awaited(&mut world, future).unwrap();
    world.answer_body(found, OUT).unwrap();
    let body = word(&mut world, OUT + 4);
    let trailers = world.body_finish(body).unwrap();
    world.trailers_get(trailers, OUT).unwrap();
    assert_eq!(get(&mut world, OUT, 1), [0]);
    server.sends("you\r\n0\r\n");
    server.ends();
    let pollable = world.trailers_subscribe(trailers).unwrap();
    world.block(pollable).unwrap();
    world.trailers_get(trailers, OUT).unwrap();
    assert_eq!(get(&mut world, OUT + 16, 1), [1]);
    let cut = Why::from(sing_http::Fault::Cut);
    assert_eq!(why(&mut world, OUT + 24).0, cut.case as u8);
}
