//! `wasi:sockets/udp` and `ip-name-lookup`, on a network in memory.

use super::OUT;
use super::components::{World, get, list, put, trap, word};
use super::sockets_common::{address, address_of, code, done, flat, handles, net, networked, said};
use crate::net::Code;
use core::net::{IpAddr, SocketAddr};
use std::boxed::Box;
use std::string::String;
use std::vec;
use std::vec::Vec;

/// A socket of UDP at a port that was chosen, and its streams.
fn datagrams(world: &mut World, remote: Option<&str>) -> (u32, u32, u32) {
    let made = world.create_udp(0, OUT);
    let [socket] = handles(world, made).unwrap();
    let network = world.network().unwrap();
    let started = world.udp_start_bind(socket, network, flat("127.0.0.1:0"), OUT);
    assert_eq!(done(world, started), Ok(()));
    let finished = world.udp_finish_bind(socket, OUT);
    assert_eq!(done(world, finished), Ok(()));
    let to = remote.map(flat);
    let streams = world.udp_stream(socket, to.is_some().into(), to.unwrap_or_default(), OUT);
    let [incoming, outgoing] = handles(world, streams).unwrap();
    (socket, incoming, outgoing)
}

fn permit(world: &mut World, outgoing: u32) -> Result<u64, Code> {
    let checked = world.udp_check_send(outgoing, OUT);
    let bytes = code(said(world, checked, 8, 8))?;
    Ok(u64::from_le_bytes(bytes.try_into().unwrap()))
}

/// Sends so many bytes from the beginning of the memory.
fn send(world: &mut World, outgoing: u32, len: u32, to: Option<&str>) -> Result<u64, Code> {
    const RECORD: u32 = 0x200;
    put(world, RECORD, &[0; 44]);
    put(world, RECORD + 4, &len.to_le_bytes());
    if let Some(to) = to {
        let flat = flat(to);
        put(world, RECORD + 8, &[1]);
        put(world, RECORD + 12, &[flat[0] as u8]);
        put(world, RECORD + 16, &(flat[1] as u16).to_le_bytes());
        for (at, part) in (0..).zip(&flat[2..6]) {
            put(world, RECORD + 18 + at, &[*part as u8]);
        }
        if flat[0] == 1 {
            put(world, RECORD + 16, &[0; 28]);
            put(world, RECORD + 16, &(flat[1] as u16).to_le_bytes());
            for (at, part) in (0..).zip(&flat[3..11]) {
                put(world, RECORD + 24 + at * 2, &(*part as u16).to_le_bytes());
            }
        }
    }
    permit(world, outgoing)?;
    let sent = world.udp_send(outgoing, RECORD, 1, OUT);
    let bytes = code(said(world, sent, 8, 8))?;
    Ok(u64::from_le_bytes(bytes.try_into().unwrap()))
}

/// The datagrams that have come, and from where.
fn receive(world: &mut World, incoming: u32, most: u64) -> Result<Vec<(Vec<u8>, String)>, Code> {
    let received = world.udp_receive(incoming, most, OUT);
    code(said(world, received, 4, 0))?;
    let (at, count) = (word(world, OUT + 4), word(world, OUT + 8));
    let record = |world: &mut World, number: u32| {
        let at = at + number * 40;
        (list(world, at), address_of(&get(world, at + 8, 32)))
    };
    Ok((0..count).map(|number| record(world, number)).collect())
}

fn datagram(text: &str, from: &str) -> Result<(Vec<u8>, SocketAddr), (SocketAddr, Code)> {
    Ok((text.as_bytes().to_vec(), from.parse().unwrap()))
}

#[test]
fn datagrams_go_and_come() {
    let mut world = networked();
    let (socket, incoming, outgoing) = datagrams(&mut world, None);
    let local = world.udp_local(socket, OUT);
    assert_eq!(address(&mut world, local).unwrap(), "127.0.0.1:49200");
    let remote = world.udp_remote(socket, OUT);
    assert_eq!(address(&mut world, remote), Err(Code::InvalidState));
    put(&mut world, 0, b"abc");
    assert_eq!(send(&mut world, outgoing, 3, Some("10.0.0.1:53")), Ok(1));
    let sent = net(&mut world).port.0.borrow().sent.clone();
    assert_eq!(sent, [(b"abc".to_vec(), "10.0.0.1:53".parse().unwrap())]);
    for to in [
        None,
        Some("[::1]:53"),
        Some("0.0.0.0:53"),
        Some("10.0.0.1:0"),
    ] {
        assert_eq!(
            send(&mut world, outgoing, 3, to),
            Err(Code::InvalidArgument),
            "{to:?}"
        );
    }
    // Nothing has come; then three have, one of them by the other family.
    assert_eq!(receive(&mut world, incoming, 9), Ok(vec![]));
    let pollable = world.udp_subscribe_incoming(incoming).unwrap();
    assert_eq!(world.ready(pollable), Ok(0));
    let port = net(&mut world).port.clone();
    net(&mut world).comes.push_back(Box::new(move || {
        let all = [("x", "10.0.0.1:53"), ("y", "[::1]:9"), ("zz", "10.0.0.2:5")];
        let all = all.map(|(text, from)| datagram(text, from));
        port.0.borrow_mut().come.extend(all);
    }));
    world.block(pollable).unwrap();
    assert_eq!(receive(&mut world, incoming, 0), Ok(vec![]));
    let first = (b"x".to_vec(), "10.0.0.1:53".into());
    assert_eq!(receive(&mut world, incoming, 1), Ok(vec![first]));
    let second = (b"zz".to_vec(), "10.0.0.2:5".into());
    assert_eq!(receive(&mut world, incoming, u64::MAX), Ok(vec![second]));
    // The network has gone.
    net(&mut world).port.0.borrow_mut().gone = true;
    assert_eq!(world.ready(pollable), Ok(1));
    assert_eq!(
        receive(&mut world, incoming, 1),
        Err(Code::RemoteUnreachable)
    );
}

