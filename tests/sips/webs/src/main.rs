//! Clients of the web server: `webs check PORT` asks what can be asked, and what is refused; `webs
//! files PORT` the same of files; `webs watch PORT` what shows the system; `webs slow PORT` holds
//! connections beside a good client; `webs many PORT N` asks often, and looks what is left; `webs
//! beside PORT N` looks what others leave until one connects to port N.
#![no_std]
#![no_main]
#![deny(unsafe_code)]

extern crate alloc;

#[path = "../../storm.rs"]
#[allow(dead_code, reason = "others use the rest")]
mod storm;

mod client;
mod files;
mod messages;
mod requests;
mod watch;

use client::{Answer, Client, get};
use core::net::{IpAddr, Ipv6Addr, SocketAddr};
use core::time::Duration;
use sing_sdk::names::Names;
use sing_sdk::net;
use sing_sdk::prelude::*;
use sing_sdk::time::uptime;
use sing_sdk::{inspect, thread};
use storm::{left_behind, settled};

sing_sdk::manifest! {
    name: "webs",
    description: "asks a web server",
    privileges: [create, inspect],
    endpoints: {
        stdout: optional PipeContract.Imp:Start,
        stderr: optional PipeContract.Imp:Start,
        names: NamespaceContract.Imp:Start,
    },
    memory: 64 MiB,
}

sing_sdk::arguments! {
    /// What to do: check, files, watch, slow, many, beside.
    what: one String "WHAT";
    /// The server's port.
    port: one u32 "PORT";
    /// How often; a port.
    number: default u32 = 0, "NUMBER";
}

/// What has been asked, and how much of it was answered otherwise than it should be.
pub struct Tally {
    /// How much was asked.
    pub asked: u32,
    /// How much of it was wrong.
    pub wrong: u32,
}

impl Tally {
    /// Counts what should be so.
    pub fn holds(&mut self, what: &str, good: bool) {
        self.asked += 1;
        if !good {
            self.wrong += 1;
            println!("{what}: not so");
        }
    }

    /// Counts an answer that should be so.
    pub fn is(&mut self, what: &str, good: bool, answer: &Answer) {
        self.asked += 1;
        if !good {
            self.wrong += 1;
            let body: String = answer.text().chars().take(200).collect();
            println!(
                "{what}: {} whole {}\n{}{body}",
                answer.status, answer.whole, answer.headers
            );
        }
    }
}

/// What a connection that is only held has sent: a part of a head, or a whole one without its body,
/// of which files want nothing, and a program much.
const HELD: [&str; 3] = [
    "GET / HTTP/1.1\r\nHost: ",
    "POST /a.txt HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n",
    "POST /hello HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n",
];

