//! `wasi:sockets/tcp`, on a network in memory: states, error codes and how results lie, as the interfaces' text
//! has them, and what a program that asks for too much is told.

use super::component_udp::resolve;
use super::components::{World, component, get, list, put, trap};
use super::fake::{ENDS, Sink, Source};
use super::sockets_common::{address, done, flat, handles, net, networked, said};
use super::{MEMORY, OUT};
use crate::component::Outcome;
use crate::net::Code;
use crate::table::DESCRIPTORS;
use std::boxed::Box;
use std::rc::Rc;
use std::vec;
use std::vec::Vec;

fn tcp(world: &mut World) -> u32 {
    let made = world.create_tcp(0, OUT);
    handles::<1>(world, made).unwrap()[0]
}

fn bind(world: &mut World, socket: u32, at: &str) -> Result<(), Code> {
    let network = world.network().unwrap();
    let started = world.tcp_start_bind(socket, network, flat(at), OUT);
    done(world, started)?;
    let finished = world.tcp_finish_bind(socket, OUT);
    done(world, finished)
}

fn connect(world: &mut World, socket: u32, to: &str) -> Result<(), Code> {
    let network = world.network().unwrap();
    let started = world.tcp_start_connect(socket, network, flat(to), OUT);
    done(world, started)
}

fn finish(world: &mut World, socket: u32) -> Result<[u32; 2], Code> {
    let finished = world.tcp_finish_connect(socket, OUT);
    handles(world, finished)
}

/// A connection: the socket, its streams, and the other side's.
fn connected(world: &mut World) -> (u32, [u32; 2], Source, Sink) {
    let socket = tcp(world);
    connect(world, socket, "127.0.0.1:80").unwrap();
    let (source, sink) = (Source::default(), Sink::default());
    let answer = Some(Ok((source.clone(), sink.clone())));
    *net(world).connecting.0.borrow_mut() = answer;
    let streams = finish(world, socket).unwrap();
    (socket, streams, source, sink)
}

#[test]
fn without_a_network_all_is_denied() {
    let mut world = component().world;
    for family in [0, 1] {
        let made = world.create_tcp(family, OUT);
        assert_eq!(handles::<1>(&mut world, made), Err(Code::AccessDenied));
        let made = world.create_udp(family, OUT);
        assert_eq!(handles::<1>(&mut world, made), Err(Code::AccessDenied));
    }
    let network = world.network().unwrap();
    for name in ["example.org", "127.0.0.1"] {
        let (at, len) = put(&mut world, 0x100, name.as_bytes());
        let made = world.resolve(network, at, len, OUT);
        let denied = Err(Code::PermanentResolverFailure);
        assert_eq!(handles::<1>(&mut world, made), denied);
    }
    assert!(trap(world.create_tcp(2, OUT)).contains("a family of addresses that is none"));
}

