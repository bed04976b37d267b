//! Errors: why a module is refused, as a kind, a message and a place.

use sing_image::limits::{self, Limit};
use sing_image::shown::Shown;
use std::fmt;

/// The kind of reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Not valid WebAssembly of the allowed features.
    Invalid,
    /// Valid, but uses a feature that this system does not offer to SIPs.
    Unsupported,
    /// Imports something that a SIP cannot have.
    Import,
    /// Lacks an export that a SIP must have, or has it with another type.
    Export,
    /// The manifest is missing or wrong.
    Manifest,
    /// A contract is missing or wrong, or the module uses it wrongly.
    Contract,
    /// Uses a privilege that the manifest does not request.
    Privilege,
    /// Needs more memory than its manifest allows.
    Budget,
    /// A part of the program does what it is declared not to do.
    Region,
    /// Larger than the compiler can handle.
    TooLarge,
    /// An inconsistency in the compiler, which is never the module's fault.
    Internal,
}

/// A place in the module.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// A byte offset in the file.
    Offset(u64),
    /// A byte offset in the file, inside a function.
    Function {
        /// Its index.
        index: u32,
        /// Its name, if the name section has it.
        name: Option<String>,
        /// The byte offset in the file.
        offset: u64,
    },
    /// An import.
    Import {
        /// The module's name.
        module: String,
        /// The field's name.
        name: String,
    },
    /// An export.
    Export(String),
    /// A custom section.
    Section(&'static str),
}

/// Why a module is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The kind of reason.
    pub kind: ErrorKind,
    /// The reason, and the remedy if there is one.
    pub message: String,
    /// The place in the module, if known.
    pub place: Option<Place>,
}

/// A result with [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error {
            kind,
            message: message.into(),
            place: None,
        }
    }

    pub(crate) fn at(self, place: Place) -> Error {
        Error {
            place: Some(place),
            ..self
        }
    }

    /// An inconsistency in the compiler: something that validation has excluded occurred.
    pub(crate) fn internal(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Internal, message)
    }

    pub(crate) fn invalid(e: &wasmparser::Error) -> Error {
        let bound = BOUNDS.iter().find(|(text, _)| e.message().contains(text));
        if let Some((_, limit)) = bound {
            let message = format!(
                "the module has more {}, where {} are allowed: {}",
                limit.what, limit.most, limit.way_out
            );
            return Error::new(ErrorKind::TooLarge, message).at(Place::Offset(e.offset()));
        }
        let kind = match e.missing_wasm_feature() {
            Some(_) => ErrorKind::Unsupported,
            None => ErrorKind::Invalid,
        };
        // It quotes names of the module.
        Error::new(kind, Shown(e.message()).to_string()).at(Place::Offset(e.offset()))
    }

    /// The byte offset in the file, if the place has one.
    #[must_use]
    pub fn offset(&self) -> Option<u64> {
        match self.place {
            Some(Place::Offset(offset) | Place::Function { offset, .. }) => Some(offset),
            _ => None,
        }
    }
}

/// What the validator bounds by itself, by its words.
const BOUNDS: [(&str, Limit); 4] = [
    (
        "function params size is out of bounds",
        limits::FUNCTION_PARAMS,
    ),
    (
        "function returns size is out of bounds",
        limits::FUNCTION_RESULTS,
    ),
    ("catches size is out of bounds", limits::CATCHES),
    ("string size out of bounds", limits::STRING_BYTES),
];

impl From<wasmparser::Error> for Error {
    fn from(e: wasmparser::Error) -> Error {
        Error::invalid(&e)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Offset(offset) => write!(f, "byte {offset:#x}"),
            Place::Function {
                index,
                name: Some(name),
                offset,
            } => {
                write!(f, "function {index} ({name}), byte {offset:#x}")
            }
            Place::Function {
                index,
                name: None,
                offset,
            } => {
                write!(f, "function {index}, byte {offset:#x}")
            }
            Place::Import { module, name } => write!(f, "import {module:?} {name:?}"),
            Place::Export(name) => write!(f, "export {name:?}"),
            Place::Section(name) => write!(f, "section {name}"),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.kind == ErrorKind::Internal {
            f.write_str("internal error of the compiler: ")?;
        }
        match &self.place {
            Some(place) => write!(f, "{place}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for Error {}
