//! What the program does. It is tested without a system: see `tests`.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::format;
use alloc::string::String;

/// A greeting for these people.
#[must_use]
pub fn greeting(people: &[String]) -> String {
    match people {
        [] => "Hello from {{name}}.".into(),
        people => format!("Hello, {}.", people.join(" and ")),
    }
}
