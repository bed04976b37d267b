//! Runs the WebAssembly test suite through verifier, compiler and hosted kernel.

fn main() {}
