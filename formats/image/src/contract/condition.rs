//! Conditions on a message's words, which the kernel checks at each send.
//!
//! A condition is about the numbers in a message: the type as which a word is read, the values that
//! it may have, a `requires` clause. Numbers are computed in 128 bits. A computation that overflows
//! them, or divides by zero, has no result, nor has a computation that uses it; a condition without
//! a result does not hold. `a && b` is false, and `a || b` true, if `a` alone decides it, whatever
//! `b` is; in any other case both need a result.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// The most conditions of a message.
pub const MAX_CONDITIONS: usize = 64;
/// The most steps of a computation.
pub const MAX_STEPS: usize = 255;
/// The most values on the stack of a computation.
pub const MAX_VALUES: usize = 32;
/// The most ranges in which a word may lie.
pub const MAX_RANGES: usize = 256;

/// The type of number as which a word's lowest bits are read; the others are ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Read {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    /// As a truth value: false if 0, else true.
    Truth,
}

impl Read {
    /// Returns the number in a word.
    #[must_use]
    pub fn number(self, word: u64) -> i128 {
        match self {
            Read::U8 => (word as u8).into(),
            Read::I8 => (word as i8).into(),
            Read::U16 => (word as u16).into(),
            Read::I16 => (word as i16).into(),
            Read::U32 => (word as u32).into(),
            Read::I32 => (word as i32).into(),
            Read::U64 => word.into(),
            Read::I64 => (word as i64).into(),
            Read::Truth => i128::from(word != 0),
        }
    }
}

/// A step of a computation on a stack of values. A truth value is 1 or 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum Step {
    /// Pushes a number.
    Number(i128),
    /// Pushes a truth value.
    Truth(bool),
    /// Pushes a word of the message.
    Word(u8, Read),
    /// Pops a truth value, pushes its negation.
    Not,
    /// Pops a number, pushes it with the other sign.
    Negate,
    // These pop two values, the second one first, and push one.
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Equal,
    Differ,
    Less,
    AtMost,
    Greater,
    AtLeast,
    And,
    Or,
}

/// The test of a condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Test {
    /// A word lies in one of these ranges, which are ascending and do not touch.
    Within(u8, Read, Vec<(i128, i128)>),
    /// A computation results in true.
    Holds(Vec<Step>),
}

/// A condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// The condition's text, for people.
    pub text: String,
    /// The test.
    pub test: Test,
}

impl Condition {
    /// Whether the condition holds for a message's words. A missing word reads as 0.
    #[must_use]
    pub fn holds(&self, words: &[u64]) -> bool {
        let word = |i: u8| words.get(usize::from(i)).copied().unwrap_or(0);
        match &self.test {
            Test::Within(i, read, ranges) => {
                let number = read.number(word(*i));
                let at = ranges.partition_point(|&(_, last)| last < number);
                ranges.get(at).is_some_and(|&(first, _)| first <= number)
            }
            Test::Holds(steps) => {
                let mut values = Values::new();
                for step in steps {
                    if values.step(*step, &word).is_none() {
                        return false;
                    }
                }
                values.pop() == Some(Some(1))
            }
        }
    }

    /// Checks that the condition can be computed for a message with this many words; `scalar` says
    /// which are numbers.
    ///
    /// # Errors
    /// Says why it cannot.
    pub fn check(&self, words: usize, scalar: impl Fn(usize) -> bool) -> Result<(), String> {
        let fail = |what: &str| Err(format!("condition {:?} {what}", self.text));
        let known = |word: u8| usize::from(word) < words && scalar(usize::from(word));
        match &self.test {
            Test::Within(word, read, ranges) => {
                if !known(*word) {
                    return fail("is about a word that is no number");
                }
                if *read == Read::Truth || ranges.is_empty() || ranges.len() > MAX_RANGES {
                    return fail("has no ranges, or too many");
                }
                let ordered = ranges.iter().all(|(first, last)| first <= last);
                let apart = |pair: &[(i128, i128)]| {
                    let next = pair[0].1.checked_add(1);
                    next.is_some_and(|next| next < pair[1].0)
                };
                if !ordered || !ranges.windows(2).all(apart) {
                    return fail("has ranges that are not ascending, or touch");
                }
            }
            Test::Holds(steps) => {
                if steps.len() > MAX_STEPS {
                    return fail("has too many steps");
                }
                let mut kinds: Vec<Kind> = Vec::with_capacity(MAX_VALUES);
                for step in steps {
                    if let Step::Word(word, _) = step
                        && !known(*word)
                    {
                        return fail("is about a word that is no number");
                    }
                    if step.apply(&mut kinds).is_none() {
                        return fail("takes values that are not there, or of the wrong kind");
                    }
                    if kinds.len() > MAX_VALUES {
                        return fail("holds too many values at once");
                    }
                }
                if kinds != [Kind::Truth] {
                    return fail("does not result in one truth value");
                }
            }
        }
        Ok(())
    }
}

