//! Conditions as C expressions. Whole numbers are computed in 128 bits by functions that remember
//! an overflow or a division by zero (`sing_sound`); a condition in which one happens does not
//! hold.

use super::names::ident;
use super::types;
use sing_contract::model::{Condition, Content, Kind, Scalar, Term};

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
        Term::Int(_) | Term::Bool(_) | Term::Value { .. } | Term::Length { .. } => Vec::new(),
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

fn plain(t: &Term, prefix: &str) -> String {
    match t {
        Term::Int(n) => {
            let sign = if *n < 0 { "-" } else { "" };
            format!("({sign}(sing_wide){}ULL)", n.unsigned_abs())
        }
        Term::Bool(b) => b.to_string(),
        Term::Enum(ty, value) => format!("{}_{value}", ident(ty)),
        Term::Value { path, kind } => {
            let path: Vec<String> = path.iter().map(|p| ident(p)).collect();
            let path = format!("{prefix}{}", path.join("."));
            match kind {
                Kind::Int => format!("((sing_wide){path})"),
                Kind::Float => format!("((double){path})"),
                Kind::Bool | Kind::Char | Kind::Enum(_) => path,
            }
        }
        Term::Length { path, of } => {
            let path: Vec<String> = path.iter().map(|p| ident(p)).collect();
            let path = format!("{prefix}{}", path.join("."));
            match of {
                Content::Scalar(Scalar::Char) => {
                    format!("((sing_wide)sing_xh_size({path}.handle))")
                }
                of => format!("((sing_wide){}_vector_len({path}))", types::content(of)),
            }
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
