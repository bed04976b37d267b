//! The kernels of `cargo xtask bench compute` and `bench safety`: what well-known crates do, and a
//! few loops that benchmarks have always had. The same source runs on every side; each kernel
//! says by a number what it has computed, and the sides must agree on it.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod bytes;
mod collections;
mod numbers;
mod text;

use alloc::boxed::Box;
use alloc::vec::Vec;

/// A kernel that is ready to run. Each run computes the same.
pub type Ready = Box<dyn FnMut() -> u64>;

/// A kernel.
pub struct Kernel {
    /// Its name: the crate, or what it does.
    pub name: &'static str,
    /// Makes its input.
    pub prepare: fn() -> Ready,
}

/// All kernels.
#[rustfmt::skip]
pub const KERNELS: &[Kernel] = &[
    Kernel { name: "sha2", prepare: bytes::sha2 },
    Kernel { name: "blake3", prepare: bytes::blake3 },
    Kernel { name: "crc32fast", prepare: bytes::crc32fast },
    Kernel { name: "base64", prepare: bytes::base64 },
    Kernel { name: "deflate", prepare: bytes::deflate },
    Kernel { name: "inflate", prepare: bytes::inflate },
    Kernel { name: "lz4_flex", prepare: bytes::lz4 },
    Kernel { name: "serde_json", prepare: text::json },
    Kernel { name: "regex", prepare: text::regex },
    Kernel { name: "hashbrown", prepare: collections::hash },
    Kernel { name: "btree", prepare: collections::btree },
    Kernel { name: "sort", prepare: collections::sort },
    Kernel { name: "sort-strings", prepare: collections::sort_strings },
    Kernel { name: "ndarray", prepare: numbers::product },
    Kernel { name: "microfft", prepare: numbers::fft },
    Kernel { name: "convolution", prepare: numbers::convolution },
    Kernel { name: "nbody", prepare: numbers::nbody },
    Kernel { name: "mandelbrot", prepare: numbers::mandelbrot },
    Kernel { name: "interpreter", prepare: collections::interpreter },
];

/// The kernel of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Kernel> {
    KERNELS.iter().find(|kernel| kernel.name == name)
}

/// What a kernel needed, and computed.
pub struct Measured {
    /// The least that a run took: runs that were disturbed took longer.
    pub least: u64,
    /// The mean of a run in the least disturbed stretch of runs, of those that take [`STRETCH`].
    pub stretch: u64,
    /// What each run computed.
    pub result: u64,
}

/// Runs a kernel once to warm up, then `runs` times by this clock.
///
/// # Panics
/// If two runs compute different results.
pub fn measure(kernel: &Kernel, runs: u32, clock: impl Fn() -> u64) -> Measured {
    let mut ready = (kernel.prepare)();
    let result = ready();
    let mut took: Vec<u64> = Vec::new();
    for _ in 0..runs.max(1) {
        let start = clock();
        let again = ready();
        took.push(clock().wrapping_sub(start));
        assert_eq!(again, result, "{}: each run computes the same", kernel.name);
    }
    Measured {
        least: took.iter().copied().min().unwrap_or_default(),
        stretch: stretch(&took),
        result,
    }
}

/// Cycles of a stretch, at least: two quanta of a system's pre-emption and more, at 4 GHz, so that
/// what the end of a quantum costs is in each. A single run may lie within a quantum.
pub const STRETCH: u64 = 48_000_000;

/// The least that a run took on average over a stretch of runs one after the other; over all of
/// them if they are no stretch together.
fn stretch(took: &[u64]) -> u64 {
    let mean = |runs: &[u64]| runs.iter().sum::<u64>() / runs.len().max(1) as u64;
    let stretches = (0..took.len()).filter_map(|start| {
        let mut sum = 0;
        let long = took[start..].iter().position(|run| {
            sum += run;
            sum >= STRETCH
        })?;
        Some(mean(&took[start..=start + long]))
    });
    stretches.min().unwrap_or_else(|| mean(took))
}

/// Numbers that look random, the same on every side (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: u64) -> u64 {
        (self.next() >> 11) % end
    }
}

/// Joins results to one.
fn mix(sum: u64, value: u64) -> u64 {
    (sum.rotate_left(5) ^ value).wrapping_mul(0x517c_c1b7_2722_0a95)
}