#[test]
fn a_connection_is_made_read_written_and_shut_down() {
    let mut world = networked();
    let socket = tcp(&mut world);
    assert_eq!(finish(&mut world, socket), Err(Code::NotInProgress));
    let local = world.tcp_local(socket, OUT);
    assert_eq!(address(&mut world, local), Err(Code::InvalidState));
    connect(&mut world, socket, "10.0.0.1:80").unwrap();
    assert_eq!(finish(&mut world, socket), Err(Code::WouldBlock));
    assert_eq!(
        connect(&mut world, socket, "10.0.0.1:80"),
        Err(Code::ConcurrencyConflict)
    );
    assert_eq!(
        bind(&mut world, socket, "0.0.0.0:1"),
        Err(Code::ConcurrencyConflict)
    );
    // It is waited for.
    let pollable = world.tcp_subscribe(socket).unwrap();
    assert_eq!(world.ready(pollable), Ok(0));
    let (source, sink) = (Source::default(), Sink::default());
    let (slot, streams) = (
        net(&mut world).connecting.0.clone(),
        (source.clone(), sink.clone()),
    );
    net(&mut world)
        .comes
        .push_back(Box::new(move || *slot.borrow_mut() = Some(Ok(streams))));
    world.block(pollable).unwrap();
    let [input, output] = finish(&mut world, socket).unwrap();
    assert_eq!(finish(&mut world, socket), Err(Code::NotInProgress));
    assert_eq!(
        connect(&mut world, socket, "10.0.0.1:80"),
        Err(Code::InvalidState)
    );
    assert_eq!(
        bind(&mut world, socket, "0.0.0.0:1"),
        Err(Code::InvalidState)
    );
    let local = world.tcp_local(socket, OUT);
    assert_eq!(address(&mut world, local).unwrap(), "0.0.0.0:49201");
    let remote = world.tcp_remote(socket, OUT);
    assert_eq!(address(&mut world, remote).unwrap(), "10.0.0.1:80");
    assert_eq!(
        net(&mut world).begun,
        [(None, "10.0.0.1:80".parse().unwrap())]
    );
    // Both ways.
    let readable = world.subscribe_input(input).unwrap();
    assert_eq!(world.ready(readable), Ok(0));
    source.0.borrow_mut().0.push_back(b"hello".to_vec());
    assert_eq!(world.ready(readable), Ok(1));
    world.read(input, 3, false, OUT).unwrap();
    assert_eq!(list(&mut world, OUT + 4), b"hel");
    let (at, len) = put(&mut world, 0x100, b"answer");
    world.write(output, at, len, true, OUT).unwrap();
    assert_eq!(sink.0.borrow().bytes, b"answer");
    // Each direction is ended by itself.
    assert!(trap(world.tcp_shut_down(socket, 3, OUT)).contains("a way to shut down"));
    let shut = world.tcp_shut_down(socket, 1, OUT);
    assert_eq!(done(&mut world, shut), Ok(()));
    assert_eq!(Rc::strong_count(&sink.0), 1, "the other side sees the end");
    world.check_write(output, OUT).unwrap();
    assert_eq!(get(&mut world, OUT, 1), [1]);
    assert_eq!(get(&mut world, OUT + 8, 1), [1], "closed");
    world.read(input, 9, false, OUT).unwrap();
    assert_eq!(list(&mut world, OUT + 4), b"lo");
    let shut = world.tcp_shut_down(socket, 0, OUT);
    assert_eq!(done(&mut world, shut), Ok(()));
    assert_eq!(Rc::strong_count(&source.0), 1);
    world.read(input, 9, false, OUT).unwrap();
    assert_eq!(get(&mut world, OUT, 1), [1]);
    assert_eq!(get(&mut world, OUT + 4, 1), [1], "closed");
    assert_eq!(world.ready(readable), Ok(1));
}

#[test]
fn a_connection_that_is_not_made_says_why() {
    for code in [
        Code::ConnectionRefused,
        Code::RemoteUnreachable,
        Code::Timeout,
    ] {
        let mut world = networked();
        let socket = tcp(&mut world);
        connect(&mut world, socket, "127.0.0.1:81").unwrap();
        *net(&mut world).connecting.0.borrow_mut() = Some(Err(code));
        let pollable = world.tcp_subscribe(socket).unwrap();
        assert_eq!(world.ready(pollable), Ok(1));
        assert_eq!(finish(&mut world, socket), Err(code));
        // It is good for nothing more.
        assert_eq!(
            connect(&mut world, socket, "127.0.0.1:80"),
            Err(Code::InvalidState)
        );
        let shut = world.tcp_shut_down(socket, 2, OUT);
        assert_eq!(done(&mut world, shut), Err(Code::InvalidState));
        let remote = world.tcp_remote(socket, OUT);
        assert_eq!(address(&mut world, remote), Err(Code::InvalidState));
    }
}

