//! The calls of WASI 0.2, on a host in memory: what they do, and what a program that breaks the canonical
//! ABI is told.

use super::fake::{Fake, Sink, Source};
use super::{MEMORY, OTHER, OUT, PATH, world};
use crate::component::web::{Exchange, Field, Request};
use crate::component::{Component, Outcome, RESOURCES};
use crate::errno::{Errno, Result};
use std::boxed::Box;
use std::cell::RefCell;
use std::format;
use std::rc::Rc;
use std::string::String;
use std::vec;
use std::vec::Vec;

pub(super) type World = Component<Fake>;

use super::DATA;

/// A component with the standard streams and a directory.
pub(super) struct Components {
    pub world: World,
    pub input: Source,
    pub output: Sink,
}

pub(super) fn component() -> Components {
    let super::World {
        wasi,
        input,
        output,
        ..
    } = world();
    Components {
        world: Component::new(wasi),
        input,
        output,
    }
}

pub(super) fn put(world: &mut World, at: u32, bytes: &[u8]) -> (u32, u32) {
    world.wasi.host().memory[at as usize..][..bytes.len()].copy_from_slice(bytes);
    (at, bytes.len() as u32)
}

pub(super) fn get(world: &mut World, at: u32, len: usize) -> Vec<u8> {
    world.wasi.host().memory[at as usize..][..len].to_vec()
}

pub(super) fn word(world: &mut World, at: u32) -> u32 {
    u32::from_le_bytes(get(world, at, 4).try_into().unwrap())
}

/// The list or text whose address and length are at a place.
pub(super) fn list(world: &mut World, at: u32) -> Vec<u8> {
    let (from, len) = (word(world, at), word(world, at + 4));
    get(world, from, len as usize)
}

/// The word behind a `result` that is `ok`.
fn ok(world: &mut World, done: Outcome) -> u32 {
    done.unwrap();
    assert_eq!(get(world, OUT, 1), [0], "{:?}", get(world, OUT, 8));
    word(world, OUT + 4)
}

pub(super) fn trap<T: core::fmt::Debug>(outcome: Outcome<T>) -> String {
    outcome.expect_err("a trap").0.into_owned()
}

fn root(world: &mut World) -> u32 {
    world.directories(OUT).unwrap();
    let list = word(world, OUT);
    assert_eq!(word(world, OUT + 4), 1);
    let name = list + 4;
    assert_eq!(self::list(world, name), b"/");
    word(world, list)
}

fn open(world: &mut World, name: &str, how: u32, flags: u32) -> core::result::Result<u32, u8> {
    let root = root(world);
    let path = put(world, PATH, name.as_bytes());
    world.open_at(root, 1, path, how, flags, OUT).unwrap();
    match get(world, OUT, 1)[0] {
        0 => Ok(word(world, OUT + 4)),
        _ => Err(get(world, OUT + 4, 1)[0]),
    }
}

#[test]
fn words_and_environment_are_lists() {
    let mut world = component().world;
    world.arguments(OUT).unwrap();
    assert_eq!(word(&mut world, OUT + 4), 3);
    let words = word(&mut world, OUT);
    assert_eq!(list(&mut world, words), b"prog");
    assert_eq!(list(&mut world, words + 16), "ä".as_bytes());
    world.environment(OUT).unwrap();
    let variables = word(&mut world, OUT);
    assert_eq!(list(&mut world, variables), b"A");
    assert_eq!(list(&mut world, variables + 8), b"B");
    world.directory(OUT).unwrap();
    assert_eq!(get(&mut world, OUT, 1), [0]);
    // Standard output says that it is a terminal.
    world.terminal(0, OUT).unwrap();
    assert_eq!(get(&mut world, OUT, 1), [0]);
    world.terminal(1, OUT).unwrap();
    assert_eq!(get(&mut world, OUT, 1), [1]);
}

