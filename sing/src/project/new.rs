//! `sing new`: makes a project.
//!
//! All files are made in a folder beside its place, which is renamed when it is whole: a command that
//! is ended leaves no half of a project.

use super::{PACKAGE, SYSTEM, sdk};
use crate::output::name_of;
use crate::{carried, output};
use std::fmt;
use std::fs;
use std::path::Path;

/// What the project begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A program that prints.
    Program,
    /// A contract, a service and a client.
    Service,
    /// A client of a service that it finds by a name.
    Client,
    /// A contract, a service and a client in C.
    C,
    /// An ordinary program.
    Wasi,
}

impl Kind {
    const ALL: [Kind; 5] = [
        Kind::Program,
        Kind::Service,
        Kind::Client,
        Kind::C,
        Kind::Wasi,
    ];

    /// The kind that an option names, which is given without its hyphens.
    pub fn of(option: &str) -> Option<Kind> {
        let named = |kind: &Kind| kind.to_string().strip_prefix("--") == Some(option);
        Kind::ALL.into_iter().find(named)
    }

    /// The files of a project: the path of each, and its template.
    fn files(self) -> impl Iterator<Item = &'static (&'static str, &'static str)> {
        let (common, own): (&[_], &[_]) = match self {
            Kind::Program => (&CARGO, &PROGRAM),
            Kind::Service => (&CARGO, &SERVICE),
            Kind::Client => (&CARGO, &CLIENT),
            Kind::C => (&[IGNORED], &IN_C),
            Kind::Wasi => (&[], &WASI),
        };
        common.iter().chain(own)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Program => "a program",
            Kind::Service => "--service",
            Kind::Client => "--client",
            Kind::C => "--c",
            Kind::Wasi => "--wasi",
        })
    }
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

const IGNORED: (&str, &str) = (".gitignore", template!("gitignore"));
/// Files of every project with the SDK in Rust.
const CARGO: [(&str, &str); 3] = [
    (PACKAGE, template!("Cargo.toml.txt")),
    (".cargo/config.toml", template!("config.toml")),
    IGNORED,
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
const CLIENT: [(&str, &str); 5] = [
    ("README.md", template!("client/README.md")),
    (SYSTEM, template!("client/system.json")),
    ("src/lib.rs", template!("client/src/lib.rs")),
    ("src/main.rs", template!("client/src/main.rs")),
    (
        "tests/conversation.rs",
        template!("client/tests/conversation.rs"),
    ),
];
const IN_C: [(&str, &str); 5] = [
    ("README.md", template!("c/README.md")),
    (SYSTEM, template!("c/system.json")),
    ("{{name}}.contract", template!("service/contract.txt")),
    ("c/{{name}}/service.c", template!("c/service.c")),
    ("c/{{name}}-client/client.c", template!("c/client.c")),
];
const WASI: [(&str, &str); 5] = [
    (PACKAGE, template!("wasi/Cargo.toml.txt")),
    (".cargo/config.toml", template!("wasi/config.toml")),
    (".gitignore", template!("wasi/gitignore")),
    ("README.md", template!("wasi/README.md")),
    ("src/main.rs", template!("wasi/src/main.rs")),
];
/// The second binary of a project with a service.
const SECOND: &str = "
[[bin]]
name = \"{{name}}-client\"
path = \"src/bin/{{name}}-client.rs\"
test = false
bench = false
";

/// Makes a project in this folder, which is not there yet; those above it are made, too.
pub fn new(folder: &Path, kind: Kind) -> Result<(), String> {
    let shown = name_of(folder);
    let name = folder.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| {
        format!("{folder:?}: has no name that a program could have; write `sing new NAME`")
    })?;
    let checked = check(name).and_then(|()| match kind {
        Kind::Service | Kind::C => check_contract(name),
        Kind::Program | Kind::Client | Kind::Wasi => Ok(()),
    });
    checked.map_err(|e| format!("{name:?} cannot be a program's name: {e}"))?;
    if fs::symlink_metadata(folder).is_ok() {
        return Err(format!(
            "{shown}: is there already; name another, or remove it"
        ));
    }
    let failed = |e| format!("{shown}: cannot be made: {e}");
    // As cargo does.
    if let Some(parent) = folder.parent() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    let place = sing_files::Folder::beside(folder).map_err(failed)?;
    // The place is of this user alone; a project is as open as others.
    let whole = place.path().join(name);
    for (path, text) in kind.files() {
        let path = whole.join(filled(path, name, kind));
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(failed)?;
        }
        fs::write(path, filled(text, name, kind)).map_err(failed)?;
    }
    if kind != Kind::Wasi {
        sdk::give(&whole)?;
    }
    // The versions of crates with which the SDK is tested. Cargo leaves out what is not used.
    if !matches!(kind, Kind::C | Kind::Wasi) {
        for (path, lock) in carried::LOCK {
            fs::write(whole.join(path), lock).map_err(failed)?;
        }
    }
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
        Kind::Service => SECOND,
        _ => "",
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
    fn options_name_kinds() {
        for kind in Kind::ALL {
            let option = kind.to_string();
            let named = option.strip_prefix("--").and_then(Kind::of);
            assert_eq!(named, (kind != Kind::Program).then_some(kind));
        }
        assert_eq!(Kind::of("a program"), None);
    }

    #[test]
    fn templates_are_filled() {
        for kind in Kind::ALL {
            for (path, text) in kind.files() {
                let text = filled(text, "my-adder2", kind);
                assert!(!text.contains("{{") || path.ends_with(".rs"), "{path}");
                for left in ["{{name}}", "{{crate}}", "{{Name}}", "{{more}}"] {
                    assert!(!text.contains(left), "{path}: {left}");
                }
            }
        }
        assert_eq!(camel("my-adder2"), "MyAdder2");
    }

    #[test]
    fn the_book_shows_what_is_made() {
        let book = include_str!("../../../docs/src/own-programs.md");
        let (_, shown) = book.split_once("```c\n").unwrap();
        let (shown, _) = shown.split_once("```").unwrap();
        assert!(filled(template!("c/service.c"), "adder", Kind::C).contains(shown));
    }

    #[test]
    fn contracts_are_laid_out() {
        let text = filled(template!("service/contract.txt"), "adder", Kind::Service);
        let laid_out = sing_contract::format::source("a.contract", &text).unwrap();
        assert_eq!(laid_out, text);
    }
}
