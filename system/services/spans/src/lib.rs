//! Spans, as they go from the process that has made them to the one that sends them, and from there
//! to a collector. Nothing here waits, reads or writes; tested on the host.
//!
//! Invariants:
//! - Texts of clients become texts of JSON and nothing else: what would end a line or a string is
//!   replaced or escaped.
//! - Records of another process are read with bounds, and whatever is wrong with them ends in `None`.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod context;
pub mod otlp;
pub mod record;

pub use record::{Span, Value};
pub use sing_sdk::contracts::SpanKind as Kind;
