//! `wasi:http/outgoing-handler`, on a network in memory: what is made of that which comes from a server, and what is
//! given back.

use super::components::{Components, World, component, get, list, put, trap, word};
use super::fake_net::{Fate, Net};
use super::http_common::*;
use super::sockets_common::{net, networked};
use super::{DATA, OUT};
use crate::component::why::{Case, Why, With};
use std::boxed::Box;
use std::string::{String, ToString};
use std::vec::Vec;
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
    assert_eq!(server.fate(), Fate::Left);
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
        assert_eq!(server.fate(), Fate::Aborted, "{text:?}");
    }
    let mut world = networked();
    let (future, server) = sent(&mut world, "GET http 10.0.0.1 /");
    for _ in 0..2 {
        server.sends(&"x".repeat(40_000));
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
        assert_eq!(server.fate(), Fate::Aborted);
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
    assert_eq!(server.fate(), Fate::Aborted);
    // Nor does a head that comes byte by byte.
    let server = Server::connected(&mut world);
    let future = times(&mut world, "GET http 10.0.0.1 /", 1);
    let pollable = world.future_subscribe(future).unwrap();
    for byte in ["H", "T", "T", "P"] {
        assert_eq!(answer(&mut world, future), None, "{byte}");
        assert_eq!(world.ready(pollable), Ok(0));
        world.wasi.host().now += SECOND * 3 / 10;
        server.sends(byte);
    }
    is(
        answer(&mut world, future).unwrap(),
        Case::ConnectionReadTimeout,
    );
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
fn the_first_byte_is_waited_for_when_the_request_has_gone() {
    for said in [None, Some("8")] {
        let mut world = networked();
        let server = Server::connected(&mut world);
        let options = world.new_options().unwrap();
        world.set_time_limit(options, 1, Some(SECOND)).unwrap();
        let fields = said.map(|said| ("content-length", said));
        let request = request(&mut world, "POST http 10.0.0.1 /", fields.as_slice());
        let [body, stream] = outgoing(&mut world, request);
        world.outgoing_handle(request, Some(options), OUT).unwrap();
        let future = word(&mut world, OUT + 8);
        // A producer that takes its time: the server is not late.
        for text in [&b"some"[..], b"more"] {
            // Nor is it if the network does not take that at once.
            server.sink.0.borrow_mut().full = true;
            assert!(write(&mut world, stream, text));
            assert_eq!(answer(&mut world, future), None);
            server.sink.0.borrow_mut().full = false;
            world.flush(stream, true, OUT).unwrap();
            world.wasi.host().now += 5 * SECOND;
            assert_eq!(answer(&mut world, future), None);
        }
        assert_eq!(finish(&mut world, [body, stream]), Ok(()));
        let before = world.wasi.host().now;
        is(awaited(&mut world, future), Case::ConnectionReadTimeout);
        assert_eq!(world.wasi.host().now - before, SECOND);
        assert_eq!(server.fate(), Fate::Aborted);
    }
}

#[test]
fn what_is_dropped_is_given_back() {
    let mut world = networked();
    let (future, server) = sent(&mut world, "GET http 10.0.0.1 /");
    assert!(server.is_open());
    world.resource_drop(future).unwrap();
    assert!(!server.is_open());
    assert_eq!(server.fate(), Fate::Aborted);
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
    assert_eq!(server.fate(), Fate::Aborted);
    world.resource_drop(future).unwrap();
    // An answer whose body nobody reads.
    let (future, server) = sent(&mut world, "GET http 10.0.0.1 /");
    server.sends("HTTP/1.1 200 OK\r\n\r\nsome");
    let found = awaited(&mut world, future).unwrap();
    world.resource_drop(future).unwrap();
    assert!(server.is_open());
    world.resource_drop(found).unwrap();
    assert!(!server.is_open());
    assert_eq!(server.fate(), Fate::Aborted);
    // A request that was never sent.
    let request = request(&mut world, "POST http 10.0.0.1 /", &[]);
    let [body, stream] = outgoing(&mut world, request);
    world.resource_drop(request).unwrap();
    assert!(!write(&mut world, stream, b"x"));
    assert_eq!(finish(&mut world, [body, stream]), Ok(()));
    assert_eq!(world.wasi.table.open().len(), 4);
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
    let two = Server::new();
    let slot = net(&mut world).connecting.0.clone();
    let ends = (two.source.clone(), two.sink.clone());
    net(&mut world).comes.push_back(Box::new(move || {
        *slot.borrow_mut() = Some(Ok(ends));
    }));
    world.wasi.host().happens.push_back(Box::new(|sources, _| {
        for source in sources {
            let text = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_vec();
            source.0.borrow_mut().0.push_back(text);
        }
    }));
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

#[test]
fn what_nobody_wants_is_not_received() {
    for streams in [false, true] {
        let mut world = networked();
        let server = Server::connected(&mut world);
        let request = request(&mut world, "POST http 10.0.0.1 /", &[]);
        let [sent, stream] = outgoing(&mut world, request);
        let future = handle(&mut world, request).unwrap();
        assert!(write(&mut world, stream, b"some"));
        if !streams {
            assert_eq!(finish(&mut world, [sent, stream]), Ok(()));
        }
        server.sends("HTTP/1.1 200 OK\r\n\r\nendless");
        let found = awaited(&mut world, future).unwrap();
        world.answer_body(found, OUT).unwrap();
        let body = word(&mut world, OUT + 4);
        let trailers = world.body_finish(body).unwrap();
        let later = world.at(0).unwrap();
        world.block(later).unwrap();
        assert!(server.is_read(), "who has the trailers waits for them");
        assert_eq!(server.fate(), Fate::Held);
        world.resource_drop(trailers).unwrap();
        server.sends("and more");
        world.block(later).unwrap();
        assert!(!server.is_read());
        // The request is one of its own.
        if streams {
            assert_eq!(server.fate(), Fate::Held);
            assert!(write(&mut world, stream, b"more"));
            assert_eq!(finish(&mut world, [sent, stream]), Ok(()));
            assert!(server.got().ends_with("4\r\nmore\r\n0\r\n\r\n"));
        }
        assert_eq!(server.fate(), Fate::Aborted);
        world.resource_drop(found).unwrap();
    }
}

#[test]
fn no_server_fills_the_room_for_texts() {
    let mut world = networked();
    let head = std::format!("HTTP/1.1 200 OK\r\nX: {}\r\n", "x".repeat(60_000));
    let get = |world: &mut World| {
        let (future, server) = sent(world, "GET http 10.0.0.1 /");
        server.sends(&[&head, "Content-Length: 0\r\n\r\n"].concat());
        let found = awaited(world, future);
        world.resource_drop(future).unwrap();
        found
    };
    let mut all = Vec::new();
    let refused = loop {
        match get(&mut world) {
            Ok(answer) => all.push(answer),
            Err(why) => break why,
        }
    };
    assert_eq!(refused, (26, With::Nothing));
    assert!(all.len() > 30, "{}", all.len());
    // All that were taken can be looked at.
    for answer in all {
        let fields = world.answer_fields(answer).unwrap();
        world.resource_drop(answer).unwrap();
        world.resource_drop(fields).unwrap();
    }
    assert!(get(&mut world).is_ok());
}

#[test]
fn no_trailers_fill_the_room_for_texts() {
    let mut world = networked();
    let fields = world.new_fields().unwrap();
    let name = put(&mut world, DATA, b"name");
    put(&mut world, DATA + 0x1000, &[b'x'; 60_000]);
    for len in [60_000; 69].into_iter().chain([45_000]) {
        let value = (DATA + 0x1000, len);
        world.fields_append(fields, name, value, OUT).unwrap();
    }
    let (future, server) = sent(&mut world, "GET http 10.0.0.1 /");
    let trailer = "x".repeat(10_000);
    server.sends("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: ");
    server.sends(&[&trailer, "\r\n\r\n"].concat());
    let found = awaited(&mut world, future).unwrap();
    world.answer_body(found, OUT).unwrap();
    let body = word(&mut world, OUT + 4);
    let trailers = world.body_finish(body).unwrap();
    world.trailers_get(trailers, OUT).unwrap();
    assert_eq!(get(&mut world, OUT + 16, 1), [1]);
    assert_eq!(why(&mut world, OUT + 24), (29, With::Nothing));
}

#[test]
fn requests_go_on_while_a_pipe_is_waited_for() {
    let Components {
        mut world, output, ..
    } = component();
    world.wasi.host().net = Some(Net::default());
    let server = Server::connected(&mut world);
    let request = request(&mut world, "POST http 10.0.0.1 /", &[]);
    let [body, stream] = outgoing(&mut world, request);
    handle(&mut world, request).unwrap();
    assert!(write(&mut world, stream, b"some"));
    assert_eq!(server.got(), "");
    // The other side of the pipe waits for what the request's server has to see first.
    let seen = server.sink.clone();
    world
        .wasi
        .host()
        .happens
        .push_back(Box::new(move |sources, _| {
            assert!(seen.0.borrow().bytes.ends_with(b"4\r\nsome\r\n"));
            sources[0].0.borrow_mut().0.push_back(b"in".to_vec());
        }));
    let stdin = world.stdin().unwrap();
    world.read(stdin, 1000, true, OUT).unwrap();
    assert_eq!(list(&mut world, OUT + 4), b"in");
    // The same of a pipe that is full.
    server.sink.0.borrow_mut().full = true;
    assert!(write(&mut world, stream, b"more"));
    output.0.borrow_mut().full = true;
    world.wasi.host().happens.push_back(Box::new(|_, sinks| {
        assert_eq!(sinks.len(), 2);
        sinks[1].0.borrow_mut().full = false;
    }));
    let seen = server.sink.clone();
    world
        .wasi
        .host()
        .happens
        .push_back(Box::new(move |_, sinks| {
            assert!(seen.0.borrow().bytes.ends_with(b"4\r\nmore\r\n"));
            sinks[0].0.borrow_mut().full = false;
        }));
    let stdout = world.stdout(1).unwrap();
    let (at, len) = put(&mut world, DATA, b"out");
    world.write(stdout, at, len, true, OUT).unwrap();
    assert_eq!(output.0.borrow().bytes, b"out");
    assert!(world.wasi.host().happens.is_empty());
    assert_eq!(finish(&mut world, [body, stream]), Ok(()));
}
