//! Ordinary programs that answer requests of HTTP (`tests/ordinary/cgi.rs`, `cgi.c`,
//! `handler.wat`), served by `sing serve` and asked by curl, as a person would.

mod back;

use super::ordinary;
use super::tcp::free_port;
use super::{Report, Run};
use crate::{build, cargo, files, wasi};
use anyhow::{Context, Result, bail, ensure};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// The target of Rust's programs for WASI preview 1.
const TARGET: &str = "wasm32-wasip1";
/// The time for a request, which `sing serve` is told.
const DEADLINE: &str = "2s";
/// How long a client waits.
const PATIENCE: &str = "30";
/// Bytes of a large body.
const LARGE: usize = 10 << 20;
/// Clients at a time, and requests of each.
const CLIENTS: usize = 24;
const REQUESTS: usize = 4;

/// Makes the programs and serves them.
pub fn check(run: &Run) -> Result<Report> {
    let mut report = Report::default();
    wasi::serving(&run.project)?;
    let folder = format!("serve-{}", std::process::id());
    let folder = run.project.out().join(folder);
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let place = Place { run, folder };
    place.make()?;
    type Test = fn(&Place<'_>) -> Result<()>;
    let all: [(&str, Test); 9] = [
        ("answers", answers),
        ("programs that go wrong", wrong),
        ("many at once", many),
        ("large bodies", large),
        ("in C", in_c),
        ("the least memory", least),
        ("components", component),
        ("what is refused", refused),
        ("the end", end),
    ];
    for (name, test) in all.into_iter().filter(|(name, _)| run.wants(name)) {
        report.count(name, test(&place).map_err(|e| format!("{e:#}")));
    }
    if run.wants(back::BACK) {
        match ordinary::target() {
            Ok(()) => report.count(back::BACK, back::back(&place).map_err(|e| format!("{e:#}"))),
            Err(reason) => report.skipped.push(format!("{}: {reason}", back::BACK)),
        }
    }
    fs::remove_dir_all(&place.folder).ok();
    Ok(report)
}

struct Place<'a> {
    run: &'a Run,
    folder: PathBuf,
}

impl Place<'_> {
    fn source(&self, name: &str) -> PathBuf {
        self.run.project.root.join("tests/ordinary").join(name)
    }

    /// Compiles the programs.
    fn make(&self) -> Result<()> {
        let mut rustc = Command::new("rustc");
        rustc.args(["--edition", "2024", "-O", "--target", TARGET]);
        rustc.arg(self.source("cgi.rs")).arg("-o");
        rustc.arg(self.folder.join("cgi.wasm"));
        let why = format!("compiling cgi.rs (`rustup target add {TARGET}` installs its target)");
        cargo::quiet(&mut rustc, &why)?;
        let mut clang = Command::new("clang");
        clang.args(["--target=wasm32", "-O2", "-nostdlib", "-Wall", "-Werror"]);
        clang.arg("-Wl,--export=_start").arg(self.source("cgi.c"));
        clang.arg("-o").arg(self.folder.join("c.wasm"));
        cargo::quiet(&mut clang, "compiling cgi.c")?;
        fs::create_dir_all(self.folder.join("data"))?;
        files::write(&self.folder.join("data/a.txt"), "of the host\n")
    }

    fn command(&self, options: &[&str], module: &Path) -> Command {
        let mut command = Command::new(self.run.project.host_binary("sing"));
        command.env("SING_CACHE", self.folder.join("cache"));
        command.current_dir(&self.folder).arg("serve");
        command.args(options).arg(module).stdin(Stdio::null());
        command
    }

    /// Serves a program, until this is dropped.
    fn serve(&self, module: &str, options: &[&str]) -> Result<Server> {
        let port = free_port()?;
        let log = self.folder.join(format!("{port}.log"));
        let own = port.to_string();
        let all = [&["--port", own.as_str()], options].concat();
        let mut command = self.command(&all, Path::new(module));
        command.stdout(Stdio::piped()).stderr(File::create(&log)?);
        let mut child = command.spawn().context("cannot start sing")?;
        let mut line = String::new();
        let output = child.stdout.take().context("no output")?;
        BufReader::new(output).read_line(&mut line)?;
        let server = Server { child, port, log };
        let wanted = format!("{module}: listening at http://127.0.0.1:{port}/ until Ctrl-C\n");
        ensure!(line == wanted, "{line:?} was said, and {}", server.log()?);
        Ok(server)
    }
}

