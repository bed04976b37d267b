//! `wasi:http/outgoing-handler`, on a network in memory: what goes to a server, and why nothing goes.

use super::components::{component, get, put, trap, word};
use super::fake_net::Fate;
use super::http_common::*;
use super::sockets_common::{net, networked};
use super::{DATA, OUT};
use crate::component::why::{Case, With};
use crate::net::Code;
use std::boxed::Box;
use std::rc::Rc;
use std::string::{String, ToString};
use std::vec;
use std::vec::Vec;
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
    // Without a body there is none to say a length of.
    for (said, refused) in [("0", false), ("5", true)] {
        let server = Server::connected(&mut world);
        let fields = [("content-length", said)];
        let request = request(&mut world, "POST http 10.0.0.1 /", &fields);
        let sent = handle(&mut world, request);
        match refused {
            true => assert_eq!(sent, Err((17, With::Bytes(0)))),
            false => assert_eq!(server.got().matches("content-length: 0").count(), 1),
        }
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
    let (at, len) = put(&mut world, DATA, b"a,b");
    assert_eq!(world.outgoing_set_method(request, 9, at, len), Ok(1));
    assert!(handle(&mut world, request).is_ok());
}

#[test]
fn what_is_too_long_is_refused_before_it_is_sent() {
    let mut world = networked();
    let long = "x".repeat(60_000);
    for (second, fits) in [(5_000, true), (6_000, false)] {
        let fields = [("a", &long[..]), ("b", &long[..second])];
        let request = request(&mut world, "GET http a /", &fields);
        let handled = handle(&mut world, request);
        match fits {
            true => assert!(handled.is_ok()),
            false => assert_eq!(handled, Err((21, With::Size(65536)))),
        }
    }
    assert_eq!(net(&mut world).asked.len(), 1);
    // Nor are the fields behind a body.
    let server = Server::connected(&mut world);
    let request = request(&mut world, "POST http 10.0.0.1 /", &[]);
    let [body, stream] = outgoing(&mut world, request);
    let future = handle(&mut world, request).unwrap();
    world.resource_drop(stream).unwrap();
    let trailers = world.new_fields().unwrap();
    let name = put(&mut world, DATA, b"name");
    let value = put(&mut world, DATA + 0x1000, long.as_bytes());
    for _ in 0..2 {
        world.fields_append(trailers, name, value, OUT).unwrap();
    }
    world.body_end(body, Some(trailers), OUT).unwrap();
    assert_eq!(get(&mut world, OUT, 1), [1]);
    assert_eq!(why(&mut world, OUT + 8), (23, With::Size(65536)));
    is(awaited(&mut world, future), Case::RequestTrailerSectionSize);
    assert_eq!(server.got(), "");
}

#[test]
fn a_request_whose_body_was_dropped_is_not_begun() {
    let mut world = networked();
    let request = request(&mut world, "POST http 10.0.0.1 /", &[]);
    let [body, stream] = outgoing(&mut world, request);
    world.resource_drop(stream).unwrap();
    world.resource_drop(body).unwrap();
    let future = handle(&mut world, request).unwrap();
    is(awaited(&mut world, future), Case::ProtocolError);
    assert!(net(&mut world).begun.is_empty());
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
    for host in [
        "0.0.0.0",
        "224.0.0.1",
        "255.255.255.255",
        "[::]",
        "[ff02::1]",
        "[::ffff:0.0.0.0]",
        "[::ffff:224.0.0.1]",
    ] {
        let request = request(&mut world, &std::format!("GET http {host} /"), &[]);
        let future = handle(&mut world, request).unwrap();
        is(awaited(&mut world, future), Case::DestinationIpProhibited);
    }
    net(&mut world).fault = Some(Code::AccessDenied);
    let request = request(&mut world, "GET http 10.0.0.1 /", &[]);
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
fn an_answer_without_a_length_ends_as_its_connection_does() {
    let head = "HTTP/1.1 200 OK\r\n\r\nhello";
    let cut = Err(Case::ResponseIncomplete as u8);
    for (fault, wanted, fate) in [
        (Some(Code::ConnectionReset), cut, Fate::Aborted),
        (Some(Code::Timeout), cut, Fate::Aborted),
        // A network that says nothing has nothing to say of a fault.
        (None, Ok(()), Fate::Left),
    ] {
        for streams in [false, true] {
            let mut world = networked();
            let server = Server::connected(&mut world);
            let request = request(&mut world, "POST http 10.0.0.1 /", &[]);
            let body = outgoing(&mut world, request);
            let future = handle(&mut world, request).unwrap();
            if !streams {
                assert_eq!(finish(&mut world, body), Ok(()));
            }
            server.sends(head);
            let found = awaited(&mut world, future).unwrap();
            server.breaks(fault);
            let before = world.wasi.host().now;
            assert_eq!(content(&mut world, found), ("hello".into(), wanted));
            let took = world.wasi.host().now - before;
            assert_eq!(took, if fault.is_none() { 2 * SECOND } else { 0 });
            if streams {
                // Of an answer that is whole, the request goes on; its end may be what the network waits for.
                assert_eq!(write(&mut world, body[1], b"x"), wanted.is_ok());
                assert_eq!(finish(&mut world, body), Ok(()));
            }
            assert_eq!((server.is_open(), server.fate()), (false, fate));
        }
    }
}

#[test]
fn this_side_ends_its_direction_to_learn_how_a_connection_ends() {
    let mut world = networked();
    let (future, server) = sent(&mut world, "GET http 10.0.0.1 /");
    server.sends("HTTP/1.1 200 OK\r\n\r\nhello");
    let found = awaited(&mut world, future).unwrap();
    let link = server.breaks(None);
    let sink = server.sink.clone();
    net(&mut world).comes.push_back(Box::new(move || {
        assert_eq!(Rc::strong_count(&sink.0), 2, "it is closed");
        link.borrow_mut().how = Some(Ok(()));
    }));
    assert_eq!(content(&mut world, found), ("hello".into(), Ok(())));
    assert_eq!(server.fate(), Fate::Left);
}
