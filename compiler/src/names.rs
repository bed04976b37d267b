//! Names of functions, for crash reports and disassemblies.
//!
//! The name section is not validated and can contain anything: parts that cannot be parsed are
//! ignored, and names are made printable and bounded in length.

use crate::module::Module;
use sing_abi::names::EXPORT_NO_ALLOC;
use sing_image::shown::is_escaped;
use std::fmt::{self, Write as _};
use wasmparser as wp;

/// The longest name that an image keeps, in characters.
const LONGEST: usize = 256;

/// Names by function index, from the name section.
pub(crate) fn of_functions(module: &Module<'_>) -> Vec<Option<String>> {
    let mut names = vec![None; module.func_types.len()];
    for section in module.customs.iter().filter(|c| c.name == "name") {
        let reader = wp::BinaryReader::new(section.bytes, 0);
        for subsection in wp::NameSectionReader::new(reader) {
            let Ok(wp::Name::Function(map)) = subsection else {
                continue;
            };
            for naming in map {
                let Ok(naming) = naming else { break };
                if let Some(name) = names.get_mut(naming.index as usize) {
                    *name = readable(naming.name);
                }
            }
        }
    }
    names
}

/// Names of segments of data by their index, from the name section.
pub(crate) fn of_data(module: &Module<'_>) -> Vec<Option<String>> {
    let mut names = vec![None; module.data.len()];
    for section in module.customs.iter().filter(|c| c.name == "name") {
        let reader = wp::BinaryReader::new(section.bytes, 0);
        for subsection in wp::NameSectionReader::new(reader) {
            let Ok(wp::Name::Data(map)) = subsection else {
                continue;
            };
            for naming in map {
                let Ok(naming) = naming else { break };
                if let Some(name) = names.get_mut(naming.index as usize) {
                    *name = readable(naming.name);
                }
            }
        }
    }
    names
}

/// The name of one function of a module that may not be parsable to its end.
pub(crate) fn of_function(wasm: &[u8], func: u32) -> Option<String> {
    let sections = wp::Parser::new(0).parse_all(wasm).map_while(Result::ok);
    for payload in sections {
        let wp::Payload::CustomSection(custom) = payload else {
            continue;
        };
        let wp::KnownCustom::Name(names) = custom.as_known() else {
            continue;
        };
        for subsection in names {
            let Ok(wp::Name::Function(map)) = subsection else {
                continue;
            };
            let mut namings = map.into_iter().map_while(Result::ok);
            if let Some(naming) = namings.find(|n| n.index == func) {
                return readable(naming.name);
            }
        }
    }
    None
}

/// A name of bounded length, as demangling a hostile name can give megabytes.
struct Bounded {
    text: String,
    left: usize,
}

impl fmt::Write for Bounded {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        for c in s.chars() {
            self.left = self.left.checked_sub(1).ok_or(fmt::Error)?;
            self.text.push(if is_escaped(c) { '\u{fffd}' } else { c });
        }
        Ok(())
    }
}

/// A name as people write it, bounded and printable; `None` if there is nothing to see.
pub(crate) fn readable(name: &str) -> Option<String> {
    let mut out = Bounded {
        text: String::new(),
        left: LONGEST,
    };
    // In Rust, a function that is exported is known by the name of the export.
    let name = name.strip_prefix(EXPORT_NO_ALLOC).unwrap_or(name);
    // An error only means that the name was cut.
    let _ = write!(out, "{:#}", rustc_demangle::demangle(name));
    (!out.text.trim().is_empty()).then_some(out.text)
}

#[cfg(test)]
mod tests {
    use super::readable;

    #[test]
    fn rust_names_lose_their_mangling() {
        let name = "_ZN4core3fmt9Formatter9write_str17h0123456789abcdefE";
        assert_eq!(
            readable(name).as_deref(),
            Some("core::fmt::Formatter::write_str")
        );
    }

    #[test]
    fn parts_without_allocation_have_the_names_of_their_functions() {
        assert_eq!(readable("no_alloc:take").as_deref(), Some("take"));
    }

    #[test]
    fn hostile_names_become_harmless() {
        assert_eq!(
            readable("a\u{1b}[2Jb\n").as_deref(),
            Some("a\u{fffd}[2Jb\u{fffd}")
        );
        assert_eq!(readable(" "), None);
        assert_eq!(readable("no_alloc:"), None);
        assert_eq!(readable(&"x".repeat(10_000)).map(|n| n.len()), Some(256));
    }
}
