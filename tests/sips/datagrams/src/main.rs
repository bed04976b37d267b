//! Datagrams within the machine, names of hosts and echoes: `datagrams check` tries what can be asked
//! and what is refused; `datagrams echo PORT` sends back what comes there; `datagrams to HOST PORT`
//! sends datagrams of all lengths there, and compares what comes back.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use core::time::Duration;
use sing_sdk::names::Names;
use sing_sdk::net::{self, Came, Datagrams, Echo};
use sing_sdk::prelude::*;

sing_sdk::manifest! {
    name: "datagrams",
    description: "tries datagrams of UDP, names of hosts and echoes",
    endpoints: {
        stdout: optional PipeContract.Imp:Start,
        stderr: optional PipeContract.Imp:Start,
        names: NamespaceContract.Imp:Start,
    },
    memory: 16 MiB,
}

sing_sdk::arguments! {
    /// What to do: check, echo or to.
    what: one String "WHAT";
    /// The host, and the port.
    rest: many String "HOST PORT";
}

const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const ANY: IpAddr = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
const SOON: Duration = Duration::from_secs(2);
/// More than a program's share of sockets, whoever else has some.
const MANY: usize = 600;
/// The longest datagram within the machine over IPv4.
const LONGEST: usize = (16 << 10) - 28;

/// Whether something is as it should be; what it is, if not.
fn is<T: PartialEq + core::fmt::Debug>(what: &str, found: T, wanted: T) -> bool {
    if found != wanted {
        println!("{what}: {found:?}, not {wanted:?}");
    }
    found == wanted
}

fn fault<T>(result: Result<T, Error>) -> Option<Error> {
    result.err()
}

const fn refused(fault: TcpFault) -> Option<Error> {
    Some(Error::Network(fault))
}

/// The next datagram, and from where.
fn next(all: &mut Datagrams) -> Result<(Vec<u8>, SocketAddr), Error> {
    match all.receive(SOON)? {
        Came::Datagram(data, from) => Ok((data.to_vec(), from)),
        Came::Lost(_, error) => Err(error),
    }
}

/// There and back, and what a name allows.
fn conversation(names: &mut Names) -> Result<bool, Error> {
    let mut server = Datagrams::open(names, "/udp/listen/7")?;
    let mut client = Datagrams::open(names, "/udp/127.0.0.1/7")?;
    let mut good = is("port", server.port(), 7);
    let stranger = SocketAddr::new(LOCAL, 4000);
    let early = server.send(Some(stranger), b"x");
    good &= is(
        "to who has not asked",
        fault(early),
        refused(TcpFault::NotPermitted),
    );
    for bytes in [1, 2, 1472, 1473, LONGEST] {
        let data: Vec<u8> = (0..bytes).map(|at| (at ^ (at >> 8)) as u8).collect();
        client.send(None, &data)?;
        let (there, from) = next(&mut server)?;
        good &= is("from", from, SocketAddr::new(LOCAL, client.port()));
        server.send(Some(from), &there)?;
        let (back, from) = next(&mut client)?;
        good &= is(
            "answer",
            (back == data, from),
            (true, SocketAddr::new(LOCAL, 7)),
        );
    }
    let long = client.send(None, &vec![0; LONGEST + 1]);
    good &= is("too long", fault(long), refused(TcpFault::TooLong));
    let other = client.send(Some(stranger), b"x");
    good &= is("to another", fault(other), refused(TcpFault::NotPermitted));
    // What comes from another is not given to it.
    let mut third = Datagrams::open(names, "/udp")?;
    third.send(Some(SocketAddr::new(LOCAL, client.port())), b"x")?;
    let none = client.receive(Duration::from_millis(100));
    good &= is("from another", fault(none), Some(Error::Timeout));
    third.send(
        Some(SocketAddr::new(IpAddr::V6(Ipv6Addr::LOCALHOST), 7)),
        b"six",
    )?;
    good &= is("IPv6", next(&mut server)?.0, b"six".to_vec());
    // Several wait, in order.
    for number in 0..10 {
        client.send(None, &[number])?;
    }
    for number in 0..10 {
        good &= is("in order", next(&mut server)?.0, vec![number]);
    }
    Ok(good)
}

