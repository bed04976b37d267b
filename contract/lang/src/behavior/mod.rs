//! Behaviours: what a process does with its endpoints, in a notation close to that of contracts.
//!
//! A behaviour stands in a program's manifest. `manifest!` reads it when the program is built, and
//! the conformance check when the program is part of a system; both by [`behavior`], the one parser.
//! What a name in it means depends on who reads it: the macro knows the program's endpoints
//! ([`check`]), the conformance check their contracts and channels, too.
//!
//! ```
//! use sing_contract::behavior::read;
//!
//! let text = "state Start: s.Answer? -> end;";
//! assert_eq!(read("client", text, &["s"]).unwrap().states[0].name.text, "Start");
//!
//! let faults = read("client", "state Start: s.Answer -> end;", &["s"]).unwrap_err();
//! assert_eq!(faults[0].message, "expected `?`, found `->`");
//! ```
//!
//! Invariant: no text makes it panic or run without end, and each fault has its place.

pub mod ast;
mod cursor;
mod names;
mod parse;

pub use names::{ALL_CLOSED, CHANNEL_CLOSED, Said, check, faults, said};
pub use parse::{behavior, system};

use crate::diagnostic::Diagnostic;
use crate::source::Source;
use std::sync::Arc;

/// Reads the behaviour of a program with endpoints of these names. `name` is what people know the
/// text by.
///
/// # Errors
/// The faults of the text, each with its place.
pub fn read(name: &str, text: &str, endpoints: &[&str]) -> Result<ast::Behavior, Vec<Diagnostic>> {
    let mut errors = Vec::new();
    let behavior = behavior(0, text, &mut errors);
    if let (Some(behavior), true) = (&behavior, errors.is_empty()) {
        check(behavior, endpoints, &mut errors);
    }
    match behavior {
        Some(behavior) if errors.is_empty() => Ok(behavior),
        _ => {
            let source = Source {
                name: name.into(),
                text: text.into(),
            };
            let sources = Arc::new(vec![source]);
            for error in &mut errors {
                error.set_sources(&sources);
            }
            Err(errors)
        }
    }
}