/// A program that is served.
struct Server {
    child: Child,
    port: u16,
    log: PathBuf,
}

impl Server {
    fn log(&self) -> Result<String> {
        Ok(String::from_utf8_lossy(&fs::read(&self.log)?).into_owned())
    }

    /// Waits until the log has a word.
    fn logs(&self, word: &str) -> Result<()> {
        let end = Instant::now() + Duration::from_secs(10);
        while !self.log()?.contains(word) {
            ensure!(Instant::now() < end, "no {word:?} in {}", self.log()?);
            thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    /// Begins a request.
    fn curl(&self, options: &[&str], path: &str) -> Command {
        let mut command = Command::new("curl");
        command.args(["-sS", "--max-time", PATIENCE]).args(options);
        command.arg(format!("http://127.0.0.1:{}/{path}", self.port));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// The head and the body of an answer, together.
    fn get(&self, path: &str) -> Result<String> {
        let output = self.curl(&["-i"], path).output()?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn answers(&self, path: &str, words: &[&str]) -> Result<String> {
        let answer = self.get(path)?;
        let missing = words.iter().find(|word| !answer.contains(**word));
        match missing {
            None => Ok(answer),
            Some(word) => bail!("{path}: no {word:?} in {answer:?}; {}", self.log()?),
        }
    }

    /// Tells it to end, as Ctrl-C does.
    fn interrupt(&self) -> Result<()> {
        let id = self.child.id().to_string();
        let status = Command::new("kill").args(["-INT", &id]).status()?;
        ensure!(status.success(), "cannot signal sing: {status}");
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // One that has ended is no fault.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn answers(place: &Place<'_>) -> Result<()> {
    let server = place.serve(
        "cgi.wasm",
        &[
            "--dir",
            "data::/data",
            "--env",
            "A=b #c",
            "--env",
            "REMOTE_ADDR=9",
        ],
    )?;
    let port = format!("SERVER_PORT={}\n", server.port);
    let all = server.answers(
        "env?q=%20",
        &[
            "HTTP/1.1 200 OK\r\n",
            "Content-Type: text/plain\r\n",
            "\nA=b #c\n",
            "GATEWAY_INTERFACE=CGI/1.1\n",
            "PATH_INFO=/env\n",
            "QUERY_STRING=q=%20\n",
            "REMOTE_ADDR=127.0.0.1\n",
            "REQUEST_METHOD=GET\n",
            "SCRIPT_NAME=\n",
            "SERVER_NAME=127.0.0.1\n",
            &port,
            "arguments=[\"cgi.wasm\"]\n",
        ],
    )?;
    ensure!(!all.contains("CONTENT_LENGTH"), "{all}");
    server.logs("said on standard error")?;
    let options = [
        "-H",
        "Proxy: evil",
        "-H",
        "X_A: evil",
        "-H",
        "X-A: 1",
        "-H",
        "X-A: 2",
    ];
    let output = server.curl(&options, "env").output()?;
    let all = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(
        all.contains("HTTP_X_A=1, 2\n") && !all.contains("evil"),
        "{all}"
    );
    server.answers("missing", &["HTTP/1.1 404 Not Found\r\n", "nothing here"])?;
    server.answers(
        "redirect",
        &["HTTP/1.1 302 Found\r\n", "Location: /env\r\n"],
    )?;
    server.answers("file?a.txt", &["200 OK", "\r\n\r\nof the host\n"])?;
    server.answers("file?../x", &["404"])?;
    let output = server.curl(&["-I"], "env").output()?;
    let head = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(output.status.success() && head.contains("200 OK"), "{head}");
    Ok(())
}

fn wrong(place: &Place<'_>) -> Result<()> {
    let server = place.serve("cgi.wasm", &["--deadline", DEADLINE])?;
    let failed = |path: &str, status: &str, why: &str| -> Result<()> {
        let answer = server.answers(path, &[status])?;
        let id = answer.split("Request ").nth(1);
        let id = id
            .and_then(|rest| rest.split(';').next())
            .context("no name of the request")?;
        server.logs(&format!("request {id}: "))?;
        server.logs(why)
    };
    failed("crash", "500 ", "on purpose")?;
    server.logs("died of: unreachable code was reached")?;
    failed(
        "broken",
        "500 ",
        "line 1 of its head, \"<p>Hello, no header.\"",
    )?;
    failed("silent", "500 ", "before the empty line that ends the head")?;
    failed("headers", "500 ", "its head has more than 16384 bytes")?;
    // While one never ends, others are answered.
    let begin = Instant::now();
    let mut spins = server.curl(&["-i"], "spin").spawn()?;
    server.answers("?Ada", &["200 OK", "Hello, Ada."])?;
    ensure!(
        begin.elapsed() < Duration::from_secs(2),
        "it took {:?}",
        begin.elapsed()
    );
    let mut answer = String::new();
    spins
        .stdout
        .take()
        .context("no output")?
        .read_to_string(&mut answer)?;
    ensure!(
        spins.wait()?.success() && answer.contains("504 "),
        "{answer}"
    );
    server.logs("has not answered within 2s")?;
    // What is not the whole is not taken for it.
    for path in ["exit", "flood"] {
        let output = server.curl(&["-o", "/dev/null"], path).output()?;
        ensure!(output.status.code() == Some(18), "{path}: {output:?}");
    }
    server.logs("the program ended with status 3 within its answer")?;
    server.answers("?Ada", &["200 OK", "Hello, Ada."]).map(drop)
}

fn many(place: &Place<'_>) -> Result<()> {
    let server = place.serve("cgi.wasm", &["--at-once", "8"])?;
    let ask = |number: usize| -> Result<()> {
        for again in 0..REQUESTS {
            let name = format!("{number}-{again}");
            let output = server
                .curl(&["-f", "--retry", "5"], &format!("?{name}"))
                .output()?;
            let answer = String::from_utf8_lossy(&output.stdout).into_owned();
            ensure!(
                answer == format!("Hello, {name}.\n"),
                "{answer:?}, {output:?}"
            );
        }
        Ok(())
    };
    thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS).map(|n| scope.spawn(move || ask(n))).collect();
        let mut ended = clients.into_iter().map(|client| client.join().ok());
        ended.try_for_each(|result| result.context("a client")?)
    })?;
    ensure!(!server.log()?.contains("request "), "{}", server.log()?);
    Ok(())
}

fn large(place: &Place<'_>) -> Result<()> {
    let server = place.serve("cgi.wasm", &[])?;
    let body: Vec<u8> = (0..LARGE as u32).map(|i| (i * 31 / 7) as u8).collect();
    let file = place.folder.join("large");
    fs::write(&file, &body)?;
    let data = format!("@{}", file.display());
    let output = server
        .curl(&["-f", "--data-binary", &data], "echo")
        .output()?;
    ensure!(
        output.stdout == body,
        "{} bytes came back",
        output.stdout.len()
    );
    let chunked = [
        "-f",
        "-H",
        "Transfer-Encoding: chunked",
        "--data-binary",
        &data,
    ];
    let output = server.curl(&chunked, "count").output()?;
    let count = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(count == format!("{LARGE} of \n"), "{count:?}");
    drop(server);
    let server = place.serve("cgi.wasm", &["--body", "1M"])?;
    let output = server
        .curl(&["-i", "--data-binary", &data], "count")
        .output()?;
    let answer = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(answer.contains("HTTP/1.1 413 "), "{answer:?}");
    Ok(())
}

fn in_c(place: &Place<'_>) -> Result<()> {
    let server = place.serve("c.wasm", &[])?;
    let output = server.curl(&["-i", "-d", "twelve bytes"], "").output()?;
    let answer = String::from_utf8_lossy(&output.stdout).into_owned();
    let good = answer.contains("201 Created\r\n") && answer.ends_with("\r\n\r\nfrom C: 12\n");
    ensure!(good, "{answer:?}; {}", server.log()?);
    Ok(())
}

/// The least memory that a process may be given is enough for programs of either language.
fn least(place: &Place<'_>) -> Result<()> {
    let server = place.serve("cgi.wasm", &["--memory", "4M"])?;
    for name in ["Ada", "Grace"] {
        let hello = format!("Hello, {name}.");
        server.answers(&format!("?{name}"), &["200 OK", &hello])?;
    }
    drop(server);
    let server = place.serve("c.wasm", &["--memory", "4M"])?;
    server.answers("", &["201 Created\r\n", "\r\n\r\nfrom C: 0\n"])?;
    Ok(())
}

/// Before anything listens.
fn refused(place: &Place<'_>) -> Result<()> {
    let lacks = place.folder.join("lacks.wasm");
    build::module_of_text(&place.run.project, &place.source("lacks.wat"), &lacks)?;
    let says = |output: Output, status: i32, words: &[&str]| -> Result<()> {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        let good = output.status.code() == Some(status) && output.stdout.is_empty();
        ensure!(
            good && words.iter().all(|word| said.contains(word)),
            "{output:?}"
        );
        Ok(())
    };
    let module = Path::new("cgi.wasm");
    let all = [
        "wasi_snapshot_preview1: a function (sock_open); only WasmEdge has such",
        "env: a function (jump)",
    ];
    says(place.command(&[], &lacks).output()?, 1, &all)?;
    let component = place.folder.join("component.wasm");
    fs::write(&component, b"\0asm\x0d\0\x01\0")?;
    let why = [
        "cannot run here, for 2 reasons",
        "has no module in which a program could be",
        "exports no wasi:http/incoming-handler@0.2",
    ];
    says(place.command(&[], &component).output()?, 1, &why)?;
    let options = ["--dir", "no/such"];
    let why = ["--dir no/such: there is no such directory"];
    says(place.command(&options, module).output()?, 1, &why)?;
    let taken = std::net::TcpListener::bind(("127.0.0.1", 0))?;
    let port = taken.local_addr()?.port().to_string();
    let why = ["cannot listen there", "without --port"];
    says(place.command(&["--port", &port], module).output()?, 1, &why)?;
    let why = ["--deadline 5: it must be a time"];
    says(
        place.command(&["--deadline", "5"], module).output()?,
        2,
        &why,
    )
}

/// A handler of `wasi:http`: each request is a process's.
fn component(place: &Place<'_>) -> Result<()> {
    let module = place.folder.join("handler.wasm");
    build::module_of_text(&place.run.project, &place.source("handler.wat"), &module)?;
    let server = place.serve("handler.wasm", &["--deadline", DEADLINE])?;
    let head = "HTTP/1.1 200 OK\r\n";
    server.answers(
        "any?q=1",
        &[head, "content-type: text/plain", "\r\n\r\n/any?q=1"],
    )?;
    server.answers("missing", &["HTTP/1.1 404 Not Found\r\n", "/missing"])?;
    let output = server.curl(&["-I"], "any").output()?;
    let answer = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(
        output.status.success() && answer.contains("200 OK"),
        "{answer}"
    );
    // More than any buffer on the way.
    let large: Vec<u8> = (0..LARGE as u32).map(|i| (i * 31 / 7) as u8).collect();
    let body = place.folder.join("echoed");
    fs::write(&body, &large)?;
    let body = format!("@{}", body.display());
    let output = server.curl(&["--data-binary", &body], "echo").output()?;
    ensure!(
        output.status.success() && output.stdout == large,
        "{} bytes came back; {}",
        output.stdout.len(),
        server.log()?
    );
    for (path, why) in [
        ("trap", "unreachable"),
        ("nothing", "the component ended without an answer"),
        ("refuse", "answers with error 37 of wasi:http"),
    ] {
        server.answers(path, &["HTTP/1.1 500"])?;
        server.logs(why)?;
    }
    // Its client does not take the part for the whole.
    let output = server.curl(&[], "unfinished").output()?;
    ensure!(!output.status.success(), "{output:?}");
    server.logs("before it had finished the body of its answer")?;
    server.answers("after", &[head])?;
    Ok(())
}

/// What is under way is answered; then the system has ended, and its port is free.
fn end(place: &Place<'_>) -> Result<()> {
    let mut server = place.serve("cgi.wasm", &[])?;
    let mut slow = server.curl(&[], "slow").spawn()?;
    thread::sleep(Duration::from_millis(300));
    server.interrupt()?;
    let mut answer = String::new();
    slow.stdout
        .take()
        .context("no output")?
        .read_to_string(&mut answer)?;
    ensure!(
        slow.wait()?.success() && answer == "at last\n",
        "{answer:?}; {}",
        server.log()?
    );
    let status = server.child.wait()?;
    ensure!(status.success(), "{status}; {}", server.log()?);
    std::net::TcpListener::bind(("127.0.0.1", server.port)).context("its port")?;
    Ok(())
}
