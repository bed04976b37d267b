//! Reads the output of the measuring programs, and joins several runs into one row.

use serde::Deserialize;
use std::collections::BTreeMap;

/// A line of a measuring program.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Sample {
    /// The target's number; `null` if the sample belongs to no target.
    #[serde(default)]
    pub id: Option<String>,
    /// The name of the measurement.
    #[serde(default)]
    pub name: String,
    /// The measured peer, if it is not our system.
    #[serde(default)]
    pub peer: Option<String>,
    /// The unit: `cycles`, `bytes`, `ms` and the like.
    pub unit: String,
    /// The median.
    pub median: f64,
    /// The 10th percentile.
    #[serde(default)]
    pub p10: Option<f64>,
    /// The 90th percentile.
    #[serde(default)]
    pub p90: Option<f64>,
}

/// Reads the samples from a program's output; ignores all other lines.
pub fn read(output: &str) -> Vec<Sample> {
    output
        .lines()
        .filter_map(|line| serde_json::from_str(line.trim()).ok())
        .collect()
}

/// One measurement in several runs: the medians of the runs' figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// As in [`Sample`].
    pub id: Option<String>,
    /// As in [`Sample`].
    pub name: String,
    /// As in [`Sample`].
    pub unit: String,
    /// Median of the medians.
    pub median: f64,
    /// Median of the 10th percentiles.
    pub p10: f64,
    /// Median of the 90th percentiles.
    pub p90: f64,
}

/// Joins the runs' samples of each measurement, in the order of first appearance.
pub fn join(samples: &[Sample]) -> Vec<Measured> {
    let mut order: Vec<(Option<&str>, &str)> = Vec::new();
    let mut groups: BTreeMap<(Option<&str>, &str), Vec<&Sample>> = BTreeMap::new();
    for sample in samples {
        let label = sample.peer.as_deref().unwrap_or(&sample.name);
        let key = (sample.id.as_deref(), label);
        let group = groups.entry(key).or_default();
        if group.is_empty() {
            order.push(key);
        }
        group.push(sample);
    }
    let joined = order.into_iter().filter_map(|key| {
        let group = groups.get(&key)?;
        let over =
            |value: &dyn Fn(&Sample) -> f64| median(group.iter().map(|s| value(s)).collect());
        Some(Measured {
            id: key.0.map(String::from),
            name: key.1.to_string(),
            unit: group.first()?.unit.clone(),
            median: over(&|s| s.median),
            p10: over(&|s| s.p10.unwrap_or(s.median)),
            p90: over(&|s| s.p90.unwrap_or(s.median)),
        })
    });
    joined.collect()
}

/// The middle value; 0 for an empty list.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    percentile(&values, 50)
}

/// The value below which this many percent of the sorted values lie; 0 for an empty list.
pub fn percentile(values: &[f64], percent: usize) -> f64 {
    let Some(last) = values.len().checked_sub(1) else {
        return 0.0;
    };
    let (at, rest) = (last * percent / 100, last * percent % 100);
    let next = values[(at + 1).min(last)];
    values[at] + (next - values[at]) * rest as f64 / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_joined_by_medians() {
        let output = "boot\n{\"id\":\"T3\",\"name\":\"round trip\",\"unit\":\"cycles\",\"median\":200,\"p10\":190,\"p90\":300}\n\
            {\"id\":\"T3\",\"name\":\"round trip\",\"unit\":\"cycles\",\"median\":210,\"p10\":195,\"p90\":240}\r\n\
            {\"id\":\"T3\",\"name\":\"round trip\",\"unit\":\"cycles\",\"median\":900,\"p10\":200,\"p90\":2000}\n\
            {\"id\":\"T3\",\"peer\":\"linux pipe\",\"unit\":\"cycles\",\"median\":9000}\n{\"broken\n";
        let joined = join(&read(output));
        assert_eq!(joined.len(), 2);
        assert_eq!(
            (joined[0].median, joined[0].p10, joined[0].p90),
            (210.0, 195.0, 300.0)
        );
        assert_eq!(joined[1].name, "linux pipe");
        assert_eq!(joined[1].p90, 9000.0);
    }

    #[test]
    fn medians_of_few() {
        assert_eq!(median(vec![]), 0.0);
        assert_eq!(median(vec![3.0, 1.0]), 2.0);
        let values: Vec<f64> = (0..=10).map(f64::from).collect();
        assert_eq!(percentile(&values, 10), 1.0);
        assert_eq!(percentile(&values, 90), 9.0);
        assert_eq!(percentile(&values[..2], 90), 0.9);
    }
}
