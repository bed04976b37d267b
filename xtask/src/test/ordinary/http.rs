//! Components that ask servers by HTTP (`tests/ordinary/http`, of crates as any program's), with a server of Python's that
//! also misbehaves on the other side.

use super::components::PREVIEW_2;
use super::{Ordinary, free_port, is};
use crate::cargo;
use crate::project::Project;
use anyhow::{Context, Result, ensure};
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The test's name.
pub const HTTP: &str = "components ask servers by HTTP";

/// Builds the components; the path of one.
pub fn built(project: &Project, name: &str) -> Result<PathBuf> {
    let folder = project.root.join("tests/ordinary/http");
    let out = project.target.join("ordinary-http");
    let words = [
        "build",
        "--release",
        "--locked",
        "--target",
        PREVIEW_2,
        "--target-dir",
    ];
    let mut command = cargo::command(&folder, &words);
    command.arg(&out);
    // The flags for programs of this system are none for these.
    command.env("CARGO_ENCODED_RUSTFLAGS", "");
    cargo::quiet(&mut command, "building tests/ordinary/http")?;
    Ok(out.join(format!("{PREVIEW_2}/release/{name}.wasm")))
}

/// The server; it ends with its input.
pub struct Server {
    child: Child,
    /// Where it listens.
    pub port: u16,
}

impl Server {
    pub fn start(project: &Project) -> Result<Server> {
        let mut command = Command::new("python3");
        command.arg(project.root.join("tests/ordinary/http/server.py"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().context("cannot start python3")?;
        let output = child.stdout.take().context("no output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let port = line.trim().parse().context("no port")?;
        Ok(Server { child, port })
    }

    fn at(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // One that has ended is no fault.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// All of it.
pub fn asks(machine: &Ordinary<'_>) -> Result<()> {
    let module = built(&machine.run.project, "client")?;
    let cache = machine.folder.join("cache");
    let server = Server::start(&machine.run.project)?;
    let run = |option: &str, words: &[&str]| {
        let options: &[&str] = match option {
            "" => &[],
            option => &[option],
        };
        machine.run_with_cache(&cache, options, &module, words, b"")
    };
    let says = |option: &str, way: &str, url: &str, text: &str| -> Result<()> {
        let output = run(option, &[way, url]).with_context(|| url.to_string())?;
        is(&output, 0, text.as_bytes()).with_context(|| format!("{way} {url}"))
    };
    good(&server, &says)?;
    let posted = run("--net", &["post", &server.at("echo"), "some text"])?;
    is(&posted, 0, b"200\nx-length: 9\nx-asked: a, b\nsome text\n").context("post")?;
    bad(&server, &says)?;
    // What a program is not permitted, its server does not hear of.
    let denied = "at once: ErrorCode::HttpRequestDenied\n";
    says("", "why", &server.at("text"), denied)?;
    let denied = "no answer: ErrorCode::HttpRequestDenied\n";
    says("--net=10.0.0.0/8", "why", &server.at("text"), denied)?;
    says("--net=127.0.0.0/8", "why", &server.at("text"), "hello\n")
}

type Says<'a> = &'a dyn Fn(&str, &str, &str, &str) -> Result<()>;

fn good(server: &Server, says: Says<'_>) -> Result<()> {
    for (way, path, text) in [
        ("get", "text", "200\nx-a: b\nhello\n"),
        ("get", "chunks", "200\nhello, chunks\n"),
        ("why", "chunks", "hello, chunks\nx-sum: 9\n"),
        ("get", "until-closed", "200\nall of it\n"),
        ("get", "missing", "404\nnone\n"),
        ("get", "echo", "200\nx-length: none\nx-asked: nothing\n\n"),
        ("large", "echo", "true\n"),
        ("many", "many", "20\n"),
        ("dropped", "slow", "hello\n"),
    ] {
        says("--net", way, &server.at(path), text)?;
    }
    let named = format!("http://localhost:{}/text", server.port);
    says("--net", "get", &named, "200\nx-a: b\nhello\n")
}

fn bad(server: &Server, says: Says<'_>) -> Result<()> {
    for (path, text) in [
        (
            "early",
            "hello\nthe body: ErrorCode::HttpResponseIncomplete\n",
        ),
        (
            "reset",
            "hello\nthe body: ErrorCode::HttpResponseIncomplete\n",
        ),
        (
            "bad-chunk",
            "hello\nthe body: ErrorCode::HttpProtocolError\n",
        ),
        ("two-lengths", "no answer: ErrorCode::HttpProtocolError\n"),
        (
            "half-a-head",
            "no answer: ErrorCode::HttpResponseIncomplete\n",
        ),
        ("nothing", "no answer: ErrorCode::ConnectionTerminated\n"),
        ("junk", "no answer: ErrorCode::HttpProtocolError\n"),
        (
            "long-head",
            "no answer: ErrorCode::HttpResponseHeaderSectionSize(Some(65536))\n",
        ),
        (
            "stall",
            "hello\nthe body: ErrorCode::ConnectionReadTimeout\n",
        ),
    ] {
        says("--net", "why", &server.at(path), text)?;
    }
    let begin = Instant::now();
    let late = "no answer: ErrorCode::ConnectionReadTimeout\n";
    says("--net", "why", &server.at("slow"), late)?;
    let took = begin.elapsed();
    ensure!(took > Duration::from_secs(1), "it took {took:?}");
    let nobody = format!("http://127.0.0.1:{}/", free_port()?);
    let refused = "no answer: ErrorCode::ConnectionRefused\n";
    says("--net", "why", &nobody, refused)?;
    let tls = "at once: ErrorCode::InternalError(Some(\"https is not there yet: ask by http, or by a proxy that speaks \
               TLS\"))\n";
    says("--net", "why", "https://127.0.0.1/", tls)
}
