//! Channels between two hosted systems by the SIP `bridge` and a real `nats-server` on loopback:
//! answers come back, a server that is killed and started again costs what was under way, and one
//! that is hostile ends conversations and nothing else.

mod hostile;

use super::systems::launch;
use super::tcp::{free_port, tell};
use super::{Report, Run};
use crate::image::{self, MemoryMode, Programs};
use crate::machine::{Acceleration, Kernel, Machine};
use crate::network::Network;
use crate::packages::Tools;
use crate::system::session::Session;
use anyhow::{Context, Result, ensure};
use std::net::{Ipv4Addr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The server that the systems meet at.
pub const NATS: Tools = Tools {
    name: "nats-server",
    programs: &["nats-server"],
    packages: &["nats-server"],
    elsewhere: "`go install github.com/nats-io/nats-server/v2@latest` where there is Go",
};

/// How long everything may take.
const TIME: Duration = Duration::from_secs(120);
/// Calls in a row.
const CALLS: u32 = 100;

type Images = [(String, PathBuf)];

/// On the hosted system.
pub fn hosted(run: &Run) -> Result<Report> {
    let mut report = Report::default();
    let images = image::compile_programs(&run.project, Programs::WithTests, MemoryMode::Guard)?;
    if run.wants("hostile") {
        report.count("hostile server", told(hostile::play(run, &images)));
    }
    if run.wants("two systems") {
        match run.without.nats() {
            Some(reason) => report.skipped.push(reason),
            None => report.count("two systems", told(two(run, &images))),
        }
    }
    Ok(report)
}

fn told(played: Result<()>) -> Result<(), String> {
    played.map_err(|e| format!("{e:#}"))
}

/// Starts a system whose programs reach this machine's loopback.
fn start(run: &Run, images: &Images, script: &str) -> Result<Session> {
    let mut kernel = Kernel::prepare(&run.project, Machine::Hosted, Acceleration::Emulated)?;
    kernel.networks = vec![Network::sockets("host,127.0.0.0/8")];
    Session::start(launch(&run.project, images, &kernel, Some(script))?)
}

/// Waits until a system says something; what it has said is kept for the report.
fn hear(session: &mut Session, said: &mut String, word: &str) -> Result<()> {
    let deadline = Instant::now() + TIME;
    loop {
        let line = session
            .line(deadline)
            .map_err(|e| anyhow::anyhow!("the system has not said `{word}`: {e:?}\n{said}"))?;
        said.push_str(&line);
        said.push('\n');
        if line.contains(word) {
            return Ok(());
        }
    }
}

/// A server of NATS, ended with this.
struct Nats(Child);

impl Nats {
    fn start(port: u16) -> Result<Nats> {
        let mut command = Command::new(NATS.programs[0]);
        command.args(["--addr", "127.0.0.1", "--port", &port.to_string()]);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let server = Nats(command.spawn().context("cannot start nats-server")?);
        let end = Instant::now() + TIME;
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            ensure!(Instant::now() < end, "nats-server does not listen");
            sleep(Duration::from_millis(20));
        }
        Ok(server)
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        // Usually it runs; if not, both fail.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A service in one system, its clients in the other.
fn two(run: &Run, images: &Images) -> Result<()> {
    let [port, control, over] = [free_port()?, free_port()?, free_port()?];
    let server = Nats::start(port)?;
    let at = format!("127.0.0.1:{port}");
    let serves = format!(
        "remotes serve /test/own & bridge out RemoteContract /test/own lab.own {at} &\n\
         bridge out ClockContract /clock lab.clock {at} &\n\
         sleep 0.3; echo ready; echo | nc -l {over}\n"
    );
    let asks = format!(
        "bridge in RemoteContract /far/own lab.own {at} & bridge in ClockContract /far/clock lab.clock {at} &\n\
         bridge in EntropyContract /far/other lab.own {at} & bridge in RemoteContract /far/none lab.none {at} &\n\
         sleep 0.3; remotes again /far/own; remotes ask /far/own {CALLS}; remotes clock /far/clock\n\
         remotes gone /far/none; echo before; echo | nc -l {control}\n\
         remotes gone /far/own; echo without; echo | nc -l {control}\n\
         remotes again /far/own; remotes ask /far/own {CALLS}; remotes clock /far/clock; echo behind\n"
    );
    let deadline = Instant::now() + TIME;
    let mut serving = start(run, images, &serves)?;
    let mut said = String::new();
    hear(&mut serving, &mut said, "ready")?;
    let mut asking = start(run, images, &asks)?;
    let played = (|| -> Result<Nats> {
        hear(&mut asking, &mut said, "before")?;
        drop(server);
        tell(control)?;
        hear(&mut asking, &mut said, "without")?;
        let server = Nats::start(port)?;
        tell(control)?;
        hear(&mut asking, &mut said, "behind")?;
        Ok(server)
    })();
    let told = tell(over);
    let (rest, _) = asking.finish(deadline);
    let (of_service, ended) = serving.finish(deadline);
    let said = format!("{said}{rest}\nthe service's system, {ended:?}:\n{of_service}");
    let _server = played.with_context(|| said.clone())?;
    told?;
    for (words, times) in [
        ("ask /far/own: as it should be\n", 2),
        ("clock /far/clock: as it should be\n", 2),
        ("gone /far/none: as it should be\n", 1),
        ("gone /far/own: as it should be\n", 1),
    ] {
        let found = said.matches(words).count();
        ensure!(
            found == times,
            "{found} times `{}`, not {times}\n{said}",
            words.trim()
        );
    }
    Ok(())
}
