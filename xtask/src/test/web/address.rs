//! `cargo xtask run --web`, and `cargo xtask run` at a terminal: the address that is shown before the
//! prompt opens the system.

use super::{TIME, ask};
use crate::disk::Disk;
use crate::machine::{Launch, Machine};
use crate::run::{self, Request};
use crate::system::session::Session;
use crate::system::terminal::Terminal;
use crate::test::tcp::{free_port, tell};
use crate::test::{Report, Run};
use crate::web::Web;
use anyhow::{Context, Result, anyhow, ensure};
use std::time::{Duration, Instant};

const SHOWN: &str = "In a browser: http://127.0.0.1:";

/// A system of these options, with a disk of its own.
pub(super) fn launch(run: &Run, mut request: Request, terminal: bool) -> Result<Launch> {
    let disk = Disk::scratch(&run.project)?;
    let path = disk.path.clone();
    request.disks = vec![disk];
    let mut launch = run::prepare(&run.project, &request, terminal)?;
    launch.owns(path);
    Ok(launch)
}

/// With a port that was asked for, before a script.
pub fn check(run: &Run, machine: Machine, report: &mut Report) -> Result<()> {
    let name = format!("address of {}", machine.name());
    if !run.wants(&name) {
        return Ok(());
    }
    let [port, end] = [free_port()?, free_port()?];
    let mut request = Request {
        machine,
        web: Web::At(port),
        ..Request::default()
    };
    request.script = Some(match machine {
        // The port is this machine's.
        Machine::Hosted => format!("echo ready; echo over | nc -l {end}"),
        _ => "echo ready; sleep 5".into(),
    });
    let deadline = Instant::now() + TIME;
    let mut session = Session::start(launch(run, request, false)?)?;
    let opened = shown(&mut session, port, deadline).and_then(|key| opens(port, &key, machine));
    if machine == Machine::Hosted {
        let _ = tell(end);
    }
    let (output, ended) = session.finish(deadline);
    let judged = opened.and_then(|()| {
        let good = matches!(ended, Ok(Some(0)));
        good.then_some(()).with_context(|| format!("{ended:?}"))
    });
    report.count(name, judged.map_err(|why| format!("{why:#}\n{output}")));
    Ok(())
}

/// Waits for the address, which stands before all else; the key.
fn shown(session: &mut Session, port: u16, deadline: Instant) -> Result<String> {
    let mut key = None;
    loop {
        let line = session.line(deadline);
        let line = line.map_err(|e| anyhow!("the system is not ready: {e:?}"))?;
        if let Some((_, address)) = line.split_once(SHOWN) {
            let (of, text) = address.split_once("/system#").context("no key")?;
            ensure!(of == port.to_string(), "the port is {of}, not {port}");
            key = Some(text.trim().to_owned());
        }
        if line.trim() == "ready" {
            return key.context("no address before the script's output");
        }
    }
}

/// Whoever opens the address gets the page, sees the system, and may act only from this machine:
/// over QEMU's network it is another.
fn opens(port: u16, key: &str, machine: Machine) -> Result<()> {
    ensure!(key.len() == 32, "the key is {key:?}");
    let page = ask(port, "GET /system", "")?;
    ensure!(page.starts_with("HTTP/1.1 200 "), "the page: {page}");
    let control = format!("\"control\":{}", machine == Machine::Hosted);
    let events = ask(port, "GET /system/events", key)?;
    for word in [control.as_str(), "\"name\":\"shell\""] {
        ensure!(events.contains(word), "no {word} in {events}");
    }
    let without = ask(port, "GET /system/events", "")?;
    ensure!(without.starts_with("HTTP/1.1 403 "), "{without}");
    Ok(())
}

/// At a terminal, without any option, and once more beside that: the second takes another port.
pub fn usual(run: &Run, report: &mut Report) {
    let name = "address at the prompt";
    if run.wants(name) {
        let both = at_prompts(run).map_err(|why| format!("{why:#}"));
        report.count(
            name,
            both.map(|time| println!("  the prompt within {time:.1?}")),
        );
    }
}

/// Two systems beside each other; how long the first took to its prompt.
fn at_prompts(run: &Run) -> Result<Duration> {
    let deadline = Instant::now() + TIME;
    let mut terminals = Vec::new();
    let mut first = None;
    for _ in 0..2 {
        let launch = launch(run, Request::default(), true)?;
        let begin = Instant::now();
        let mut terminal = Terminal::start(launch)?;
        let address = format!("^{SHOWN}[0-9]+/system#[0-9a-f]{{32}}$");
        for line in [address.as_str(), "^> $"] {
            terminal.wait(line, deadline).map_err(|why| anyhow!(why))?;
        }
        first.get_or_insert(begin.elapsed());
        terminals.push(terminal);
    }
    for mut terminal in terminals {
        terminal.send(b"exit\r")?;
        ensure!(terminal.finish(deadline) == Some(0), "not ended well");
    }
    first.context("none was started")
}