#[test]
fn addresses_that_are_none_of_a_sockets_are_refused() {
    let mut world = networked();
    let four = tcp(&mut world);
    let made = world.create_tcp(1, OUT);
    let [six] = handles(&mut world, made).unwrap();
    assert_eq!(world.tcp_family(four), Ok(0));
    assert_eq!(world.tcp_family(six), Ok(1));
    for (socket, to) in [
        (four, "[::1]:80"),
        (four, "0.0.0.0:80"),
        (four, "127.0.0.1:0"),
        (four, "224.0.0.1:80"),
        (four, "255.255.255.255:80"),
        (six, "127.0.0.1:80"),
        (six, "[::ffff:127.0.0.1]:80"),
        (six, "[::]:80"),
        (six, "[ff02::1]:80"),
    ] {
        let refused = Err(Code::InvalidArgument);
        assert_eq!(connect(&mut world, socket, to), refused, "{to}");
    }
    for (socket, at) in [
        (four, "[::1]:80"),
        (four, "224.0.0.1:80"),
        (six, "127.0.0.1:80"),
        (six, "[::ffff:127.0.0.1]:80"),
    ] {
        assert_eq!(
            bind(&mut world, socket, at),
            Err(Code::InvalidArgument),
            "{at}"
        );
    }
    // Both are as good as before.
    connect(&mut world, six, "[::1]:80").unwrap();
    connect(&mut world, four, "127.0.0.1:80").unwrap();
    let (network, mut bad) = (world.network().unwrap(), flat("127.0.0.1:80"));
    bad[0] = 2;
    assert!(trap(world.tcp_start_bind(four, network, bad, OUT)).contains("family"));
    assert!(
        trap(world.tcp_start_bind(network, network, flat("0.0.0.0:1"), OUT))
            .contains("no tcp-socket")
    );
    assert!(trap(world.tcp_start_bind(four, four, flat("0.0.0.0:1"), OUT)).contains("no network"));
    assert!(trap(world.tcp_finish_connect(four, MEMORY as u32)).contains("outside"));
}

