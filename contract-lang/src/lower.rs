//! From the model to the tables that the kernel steps.

use crate::model::{Contract, Model, Type};
use sing_image::contract::{Argument, Base, ContractTable, Message, NONE, Word};

/// The table of a contract.
#[must_use]
pub fn table(model: &Model, contract: &Contract) -> ContractTable {
    let count = contract.messages.len();
    let mut next = vec![NONE; contract.states.len() * count * 2];
    for (s, state) in contract.states.iter().enumerate() {
        for t in &state.transitions {
            next[(s * count + t.message) * 2 + t.sender.index()] = t.target as u16;
        }
    }
    let messages = contract
        .messages
        .iter()
        .map(|m| {
            let mut words = Vec::new();
            for a in &m.arguments {
                flatten(&a.ty, model, &mut words);
            }
            Message {
                name: m.name.clone(),
                direction: m.direction,
                arguments: m
                    .arguments
                    .iter()
                    .map(|a| Argument {
                        name: a.name.clone(),
                        ty: a.ty.to_string(),
                    })
                    .collect(),
                words,
            }
        })
        .collect();
    ContractTable {
        name: contract.name.clone(),
        bases: bases(model, contract),
        narrows: None,
        messages,
        states: contract.states.iter().map(|s| s.name.clone()).collect(),
        next,
        queue: contract.queue,
    }
}

/// Adds the words of a value of this type.
fn flatten(ty: &Type, model: &Model, words: &mut Vec<Word>) {
    match ty {
        Type::Scalar(_) | Type::Enum(_) => words.push(Word::Scalar),
        Type::Vector(_) | Type::Record(_) => words.push(Word::Block),
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
            for field in model.structure(name).iter().flat_map(|s| &s.fields) {
                flatten(&field.ty, model, words);
            }
        }
    }
}

/// What a contract derives from, nearest first.
fn bases(model: &Model, contract: &Contract) -> Vec<Base> {
    let known = contract.bases.iter().filter_map(|b| model.contract(b));
    known
        .map(|base| {
            let shared = contract.states.iter().zip(0u16..);
            let stands: Vec<u16> = shared
                .filter(|(s, _)| base.state(&s.name).is_some())
                .map(|(_, i)| i)
                .collect();
            Base {
                name: base.name.clone(),
                hash: table(model, base).hash(),
                stands: [stands.clone(), stands],
            }
        })
        .collect()
}
