//! Ordinary programs in several languages (`tests/programs`), by `sing run` and in the shell of a machine.
//! A language is left out, by its name, where its compiler is not there.

use super::{Report, Run};
use crate::machine::Machine;
use crate::programs::Place;
use anyhow::Result;

/// By `sing run`, and in the hosted system's shell.
pub fn hosted(run: &Run) -> Result<Report> {
    let place = made(run)?;
    let mut report = shell(run, &place, &[Machine::Hosted])?;
    for (name, _) in &place.modules {
        if run.wants(name) {
            report.count(name, place.by_sing(name).map_err(|e| format!("{e:#}")));
        }
    }
    Ok(report)
}

/// In the shells of emulated machines, of which each has the host's directories in its own way.
pub fn pc(run: &Run) -> Result<Report> {
    shell(run, &made(run)?, &[Machine::Microvm, Machine::Q35])
}

/// All programs on each machine, with files of the host and of our file system. They run in one system, so
/// that a filter chooses machines.
fn shell(run: &Run, place: &Place<'_>, machines: &[Machine]) -> Result<Report> {
    let mut report = Report::default();
    for machine in machines {
        if !run.wants(machine.name()) {
            continue;
        }
        for (name, outcome) in place.on(*machine)? {
            report.count(&name, outcome.map_err(|e| format!("{e:#}")));
        }
    }
    Ok(report)
}

fn made(run: &Run) -> Result<Place<'_>> {
    let place = Place::new(&run.project)?;
    for why in &place.missing {
        complain!("programs: left out: {why}");
    }
    Ok(place)
}
