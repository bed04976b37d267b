//! Asks a host whether it answers, and how fast.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

use sing_sdk::prelude::*;

use core::time::Duration;
use sing_sdk::names::Names;
use sing_sdk::net::{self, Echo};
use sing_sdk::{thread, time};

sing_sdk::manifest! {
    name: "ping",
    description: "asks a host whether it answers, by echoes of ICMP: ping HOST [COUNT]",
    endpoints: {
        stdout: optional PipeContract.Imp:Start,
        stderr: optional PipeContract.Imp:Start,
        names: optional NamespaceContract.Imp:Start,
    },
}

sing_sdk::arguments! {
    /// How many bytes it is to send back, up to 1024.
    bytes: option u32 "-s BYTES";
    /// The host: a name or an address.
    host: one String "HOST";
    /// How often, once a second.
    count: default u32 = 4, "COUNT";
}

/// How long each answer may take, and the time between two requests.
const PATIENCE: Duration = Duration::from_secs(2);
const BETWEEN: Duration = Duration::from_secs(1);
/// The bytes that are sent if nothing else is said, and those of the message beside them.
const BYTES: u32 = 56;
const HEAD: u32 = 8;
/// The status if something else than the host is at fault.
const NOT_ASKED: i32 = 2;

/// The requests, and how long those took that were answered.
#[derive(Default)]
struct Tally {
    sent: u32,
    received: u32,
    least: Duration,
    most: Duration,
    sum: Duration,
}

impl Tally {
    fn add(&mut self, took: Duration) {
        self.least = match self.received {
            0 => took,
            _ => self.least.min(took),
        };
        self.most = self.most.max(took);
        self.sum += took;
        self.received += 1;
    }

    fn print(&self, host: &str) {
        let (sent, received) = (self.sent, self.received);
        let lost = u64::from(sent - received) * 100;
        let lost = lost.checked_div(sent.into()).unwrap_or(0);
        println!("--- {host} ping statistics ---");
        println!("{sent} packets transmitted, {received} received, {lost}% packet loss");
        if let Some(mean) = self.sum.checked_div(received) {
            let [least, mean, most] = [self.least, mean, self.most].map(milliseconds);
            println!("rtt min/avg/max = {least:.3}/{mean:.3}/{most:.3} ms");
        }
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// Whether echoes get no further than this machine.
fn is_alone(names: &mut Names) -> bool {
    net::links(names).is_ok_and(|links| links.len() < 2)
}

/// Why no request was sent, and what can be done about it.
fn explain(error: &Error, alone: bool) -> String {
    match error {
        Error::NotFound => "neither the name nor the address of a host".into(),
        Error::Network(TcpFault::TooLong) => format!("{error}; `-s` takes 1024 at most"),
        Error::Network(TcpFault::Unreachable | TcpFault::NoServer) if alone => format!(
            "{error}; without a network card only this machine itself answers: `--net LOCAL,REMOTE` \
             or, emulated, `--net user` gives it one. `--net host` carries TCP and UDP, and no \
             echoes, for which the host wants privileges; `nc` tries a port"
        ),
        _ => format!("{error}"),
    }
}

#[sing_sdk::main]
fn main(Arguments { bytes, host, count }: Arguments) -> Result<i32, Error> {
    let mut names = Names::given(startup::names())?;
    let bytes = bytes.unwrap_or(BYTES);
    let mut echo = match Echo::new(&mut names, &host) {
        Ok(echo) => echo,
        Err(Error::NotFound) => {
            eprintln!("ping: {host}: {}", explain(&Error::NotFound, false));
            return Ok(NOT_ASKED);
        }
        Err(error) => return Err(error),
    };
    let mut tally = Tally::default();
    println!("PING {host}: {bytes} data bytes");
    for number in 1..=count {
        let next = time::uptime() + BETWEEN;
        let answer = echo.ask(bytes, PATIENCE);
        tally.sent = number;
        match answer {
            Ok((from, took)) => {
                tally.add(took);
                let (size, took) = (bytes.saturating_add(HEAD), milliseconds(took));
                println!("{size} bytes from {from}: icmp_seq={number} time={took:.3} ms");
            }
            Err(Error::Network(fault @ (TcpFault::TimedOut | TcpFault::Unreachable)))
                if fault == TcpFault::TimedOut || !is_alone(&mut names) =>
            {
                println!("{host}: icmp_seq={number}: {fault}");
            }
            Err(error) => {
                let why = explain(&error, is_alone(&mut names));
                eprintln!("ping: {host}: {why}");
                if tally.received > 0 {
                    tally.print(&host);
                }
                return Ok(NOT_ASKED);
            }
        }
        if number < count {
            thread::sleep(next.saturating_sub(time::uptime()));
        }
    }
    tally.print(&host);
    Ok(i32::from(tally.received == 0))
}
