//! The conditions that the kernel checks at each send: that a message's words are values of their
//! types, and its `requires`. It cannot judge floating-point numbers, lengths of vectors, and enums
//! whose values are too scattered.

use crate::model::{Condition, Field, Kind, Message, Model, Scalar, Term, Type, VALUE};
use sing_image::contract::{self as table, MAX_RANGES, MAX_STEPS, MAX_VALUES, Read, Step, Test};
use std::borrow::Cow;

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

/// Bytes of the path to a word, beyond which only its ends are told.
const LONGEST_NAME: usize = 512;

/// A number among the words of a message.
struct Place<'a> {
    path: Vec<&'a str>,
    ty: Cow<'a, Type>,
    word: u8,
    /// The words that say whether what this is a part of is there, outermost first. Where one of
    /// them says no, this is 0.
    within: Vec<u8>,
}

/// The conditions of this message that the kernel checks.
#[must_use]
pub fn judged(message: &Message, model: &Model) -> Judged {
    let places = places(message, model);
    let mut judged = Judged {
        conditions: Vec::new(),
        requires: Vec::new(),
        types: true,
    };
    for place in &places {
        let mut push = |test| {
            judged.conditions.push(table::Condition {
                text: format!("{} is a value of {}", place.name(), place.ty),
                test,
            });
        };
        match values(&place.ty, !place.within.is_empty(), model) {
            Values::All => {}
            Values::TooMany => judged.types = false,
            Values::Within(read, ranges) => push(Test::Within(place.word, read, ranges)),
        }
        if let Type::Optional(_) = &*place.ty {
            push(Test::Holds(absent_or_present(place, &places, model)));
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

/// The steps that tell whether what may be absent is nothing but zeros, or there and a value.
fn absent_or_present(optional: &Place<'_>, places: &[Place<'_>], model: &Model) -> Vec<Step> {
    let of = |word, truth: &mut dyn FnMut(Step)| {
        truth(Step::Word(word, Read::U64));
        truth(Step::Number(0));
    };
    // Its words follow its own, up to the first that is no part of it.
    let parts = places.iter().filter(|p| p.within.contains(&optional.word));
    let (mut absent, mut present) = (Vec::new(), Vec::new());
    of(optional.word, &mut |step| absent.push(step));
    absent.push(Step::Equal);
    present.extend([
        Step::Word(optional.word, Read::U64),
        Step::Number(1),
        Step::Equal,
    ]);
    for part in parts {
        of(part.word, &mut |step| absent.push(step));
        absent.extend([Step::Equal, Step::And]);
        // Those of a part that may itself be absent, that part judges.
        if part.within.last() == Some(&optional.word)
            && let Some(repr) = without_zero(&part.ty, model)
        {
            // As wide as its values are looked at: what is above them means nothing.
            present.extend([
                Step::Word(part.word, read(repr)),
                Step::Number(0),
                Step::Differ,
                Step::And,
            ]);
        }
    }
    absent.extend(present);
    absent.push(Step::Or);
    absent
}

/// The scalar of an enum that has no value of the number 0.
fn without_zero(ty: &Type, model: &Model) -> Option<Scalar> {
    let Type::Enum(name) = ty else {
        return None;
    };
    let e = model.enumeration(name)?;
    e.values.iter().all(|v| v.2 != 0).then_some(e.repr)
}

/// What the conditions of a message's types take, in operations: for each word that is judged, the
/// steps of its test and the names that lead to it.
pub(crate) fn cost_of_types(message: &Message, model: &Model) -> usize {
    let cost = |place: &Place<'_>| {
        let judged = matches!(
            &*place.ty,
            Type::Optional(_)
                | Type::Enum(_)
                | Type::Scalar(Scalar::Bool | Scalar::Char | Scalar::F32)
        );
        let own = if judged {
            1 + place.name_bytes() / 32
        } else {
            0
        };
        // Each of those of which it is a part looks at it.
        let optional = if matches!(&*place.ty, Type::Optional(_)) {
            8
        } else {
            0
        };
        own + optional + 8 * place.within.len()
    };
    places(message, model).iter().map(cost).sum()
}

/// Whether a condition is small enough to be judged at each send.
pub(crate) fn fits(condition: &Condition) -> bool {
    size(&condition.term) <= MAX_STEPS && depth(&condition.term) <= MAX_VALUES
}

/// Steps of its computation.
pub(crate) fn size(term: &Term) -> usize {
    match term {
        Term::Int(_) | Term::Bool(_) | Term::Enum(..) | Term::Length { .. } => 1,
        // Those that may be absent are divided by the words that say that they are there.
        Term::Value { path, .. } | Term::Present { path, .. } => match optionals(path) {
            0 => 1,
            several => 3 + 2 * several,
        },
        Term::Not(inner) | Term::Negative(inner) => size(inner) + 1,
        Term::Binary { left, right, .. } => size(left) + size(right) + 1,
    }
}

/// Values that its computation holds at once.
fn depth(term: &Term) -> usize {
    match term {
        Term::Int(_) | Term::Bool(_) | Term::Enum(..) | Term::Length { .. } => 1,
        Term::Value { path, .. } | Term::Present { path, .. } => 1 + optionals(path).min(1),
        Term::Not(inner) | Term::Negative(inner) => depth(inner),
        Term::Binary { left, right, .. } => depth(left).max(depth(right) + 1),
    }
}

/// How many values that may be absent a path leads through.
fn optionals(path: &[String]) -> usize {
    path.iter().filter(|name| *name == VALUE).count()
}

/// The numbers among the words of a message, in the order in which they lie there.
fn places<'a>(message: &'a Message, model: &'a Model) -> Vec<Place<'a>> {
    let mut walk = Walk {
        model,
        path: Vec::new(),
        within: Vec::new(),
        word: 0,
        places: Vec::new(),
    };
    walk.fields(&message.arguments);
    walk.places
}

/// A walk through the arguments of a message, with the word that comes next.
struct Walk<'a> {
    model: &'a Model,
    path: Vec<&'a str>,
    within: Vec<u8>,
    word: u8,
    places: Vec<Place<'a>>,
}

