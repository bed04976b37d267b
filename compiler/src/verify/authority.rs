//! Authority: the operations on contracts that a program imports, checked against the endpoints
//! that it can ever hold ([O] 5.5.3, 5.2.5).
//!
//! A program can get an endpoint in four ways: its manifest requests it, it creates the channel, a
//! message brings it over an endpoint that it can hold, or it casts one that it holds to a related
//! contract. An import of an operation on any other endpoint asks for more than was granted, and is
//! refused.

use crate::error::{Error, ErrorKind, Place, Result};
use crate::module::Module;
use sing_abi::names;
use sing_image::contract::{ContractTable, Direction, Word};
use sing_image::manifest::{Manifest, Side};
use sing_image::meta::Import;
use std::collections::{HashMap, HashSet};

/// A contract, by its index, and a side.
type Kind = (usize, Side);

/// Checks that each imported operation is on an endpoint that the program could hold.
pub(super) fn check(
    module: &Module<'_>,
    manifest: &Manifest,
    contracts: &[ContractTable],
) -> Result<()> {
    let index: HashMap<&str, usize> = contracts.iter().map(|c| c.name.as_str()).zip(0..).collect();
    let imports: Vec<(&Import, usize, &str)> = module
        .imports
        .iter()
        .filter_map(|i| {
            let name = i.module.strip_prefix(names::CONTRACT_PREFIX)?;
            Some((i, *index.get(name)?, i.name.as_str()))
        })
        .collect();
    let held = reachable(&imports, manifest, contracts);
    for &(import, contract, operation) in &imports {
        let Some(side) = side_of(operation) else {
            continue;
        };
        if is_cast(operation) || held.contains(&(contract, side)) {
            continue;
        }
        let name = &contracts[contract].name;
        let message = format!(
            "the program can never hold an endpoint {name}.{}: {}; ask for it in the manifest's endpoints, or \
             leave the operation out",
            side.name(),
            granted(manifest, contracts, contract)
        );
        let (module, name) = (import.module.clone(), import.name.clone());
        return Err(Error::new(ErrorKind::Contract, message).at(Place::Import { module, name }));
    }
    Ok(())
}

/// The side that an operation is for; none for creating a channel.
fn side_of(operation: &str) -> Option<Side> {
    match operation.split('.').next() {
        Some("imp") => Some(Side::Imp),
        Some("exp") => Some(Side::Exp),
        _ => None,
    }
}

fn is_cast(operation: &str) -> bool {
    matches!(operation, names::IMP_CAST | names::EXP_CAST)
}

/// Every kind of endpoint that the program can get: a fixed point over the four ways.
fn reachable(
    imports: &[(&Import, usize, &str)],
    manifest: &Manifest,
    contracts: &[ContractTable],
) -> HashSet<Kind> {
    let index: HashMap<&str, usize> = contracts.iter().map(|c| c.name.as_str()).zip(0..).collect();
    let index = |name: &str| index.get(name).copied();
    let casts = Casts::new(imports, contracts);
    let mut held: HashSet<Kind> = HashSet::new();
    let mut next: Vec<Kind> = manifest
        .endpoints
        .iter()
        .filter_map(|e| Some((index(&e.contract)?, e.side)))
        .collect();
    for &(_, contract, operation) in imports {
        if operation == names::NEW_CHANNEL {
            next.extend([(contract, Side::Imp), (contract, Side::Exp)]);
        }
    }
    while let Some(kind) = next.pop() {
        if !held.insert(kind) {
            continue;
        }
        let (contract, side) = kind;
        let table = &contracts[contract];
        let brought = brought(table, side).filter_map(|(name, s)| Some((index(name)?, s)));
        next.extend(brought);
        // Which endpoint a cast will be applied to is unknown: any on which it could succeed.
        next.extend(casts.of(table, side).map(|wanted| (wanted, side)));
    }
    held
}

/// The contracts that the program casts to, by the names of the contracts from which a cast could
/// succeed.
struct Casts<'a> {
    /// By their own names and the names of what they narrow: for endpoints of these contracts and
    /// contracts derived from them.
    down: [HashMap<&'a str, Vec<usize>>; 2],
    /// By the names of their bases: an endpoint of a base may be of a derived contract.
    up: [HashMap<&'a str, Vec<usize>>; 2],
}

impl<'a> Casts<'a> {
    fn new(imports: &[(&Import, usize, &str)], contracts: &'a [ContractTable]) -> Self {
        let mut casts = Casts {
            down: Default::default(),
            up: Default::default(),
        };
        for &(_, wanted, operation) in imports {
            let Some(side) = side_of(operation).filter(|_| is_cast(operation)) else {
                continue;
            };
            let (table, side) = (&contracts[wanted], side.index());
            let narrowed = table.narrows.iter().flat_map(|n| &n.of);
            let down = std::iter::once(&table.name).chain(narrowed.map(|(name, _)| name));
            for name in down {
                casts.down[side].entry(name).or_default().push(wanted);
            }
            for base in &table.bases {
                casts.up[side].entry(&base.name).or_default().push(wanted);
            }
        }
        casts
    }

    /// The contracts to which an endpoint held under `from` could be cast: a base, a derived
    /// contract, a narrower permission. A permission never becomes wider.
    fn of(&self, from: &ContractTable, side: Side) -> impl Iterator<Item = usize> {
        let bases = from.bases.iter().map(|b| b.name.as_str());
        let names = std::iter::once(from.name.as_str()).chain(bases);
        let (down, up) = (&self.down[side.index()], &self.up[side.index()]);
        let down = names.filter_map(|name| down.get(name));
        let up = up.get(from.name.as_str());
        let up = up.filter(|_| from.narrows.is_none());
        down.chain(up).flatten().copied()
    }
}

/// The endpoints in messages that `side` of a contract can receive.
fn brought(table: &ContractTable, side: Side) -> impl Iterator<Item = (&str, Side)> {
    let from_peer = match side {
        Side::Imp => [Direction::Out, Direction::Both],
        Side::Exp => [Direction::In, Direction::Both],
    };
    table
        .messages
        .iter()
        .filter(move |m| from_peer.contains(&m.direction))
        .flat_map(|m| &m.words)
        .filter_map(|word| match word {
            Word::Endpoint { contract, side, .. } => Some((contract.as_str(), *side)),
            _ => None,
        })
}

/// The message part that says what was granted instead.
fn granted(manifest: &Manifest, contracts: &[ContractTable], wanted: usize) -> String {
    let narrower = manifest.endpoints.iter().find_map(|e| {
        let table = contracts.iter().find(|c| c.name == e.contract)?;
        let of = &table.narrows.as_ref()?.of;
        of.iter()
            .any(|(name, _)| *name == contracts[wanted].name)
            .then_some(e)
    });
    match narrower {
        Some(e) => format!(
            "its endpoint {:?} is a {}.{}, which allows less",
            e.name,
            e.contract,
            e.side.name()
        ),
        None => "its manifest asks for none, it makes none, and no message brings one".into(),
    }
}
