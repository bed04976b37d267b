//! The hosted web server beside RFC 9110 and RFC 9112: a table of requests, good ones, unusual ones and
//! broken ones, each with what may be answered. There is no ready suite for servers of HTTP/1.1.
//!
//! Behind each case follows one more request over the same connection, so that it shows where the
//! server takes a request to end, and whether it goes on behind one that it has refused. What comes back
//! is read by h11, a library that has nothing of ours (`answers.py`): all of it must be answers of
//! HTTP/1.1, and nothing may be left. If the machine has nginx, it is asked the same; where its answer
//! is another, a line says so. What is refused here and not there is by choice.

mod nginx;
mod table;

use super::served::{Served, serve};
use crate::test::{Report, Run};
use anyhow::{Context, Result, ensure};
use nginx::Nginx;
use serde::Deserialize;
use std::fmt::Write as _;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use table::{Case, Facts, Then};

const NAME: &str = "conformance";
const TABLES: [&str; 2] = [
    include_str!("conformance/messages.txt"),
    include_str!("conformance/semantics.txt"),
];
/// The request behind each case, and the content of its answer, which is that of `/a.txt`.
const NEXT: &[u8] = b"GET /a.txt?next HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
/// How long a connection may take.
const TIME: Duration = Duration::from_secs(8);
/// The most time that a connection takes which has been served to its end: else it was left open.
const MOST: Duration = Duration::from_secs(5);

/// All cases.
fn cases() -> Result<Vec<Case>> {
    let all: Result<Vec<_>> = TABLES.iter().map(|text| table::read(text)).collect();
    Ok(all?.concat())
}

/// The files that cases ask for: a short one, one that is worth being packed, a directory.
fn files() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("a.txt", b"0123456789".repeat(20)),
        ("b.txt", b"a text that repeats.".repeat(100)),
        ("d/index.html", b"<!doctype html><title>d</title>".to_vec()),
    ]
}

/// What came back over a connection.
struct Back {
    bytes: Vec<u8>,
    time: Duration,
}

/// An answer, as h11 reads it.
#[derive(Debug, Deserialize)]
struct Answer {
    status: u16,
    interim: Vec<u16>,
    headers: Vec<(String, String)>,
    body: String,
}

/// What h11 says of a connection.
#[derive(Debug, Deserialize)]
struct Said {
    answers: Vec<Answer>,
    left: usize,
    fault: Option<String>,
}

impl Answer {
    fn has(&self, name: &str) -> bool {
        self.headers.iter().any(|(n, _)| n == name)
    }

    /// Whether it has this header, or content that begins so.
    fn shows(&self, word: &str) -> bool {
        let interim = self.interim.iter().any(|status| status.to_string() == word);
        let small = word.to_ascii_lowercase();
        let line = |(name, value): &(String, String)| {
            let line = format!("{name}: {value}").to_ascii_lowercase();
            line.starts_with(&small)
        };
        interim || self.body.starts_with(word) || self.headers.iter().any(line)
    }

    /// What every answer must have (RFC 9110, 6.6.1, 10.2.1, 14.4 and 15.5.6).
    fn lacks(&self) -> Option<&'static str> {
        let needs = |is: bool, name| (is && !self.has(name)).then_some(name);
        needs((200..500).contains(&self.status), "date")
            .or(needs(self.status == 405, "allow"))
            .or(needs(matches!(self.status, 206 | 416), "content-range"))
            .or(needs(
                matches!(self.status, 301 | 302 | 307 | 308),
                "location",
            ))
    }
}

/// On the hosted system.
pub fn check(run: &Run, report: &mut Report) -> Result<()> {
    if !run.wants(NAME) {
        return Ok(());
    }
    if let Some(reason) = run.without.python() {
        report.skipped.push(format!("{NAME}: {reason}"));
        return Ok(());
    }
    let packages = packages(run)?;
    let cases = cases()?;
    let served = Served {
        files: files(),
        // Connections of one address, half of them, may be ending still.
        config: "mount /try web-try deadline 5s\nconnections 64\nheader 3s\nidle 3s\n".into(),
        shows: "",
    };
    serve(run, NAME, served, report, |port| {
        let own = judge(&packages, &cases, port)?;
        let wrong: Vec<&String> = own.iter().filter_map(|(_, wrong)| wrong.as_ref()).collect();
        println!(
            "  {} requests, {} answered otherwise",
            cases.len(),
            wrong.len()
        );
        let text = wrong.iter().fold(String::new(), |mut text, line| {
            let _ = writeln!(text, "{line}");
            text
        });
        let beside = Nginx::start(&run.project, &files(), port)?;
        if let Some(nginx) = &beside {
            let others = judge(&packages, &cases, nginx.port)?;
            compare(&cases, &own, &others, &nginx.version);
        }
        ensure!(wrong.is_empty(), "{text}");
        Ok(())
    })
}