#[test]
fn a_port_listens_and_its_connections_are_taken() {
    let mut world = networked();
    let socket = tcp(&mut world);
    let start = world.tcp_start_listen(socket, OUT);
    assert_eq!(
        done(&mut world, start),
        Err(Code::InvalidState),
        "not bound"
    );
    net(&mut world).taken.push(80);
    assert_eq!(
        bind(&mut world, socket, "127.0.0.1:80"),
        Err(Code::AddressInUse)
    );
    assert_eq!(bind(&mut world, socket, "127.0.0.1:0"), Ok(()));
    assert_eq!(
        bind(&mut world, socket, "127.0.0.1:0"),
        Err(Code::InvalidState)
    );
    let local = world.tcp_local(socket, OUT);
    assert_eq!(address(&mut world, local).unwrap(), "127.0.0.1:49200");
    let set = world.tcp_set_backlog(socket, 0, OUT);
    assert_eq!(done(&mut world, set), Err(Code::InvalidArgument));
    let set = world.tcp_set_backlog(socket, 1 << 40, OUT);
    assert_eq!(done(&mut world, set), Ok(()));
    let accepted = world.tcp_accept(socket, OUT);
    assert_eq!(handles::<3>(&mut world, accepted), Err(Code::InvalidState));
    let finished = world.tcp_finish_listen(socket, OUT);
    assert_eq!(done(&mut world, finished), Err(Code::NotInProgress));
    let start = world.tcp_start_listen(socket, OUT);
    assert_eq!(done(&mut world, start), Ok(()));
    // Whoever waits for what was begun is not made to wait for a connection.
    let begun = world.tcp_subscribe(socket).unwrap();
    assert_eq!(world.ready(begun), Ok(1));
    assert_eq!(world.tcp_listens(socket), Ok(0));
    let finished = world.tcp_finish_listen(socket, OUT);
    assert_eq!(done(&mut world, finished), Ok(()));
    assert_eq!(world.ready(begun), Ok(0));
    assert_eq!(net(&mut world).backlog, u32::MAX);
    assert_eq!(world.tcp_listens(socket), Ok(1));
    let set = world.tcp_set_backlog(socket, 5, OUT);
    assert_eq!(done(&mut world, set), Err(Code::NotSupported));
    assert_eq!(
        connect(&mut world, socket, "127.0.0.1:80"),
        Err(Code::InvalidState)
    );
    let accepted = world.tcp_accept(socket, OUT);
    assert_eq!(handles::<3>(&mut world, accepted), Err(Code::WouldBlock));
    // It is waited for, beside the others.
    let (source, sink) = (Source::default(), Sink::default());
    world.wasi.host().comes = Some((source.clone(), sink.clone()));
    let pollable = world.tcp_subscribe(socket).unwrap();
    put(&mut world, 0x100, &pollable.to_le_bytes());
    world.poll(0x100, 1, OUT).unwrap();
    assert_eq!(list(&mut world, OUT)[..1], [0]);
    let set = world.tcp_set_hops(socket, 9, OUT);
    assert_eq!(done(&mut world, set), Ok(()));
    let accepted = world.tcp_accept(socket, OUT);
    let [connection, input, output] = handles(&mut world, accepted).unwrap();
    let ends = [
        world
            .tcp_local(connection, OUT)
            .map(|()| address(&mut world, Ok(()))),
        world
            .tcp_remote(connection, OUT)
            .map(|()| address(&mut world, Ok(()))),
    ];
    assert_eq!(ends, ENDS.map(|end| Ok(Ok(end.into()))));
    let hops = world.tcp_hops(connection, OUT);
    assert_eq!(
        said(&mut world, hops, 1, 1),
        Ok(vec![9]),
        "as the listener's"
    );
    // What it has is given back with the last of its resources, in any order.
    world.resource_drop(connection).unwrap();
    source.0.borrow_mut().0.push_back(b"x".to_vec());
    world.read(input, 1, false, OUT).unwrap();
    assert_eq!(list(&mut world, OUT + 4), b"x");
    world.resource_drop(input).unwrap();
    assert_eq!(Rc::strong_count(&sink.0), 2);
    world.resource_drop(output).unwrap();
    assert_eq!(
        (Rc::strong_count(&sink.0), Rc::strong_count(&source.0)),
        (1, 1)
    );
}

#[test]
fn options_are_kept_or_rounded() {
    let mut world = networked();
    let socket = tcp(&mut world);
    let size = world.tcp_buffer(socket, OUT);
    assert_eq!(
        said(&mut world, size, 8, 8),
        Ok(65536_u64.to_le_bytes().to_vec())
    );
    type Set = fn(&mut World, u32, u64) -> Outcome;
    type Get = fn(&mut World, u32) -> Outcome;
    let all: [(Set, Get, u32, usize); 4] = [
        (
            |w, s, v| w.tcp_set_idle(s, v, OUT),
            |w, s| w.tcp_idle(s, OUT),
            8,
            8,
        ),
        (
            |w, s, v| w.tcp_set_interval(s, v, OUT),
            |w, s| w.tcp_interval(s, OUT),
            8,
            8,
        ),
        (
            |w, s, v| w.tcp_set_probes(s, v as u32, OUT),
            |w, s| w.tcp_probes(s, OUT),
            4,
            4,
        ),
        (
            |w, s, v| w.tcp_set_hops(s, v as u32, OUT),
            |w, s| w.tcp_hops(s, OUT),
            1,
            1,
        ),
    ];
    for (set, get, at, len) in all {
        let refused = set(&mut world, socket, 0);
        assert_eq!(done(&mut world, refused), Err(Code::InvalidArgument));
        let taken = set(&mut world, socket, 77);
        assert_eq!(done(&mut world, taken), Ok(()));
        let kept = get(&mut world, socket);
        let kept = said(&mut world, kept, at, len).unwrap();
        assert_eq!(kept, 77_u64.to_le_bytes()[..len]);
    }
    let set = world.tcp_set_keep_alive(socket, 1, OUT);
    assert_eq!(done(&mut world, set), Ok(()));
    let kept = world.tcp_keep_alive(socket, OUT);
    assert_eq!(said(&mut world, kept, 1, 1), Ok(vec![1]));
    let refused = world.tcp_set_buffer(socket, 0, OUT);
    assert_eq!(done(&mut world, refused), Err(Code::InvalidArgument));
    let taken = world.tcp_set_buffer(socket, 1, OUT);
    assert_eq!(done(&mut world, taken), Ok(()));
}

