//! The conditions that the kernel checks at each send: that a message's words are values of their
//! types, and its `requires`. It cannot judge floating-point numbers, lengths of vectors, and enums
//! whose values are too scattered.

use crate::model::{Condition, Field, Kind, Message, Model, Scalar, Term, Type};
use sing_image::contract::{self as table, MAX_RANGES, MAX_STEPS, MAX_VALUES, Read, Step, Test};

/// The conditions of a message that the kernel checks, and which `requires` those cover.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The conditions that it checks: first those of the types, then those required.
    pub conditions: Vec<table::Condition>,
    /// For each condition of the message, whether it judges that.
    pub requires: Vec<bool>,
    /// Whether it judges that all words are values of their types.
    pub types: bool,
}

impl Judged {
    /// Whether nothing is left to the receiver: what comes holds what it promises.
    #[must_use]
    pub fn is_all(&self) -> bool {
        self.types && self.requires.iter().all(|judged| *judged)
    }
}

/// A number among the words of a message.
struct Place<'a> {
    path: Vec<&'a str>,
    ty: &'a Type,
    word: u8,
}

/// The conditions of this message that the kernel checks.
#[must_use]
pub fn judged(message: &Message, model: &Model) -> Judged {
    let mut places = Vec::new();
    let mut word = 0;
    flatten(
        &message.arguments,
        &mut Vec::new(),
        model,
        &mut word,
        &mut places,
    );
    let mut judged = Judged {
        conditions: Vec::new(),
        requires: Vec::new(),
        types: true,
    };
    for place in &places {
        match values(place.ty, model) {
            Values::All => {}
            Values::TooMany => judged.types = false,
            Values::Within(read, ranges) => judged.conditions.push(table::Condition {
                text: format!("{} is a value of {}", place.path.join("."), place.ty),
                test: Test::Within(place.word, read, ranges),
            }),
        }
    }
    for condition in &message.requires {
        let mut computed = Vec::new();
        let can = steps(&condition.term, &places, model, &mut computed).is_some();
        judged.requires.push(can);
        if can {
            judged.conditions.push(table::Condition {
                text: condition.text.clone(),
                test: Test::Holds(computed),
            });
        }
    }
    judged
}

/// Whether a condition is small enough to be judged at each send.
pub(crate) fn fits(condition: &Condition) -> bool {
    size(&condition.term) <= MAX_STEPS && depth(&condition.term) <= MAX_VALUES
}

/// Steps of its computation.
pub(crate) fn size(term: &Term) -> usize {
    match term {
        Term::Int(_)
        | Term::Bool(_)
        | Term::Enum(..)
        | Term::Value { .. }
        | Term::Length { .. } => 1,
        Term::Not(inner) | Term::Negative(inner) => size(inner) + 1,
        Term::Binary { left, right, .. } => size(left) + size(right) + 1,
    }
}

/// Values that its computation holds at once.
fn depth(term: &Term) -> usize {
    match term {
        Term::Int(_)
        | Term::Bool(_)
        | Term::Enum(..)
        | Term::Value { .. }
        | Term::Length { .. } => 1,
        Term::Not(inner) | Term::Negative(inner) => depth(inner),
        Term::Binary { left, right, .. } => depth(left).max(depth(right) + 1),
    }
}

/// The numbers among the words of these values, in the order in which they lie there.
fn flatten<'a>(
    fields: &'a [Field],
    path: &mut Vec<&'a str>,
    model: &'a Model,
    word: &mut u8,
    places: &mut Vec<Place<'a>>,
) {
    for field in fields {
        path.push(&field.name);
        match &field.ty {
            Type::Struct(name) => {
                // A struct without words is passed over, as a text could nest such structs to any
                // depth.
                if let Some(s) = model.structure(name).filter(|s| s.words > 0) {
                    flatten(&s.fields, path, model, word, places);
                }
            }
            ty => {
                if matches!(ty, Type::Scalar(_) | Type::Enum(_)) {
                    places.push(Place {
                        path: path.clone(),
                        ty,
                        word: *word,
                    });
                }
                *word = word.saturating_add(1);
            }
        }
        path.pop();
    }
}