#[test]
fn a_stream_gives_what_has_come_and_then_its_end() {
    let Components {
        mut world, input, ..
    } = component();
    let stream = world.stdin().unwrap();
    // Nothing has come: nothing is read, and nothing waits.
    world.read(stream, 10, false, OUT).unwrap();
    assert_eq!(list(&mut world, OUT + 4), b"");
    let pollable = world.subscribe_input(stream).unwrap();
    assert_eq!(world.ready(pollable), Ok(0));
    input.0.borrow_mut().0.push_back(b"hello".to_vec());
    assert_eq!(world.ready(pollable), Ok(1));
    world.read(stream, 2, true, OUT).unwrap();
    assert_eq!(list(&mut world, OUT + 4), b"he");
    world.skip(stream, 1, false, OUT).unwrap();
    assert_eq!(word(&mut world, OUT + 8), 1);
    world.read(stream, 100, false, OUT).unwrap();
    assert_eq!(list(&mut world, OUT + 4), b"lo");
    input.0.borrow_mut().1 = true;
    world.read(stream, 100, true, OUT).unwrap();
    assert_eq!(
        (get(&mut world, OUT, 1), get(&mut world, OUT + 4, 1)),
        (vec![1], vec![1])
    );
    world.resource_drop(pollable).unwrap();
    world.resource_drop(stream).unwrap();
    // The descriptor is the world's own.
    assert!(world.stdin().is_ok());
}

#[test]
fn a_stream_takes_what_check_write_allows() {
    let Components {
        mut world, output, ..
    } = component();
    let stream = world.stdout(1).unwrap();
    let (at, len) = put(&mut world, DATA, b"text");
    assert!(trap(world.write(stream, at, len, false, OUT)).contains("check-write"));
    world.check_write(stream, OUT).unwrap();
    assert!(word(&mut world, OUT + 8) >= 4);
    world.write(stream, at, len, false, OUT).unwrap();
    world.flush(stream, true, OUT).unwrap();
    world.write(stream, at, 2, true, OUT).unwrap();
    world.write_zeroes(stream, 2, true, OUT).unwrap();
    assert_eq!(output.0.borrow().bytes, b"textte\0\0");
    output.0.borrow_mut().full = true;
    world.check_write(stream, OUT).unwrap();
    assert_eq!(word(&mut world, OUT + 8), 0);
    let pollable = world.subscribe_output(stream).unwrap();
    assert_eq!(world.ready(pollable), Ok(0));
    output.0.borrow_mut().gone = true;
    world.write(stream, at, 2, true, OUT).unwrap();
    assert_eq!(
        (get(&mut world, OUT, 1), get(&mut world, OUT + 4, 1)),
        (vec![1], vec![1])
    );
}

#[test]
fn splice_moves_from_one_stream_to_another() {
    let Components {
        mut world,
        input,
        output,
    } = component();
    input.0.borrow_mut().0.push_back(b"spliced".to_vec());
    let (from, to) = (world.stdin().unwrap(), world.stdout(1).unwrap());
    world.splice(to, from, 3, true, OUT).unwrap();
    world.splice(to, from, 100, false, OUT).unwrap();
    assert_eq!(word(&mut world, OUT + 8), 4);
    assert_eq!(output.0.borrow().bytes, b"spliced");
    world.splice(to, from, 100, false, OUT).unwrap();
    assert_eq!(word(&mut world, OUT + 8), 0);
}

#[test]
fn poll_waits_for_the_first() {
    let mut world = component().world;
    let now = world.monotonic().unwrap();
    let later = world.at(now + 500).unwrap();
    let sooner = world.after(100).unwrap();
    put(&mut world, DATA, &later.to_le_bytes());
    put(&mut world, DATA + 4, &sooner.to_le_bytes());
    world.poll(DATA, 2, OUT).unwrap();
    assert_eq!(list(&mut world, OUT).len(), 1);
    let ready = word(&mut world, OUT);
    assert_eq!(word(&mut world, ready), 1);
    world.block(later).unwrap();
    world.poll(DATA, 2, OUT).unwrap();
    assert_eq!(word(&mut world, OUT + 4), 2);
    assert!(trap(world.poll(DATA, 0, OUT)).contains("no pollables"));
    assert!(trap(world.poll(DATA, 1 << 20, OUT)).contains("65536"));
    assert!(trap(world.poll(MEMORY as u32 - 4, 2, OUT)).contains("outside"));
}

