//! What a program may ever say: the operations on contracts that it imports, held against the endpoints that it can
//! come to hold ([O] 5.5.3, 5.2.5).
//!
//! A program comes to an endpoint in four ways: its manifest asks for it, it makes the channel, a message brings it
//! over an endpoint that it can hold, or it uses one that it holds as one of a related contract. What cannot come to
//! it so, it has no use for: to import a send on it is to ask for more than was granted, and is refused.

use crate::error::{Error, ErrorKind, Place, Result};
use crate::module::Module;
use sing_abi::names;
use sing_image::contract::{ContractTable, Direction, Word};
use sing_image::manifest::{Manifest, Side};
use sing_image::meta::Import;

/// A contract, by its index, and a side.
type Kind = (usize, Side);

/// Checks that no operation is imported for an endpoint that the program can never hold.
pub(super) fn check(
    module: &Module<'_>,
    manifest: &Manifest,
    contracts: &[ContractTable],
) -> Result<()> {
    let imports: Vec<(&Import, usize, &str)> = module
        .imports
        .iter()
        .filter_map(|i| {
            let name = i.module.strip_prefix(names::CONTRACT_PREFIX)?;
            let contract = contracts.iter().position(|c| c.name == name)?;
            Some((i, contract, i.name.as_str()))
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

/// The side that an operation is for; none for making a channel.
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

/// Every kind of endpoint that can come to the program.
fn reachable(
    imports: &[(&Import, usize, &str)],
    manifest: &Manifest,
    contracts: &[ContractTable],
) -> Vec<Kind> {
    let index = |name: &str| contracts.iter().position(|c| c.name == name);
    let mut held: Vec<Kind> = Vec::new();
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
        if held.contains(&kind) {
            continue;
        }
        held.push(kind);
        let (contract, side) = kind;
        next.extend(
            brought(&contracts[contract], side).filter_map(|(name, s)| Some((index(name)?, s))),
        );
        // Which endpoint a cast is tried on is not known: any that it could succeed on.
        for &(_, wanted, operation) in imports {
            if is_cast(operation)
                && side_of(operation) == Some(side)
                && related(&contracts[contract], &contracts[wanted])
            {
                next.push((wanted, side));
            }
        }
    }
    held
}

/// Endpoints in the messages that `side` of a contract can receive.
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
            Word::Scalar | Word::Block => None,
        })
}

/// Whether an endpoint held as one of `from` can turn out to be, or be made, one of `to`: a base, something derived, a
/// narrower permission. A permission never becomes wider.
fn related(from: &ContractTable, to: &ContractTable) -> bool {
    let derives = |a: &ContractTable, b: &str| a.name == b || a.bases.iter().any(|x| x.name == b);
    let narrowed = to.narrows.iter().flat_map(|n| &n.of);
    derives(from, &to.name)
        || from.narrows.is_none() && derives(to, &from.name)
        || narrowed.into_iter().any(|(name, _)| derives(from, name))
}

/// What was granted instead, in words.
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
