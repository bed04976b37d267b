//! Names of contracts as names of C.

use std::collections::BTreeMap;

/// Words that C11 keeps for itself, and those that the headers it comes with define.
const RESERVED: [&str; 52] = [
    "auto",
    "break",
    "case",
    "char",
    "const",
    "continue",
    "default",
    "do",
    "double",
    "else",
    "enum",
    "extern",
    "float",
    "for",
    "goto",
    "if",
    "inline",
    "int",
    "long",
    "register",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "struct",
    "switch",
    "typedef",
    "union",
    "unsigned",
    "void",
    "volatile",
    "while",
    "_Alignas",
    "_Alignof",
    "_Atomic",
    "_Bool",
    "_Complex",
    "_Generic",
    "_Imaginary",
    "_Noreturn",
    "_Static_assert",
    "_Thread_local",
    "asm",
    "bool",
    "true",
    "false",
    "NULL",
    "offsetof",
    "self",
    "next",
];

/// A name that C lets a parameter or member have.
pub(super) fn ident(name: &str) -> String {
    // What the generated code calls its own begins with `sing_`.
    if RESERVED.contains(&name) || name.starts_with("sing_") {
        format!("{name}_")
    } else {
        name.to_owned()
    }
}

/// A state in the name of a type: `Start'Request` as `Start_Request`.
pub(super) fn state(name: &str) -> String {
    name.replace('\'', "_")
}

/// Documentation lines as comments.
pub(super) fn comment(indent: &str, docs: &[String]) -> String {
    docs.iter()
        .map(|line| {
            // A backslash at a line's end would join it with the next.
            let line = format!("{indent}// {}", line.trim_end_matches('\\'));
            format!("{}\n", line.trim_end())
        })
        .collect()
}

/// The names that a header declares, each once.
pub(super) struct Names<'a> {
    contract: &'a str,
    taken: BTreeMap<String, String>,
}

impl<'a> Names<'a> {
    pub fn new(contract: &'a str) -> Names<'a> {
        let taken = BTreeMap::new();
        Names { contract, taken }
    }

    /// Takes a name for something; fails where something else has it.
    pub fn take(&mut self, name: &str, what: &str) -> Result<(), String> {
        match self.taken.insert(name.to_owned(), what.to_owned()) {
            None => Ok(()),
            Some(other) => Err(format!(
                "contract {}: {other} and {what} would both be called {name} in C; rename one of them",
                self.contract
            )),
        }
    }
}
