//! What whoever joins the modules tells the adapter: variables of the environment, directories,
//! which streams are a terminal. It stands in the merged module, as the kernel knows none of it.
//!
//! As bytes: for each setting its kind, its name and its value, each with a zero behind it.

use crate::Error;

/// The most bytes of all settings together.
const MOST: usize = 1 << 20;

/// A setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setting {
    /// A variable of the environment.
    Env {
        /// Its name.
        name: String,
        /// Its value.
        value: String,
    },
    /// A directory that the program may use.
    Dir {
        /// The program's name for it.
        guest: String,
        /// Its path in the name space.
        path: String,
        /// Whether it can only be read.
        read_only: bool,
    },
    /// A standard stream that is a terminal.
    Terminal {
        /// `stdin`, `stdout` or `stderr`.
        stream: &'static str,
    },
}

/// The bytes of settings.
pub(crate) fn text(settings: &[Setting]) -> Result<Vec<u8>, Error> {
    let mut text = Vec::new();
    for setting in settings {
        let words = match setting {
            Setting::Env { name, value } => ["env", name, value],
            Setting::Dir {
                guest,
                path,
                read_only: false,
            } => ["dir", guest, path],
            Setting::Dir { guest, path, .. } => ["read", guest, path],
            Setting::Terminal { stream } => ["terminal", stream, ""],
        };
        for word in words {
            if word.contains('\0') {
                let text = format!("{word:?} has a zero in it, which no setting can have");
                return Err(Error::new(text));
            }
            text.extend_from_slice(word.as_bytes());
            text.push(0);
        }
    }
    if text.len() > MOST {
        return Err(Error::new(format!(
            "the environment and the directories' names have {} bytes, where {MOST} are allowed: pass \
             fewer",
            text.len()
        )));
    }
    Ok(text)
}
