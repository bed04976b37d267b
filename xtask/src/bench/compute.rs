//! `cargo xtask bench compute`: how fast compiled code is, beside native Rust and wasmtime (T8). What
//! safety costs it is measured in the same way (`safety`).
//!
//! All sides take turns within each kernel, so that disturbances of the machine affect all alike. A
//! burst's figure is its least disturbed run, a row's the median over the rounds of the ratio to
//! native code in the same round.

use super::kernels::{Burst, Kernels, Side, Way};
use super::report::{self, Row};
use super::samples::{median, percentile};
use super::{Request, describe, write};
use crate::project::Project;
use crate::setup::{self, Needs};
use anyhow::{Result, ensure};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// Runs of a kernel in a burst.
const RUNS: u32 = 7;
/// The side to which the others are compared, and the one that the target is about.
const NATIVE: &str = "native";
const OURS: &str = "this system, SIMD";
/// The same for this machine's processor, as wasmtime's is.
const OURS_NATIVE: &str = "SIMD, --cpu native";
const PEER: &str = "wasmtime, SIMD";

/// The sides of `bench compute`.
const WAYS: [Way; 3] = [
    way("kernels", true, "baseline"),
    way("kernels-native", true, "native"),
    way("kernels-scalar", false, "baseline"),
];

const fn way(program: &'static str, simd: bool, cpu: &'static str) -> Way {
    Way {
        program,
        simd,
        memory: "guard",
        checks: "all",
        cpu,
    }
}

/// `bench compute`: measures, prints the table and writes JSON and picture.
pub fn run(request: &Request) -> Result<u8> {
    let (kernels, native) = prepare(RUNS)?;
    let mut sides = vec![(NATIVE, native)];
    sides.push(("native, no vectors", kernels.without_vectors()?));
    if let Some(peers) = kernels.wasmtime(&[true, false])? {
        sides.extend([PEER, "wasmtime"].into_iter().zip(peers));
    }
    let image = kernels.image(&WAYS)?;
    sides.extend(ours(&image, [OURS, OURS_NATIVE, "this system"], WAYS));
    let measured = Ratios::measure(&kernels, &sides, request.rounds)?;
    let rows = measured.rows(OURS, "T8");
    finish(request, kernels, &measured, rows, &image)
}

/// The kernels, so many runs of them in a burst, and the native side.
pub(super) fn prepare(runs: u32) -> Result<(Kernels, Side)> {
    let mut project = Project::find()?;
    setup::prepare(&mut project, Needs::of(false))?;
    Kernels::prepare(project, runs)
}

