//! Connections of TCP within the machine: `connections check` tries what can be asked and what is
//! refused, `connections storm N` kills N clients and servers of an echo in all states, and looks
//! what is left.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

#[path = "../../storm.rs"]
mod storm;

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use core::time::Duration;
use sing_sdk::names::Names;
use sing_sdk::net::{self, Listener};
use sing_sdk::prelude::*;
use sing_sdk::process::{Child, stop};
use sing_sdk::{inspect, system, thread, time};
use storm::{Draw, left_behind, settled, verdict};

sing_sdk::manifest! {
    name: "connections",
    description: "tries connections of TCP",
    privileges: [create, inspect, control],
    endpoints: {
        stdout: optional PipeContract.Imp:Start,
        stderr: optional PipeContract.Imp:Start,
        names: NamespaceContract.Imp:Start,
        until: optional PipeContract.Exp:Start,
    },
    memory: 64 MiB,
}

sing_sdk::arguments! {
    /// What to do: check, storm, echo, serve or client.
    what: one String "WHAT";
    /// How often, or at which port.
    number: default u32 = 0, "NUMBER";
}

const LOCAL: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const ANY: IpAddr = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
/// How long the network may take to start again.
const PATIENCE: Duration = Duration::from_secs(10);

fn path(port: u16) -> String {
    format!("/tcp/127.0.0.1/{port}")
}

/// Sends back what comes, without looking at it: both ends of one pipe are the network's.
fn echo(connection: net::Connection) -> Result<net::Joined, Error> {
    let (input, output) = PipeContract::new_channel()?;
    connection.open(output, input)
}

fn serve(names: &mut Names, port: u16) -> Result<i32, Error> {
    let mut listener = Listener::new(names, "/tcp", SocketAddr::new(ANY, port), 16)?;
    loop {
        if let Ok((connection, _)) = listener.accept() {
            let _ = echo(connection);
        }
    }
}

/// Sends back what comes over one connection.
fn echo_once(names: &mut Names, port: u16) -> Result<i32, Error> {
    let mut listener = Listener::new(names, "/tcp", SocketAddr::new(ANY, port), 1)?;
    let (connection, _) = listener.accept()?;
    net::wait(echo(connection)?)?;
    Ok(0)
}

/// A pattern that differs at each place.
fn byte(at: usize) -> u8 {
    (at ^ (at >> 8) ^ (at >> 16)) as u8
}

/// Sends so much and reads it back, both at once; whether it is the same.
fn round_trip(names: &mut Names, port: u16, bytes: usize) -> Result<bool, Error> {
    let (mut output, mut input, joined) = net::connect(names, &path(port))?.into_pipes()?;
    let writer = thread::spawn(move || {
        let mut at = 0;
        while at < bytes {
            let piece: Vec<u8> = (at..bytes.min(at + 10_007)).map(byte).collect();
            at += piece.len();
            if output.write(&piece).is_err() {
                return;
            }
        }
        let _ = output.settle();
    })?;
    let back = input.read_to_end();
    drop(writer);
    net::wait(joined)?;
    Ok(back.len() == bytes && back.iter().enumerate().all(|(at, b)| *b == byte(at)))
}

/// What a request should be refused for.
fn expect<T>(what: &str, result: Result<T, Error>, wanted: Error) -> bool {
    match result {
        Err(error) if error == wanted => true,
        Err(error) => {
            println!("{what}: {error:?}, not {wanted:?}");
            false
        }
        Ok(_) => {
            println!("{what}: done, not {wanted:?}");
            false
        }
    }
}