#[test]
fn a_socket_with_a_remote_address_has_to_do_with_that() {
    let mut world = networked();
    let (socket, incoming, outgoing) = datagrams(&mut world, Some("10.0.0.1:53"));
    let remote = world.udp_remote(socket, OUT);
    assert_eq!(address(&mut world, remote).unwrap(), "10.0.0.1:53");
    assert_eq!(send(&mut world, outgoing, 3, None), Ok(1));
    assert_eq!(send(&mut world, outgoing, 3, Some("10.0.0.1:53")), Ok(1));
    let other = send(&mut world, outgoing, 3, Some("10.0.0.2:53"));
    assert_eq!(other, Err(Code::InvalidArgument));
    let lost = |to: &str| Err((to.parse().unwrap(), Code::ConnectionRefused));
    let all = [
        datagram("other", "10.0.0.2:53"),
        lost("10.0.0.2:53"),
        datagram("own", "10.0.0.1:53"),
        lost("10.0.0.1:53"),
    ];
    net(&mut world).port.0.borrow_mut().come.extend(all);
    let own = (b"own".to_vec(), "10.0.0.1:53".into());
    assert_eq!(receive(&mut world, incoming, 1), Ok(vec![own]));
    assert_eq!(
        receive(&mut world, incoming, 1),
        Err(Code::ConnectionRefused)
    );
    // Another association, when the streams of this one have been dropped.
    let again = world.udp_stream(socket, 0, [0; 12], OUT);
    assert!(trap(again).contains("whose streams it has not dropped"));
    world.resource_drop(incoming).unwrap();
    world.resource_drop(outgoing).unwrap();
    let again = world.udp_stream(socket, 1, flat("0.0.0.0:1"), OUT);
    assert_eq!(handles::<2>(&mut world, again), Err(Code::InvalidArgument));
    let again = world.udp_stream(socket, 0, [0; 12], OUT);
    handles::<2>(&mut world, again).unwrap();
    let remote = world.udp_remote(socket, OUT);
    assert_eq!(address(&mut world, remote), Err(Code::InvalidState));
}

#[test]
fn datagrams_are_sent_as_far_as_was_permitted() {
    let mut world = networked();
    let (_, _, outgoing) = datagrams(&mut world, Some("10.0.0.1:53"));
    let unasked = world.udp_send(outgoing, 0x200, 1, OUT);
    assert!(trap(unasked).contains("more datagrams than check-send has permitted"));
    let sent = world.udp_send(outgoing, 0x200, 0, OUT);
    assert_eq!(said(&mut world, sent, 8, 8), Ok(vec![0; 8]));
    assert_eq!(permit(&mut world, outgoing), Ok(1));
    net(&mut world).port.0.borrow_mut().full = true;
    assert_eq!(permit(&mut world, outgoing), Ok(0));
    let pollable = world.udp_subscribe_outgoing(outgoing).unwrap();
    assert_eq!(world.ready(pollable), Ok(0));
    net(&mut world).port.0.borrow_mut().fault = Some(Code::RemoteUnreachable);
    assert_eq!(world.ready(pollable), Ok(1));
    assert_eq!(permit(&mut world, outgoing), Err(Code::RemoteUnreachable));
    net(&mut world).port.0.borrow_mut().full = false;
    for (len, says) in [
        (0, Err(Code::NotSupported)),
        (1, Ok(1)),
        (65_507, Ok(1)),
        (65_508, Err(Code::DatagramTooLarge)),
    ] {
        assert_eq!(send(&mut world, outgoing, len, None), says, "{len}");
    }
    permit(&mut world, outgoing).unwrap();
    put(&mut world, 0x204, &u32::MAX.to_le_bytes());
    assert!(trap(world.udp_send(outgoing, 0x200, 1, OUT)).contains("outside of its memory"));
}

