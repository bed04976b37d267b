//! The sing command: verify, compile, inspect, build images.

fn main() {}
