//! Some phases once more, behind the timed ones, while `perf` looks: a hosted system that says where the
//! functions of its programs are.

use super::functions::{Map, Profile};
use super::load::Load;
use super::perf::Perf;
use super::{CLIENTS, DIRECTORIES, MIX, PHASES, Request, System, judge};
use crate::project::Project;
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The phases of which functions are shown: those of the targets, and that of the papers.
const SAMPLED: [&str; 3] = ["files", "a process for each request", MIX];
/// How long each of them runs for that, and before, so that nothing is new any more.
const SAMPLING: Duration = Duration::from_secs(4);
const WARM: Duration = Duration::from_millis(500);

/// Samples a system of its own, which says where the functions of its programs are; by what that was done,
/// and a profile of each phase.
pub fn run(
    project: &Project,
    request: &Request,
    folder: &Path,
    cores: [Option<usize>; 2],
) -> Result<(String, Vec<(&'static str, Profile)>)> {
    let perf = Perf::find(folder)?;
    let by = match perf.sees_linux {
        true => perf.version.clone(),
        false => format!("{}, without Linux's functions", perf.version),
    };
    complain!("times by function: {by}");
    let mut system = System::start(project, request, folder, 1, cores[0], &["--perf-map"])?;
    let process = system.session.id();
    let map = MapFile(format!("/tmp/perf-{process}.map").into());
    let mut scripts = Vec::new();
    let phases = PHASES.iter().filter(|phase| SAMPLED.contains(&phase.name));
    for (number, phase) in phases.enumerate() {
        let load = |time| Load {
            port: system.port,
            kind: phase.kind,
            clients: CLIENTS,
            keep: phase.keep,
            directories: DIRECTORIES[0],
            time,
            most: u32::MAX,
            seed: number as u64,
            core: cores[1],
        };
        judge(phase.name, &load(WARM).run())?;
        let name = number.to_string();
        let recording = perf.start(&name, process)?;
        let outcome = load(SAMPLING).run();
        recording.end()?;
        judge(phase.name, &outcome)?;
        scripts.push((phase.name, perf.script(&name)?));
    }
    // It ends behind its only mark.
    system.mark()?;
    system.end()?;
    let text = std::fs::read_to_string(&map.0)
        .with_context(|| format!("cannot read {}", map.0.display()))?;
    let map = Map::read(&text);
    let profiles = scripts
        .into_iter()
        .map(|(phase, script)| (phase, Profile::read(&script, &map)));
    let profiles: Vec<_> = profiles.collect();
    let empty = profiles.iter().find(|(_, profile)| profile.samples == 0);
    ensure!(
        empty.is_none(),
        "perf has seen nothing of {:?}",
        empty.map(|(phase, _)| phase)
    );
    Ok((by, profiles))
}

/// The file with the functions' places, removed at the end.
struct MapFile(PathBuf);

impl Drop for MapFile {
    fn drop(&mut self) {
        // The next process of this number makes its own.
        let _ = std::fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_phase_for_each_sample() {
        for name in SAMPLED {
            assert!(PHASES.iter().any(|phase| phase.name == name), "{name}");
        }
    }
}