#[test]
fn a_socket_of_udp_is_bound_before_it_is_used() {
    let mut world = networked();
    let made = world.create_udp(1, OUT);
    let [socket] = handles(&mut world, made).unwrap();
    assert_eq!(world.udp_family(socket), Ok(1));
    let streams = world.udp_stream(socket, 0, [0; 12], OUT);
    assert_eq!(handles::<2>(&mut world, streams), Err(Code::InvalidState));
    let finished = world.udp_finish_bind(socket, OUT);
    assert_eq!(done(&mut world, finished), Err(Code::NotInProgress));
    let network = world.network().unwrap();
    let started = world.udp_start_bind(socket, network, flat("127.0.0.1:0"), OUT);
    assert_eq!(done(&mut world, started), Err(Code::InvalidArgument));
    net(&mut world).taken.push(5353);
    let started = world.udp_start_bind(socket, network, flat("[::1]:5353"), OUT);
    assert_eq!(done(&mut world, started), Ok(()));
    let started = world.udp_start_bind(socket, network, flat("[::1]:5353"), OUT);
    assert_eq!(done(&mut world, started), Err(Code::ConcurrencyConflict));
    let finished = world.udp_finish_bind(socket, OUT);
    assert_eq!(done(&mut world, finished), Err(Code::AddressInUse));
    // It can be tried again.
    let started = world.udp_start_bind(socket, network, flat("[::1]:5354"), OUT);
    assert_eq!(done(&mut world, started), Ok(()));
    let finished = world.udp_finish_bind(socket, OUT);
    assert_eq!(done(&mut world, finished), Ok(()));
    let started = world.udp_start_bind(socket, network, flat("[::1]:5355"), OUT);
    assert_eq!(done(&mut world, started), Err(Code::InvalidState));
    let local = world.udp_local(socket, OUT);
    assert_eq!(address(&mut world, local).unwrap(), "[::1]:5354");
}

pub(super) fn resolve(world: &mut World, name: &[u8]) -> Result<u32, Code> {
    let network = world.network().unwrap();
    let (at, len) = put(world, 0x1000, name);
    let made = world.resolve(network, at, len, OUT);
    handles::<1>(world, made).map(|[handle]| handle)
}

fn next(world: &mut World, lookup: u32) -> Result<Option<String>, Code> {
    let answered = world.next_address(lookup, OUT);
    let bytes = code(said(world, answered, 2, 20))?;
    let half = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
    Ok((bytes[0] == 1).then(|| {
        let ip: IpAddr = match bytes[2] {
            0 => <[u8; 4]>::try_from(&bytes[4..8]).unwrap().into(),
            _ => core::array::from_fn::<u16, 8, _>(|i| half(4 + i * 2)).into(),
        };
        std::format!("{ip}")
    }))
}

#[test]
fn a_name_has_addresses_in_their_order() {
    let mut world = networked();
    let lookup = resolve(&mut world, b"example.org").unwrap();
    assert_eq!(next(&mut world, lookup), Err(Code::WouldBlock));
    let pollable = world.subscribe_lookup(lookup).unwrap();
    let slot = net(&mut world).lookup.0.clone();
    net(&mut world).comes.push_back(Box::new(move || {
        let all = ["10.0.0.1", "2001:db8::5"];
        *slot.borrow_mut() = Some(Ok(all.map(|a| a.parse().unwrap()).to_vec()));
    }));
    world.block(pollable).unwrap();
    assert_eq!(next(&mut world, lookup), Ok(Some("10.0.0.1".into())));
    assert_eq!(next(&mut world, lookup), Ok(Some("2001:db8::5".into())));
    assert_eq!(next(&mut world, lookup), Ok(None));
    assert_eq!(next(&mut world, lookup), Ok(None));
    // One that has none says so each time.
    let lookup = resolve(&mut world, b"nobody.example.").unwrap();
    *net(&mut world).lookup.0.borrow_mut() = Some(Err(Code::NameUnresolvable));
    for _ in 0..2 {
        assert_eq!(next(&mut world, lookup), Err(Code::NameUnresolvable));
    }
    assert_eq!(net(&mut world).asked, ["example.org", "nobody.example."]);
}

#[test]
fn an_address_is_its_own_and_what_is_no_name_is_refused() {
    let mut world = networked();
    for (name, address) in [
        ("127.0.0.1", "127.0.0.1"),
        ("::1", "::1"),
        ("[::1]", "::1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
    ] {
        let lookup = resolve(&mut world, name.as_bytes()).unwrap();
        assert_eq!(next(&mut world, lookup), Ok(Some(address.into())));
        assert_eq!(next(&mut world, lookup), Ok(None));
    }
    let long = [b'a'; 2000];
    let wrong: [&[u8]; 8] = [
        b"",
        b".",
        b"a..b",
        b"a b",
        b"\xff",
        "ä.example".as_bytes(),
        &long[..64],
        &long,
    ];
    for name in wrong {
        assert_eq!(resolve(&mut world, name), Err(Code::InvalidArgument));
    }
    assert!(net(&mut world).asked.is_empty());
    let network = world.network().unwrap();
    assert!(trap(world.resolve(network, 0, u32::MAX, OUT)).contains("outside of its memory"));
}
