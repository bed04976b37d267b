//! Types of arguments and fields.

use crate::ast::Side;
use std::fmt;

/// A scalar type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Scalar {
    Bool,
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    Char,
    F32,
    F64,
}

impl Scalar {
    /// The type with this name in the language; the papers' names and Rust's.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Scalar> {
        Some(match name {
            "bool" => Scalar::Bool,
            "byte" | "u8" => Scalar::U8,
            "sbyte" | "i8" => Scalar::I8,
            "ushort" | "u16" => Scalar::U16,
            "short" | "i16" => Scalar::I16,
            "uint" | "u32" => Scalar::U32,
            "int" | "i32" => Scalar::I32,
            "ulong" | "u64" => Scalar::U64,
            "long" | "i64" => Scalar::I64,
            "char" => Scalar::Char,
            "float" | "f32" => Scalar::F32,
            "double" | "f64" => Scalar::F64,
            _ => return None,
        })
    }

    /// Its name in Rust.
    #[must_use]
    pub fn rust_name(self) -> &'static str {
        match self {
            Scalar::Bool => "bool",
            Scalar::U8 => "u8",
            Scalar::I8 => "i8",
            Scalar::U16 => "u16",
            Scalar::I16 => "i16",
            Scalar::U32 => "u32",
            Scalar::I32 => "i32",
            Scalar::U64 => "u64",
            Scalar::I64 => "i64",
            Scalar::Char => "char",
            Scalar::F32 => "f32",
            Scalar::F64 => "f64",
        }
    }

    /// Its name in the papers.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Scalar::Bool => "bool",
            Scalar::U8 => "byte",
            Scalar::I8 => "sbyte",
            Scalar::U16 => "ushort",
            Scalar::I16 => "short",
            Scalar::U32 => "uint",
            Scalar::I32 => "int",
            Scalar::U64 => "ulong",
            Scalar::I64 => "long",
            Scalar::Char => "char",
            Scalar::F32 => "float",
            Scalar::F64 => "double",
        }
    }

    /// The numbers that an integer type holds.
    #[must_use]
    pub fn range(self) -> Option<(i128, i128)> {
        Some(match self {
            Scalar::U8 => (0, u8::MAX.into()),
            Scalar::I8 => (i8::MIN.into(), i8::MAX.into()),
            Scalar::U16 => (0, u16::MAX.into()),
            Scalar::I16 => (i16::MIN.into(), i16::MAX.into()),
            Scalar::U32 => (0, u32::MAX.into()),
            Scalar::I32 => (i32::MIN.into(), i32::MAX.into()),
            Scalar::U64 => (0, u64::MAX.into()),
            Scalar::I64 => (i64::MIN.into(), i64::MAX.into()),
            Scalar::Bool | Scalar::Char | Scalar::F32 | Scalar::F64 => return None,
        })
    }

    /// Its size in bytes, which is its alignment too.
    #[must_use]
    pub fn size(self) -> usize {
        match self {
            Scalar::Bool | Scalar::U8 | Scalar::I8 => 1,
            Scalar::U16 | Scalar::I16 => 2,
            Scalar::U32 | Scalar::I32 | Scalar::Char | Scalar::F32 => 4,
            Scalar::U64 | Scalar::I64 | Scalar::F64 => 8,
        }
    }

    /// Whether it is `float` or `double`.
    #[must_use]
    pub fn is_float(self) -> bool {
        matches!(self, Scalar::F32 | Scalar::F64)
    }
}

/// The content of a block: one value, or many. Also a value that may be absent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A scalar.
    Scalar(Scalar),
    /// An enum, by name.
    Enum(String),
    /// A rep struct without endpoints in it, by name. Its fields may be blocks: trees ([O] 4.7).
    Struct(String),
}

/// The type of an argument or field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// A scalar.
    Scalar(Scalar),
    /// An enum, by name.
    Enum(String),
    /// A rep struct, by name.
    Struct(String),
    /// `T?`: a scalar, an enum, or a rep struct that is nothing but values, which may be absent. In a
    /// message a word that is 1 if it is there, and 0 if not, stands before its words; in a block a
    /// byte before its bytes. The value of one that is absent is all zeros.
    Optional(Content),
    /// `T[] in ExHeap`
    Vector {
        /// The type of its elements.
        of: Content,
        /// Whether it may be absent: then its word is 0, or nothing is attached in its place.
        optional: bool,
    },
    /// `T* in ExHeap`
    Record {
        /// The type of its content.
        of: Content,
        /// Whether it may be absent, as a vector.
        optional: bool,
    },
    /// An endpoint.
    Endpoint {
        /// Its contract's name.
        contract: String,
        /// Its side.
        side: Side,
        /// Name of the state that it is in.
        state: String,
    },
}

impl Type {
    /// The enum or rep struct that it is, or is a block of.
    #[must_use]
    pub fn named(&self) -> Option<&str> {
        match self {
            Type::Enum(name) | Type::Struct(name) => Some(name),
            Type::Optional(of) | Type::Vector { of, .. } | Type::Record { of, .. } => match of {
                Content::Enum(name) | Content::Struct(name) => Some(name),
                Content::Scalar(_) => None,
            },
            Type::Scalar(_) | Type::Endpoint { .. } => None,
        }
    }

    /// Whether it is a block that may be absent.
    #[must_use]
    pub fn is_optional_block(&self) -> bool {
        matches!(
            self,
            Type::Vector { optional: true, .. } | Type::Record { optional: true, .. }
        )
    }
}

impl From<Content> for Type {
    fn from(of: Content) -> Type {
        match of {
            Content::Scalar(s) => Type::Scalar(s),
            Content::Enum(name) => Type::Enum(name),
            Content::Struct(name) => Type::Struct(name),
        }
    }
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Content::Scalar(s) => f.write_str(s.name()),
            Content::Enum(name) | Content::Struct(name) => f.write_str(name),
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Scalar(s) => f.write_str(s.name()),
            Type::Enum(name) | Type::Struct(name) => f.write_str(name),
            Type::Optional(of) => write!(f, "{of}?"),
            Type::Vector { of, optional } => {
                write!(f, "{of}[]{} in ExHeap", if *optional { "?" } else { "" })
            }
            Type::Record { of, optional } => {
                write!(f, "{of}*{} in ExHeap", if *optional { "?" } else { "" })
            }
            Type::Endpoint {
                contract,
                side,
                state,
            } => {
                write!(f, "{contract}.{}:{state}", side.name())
            }
        }
    }
}

/// How a value lies in a block: little-endian, naturally aligned, as C lays it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Its size in bytes, a multiple of its alignment.
    pub size: usize,
    /// Its alignment in bytes.
    pub align: usize,
}
