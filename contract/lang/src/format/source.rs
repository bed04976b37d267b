//! A text laid out anew: spaces, line ends and indentation are the formatter's, all else stays.
//!
//! Invariants, checked at each run before the result is given out:
//! - No token is lost or changed; only a needless `;` goes, and the sign that a last alternative or
//!   value lacks comes.
//! - No comment is lost or changed, and each documents what it documented: the syntax tree stays
//!   the same.

use super::{layout, pieces, tree};
use crate::ast::File;
use crate::diagnostic::Diagnostic;
use crate::load;
use crate::source::Span;

/// A text laid out; `name` stands for it in what is reported. Names are not looked up: a text need
/// only parse.
///
/// # Errors
/// The syntax errors of the text.
pub fn source(name: &str, text: &str) -> Result<String, Vec<Diagnostic>> {
    let file = load::parse_named(name, text)?;
    let laid = lay(text);
    let same = |after: &File| essence(&file) == essence(after) && comments(text) == comments(&laid);
    if load::parse_named(name, &laid).is_ok_and(|after| same(&after)) {
        return Ok(laid);
    }
    let fault = "the layout of this text would change what it says: a fault of the formatter";
    let place = Span::default();
    Err(vec![
        Diagnostic::error(fault, place, "").help("leave this text as it is, and report it"),
    ])
}

fn lay(text: &str) -> String {
    // The parser has reported the errors.
    let pieces = pieces::pieces(text, &mut Vec::new());
    let (statements, end) = tree::tree(text, pieces);
    layout::layout(&statements, &end)
}

/// The meaning of a text, documentation included: formatting must not change it.
fn essence(file: &File) -> (String, Vec<&str>) {
    let imports = file.imports.iter().map(|i| i.text.as_str()).collect();
    (super::file(file, true), imports)
}

/// All comments, in order.
fn comments(text: &str) -> Vec<String> {
    let pieces = pieces::pieces(text, &mut Vec::new());
    let comments = pieces.into_iter().flat_map(|p| p.comments);
    comments.map(|c| c.text).collect()
}
