//! Parsers of the firmware's tables that need no hardware: bytes in, plain data out.
//!
//! `acpi` finds the tables, with the crate of that name; these modules read what that crate does
//! not, or reads without checking lengths. The firmware is trusted, but has bugs: no parser reads
//! beyond the bytes that it is given.

pub mod entries;
pub mod root;
pub mod sleep;
