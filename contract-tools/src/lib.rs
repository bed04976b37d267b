//! What is made from contracts beside the tables that the kernel steps: counts.
#![forbid(unsafe_code)]

pub mod count;