/// The kind of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Number,
    Truth,
}

impl Step {
    /// Applies the step to a stack of kinds; `None` if its operands are missing or of other kinds.
    fn apply(self, kinds: &mut Vec<Kind>) -> Option<()> {
        use Kind::{Number, Truth};
        let (takes, puts): (&[Kind], Kind) = match self {
            Step::Number(_) => (&[], Number),
            Step::Truth(_) | Step::Word(_, Read::Truth) => (&[], Truth),
            Step::Word(..) => (&[], Number),
            Step::Not => (&[Truth], Truth),
            Step::Negate => (&[Number], Number),
            Step::Add | Step::Subtract | Step::Multiply | Step::Divide | Step::Remainder => {
                (&[Number, Number], Number)
            }
            Step::Less | Step::AtMost | Step::Greater | Step::AtLeast => (&[Number, Number], Truth),
            Step::And | Step::Or => (&[Truth, Truth], Truth),
            Step::Equal | Step::Differ => {
                let left = kinds.len().checked_sub(2)?;
                match kinds[left..] {
                    [Truth, Truth] => (&[Truth, Truth], Truth),
                    _ => (&[Number, Number], Truth),
                }
            }
        };
        let rest = kinds.len().checked_sub(takes.len())?;
        if kinds[rest..] != *takes {
            return None;
        }
        kinds.truncate(rest);
        kinds.push(puts);
        Some(())
    }
}

/// The stack of a computation. A value without a result is marked as such.
struct Values {
    numbers: [i128; MAX_VALUES],
    /// A bit for each value: whether it has a result.
    sound: u32,
    len: usize,
}

const _: () = assert!(MAX_VALUES <= u32::BITS as usize);

impl Values {
    fn new() -> Values {
        Values {
            numbers: [0; MAX_VALUES],
            sound: 0,
            len: 0,
        }
    }

    fn push(&mut self, value: Option<i128>) -> Option<()> {
        *self.numbers.get_mut(self.len)? = value.unwrap_or(0);
        let bit = 1 << self.len;
        self.sound = self.sound & !bit | if value.is_some() { bit } else { 0 };
        self.len += 1;
        Some(())
    }

    /// Pops the last value; `Some(None)` if it has no result.
    fn pop(&mut self) -> Option<Option<i128>> {
        self.len = self.len.checked_sub(1)?;
        let number = *self.numbers.get(self.len)?;
        Some((self.sound >> self.len & 1 == 1).then_some(number))
    }

    /// Does a step; `None` if values are missing or too many, which [`Condition::check`] rules out.
    fn step(&mut self, step: Step, word: &impl Fn(u8) -> u64) -> Option<()> {
        let value = match step {
            Step::Number(n) => Some(n),
            Step::Truth(truth) => Some(truth.into()),
            Step::Word(i, read) => Some(read.number(word(i))),
            Step::Not => self.pop()?.map(|a| i128::from(a == 0)),
            Step::Negate => self.pop()?.and_then(i128::checked_neg),
            _ => {
                let (right, left) = (self.pop()?, self.pop()?);
                match (step, left) {
                    (Step::And, Some(0)) => Some(0),
                    (Step::Or, Some(1)) => Some(1),
                    _ => left
                        .zip(right)
                        .and_then(|(left, right)| two(step, left, right)),
                }
            }
        };
        self.push(value)
    }
}

fn two(step: Step, left: i128, right: i128) -> Option<i128> {
    let truth = match step {
        Step::Add => return left.checked_add(right),
        Step::Subtract => return left.checked_sub(right),
        Step::Multiply => return left.checked_mul(right),
        Step::Divide => return left.checked_div(right),
        Step::Remainder => return left.checked_rem(right),
        Step::Equal => left == right,
        Step::Differ => left != right,
        Step::Less => left < right,
        Step::AtMost => left <= right,
        Step::Greater => left > right,
        Step::AtLeast => left >= right,
        // If the left operand does not decide, the right one does.
        _ => right != 0,
    };
    Some(truth.into())
}
