//! Why two modules cannot be joined, in the words of who wants to run the program.

use sing_image::shown::Shown;
use std::fmt;

/// Why two modules cannot be joined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(String);

impl Error {
    pub(crate) fn new(text: impl Into<String>) -> Error {
        Error(text.into())
    }

    /// All that is in a program's way; at least one thing.
    pub(crate) fn all(reasons: &[String]) -> Error {
        if let [reason] = reasons {
            return Error::new(reason.clone());
        }
        let mut text = format!("cannot run here, for {} reasons:", reasons.len());
        for reason in reasons {
            text.push_str("\n  ");
            text.push_str(&reason.replace('\n', "\n  "));
        }
        Error::new(text)
    }

    pub(crate) fn in_adapter(self) -> Error {
        Error(format!("the adapter: {}", self.0))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

impl From<wasmparser::Error> for Error {
    fn from(e: wasmparser::Error) -> Error {
        Error(format!(
            "not a valid module: {} (at byte {})",
            // It quotes names of the module.
            Shown(e.message()),
            e.offset()
        ))
    }
}

impl From<wasm_encoder::reencode::Error> for Error {
    fn from(e: wasm_encoder::reencode::Error) -> Error {
        use wasm_encoder::reencode::Error as E;
        match e {
            E::ParseError(e) => e.into(),
            other => Error(format!("cannot be written anew: {other}")),
        }
    }
}
