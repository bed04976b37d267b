//! Conditions as C expressions. Whole numbers are computed in 128 bits by functions that remember
//! an overflow or a division by zero (`sing_sound`); a condition in which one happens does not
//! hold.

use super::names::ident;
use super::types;
use sing_contract::model::{Condition, Content, Kind, Scalar, Term, VALUE};

/// Whether the condition holds, of arguments in scope under their names; `prefix` stands before
/// each.
pub(super) fn holds(condition: &Condition, prefix: &str) -> String {
    let value = plain(&condition.term, prefix);
    format!("(sing_sound = true, ({value}) && sing_sound)")
}

/// Names of the enums that a term speaks of.
pub(super) fn enums(term: &Term) -> Vec<&str> {
    match term {
        Term::Enum(name, _) => vec![name],
        Term::Not(inner) | Term::Negative(inner) => enums(inner),
        Term::Binary { left, right, .. } => [enums(left), enums(right)].concat(),
        Term::Int(_)
        | Term::Bool(_)
        | Term::Value { .. }
        | Term::Length { .. }
        | Term::Present { .. } => Vec::new(),
    }
}

fn term(term: &Term, wanted: &Kind, prefix: &str) -> String {
    let value = plain(term, prefix);
    if *wanted == Kind::Float && term.kind() == Kind::Int {
        format!("((double){value})")
    } else {
        value
    }
}

/// The value at the end of a path, and the values that may be absent through which it leads.
fn place(path: &[String], prefix: &str) -> (String, Vec<String>) {
    let (mut place, mut present) = (prefix.to_owned(), Vec::new());
    for (i, name) in path.iter().enumerate() {
        if name == VALUE {
            present.push(place.clone());
            place += ".value";
        } else {
            let dot = if i == 0 { "" } else { "." };
            place += &format!("{dot}{}", ident(name));
        }
    }
    (place, present)
}

/// How many elements a vector has.
fn length(place: &str, of: &Content) -> String {
    match of {
        Content::Scalar(Scalar::Char) => format!("((sing_wide)sing_text_len({place}))"),
        of => format!("((sing_wide){}_vector_len({place}))", types::content(of)),
    }
}

/// A value that is no result if one of these is absent.
fn sound(value: &str, present: &[String]) -> String {
    if present.is_empty() {
        return value.to_owned();
    }
    let present: Vec<String> = present.iter().map(|of| format!("{of}.has_value")).collect();
    format!(
        "({} ? {value} : sing_absent(&sing_sound))",
        present.join(" && ")
    )
}

fn plain(t: &Term, prefix: &str) -> String {
    match t {
        Term::Int(n) => {
            let sign = if *n < 0 { "-" } else { "" };
            format!("({sign}(sing_wide){}ULL)", n.unsigned_abs())
        }
        Term::Bool(b) => b.to_string(),
        Term::Enum(ty, value) => format!("{}_{value}", ident(ty)),
        Term::Value { path, kind } => {
            let (place, present) = place(path, prefix);
            let value = match kind {
                Kind::Int => format!("((sing_wide){place})"),
                Kind::Float => format!("((double){place})"),
                Kind::Bool | Kind::Char | Kind::Enum(_) => place,
            };
            sound(&value, &present)
        }
        Term::Length { path, of, optional } => {
            let (place, _) = place(path, prefix);
            if *optional {
                return format!("({place}.handle == 0 ? 0 : {})", length(&place, of));
            }
            length(&place, of)
        }
        Term::Present { path, block: true } => format!("({}.handle != 0)", place(path, prefix).0),
        Term::Present { path, .. } => {
            let (place, present) = place(path, prefix);
            sound(&format!("{place}.has_value"), &present)
        }
        Term::Not(inner) => format!("(!{})", plain(inner, prefix)),
        Term::Negative(inner) if inner.kind() == Kind::Int => {
            format!("sing_sub(0, {}, &sing_sound)", plain(inner, prefix))
        }
        Term::Negative(inner) => format!("(-{})", plain(inner, prefix)),
        Term::Binary {
            op,
            operands,
            left,
            right,
        } => {
            let (left, right) = (term(left, operands, prefix), term(right, operands, prefix));
            let function = match (*op, operands) {
                ("+", Kind::Int) => "sing_add",
                ("-", Kind::Int) => "sing_sub",
                ("*", Kind::Int) => "sing_mul",
                ("/", Kind::Int) => "sing_div",
                ("%", Kind::Int) => "sing_rem",
                ("%", Kind::Float) => "sing_fmod",
                _ => return format!("({left} {op} {right})"),
            };
            if function == "sing_fmod" {
                return format!("{function}({left}, {right})");
            }
            format!("{function}({left}, {right}, &sing_sound)")
        }
    }
}
