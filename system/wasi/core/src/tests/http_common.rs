//! A component that asks by HTTP, and the server that it asks, in memory.

use super::components::{World, get, list, put, word};
use super::fake::{Sink, Source};
use super::fake_net::{Fate, Link};
use super::sockets_common::net;
use super::{DATA, OUT};
use crate::component::why::{Case, With};
use crate::net::Code;
use std::cell::RefCell;
use std::rc::Rc;
use std::string::String;
use std::vec::Vec;

pub(super) const SECOND: u64 = 1_000_000_000;

/// The other side of a request's connection.
pub(super) struct Server {
    pub source: Source,
    pub sink: Sink,
    link: Rc<RefCell<Link>>,
}

impl Server {
    pub fn new() -> Server {
        Server {
            source: Source::default(),
            sink: Sink::default(),
            link: Rc::default(),
        }
    }

    /// The connection that is being made is this one.
    pub fn connected(world: &mut World) -> Server {
        let server = Server::new();
        net(world).link = server.link.clone();
        let answer = Some(Ok((server.source.clone(), server.sink.clone())));
        *net(world).connecting.0.borrow_mut() = answer;
        server
    }

    pub fn sends(&self, text: &str) {
        let block = text.as_bytes().to_vec();
        self.source.0.borrow_mut().0.push_back(block);
    }

    /// Whether all that it has sent was taken.
    pub fn is_read(&self) -> bool {
        self.source.0.borrow().0.is_empty()
    }

    pub fn ends(&self) {
        self.source.0.borrow_mut().1 = true;
    }

    /// The connection ends by a fault, or nobody says how.
    pub fn breaks(&self, fault: Option<Code>) -> Rc<RefCell<Link>> {
        self.link.borrow_mut().how = fault.map(Err);
        self.ends();
        self.link.clone()
    }

    /// What has come there.
    pub fn got(&self) -> String {
        String::from_utf8(self.sink.0.borrow().bytes.clone()).unwrap()
    }

    /// What has become of the connection.
    pub fn fate(&self) -> Fate {
        self.link.borrow().fate
    }

    /// Whether the program still has the connection.
    pub fn is_open(&self) -> bool {
        Rc::strong_count(&self.sink.0) > 1
    }
}

/// A request by these words, `METHOD SCHEME AUTHORITY PATH`, with fields.
pub(super) fn request(world: &mut World, words: &str, fields: &[(&str, &str)]) -> u32 {
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
pub(super) fn why(world: &mut World, at: u32) -> (u8, With) {
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

pub(super) fn is(found: Result<u32, (u8, With)>, case: Case) {
    assert_eq!(found.map_err(|(case, _)| case), Err(case as u8));
}

pub(super) fn handle(world: &mut World, request: u32) -> Result<u32, (u8, With)> {
    world.outgoing_handle(request, None, OUT).unwrap();
    match get(world, OUT, 1)[0] {
        0 => Ok(word(world, OUT + 8)),
        _ => Err(why(world, OUT + 8)),
    }
}

/// A request that was sent: its future, and the server.
pub(super) fn sent(world: &mut World, words: &str) -> (u32, Server) {
    let server = Server::connected(world);
    let request = request(world, words, &[]);
    (handle(world, request).unwrap(), server)
}

/// The answer that a future has; `None` if it is not there.
pub(super) fn answer(world: &mut World, future: u32) -> Option<Result<u32, (u8, With)>> {
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
pub(super) fn awaited(world: &mut World, future: u32) -> Result<u32, (u8, With)> {
    let pollable = world.future_subscribe(future).unwrap();
    world.block(pollable).unwrap();
    world.resource_drop(pollable).unwrap();
    answer(world, future).expect("it is ready")
}

/// The body of an answer, and its stream.
pub(super) fn body(world: &mut World, answer: u32) -> [u32; 2] {
    world.answer_body(answer, OUT).unwrap();
    assert_eq!(get(world, OUT, 1), [0]);
    let body = word(world, OUT + 4);
    world.body_stream(body, OUT).unwrap();
    [body, word(world, OUT + 4)]
}

/// What a stream has now; `None` at its end.
pub(super) fn read(
    world: &mut World,
    stream: u32,
    waits: bool,
) -> Result<Option<String>, (u8, With)> {
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
pub(super) fn content(world: &mut World, answer: u32) -> (String, Result<(), u8>) {
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
pub(super) fn outgoing(world: &mut World, request: u32) -> [u32; 2] {
    world.outgoing_body(request, OUT).unwrap();
    assert_eq!(get(world, OUT, 1), [0]);
    let body = word(world, OUT + 4);
    world.body_write(body, OUT).unwrap();
    [body, word(world, OUT + 4)]
}

/// Writes as much as there is room for; whether it was taken.
pub(super) fn write(world: &mut World, stream: u32, text: &[u8]) -> bool {
    world.check_write(stream, OUT).unwrap();
    if get(world, OUT, 1) != [0] {
        return false;
    }
    let (at, len) = put(world, DATA, text);
    world.write(stream, at, len, false, OUT).unwrap();
    get(world, OUT, 1) == [0]
}

pub(super) fn finish(world: &mut World, [body, stream]: [u32; 2]) -> Result<(), (u8, With)> {
    world.resource_drop(stream).unwrap();
    world.body_end(body, None, OUT).unwrap();
    match get(world, OUT, 1)[0] {
        0 => Ok(()),
        _ => Err(why(world, OUT + 8)),
    }
}
