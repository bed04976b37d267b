//! Contracts as Rust types, manifests from declarations.
