//! What Rust programs for Singularity use.
