//! What memories, tables and globals begin with: constant expressions, and the segments of data and elements.
//!
//! Invariant: an expression has a fixed size; one that takes several steps names them by their places in
//! [`Meta::steps`](super::Meta::steps).

use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// A constant expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ConstExpr {
    /// A number, as its bits.
    Bits(u64),
    /// The value of a global with a lower index.
    Global(u32),
    /// A reference to a function.
    RefFunc(u32),
    /// A null reference.
    Null,
    /// A vector: its 16 bytes start there in the image's data.
    Vector(u32),
    /// `Open` only: the value that these [`steps`](super::Meta::steps) compute.
    Computed {
        /// The first step.
        from: u32,
        /// Number of steps.
        len: u32,
    },
}

/// A step of a computed constant expression, which works on a stack of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ConstStep {
    /// Pushes a value.
    Push(ConstExpr),
    /// Adds two 32-bit integers.
    Add32,
    /// Subtracts the topmost 32-bit integer from the one below it.
    Sub32,
    /// Multiplies two 32-bit integers.
    Mul32,
    /// Adds two 64-bit integers.
    Add64,
    /// Subtracts the topmost 64-bit integer from the one below it.
    Sub64,
    /// Multiplies two 64-bit integers.
    Mul64,
}

impl ConstStep {
    /// Returns the result of an operation on two integers, as its bits; `None` for a push.
    #[must_use]
    pub fn apply(self, a: u64, b: u64) -> Option<u64> {
        let (low_a, low_b) = (a as u32, b as u32);
        Some(match self {
            ConstStep::Push(_) => return None,
            ConstStep::Add32 => low_a.wrapping_add(low_b).into(),
            ConstStep::Sub32 => low_a.wrapping_sub(low_b).into(),
            ConstStep::Mul32 => low_a.wrapping_mul(low_b).into(),
            ConstStep::Add64 => a.wrapping_add(b),
            ConstStep::Sub64 => a.wrapping_sub(b),
            ConstStep::Mul64 => a.wrapping_mul(b),
        })
    }
}

/// The destination of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SegmentMode {
    /// Into this memory or table, at this offset, at instantiation.
    Active {
        /// Index of the memory or table.
        target: u32,
        /// The offset.
        offset: ConstExpr,
    },
    /// Nowhere, until an `init` instruction copies from it.
    Passive,
    /// Nowhere: it only declares that functions are referred to.
    Declared,
}

/// A data segment. Its bytes stand in the image's data, outside the meta.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Data {
    /// Destination. In a sealed image, active segments are `Declared` and empty: [`initial`](super::Meta::initial)
    /// has their bytes.
    pub mode: SegmentMode,
    /// Offset of its bytes in the image's data.
    pub from: u32,
    /// Number of bytes.
    pub len: u32,
}

/// A piece of a sealed image's initial memory that is not zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Destination address in linear memory.
    pub at: u32,
    /// Offset of its bytes in the image's data.
    pub from: u32,
    /// Number of bytes; never 0.
    pub len: u32,
}

impl Run {
    /// Returns the address behind the run.
    #[must_use]
    pub fn end(&self) -> u64 {
        u64::from(self.at) + u64::from(self.len)
    }
}

/// An element segment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Element {
    /// Destination.
    pub mode: SegmentMode,
    /// The references in the segment.
    pub items: Vec<ConstExpr>,
}