/// Has h11 installed, as its list says; the folder that it is in.
fn packages(run: &Run) -> Result<PathBuf> {
    let list = run
        .project
        .root
        .join("xtask/src/test/web/conformance/packages.txt");
    let folder = run.project.out().join("conformance-packages");
    crate::test::deploy::install(&list, &folder, &["--require-hashes"])?;
    Ok(folder)
}

/// Asks a server all; of each case what it has answered, in short, and why that is wrong.
fn judge(packages: &Path, cases: &[Case], port: u16) -> Result<Vec<(String, Option<String>)>> {
    let facts = facts(port)?;
    let mut lines = String::new();
    let mut times = Vec::new();
    for case in cases {
        let back = ask(port, &case.pieces(&facts)?).with_context(|| case.name.clone())?;
        let mut methods = case.methods()?;
        methods.truncate(case.answers.len());
        methods.push("GET".into());
        let hex: String = back.bytes.iter().map(|b| format!("{b:02x}")).collect();
        let line = serde_json::json!({ "methods": methods, "bytes": hex });
        writeln!(lines, "{line}")?;
        times.push(back.time);
    }
    let said = read(packages, &lines)?;
    ensure!(said.len() == cases.len(), "{} lines of h11", said.len());
    let all = cases.iter().zip(said).zip(times);
    Ok(all
        .map(|((case, said), time)| {
            let short = short(case, &said);
            let wrong = wrong(case, &said, time)
                .map(|why| format!("{}: {}: {why}; {short}", case.section, case.name));
            (short, wrong)
        })
        .collect())
}

/// What is to be known of the file before conditions can name it. It has not been changed for a
/// while then, so that the answers stay what they are.
fn facts(port: u16) -> Result<Facts> {
    let back = ask(port, &[])?;
    let text = String::from_utf8_lossy(&back.bytes).into_owned();
    let of = |name: &str| {
        let mut lines = text.lines().filter_map(|line| line.split_once(": "));
        let found = lines.find(|(n, _)| n.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.to_owned())
    };
    let facts = of("etag").zip(of("last-modified"));
    let (tag, date) = facts.with_context(|| format!("the file has no tag or date: {text:?}"))?;
    Ok(Facts { tag, date })
}

/// Sends pieces, and one more request behind them; all that comes back.
fn ask(port: u16, pieces: &[Vec<u8>]) -> Result<Back> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).context("cannot connect")?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(TIME))?;
    stream.set_write_timeout(Some(TIME))?;
    let (come, begun) = (Mutex::new(Vec::new()), Instant::now());
    let far = |come: &Mutex<Vec<u8>>| come.lock().map(|all| all.len()).unwrap_or_default();
    let read = std::thread::scope(|scope| {
        let reader = scope.spawn(|| -> std::io::Result<()> {
            let mut block = [0; 4096];
            loop {
                match (&stream).read(&mut block) {
                    Ok(0) => return Ok(()),
                    Ok(count) => {
                        if let Ok(mut all) = come.lock() {
                            all.extend_from_slice(&block[..count]);
                        }
                    }
                    // What was sent behind the end was not read.
                    Err(e) if e.kind() == ErrorKind::ConnectionReset => return Ok(()),
                    Err(e) => return Err(e),
                }
            }
        });
        let last = pieces.len();
        for (number, piece) in pieces.iter().map(Vec::as_slice).chain([NEXT]).enumerate() {
            let (end, so_far) = (Instant::now() + table::WAIT, far(&come));
            while (1..last).contains(&number) && far(&come) == so_far && Instant::now() < end {
                std::thread::sleep(Duration::from_millis(2));
            }
            // A server that has refused what came before takes no more.
            if (&stream).write_all(piece).is_err() {
                break;
            }
        }
        reader
            .join()
            .unwrap_or_else(|p| std::panic::resume_unwind(p))
    });
    read.with_context(|| format!("no end of the connection in {:?}", begun.elapsed()))?;
    let bytes = come.into_inner().unwrap_or_default();
    let time = begun.elapsed();
    Ok(Back { bytes, time })
}

