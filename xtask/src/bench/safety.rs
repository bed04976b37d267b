//! `cargo xtask bench safety`: what software safety costs compiled code (E5): guard pages and explicit
//! tests beside an image without checks (T9), each with and without the quanta of pre-emption (T10).
//!
//! All sides are the same kernels from the same module, in the same system, and take turns as those of
//! `bench compute` do. The image without checks is run by kernels that were started for measuring.

use super::compute::{Ratios, finish, prepare, row};
use super::kernels::{Side, Way};
use super::report::Row;
use super::{Request, targets};
use anyhow::Result;

/// Runs of a kernel in a burst: some stretches of more than two quanta, as most kernels run for a millisecond.
const RUNS: u32 = 60;

const fn way(program: &'static str, memory: &'static str, checks: &'static str) -> Way {
    Way {
        program,
        simd: true,
        memory,
        checks,
        cpu: "baseline",
    }
}

/// How the kernels are compiled. What has no checks has no guard pages either.
const WAYS: [Way; 3] = [
    way("kernels-bare", "explicit", "none"),
    way("kernels", "guard", "all"),
    way("kernels-tested", "explicit", "all"),
];

/// Each of them with quanta, then each without.
const SIDES: [&str; 6] = [
    "no tests",
    GUARDED,
    TESTED,
    "no tests, no quanta",
    "guard, no quanta",
    "tests, no quanta",
];
const GUARDED: &str = "guard pages";
const TESTED: &str = "explicit tests";

/// Measures, prints the tables and writes JSON and picture.
pub fn run(request: &Request) -> Result<u8> {
    let (kernels, _) = prepare(RUNS)?;
    let image = kernels.image(&WAYS)?;
    let quanta: [&'static [&'static str]; 2] = [&["--measure"], &["--measure", "--no-preemption"]];
    let sides = quanta.into_iter().flat_map(|options| {
        let image = &image;
        WAYS.iter().map(move |way| Side::Ours {
            image: image.clone(),
            program: way.program,
            options,
        })
    });
    let sides: Vec<(&'static str, Side)> = SIDES.into_iter().zip(sides).collect();
    let measured = Ratios::measure(&kernels, &sides, request.rounds)?;
    let rows = rows(&measured);
    finish(request, kernels, &measured, rows, &image)
}

/// The rows of the means, then those of the kernels.
fn rows(measured: &Ratios) -> Vec<Row> {
    let mut rows = measured.rows(TESTED, "T9");
    let place = |name: &str| measured.sides.iter().position(|side| side == name);
    let Some(guarded) = place(GUARDED) else {
        return rows;
    };
    if let Some(first) = rows.first_mut() {
        first.name = format!("{TESTED} over no tests");
    }
    let guard = Row {
        id: Some("T9".into()),
        unit: targets::GUARDED.into(),
        ..row(&format!("{GUARDED} over no tests"), measured.means(guarded))
    };
    let others = [("no tests", 0), (GUARDED, 1), (TESTED, 2)];
    let quanta = others.map(|(name, side)| Row {
        id: Some("T10".into()),
        ..row(
            &format!("quanta over none, {name}, in stretches"),
            measured.stretches_over(side, side + 3),
        )
    });
    let [bare, guarded, tested] = quanta;
    rows.splice(1..1, [guard, guarded, tested, bare]);
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_come_first_with_their_targets() {
        let of = |value: f64| vec![vec![value; 3], vec![value; 3]];
        let measured = Ratios {
            sides: SIDES.map(String::from).to_vec(),
            kernels: vec!["a".into(), "b".into()],
            ratios: [1.0, 1.01, 1.2, 0.99, 1.0, 1.19].map(of).to_vec(),
            stretches: [100.0, 101.0, 120.0, 99.0, 100.0, 119.0].map(of).to_vec(),
        };
        let rows = rows(&measured);
        let id = |row: &Row| row.id.clone().unwrap_or_default();
        let ids: Vec<String> = rows.iter().map(id).collect();
        assert_eq!(ids, ["T9", "T9", "T10", "T10", "T10", "", ""]);
        for (row, value) in rows.iter().zip([1.2, 1.01, 1.01]) {
            assert!((row.value - value).abs() < 1e-9, "{row:?}");
            assert!(targets::target(&id(row), &row.unit).is_some(), "{row:?}");
        }
        assert_eq!(rows[6].name, "b");
        assert!((rows[6].peers["no tests"] - 1.0).abs() < 1e-9);
    }
}
