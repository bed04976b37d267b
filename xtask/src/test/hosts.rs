//! Names of hosts, datagrams, echoes, IPv6 and files of the web over a card's link: the other side is
//! a machine that the program `tests/hosts-peer` plays.

use super::systems::launch;
use super::{Report, Run};
use crate::build;
use crate::image::{self, MemoryMode, Programs};
use crate::machine::{Acceleration, Kernel, Machine};
use crate::network::Network;
use crate::system::session::Session;
use anyhow::{Context, Result};
use std::net::UdpSocket;
use std::os::fd::OwnedFd;
use std::process::Command;
use std::time::{Duration, Instant};

/// How long a boot and all commands may take.
const TIME: Duration = Duration::from_secs(180);

/// What `ping` says of one echo that came back.
const ONE_OF_ONE: &str = "1 packets transmitted, 1 received, 0% packet loss";

/// A command, and lines that it must print.
const COMMANDS: [(&str, &[&str]); 21] = [
    (
        "ping 10.0.0.1 1",
        &["--- 10.0.0.1 ping statistics ---", ONE_OF_ONE],
    ),
    (
        "links",
        &[
            "  address  10.0.0.2/24",
            "  router   10.0.0.1",
            "  router   fe80::1",
            "  names    10.0.0.1",
        ],
    ),
    (
        "dig host.test A",
        &["host.test                    60  A      10.0.0.1"],
    ),
    (
        "dig alias.test A",
        &["alias.test                   60  CNAME  host.test"],
    ),
    (
        "dig mail.test MX",
        &["mail.test                    60  MX     10 host.test"],
    ),
    (
        "dig slow.test A",
        &["slow.test                    60  A      10.0.0.1"],
    ),
    ("dig none.test", &["dig: none.test: no host has this name"]),
    (
        "dig trouble.test",
        &["dig: trouble.test: no server of names is known, or none answers"],
    ),
    ("ping alias.test 1", &[ONE_OF_ONE]),
    ("ping six.test 1", &[ONE_OF_ONE]),
    (
        "ping 10.0.0.77 1; echo $?",
        &["1 packets transmitted, 0 received, 100% packet loss", "1"],
    ),
    (
        "ping none.test; echo $?",
        &["ping: none.test: no host has this name", "2"],
    ),
    ("datagrams to host.test 7", &["host.test: all came back"]),
    ("datagrams to six.test 7", &["six.test: all came back"]),
    (
        "datagrams to host.test 8",
        &["datagrams: connection refused"],
    ),
    (
        "get http://alias.test/to; get http://six.test/pieces",
        &["from afar", "from pieces"],
    ),
    (
        "get http://host.test/no; echo $?",
        &["get: http://host.test/no: 404 Not Found", "4"],
    ),
    (
        "get http://host.test/trouble; get http://host.test/circle",
        &[
            "get: http://host.test/trouble: 503 Busy",
            "get: http://host.test/circle: sent elsewhere more than 8 times",
        ],
    ),
    (
        "format /dev/disk0 --label hosts && mount /dev/disk0 /fs && get http://host.test/short /fs/f; \
         get http://host.test/ /fs/g && cat /fs/g",
        &[
            "get: http://host.test/short: the connection has ended before the answer has",
            "from afar",
        ],
    ),
    // Those who wait are killed; what they had is given back.
    (
        "dig silent.test A & get http://silent.test/ & ping 10.0.0.77 & sleep 0.5; \
         kill dig get ping; wait; ping host.test 1",
        &["--- host.test ping statistics ---", ONE_OF_ONE],
    ),
    (
        "nc 10.0.0.1 99; nc host.test 81; nc none.test 80",
        &[
            "nc: 10.0.0.1 99: there is no way to this address; if the machine has no network, its \
             option `--net` gives it one",
            "nc: host.test 81: connection refused",
            "nc: none.test 80: no host has this name",
        ],
    ),
];

/// In a Linux process.
pub fn hosted(run: &Run) -> Result<Report> {
    on(run, &[Machine::Hosted])
}

/// On the emulated PCs.
pub fn pc(run: &Run) -> Result<Report> {
    on(run, &[Machine::Microvm, Machine::Q35])
}

fn on(run: &Run, machines: &[Machine]) -> Result<Report> {
    let mut report = Report::default();
    build::host(&run.project, &["sing-hosts-peer"])?;
    let images = image::compile_programs(&run.project, Programs::WithTests, MemoryMode::Guard)?;
    for &machine in machines {
        let name = format!("hosts on {}", machine.name());
        if !run.wants(&name) {
            continue;
        }
        let socket = UdpSocket::bind("127.0.0.1:0").context("cannot open a socket")?;
        let guest = UdpSocket::bind("127.0.0.1:0")?.local_addr()?;
        let mut kernel = Kernel::prepare(&run.project, machine, Acceleration::Emulated)?;
        kernel.networks = vec![Network::datagrams(guest, socket.local_addr()?)];
        let script: Vec<_> = COMMANDS
            .iter()
            .enumerate()
            .map(|(n, c)| mark(n, c.0))
            .collect();
        let script = format!("{}; sweep && echo swept", script.join("; "));
        let session = Session::start(launch(&run.project, &images, &kernel, Some(&script))?)?;
        let mut peer = Command::new(run.project.host_binary("sing-hosts-peer"))
            .arg(guest.to_string())
            .stdin(OwnedFd::from(socket))
            .spawn()
            .context("cannot start sing-hosts-peer")?;
        let (output, how) = session.finish(Instant::now() + TIME);
        peer.kill().context("cannot end the peer")?;
        peer.wait().context("cannot wait for the peer")?;
        let judged = judge(&output).map_err(|why| format!("{why}; {how:?}\n{output}"));
        report.count(name, judged);
    }
    Ok(report)
}

/// A command with its number before it.
fn mark(number: usize, command: &str) -> String {
    format!("echo == {number}; {command}")
}

/// Whether each command has printed what it must.
fn judge(output: &str) -> Result<(), String> {
    for (number, (command, wanted)) in COMMANDS.iter().enumerate() {
        let own = output.split_once(&format!("== {number}\n"));
        let (_, own) = own.ok_or_else(|| format!("`{command}` did not run"))?;
        let own = own.split("== ").next().unwrap_or_default();
        for line in *wanted {
            if !own.lines().any(|l| l.trim_end() == line.trim_end()) {
                return Err(format!("`{command}` has not printed `{line}`"));
            }
        }
    }
    // Nothing that a forger has said.
    if output.contains("6.6.6.6") || !output.contains("swept\n") {
        return Err("a forged answer was taken, or something is left behind".into());
    }
    Ok(())
}
