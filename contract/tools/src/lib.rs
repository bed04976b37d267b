//! Things made from contracts beside the tables that the kernel steps: documentation, bindings for
//! C, counts, comparisons of versions.
#![forbid(unsafe_code)]

pub mod c;
pub mod count;
pub mod diff;
pub mod doc;
