//! The server of sockets without a machine: what a network may ask, with real peers on loopback.

use super::sockets_host::Sockets;
use super::sockets_policy::HostSockets;
use super::sockets_stream::Batch;
use rustix::net::sockopt;
use sing_sockets::{FIRST, Fault, Head, Op, Place, SENT, TOLD, WINDOW};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, Shutdown, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// How long anything may take.
const TIME: Duration = Duration::from_secs(10);

pub(super) struct Play {
    pub(super) sockets: Sockets,
    /// What has come, and is not looked at.
    pub(super) heard: Vec<(Head, Vec<u8>)>,
}

pub(super) fn loopback(port: u16) -> Place {
    Place {
        address: Ipv4Addr::LOCALHOST.to_ipv6_mapped(),
        port,
    }
}

impl Play {
    pub(super) fn new(policy: HostSockets, most: usize) -> Play {
        let mut play = Play {
            sockets: Sockets::new(policy, most).unwrap(),
            heard: Vec::new(),
        };
        play.say(&Head::new(Op::Hello, 0, 0), b"");
        play.hear(Op::Hello, 0);
        play
    }

    pub(super) fn say(&mut self, head: &Head, data: &[u8]) {
        let mut bytes = head.encode().to_vec();
        bytes.extend_from_slice(data);
        self.sockets.serve(&bytes);
    }

    fn data(&mut self, id: u32, data: &[u8]) {
        self.say(&Head::new(Op::Data, id, data.len() as u32), data);
    }

    /// Does what can be done.
    pub(super) fn step(&mut self) {
        if !self.sockets.hear() {
            std::thread::sleep(Duration::from_millis(1));
        }
        let mut batch = Batch::new();
        self.sockets.fill(&mut batch);
        let mut bytes = batch.bytes();
        while !bytes.is_empty() {
            let (head, data, rest) = Head::split(bytes).unwrap();
            self.heard.push((head, data.to_vec()));
            bytes = rest;
        }
    }

    /// The next message of a socket; it must be of this kind.
    #[track_caller]
    pub(super) fn hear(&mut self, op: Op, id: u32) -> (Head, Vec<u8>) {
        let end = Instant::now() + TIME;
        loop {
            if let Some(at) = self.heard.iter().position(|(head, _)| head.id == id) {
                let found = self.heard.remove(at);
                assert_eq!(found.0.op, op, "{found:?}");
                return found;
            }
            assert!(Instant::now() < end, "no {op:?} of {id}: {:?}", self.heard);
            self.step();
        }
    }

    pub(super) fn closed(&mut self, id: u32, fault: Fault) {
        assert_eq!(self.hear(Op::Closed, id).0.fault, fault);
    }

    /// Steps until something is so.
    fn until(&mut self, mut so: impl FnMut(&mut Play) -> bool) {
        let end = Instant::now() + TIME;
        while !so(self) {
            assert!(Instant::now() < end, "{:?}", self.heard);
            self.step();
        }
    }

    fn connect(&mut self, id: u32, port: u16) {
        self.say(
            &Head {
                remote: loopback(port),
                ..Head::new(Op::Connect, id, 0)
            },
            b"",
        );
    }

    /// Listens at a port that is free; its number.
    fn listen(&mut self, id: u32) -> u16 {
        let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let mut local = loopback(port);
        local.address = Ipv6Addr::UNSPECIFIED;
        self.say(
            &Head {
                local,
                ..Head::new(Op::Listen, id, 4)
            },
            b"",
        );
        self.hear(Op::Listening, id);
        port
    }

    /// A listener and a connection to it: numbers 1 and 2.
    fn accepted(&mut self) -> TcpStream {
        let port = self.listen(1);
        let peer = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        self.say(&Head::new(Op::Accept, 1, 2), b"");
        let (head, _) = self.hear(Op::Accepted, 2);
        assert_eq!(head.remote, loopback(peer.local_addr().unwrap().port()));
        assert_eq!(head.local, loopback(port));
        peer
    }
}

