//! Compares two versions of contracts: what has changed, and which side a change breaks where only
//! the other one is built anew.
//!
//! A change breaks a side if the other one may send what this side does not expect, or sends nothing
//! where this side waits. It is found by walking both machines together, the importing side in one
//! version and the exporting side in the other, as if each message arrived before the next is sent.
//! Messages and states are compared by name.

mod differences;
mod walk;

pub use walk::{Break, MOST_PAIRS};

use sing_image::contract::{ContractTable, Hash};
use std::collections::{BTreeMap, BTreeSet};

/// A version: its contracts by name, with their identities.
#[derive(Clone, Debug, Default)]
pub struct Version {
    contracts: BTreeMap<String, (Hash, ContractTable)>,
}

impl Version {
    /// Adds a contract.
    ///
    /// # Errors
    /// If there is another one of this name already: then nobody can say which is meant.
    pub fn add(&mut self, identity: Hash, table: ContractTable) -> Result<(), String> {
        match self.contracts.get(&table.name) {
            Some((known, _)) if *known != identity => Err(format!(
                "it has two contracts by the name {}; compare the programs one by one",
                table.name
            )),
            Some(_) => Ok(()),
            None => {
                self.contracts.insert(table.name.clone(), (identity, table));
                Ok(())
            }
        }
    }

    fn table(&self, name: &str) -> Option<&ContractTable> {
        self.contracts.get(name).map(|(_, table)| table)
    }
}

/// The fate of a contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Only the new version has it.
    Added,
    /// Only the old version has it.
    Removed,
    /// It has the same text, and refers to contracts that have changed: these.
    Refers(Vec<String>),
    /// Its text has changed.
    Changed {
        /// Each difference, in words.
        differences: Vec<String>,
        /// What happens between an importing side of one version and an exporting side of the
        /// other: first the old importing side with the new exporting side, then the new with the
        /// old. None for a permission: its channel is one of the narrowed contract.
        meetings: Option<[Vec<Break>; 2]>,
    },
}

/// Compares two versions: the contracts that are not the same, by name.
#[must_use]
pub fn diff(old: &Version, new: &Version) -> Vec<(String, Change)> {
    let names: BTreeSet<&String> = old.contracts.keys().chain(new.contracts.keys()).collect();
    let changed = |name: &&String| match (old.contracts.get(*name), new.contracts.get(*name)) {
        (Some((before, _)), Some((now, _))) => before != now,
        _ => true,
    };
    let names: Vec<&String> = names.into_iter().filter(changed).collect();
    let change = |name: &&String| match (old.table(name), new.table(name)) {
        (None, _) => Change::Added,
        (_, None) => Change::Removed,
        (Some(before), Some(now)) => compare(before, now, &names),
    };
    names
        .iter()
        .map(|name| ((*name).clone(), change(name)))
        .collect()
}

fn compare(old: &ContractTable, new: &ContractTable, changed: &[&String]) -> Change {
    let differences = differences::between(old, new);
    if differences.is_empty() {
        let refers = new.references();
        let of = refers
            .into_iter()
            .filter(|r| changed.iter().any(|c| c == r));
        return Change::Refers(of.map(str::to_owned).collect());
    }
    let narrowed = old.narrows.is_some() || new.narrows.is_some();
    let meetings = (!narrowed).then(|| [walk::breaks(old, new), walk::breaks(new, old)]);
    Change::Changed {
        differences,
        meetings,
    }
}