impl<'a> Walk<'a> {
    fn fields(&mut self, fields: &'a [Field]) {
        for field in fields {
            self.path.push(&field.name);
            self.value(Cow::Borrowed(&field.ty));
            self.path.pop();
        }
    }

    fn value(&mut self, ty: Cow<'a, Type>) {
        if let Type::Struct(name) = &*ty {
            // A struct without words is passed over, as a text could nest such structs to any
            // depth.
            if let Some(s) = self.model.structure(name).filter(|s| s.words > 0) {
                self.fields(&s.fields);
            }
            return;
        }
        let optional = match &*ty {
            Type::Optional(of) => Some(of.clone()),
            _ => None,
        };
        let word = self.word;
        if optional.is_some() || matches!(&*ty, Type::Scalar(_) | Type::Enum(_)) {
            self.places.push(Place {
                path: self.path.clone(),
                ty,
                word,
                within: self.within.clone(),
            });
        }
        self.word = word.saturating_add(1);
        if let Some(of) = optional {
            self.path.push(VALUE);
            self.within.push(word);
            self.value(Cow::Owned(of.into()));
            self.within.pop();
            self.path.pop();
        }
    }
}

impl Place<'_> {
    fn name_bytes(&self) -> usize {
        self.path.iter().map(|part| part.len() + 1).sum()
    }

    /// Its name, for people: without its middle if it is very long.
    fn name(&self) -> String {
        let of = |part: &&'_ str| {
            match *part {
                VALUE => "Value",
                name => name,
            }
            .to_string()
        };
        let long = self.name_bytes() > LONGEST_NAME;
        match self.path.as_slice() {
            [first, .., last] if long => format!("{}...{}", of(first), of(last)),
            all => all.iter().map(of).collect::<Vec<_>>().join("."),
        }
    }

    /// Pushes the number in its word, without a result where it is absent.
    fn push(&self, read: Read, into: &mut Vec<Step>) {
        into.push(Step::Word(self.word, read));
        for flag in &self.within {
            into.extend([Step::Word(*flag, Read::U64), Step::Divide]);
        }
    }

    /// Pushes the truth value in its word, without a result where it is absent.
    fn push_truth(&self, into: &mut Vec<Step>) {
        if self.within.is_empty() {
            into.push(Step::Word(self.word, Read::Truth));
        } else {
            self.push(Read::U64, into);
            into.extend([Step::Number(1), Step::Equal]);
        }
    }
}

/// The values that a word may have.
enum Values {
    All,
    Within(Read, Vec<(i128, i128)>),
    TooMany,
}

/// The values that a word of this type may have; `absent` if it is 0, too, for nothing.
fn values(ty: &Type, absent: bool, model: &Model) -> Values {
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
            if absent {
                numbers.push(0);
            }
            numbers.sort_unstable();
            let mut ranges: Vec<(i128, i128)> = Vec::new();
            for n in numbers {
                match ranges.last_mut() {
                    Some((_, last)) if n <= *last + 1 => *last = n.max(*last),
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
            match &*place.ty {
                Type::Scalar(s) if s.is_float() => return None,
                Type::Scalar(Scalar::Bool) => place.push_truth(into),
                Type::Scalar(s) => place.push(read(*s), into),
                Type::Enum(name) => place.push(read(model.enumeration(name)?.repr), into),
                _ => return None,
            }
            return Some(());
        }
        // Words of blocks are no numbers.
        Term::Present { block: true, .. } => return None,
        Term::Present { path, .. } => {
            places.iter().find(|p| p.path == *path)?.push_truth(into);
            return Some(());
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