#[test]
fn files_are_made_written_read_and_listed() {
    let mut world = component().world;
    let file = open(&mut world, "a", 1, 3).unwrap();
    let done = world.write_via_stream(file, Some(0), OUT);
    let stream = ok(&mut world, done);
    let (at, len) = put(&mut world, DATA, b"some text");
    world.write(stream, at, len, true, OUT).unwrap();
    let end = world.write_via_stream(file, None, OUT);
    let end = ok(&mut world, end);
    world.write(end, at, 4, true, OUT).unwrap();
    world.stat(file, OUT).unwrap();
    assert_eq!(get(&mut world, OUT + 8, 1), [6]);
    assert_eq!(word(&mut world, OUT + 24), 13);
    // A stream goes on when its descriptor has been dropped.
    let done = world.read_via_stream(file, 5, OUT);
    let stream = ok(&mut world, done);
    world.resource_drop(file).unwrap();
    world.read(stream, 100, true, OUT).unwrap();
    assert_eq!(list(&mut world, OUT + 4), b"textsome");
    world.read(stream, 100, true, OUT).unwrap();
    assert_eq!(get(&mut world, OUT, 1), [1]);
    let file = open(&mut world, "a", 0, 1).unwrap();
    world.read_at(file, 4, 0, OUT).unwrap();
    assert_eq!(list(&mut world, OUT + 4), b"some");
    assert_eq!(get(&mut world, OUT + 12, 1), [0]);
    // It is open for reading only.
    world.write_at(file, (at, 1), 0, OUT).unwrap();
    assert_eq!(
        (get(&mut world, OUT, 1), get(&mut world, OUT + 8, 1)),
        (vec![1], vec![3])
    );
    world.flags(file, OUT).unwrap();
    assert_eq!(get(&mut world, OUT, 2), [0, 1]);
    let root = root(&mut world);
    let done = world.read_directory(root, OUT);
    let entries = ok(&mut world, done);
    world.read_entry(entries, OUT).unwrap();
    assert_eq!(get(&mut world, OUT + 4, 1), [1]);
    assert_eq!(get(&mut world, OUT + 8, 1), [6]);
    assert_eq!(list(&mut world, OUT + 12), b"a");
    world.read_entry(entries, OUT).unwrap();
    assert_eq!(
        (get(&mut world, OUT, 1), get(&mut world, OUT + 4, 1)),
        (vec![0], vec![0])
    );
    let (path, len) = put(&mut world, PATH, b"a");
    let to = put(&mut world, OTHER, b"b");
    world
        .to_another(root, None, (path, len), root, to, OUT)
        .unwrap();
    assert_eq!(get(&mut world, OUT, 1), [0]);
    world.unlink_file_at(root, path, len, OUT).unwrap();
    assert_eq!(get(&mut world, OUT, 2), [1, 20]);
    // Out of the directory, absolute, not there, a directory.
    for (name, code) in [("../x", 31), ("/x", 31), ("c", 20), ("", 20)] {
        assert_eq!(open(&mut world, name, 0, 1), Err(code), "{name}");
    }
    assert_eq!(world.is_same(root, root), Ok(1));
    assert_eq!(world.is_same(root, file), Ok(0));
}

#[test]
fn descriptors_are_closed_with_their_last_user() {
    let mut world = component().world;
    for round in 0..3000 {
        let file = open(&mut world, "a", 1, 3);
        let file = file.unwrap_or_else(|code| panic!("round {round}: {code}"));
        let done = world.read_via_stream(file, 0, OUT);
        let stream = ok(&mut world, done);
        world.resource_drop(file).unwrap();
        world.resource_drop(stream).unwrap();
        // The names that `open` got.
        world.wasi.host().next_room = 0x40000;
        let mut dropped = 0;
        for handle in 1..8 {
            dropped += u32::from(world.resource_drop(handle).is_ok());
        }
        assert_eq!(dropped, 1, "the root's");
    }
}

