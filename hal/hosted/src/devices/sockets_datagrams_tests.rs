//! Datagrams by the device for sockets of the host.

use super::sockets_policy::HostSockets;
use super::sockets_tests::{Play, loopback};
use sing_sockets::{FIRST, Fault, HEAD, Head, Op, Place};
use std::net::{Ipv4Addr, UdpSocket};
use std::time::Duration;

fn peer() -> (UdpSocket, u16) {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let time = Some(Duration::from_secs(10));
    socket.set_read_timeout(time).unwrap();
    let port = socket.local_addr().unwrap().port();
    (socket, port)
}

/// A port of the host's that is free, bound as number `id`.
fn bound(play: &mut Play, id: u32) -> u16 {
    let (free, port) = peer();
    drop(free);
    let local = loopback(port);
    let head = Head::new(Op::Bind, id, 0);
    play.say(&Head { local, ..head }, b"");
    assert_eq!(play.hear(Op::Bound, id).0.count, u32::from(port));
    port
}

fn send(play: &mut Play, id: u32, remote: Place, data: &[u8]) -> Fault {
    let head = Head::new(Op::Datagram, id, data.len() as u32);
    play.say(&Head { remote, ..head }, data);
    play.hear(Op::Sent, id).0.fault
}

#[test]
fn a_port_is_reached_from_this_machine_and_answers_who_has_sent_something() {
    let mut play = Play::new(HostSockets::Loopback, 8);
    let port = bound(&mut play, 1);
    let ((peer, from), (_, other)) = (peer(), peer());
    assert_eq!(
        send(&mut play, 1, loopback(from), b"early"),
        Fault::NotPermitted
    );
    peer.send_to(b"question", (Ipv4Addr::LOCALHOST, port))
        .unwrap();
    let (head, data) = play.hear(Op::Datagram, 1);
    assert_eq!((head.remote, &data[..]), (loopback(from), &b"question"[..]));
    assert_eq!(send(&mut play, 1, loopback(from), b"answer"), Fault::None);
    let mut room = [0; 100];
    assert_eq!(peer.recv(&mut room).unwrap(), 6);
    assert_eq!(
        send(&mut play, 1, loopback(other), b"x"),
        Fault::NotPermitted
    );
    assert_eq!(
        send(&mut play, 1, loopback(from), &[0; 65_508]),
        Fault::TooLong
    );
    let taken = Head::new(Op::Bind, 2, 0);
    play.say(
        &Head {
            local: loopback(from),
            ..taken
        },
        b"",
    );
    play.closed(2, Fault::InUse);
    // No port without a number is anybody's who may not go outward.
    play.say(&Head::new(Op::Bind, 3, 0), b"");
    play.closed(3, Fault::NotPermitted);
    play.say(&Head::new(Op::Close, 1, 0), b"");
    assert_eq!(play.sockets.count(), 0);
}

#[test]
fn datagrams_go_outward_where_that_is_permitted_and_those_that_are_lost_are_told() {
    let policy = HostSockets::named("host,127.0.0.0/8").unwrap().unwrap();
    let mut play = Play::new(policy, 8);
    play.say(&Head::new(Op::Bind, 1, 0), b"");
    let own = play.hear(Op::Bound, 1).0.count as u16;
    let (peer, to) = peer();
    assert_eq!(send(&mut play, 1, loopback(to), b"out"), Fault::None);
    let mut room = [0; 100];
    let (count, from) = peer.recv_from(&mut room).unwrap();
    assert_eq!((count, from.port()), (3, own));
    let beyond = Place {
        address: Ipv4Addr::new(10, 0, 0, 1).to_ipv6_mapped(),
        port: 9,
    };
    assert_eq!(send(&mut play, 1, beyond, b"out"), Fault::NotPermitted);
    let head = Head::new(Op::Bind, 2, 0);
    play.say(
        &Head {
            remote: beyond,
            ..head
        },
        b"",
    );
    play.closed(2, Fault::NotPermitted);
    // With one peer alone, it is known of whom the host speaks.
    drop(peer);
    let head = Head::new(Op::Bind, 3, 0);
    play.say(
        &Head {
            remote: loopback(to),
            ..head
        },
        b"",
    );
    play.hear(Op::Bound, 3);
    assert_eq!(send(&mut play, 3, loopback(to), b"nobody"), Fault::None);
    let (lost, _) = play.hear(Op::Lost, 3);
    assert_eq!((lost.remote, lost.fault), (loopback(to), Fault::Refused));
}

#[test]
fn a_system_that_does_not_read_gets_few_datagrams_and_the_others_later() {
    let mut play = Play::new(HostSockets::Loopback, 8);
    let port = bound(&mut play, 1);
    let (peer, _) = peer();
    // The host keeps no more than some 200 KiB of them, with all that it adds.
    for number in 0..60u8 {
        let place = (Ipv4Addr::LOCALHOST, port);
        peer.send_to(&[number; 1000], place).unwrap();
    }
    let mut got = Vec::new();
    for _ in 0..200 {
        play.step();
        got.extend(play.heard.drain(..).map(|(_, data)| data[0]));
    }
    assert_eq!(got.len(), FIRST.div_ceil(1000 + HEAD));
    while got.len() < 60 {
        play.say(&Head::new(Op::Taken, 1, (1000 + HEAD) as u32), b"");
        got.push(play.hear(Op::Datagram, 1).1[0]);
    }
    assert!(got.iter().copied().eq(0..60), "{got:?}");
}
