//! `sing new`: makes a project.
//!
//! All files are made in a folder beside its place, which is renamed when it is whole: a command that
//! is ended leaves no half of a project.

use super::{PACKAGE, SYSTEM, sdk};
use crate::{carried, output};
use std::fs;
use std::path::Path;

/// What the project begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A program that prints.
    Program,
    /// A contract, a service and a client.
    Service,
}

/// The most characters of a project's name.
const LONGEST: usize = 32;
/// Names that are other crates' for the compiler.
const CRATES: [&str; 8] = [
    "alloc",
    "build",
    "core",
    "proc-macro",
    "sing-sdk",
    "startup",
    "std",
    "test",
];
/// Words of Rust: in the programs the name is a module's.
const WORDS: [&str; 46] = [
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate",
    "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl",
    "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref",
    "return", "self", "static", "struct", "super", "trait", "true", "try", "type", "unsafe", "use",
    "where",
];

macro_rules! template {
    ($path:literal) => {
        include_str!(concat!("../../templates/", $path))
    };
}

/// Files of every project: the path of each, and its template.
const COMMON: [(&str, &str); 3] = [
    (PACKAGE, template!("Cargo.toml.txt")),
    (".cargo/config.toml", template!("config.toml")),
    (".gitignore", template!("gitignore")),
];
const PROGRAM: [(&str, &str); 5] = [
    ("README.md", template!("program/README.md")),
    (SYSTEM, template!("program/system.json")),
    ("src/lib.rs", template!("program/src/lib.rs")),
    ("src/main.rs", template!("program/src/main.rs")),
    ("tests/greeting.rs", template!("program/tests/greeting.rs")),
];
const SERVICE: [(&str, &str); 7] = [
    ("README.md", template!("service/README.md")),
    (SYSTEM, template!("service/system.json")),
    ("{{name}}.contract", template!("service/contract.txt")),
    ("src/lib.rs", template!("service/src/lib.rs")),
    ("src/main.rs", template!("service/src/main.rs")),
    (
        "src/bin/{{name}}-client.rs",
        template!("service/src/bin/client.rs"),
    ),
    (
        "tests/conversation.rs",
        template!("service/tests/conversation.rs"),
    ),
];
/// The second binary of a project with a service.
const CLIENT: &str = "
[[bin]]
name = \"{{name}}-client\"
path = \"src/bin/{{name}}-client.rs\"
test = false
bench = false
";

/// Makes a project in this folder, which is not there yet.
pub fn new(folder: &Path, kind: Kind) -> Result<(), String> {
    let shown = folder.display();
    let name = folder.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| format!("{shown}: has no name that a program could have"))?;
    let checked = check(name).and_then(|()| match kind {
        Kind::Program => Ok(()),
        Kind::Service => check_contract(name),
    });
    checked.map_err(|e| format!("{name:?} cannot be a program's name: {e}"))?;
    if fs::symlink_metadata(folder).is_ok() {
        return Err(format!(
            "{shown}: is there already; name another, or remove it"
        ));
    }
    let failed = |e| format!("{shown}: cannot be made: {e}");
    let place = sing_files::Folder::beside(folder).map_err(failed)?;
    // The place is of this user alone; a project is as open as others.
    let whole = place.path().join(name);
    let files: &[(&str, &str)] = match kind {
        Kind::Program => &PROGRAM,
        Kind::Service => &SERVICE,
    };
    for (path, text) in COMMON.iter().chain(files) {
        let path = whole.join(filled(path, name, kind));
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(failed)?;
        }
        fs::write(path, filled(text, name, kind)).map_err(failed)?;
    }
    // The versions of crates with which the SDK is tested. Cargo leaves out what is not used.
    for (path, lock) in carried::LOCK {
        fs::write(whole.join(path), lock).map_err(failed)?;
    }
    sdk::give(&whole)?;
    fs::rename(&whole, folder).map_err(failed)?;
    output::line(format!(
        "{shown}: `cd {shown} && sing run` builds and runs it; README.md says more"
    ));
    Ok(())
}

/// Whether a program, a crate and a contract can be called so.
fn check(name: &str) -> Result<(), String> {
    let letters = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
    if !begins || name.ends_with('-') || name.contains("--") || !name.chars().all(letters) {
        return Err(
            "it begins with a small letter, and has small letters, digits and single hyphens"
                .into(),
        );
    }
    if name.len() > LONGEST {
        return Err(format!("it has more than {LONGEST} characters"));
    }
    if CRATES.contains(&name) || WORDS.contains(&name) {
        return Err("it is a word of Rust, or a crate of its own".into());
    }
    if carried::PROGRAMS.iter().any(|(known, _)| *known == name) || name == "show" {
        return Err("a program of the system is called so".into());
    }
    Ok(())
}

/// Whether the contract of the project's service is not one of the system's.
fn check_contract(name: &str) -> Result<(), String> {
    let contract = format!("{}Contract", camel(name));
    let texts = carried::SDK
        .iter()
        .filter(|(path, _)| path.ends_with(".contract"));
    let declares = |text: &[u8]| {
        let text = String::from_utf8_lossy(text);
        let mut words = text.split(|c: char| !c.is_alphanumeric());
        words.any(|word| word == contract)
    };
    match texts.into_iter().any(|(_, text)| declares(text)) {
        true => Err(format!("the system has a {contract}")),
        false => Ok(()),
    }
}

/// A template with the project's names.
fn filled(text: &str, name: &str, kind: Kind) -> String {
    let more = match kind {
        Kind::Program => "",
        Kind::Service => CLIENT,
    };
    text.replace("{{more}}", more)
        .replace("{{name}}", name)
        .replace("{{crate}}", &name.replace('-', "_"))
        .replace("{{Name}}", &camel(name))
}

/// `some-name` as the name of a contract begins: `SomeName`.
fn camel(name: &str) -> String {
    let words = name.split('-').map(|word| {
        let (first, rest) = word.split_at(word.len().min(1));
        first.to_ascii_uppercase() + rest
    });
    words.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked() {
        for good in ["a", "hello", "my-adder2", "x".repeat(LONGEST).as_str()] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        let long = "x".repeat(LONGEST + 1);
        for bad in [
            "",
            "-a",
            "a-",
            "a--b",
            "1a",
            "Hello",
            "a_b",
            "ä",
            "a b",
            "a.b",
            "{{name}}",
            "fn",
            "std",
            "show",
            "startup",
            long.as_str(),
        ] {
            assert!(check(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn no_service_has_a_contract_of_the_systems() {
        assert_eq!(check_contract("adder2"), Ok(()));
        for bad in ["call", "pipe", "clock", "file", "directory"] {
            assert!(check_contract(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn templates_are_filled() {
        for (path, text) in COMMON.iter().chain(&PROGRAM).chain(&SERVICE) {
            let text = filled(text, "my-adder2", Kind::Service);
            assert!(!text.contains("{{") || path.ends_with(".rs"), "{path}");
            for left in ["{{name}}", "{{crate}}", "{{Name}}", "{{more}}"] {
                assert!(!text.contains(left), "{path}: {left}");
            }
        }
        assert_eq!(camel("my-adder2"), "MyAdder2");
    }

    #[test]
    fn contracts_are_laid_out() {
        let text = filled(template!("service/contract.txt"), "adder", Kind::Service);
        let laid_out = sing_contract::format::source("a.contract", &text).unwrap();
        assert_eq!(laid_out, text);
    }
}