/// What is not there, not allowed, or held.
fn refusals(names: &mut Names) -> Result<bool, Error> {
    let mut good = true;
    for bad in [
        "/udp/127.0.0.1",
        "/udp/127.0.0.1/0",
        "/udp/224.0.0.1/7",
        "/udp/listen/0",
        "/udp/a b/7",
    ] {
        good &= is(
            bad,
            fault(Datagrams::open(names, bad)),
            Some(Error::NotFound),
        );
    }
    let mut alone = Datagrams::open(names, "/udp/127.0.0.1/9")?;
    alone.send(None, b"x")?;
    good &= is(
        "nobody",
        fault(next(&mut alone)),
        refused(TcpFault::Refused),
    );
    let mut far = Datagrams::open(names, "/udp")?;
    let sent = far.send(
        Some(SocketAddr::new(Ipv4Addr::new(10, 1, 2, 3).into(), 7)),
        b"x",
    );
    good &= is("far", fault(sent), refused(TcpFault::Unreachable));
    // Who is bound to an address of one family has no way to the other.
    let six = IpAddr::V6(Ipv6Addr::LOCALHOST);
    for (own, other) in [(LOCAL, six), (six, LOCAL)] {
        let mut bound = Datagrams::bind(names, "/udp", SocketAddr::new(own, 73))?;
        let sent = bound.send(Some(SocketAddr::new(other, 7)), b"x");
        good &= is(
            "to the other family",
            fault(sent),
            refused(TcpFault::Unreachable),
        );
        bound.send(Some(SocketAddr::new(own, 73)), b"own")?;
        good &= is("to itself", next(&mut bound)?.0, b"own".to_vec());
        drop(bound);
        sing_sdk::time::sleep(Duration::from_millis(50));
    }
    let at = |names: &mut Names, ip, port| {
        fault(Datagrams::bind(names, "/udp", SocketAddr::new(ip, port)))
    };
    let held = Datagrams::bind(names, "/udp", SocketAddr::new(LOCAL, 70))?;
    good &= is("held", at(names, LOCAL, 70), refused(TcpFault::InUse));
    good &= is("held for all", at(names, ANY, 70), refused(TcpFault::InUse));
    let strange = Ipv4Addr::new(10, 9, 9, 9).into();
    good &= is(
        "not here",
        at(names, strange, 71),
        refused(TcpFault::NotLocal),
    );
    let own = SocketAddr::new(LOCAL, 72);
    let other = Datagrams::bind(names, "/udp/listen/71", own);
    good &= is(
        "another port",
        fault(other),
        refused(TcpFault::NotPermitted),
    );
    drop(held);
    sing_sdk::time::sleep(Duration::from_millis(50));
    good &= is("free again", at(names, LOCAL, 70), None);
    // A share is limited, and given back.
    for round in 0..3 {
        let mut all = Vec::new();
        let ended = loop {
            match Datagrams::open(names, "/udp") {
                Ok(one) if all.len() < MANY => all.push(one),
                other => break fault(other),
            }
        };
        let limit =
            matches!(ended, Some(Error::NoResources)) || ended == refused(TcpFault::NoResources);
        good &= is(
            "a share",
            (round, limit, all.len() > 8),
            (round, true, true),
        );
        drop(all);
        sing_sdk::time::sleep(Duration::from_millis(200));
    }
    Ok(good)
}

/// Names and echoes, without any server.
fn hosts(names: &mut Names) -> Result<bool, Error> {
    let mut good = is("localhost", net::look_up(names, "localhost")?, vec![LOCAL]);
    good &= is(
        "an address",
        net::look_up(names, "10.0.0.1")?,
        vec![[10, 0, 0, 1].into()],
    );
    let unknown = net::look_up(names, "nobody.example");
    good &= is("unknown", fault(unknown), refused(TcpFault::NoServer));
    for bad in ["", "a b", "-\u{e4}", &"a.".repeat(200)] {
        good &= is(
            bad,
            fault(net::look_up(names, bad)),
            refused(TcpFault::NoName),
        );
    }
    let (imp, exp) = ResolveContract::new_channel()?;
    names.bind("/dns/localhost", exp)?;
    let only = imp.recv_success()?;
    let other = match only.call_lookup(Text::new("a.example")?) {
        ResolveContract::imp::Ready_Lookup::NotFound(fault, _) => Some(fault),
        _ => None,
    };
    good &= is("another name", other, Some(TcpFault::NotPermitted));
    for host in ["127.0.0.1", "::1", "localhost"] {
        let (_, took) = Echo::new(names, host)?.ask(1024, SOON)?;
        good &= is(host, took < SOON, true);
    }
    let long = Echo::new(names, "127.0.0.1")?.ask(1025, SOON);
    good &= is("long", fault(long), refused(TcpFault::TooLong));
    let far = Echo::new(names, "10.1.2.3")?.ask(1, SOON);
    good &= is("far", fault(far), refused(TcpFault::Unreachable));
    for bad in ["224.0.0.1", "a b", "0.0.0.0"] {
        good &= is(bad, fault(Echo::new(names, bad)), Some(Error::NotFound));
    }
    Ok(good)
}

fn check(names: &mut Names) -> Result<i32, Error> {
    let good = conversation(names)? & refusals(names)? & hosts(names)?;
    println!(
        "{}",
        if good {
            "all as it should be"
        } else {
            "not as it should be"
        }
    );
    Ok(i32::from(!good))
}

/// Sends back what comes, up to one that begins with `end`.
fn echo(names: &mut Names, port: &str) -> Result<i32, Error> {
    let mut all = Datagrams::open(names, &format!("/udp/listen/{port}"))?;
    loop {
        if let Came::Datagram(data, from) = all.receive(Duration::from_secs(60))? {
            let data = data.to_vec();
            all.send(Some(from), &data)?;
            if data.starts_with(b"end") {
                return Ok(0);
            }
        }
    }
}

/// Sends datagrams of many lengths; one that is lost is sent again.
fn to(names: &mut Names, host: &str, port: &str) -> Result<i32, Error> {
    let mut all = Datagrams::open(names, &format!("/udp/{host}/{port}"))?;
    let mut good = true;
    for bytes in (1..=1400).step_by(37) {
        let data = vec![bytes as u8; bytes];
        let mut back = Err(Error::Timeout);
        for _ in 0..5 {
            all.send(None, &data)?;
            back = next(&mut all);
            if back.is_ok() {
                break;
            }
        }
        good &= is("answer", back?.0, data);
    }
    // Longer than any datagram, and than any block on the way.
    for bytes in [65_536, 200_000] {
        let long = all.send(None, &vec![0; bytes]);
        good &= is("too long", fault(long), refused(TcpFault::TooLong));
    }
    println!(
        "{host}: {}",
        if good {
            "all came back"
        } else {
            "not all came back"
        }
    );
    Ok(i32::from(!good))
}

#[sing_sdk::main]
fn main(Arguments { what, rest }: Arguments) -> Result<i32, Error> {
    let mut names = Names::new(startup::names().ok_or(Error::NotFound)?)?;
    match (what.as_str(), &rest[..]) {
        ("check", []) => check(&mut names),
        ("echo", [port]) => echo(&mut names, port),
        ("to", [host, port]) => to(&mut names, host, port),
        _ => Err(Error::BadArgument),
    }
}
