//! Systems with faults, each of which must be found where the first line says, and sound ones that
//! must pass.

use sing_conformance::{Outcome, System, check, load_file, report};
use std::path::{Path, PathBuf};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/conformance")
        .join(name)
}

fn systems(name: &str) -> Vec<(PathBuf, System)> {
    let mut all: Vec<PathBuf> = std::fs::read_dir(folder(name))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    all.sort();
    all.into_iter()
        .map(|path| {
            let system = load_file(&path).unwrap_or_else(|e| panic!("{}", e[0]));
            (path, system)
        })
        .collect()
}

fn complete(path: &Path, system: &System) -> Outcome {
    let outcome = check(system, 1_000_000);
    assert!(outcome.complete, "{}: not all looked at", path.display());
    outcome
}

#[test]
fn faults_are_found_where_they_are() {
    let all = systems("faulty");
    assert!(all.len() >= 30, "only {}", all.len());
    for (path, system) in &all {
        let outcome = complete(path, system);
        let text = std::fs::read_to_string(path).unwrap();
        let wanted = text.lines().next().unwrap();
        let wanted: Vec<&str> = wanted
            .strip_prefix("// expect: ")
            .expect("an expectation")
            .split(' ')
            .collect();
        let found = outcome.findings.iter().any(|f| {
            f.kind.name() == wanted[0]
                && f.who
                    .iter()
                    .any(|(process, state)| process == wanted[1] && state == wanted[2])
        });
        assert!(
            found,
            "{}: expected {wanted:?}\n{}",
            path.display(),
            report(system, &outcome, false)
        );
    }
}

#[test]
fn sound_systems_pass() {
    let all = systems("sound");
    assert!(all.len() >= 30, "only {}", all.len());
    let mut largest = 0;
    for (path, system) in &all {
        let outcome = complete(path, system);
        assert!(
            outcome.findings.is_empty(),
            "{}\n{}",
            path.display(),
            report(system, &outcome, false)
        );
        largest = largest.max(outcome.situations);
    }
    assert!(largest >= 100_000, "the largest has {largest} situations");
}

/// A circle is one finding, wherever the way to it led in.
#[test]
fn a_circle_is_told_once() {
    let system = load_file(&folder("faulty").join("lock-for-all.system")).unwrap();
    let found = complete(Path::new("lock-for-all"), &system).findings;
    let told: Vec<&str> = found.iter().map(|f| f.message.as_str()).collect();
    assert_eq!(told, ["a and b wait for each other"]);
}

/// A check that had to stop says so, and how far it came; what it found so far it tells.
#[test]
fn stopping_early_is_said() {
    let path = folder("faulty").join("philosophers-many.system");
    let system = load_file(&path).unwrap();
    let all = check(&system, 1_000_000);
    let some = check(&system, 500);
    assert!(all.complete && !some.complete);
    assert_eq!(some.situations, 500);
    assert!(some.depth < all.depth);
    assert!(report(&system, &some, false).contains("500 situations"));
    assert!(report(&system, &some, false).contains("raise --limit"));
}

/// A whole report, to the letter.
#[test]
fn reports_read_well() {
    let text = "contract C { in message Ask(); out message Answer(); state Start: Ask? -> Answer! -> Start; }
process client { state Start: s.Ask! -> s.Answer? -> Start; }
process server { state Start: c.Ask? -> ( c.Answer! -> Start or skip -> Silent );
  state Silent: c.ChannelClosed? -> end; }
channel C: client.s -> server.c;
";
    let system = sing_conformance::load("x.system", text, Path::new("")).unwrap();
    let outcome = check(&system, 100);
    let shown = report(&system, &outcome, false);
    assert_eq!(
        shown.trim_end(),
        include_str!("report.txt").trim_end(),
        "{shown}"
    );
}
