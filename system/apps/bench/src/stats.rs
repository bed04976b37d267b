//! Samples and their statistics.

use alloc::string::String;
use alloc::vec::Vec;
use sing_sdk::println;

/// A measurement.
pub struct Row {
    /// The number of its target, if it has one.
    pub id: Option<&'static str>,
    /// Its name.
    pub name: String,
    /// The unit of its samples: `cycles`, `ratio`, `KiB`, `us`.
    pub unit: &'static str,
    /// One sample a burst.
    pub samples: Vec<f64>,
}

impl Row {
    /// The sample below which this percentage of all lie.
    pub fn percentile(&mut self, hundredths: usize) -> f64 {
        self.samples.sort_by(f64::total_cmp);
        let last = self.samples.len().saturating_sub(1);
        self.samples
            .get(last * hundredths / 100)
            .copied()
            .unwrap_or(0.0)
    }

    /// Prints the row as a JSON object. Names are ours and need no escapes.
    pub fn print(&mut self) {
        let id = self
            .id
            .map_or_else(|| "null".into(), |id| alloc::format!("\"{id}\""));
        let (median, p10, p90) = (
            self.percentile(50),
            self.percentile(10),
            self.percentile(90),
        );
        println!(
            "{{\"id\":{id},\"name\":\"{}\",\"unit\":\"{}\",\"median\":{median:.3},\"p10\":{p10:.3},\"p90\":{p90:.3}}}",
            self.name, self.unit,
        );
    }
}
