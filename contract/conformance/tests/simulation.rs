//! A second opinion: a simulator that knows nothing of the checker's rules walks through mutants of
//! the sound systems at random. Where it comes upon a fault, the checker must have found some; what
//! the checker finds, it must be able to walk to.

mod random;
mod simulator;

use random::Random;
use simulator::{Look, Place, look, somebody_waits, start};
use sing_conformance::system::{Body, System};
use sing_conformance::{Kind, check, load_file};
use std::path::Path;

/// The fault that a random walk comes upon.
fn walk(system: &System, random: &mut Random) -> Option<&'static str> {
    let mut place = start(system);
    for _ in 0..300 {
        let mut now = look(system, &place);
        if now.breach {
            return Some("a message that the contract forbids");
        }
        if now.unexpected {
            return Some("a message without a case");
        }
        if now.moves.is_empty() {
            return somebody_waits(system, &place).then_some("nobody can move");
        }
        let i = random.below(now.moves.len());
        place = now.moves.swap_remove(i).2;
    }
    None
}

/// Changes a behaviour: drops a step, swaps two, or drops an alternative.
fn mutate(system: &mut System, random: &mut Random) -> Option<&'static str> {
    let p = random.below(system.processes.len());
    let Body::Machine(machine) = &mut system.processes[p].body else {
        return None;
    };
    let n = random.below(machine.nodes.len());
    if machine.nodes[n].edges.is_empty() {
        return None;
    }
    let e = random.below(machine.nodes[n].edges.len());
    let then = machine.nodes[n].edges[e].target;
    match random.below(3) {
        0 => {
            let follows = machine.nodes[then].edges.first()?.target;
            machine.nodes[n].edges[e].target = follows;
            Some("a step is dropped")
        }
        1 if !machine.nodes[then].named && machine.nodes[then].edges.len() == 1 => {
            let first = machine.nodes[n].edges[e].act.clone();
            let second = std::mem::replace(&mut machine.nodes[then].edges[0].act, first);
            machine.nodes[n].edges[e].act = second;
            Some("two steps are swapped")
        }
        2 if machine.nodes[n].edges.len() > 1 => {
            machine.nodes[n].edges.remove(e);
            Some("an alternative is dropped")
        }
        _ => None,
    }
}

/// Walks the run of each finding, and looks whether what is said of its end is so.
fn replay(system: &System, name: &str) -> usize {
    let outcome = check(system, 20_000);
    for finding in &outcome.findings {
        // A visible event may fit several steps: the following ones tell which was meant.
        let mut places = vec![start(system)];
        for taken in &finding.run {
            let mut next: Vec<Place> = Vec::new();
            for place in &places {
                let moves = look(system, place).moves.into_iter();
                for (p, events, then) in moves {
                    if p == taken.process && events == taken.events && !next.contains(&then) {
                        next.push(then);
                    }
                }
            }
            assert!(
                !next.is_empty(),
                "{name}: {}: cannot be walked: {taken:?}",
                finding.message
            );
            places = next;
        }
        let ends = |is: &dyn Fn(&Place, Look) -> bool| {
            let mut all = places.iter();
            assert!(
                all.any(|place| is(place, look(system, place))),
                "{name}: {}",
                finding.message
            );
        };
        match finding.kind {
            Kind::Deadlock => {
                ends(&|place, end| end.moves.is_empty() && somebody_waits(system, place))
            }
            Kind::Breach => ends(&|_, end| end.breach),
            Kind::Unspecified => ends(&|_, end| end.unexpected),
            Kind::Cut | Kind::Unreceived | Kind::Stuck => {}
        }
    }
    usize::from(!outcome.findings.is_empty())
}

#[test]
fn checker_and_simulator_agree_on_mutants() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance/sound");
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let (mut mutants, mut faulty) = (0, 0);
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|f| f.unwrap().path())
        .collect();
    files.sort();
    for path in files {
        let sound = load_file(&path).unwrap();
        // Large systems are left to the other tests.
        if check(&sound, 3000).situations >= 3000 {
            continue;
        }
        for _ in 0..40 {
            let mut system = sound.clone();
            let Some(how) = mutate(&mut system, &mut random) else {
                continue;
            };
            let name = format!("{}: {how}", path.display());
            let outcome = check(&system, 20_000);
            mutants += 1;
            faulty += replay(&system, &name);
            for _ in 0..40 {
                let Some(fault) = walk(&system, &mut random) else {
                    continue;
                };
                assert!(
                    !outcome.findings.is_empty(),
                    "{name}: a walk comes upon {fault}, and the checker has found nothing"
                );
            }
        }
    }
    assert!(
        mutants > 300 && faulty > 100 && faulty < mutants,
        "{faulty} of {mutants}"
    );
}
