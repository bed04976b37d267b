//! Connects its standard input and output with another machine, or with a program that listens. It
//! gives both away: the network reads the one and writes the other, and no byte passes through here.
//! With `-u` each block of its input is a datagram ([`datagrams`]).
#![no_std]
#![no_main]
#![deny(unsafe_code)]

mod datagrams;

use sing_sdk::prelude::*;

use core::net::{IpAddr, Ipv6Addr};
use sing_sdk::io;
use sing_sdk::names::Names;
use sing_sdk::net::{self, Connection, Listener};

sing_sdk::manifest! {
    name: "nc",
    description: "connects its input and output by TCP, or UDP: nc [-u] HOST PORT; nc [-u] -l PORT",
    endpoints: { stdin: optional PipeContract.Exp:Start, stdout: optional PipeContract.Imp:Start, stderr: optional PipeContract.Imp:Start, names: optional NamespaceContract.Imp:Start },
}

sing_sdk::arguments! {
    /// By datagrams of UDP.
    udp: flag "-u";
    /// Wait for one connection, or for datagrams, at this port.
    listen: option u32 "-l PORT";
    /// Connect to this host, by its name or address, and port.
    to: many String "HOST PORT";
}

fn connection(names: &mut Names, listen: Option<u32>, to: &[String]) -> Result<Connection, Error> {
    match (listen, to) {
        (Some(port), []) => {
            let port = u16::try_from(port).map_err(|_| Error::BadArgument)?;
            let any = (IpAddr::V6(Ipv6Addr::UNSPECIFIED), port);
            let mut listener = Listener::new(names, "/tcp", any.into(), 1)?;
            listener.accept().map(|(connection, _)| connection)
        }
        (None, [host, port]) => net::connect(names, &format!("/tcp/{host}/{port}")),
        _ => Err(Error::BadArgument),
    }
}

/// What is wrong with the words behind the name, and how they should be.
fn wrong(listen: Option<u32>, to: &[String]) -> Option<String> {
    let port = match (listen, to) {
        (Some(port), []) => format!("{port}"),
        (None, [_, port]) => port.clone(),
        _ => return Some("write HOST PORT, or -l PORT and nothing behind it".into()),
    };
    let is_port = port.parse::<u16>().is_ok_and(|port| port != 0);
    (!is_port).then(|| format!("{port}: not a port; one is a number from 1 to 65535"))
}

/// What is wrong, and what helps, if something does.
fn said(listen: Option<u32>, to: &[String], error: &Error) -> String {
    match (listen, error) {
        (Some(..1024), Error::Network(TcpFault::NotPermitted)) => {
            "not permitted; ports below 1024 are for the host's root: take a larger one".into()
        }
        (Some(_), error) => format!("{error}"),
        (None, error) => net::explain(to.first().map_or("", |host| host), error),
    }
}

#[sing_sdk::main]
fn main(Arguments { udp, listen, to }: Arguments) -> i32 {
    let what = match listen {
        Some(port) => format!("port {port}"),
        None => to.join(" "),
    };
    if let Some(wrong) = wrong(listen, &to) {
        eprintln!("nc: {wrong}");
        return 2;
    }
    let Some(mut names) = startup::names().and_then(|n| Names::new(n).ok()) else {
        eprintln!("nc: no name server");
        return 1;
    };
    let exchanged = udp.then(|| datagrams::exchange(&mut names, listen, &to));
    if let Some(exchanged) = exchanged {
        return ended(&what, listen, &to, exchanged);
    }
    let connected = connection(&mut names, listen, &to).and_then(|connection| {
        let output = io::stdin().into_pipe()?;
        let input = io::take_stdout().ok_or(Error::Closed)?.into_pipe()?;
        connection.open(output, input)
    });
    ended(&what, listen, &to, connected.and_then(net::wait))
}

/// The status of the process, and why it is not 0.
fn ended(what: &str, listen: Option<u32>, to: &[String], how: Result<(), Error>) -> i32 {
    match how {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("nc: {what}: {}", said(listen, to, &error));
            1
        }
    }
}