#[test]
fn there_are_as_many_sockets_as_descriptors() {
    let mut world = networked();
    // Four are open: three streams and a directory.
    let mut all: Vec<u32> = (4..DESCRIPTORS).map(|_| tcp(&mut world)).collect();
    assert_eq!(
        Rc::strong_count(&net(&mut world).sockets),
        DESCRIPTORS - 4 + 1
    );
    for _ in 0..2 {
        let made = world.create_tcp(0, OUT);
        assert_eq!(handles::<1>(&mut world, made), Err(Code::NewSocketLimit));
        let made = world.create_udp(0, OUT);
        assert_eq!(handles::<1>(&mut world, made), Err(Code::NewSocketLimit));
        assert_eq!(resolve(&mut world, b"127.0.0.1"), Err(Code::NewSocketLimit));
    }
    // A pollable keeps a socket, and all of it goes with the pollable.
    let pollable = world.tcp_subscribe(all[0]).unwrap();
    world.resource_drop(all.remove(0)).unwrap();
    let made = world.create_tcp(0, OUT);
    assert_eq!(handles::<1>(&mut world, made), Err(Code::NewSocketLimit));
    assert_eq!(world.ready(pollable), Ok(1));
    world.resource_drop(pollable).unwrap();
    all.push(tcp(&mut world));
    for socket in all {
        world.resource_drop(socket).unwrap();
    }
    assert_eq!(Rc::strong_count(&net(&mut world).sockets), 1);
    net(&mut world).fault = Some(Code::AccessDenied);
    let made = world.create_udp(0, OUT);
    assert_eq!(handles::<1>(&mut world, made), Err(Code::AccessDenied));
}

#[test]
fn a_listener_keeps_a_connection_for_which_there_is_no_number() {
    let mut world = networked();
    let socket = tcp(&mut world);
    bind(&mut world, socket, "127.0.0.1:0").unwrap();
    let start = world.tcp_start_listen(socket, OUT);
    done(&mut world, start).unwrap();
    let finished = world.tcp_finish_listen(socket, OUT);
    done(&mut world, finished).unwrap();
    let all: Vec<u32> = (5..DESCRIPTORS).map(|_| tcp(&mut world)).collect();
    let waits = (Source::default(), Sink::default());
    net(&mut world).listener.0.borrow_mut().0.push_back(waits);
    let accepted = world.tcp_accept(socket, OUT);
    assert_eq!(
        handles::<3>(&mut world, accepted),
        Err(Code::NewSocketLimit)
    );
    world.resource_drop(all[0]).unwrap();
    let accepted = world.tcp_accept(socket, OUT);
    handles::<3>(&mut world, accepted).unwrap();
}

#[test]
fn a_connection_goes_on_without_its_socket() {
    let mut world = networked();
    let (socket, [input, output], source, sink) = connected(&mut world);
    world.resource_drop(socket).unwrap();
    assert!(trap(world.tcp_local(socket, OUT)).contains("which it does not have"));
    source.0.borrow_mut().1 = true;
    world.read(input, 1, true, OUT).unwrap();
    assert_eq!(get(&mut world, OUT, 1), [1], "the end");
    sink.0.borrow_mut().gone = true;
    put(&mut world, 0x100, b"x");
    world.write(output, 0x100, 1, true, OUT).unwrap();
    assert_eq!(get(&mut world, OUT, 1), [1]);
    assert_eq!(get(&mut world, OUT + 4, 1), [1], "closed");
}