#[test]
fn a_connection_is_accepted_when_there_is_a_number_for_it_and_ends_in_halves() {
    let mut play = Play::new(HostSockets::Loopback, 8);
    let mut peer = play.accepted();
    peer.write_all(b"question").unwrap();
    peer.shutdown(Shutdown::Write).unwrap();
    assert_eq!(play.hear(Op::Data, 2).1, b"question");
    play.hear(Op::End, 2);
    play.data(2, b"answer");
    play.say(&Head::new(Op::End, 2, 0), b"");
    play.closed(2, Fault::None);
    let mut text = String::new();
    peer.read_to_string(&mut text).unwrap();
    assert_eq!(text, "answer");
    // Two sockets of the listener are left.
    assert_eq!(play.sockets.count(), 2);
    play.say(&Head::new(Op::Close, 1, 0), b"");
    assert_eq!(play.sockets.count(), 0);
}

#[test]
fn a_port_that_is_taken_is_in_use_and_one_that_was_given_up_is_free() {
    let mut play = Play::new(HostSockets::Loopback, 8);
    let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let local = loopback(taken.local_addr().unwrap().port());
    let ask = |id| Head {
        local,
        ..Head::new(Op::Listen, id, 1)
    };
    play.say(&ask(1), b"");
    play.closed(1, Fault::InUse);
    drop(taken);
    play.say(&ask(2), b"");
    play.hear(Op::Listening, 2);
    let mut elsewhere = ask(3);
    elsewhere.local.address = Ipv4Addr::new(10, 0, 0, 1).to_ipv6_mapped();
    play.say(&elsewhere, b"");
    play.closed(3, Fault::NotPermitted);
}

#[test]
fn connections_outward_need_permission() {
    let host = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = host.local_addr().unwrap().port();
    let mut play = Play::new(HostSockets::Loopback, 8);
    play.connect(1, port);
    play.closed(1, Fault::NotPermitted);
    let mut play = Play::new(HostSockets::Host(Vec::new()), 8);
    play.connect(1, port);
    let (head, _) = play.hear(Op::Connected, 1);
    let (mut peer, from) = host.accept().unwrap();
    assert_eq!(head.local, loopback(from.port()));
    play.data(1, b"hello");
    let mut five = [0; 5];
    peer.read_exact(&mut five).unwrap();
    assert_eq!(&five, b"hello");
    drop(host);
    play.connect(2, port);
    play.closed(2, Fault::Refused);
}

#[test]
fn an_end_at_once_is_a_reset_in_both_directions() {
    let mut play = Play::new(HostSockets::Loopback, 8);
    let mut peer = play.accepted();
    play.say(&Head::new(Op::Close, 2, 0), b"");
    let error = peer.read(&mut [0; 1]).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    // What is said of it afterwards does nothing.
    play.data(2, b"late");
    play.say(&Head::new(Op::Taken, 2, 9), b"");

    let mut play = Play::new(HostSockets::Loopback, 8);
    let peer = play.accepted();
    // What is unread at the end is a reset.
    play.data(2, b"unread");
    play.step();
    std::thread::sleep(Duration::from_millis(20));
    drop(peer);
    play.closed(2, Fault::Reset);
}

/// A system that has a shortage of sockets closes those that only wait for the other side.
#[test]
fn what_was_sent_before_the_end_comes_although_the_socket_is_closed_then() {
    let mut play = Play::new(HostSockets::Loopback, 8);
    let mut peer = play.accepted();
    sockopt::set_socket_recv_buffer_size(&peer, 4 << 10).unwrap();
    let sent = vec![7; 50_000];
    play.data(2, &sent);
    play.say(&Head::new(Op::End, 2, 0), b"");
    play.step();
    play.say(&Head::new(Op::Close, 2, 0), b"");
    assert_eq!(play.sockets.count(), 2);
    let mut come = Vec::new();
    peer.read_to_end(&mut come).unwrap();
    assert_eq!(come, sent);
}