/// Has h11 read what came back.
fn read(packages: &Path, lines: &str) -> Result<Vec<Said>> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/test/web/conformance/answers.py");
    let mut child = Command::new("python3")
        .arg(script)
        .env("PYTHONPATH", packages)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start python3")?;
    let mut input = child.stdin.take().context("no standard input")?;
    let output = std::thread::scope(|scope| {
        scope.spawn(move || input.write_all(lines.as_bytes()));
        child.wait_with_output()
    })?;
    ensure!(output.status.success(), "answers.py has failed");
    let text = String::from_utf8(output.stdout)?;
    let said = text.lines().map(serde_json::from_str);
    said.collect::<Result<_, _>>()
        .context("not what answers.py says")
}

/// The answers to a case, and whether the connection went on: `400, ends`.
fn short(case: &Case, said: &Said) -> String {
    let own = said.answers.iter().take(case.answers.len());
    let statuses: Vec<String> = own.map(|answer| answer.status.to_string()).collect();
    let then = match said.answers.len() > case.answers.len() {
        true => "goes on",
        false => "ends",
    };
    let fault = said.fault.as_deref();
    let fault = fault.map_or(String::new(), |fault| format!(" ({fault})"));
    format!("{}, {then}{fault}", statuses.join(" "))
}

/// Why what came back is not what may come, if it is not.
fn wrong(case: &Case, said: &Said, time: Duration) -> Option<String> {
    if let Some(fault) = &said.fault {
        return Some(format!("no answer of HTTP/1.1: {fault}"));
    }
    if said.left > 0 {
        return Some(format!("{} bytes behind the last answer", said.left));
    }
    let (own, next) = said
        .answers
        .split_at(case.answers.len().min(said.answers.len()));
    for (number, may) in case.answers.iter().enumerate() {
        match own.get(number) {
            None => return Some(format!("answer {number} is missing")),
            Some(answer) if !may.contains(&answer.status) => {
                return Some(format!("answer {number} is none of {may:?}"));
            }
            Some(answer) => {
                if let Some(name) = answer.lacks() {
                    return Some(format!("answer {number} has no {name}"));
                }
                if !answer.interim.is_empty() && !case.expects() {
                    return Some(format!("{:?} came unasked", answer.interim));
                }
            }
        }
    }
    for (is, word) in &case.words {
        if own.first().is_some_and(|answer| answer.shows(word) != *is) {
            let not = if *is { "not " } else { "" };
            return Some(format!("`{word}` is {not}there: {:?}", own.first()));
        }
    }
    match (next.first(), case.then) {
        (Some(_), Then::Ends) => return Some("the next request is answered".into()),
        (None, Then::On) => return Some("the next request is not answered".into()),
        (Some(next), _) if next.status != 200 || next.body.len() != 200 => {
            return Some(format!("the next request is answered {next:?}"));
        }
        // RFC 9112, 9.6.
        (None, _)
            if !own
                .last()
                .is_some_and(|last| last.shows("connection: close")) =>
        {
            return Some("the last answer does not say that the connection ends".into());
        }
        _ => {}
    }
    (time > MOST).then(|| format!("the connection was left open for {time:.1?}"))
}

/// Says where another server answers otherwise.
fn compare(
    cases: &[Case],
    own: &[(String, Option<String>)],
    others: &[(String, Option<String>)],
    version: &str,
) {
    println!("  {version} answers otherwise:");
    for ((case, (own, _)), (other, wrong)) in cases.iter().zip(own).zip(others) {
        if own != other {
            let wrong = if wrong.is_some() {
                ", not as the table says"
            } else {
                ""
            };
            println!(
                "    {}: {}: {own} here, {other}{wrong}",
                case.section, case.name
            );
        }
    }
}
