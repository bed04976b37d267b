//! The operations that a program has at an end that the system gives it: declared in its manifest,
//! and imported.

use crate::view::View;
use sing_abi::names;
use sing_image::contract::{ContractTable, Hash, Narrowing, Word};
use sing_image::elf::Image;
use sing_image::manifest::Side;
use std::collections::BTreeSet;

/// The operations of a program at an end of a channel: those of the contract that its manifest
/// declares, and no more than its module imports, unless it can pass the endpoint on to another.
pub(super) fn view(
    image: &Image<'_>,
    channel: &ContractTable,
    identity: &Hash,
    name: &str,
    side: Side,
) -> Option<View> {
    let all = &image.manifest.endpoints;
    let declared = all.iter().find(|e| e.name == name && e.side == side)?;
    let tables = &image.contracts;
    let held_at = tables.iter().position(|t| t.name == declared.contract)?;
    let held = &tables[held_at];
    let own = image.identities[held_at] == *identity;
    let passes = passes_on(image, side);
    // Contracts that it could find the endpoint to be of.
    let mut known = vec![declared.contract.as_str()];
    for (table, of) in tables.iter().zip(&image.identities) {
        let other = table.name != declared.contract;
        let stands = || is_or_stands_for((channel, identity), (table, of));
        if other && casts(image, &table.name, side) && stands() {
            known.push(&table.name);
        }
    }
    // A permission stays one whoever has it; an endpoint of a base can turn out to be one of the
    // derived contract.
    let turns = passes || known.len() > 1;
    let view = if own || (held.narrows.is_none() && turns) {
        View::whole(channel, side)
    } else {
        View::of(channel, held, side)
    };
    if passes {
        return Some(view);
    }
    let imported: BTreeSet<&str> = known
        .iter()
        .flat_map(|c| imported(image, c, side))
        .collect();
    Some(view.only(channel, |m| imported.contains(m)))
}

/// Whether a module can use an endpoint that it knows by another contract as one of this.
fn casts(image: &Image<'_>, contract: &str, side: Side) -> bool {
    let cast = match side {
        Side::Imp => names::IMP_CAST,
        Side::Exp => names::EXP_CAST,
    };
    let mut all = image.meta.imports.iter();
    all.any(|i| i.name == cast && i.module.strip_prefix(names::CONTRACT_PREFIX) == Some(contract))
}

/// Whether a module can give away endpoints of this side: to a child, or in a message.
fn passes_on(image: &Image<'_>, side: Side) -> bool {
    let mut imports = image.meta.imports.iter();
    if imports.any(|i| i.module == names::KERNEL_V1 && i.name == "process_create") {
        return true;
    }
    image.contracts.iter().any(|table| {
        [Side::Imp, Side::Exp].iter().any(|&sender| {
            let sent = imported(image, &table.name, sender);
            let mut all = table.messages.iter();
            all.any(|m| {
                let carries = |w: &Word| matches!(w, Word::Endpoint { side: s, .. } if *s == side);
                sent.contains(m.name.as_str()) && m.words.iter().any(carries)
            })
        })
    })
}

/// Whether an endpoint of a channel can be used as one of this contract: the channel's own, a base
/// or a permission.
fn is_or_stands_for(channel: (&ContractTable, &Hash), table: (&ContractTable, &Hash)) -> bool {
    let (channel, own) = channel;
    let (table, of) = table;
    let known = |hash: &Hash| hash == own || channel.bases.iter().any(|b| b.hash == *hash);
    let narrows = |n: &Narrowing| n.of.iter().any(|(_, hash)| known(hash));
    known(of) || table.narrows.as_ref().is_some_and(narrows)
}

/// The messages of a contract that a module can send on one side.
pub(super) fn imported<'a>(image: &'a Image<'_>, contract: &str, side: Side) -> BTreeSet<&'a str> {
    let prefixes = match side {
        Side::Imp => [names::IMP_SEND, names::IMP_CALL],
        Side::Exp => [names::EXP_SEND, names::EXP_CALL],
    };
    let of_contract = image.meta.imports.iter().filter(|i| {
        let name = i.module.strip_prefix(names::CONTRACT_PREFIX);
        name == Some(contract)
    });
    of_contract
        .filter_map(|i| prefixes.iter().find_map(|p| i.name.strip_prefix(p)))
        .collect()
}
