//! The functions' names of a merged module, for crash reports.
//!
//! A name section can contain anything; what does not parse is left out.

use crate::parts::Parts;
use crate::renumber::Renumber;
use std::collections::BTreeMap;
use wasm_encoder::{NameMap, NameSection};
use wasmparser as wp;

/// Names of functions by their merged numbers.
#[derive(Default)]
pub(crate) struct Names(BTreeMap<u32, String>);

impl Names {
    /// Adds a name, unless the function has one.
    pub(crate) fn add(&mut self, function: u32, name: &str) {
        self.0.entry(function).or_insert_with(|| name.into());
    }

    /// Adds those of a module's own functions, by its name section.
    pub(crate) fn add_all(&mut self, module: &Parts<'_>, numbers: &Renumber) {
        let imported = module.functions.len() - module.bodies.len();
        for (_, bytes) in module.customs.iter().filter(|(name, _)| *name == "name") {
            let section = wp::NameSectionReader::new(wp::BinaryReader::new(bytes, 0));
            for subsection in section {
                let Ok(wp::Name::Function(map)) = subsection else {
                    continue;
                };
                for naming in map.into_iter().map_while(Result::ok) {
                    let own = naming.index as usize >= imported;
                    if let Some(function) = numbers.function(naming.index).filter(|_| own) {
                        self.add(function, naming.name);
                    }
                }
            }
        }
    }

    /// The name section.
    pub(crate) fn section(&self) -> NameSection {
        let mut map = NameMap::new();
        for (&function, name) in &self.0 {
            map.append(function, name);
        }
        let mut section = NameSection::new();
        section.functions(&map);
        section
    }
}