#[test]
fn a_peer_that_does_not_read_stops_what_is_sent_and_nothing_else() {
    let mut play = Play::new(HostSockets::Loopback, 8);
    let mut peer = play.accepted();
    let chunk = vec![7; WINDOW / 4];
    let (mut sent, mut taken) = (0, 0);
    // The host's sockets take megabytes before they are full.
    let mut quiet = 0;
    while quiet < 50 {
        while sent - taken + chunk.len() <= SENT {
            play.data(2, &chunk);
            sent += chunk.len();
        }
        play.step();
        let before = taken;
        for (head, _) in play.heard.drain(..) {
            assert_eq!((head.op, head.id), (Op::Taken, 2));
            taken += head.count as usize;
        }
        quiet = if taken == before { quiet + 1 } else { 0 };
        assert!(
            sent < 64 << 20,
            "a peer that does not read has taken {taken} bytes"
        );
    }
    // Now it reads, and all comes.
    let reader = std::thread::spawn(move || {
        let mut all = Vec::new();
        peer.read_to_end(&mut all).map(|_| all)
    });
    play.say(&Head::new(Op::End, 2, 0), b"");
    play.until(|play| play.heard.iter().any(|(head, _)| head.op == Op::End));
    let all = reader.join().unwrap().unwrap();
    assert_eq!(all.len(), sent);
    assert!(all.iter().all(|b| *b == 7));
}

#[test]
fn a_system_that_does_not_read_gets_no_more_than_it_has_room_for() {
    let mut play = Play::new(HostSockets::Loopback, 8);
    let mut peer = play.accepted();
    let writer = std::thread::spawn(move || peer.write_all(&vec![3; 1 << 20]));
    let settle = |play: &mut Play| {
        let mut got = 0;
        for _ in 0..100 {
            play.step();
            let heard = play.heard.drain(..);
            got += heard.map(|(_, data)| data.len()).sum::<usize>();
        }
        got
    };
    let mut got = settle(&mut play);
    assert_eq!(got, FIRST);
    // It may say that it has room for more than it has taken, but for no more than a window.
    play.say(&Head::new(Op::Taken, 2, u32::MAX), b"");
    let mut untold = settle(&mut play);
    assert_eq!(untold, WINDOW);
    got += untold;
    while got < 1 << 20 {
        play.say(&Head::new(Op::Taken, 2, untold as u32), b"");
        play.until(|play| !play.heard.is_empty());
        untold = play.heard.drain(..).map(|(_, data)| data.len()).sum();
        got += untold;
    }
    writer.join().unwrap().unwrap();
    assert_eq!(got, 1 << 20);
}

#[test]
fn who_sends_more_than_it_may_loses_its_connection_alone() {
    let mut play = Play::new(HostSockets::Loopback, 16);
    let _peer = play.accepted();
    let port = play.listen(5);
    let _other = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
    play.say(&Head::new(Op::Accept, 5, 6), b"");
    play.hear(Op::Accepted, 6);
    play.data(2, &vec![0; SENT + 1]);
    play.closed(2, Fault::Reset);
    play.data(6, &[0; WINDOW / 4]);
    assert_eq!(play.hear(Op::Taken, 6).0.count as usize, WINDOW / 4);
}

#[test]
fn a_whole_block_has_room_behind_little_that_was_not_said_to_be_taken() {
    let mut play = Play::new(HostSockets::Loopback, 8);
    let mut peer = play.accepted();
    let little = TOLD - 1;
    play.data(2, &vec![1; little]);
    play.data(2, &vec![2; WINDOW]);
    let taken = play.hear(Op::Taken, 2).0.count as usize;
    assert_eq!(taken, little + WINDOW);
    let mut all = vec![0; little + WINDOW];
    peer.read_exact(&mut all).unwrap();
    assert_eq!((all[little - 1], all[little]), (1, 2));
}

