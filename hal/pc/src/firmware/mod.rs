//! What can be read of the firmware's tables without touching hardware: bytes in, plain data out.
//!
//! `acpi` finds the tables, with the crate of that name; here is what that crate does not read, or reads without looking
//! at lengths. The firmware is trusted, but it has bugs: nothing here reads beyond the bytes that it is given.

pub mod entries;
pub mod root;
pub mod sleep;
