//! Counts like those of the papers ([L] 6): contracts, messages, states, messages that carry blocks
//! or endpoints.
//!
//! A message or state that a contract has from its base is counted there and not again, overridden
//! or not. A permission is counted as such; it has the messages and states of what it narrows, so
//! none of its own.

use sing_image::contract::{ContractTable, Hash, Word};
use std::collections::BTreeSet;
use std::fmt;

/// The numbers of things that one contract brings with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Messages.
    pub messages: usize,
    /// States with a name.
    pub named: usize,
    /// All states, the anonymous ones between the steps of a sequence included.
    pub states: usize,
    /// Messages that carry blocks.
    pub blocks: usize,
    /// Messages that carry endpoints.
    pub endpoints: usize,
}

/// A contract's counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The contract's name.
    pub name: String,
    /// The contracts that it derives from or narrows, nearest first.
    pub of: Vec<String>,
    /// Whether it is a permission.
    pub permission: bool,
    /// The numbers of things that it brings with it.
    pub own: Counts,
    /// The most messages that can be under way to each side.
    pub queue: [u16; 2],
}

/// Counts of several contracts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Contract by contract, in the order in which they were met.
    pub rows: Vec<Row>,
}

/// Counts contracts, with their identities; one that comes again is counted once.
#[must_use]
pub fn count<'a>(contracts: impl IntoIterator<Item = (Hash, &'a ContractTable)>) -> Report {
    let mut seen: BTreeSet<Hash> = BTreeSet::new();
    let new = contracts.into_iter().filter(|(hash, _)| seen.insert(*hash));
    let all: Vec<(Hash, &ContractTable)> = new.collect();
    let rows = all.iter().map(|(_, table)| row(table, &all)).collect();
    Report { rows }
}

fn row(table: &ContractTable, all: &[(Hash, &ContractTable)]) -> Row {
    let narrows = table.narrows.iter().flat_map(|n| &n.of);
    let of: Vec<(&String, &Hash)> = narrows
        .map(|(name, hash)| (name, hash))
        .chain(table.bases.iter().map(|b| (&b.name, &b.hash)))
        .collect();
    let find = |hash: &Hash| all.iter().find(|(h, _)| h == hash).map(|(_, t)| *t);
    let bases: Vec<&ContractTable> = of.iter().filter_map(|(_, hash)| find(hash)).collect();
    let messages: Vec<_> = table
        .messages
        .iter()
        .filter(|m| bases.iter().all(|b| b.message(&m.name).is_none()))
        .collect();
    let states: Vec<_> = table
        .states
        .iter()
        .filter(|s| bases.iter().all(|b| b.state(s).is_none()))
        .collect();
    let carry = |is: fn(&Word) -> bool| messages.iter().filter(|m| m.words.iter().any(is)).count();
    Row {
        name: table.name.clone(),
        of: of.iter().map(|(name, _)| (*name).clone()).collect(),
        permission: table.narrows.is_some(),
        own: Counts {
            messages: messages.len(),
            named: states.iter().filter(|s| !s.contains('\'')).count(),
            states: states.len(),
            blocks: carry(|w| w.is_block()),
            endpoints: carry(|w| matches!(w, Word::Endpoint { .. })),
        },
        queue: table.queue,
    }
}

impl Report {
    /// How many contracts, permissions left out.
    #[must_use]
    pub fn contracts(&self) -> usize {
        self.rows.iter().filter(|r| !r.permission).count()
    }

    /// All contracts together.
    #[must_use]
    pub fn total(&self) -> Counts {
        let sum = |of: fn(&Counts) -> usize| self.rows.iter().map(|r| of(&r.own)).sum();
        Counts {
            messages: sum(|c| c.messages),
            named: sum(|c| c.named),
            states: sum(|c| c.states),
            blocks: sum(|c| c.blocks),
            endpoints: sum(|c| c.endpoints),
        }
    }

    /// A table with a line for each contract.
    #[must_use]
    pub fn each(&self) -> String {
        let widest = |r: &Row| r.name.chars().count();
        let width = self.rows.iter().map(widest).max().unwrap_or(0).max(8);
        let mut text = format!(
            "{:<width$} {:>8} {:>6} {:>6} {:>6} {:>9} {:>8}  of\n",
            "contract", "messages", "named", "states", "blocks", "endpoints", "queues"
        );
        for row in &self.rows {
            let Counts {
                messages,
                named,
                states,
                blocks,
                endpoints,
            } = row.own;
            let kind = if row.permission { "narrows " } else { "" };
            let queues = format!("{}, {}", row.queue[0], row.queue[1]);
            let line = format!(
                "{:<width$} {messages:>8} {named:>6} {states:>6} {blocks:>6} {endpoints:>9} {queues:>8}  {kind}{}",
                row.name,
                row.of.join(", ")
            );
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.total();
        let permissions = self.rows.len() - self.contracts();
        for (what, count) in [
            ("contracts", self.contracts()),
            ("permissions", permissions),
            ("messages", total.messages),
            ("states, named", total.named),
            ("states, with intermediate ones", total.states),
            ("messages that carry blocks", total.blocks),
            ("messages that carry endpoints", total.endpoints),
        ] {
            writeln!(f, "{what:<30} {count:>6}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sing_image::contract::identities;

    const TEXT: &str = "
        contract Base { out message Success(); state Start: Success! -> Bound; state Bound; }
        contract File : Base {
          in message Read(byte[] in ExHeap buffer, uint at);
          in message Copy(byte[] in ExHeap buffer, Base.Exp:Start to);
          out message Data(byte[] in ExHeap buffer);
          override state Start: Success! -> Ready;
          state Ready: one { Read? -> Data! -> Ready; Copy? -> Data! -> Ready; }
        }";

    #[test]
    fn what_is_inherited_counts_once() {
        let tables = sing_contract::compile(TEXT).unwrap();
        let all: Vec<_> = identities(&tables)
            .unwrap()
            .into_iter()
            .zip(&tables)
            .collect();
        let report = count(all.iter().copied());
        let total = Counts {
            messages: 4,
            named: 3,
            states: 5,
            blocks: 3,
            endpoints: 1,
        };
        assert_eq!(report.total(), total);
        assert_eq!(report.contracts(), 2);
        assert_eq!(report.rows[1].own.messages, 3);
        assert_eq!(report.rows[1].of, ["Base"]);
        // The same contracts again, as another program brings them.
        assert_eq!(count(all.iter().chain(&all).copied()), report);
        // Without its base there is nowhere else to count them.
        let alone = count(all[1..].iter().copied()).total();
        assert_eq!((alone.messages, alone.named), (4, 3));
    }

    #[test]
    fn names_of_any_width_line_up() {
        let name = "N".repeat(50);
        let text = TEXT.replace("File", &name);
        let tables = sing_contract::compile(&text).unwrap();
        let all = identities(&tables).unwrap();
        let table = count(all.into_iter().zip(&tables)).each();
        let columns: Vec<_> = table.lines().map(|l| l.get(50..59)).collect();
        assert_eq!(
            columns,
            [Some(" messages"), Some("        1"), Some("        3")]
        );
    }
}
