//! The developers' command: run, test, bench.

fn main() {}