#[test]
fn little_is_not_said_to_be_taken_and_its_room_comes_back_with_the_rest() {
    let mut play = Play::new(HostSockets::Loopback, 8);
    let mut peer = play.accepted();
    let part = WINDOW / 16;
    for _ in 0..3 {
        play.data(2, &vec![1; part]);
        play.step();
        assert!(play.heard.is_empty(), "{:?}", play.heard);
    }
    play.data(2, &vec![1; part]);
    assert_eq!(play.hear(Op::Taken, 2).0.count as usize, 4 * part);
    peer.read_exact(&mut vec![0; 4 * part]).unwrap();
}

#[test]
fn what_comes_in_pieces_and_behind_urgent_data_is_read() {
    let mut play = Play::new(HostSockets::Loopback, 8);
    let mut peer = play.accepted();
    for text in [&b"one"[..], b"two"] {
        peer.write_all(text).unwrap();
        assert_eq!(play.hear(Op::Data, 2).1, text);
    }
    peer.write_all(b"before").unwrap();
    rustix::net::send(&peer, b"!", rustix::net::SendFlags::OOB).unwrap();
    peer.write_all(b"behind").unwrap();
    let mut come = Vec::new();
    while come.len() < 12 {
        come.extend(play.hear(Op::Data, 2).1);
    }
    assert_eq!(come, b"beforebehind");
    peer.write_all(b"last").unwrap();
    drop(peer);
    assert_eq!(play.hear(Op::Data, 2).1, b"last");
    play.hear(Op::End, 2);
}

#[test]
fn there_are_no_more_sockets_than_descriptors() {
    let mut play = Play::new(HostSockets::Host(Vec::new()), 4);
    play.listen(1);
    for id in 10..13 {
        play.say(&Head::new(Op::Accept, 1, id), b"");
    }
    play.closed(12, Fault::NoResources);
    play.connect(20, 9);
    play.closed(20, Fault::NoResources);
    play.say(&Head::new(Op::Close, 1, 0), b"");
    assert_eq!(play.sockets.count(), 0);
}

#[test]
fn what_is_no_message_ends_the_session_until_the_next_begins() {
    let mut play = Play::new(HostSockets::Loopback, 8);
    let mut peer = play.accepted();
    play.sockets.serve(b"nonsense");
    assert_eq!(play.sockets.count(), 0);
    assert!(peer.read(&mut [0; 1]).is_err());
    play.hear(Op::Hello, 0);
    play.say(&Head::new(Op::Connect, 9, 0), b"");
    assert!(!play.sockets.has_something());
    play.say(&Head::new(Op::Hello, 4, 0), b"");
    play.hear(Op::Hello, 4);
    play.listen(1);
}

#[test]
fn whatever_is_asked_sockets_are_counted_rightly() {
    let mut draw = fastrand::Rng::with_seed(11);
    let mut play = Play::new(HostSockets::Loopback, 8);
    let ops = [
        Op::Listen,
        Op::Accept,
        Op::Connect,
        Op::Data,
        Op::Taken,
        Op::End,
        Op::Close,
    ];
    for _ in 0..4000 {
        let op = ops[draw.usize(..ops.len())];
        let head = Head {
            local: loopback(0),
            remote: loopback(1),
            ..Head::new(op, draw.u32(0..6), draw.u32(0..6))
        };
        let data = vec![
            0;
            if op == Op::Data {
                head.count as usize
            } else {
                0
            }
        ];
        play.say(&head, &data);
        assert!(play.sockets.count() <= 8);
        if draw.u8(..) < 32 {
            play.step();
            play.heard.clear();
        }
        if !play.sockets.has_something() && draw.u8(..) < 8 {
            play.say(&Head::new(Op::Hello, 0, 0), b"");
        }
    }
    play.sockets.clear();
    assert_eq!(play.sockets.count(), 0);
}
