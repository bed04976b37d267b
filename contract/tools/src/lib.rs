//! Things made from contracts beside the tables that the kernel steps: documentation, bindings for
//! C, counts.
#![forbid(unsafe_code)]

pub mod c;
pub mod count;
pub mod doc;