#[test]
fn handles_that_are_none_are_traps_in_words() {
    let mut world = component().world;
    let stream = world.stdout(1).unwrap();
    for handle in [0, 2, 77, u32::MAX] {
        let said = trap(world.read(handle, 1, false, OUT));
        assert_eq!(
            said,
            format!("passes resource {handle}, which it does not have")
        );
        assert!(trap(world.resource_drop(handle)).contains("does not have"));
        assert!(trap(world.poll(DATA, 1, OUT)).contains("does not have"));
        assert!(trap(world.request_fields(handle)).contains("does not have"));
        assert!(trap(world.respond(handle, Ok(1))).contains("does not have"));
    }
    let said = trap(world.read(stream, 1, false, OUT));
    assert_eq!(
        said,
        format!("passes resource {stream}, which is no input-stream")
    );
    assert!(trap(world.new_response(stream)).contains("is no fields"));
    assert!(trap(world.response_body(stream, OUT)).contains("is no outgoing-response"));
    world.resource_drop(stream).unwrap();
    assert!(trap(world.flush(stream, true, OUT)).contains("does not have"));
    assert!(trap(world.tcp_accept(1, OUT)).contains("does not have"));
    // The number is free again, for another type.
    assert_eq!(world.new_fields(), Ok(stream));
    assert!(trap(world.flush(stream, true, OUT)).contains("is no output-stream"));
}

#[test]
fn addresses_outside_of_the_memory_are_traps_and_nothing_is_written() {
    let mut world = component().world;
    let stream = world.stdout(1).unwrap();
    let last = MEMORY as u32;
    for out in [last, last - 1, u32::MAX, u32::MAX - 3] {
        assert!(trap(world.arguments(out)).contains("outside"));
        assert!(trap(world.wall(out)).contains("outside"));
        assert!(trap(world.check_write(stream, out)).contains("outside"));
    }
    for (at, len) in [
        (last, 1),
        (last - 4, 8),
        (4, u32::MAX),
        (u32::MAX, u32::MAX),
    ] {
        assert!(trap(world.write(stream, at, len, true, OUT)).contains("outside"));
        assert!(trap(world.fields_of_list(at, len, OUT)).contains("outside"));
    }
    let root = root(&mut world);
    assert!(trap(world.open_at(root, 0, (last, 9), 0, 1, OUT)).contains("outside"));
    assert!(trap(world.stat_at(root, 0, 4, u32::MAX, OUT)).contains("outside"));
}

#[test]
fn what_cabi_realloc_returns_is_not_believed() {
    for (lie, part) in [
        (MEMORY as u32 - 1, "outside"),
        (u32::MAX - 7, "outside"),
        (0x40001, "not aligned"),
    ] {
        let mut world = component().world;
        world.wasi.host().lies = Some(lie);
        // A list of words wants an address that is a multiple of four.
        let said = trap(world.arguments(OUT));
        assert!(
            said.contains("cabi_realloc") && (said.contains(part) || lie % 4 != 0),
            "{said}"
        );
    }
    let Components {
        mut world, input, ..
    } = component();
    input.0.borrow_mut().0.push_back(vec![1; 1000]);
    let stream = world.stdin().unwrap();
    world.wasi.host().lies = Some(MEMORY as u32 - 999);
    assert!(trap(world.read(stream, 1000, true, OUT)).contains("outside"));
    // Over its own results and lists, as it likes.
    input.0.borrow_mut().0.push_back(vec![9; 8]);
    world.wasi.host().lies = Some(OUT);
    world.read(stream, 8, true, OUT).unwrap();
    world.wasi.host().lies = None;
    assert!(trap(world.random_bytes(u64::MAX, OUT)).contains("memory"));
    assert!(trap(world.random_bytes(1 << 31, OUT)).contains("outside"));
}

