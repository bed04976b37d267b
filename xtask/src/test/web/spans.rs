//! Spans of the web server at a collector: what it gets is OTLP's, and belongs together as the
//! requests did; one that is dead, slow, hostile or babbling costs requests nothing.

use super::collector::{BAD, Collector, Manner};
use super::otlp::Span;
use super::{ask, ready};
use crate::image::{self, MemoryMode, Programs};
use crate::machine::{Acceleration, Kernel, Machine};
use crate::network::Network;
use crate::system::session::Session;
use crate::test::systems::launch;
use crate::test::tcp::{free_port, tell};
use crate::test::{Report, Run};
use anyhow::{Context, Result, ensure};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::{Duration, Instant};

/// How long all may take.
const TIME: Duration = Duration::from_secs(120);
/// Requests beside each collector, and how long half of them may take beside a bad one: so many times
/// what they take beside a good one, and a little for a busy machine.
const REQUESTS: usize = 40;
const TIMES: u32 = 3;
const BUSY: Duration = Duration::from_millis(20);
/// How long a collector is waited for: the server gathers spans for a moment, and the one before may
/// have been slow.
const PATIENCE: Duration = Duration::from_secs(30);
/// The span of a client, and its trace.
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";

/// On the hosted system.
pub fn check(run: &Run, report: &mut Report) -> Result<()> {
    if !run.wants("spans") {
        return Ok(());
    }
    let images = image::compile_programs(&run.project, Programs::WithTests, MemoryMode::Guard)?;
    let [port, end, to] = [free_port()?, free_port()?, free_port()?];
    let mut kernel = Kernel::prepare(&run.project, Machine::Hosted, Acceleration::Emulated)?;
    kernel.networks = vec![Network::sockets("host,127.0.0.0/8")];
    kernel.entropy = true;
    let script = format!(
        "format --force /dev/disk0 && mount /dev/disk0 /; mkdir /web && cp /boot/notes.txt /web\n\
         echo port {port} > /1; echo mount /hello web-hello ahead 2 > /2\n\
         echo mount /try web-try deadline 1s > /3; echo mount /metrics /watch/pages > /4\n\
         echo mount /system /watch/pages > /5\n\
         echo spans http://127.0.0.1:{to}/v1/traces > /6\n\
         cat /1 /2 /3 /4 /5 /6 > /web.conf; httpd; echo ready\n\
         echo | nc -l {end}; httpd; httpd stop; sleep 0.2; sweep && echo swept\n"
    );
    let deadline = Instant::now() + TIME;
    let mut session = Session::start(launch(&run.project, &images, &kernel, Some(&script))?)?;
    let played = ready(&mut session, deadline).and_then(|key| {
        let key = key.context("httpd has shown no address of the system")?;
        play(port, to, &key)
    });
    // In any case: the system waits for it.
    let _ = tell(end);
    let (output, ended) = session.finish(deadline);
    let judged = played.map_err(|e| format!("{e:#}")).and_then(|said| {
        match ["spans-sent ", "swept\n"]
            .iter()
            .find(|w| !output.contains(**w))
        {
            Some(missing) => Err(format!("no `{}`, {ended:?}", missing.trim())),
            None => {
                println!("  {said}");
                Ok(())
            }
        }
    });
    report.count("spans", judged.map_err(|why| format!("{why}\n{output}")));
    Ok(())
}

fn play(port: u16, to: u16, key: &str) -> Result<String> {
    // Nobody listens there.
    let dead = requests(port).context("beside a dead collector")?;
    let collector = Collector::start(to)?;
    let mut medians = vec![("dead".to_owned(), dead)];
    wait_for_more(port, key, (u64::MAX, 0))?;
    good(port, &collector).context("a good collector")?;
    let beside_good = requests(port).context("beside a good collector")?;
    for manner in BAD {
        let before = counts(port, key)?;
        collector.behave(manner);
        let name = format!("{manner:?}").to_lowercase();
        let median = requests(port).with_context(|| format!("beside a {name} collector"))?;
        let asked = collector.wait_for(manner, Instant::now() + PATIENCE);
        asked.with_context(|| format!("a {name} collector"))?;
        // One that has said yes before it babbles has taken them.
        let most = match manner {
            Manner::Babbling => before,
            _ => (u64::MAX, before.1),
        };
        wait_for_more(port, key, most).with_context(|| format!("of a {name} collector"))?;
        medians.push((name, median));
    }
    // It has got better, and gets what comes.
    collector.behave(Manner::Good);
    let (sent, _) = counts(port, key)?;
    wait_for_more(port, key, (sent, u64::MAX)).context("after the bad ones")?;
    let bound = beside_good * TIMES + BUSY;
    let slow = medians.iter().find(|(_, median)| *median > bound);
    ensure!(
        slow.is_none(),
        "{slow:?}, and {beside_good:?} beside a good one"
    );
    let shown = medians
        .iter()
        .map(|(name, median)| format!("{name} {median:.2?}"));
    let shown: Vec<_> = shown.collect();
    Ok(format!(
        "half of the requests within {beside_good:.2?} beside a good collector; {}",
        shown.join(", ")
    ))
}

/// Requests one after the other; how long the one in the middle took.
fn requests(port: u16) -> Result<Duration> {
    let mut times = Vec::new();
    for _ in 0..REQUESTS {
        let begin = Instant::now();
        let text = ask(port, "GET /hello?name=a", "")?;
        times.push(begin.elapsed());
        ensure!(text.contains("Hello, a, from"), "{text}");
    }
    times.sort();
    Ok(times[REQUESTS / 2])
}

