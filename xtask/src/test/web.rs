//! The web server of an emulated machine, asked by programs of the host through QEMU's network: by
//! a client of ours, and by curl if there is one.

mod address;
mod browser;
mod clients;
mod collector;
mod conformance;
mod crowd;
pub mod devtools;
mod flood;
mod hostile;
mod kills;
mod otlp;
mod places;
mod scan;
mod served;
mod spans;
mod tls;

use super::systems::launch;
use super::tcp::{free_port, tell};
use super::{Report, Run};
use crate::image::{self, MemoryMode, Programs};
use crate::machine::{Acceleration, Kernel, Machine};
use crate::network::Network;
use crate::system::session::Session;
use anyhow::{Context, Result, ensure};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::{Duration, Instant};

/// How long a boot and all requests may take.
const TIME: Duration = Duration::from_secs(120);
/// The server's port, and the one over which the machine is told to end.
const PORT: u16 = 80;
const END: u16 = 81;
/// How often something is killed, on the hosted system and in a short run on a PC, which is slow.
const KILLS: u32 = 500;
const KILLS_PC: u32 = 40;
/// Requests over one connection.
const REQUESTS: usize = 30;

/// On the hosted system.
pub fn hosted(run: &Run) -> Result<Report> {
    let mut report = hostile::hosted(run)?;
    flood::hosted(run, &mut report);
    address::check(run, Machine::Hosted, &mut report)?;
    address::usual(run, &mut report);
    browser::check(run, &mut report)?;
    clients::check(run, &mut report)?;
    conformance::check(run, &mut report)?;
    places::check(run, &mut report)?;
    kills::check(run, Machine::Hosted, KILLS, &mut report)?;
    spans::check(run, &mut report)?;
    tls::check(run, &mut report)?;
    Ok(report)
}

/// On the smallest and the usual PC.
pub fn pc(run: &Run) -> Result<Report> {
    let mut report = Report::default();
    for machine in [Machine::Microvm, Machine::Q35] {
        address::check(run, machine, &mut report)?;
    }
    let kills = if run.all { KILLS } else { KILLS_PC };
    kills::check(run, Machine::Microvm, kills, &mut report)?;
    flood::pc(run, &mut report);
    let images = image::compile_programs(&run.project, Programs::WithTests, MemoryMode::Guard)?;
    for machine in [Machine::Microvm, Machine::Q35] {
        let name = format!("web server on {}", machine.name());
        if !run.wants(&name) {
            continue;
        }
        let [inward, end] = [free_port()?, free_port()?];
        let mut kernel = Kernel::prepare(&run.project, machine, Acceleration::Emulated)?;
        kernel.networks = vec![Network::user(&[(inward, PORT), (end, END)])];
        kernel.entropy = true;
        let script = format!(
            "httpd; echo ready; echo over | nc -l {END}; httpd | grep failed; httpd stop; \
             sleep 0.5; sweep && echo swept"
        );
        let deadline = Instant::now() + TIME;
        let mut session = Session::start(launch(&run.project, &images, &kernel, Some(&script))?)?;
        let talked = ready(&mut session, deadline).and_then(|key| {
            let key = key.context("httpd has shown no address of the system")?;
            talk(inward, &key)
        });
        // In any case: the machine need not wait.
        let told = tell(end);
        let (output, ended) = session.finish(deadline);
        let judged = talked.map_err(|e| format!("{e:#}")).and_then(|()| {
            told.map_err(|e| format!("{e:#}"))?;
            let whole = ["failed       0\n", "swept\n"];
            match whole.iter().find(|w| !output.contains(**w)) {
                Some(missing) => Err(format!("no `{}`, {ended:?}", missing.trim())),
                None => Ok(()),
            }
        });
        report.count(name, judged.map_err(|why| format!("{why}\n{output}")));
    }
    Ok(report)
}