fn ours(image: &Path, names: [&'static str; 3], ways: [Way; 3]) -> Vec<(&'static str, Side)> {
    let sides = ways.map(|way| Side::Ours {
        image: image.into(),
        program: way.program,
        options: &[],
    });
    names.into_iter().zip(sides).collect()
}

/// Prints the tables and writes JSON and picture; the rows of kernels come last.
pub(super) fn finish(
    request: &Request,
    kernels: Kernels,
    measured: &Ratios,
    rows: Vec<Row>,
    image: &Path,
) -> Result<u8> {
    sing_files::standard::print(measured.table());
    let means = rows
        .iter()
        .take_while(|row| !measured.kernels.contains(&row.name));
    sing_files::standard::print(report::table(&means.cloned().collect::<Vec<_>>()));
    let result = report::Result {
        bench: request.name.clone(),
        machine: describe(request),
        rows,
    };
    if let Some(folder) = image.parent() {
        let _ = std::fs::remove_dir_all(folder);
    }
    write(&kernels.into_project(), request, &result)?;
    Ok(0)
}

/// For each side and kernel the ratios to the first side, one a round.
pub(super) struct Ratios {
    pub(super) sides: Vec<String>,
    pub(super) kernels: Vec<String>,
    /// By side, kernel, round.
    pub(super) ratios: Vec<Vec<Vec<f64>>>,
    /// The cycles of a run in the least disturbed stretch, likewise.
    pub(super) stretches: Vec<Vec<Vec<f64>>>,
}

impl Ratios {
    /// Measures so many rounds. Another side begins in each, so that none always has the same place.
    pub(super) fn measure(
        kernels: &Kernels,
        sides: &[(&'static str, Side)],
        rounds: u32,
    ) -> Result<Ratios> {
        let mut ratios = vec![vec![Vec::new(); kernels.names.len()]; sides.len()];
        let mut stretches = ratios.clone();
        for round in 1..=rounds {
            for (number, kernel) in kernels.names.iter().enumerate() {
                complain!("round {round} of {rounds}: {kernel}");
                let mut bursts: Vec<(usize, Burst)> = Vec::new();
                for turn in 0..sides.len() {
                    let at = (turn + round as usize) % sides.len();
                    bursts.push((at, kernels.burst(&sides[at].1, number)?));
                }
                bursts.sort_by_key(|(at, _)| *at);
                let first = bursts[0].1;
                for ((at, burst), (side, _)) in bursts.iter().zip(sides) {
                    ensure!(
                        burst.result == first.result,
                        "{kernel}: {side} computes {:x}, {} computes {:x}",
                        burst.result,
                        sides[0].0,
                        first.result
                    );
                    ratios[*at][number].push(burst.cycles / first.cycles.max(1.0));
                    stretches[*at][number].push(burst.stretch);
                }
            }
        }
        Ok(Ratios {
            sides: sides.iter().map(|(name, _)| (*name).into()).collect(),
            kernels: kernels.names.clone(),
            ratios,
            stretches,
        })
    }

    /// The geometric mean over the kernels, one a round.
    pub(super) fn means(&self, side: usize) -> Vec<f64> {
        self.geometric(|kernel, round| self.ratios[side][kernel][round])
    }

    /// The geometric mean over the kernels of the ratio of these sides' stretches, one a round.
    pub(super) fn stretches_over(&self, side: usize, other: usize) -> Vec<f64> {
        let stretches = &self.stretches;
        self.geometric(|kernel, round| {
            stretches[side][kernel][round] / stretches[other][kernel][round].max(1.0)
        })
    }

    fn geometric(&self, of: impl Fn(usize, usize) -> f64) -> Vec<f64> {
        let rounds = self.ratios[0].first().map_or(0, Vec::len);
        (0..rounds)
            .map(|round| {
                let logs = (0..self.kernels.len()).map(|kernel| of(kernel, round).ln());
                (logs.sum::<f64>() / self.kernels.len() as f64).exp()
            })
            .collect()
    }

    /// A row for the mean of this side with those of the others as peers, one for its ratio to the
    /// peer, and one for each kernel.
    pub(super) fn rows(&self, ours: &str, id: &str) -> Vec<Row> {
        let Some(side) = self.sides.iter().position(|name| name == ours) else {
            return Vec::new();
        };
        let others = |of: &dyn Fn(usize) -> Vec<f64>| {
            let others = self.sides.iter().enumerate().filter(|(at, _)| *at != side);
            let medians = others.map(|(at, name)| (name.clone(), median(of(at))));
            medians.collect::<BTreeMap<String, f64>>()
        };
        let mean = format!("geometric mean over {}", self.sides[0]);
        let mut rows = vec![Row {
            id: Some(id.into()),
            peers: others(&|at| self.means(at)),
            ..row(&mean, self.means(side))
        }];
        if let Some(peer) = self.sides.iter().position(|name| name == PEER) {
            let over = |side| {
                let both = self.means(side).into_iter().zip(self.means(peer));
                both.map(|(ours, theirs)| ours / theirs).collect()
            };
            rows.push(row(&format!("the same over {PEER}"), over(side)));
            if let Some(native) = self.sides.iter().position(|name| name == OURS_NATIVE) {
                rows.push(row(&format!("{OURS_NATIVE}, over {PEER}"), over(native)));
            }
        }
        for (number, kernel) in self.kernels.iter().enumerate() {
            rows.push(Row {
                peers: others(&|at| self.ratios[at][number].clone()),
                ..row(kernel, self.ratios[side][number].clone())
            });
        }
        rows
    }

    /// The table that a person reads: a line for each kernel, a column for each side.
    fn table(&self) -> String {
        let mut text = format!("{:<14}", "");
        for side in &self.sides {
            let _ = write!(text, " {side:>20}");
        }
        let mut line = |name: &str, of: &dyn Fn(usize) -> Vec<f64>| {
            let _ = write!(text, "\n{name:<14}");
            for at in 0..self.sides.len() {
                let _ = write!(text, " {:>20.3}", median(of(at)));
            }
        };
        for (number, kernel) in self.kernels.iter().enumerate() {
            line(kernel, &|at| self.ratios[at][number].clone());
        }
        line("mean", &|at| self.means(at));
        text + "\n\n"
    }
}

pub(super) fn row(name: &str, mut values: Vec<f64>) -> Row {
    values.sort_by(f64::total_cmp);
    Row {
        id: None,
        name: name.into(),
        value: percentile(&values, 50),
        unit: "ratio".into(),
        p10: percentile(&values, 10),
        p90: percentile(&values, 90),
        paper: None,
        peers: BTreeMap::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_geometric_and_medians_over_rounds() {
        let measured = Ratios {
            sides: [NATIVE, PEER, OURS, OURS_NATIVE].map(String::from).to_vec(),
            kernels: vec!["a".into(), "b".into()],
            ratios: vec![
                vec![vec![1.0; 3], vec![1.0; 3]],
                vec![vec![2.0, 2.0, 2.0], vec![8.0, 8.0, 8.0]],
                vec![vec![1.0, 1.0, 9.0], vec![4.0, 4.0, 9.0]],
                vec![vec![1.0; 3], vec![1.0; 3]],
            ],
            stretches: vec![
                vec![vec![10.0; 3], vec![10.0; 3]],
                vec![vec![10.0; 3], vec![10.0; 3]],
                vec![vec![20.0; 3], vec![80.0; 3]],
                vec![vec![10.0; 3]; 2],
            ],
        };
        let rows = measured.rows(OURS, "T8");
        assert_eq!(rows[0].id.as_deref(), Some("T8"));
        assert!((rows[0].value - 2.0).abs() < 1e-9, "{:?}", rows[0]);
        assert!((rows[0].peers[PEER] - 4.0).abs() < 1e-9);
        assert!((rows[1].value - 0.5).abs() < 1e-9, "{:?}", rows[1]);
        assert!((rows[2].value - 0.25).abs() < 1e-9, "{:?}", rows[2]);
        assert_eq!((rows[4].name.as_str(), rows[4].value), ("b", 4.0));
        assert!(measured.table().contains("4.000"));
        assert!((measured.stretches_over(2, 0)[1] - 4.0).abs() < 1e-9);
    }
}
