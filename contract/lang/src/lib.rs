//! The contract language ([O] 4.1): parser, checks, tables.
//!
//! One front end for everybody who reads contracts: the `contract!` macro, the installer, the
//! conformance checks and the documentation. Source text becomes a syntax tree ([`ast`]), the tree
//! a [`model`] in which every name is looked up and every contract holds together, the model the
//! tables that the kernel steps.
//!
//! ```
//! let tables = sing_contract::compile(
//!     "contract C1 {
//!        in message Request(int x) requires x > 0;
//!        out message Reply(int y);
//!        out message Error();
//!        state Start: Request? -> (Reply! or Error!) -> Start;
//!      }",
//! )
//! .unwrap();
//! assert_eq!(tables[0].states, ["Start", "Start'Request"]);
//! assert_eq!(tables[0].queue, [1, 1]);
//! ```
//!
//! Invariants:
//! - No text makes it panic or run without end; what is wrong comes back as [`Diagnostic`]s.
//! - A table that leaves here passes `ContractTable::check`, is deterministic, and its queues are
//!   exact: a send that the table allows always finds room.
#![forbid(unsafe_code)]

pub mod ast;
pub mod behavior;
mod bounds;
pub mod conditions;
mod diagnostic;
pub mod format;
pub mod lexer;
mod load;
mod lower;
pub mod model;
mod parser;
mod resolve;
mod source;

pub use diagnostic::{Diagnostic, Label, Severity};
pub use load::{Contracts, MOST_BYTES, load, load_file, read_bounded, read_text};
pub use source::{Source, Sources, Span};

use sing_image::contract::ContractTable;

/// Compiles a text to the tables of its contracts, in order.
///
/// # Errors
/// The findings, each with its place and the way out.
pub fn compile(source: &str) -> Result<Vec<ContractTable>, Vec<Diagnostic>> {
    Ok(load(source)?.tables())
}

/// Parses a text, without looking names up.
///
/// # Errors
/// The syntax errors.
pub fn parse(source: &str) -> Result<ast::File, Vec<Diagnostic>> {
    load::parse_one(source)
}
