//! `sing-bench-linux`: the cost of the host's own processes for the operations of SIPs, on the same
//! machine.
//!
//! Every figure is a line of JSON: the peer (`peer`), the target beside which it is shown (`id`),
//! the unit, the median and the 10th and 90th percentile of the samples. Peers alternate in short
//! bursts, so that disturbances of the machine affect all alike; with `--burst` there is one burst
//! of each, for a caller that interleaves runs itself. Those of files alternate after each sample: what
//! they find in the processor's caches counts.

mod arguments;
mod calls;
mod datagrams;
mod files;
mod host;
mod measure;
mod processes;
mod rounds;
mod waiting;
mod web;
mod yields;

use arguments::{Command, Request};
use host::Cores;
use measure::{Peer, Samples};
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

fn main() -> ExitCode {
    let done = match arguments::parse(lexopt::Parser::from_env()) {
        Ok(Command::Run(request)) => run(&request),
        Ok(Command::Web(socket)) => web::serve(&socket),
        Ok(Command::Page(bytes)) => io::stdout().write_all(&web::page(bytes)),
        Ok(Command::Help) => {
            println!("{}", arguments::HELP);
            Ok(())
        }
        Err(error) => {
            eprintln!("sing-bench-linux: {error}\nTry `sing-bench-linux --help`.");
            return ExitCode::from(64);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("sing-bench-linux: {error}");
            ExitCode::FAILURE
        }
    }
}

/// All peers, in the order of the targets.
fn peers(cores: Cores) -> Vec<Peer> {
    let mut peers = calls::peers();
    peers.extend(yields::peers());
    peers.extend(rounds::peers(cores));
    peers.extend(waiting::peers(cores));
    peers.extend(processes::peers());
    peers
}

fn run(request: &Request) -> io::Result<()> {
    let cores = Cores::find()?;
    let mut out = host::keep_output()?;
    host::pin(cores.first)?;
    let mut peers = peers(cores);
    if request.wants(files::ID, "file") {
        peers.extend(files::peers()?);
    }
    if request.wants(datagrams::ID, "UDP") {
        peers.extend(datagrams::peers(cores)?);
    }
    peers.retain(|peer| request.wants(peer.id, &peer.name));
    if request.list {
        for peer in &peers {
            writeln!(out, "{} {}", peer.id, peer.name)?;
        }
        return Ok(());
    }
    let mut samples: Vec<Samples> = peers.iter().map(|_| Samples::default()).collect();
    let end = Instant::now() + Duration::from_secs_f64(request.seconds);
    loop {
        for turn in 0..request.samples {
            for (peer, samples) in peers.iter_mut().zip(&mut samples) {
                let count = match peer.turns {
                    true => 1,
                    false if turn == 0 => request.samples,
                    false => continue,
                };
                let name = &peer.name;
                let burst = (peer.burst)(count)
                    .map_err(|e| io::Error::new(e.kind(), format!("measuring {name}: {e}")))?;
                samples.add(burst);
            }
        }
        if Instant::now() >= end {
            break;
        }
    }
    for (peer, samples) in peers.iter().zip(&mut samples) {
        writeln!(out, "{}", samples.line(peer))?;
    }
    if let Some(ratio) = measure::growth(&peers, &mut samples) {
        writeln!(out, "{ratio}")?;
    }
    Ok(())
}