/// Connections that never complete a request, as many as the server takes and more, keep a good
/// client from nothing, and are ended.
fn slow(names: &mut Names, port: u16, number: u32) -> Result<bool, Error> {
    for sent in HELD {
        if !hold(names, port, number, sent)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn hold(names: &mut Names, port: u16, number: u32, sent: &str) -> Result<bool, Error> {
    let mut held = Vec::new();
    for at in 0..number {
        let mut client = Client::open(names, port)?;
        client.send(sent.as_bytes())?;
        held.push(client);
        // The good client comes again and again.
        if at % 8 == 7 {
            let began = uptime();
            let answer = get(names, port, "/hello")?;
            let time = uptime().saturating_sub(began);
            if answer.status != 200 || time > Duration::from_secs(5) {
                println!("after {at} of {sent:?}: {} in {time:?}", answer.status);
                return Ok(false);
            }
        }
    }
    // Each goes on to send a byte now and then, which helps it nothing.
    let began = uptime();
    while !held.is_empty() && uptime().saturating_sub(began) < Duration::from_secs(30) {
        held.retain_mut(|client| {
            let open = client.send(b"x").is_ok();
            let late = !open || client.more_within(Duration::from_millis(1));
            !late
        });
        thread::sleep(Duration::from_millis(100));
    }
    if !held.is_empty() {
        println!("{} slow clients are connected still", held.len());
    }
    Ok(held.is_empty())
}

/// More connections than the network remembers.
const REMEMBERED: u32 = 100;

/// Says which programs have more memory than they had.
fn pages(then: &[inspect::Process]) -> Result<(), Error> {
    for process in inspect::processes()? {
        let was = then.iter().find(|p| p.id == process.id).map(|p| p.pages);
        if was != Some(process.pages) {
            println!("{}: {} pages, before {was:?}", process.name, process.pages);
        }
    }
    Ok(())
}

/// A request beside which there is none: a thread that has ended is freed when the next one begins,
/// and the last one is alone then. Returns how many were answered otherwise.
fn alone(names: &mut Names, port: u16) -> Result<u32, Error> {
    thread::sleep(Duration::from_millis(500));
    Ok(u32::from(get(names, port, "/nowhere")?.status != 404))
}

/// Requests that each make a process, some of which crash, leave nothing behind.
fn many(names: &mut Names, port: u16, number: u32) -> Result<bool, Error> {
    // The network remembers the last connections that have ended.
    for _ in 0..REMEMBERED {
        get(names, port, "/nowhere")?;
    }
    let mut round = |number: u32| -> Result<u32, Error> {
        let mut bad = 0;
        let mut client = Client::open(names, port)?;
        for at in 0..number {
            let (path, wanted) = match at % 50 {
                49 => ("/try/crash", 500),
                48 => ("/try/stream?bytes=30000", 200),
                47 => ("/nowhere", 404),
                _ => ("/hello", 200),
            };
            client.send(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes())?;
            let answer = client.answer(false);
            bad += u32::from(answer.status != wanted || !answer.whole);
            if answer.header("connection") == Some("close") {
                client = Client::open(names, port)?;
            }
        }
        drop(client);
        bad += alone(names, port)?;
        Ok(bad)
    };
    // As much as is measured, since memory that a program has had once stays its own.
    let mut bad = round(number)?;
    let before = settled()?;
    let then = inspect::processes()?;
    let began = uptime();
    bad += round(number)?;
    let time = uptime().saturating_sub(began);
    let same = !left_behind("webs", &before, 0, || {
        bad += alone(names, port)?;
        settled()
    })?;
    pages(&then)?;
    println!(
        "{number} requests, {bad} answered otherwise, {} left behind",
        if same { "nothing" } else { "something" }
    );
    sing_sdk::log!("{number} requests in {time:?}");
    Ok(bad == 0 && same)
}

/// Pages that programs may have more after thousands of connections: as many at once need memory that
/// stays theirs, and how many are at once is left to chance. That is less than 500 bytes for each
/// connection, of which no record would be left.
const KEPT: u64 = 1024;

/// What others leave behind who ask between now and the time when one connects to a port.
fn beside(names: &mut Names, port: u16, until: u32) -> Result<bool, Error> {
    let until = u16::try_from(until).map_err(|_| Error::BadArgument)?;
    let any = SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), until);
    let state = |names: &mut Names| -> Result<_, Error> {
        let mut bad = 0;
        for _ in 0..REMEMBERED {
            bad += u32::from(get(names, port, "/nowhere")?.status != 404);
        }
        bad += alone(names, port)?;
        Ok((settled()?, bad))
    };
    let (before, mut bad) = state(names)?;
    let then = inspect::processes()?;
    println!("ready");
    let path = format!("/tcp/listen/{until}");
    let mut listener = net::Listener::new(names, &path, any, 1)?;
    let (connection, _) = listener.accept()?;
    drop(listener);
    // Who connected is answered, and knows by that that it was heard.
    let (mut heard, asked, joined) = connection.into_pipes()?;
    heard.write(b"over\n")?;
    heard.settle()?;
    drop((heard, asked));
    net::wait(joined)?;
    let same = !left_behind("webs", &before, KEPT, || {
        let (after, more) = state(names)?;
        bad += more;
        Ok(after)
    })?;
    pages(&then)?;
    let left = if same { "nothing" } else { "something" };
    println!("{bad} answered otherwise, {left} left behind");
    Ok(bad == 0 && same)
}

#[sing_sdk::main]
fn main(Arguments { what, port, number }: Arguments) -> Result<i32, Error> {
    let mut names = Names::new(startup::names().ok_or(Error::NotFound)?)?;
    let port = u16::try_from(port).map_err(|_| Error::BadArgument)?;
    let mut tally = Tally { asked: 0, wrong: 0 };
    let good = match what.as_str() {
        "check" => requests::check(&mut names, port, &mut tally).map(|()| tally.wrong == 0)?,
        "files" => files::check(&mut names, port, &mut tally).map(|()| tally.wrong == 0)?,
        "watch" => watch::check(&mut names, port, &mut tally).map(|()| tally.wrong == 0)?,
        "slow" => slow(&mut names, port, number)?,
        "beside" => beside(&mut names, port, number)?,
        "many" => many(&mut names, port, number)?,
        _ => return Err(Error::BadArgument),
    };
    if good {
        println!("{what}: all as it should be");
    }
    Ok(i32::from(!good))
}
