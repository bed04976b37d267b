//! The Linux peers of the benchmarks.

fn main() {}
