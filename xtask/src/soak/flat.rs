//! Whether a figure is flat: the rule, and the figures that it is applied to.
//!
//! Of the samples of a stretch of time the slope is taken, as the median of the slopes between each
//! two of them (Theil and Sen), which no few samples can move. Times the length of the stretch it is
//! the growth. A figure is flat if that is within its bound, which is of the whole stretch: the
//! longer a soak, the less a figure may grow in an hour.
//!
//! What services keep of files that were asked for grows until it is full, which takes as long as the
//! load takes to ask for all of them. So each half goes on for a while where a figure is not flat: what
//! fills up becomes flat, and what leaks does not in a stretch of the same length.

use serde::Serialize;
use std::collections::BTreeMap;

/// What is known at a moment.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Sample {
    /// Seconds since the start.
    pub at: f64,
    /// Whether services were being killed at this time.
    pub kills: bool,
    /// The figures by their names.
    pub figures: BTreeMap<String, f64>,
}

/// A figure that is judged.
#[derive(Debug)]
pub struct Figure {
    /// Its name.
    pub name: &'static str,
    /// The growth within a stretch that is still flat.
    pub bound: f64,
    /// The same while services are killed, if that is more.
    pub killing: f64,
    /// The same as a part of the figure's median; the larger of the two holds.
    pub part: f64,
    /// Whether it is the fall that is bad.
    pub falls: bool,
}

const fn figure(name: &'static str, bound: f64, part: f64) -> Figure {
    Figure {
        name,
        bound,
        killing: bound,
        part,
        falls: false,
    }
}

const fn kept(name: &'static str, bound: f64, killing: f64) -> Figure {
    Figure {
        killing,
        ..figure(name, bound, 0.0)
    }
}

/// All of them. Pages include what services keep of the files that were asked for last, 8 MiB of the
/// web server's alone: some 30 MiB in all go with services that are killed, and come again. A process
/// more or less is made ahead.
pub const FIGURES: &[Figure] = &[
    kept("pages", 2048.0, 10240.0),
    kept("kernel pages", 32.0, 128.0),
    figure("code pages", 64.0, 0.02),
    figure("chunk pages", 64.0, 0.05),
    figure("blocks", 32.0, 0.05),
    figure("processes", 3.0, 0.0),
    figure("threads", 8.0, 0.0),
    figure("channels", 12.0, 0.0),
    figure("handles", 32.0, 0.0),
    figure("nodes", 1.0, 0.0),
    Figure {
        falls: true,
        ..figure("free KiB", 512.0, 0.0)
    },
    kept("host KiB", 16384.0, 61440.0),
    figure("host files", 6.0, 0.0),
    figure("host threads", 2.0, 0.0),
];

/// A figure in a stretch of time.
#[derive(Clone, Debug, Serialize)]
pub struct Judged {
    /// Its name.
    pub figure: &'static str,
    /// Whether services were being killed.
    pub kills: bool,
    /// How many samples there were.
    pub samples: usize,
    /// Their median.
    pub median: f64,
    /// The growth in an hour.
    pub hourly: f64,
    /// The growth within the stretch.
    pub growth: f64,
    /// What it may be.
    pub bound: f64,
    /// Whether it is within.
    pub flat: bool,
}

/// The fewest samples that can be judged.
const FEWEST: usize = 5;

/// Judges all figures in the last `stretch` seconds of the time with kills, or of that without.
/// A figure without enough samples is an error: its name.
pub fn judge(samples: &[Sample], kills: bool, stretch: f64) -> Result<Vec<Judged>, String> {
    let mut judged = Vec::new();
    let all: Vec<&Sample> = samples.iter().filter(|s| s.kills == kills).collect();
    let from = all.last().map_or(0.0, |last| last.at - stretch);
    let early = all.partition_point(|sample| sample.at < from);
    let late = &all[early.min(all.len().saturating_sub(FEWEST))..];
    for figure in FIGURES {
        let points: Vec<(f64, f64)> = late
            .iter()
            .filter_map(|s| Some((s.at, *s.figures.get(figure.name)?)))
            .collect();
        if points.len() < FEWEST {
            return Err(format!(
                "{} samples of `{}`, too few to judge; give it more --time",
                points.len(),
                figure.name
            ));
        }
        judged.push(one(figure, kills, &points));
    }
    Ok(judged)
}

