//! Samples and their statistics.

use std::fmt::Write as _;
use std::io;

/// A way to get samples: as many as asked for.
pub type Burst = Box<dyn FnMut(usize) -> io::Result<Vec<f64>>>;

/// A measured peer.
pub struct Peer {
    /// The target beside which it is shown.
    pub id: &'static str,
    /// The names of the peer and the measurement.
    pub name: String,
    /// The unit of a sample.
    pub unit: &'static str,
    /// Takes samples.
    pub burst: Burst,
    /// Whether it takes turns with the others after each sample, as the measuring program's do.
    pub turns: bool,
}

impl Peer {
    /// A peer measured in cycles.
    pub fn new(
        id: &'static str,
        name: impl Into<String>,
        burst: impl FnMut(usize) -> io::Result<Vec<f64>> + 'static,
    ) -> Self {
        Self {
            id,
            name: name.into(),
            unit: "cycles",
            burst: Box::new(burst),
            turns: false,
        }
    }

    /// A peer measured in cycles that takes turns with the others after each sample, so that it
    /// finds what they leave of the processor's caches.
    pub fn in_turns(
        id: &'static str,
        name: impl Into<String>,
        count: u32,
        mut once: impl FnMut() -> io::Result<()> + 'static,
    ) -> Self {
        let burst = move |samples| (0..samples).map(|_| one(count, &mut once)).collect();
        Self {
            turns: true,
            ..Self::new(id, name, burst)
        }
    }
}

/// The time-stamp counter, ordered with the surrounding instructions.
pub fn cycles() -> u64 {
    use core::arch::x86_64::{__rdtscp, _mm_lfence};
    let mut processor = 0;
    // SAFETY: every x86-64 processor of the last 15 years has the instructions, and Linux lets
    // processes use them; the pointer is valid for the call.
    unsafe {
        _mm_lfence();
        let now = __rdtscp(&raw mut processor);
        _mm_lfence();
        now
    }
}

/// Takes samples of an operation done `count` times each, per operation. The first few warm the
/// caches.
pub fn sample(
    samples: usize,
    count: u32,
    mut once: impl FnMut() -> io::Result<()>,
) -> io::Result<Vec<f64>> {
    const WARM_UP: usize = 3;
    let mut all = Vec::with_capacity(samples);
    for i in 0..samples + WARM_UP {
        let took = one(count, &mut once)?;
        if i >= WARM_UP {
            all.push(took);
        }
    }
    Ok(all)
}

/// A sample of an operation done `count` times, per operation.
fn one(count: u32, mut once: impl FnMut() -> io::Result<()>) -> io::Result<f64> {
    let start = cycles();
    for _ in 0..count {
        once()?;
    }
    Ok((cycles() - start) as f64 / f64::from(count))
}

/// Samples of one peer.
#[derive(Default)]
pub struct Samples(Vec<f64>);

impl Samples {
    /// Adds a burst.
    pub fn add(&mut self, burst: Vec<f64>) {
        self.0.extend(burst);
    }

    /// The value below which this part of the samples lies, between neighbours in proportion.
    fn percentile(&mut self, part: f64) -> f64 {
        self.0.sort_by(f64::total_cmp);
        let at = part * (self.0.len() - 1) as f64;
        let (low, high) = (self.0[at.floor() as usize], self.0[at.ceil() as usize]);
        low + (high - low) * at.fract()
    }

    /// The printed figures.
    pub fn line(&mut self, peer: &Peer) -> String {
        json(
            &peer.name,
            peer.id,
            peer.unit,
            [0.5, 0.1, 0.9].map(|part| self.percentile(part)),
        )
    }
}

fn json(peer: &str, id: &str, unit: &str, [median, p10, p90]: [f64; 3]) -> String {
    let mut line = String::new();
    let _ = write!(
        line,
        "{{\"peer\":\"{peer}\",\"id\":\"{id}\",\"unit\":\"{unit}\""
    );
    let _ = write!(
        line,
        ",\"median\":{median:.3},\"p10\":{p10:.3},\"p90\":{p90:.3}}}"
    );
    line
}

/// How the cost of a round trip grows from the smallest message to the largest: the peer of target
/// T4.
pub fn growth(peers: &[Peer], samples: &mut [Samples]) -> Option<String> {
    let mut of = |size: &str| {
        let name = format!("linux socketpair {size}");
        let index = peers
            .iter()
            .position(|peer| peer.id == "T4" && peer.name == name)?;
        Some([0.5, 0.1, 0.9].map(|part| samples[index].percentile(part)))
    };
    let (small, large) = (of("1 B")?, of("64 KiB")?);
    let ratios = [
        large[0] / small[0],
        large[1] / small[2],
        large[2] / small[1],
    ];
    Some(json(
        "linux socketpair, 64 KiB to 1 B",
        "T4",
        "ratio",
        ratios,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_lie_between_neighbours() {
        let mut samples = Samples::default();
        samples.add(vec![40.0, 10.0, 30.0]);
        samples.add(vec![20.0, 50.0]);
        assert_eq!(
            [0.0, 0.1, 0.5, 0.9, 1.0].map(|p| samples.percentile(p)),
            [10.0, 14.0, 30.0, 46.0, 50.0]
        );
        let peer = Peer::new("T3", "linux pipe", |_| Ok(Vec::new()));
        assert_eq!(
            samples.line(&peer),
            "{\"peer\":\"linux pipe\",\"id\":\"T3\",\"unit\":\"cycles\",\
             \"median\":30.000,\"p10\":14.000,\"p90\":46.000}"
        );
    }

    #[test]
    fn samples_are_per_time_done() {
        let mut done = 0;
        let all = sample(10, 7, || {
            done += 1;
            Ok(())
        });
        assert_eq!(all.unwrap().len(), 10);
        assert_eq!(done, 7 * 13);
    }
}
