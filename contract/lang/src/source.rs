//! Source texts and places in them.

use std::ops::Range;
use std::sync::Arc;

/// A source text with the name by which people know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// File name, or what stands for it.
    pub name: String,
    /// The text.
    pub text: String,
}

/// The texts that belong together: a file and what it imports.
pub type Sources = Arc<Vec<Source>>;

/// A place in one of several sources, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Index of the source.
    pub source: u32,
    /// First byte.
    pub start: u32,
    /// Byte after the last.
    pub end: u32,
}

impl Span {
    /// From the start of this place to the end of the other one.
    #[must_use]
    pub fn to(self, other: Span) -> Span {
        Span {
            source: self.source,
            start: self.start,
            end: other.end.max(self.start),
        }
    }

    /// The bytes, as a range.
    #[must_use]
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}
