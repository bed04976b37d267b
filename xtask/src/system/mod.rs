//! The system tests: one list, run on every machine.

pub mod desk;
pub mod display_socket;
pub mod expect;
pub mod list;
pub mod monitor;
pub mod session;
pub mod suite;
pub mod terminal;
pub mod watchdog;