fn check(names: &mut Names) -> Result<i32, Error> {
    let refused = |fault| Error::Network(fault);
    let mut good = true;
    let connect = |names: &mut Names, path: &str| net::connect(names, path)?.into_pipes();
    good &= expect(
        "nobody",
        connect(names, &path(9)),
        refused(TcpFault::Refused),
    );
    good &= expect(
        "far",
        connect(names, "/tcp/10.1.2.3/80"),
        refused(TcpFault::Unreachable),
    );
    for bad in [
        "/tcp/127.0.0.1/0",
        "/tcp/127.0.0.1/65536",
        "/tcp/127.0.0.1/+80",
        "/tcp/127.0.0.1/080",
        "/tcp/127.0.0.1",
        "/tcp/0.0.0.0/80",
        "/tcp/224.0.0.1/80",
        "/tcp/no body/80",
        "/tcp/127.0.0.1/80/x",
        "/tcp/listen/0",
        "/tcp/listen",
    ] {
        good &= expect(bad, connect(names, bad), Error::NotFound);
    }
    good &= expect(
        "the whole",
        connect(names, "/tcp"),
        refused(TcpFault::NotPermitted),
    );
    let listen = |names: &mut Names, path: &str, ip, port| {
        Listener::new(names, path, SocketAddr::new(ip, port), 4)
    };
    let mut first = listen(names, "/tcp", LOCAL, 80)?;
    good &= expect(
        "held",
        listen(names, "/tcp", LOCAL, 80),
        refused(TcpFault::InUse),
    );
    good &= expect(
        "held for all",
        listen(names, "/tcp", ANY, 80),
        refused(TcpFault::InUse),
    );
    let strange = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
    good &= expect(
        "not here",
        listen(names, "/tcp", strange, 81),
        refused(TcpFault::NotLocal),
    );
    let other = listen(names, "/tcp/listen/90", LOCAL, 91);
    good &= expect("another port", other, refused(TcpFault::NotPermitted));
    let second = listen(names, "/tcp/listen/90", LOCAL, 0)?;
    good &= second.port() == 90;
    drop(second);
    good &= listen(names, "/tcp", ANY, 90).is_ok();
    let free = listen(names, "/tcp", ANY, 0)?;
    good &= free.port() >= 49152;

    let server = thread::spawn(move || {
        while let Ok((connection, _)) = first.accept() {
            let _ = echo(connection);
        }
    })?;
    for bytes in [0, 1, 1460, 65_535, 65_536, 1 << 20] {
        let same = round_trip(names, 80, bytes)?;
        if !same {
            println!("{bytes} bytes: not the same");
        }
        good &= same;
    }
    drop(server);
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

/// Connects again and again until it is killed, each time a little further.
fn client(names: &mut Names, port: u16) -> Result<i32, Error> {
    let mut draw = Draw(u64::from(sing_sdk::process::id()) | 1);
    loop {
        let connected = net::connect(names, &path(port)).and_then(net::Connection::into_pipes);
        let Ok((mut output, mut input, joined)) = connected else {
            time::sleep(Duration::from_millis(1));
            continue;
        };
        let _ = output.write(&vec![7; draw.below(200_000) as usize]);
        match draw.below(3) {
            0 => drop(joined.send_abort()),
            1 => drop(input.receive()),
            _ => {
                drop(output);
                let _ = input.read_to_end();
            }
        }
    }
}

fn child(names: &mut Names, what: &str, port: u16) -> Result<Child, Error> {
    let port = port.to_string();
    let child = Child::of("connections").args(["connections", what, &port]);
    Ok(child.endpoint("names", names.connect()?).start()?)
}

/// The process that is the network now.
fn network() -> Result<Option<u32>, Error> {
    let all = inspect::processes()?;
    let found = all.iter().find(|p| p.name == "network");
    Ok(found.map(|p| p.id))
}

/// Ends the network, and waits until it is started again.
fn renew() -> Result<(), Error> {
    let old = network()?.ok_or(Error::NotFound)?;
    system::stop(old, stop::KILLED)?;
    let end = time::uptime() + PATIENCE;
    while network()?.is_none_or(|new| new == old) {
        if time::uptime() > end {
            println!("connections: the network does not start again");
            return Err(Error::Timeout);
        }
        time::sleep(Duration::from_millis(10));
    }
    Ok(())
}

fn storm(names: &mut Names, times: u32) -> Result<i32, Error> {
    const PORT: u16 = 7007;
    let mut draw = Draw(0x5eed);
    let mut round = |names: &mut Names, times: u32| -> Result<u32, Error> {
        let mut killed = 0;
        let mut server = child(names, "serve", PORT)?;
        while killed < times {
            let clients = [child(names, "client", PORT)?, child(names, "client", PORT)?];
            time::sleep(Duration::from_micros(draw.below(20_000)));
            if draw.below(4) == 0 {
                server.stop(stop::KILLED)?;
                server.join()?;
                server = child(names, "serve", PORT)?;
                killed += 1;
            }
            for client in clients {
                client.stop(stop::KILLED)?;
                client.join()?;
                killed += 1;
            }
        }
        server.stop(stop::KILLED)?;
        server.join()?;
        Ok(killed)
    };
    // The network's heap grows with what is under way: what is compared is that of a new one.
    round(names, 10)?;
    renew()?;
    let before = settled()?;
    let killed = round(names, times)?;
    renew()?;
    let left = left_behind("connections", &before, 0, settled)?;
    Ok(verdict("connections", left, killed, 0, "clients"))
}

#[sing_sdk::main]
fn main(Arguments { what, number }: Arguments) -> Result<i32, Error> {
    let mut names = Names::new(startup::names().ok_or(Error::NotFound)?)?;
    let port = u16::try_from(number).map_err(|_| Error::BadArgument)?;
    match what.as_str() {
        "check" => check(&mut names),
        "echo" => echo_once(&mut names, port),
        "serve" => serve(&mut names, port),
        "client" => client(&mut names, port),
        "storm" => storm(&mut names, number),
        _ => Err(Error::BadArgument),
    }
}