#[test]
fn resources_and_their_texts_are_bounded() {
    let mut world = component().world;
    for _ in 0..RESOURCES {
        world.at(0).unwrap();
    }
    assert!(trap(world.at(0)).contains("65536"));
    world.resource_drop(5).unwrap();
    assert_eq!(world.at(0), Ok(5));
    let mut world = component().world;
    let fields = world.new_fields().unwrap();
    let name = put(&mut world, PATH, b"Name");
    put(&mut world, DATA, &[b'x'; 60_000]);
    for _ in 0..60 {
        world
            .fields_append(fields, name, (DATA, 60_000), OUT)
            .unwrap();
        assert_eq!(get(&mut world, OUT, 1), [0]);
    }
    let said = trap(world.fields_clone(fields));
    assert!(said.contains("4 MiB"), "{said}");
    world.fields_delete(fields, name, OUT).unwrap();
    assert!(world.fields_clone(fields).is_ok());
    let said = trap(world.fields_of_list(DATA, 2000, OUT));
    assert!(said.contains("1024"), "{said}");
}

/// What was answered.
#[derive(Default)]
struct Answered {
    status: u16,
    fields: Vec<Field>,
    body: Option<u32>,
    finished: Vec<u32>,
    refused: Option<u32>,
    sink: Sink,
    bodies: u32,
}

struct Answer(Rc<RefCell<Answered>>);

impl Exchange<Fake> for Answer {
    fn body(&mut self) -> Result<(Sink, u32)> {
        let mut answered = self.0.borrow_mut();
        answered.bodies += 1;
        match answered.bodies {
            1..=16 => Ok((answered.sink.clone(), answered.bodies)),
            _ => Err(Errno::Nomem),
        }
    }
    fn respond(&mut self, status: u16, fields: &[Field], body: Option<u32>) -> Result {
        let mut answered = self.0.borrow_mut();
        answered.status = status;
        answered.fields = fields.to_vec();
        answered.body = body;
        Ok(())
    }
    fn finish(&mut self, body: u32) {
        self.0.borrow_mut().finished.push(body);
    }
    fn refuse(&mut self, error: u32) {
        self.0.borrow_mut().refused = Some(error);
    }
}

fn asked(world: &mut World, body: &[&[u8]]) -> (u32, u32, Rc<RefCell<Answered>>) {
    let source = Source::default();
    source
        .0
        .borrow_mut()
        .0
        .extend(body.iter().map(|b| b.to_vec()));
    source.0.borrow_mut().1 = true;
    let fd = world.wasi.add_source(source, false).unwrap();
    let answered = Rc::new(RefCell::new(Answered::default()));
    let request = Request {
        method: "PURGE".into(),
        target: "/a?b".into(),
        authority: Some("host".into()),
        fields: vec![
            (b"accept".to_vec(), b"x".to_vec()),
            (b"Host".to_vec(), b"host".to_vec()),
        ],
        body: Some(fd),
    };
    let exchange = Box::new(Answer(Rc::clone(&answered)));
    let (request, response) = world.begin(request, exchange).unwrap();
    (request, response, answered)
}