/// Waits until the server listens; the key to the system's pages, if it was shown.
fn ready(session: &mut Session, deadline: Instant) -> Result<Option<String>> {
    let mut key = None;
    loop {
        let line = session.line(deadline);
        let line = line.map_err(|e| anyhow::anyhow!("the machine is not ready: {e:?}"))?;
        if let Some((_, shown)) = line.split_once("/system#") {
            key = Some(shown.trim().to_owned());
        }
        if line.contains("ready") {
            return Ok(key);
        }
    }
}

fn talk(port: u16, key: &str) -> Result<()> {
    requests(port).context("requests over one connection")?;
    watched(port, key).context("the system in a browser")?;
    refused(port).context("a request that is none")?;
    match clients::is_there("curl", "--version")? {
        true => clients::curl_greeted(port),
        false => Ok(()),
    }
}

/// Requests over one connection, each answered by another process.
fn requests(port: u16) -> Result<()> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).context("cannot connect")?;
    stream.set_read_timeout(Some(TIME))?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut bodies = Vec::new();
    for number in 0..REQUESTS {
        write!(
            &stream,
            "GET /hello?name={number} HTTP/1.1\r\nHost: x\r\n\r\n"
        )?;
        let mut length = 0;
        let mut line = String::new();
        reader.read_line(&mut line)?;
        ensure!(
            line == "HTTP/1.1 200 OK\r\n",
            "the answer begins with {line:?}"
        );
        while line != "\r\n" {
            line.clear();
            ensure!(reader.read_line(&mut line)? > 0, "the head has no end");
            if let Some(value) = line.strip_prefix("Content-Length: ") {
                length = value.trim().parse()?;
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        let body = String::from_utf8(body)?;
        let hello = format!("Hello, {number}, from a process of your own");
        ensure!(body.starts_with(&hello), "the answer is {body:?}");
        bodies.push(body.rsplit(' ').next().unwrap_or_default().to_owned());
    }
    bodies.sort();
    bodies.dedup();
    ensure!(
        bodies.len() == REQUESTS,
        "{} processes for {REQUESTS} requests",
        bodies.len()
    );
    Ok(())
}

/// Asks for something of the system's page; of events, the first two.
fn ask(port: u16, line: &str, key: &str) -> Result<String> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(TIME))?;
    write!(
        stream,
        "{line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 0\r\n\
         Authorization: Bearer {key}\r\n\r\n"
    )?;
    // Events go on: two are enough.
    let (mut text, mut block) = (Vec::new(), [0; 4096]);
    loop {
        let count = stream.read(&mut block)?;
        text.extend_from_slice(&block[..count]);
        let said = String::from_utf8_lossy(&text);
        if count == 0 || said.matches("event: look\n").count() > 2 {
            return Ok(said.into_owned());
        }
    }
}

/// The system is seen with the key, from another machine, too; nothing is ended from there.
fn watched(port: u16, key: &str) -> Result<()> {
    let kill = "POST /system/kill?id=1";
    for (line, key, words) in [
        ("GET /system", "", ["HTTP/1.1 200 ", "<!doctype html>"]),
        ("GET /metrics", "", ["HTTP/1.1 403 ", "the key is missing"]),
        (
            "GET /metrics",
            key,
            ["HTTP/1.1 200 ", "# TYPE singularity_info gauge\n"],
        ),
        (
            "GET /system/events",
            key,
            ["\"control\":false", "\"name\":\"nameserver\""],
        ),
        (
            kill,
            key,
            ["HTTP/1.1 403 ", "only who has connected from this machine"],
        ),
    ] {
        let text = ask(port, line, key).with_context(|| line.to_owned())?;
        let missing = words.iter().find(|word| !text.contains(**word));
        ensure!(missing.is_none(), "{line}: no {missing:?} in {text}");
    }
    Ok(())
}

fn refused(port: u16) -> Result<()> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).context("cannot connect")?;
    stream.set_read_timeout(Some(TIME))?;
    stream
        .write_all(b"GET / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    ensure!(text.starts_with("HTTP/1.1 400 "), "the answer is {text:?}");
    Ok(())
}
