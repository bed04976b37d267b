//! Clients that others use, at the hosted web server over plain HTTP: curl, one in Go by `net/http`, one
//! in Python by its standard library and its sockets, and wrk for a short load. A client that the
//! machine lacks is left out by its name.

use super::served::{Served, serve};
use crate::cargo;
use crate::test::{Report, Run};
use anyhow::{Context, Result, ensure};
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The name of the tests, before that of the client.
const NAME: &str = "clients";
/// The content of `/f.txt`, and of `/d/`.
const FILE: &[u8; 10] = b"0123456789";
const PAGE: &[u8] = b"the page of d\n";

/// A client: its program, how it says that it is there, the package that has it, and what it does.
struct Client {
    program: &'static str,
    version: &'static str,
    package: &'static str,
    ask: fn(&Run, u16) -> Result<()>,
}

const CLIENTS: [Client; 4] = [
    Client {
        program: "curl",
        version: "--version",
        package: "curl",
        ask: |_, port| curl(port),
    },
    Client {
        program: "go",
        version: "version",
        package: "golang-go",
        ask: go,
    },
    Client {
        program: "python3",
        version: "--version",
        package: "python3",
        ask: |_, port| python(port),
    },
    Client {
        program: "wrk",
        version: "-v",
        package: "wrk",
        ask: |_, port| wrk(port),
    },
];

/// On the hosted system, one server for all.
pub fn check(run: &Run, report: &mut Report) -> Result<()> {
    let mut clients = Vec::new();
    for client in CLIENTS {
        let name = format!("{NAME}: {}", client.program);
        if !run.wants(&name) {
            continue;
        }
        match is_there(client.program, client.version)? {
            true => clients.push((name, client)),
            false => report.skipped.push(format!(
                "{name}: no {}; `apt-get install {}`",
                client.program, client.package
            )),
        }
    }
    if clients.is_empty() {
        return Ok(());
    }
    if clients.iter().any(|(_, client)| client.program == "go") {
        build_go(run)?;
    }
    let served = Served {
        files: vec![("f.txt", FILE.repeat(200)), ("d/index.html", PAGE.to_vec())],
        config: "mount /hello web-hello ahead 2 at-once 16\nmount /try web-try deadline 9s\n"
            .into(),
        shows: "",
    };
    let mut judged = Vec::new();
    serve(run, NAME, served, report, |port| {
        for (name, client) in &clients {
            judged.push((name, (client.ask)(run, port)));
        }
        Ok(())
    })?;
    for (name, judged) in judged {
        report.count(name, judged.map_err(|e| format!("{e:#}")));
    }
    Ok(())
}

/// Whether a program is there. Some end with a failure when they have shown their version.
pub fn is_there(program: &str, version: &str) -> Result<bool> {
    let tried = Command::new(program)
        .arg(version)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    match tried {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(false),
        tried => Ok(tried
            .with_context(|| format!("cannot start {program}"))?
            .code()
            .is_some()),
    }
}

/// What a program says that is to end well.
fn said(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).output();
    let output = output.with_context(|| format!("cannot start {name}"))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{name}: {text}{error}");
    Ok(text)
}

/// A program of this folder.
fn source(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("src/test/web/clients")
        .join(name)
}

/// Asks by curl for a greeting, in all ways in which a body may be sent; curl must be there.
pub fn curl_greeted(port: u16) -> Result<()> {
    let url = format!("http://127.0.0.1:{port}/hello?name=curl");
    for options in [
        &["--compressed"][..],
        &["--http1.0"],
        &["--data-binary", "some data"],
        &[
            "-H",
            "Transfer-Encoding: chunked",
            "--data-binary",
            "some data",
        ],
        &["-H", "Expect: 100-continue", "--data-binary", "some data"],
    ] {
        let text = curl_said(options, &url)?;
        let good = text.starts_with("Hello, curl, from");
        ensure!(good, "curl {options:?} has got {text:?}");
    }
    Ok(())
}

fn curl_said(options: &[&str], url: &str) -> Result<String> {
    let mut command = Command::new("curl");
    command
        .args(["-sSf", "--max-time", "60"])
        .args(options)
        .arg(url);
    said(&mut command)
}