#[test]
fn a_request_is_answered() {
    let mut world = component().world;
    let (request, place, answered) = asked(&mut world, &[b"bo", b"dy"]);
    world.request_method(request, OUT).unwrap();
    assert_eq!(get(&mut world, OUT, 1), [9]);
    assert_eq!(list(&mut world, OUT + 4), b"PURGE");
    world.request_path(request, OUT).unwrap();
    assert_eq!(list(&mut world, OUT + 4), b"/a?b");
    let fields = world.request_fields(request).unwrap();
    let name = put(&mut world, PATH, b"ACCEPT");
    assert_eq!(world.fields_has(fields, name.0, name.1), Ok(1));
    let host = put(&mut world, OTHER, b"host");
    assert_eq!(world.fields_has(fields, host.0, host.1), Ok(0));
    world.fields_delete(fields, name, OUT).unwrap();
    assert_eq!(get(&mut world, OUT, 2), [1, 2], "it is the request's");
    let done = world.request_body(request, OUT);
    let body = ok(&mut world, done);
    world.request_body(request, OUT).unwrap();
    assert_eq!(get(&mut world, OUT, 1), [1], "once");
    let done = world.body_stream(body, OUT);
    let stream = ok(&mut world, done);
    world.read(stream, 100, true, OUT).unwrap();
    assert_eq!(list(&mut world, OUT + 4), b"bo");
    world.resource_drop(stream).unwrap();
    let trailers = world.body_finish(body).unwrap();
    world.trailers_get(trailers, OUT).unwrap();
    assert_eq!(get(&mut world, OUT, 1), [1]);

    let fields = world.new_fields().unwrap();
    let name = put(&mut world, PATH, b"Content-Type");
    let value = put(&mut world, OTHER, b"text/plain");
    world.fields_append(fields, name, value, OUT).unwrap();
    for (name, value, why) in [
        (&b"a b"[..], &b"x"[..], 0),
        (b"x", b"a\nb", 0),
        (b"x", b"\xe9", 0),
        (b"Transfer-Encoding", b"chunked", 1),
    ] {
        let (name, value) = (put(&mut world, PATH, name), put(&mut world, OTHER, value));
        world.fields_append(fields, name, value, OUT).unwrap();
        assert_eq!(get(&mut world, OUT, 2), [1, why]);
    }
    let response = world.new_response(fields).unwrap();
    assert_eq!(world.response_set_status(response, 99), Ok(1));
    assert_eq!(world.response_set_status(response, 201), Ok(0));
    let done = world.response_body(response, OUT);
    let body = ok(&mut world, done);
    world.response_body(response, OUT).unwrap();
    assert_eq!(get(&mut world, OUT, 1), [1], "once");
    world.respond(place, Ok(response)).unwrap();
    assert!(trap(world.respond(place, Ok(response))).contains("does not have"));
    let done = world.body_write(body, OUT);
    let stream = ok(&mut world, done);
    let (at, len) = put(&mut world, DATA, b"answer");
    world.write(stream, at, len, true, OUT).unwrap();
    world.resource_drop(stream).unwrap();
    world.body_end(body, None, OUT).unwrap();
    let answered = answered.borrow();
    assert_eq!((answered.status, answered.body), (201, Some(1)));
    assert_eq!(
        answered.fields,
        [(b"content-type".to_vec(), b"text/plain".to_vec())]
    );
    assert_eq!(answered.finished, [1]);
    assert_eq!(answered.sink.0.borrow().bytes, b"answer");
}

#[test]
fn a_body_that_is_dropped_is_not_whole() {
    let mut world = component().world;
    let (_, place, answered) = asked(&mut world, &[]);
    let fields = world.new_fields().unwrap();
    let response = world.new_response(fields).unwrap();
    let done = world.response_body(response, OUT);
    let body = ok(&mut world, done);
    world.resource_drop(body).unwrap();
    world.respond(place, Ok(response)).unwrap();
    assert_eq!(answered.borrow().finished, []);
    let (_, place, answered) = asked(&mut world, &[]);
    world.respond(place, Err(38)).unwrap();
    assert_eq!(answered.borrow().refused, Some(38));
}

#[test]
fn a_body_ends_after_its_stream() {
    type End = fn(&mut World, u32) -> Outcome;
    let ends: [End; 2] = [
        |world, body| world.body_end(body, None, OUT),
        |world, body| world.resource_drop(body),
    ];
    for end in ends {
        for pollable in [false, true] {
            let mut world = component().world;
            let (_, _, answered) = asked(&mut world, &[]);
            let fields = world.new_fields().unwrap();
            let response = world.new_response(fields).unwrap();
            let done = world.response_body(response, OUT);
            let body = ok(&mut world, done);
            let done = world.body_write(body, OUT);
            let stream = ok(&mut world, done);
            if pollable {
                world.subscribe_output(stream).unwrap();
                world.resource_drop(stream).unwrap();
            }
            assert!(trap(end(&mut world, body)).contains("dropped the stream"));
            assert_eq!(answered.borrow().finished, []);
        }
    }
}