/// The values that a word may have.
enum Values {
    All,
    Within(Read, Vec<(i128, i128)>),
    TooMany,
}

fn values(ty: &Type, model: &Model) -> Values {
    let whole = |ranges: &[(i128, i128)]| Values::Within(Read::U64, ranges.to_vec());
    match ty {
        Type::Scalar(Scalar::Bool) => whole(&[(0, 1)]),
        Type::Scalar(Scalar::Char) => whole(&[(0, 0xd7ff), (0xe000, 0x10_ffff)]),
        Type::Scalar(Scalar::F32) => whole(&[(0, u32::MAX.into())]),
        Type::Enum(name) => {
            let Some(e) = model.enumeration(name) else {
                return Values::All;
            };
            let mut numbers: Vec<i128> = e.values.iter().map(|v| v.2).collect();
            numbers.sort_unstable();
            let mut ranges: Vec<(i128, i128)> = Vec::new();
            for n in numbers {
                match ranges.last_mut() {
                    Some((_, last)) if n <= *last + 1 => *last = n,
                    _ => ranges.push((n, n)),
                }
            }
            if ranges.len() > MAX_RANGES {
                return Values::TooMany;
            }
            Values::Within(read(e.repr), ranges)
        }
        _ => Values::All,
    }
}

fn read(scalar: Scalar) -> Read {
    match scalar {
        Scalar::Bool => Read::Truth,
        Scalar::U8 => Read::U8,
        Scalar::I8 => Read::I8,
        Scalar::U16 => Read::U16,
        Scalar::I16 => Read::I16,
        Scalar::U32 | Scalar::Char | Scalar::F32 => Read::U32,
        Scalar::I32 => Read::I32,
        Scalar::U64 | Scalar::F64 => Read::U64,
        Scalar::I64 => Read::I64,
    }
}

/// The steps that compute a term; `None` where it speaks of what the kernel does not compute.
fn steps(term: &Term, places: &[Place<'_>], model: &Model, into: &mut Vec<Step>) -> Option<()> {
    let step = match term {
        Term::Int(n) => Step::Number(*n),
        Term::Bool(truth) => Step::Truth(*truth),
        Term::Enum(name, value) => {
            let e = model.enumeration(name)?;
            Step::Number(e.values.iter().find(|v| v.1 == *value)?.2)
        }
        // The kernel knows the bytes of a block, and not how many an element has.
        Term::Length { .. } => return None,
        Term::Value { path, .. } => {
            let place = places.iter().find(|p| p.path == *path)?;
            let read = match place.ty {
                Type::Scalar(s) if s.is_float() => return None,
                Type::Scalar(s) => read(*s),
                Type::Enum(name) => read(model.enumeration(name)?.repr),
                _ => return None,
            };
            Step::Word(place.word, read)
        }
        Term::Not(inner) => {
            steps(inner, places, model, into)?;
            Step::Not
        }
        Term::Negative(inner) => {
            steps(inner, places, model, into)?;
            Step::Negate
        }
        Term::Binary {
            op,
            operands,
            left,
            right,
        } => {
            if *operands == Kind::Float {
                return None;
            }
            steps(left, places, model, into)?;
            steps(right, places, model, into)?;
            match *op {
                "+" => Step::Add,
                "-" => Step::Subtract,
                "*" => Step::Multiply,
                "/" => Step::Divide,
                "%" => Step::Remainder,
                "==" => Step::Equal,
                "!=" => Step::Differ,
                "<" => Step::Less,
                "<=" => Step::AtMost,
                ">" => Step::Greater,
                ">=" => Step::AtLeast,
                "&&" => Step::And,
                "||" => Step::Or,
                _ => return None,
            }
        }
    };
    into.push(step);
    Some(())
}
