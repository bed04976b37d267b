//! The system in a browser: what the service `watch` does without its channels. Tested on the host.
//!
//! `access` decides who may see and do what, `event` and `figures` turn a look at the system into a
//! bounded text for a browser and for Prometheus, `devices` finds them by the names below
//! `/hardware`, `messages` keeps what the kernel has traced, `pages` has the page itself.
//!
//! Invariants:
//! - Nothing here waits, reads or writes; no input makes it panic.
//! - A text is bounded whatever the system holds; rows that do not fit are counted in it.
//! - Names of processes, services and paths are data: none ends a string, a label or a line.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod access;
pub mod devices;
pub mod event;
pub mod figures;
pub mod json;
pub mod look;
pub mod messages;
pub mod pages;

#[cfg(test)]
mod tests;