fn one(figure: &Figure, kills: bool, points: &[(f64, f64)]) -> Judged {
    let slope = slope(points);
    let length = points[points.len() - 1].0 - points[0].0;
    let median = median(points.iter().map(|(_, value)| *value).collect());
    let growth = slope * length;
    let bound = if kills { figure.killing } else { figure.bound };
    let bound = bound.max(figure.part * median);
    let bad = if figure.falls { -growth } else { growth };
    Judged {
        figure: figure.name,
        kills,
        samples: points.len(),
        median,
        hourly: slope * 3600.0,
        growth,
        bound,
        flat: bad <= bound,
    }
}

/// The median of the slopes between each two points, per second.
fn slope(points: &[(f64, f64)]) -> f64 {
    let mut slopes = Vec::new();
    for (number, (at, value)) in points.iter().enumerate() {
        for (later, other) in &points[number + 1..] {
            if later > at {
                slopes.push((other - value) / (later - at));
            }
        }
    }
    median(slopes)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(value: impl Fn(usize) -> f64) -> Vec<(f64, f64)> {
        (0..40).map(|n| (n as f64 * 10.0, value(n))).collect()
    }

    fn handles() -> &'static Figure {
        FIGURES.iter().find(|f| f.name == "handles").unwrap()
    }

    #[test]
    fn what_comes_and_goes_is_flat_and_what_stays_is_not() {
        // A saw, a few samples far off, a step in the past that is no longer in sight.
        let saw = series(|n| 500.0 + (n % 7) as f64 * 20.0);
        assert!(one(handles(), true, &saw).flat);
        let outliers = series(|n| 500.0 + f64::from(n > 36) * 10_000.0);
        assert!(one(handles(), true, &outliers).flat);
        assert!(one(handles(), true, &series(|_| 500.0)).flat);
        // A handle in ten seconds, beside all that comes and goes.
        let leak = series(|n| 500.0 + (n % 7) as f64 * 3.0 + n as f64);
        let judged = one(handles(), true, &leak);
        assert!(
            !judged.flat && (300.0..420.0).contains(&judged.hourly),
            "{judged:?}"
        );
        // What becomes less is no leak.
        assert!(one(handles(), true, &series(|n| 900.0 - n as f64)).flat);
    }

    #[test]
    fn of_what_is_free_the_fall_is_bad() {
        let free = FIGURES.iter().find(|f| f.falls).unwrap();
        assert!(!one(free, false, &series(|n| 60_000.0 - 50.0 * n as f64)).flat);
        assert!(one(free, false, &series(|n| 30_000.0 + 50.0 * n as f64)).flat);
    }

    #[test]
    fn each_stretch_is_judged_by_itself_and_needs_samples() {
        let sample = |n: usize, kills, channels: f64| Sample {
            at: n as f64 * 3.0,
            kills,
            figures: FIGURES
                .iter()
                .map(|f| {
                    (
                        f.name.to_string(),
                        if f.name == "channels" { channels } else { 9.0 },
                    )
                })
                .collect(),
        };
        let mut samples: Vec<Sample> = (0..12).map(|n| sample(n, true, 40.0)).collect();
        assert!(judge(&samples, true, 18.0).unwrap().iter().all(|j| j.flat));
        let none = judge(&samples, false, 18.0).unwrap_err();
        assert!(none.contains("`pages`"));
        samples.extend((12..24).map(|n| sample(n, false, 40.0 + 5.0 * n as f64)));
        let judged = judge(&samples, false, 18.0).unwrap();
        let bad: Vec<_> = judged.iter().filter(|j| !j.flat).collect();
        assert_eq!(bad.len(), 1, "{bad:?}");
        assert_eq!((bad[0].figure, bad[0].kills), ("channels", false));
        // Full at last.
        samples.extend((24..32).map(|n| sample(n, false, 160.0)));
        let judged = judge(&samples, false, 18.0).unwrap();
        assert!(
            judged.iter().all(|j| j.flat && j.samples == 7),
            "{judged:?}"
        );
        // However short the stretch, there are enough.
        let judged = judge(&samples, false, 0.0).unwrap();
        assert!(judged.iter().all(|j| j.samples == FEWEST), "{judged:?}");
    }
}