#[test]
fn insecure_bytes_need_no_source() {
    let mut world = component().world;
    world.wasi.host().source = false;
    assert!(trap(world.random_bytes(20, OUT)).contains("no source"));
    world.insecure_bytes(20, OUT).unwrap();
    let first = list(&mut world, OUT);
    assert_eq!(first.len(), 20);
    assert!(first[..8] != first[8..16] && first[16..] != [0; 4]);
    world.wasi.host().now += 1;
    world.insecure_bytes(20, OUT).unwrap();
    assert_ne!(list(&mut world, OUT), first);
    assert!(trap(world.insecure_bytes(u64::MAX, OUT)).contains("memory"));
    world.wasi.host().source = true;
    world.insecure_bytes(3, OUT).unwrap();
    let asked = world.wasi.host().asked * 7;
    let given = [0, 1, 2].map(|i| (asked + i) as u8 | 1);
    assert_eq!(list(&mut world, OUT), given);
}

#[test]
fn requests_to_others_are_denied() {
    let mut world = component().world;
    let fields = world.new_fields().unwrap();
    let request = world.new_request(fields).unwrap();
    assert_eq!(world.outgoing_set_method(request, 2, 0, 0), Ok(0));
    world.outgoing_method(request, OUT).unwrap();
    assert_eq!(get(&mut world, OUT, 1), [2]);
    let (at, len) = put(&mut world, DATA, b"a host");
    assert_eq!(world.outgoing_set_authority(request, 1, at, len), Ok(1));
    assert_eq!(world.outgoing_set_authority(request, 1, at, 1), Ok(0));
    world.outgoing_authority(request, OUT).unwrap();
    assert_eq!(list(&mut world, OUT + 4), b"a");
    // Its body can be had when there is a descriptor for it.
    let mut last = None;
    while let Ok(fd) = world.wasi.add_sink(Sink::default(), false) {
        last = Some(fd);
    }
    world.outgoing_body(request, OUT).unwrap();
    assert_eq!(get(&mut world, OUT, 1), [1], "too many descriptors");
    world.wasi.fd_close(last.unwrap()).unwrap();
    // Its body can be written, once, before it is denied.
    let done = world.outgoing_body(request, OUT);
    let body = ok(&mut world, done);
    world.outgoing_body(request, OUT).unwrap();
    assert_eq!(get(&mut world, OUT, 1), [1], "once");
    let done = world.body_write(body, OUT);
    let stream = ok(&mut world, done);
    let (at, len) = put(&mut world, DATA, b"some text");
    world.write(stream, at, len, true, OUT).unwrap();
    assert_eq!(get(&mut world, OUT, 1), [0]);
    world.resource_drop(stream).unwrap();
    world.body_end(body, None, OUT).unwrap();
    let options = world.new_options().unwrap();
    assert_eq!(world.set_time_limit(options, 1, Some(7)), Ok(0));
    world.time_limit(options, 1, OUT).unwrap();
    assert_eq!(word(&mut world, OUT + 8), 7);
    world.outgoing_handle(request, Some(options), OUT).unwrap();
    assert_eq!(
        (get(&mut world, OUT, 1), get(&mut world, OUT + 8, 1)),
        (vec![1], vec![15])
    );
    assert!(trap(world.outgoing_path(request, OUT)).contains("does not have"));
}

#[test]
fn the_insecure_seed_is_the_same_each_time() {
    let mut world = component().world;
    world.seed(OUT).unwrap();
    let first = get(&mut world, OUT, 16);
    assert_ne!(first[..8], first[8..]);
    world.seed(OUT).unwrap();
    assert_eq!(get(&mut world, OUT, 16), first);
}
