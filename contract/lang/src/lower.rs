//! From the model to the tables that the kernel steps.

use crate::conditions::judged;
use crate::model::{Content, Contract, Model, Type};
use sing_image::contract::{
    Argument, Base, ContractTable, Hash, Message, NONE, Named, Narrowing, Word, identify,
    identities,
};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The tables of all contracts, in order.
#[must_use]
pub fn tables(model: &Model) -> Vec<ContractTable> {
    let all = model.contracts.iter();
    let types = types(model);
    let mut tables: Vec<ContractTable> = all.map(|c| table(model, c, &types)).collect();
    // Everything that a contract names is in a model whose names have been looked up, once.
    let known = identities(&tables).unwrap_or_default();
    let names: Vec<String> = tables.iter().map(|t| t.name.clone()).collect();
    let known: HashMap<String, Hash> = names.into_iter().zip(known).collect();
    for table in &mut tables {
        let bases = table.bases.iter_mut().map(|b| (&b.name, &mut b.hash));
        let narrowed = table.narrows.iter_mut().flat_map(|n| &mut n.of);
        let narrowed = narrowed.map(|(name, hash)| (&*name, hash));
        for (name, hash) in bases.chain(narrowed) {
            *hash = known.get(name).copied().unwrap_or_default();
        }
    }
    tables
}

/// The state that follows each send: `next` of a contract's table.
pub(crate) fn steps(contract: &Contract) -> Vec<u16> {
    let count = contract.messages.len();
    let mut next = vec![NONE; contract.states.len() * count * 2];
    for (s, state) in contract.states.iter().enumerate() {
        for t in &state.transitions {
            next[(s * count + t.message) * 2 + t.sender.index()] = t.target as u16;
        }
    }
    next
}

/// The table of a contract, in which the identities of others are not known yet.
fn table(model: &Model, contract: &Contract, types: &BTreeMap<&str, Hash>) -> ContractTable {
    let bases = contract.bases.iter().map(|base| Base {
        name: base.name.clone(),
        hash: Hash::default(),
        stands: [0, 1].map(|side| {
            let pairs = base.pairs[side].iter();
            pairs.map(|&(own, of)| (own as u16, of as u16)).collect()
        }),
    });
    let narrows = contract.narrows.as_ref().map(|n| Narrowing {
        side: n.side,
        of: n.of.iter().map(|o| (o.clone(), Hash::default())).collect(),
    });
    let messages = contract.messages.iter().map(|m| {
        let mut words = Vec::new();
        for a in &m.arguments {
            flatten(&a.ty, model, &mut words);
        }
        let arguments = m.arguments.iter().map(|a| Argument {
            name: a.name.clone(),
            ty: a.ty.to_string(),
        });
        Message {
            name: m.name.clone(),
            direction: m.direction,
            arguments: arguments.collect(),
            words,
            conditions: judged(m, model).conditions,
        }
    });
    let arguments = contract.messages.iter().flat_map(|m| &m.arguments);
    let carried: BTreeSet<&str> = arguments.filter_map(|a| a.ty.named()).collect();
    ContractTable {
        name: contract.name.clone(),
        bases: bases.collect(),
        narrows,
        messages: messages.collect(),
        types: carried
            .into_iter()
            .map(|name| {
                let identity = types.get(name).copied().unwrap_or_default();
                (name.to_string(), identity)
            })
            .collect(),
        states: contract.states.iter().map(|s| s.name.clone()).collect(),
        next: steps(contract),
        queue: contract.queue,
    }
}

/// The enums and rep structs of a model by name, with their identities.
fn types(model: &Model) -> BTreeMap<&str, Hash> {
    let enums = model.enums.iter().map(|e| {
        let mut own = format!("enum {} : {} {{", e.name, e.repr.name());
        for (_, value, number) in &e.values {
            own += &format!(" {value} = {number};");
        }
        (e.name.as_str(), own, Vec::new())
    });
    let structs = model.structs.iter().map(|s| {
        let mut own = format!("rep struct {} {{", s.name);
        for field in &s.fields {
            own += &format!(" {} {};", field.ty, field.name);
        }
        let named = s.fields.iter().filter_map(|f| f.ty.named());
        (s.name.as_str(), own, named.collect())
    });
    let all: Vec<(&str, String, Vec<&str>)> = enums.chain(structs).collect();
    let index: HashMap<&str, usize> = all.iter().map(|t| t.0).zip(0..).collect();
    let named = all.iter().map(|(name, own, references)| {
        let references: BTreeSet<usize> = references
            .iter()
            .filter_map(|r| index.get(r).copied())
            .collect();
        Named {
            name,
            own: own.clone().into_bytes(),
            references: references.into_iter().collect(),
        }
    });
    let identities = identify(&named.collect::<Vec<_>>());
    all.iter().map(|t| t.0).zip(identities).collect()
}

/// The word of a block with this content. Only a struct that owns blocks has parts.
fn block(of: &Content, optional: bool, model: &Model) -> Word {
    let parts = match of {
        Content::Struct(name) => model.structure(name).is_some_and(|s| !s.plain),
        Content::Scalar(_) | Content::Enum(_) => false,
    };
    match (parts, optional) {
        (false, false) => Word::Block,
        (true, false) => Word::Tree,
        (false, true) => Word::OptionalBlock,
        (true, true) => Word::OptionalTree,
    }
}

/// Adds the words of a value of this type.
fn flatten(ty: &Type, model: &Model, words: &mut Vec<Word>) {
    match ty {
        Type::Scalar(_) | Type::Enum(_) => words.push(Word::Scalar),
        Type::Vector { of, optional } | Type::Record { of, optional } => {
            words.push(block(of, *optional, model));
        }
        Type::Optional(of) => {
            words.push(Word::Scalar);
            flatten(&of.clone().into(), model, words);
        }
        Type::Endpoint {
            contract,
            side,
            state,
        } => words.push(Word::Endpoint {
            contract: contract.clone(),
            side: *side,
            state: Some(state.clone()),
        }),
        Type::Struct(name) => {
            // A struct without words is passed over, as a text could nest such structs to any
            // depth.
            let with_words = model.structure(name).filter(|s| s.words > 0);
            for field in with_words.iter().flat_map(|s| &s.fields) {
                flatten(&field.ty, model, words);
            }
        }
    }
}