fn curl(port: u16) -> Result<()> {
    curl_greeted(port)?;
    let url = |path: &str| format!("http://127.0.0.1:{port}/{path}");
    let file = String::from_utf8_lossy(FILE).repeat(200);
    for (options, path, wanted) in [
        (&["--compressed"][..], "f.txt", file.as_str()),
        (&["-r", "10-19"], "f.txt", "0123456789"),
        (&["-r", "-3"], "f.txt", "789"),
        (&["-L"], "d", "the page of d\n"),
        (
            &["-I", "-o", "/dev/null", "-w", "%{http_code}"],
            "f.txt",
            "200",
        ),
        (
            &["-X", "PUT", "--data-binary", "abc"],
            "try/count",
            "PUT 3\n",
        ),
        (
            &["-F", "a=b", "-o", "/dev/null", "-w", "%{http_code}"],
            "try/count",
            "200",
        ),
    ] {
        let got = curl_said(options, &url(path))?;
        let shown: String = got.chars().take(80).collect();
        ensure!(got == wanted, "curl {options:?} {path}: {shown:?}");
    }
    // Two hundred over as few connections as it takes.
    let made = curl_said(
        &["-o", "/dev/null", "-w", "%{http_code} %{num_connects}\n"],
        &url("hello?name=[1-200]"),
    )?;
    let good = made.lines().filter(|line| line.starts_with("200 ")).count();
    let connects: u32 = made
        .lines()
        .filter_map(|line| line.split(' ').nth(1)?.parse::<u32>().ok())
        .sum();
    ensure!(
        good == 200 && connects == 1,
        "curl has got {good} pages over {connects} connections"
    );
    // One that has not changed is not sent again.
    let shown = curl_said(&["-I"], &url("f.txt"))?;
    let tag = shown.lines().find_map(|line| line.strip_prefix("ETag: "));
    let condition = format!("If-None-Match: {}", tag.context("no tag")?.trim());
    let status = curl_said(&["-H", &condition, "-w", "%{http_code}"], &url("f.txt"))?;
    ensure!(status == "304", "curl, not changed: {status}");
    Ok(())
}

/// Builds the client in Go, which takes longer than a server waits.
fn build_go(run: &Run) -> Result<()> {
    let out = run.project.out().join("go");
    let mut command = Command::new("go");
    command
        .args(["build", "-o"])
        .arg(out.join("client"))
        .arg(source("client.go"))
        .env("GOCACHE", out.join("cache"))
        .env("GOPATH", &out)
        .env("GO111MODULE", "off")
        .env("CGO_ENABLED", "0")
        .env("GOTOOLCHAIN", "local");
    cargo::quiet(&mut command, "building a client in Go")
}

fn go(run: &Run, port: u16) -> Result<()> {
    let mut command = Command::new(run.project.out().join("go/client"));
    said(command.arg(format!("http://127.0.0.1:{port}"))).map(drop)
}

fn python(port: u16) -> Result<()> {
    let mut command = Command::new("python3");
    command
        .arg(source("client.py"))
        .arg(port.to_string())
        .env("PYTHONDONTWRITEBYTECODE", "1");
    said(&mut command).map(drop)
}

/// Eight connections for two seconds, for a file and for a process each.
fn wrk(port: u16) -> Result<()> {
    for path in ["f.txt", "hello"] {
        let mut command = Command::new("wrk");
        command.args(["-t1", "-c8", "-d2s", "--latency"]);
        command.arg(format!("http://127.0.0.1:{port}/{path}"));
        let text = said(&mut command)?;
        let value = |name: &str| {
            let mut lines = text
                .lines()
                .filter_map(|line| line.trim().strip_prefix(name));
            lines.next().map(str::trim)
        };
        let rate = value("Requests/sec:").and_then(|rate| rate.parse::<f64>().ok());
        println!(
            "  wrk /{path}: {} requests/s, half within {}, 99 % within {}",
            rate.unwrap_or_default(),
            value("50%").unwrap_or("?"),
            value("99%").unwrap_or("?")
        );
        let good = value("Socket errors:").is_none() && value("Non-2xx").is_none();
        ensure!(good && rate.is_some_and(|rate| rate > 1.0), "{text}");
    }
    Ok(())
}
