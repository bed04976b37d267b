//! Two systems on a link that loses, doubles, delays and damages frames ([`super::link`]): files that
//! one serves arrive at the other as they are, and so does what goes over a connection of its own.

use super::link::{Link, Rates};
use super::systems::launch;
use super::tcp::{free_port, tell_within};
use super::{Report, Run};
use crate::host_dir::HostDirectory;
use crate::image::{self, MemoryMode, Programs};
use crate::machine::{Acceleration, Kernel, Machine};
use crate::network::{Network, free_address};
use crate::system::session::Session;
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// How long both boots and all transfers may take. What is lost again and again is sent again after
/// seconds.
const TIME: Duration = Duration::from_secs(400);
/// After this a connection is given up whose other end does not answer, at the latest: 60 s and what its
/// last repetition waits.
const GIVES_UP: Duration = Duration::from_secs(130);
const SEED: u64 = 1;

/// A link, and how many bytes go over it each way; in a run of all cases four times as many.
struct Case {
    name: &'static str,
    rates: Rates,
    bytes: usize,
}

const CASES: [Case; 2] = [
    Case {
        name: "a link that loses one frame in a hundred",
        rates: Rates {
            lost: 10,
            doubled: 10,
            late: 20,
            damaged: 5,
        },
        bytes: 2 << 20,
    },
    Case {
        name: "a link that loses one frame in twenty",
        rates: Rates {
            lost: 50,
            doubled: 50,
            late: 100,
            damaged: 20,
        },
        bytes: 128 << 10,
    },
];

/// In Linux processes.
pub fn hosted(run: &Run) -> Result<Report> {
    let mut report = Report::default();
    let images = image::compile_programs(&run.project, Programs::WithTests, MemoryMode::Guard)?;
    for case in &CASES {
        if !run.wants(case.name) {
            continue;
        }
        let folder = run
            .project
            .out()
            .join(format!("links-{}", std::process::id()));
        let played = fs::create_dir_all(&folder)
            .context("cannot make a folder")
            .and_then(|()| play(run, &images, case, &folder));
        fs::remove_dir_all(&folder).context("cannot clear up")?;
        report.count(case.name, played.map_err(|e| format!("{e:#}")));
    }
    Ok(report)
}

/// A system with a card and two directories of the host: of what it has, and for what it gets.
fn system(
    run: &Run,
    images: &[(String, std::path::PathBuf)],
    [card, end]: [SocketAddr; 2],
    folder: &Path,
    script: &str,
) -> Result<Session> {
    let mut kernel = Kernel::prepare(&run.project, Machine::Hosted, Acceleration::Emulated)?;
    // By a socket of the host, one hears that the other is done.
    let sockets = Network::sockets("host,192.0.2.0/24");
    kernel.networks = vec![Network::datagrams(card, end), sockets];
    kernel.directories = [("web", true), ("got", false)]
        .map(|(name, read_only)| HostDirectory {
            path: folder.join(name),
            at: format!("/mnt/{name}"),
            read_only,
        })
        .into();
    Session::start(launch(&run.project, images, &kernel, Some(script))?)
}

fn wait(session: &mut Session, deadline: Instant, word: &str, said: &mut String) -> Result<()> {
    while let Ok(line) = session.line(deadline) {
        said.push_str(&line);
        said.push('\n');
        if line.contains(word) {
            return Ok(());
        }
    }
    bail!("the system has not said `{word}`:\n{said}")
}

fn play(
    run: &Run,
    images: &[(String, std::path::PathBuf)],
    case: &Case,
    folder: &Path,
) -> Result<()> {
    let [web, data, control] = [free_port()?, free_port()?, free_port()?];
    let mut draw = fastrand::Rng::with_seed(SEED);
    let bytes = if run.all { 4 * case.bytes } else { case.bytes };
    let bytes: Vec<u8> = (0..bytes).map(|_| draw.u8(..)).collect();
    for side in ["server", "client"] {
        for name in ["web", "got"] {
            fs::create_dir_all(folder.join(side).join(name))?;
        }
        fs::write(folder.join(side).join("web/large"), &bytes)?;
        fs::write(
            folder.join(side).join("web/conf"),
            format!("root /mnt/web\nport {web}\n"),
        )?;
    }
    let cards = [free_address()?, free_address()?];
    let link = Link::new(cards, case.rates, SEED)?;
    let deadline = Instant::now() + TIME;
    let serve = format!(
        "web /mnt/web/conf & sleep 0.5; links; echo up; nc -l {data} > /mnt/got/large; \
         echo got; echo over | nc -l {control}; kill web; wait; sweep && echo swept"
    );
    let ends = [cards[0], link.ends[0]];
    let mut server = system(run, images, ends, &folder.join("server"), &serve)?;
    let mut said = String::new();
    let begun = Instant::now();
    let played = wait(&mut server, deadline, "up", &mut said).and_then(|()| {
        let get = format!("get http://10.0.0.2:{web}/large /mnt/got/large");
        let send = format!("cat /mnt/web/large | nc 10.0.0.2 {data}");
        // The server gives up what is begun and not whole after five seconds, and has not heard of it then:
        // whoever connects has lost so many frames in a row, and asks again.
        let ask = format!(
            "ping 10.0.0.2 5; {get} || {get} || {get}; echo status $?; \
             {send} || {send} || {send}; echo sent $?; sweep && echo swept"
        );
        let ends = [cards[1], link.ends[1]];
        let client = system(run, images, ends, &folder.join("client"), &ask)?;
        let (output, ended) = client.finish(deadline);
        // The server comes to wait for it only when it has given up the client's last answer, if the link
        // has lost that.
        let told = tell_within(control, GIVES_UP);
        for word in ["status 0\n", "sent 0\n", "swept\n"] {
            ensure!(
                output.contains(word),
                "no `{}`, {ended:?}\n{output}",
                word.trim()
            );
        }
        told
    });
    let (output, ended) = server.finish(if played.is_ok() {
        deadline
    } else {
        Instant::now()
    });
    let output = said + &output;
    played.with_context(|| format!("the server: {ended:?}\n{output}"))?;
    ensure!(
        output.contains("swept\n"),
        "the server: {ended:?}\n{output}"
    );
    for side in ["server", "client"] {
        let got = fs::read(folder.join(side).join("got/large"))?;
        ensure!(got == bytes, "the {side} has got {} other bytes", got.len());
    }
    let tally = &link.tally;
    let [carried, lost, doubled, late, damaged] = [
        &tally.carried,
        &tally.lost,
        &tally.doubled,
        &tally.late,
        &tally.damaged,
    ]
    .map(|count| count.load(Relaxed));
    println!(
        "  {} KiB each way in {:.1?}: of {carried} frames {lost} lost, {doubled} twice, {late} late, \
         {damaged} damaged",
        bytes.len() >> 10,
        begun.elapsed()
    );
    ensure!(
        lost > 0 && doubled > 0 && late > 0 && damaged > 0,
        "the link has done nothing"
    );
    Ok(())
}