/// How many spans were sent and dropped, by the figures.
fn counts(port: u16, key: &str) -> Result<(u64, u64)> {
    let text = ask(port, "GET /metrics", key)?;
    let of = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let line = line.with_context(|| format!("no {name} in {text}"))?;
        line.trim().parse::<u64>().context("not a number")
    };
    let sent = of("singularity_web_spans_sent_total ")?;
    Ok((sent, of("singularity_web_spans_dropped_total ")?))
}

/// Waits until more than so many are sent, or dropped.
fn wait_for_more(port: u16, key: &str, (sent, dropped): (u64, u64)) -> Result<()> {
    let end = Instant::now() + PATIENCE;
    loop {
        let now = counts(port, key)?;
        if now.0 > sent || now.1 > dropped {
            return Ok(());
        }
        ensure!(Instant::now() < end, "{} sent and {} dropped", now.0, now.1);
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Asks with a `traceparent`.
fn traced(port: u16, path: &str, parent: &str) -> Result<String> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\ntraceparent: {parent}\r\n\
         tracestate: a=b\r\n\r\n"
    )?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}

/// What a good collector gets of some requests.
fn good(port: u16, collector: &Collector) -> Result<()> {
    let end = Instant::now() + PATIENCE;
    let parent = format!("00-{TRACE}-{PARENT}-01");
    let headers = traced(port, "/try/headers?a=b", &parent)?;
    traced(port, "/notes.txt", &parent)?;
    let crashed = traced(port, "/try/crash", &parent)?;
    ensure!(crashed.starts_with("HTTP/1.1 500 "), "{crashed}");
    // Its maker does not record it: it comes to the program as it was.
    let quiet = parent.replace("-01", "-00").replace("4bf9", "5bf9");
    let unrecorded = traced(port, "/try/headers", &quiet)?;
    ensure!(
        unrecorded.contains(&format!("\ntraceparent: {quiet}\n")),
        "{unrecorded}"
    );
    // A context that is none.
    let fresh = traced(port, "/try/headers?fresh", "00-0-0-01")?;
    ensure!(!fresh.contains("tracestate"), "{fresh}");
    let last = |span: &Span| span.value("url.query") == Some("fresh");
    let all = collector.wait(last, end)?;
    ensure!(
        !all.iter().any(|s| s.trace_id.starts_with("5bf9")),
        "{all:#?}"
    );

    let server = |path: &str| {
        let found = all
            .iter()
            .find(|s| s.kind == 2 && s.value("url.path") == Some(path));
        found.with_context(|| format!("no span of {path} in {all:#?}"))
    };
    let of = server("/try/headers")?;
    check_server(of, "GET /try", "200")?;
    let steps = below(&all, of, &["create web-try", "run web-try", "end web-try"])?;
    // What the program asks others for belongs to its own span.
    let given = format!("\ntraceparent: 00-{TRACE}-{}-01\n", steps[1].span_id);
    ensure!(headers.contains(&given), "no {given:?} in {headers}");
    ensure!(headers.contains("\ntracestate: a=b\n"), "{headers}");
    ensure!(steps[1].value("process.pid").is_some(), "{steps:#?}");
    check_server(server("/notes.txt")?, "GET", "200")?;
    let file = below(&all, server("/notes.txt")?, &["open", "read"])?;
    ensure!(file[0].value("file.path") == Some("notes.txt"), "{file:#?}");
    let crash = server("/try/crash")?;
    check_server(crash, "GET /try", "500")?;
    ensure!(crash.value("error.type") == Some("500"), "{crash:#?}");
    let steps = below(&all, crash, &["run web-try"])?;
    let run = &steps[0];
    let id = crash.value("singularity.request.id").unwrap_or("?");
    ensure!(
        crashed.contains(&format!("X-Request-Id: {id}\r\n")),
        "{crashed}"
    );
    ensure!(run.value("error.type") == Some("crash"), "{run:#?}");
    ensure!(
        run.status.message.contains("integer division by zero"),
        "{run:#?}"
    );
    let own = all.iter().find(|span| last(span)).context("no span")?;
    ensure!(
        own.parent_span_id.is_empty() && own.trace_id != TRACE,
        "{own:#?}"
    );
    let given = format!("\ntraceparent: 00-{}-", own.trace_id);
    ensure!(fresh.contains(&given), "no {given:?} in {fresh}");
    Ok(())
}

/// A server's span of the client's trace.
fn check_server(span: &Span, name: &str, status: &str) -> Result<()> {
    let good = span.name == name
        && span.trace_id == TRACE
        && span.parent_span_id == PARENT
        && span.value("http.request.method") == Some("GET")
        && span.value("http.response.status_code") == Some(status)
        && span.status.code == if status == "500" { 2 } else { 0 };
    ensure!(good, "not {name}, {status}: {span:#?}");
    Ok(())
}

/// The spans of these names within another, one after the other in time and within its own.
fn below<'a>(all: &'a [Span], of: &Span, names: &[&str]) -> Result<Vec<&'a Span>> {
    let (begin, end) = of.times()?;
    let mut found = Vec::new();
    let mut last = begin;
    for name in names {
        let is = |s: &&Span| s.parent_span_id == of.span_id && s.name == *name;
        let span = all.iter().find(is);
        let span = span.with_context(|| format!("no {name} within {of:#?} in {all:#?}"))?;
        let times = span.times()?;
        let inside = last <= times.0 && times.1 <= end && span.trace_id == of.trace_id;
        ensure!(inside, "{span:#?} is not within {of:#?}");
        last = times.1;
        found.push(span);
    }
    Ok(found)
}
