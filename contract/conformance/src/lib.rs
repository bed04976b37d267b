//! Conformance checking ([O] 4.1): what can go wrong between processes, found before the system
//! runs.
//!
//! A [`System`] is a set of processes and the channels between their start-up endpoints. What a
//! process does with its endpoints stands in its *behaviour* ([`ast`]), in a notation close to that
//! of contracts; one without a behaviour is taken to do whatever its contracts allow. As contracts
//! bound their queues, there are finitely many situations, and [`check`] looks at all of them: it
//! finds processes that wait for each other, messages that come where nobody expects them, messages
//! that nobody receives, and states that nobody leaves, each with a shortest run that leads there.
//!
//! ```
//! let system = sing_conformance::load(
//!     "example",
//!     "contract C { in message Ask(); out message Answer(); state Start: Ask? -> Answer! -> Start; }
//!      process client { state Start: s.Answer? -> end; }
//!      process server { state Start: c.Ask? -> c.Answer! -> Start; }
//!      channel C: client.s -> server.c;",
//!     std::path::Path::new(""),
//! )
//! .unwrap();
//! let outcome = sing_conformance::check(&system, 1000);
//! assert_eq!(outcome.findings[0].message, "client and server wait for each other");
//! ```
//!
//! Invariants:
//! - No text and no image makes it panic. What it could not look at, it says.
//! - What it reports is a run of the system as described: each step of it is one that the rules
//!   ([`step`]) allow.
//! - Where it looked at everything and reports nothing, no run has such a fault.
#![forbid(unsafe_code)]

pub mod cells;
pub mod chart;
pub mod explore;
pub mod findings;
pub mod graph;
mod image;
pub mod machine;
mod report;
mod source;
pub mod step;
pub mod svg;
pub mod system;
pub mod view;

/// Behaviours and systems as written; the parser is the contract language's.
pub use sing_contract::behavior::ast;

pub use findings::{Finding, Kind, Outcome, check};
pub use image::{Assumptions, installed};
pub use report::report;
pub use source::{alone, load, load_file};
pub use system::System;

/// Situations that are looked at unless more are asked for.
pub const LIMIT: usize = 2_000_000;
